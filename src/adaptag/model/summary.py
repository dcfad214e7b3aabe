"""A model in some lines: what it is, how it was trained, how well, and how it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adaptag.errors import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["model_facts", "trained_briefly"]

MOST_LABELS = 30


def model_facts(
    chain: Any,
    kind: str,
    *,
    item: str = "sentences",
    own: Mapping[str, object] | None = None,
    use: str = "",
) -> dict[str, str]:
    """What a person wants to know of a model, by name.

    Args:
        chain: The linear chain, or the tables of a compact segmenter.
        kind: What the model is, such as ``tagger``.
        item: What it was trained on.
        own: What only this kind of model has.
        use: How it is used, in Python.
    """
    origin: Mapping[str, Any] = chain.provenance
    facts: dict[str, object] = {
        "kind": kind,
        "labels": f"{len(chain.labels):,}: {_listed(chain.labels)}",
        "features": f"{chain.index.n_predicates:,} features, {chain.n_weights:,} weights",
        **(own or {}),
        "trained": _training(origin, item),
        "parameters": ", ".join(f"{k} {_short(v)}" for k, v in _table(origin, "parameters")),
        "scores": _scores(origin),
        "temperature": "" if chain.temperature == 1 else f"{chain.temperature:.4g} (calibrated)",
        "adaptag": origin.get("adaptag"),
        "use": use,
    }
    return {name: str(value) for name, value in facts.items() if value not in (None, "")}


def trained_briefly(origin: Mapping[str, Any]) -> str:
    """The algorithm and the last score for a line; empty where they are not recorded."""
    dev = _dev_score(_best_pass(origin))
    return "".join(f", {text}" for text in (origin.get("algorithm"), dev) if text)


def _listed(labels: Sequence[str]) -> str:
    more = len(labels) - MOST_LABELS
    return ", ".join(labels[:MOST_LABELS]) + (f" and {more:,} more" if more > 0 else "")


def _training(origin: Mapping[str, Any], item: str) -> str:
    passes, best = origin.get("passes"), origin.get("best_pass")
    parts = [str(origin["algorithm"])] if origin.get("algorithm") else []
    if isinstance(passes, list) and passes:
        parts.append(
            f"{counted(len(passes), 'pass', 'passes')}"
            + (f", the best is pass {best}" if best else "")
        )
    if origin.get("sentences"):
        parts.append(f"{origin['sentences']:,} {item}")
    return "; ".join(parts)


def _scores(origin: Mapping[str, Any]) -> str:
    best = _best_pass(origin)
    parts = [_dev_score(best)]
    if best.get("accuracy") is not None:
        parts.append(f"training accuracy {best['accuracy']:.2f}")
    return ", ".join(filter(None, parts))


def _dev_score(best: Mapping[str, Any]) -> str:
    """The score of a pass on development data; empty where there is none."""
    score = best.get("dev_score")
    return "" if score is None else f"dev {best.get('dev_metric') or 'score'} {score:.2f}"


def _best_pass(origin: Mapping[str, Any]) -> Mapping[str, Any]:
    """The figures of the pass that was kept; empty where they are not recorded."""
    passes = origin.get("passes")
    figures = [p for p in passes if isinstance(p, dict)] if isinstance(passes, list) else []
    kept = [p for p in figures if p.get("pass") == origin.get("best_pass")]
    return (kept or figures or [{}])[-1]


def _table(origin: Mapping[str, Any], name: str) -> list[tuple[str, Any]]:
    section = origin.get(name)
    return list(section.items()) if isinstance(section, dict) else []


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
