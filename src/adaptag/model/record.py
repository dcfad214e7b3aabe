"""The types of what a model file records, checked when it is read: it is shown and reused later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adaptag.errors import described

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_record", "check_sections"]

NUMBER = (int, float, type(None))
TEXT = (str, type(None))
RECORD: dict[str, tuple[type, ...]] = {
    "adaptag": TEXT,
    "algorithm": TEXT,
    "best_pass": (int,),
    "feature_settings": (dict,),
    "parameters": (dict,),
    "passes": (list,),
    "seed": (int,),
    "sentences": (int,),
    "start": (dict,),
    "stopped": TEXT,
    "stream": (dict,),
    "temperature": NUMBER,
    "tokens": (int,),
    "training_settings": (dict,),
}
PASS: dict[str, tuple[type, ...]] = {
    "accuracy": NUMBER,
    "dev_metric": TEXT,
    "dev_score": NUMBER,
    "loss": NUMBER,
    "pass": (int,),
    "seconds": NUMBER,
}
SECTIONS: dict[str, dict[str, tuple[type, ...]]] = {
    "labels": {"scheme": TEXT, "training_scheme": TEXT, "metric": (str,)},
    "stream": {"pass_size": (int,), "sentences": (int,), "tokens": (int,)},
    "text": {"tokenizer": TEXT},
    "training": {"algorithm": TEXT, "parameters": (dict,)},
}
NAMES = {int: "an integer", float: "a number", str: "a string", dict: "an object", list: "a list"}


def check_record(provenance: Mapping[str, Any]) -> None:
    """Raise where an entry of the record of a model has another type than it is written with."""
    _check("provenance", provenance, RECORD)
    for report in provenance.get("passes", []):
        if not isinstance(report, dict):
            raise ValueError(f"provenance: a pass is {described(report)}; allowed: an object")
        _check("provenance: a pass", report, PASS)


def check_sections(configuration: Mapping[str, Any]) -> None:
    """Raise where a section of the configuration of a model is not written as it should be."""
    for name, section in configuration.items():
        if not isinstance(section, dict):
            raise ValueError(f"configuration: {name} is {described(section)}; allowed: an object")
        _check(f"configuration: {name}", section, SECTIONS.get(name, {}))


def _check(place: str, entries: Mapping[str, Any], types: Mapping[str, tuple[type, ...]]) -> None:
    for name in entries.keys() & types.keys():
        value, allowed = entries[name], types[name]
        if not isinstance(value, allowed) or isinstance(value, bool):
            kinds = " or ".join(NAMES[kind] for kind in allowed if kind in NAMES)
            raise ValueError(f"{place}: {name} is {described(value)}; allowed: {kinds}")
