"""``adaptag inspect``: what a model has learned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from adaptag.cli.arguments import argument, option
from adaptag.cli.output import file_size
from adaptag.cli.usage import usage, used_columns
from adaptag.corpus.settings import AS_IS
from adaptag.corpus.tokenizers import DEFAULT, tokenizer_name
from adaptag.errors import ParameterError, counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.table import Table

    from adaptag.decoding.explanation import Explanation
    from adaptag.features.template import Template
    from adaptag.loading import AnyModel
    from adaptag.model.linear_chain import LinearChain
    from adaptag.segmentation.predictor import SegmentPredictor

__all__ = ["inspect"]

MOST_LABELS = 30
MOST_LINES = 50  # of a template
KINDS = {  # what each kind of model is, and what it is trained on
    "model": ("tagger", "sentence"),
    "segmenter": ("segmenter", "sentence"),
    "classifier": ("classifier", "document"),
}
CERTAINTY = {  # what shows how certain a model is that cannot be explained
    "segmenter": "adaptag segment cut --probabilities",
    "classifier": "adaptag classify predict --probabilities",
}


def inspect(
    model: Annotated[
        Path, argument(metavar="MODEL", help="The model: tagger, segmenter or classifier.")
    ],
    top: Annotated[int, option(min=1, help="Number of features for each label.")] = 5,
    verify: Annotated[bool, option("--verify", help="Check every byte first.")] = False,
    explain: Annotated[
        str | None,
        option(
            metavar="SENTENCE",
            help="Explain the labels of a sentence instead: tokens between spaces, the columns of "
            "a token between slashes: 'The/DT cat/NN'.",
        ),
    ] = None,
    as_json: Annotated[bool, option("--json", help="With --explain: write JSON.")] = False,
) -> None:
    """Show a model: where it comes from, how to use it, its strongest features and transitions."""
    from rich.console import Console

    from adaptag.loading import chain_of, load_file
    from adaptag.model.linear_chain import LinearChain

    if as_json and explain is None:
        raise ParameterError("--json requires --explain")
    loaded = load_file(model, verify=verify)
    console = Console()
    if explain is not None:
        explanation = _explanation(loaded, explain)
        if as_json:
            print(json.dumps(explanation.to_dict(), ensure_ascii=False, indent=1))
        else:
            console.print(explanation.table(top))
        return
    chain = chain_of(loaded)
    console.print(_summary(loaded, chain, model))
    console.print(usage(loaded, model))
    if isinstance(chain, LinearChain):
        for table in (_features(chain, top), _transitions(chain, top)):
            if table is not None:
                console.print(table)


def _explanation(model: Any, sentence: str) -> Explanation:
    if model.kind in CERTAINTY:
        raise ParameterError(
            f"--explain is for taggers, and the model is a {model.kind}; {CERTAINTY[model.kind]} "
            "shows how certain it is"
        )
    explanation: Explanation = model.explain(_tokens(sentence, model.index.template.n_columns))
    return explanation


def _tokens(sentence: str, n_columns: int) -> list[tuple[str, ...]]:
    """Split a sentence into tokens; only the last slashes of a token separate its columns."""
    tokens = [tuple(token.rsplit("/", n_columns - 1)) for token in sentence.split()]
    for token in tokens:
        if len(token) != n_columns:
            raise ParameterError(
                f"token {'/'.join(token)!r} has {counted(len(token), 'column')}; the model "
                f"needs {n_columns}, "
                "with slashes between them"
            )
    if not tokens:
        raise ParameterError("the sentence is empty")
    return tokens


def _summary(model: AnyModel, chain: LinearChain[Any] | SegmentPredictor, path: Path) -> Table:
    """Where a model comes from, and its sizes."""
    from rich.table import Table
    from rich.text import Text

    from adaptag.storage.ready import model_file

    what, item = KINDS[model.kind]
    names = {"sentences": f"{item}s"}
    origin = {names.get(name, name): value for name, value in chain.provenance.items()}
    passes = origin.pop("passes", [])
    settings = origin.pop("feature_settings", {}) | origin.pop("training_settings", {})
    if isinstance(start := origin.get("start"), dict):
        origin["start"] = f"a model of {start.get('algorithm')}, {start.get('sentences')} sentences"
    own = _particulars(model)
    facts: dict[str, object] = {
        "file": f"{path}, {file_size(Path(model_file(path)))}",
        "kind": f"compact {what}" if model.is_compact else what,
        "labels": f"{len(chain.labels)}: {', '.join(chain.labels)}",
        **_sizes(chain, model),
        **own,
        **origin,
        "settings": {
            key: value
            for key, value in settings.items()
            if key not in origin and key not in own and value not in (None, False, AS_IS)
        },
    }
    if isinstance(passes, list) and passes and isinstance(passes[-1], dict):
        last: dict[str, object] = passes[-1]
        best_pass = next((p for p in passes if p.get("pass") == origin.get("best_pass")), last)
        facts |= {"passes": len(passes), f"loss per {item}": best_pass.get("loss")}
        facts |= {"training accuracy": best_pass.get("accuracy")}
        if best_pass.get("dev_score") is not None:
            facts[f"dev {best_pass.get('dev_metric')}"] = best_pass["dev_score"]
    grid = Table.grid(padding=(0, 2))
    for key, value in facts.items():
        grid.add_row(Text(key.replace("_", " "), style="bold"), Text(_plain(value)))
    return grid


def _sizes(chain: Any, model: AnyModel) -> dict[str, object]:
    if model.kind == "segmenter" and model.is_compact:
        one, two, more = chain.n_of_length
        return {
            "patterns": f"{one:,} characters, {two:,} of two characters, {more:,} of more",
            "scores": f"{chain.n_weights:,} of type {chain.tensors['rows'].dtype}",
        }
    node, both, edge = chain.index.n_of_kind
    return {
        "features": f"{chain.index.n_predicates:,}: {node:,} node, {both:,} both, {edge:,} edge",
        "weights": f"{chain.n_weights:,}",
    }


def _particulars(model: Any) -> dict[str, object]:
    """What only this kind of model has."""
    if model.kind == "segmenter":
        return {
            "known words": f"{model.model_.index.n_words:,}",
            "words of the user": f"{len(model.dictionary.to_dict()):,}",
            "tags": model.tags,
            "rare weight": model.rare_weight,
        }
    if model.kind == "classifier":
        return {"format": model.format.format, "normalise": model.scaling.normalise}
    template = model.index.template
    return {
        "columns": used_columns(template, model.index.n_columns),
        "template": _lines(template),
        "label scheme": _scheme(model),
        "tokenizer": _tokenizer(model),
    }


def _lines(template: Template) -> str:
    """The lines of a template, the first ones where they are many."""
    lines = [line.text for line in template.lines[:MOST_LINES]]
    left = len(template.lines) - len(lines)
    return "; ".join([*lines, f"… {counted(left, 'further line')}"] if left else lines)


def _tokenizer(model: Any) -> str:
    """What cuts raw text for a model that takes it."""
    takes_text = not model.index.template.attributes and model.index.template.n_columns == 1
    return tokenizer_name(model.tokenizer) or DEFAULT if takes_text else "none: no raw text"


def _scheme(model: Any) -> Any:
    """The scheme of the labels, and the one that was trained with."""
    if model.training_scheme is None:
        return model.label_scheme or "none: no chunks"
    states = f"{len(model.states)} labels: {', '.join(model.states)}"
    return f"{model.label_scheme}, trained with {model.training_scheme}, {states}"


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(part)}" for key, part in value.items())
    return str(value)


def _features(model: LinearChain[Any], top: int) -> Table | None:
    """The features with the largest and smallest weights of each label."""
    import numpy as np
    from rich.table import Table
    from rich.text import Text

    weights = model.node_weights()
    if len(weights) == 0:
        return None
    table = Table(title="Strongest features", title_justify="left")
    table.add_column("label", style="bold")
    table.add_column("for")
    table.add_column("against")
    count = min(top, len(weights))
    named = model.index.name
    for y, label in enumerate(model.states[:MOST_LABELS]):
        column = np.ascontiguousarray(weights[:, y])
        best, worst = _largest(column, count), _largest(-column, count)
        table.add_row(
            Text(label),
            Text("\n".join(f"{column[p]:+6.2f} {named(p)}" for p in best if column[p] > 0)),
            Text("\n".join(f"{column[p]:+6.2f} {named(p)}" for p in worst if column[p] < 0)),
            end_section=True,
        )
    if len(model.states) > MOST_LABELS:
        table.caption = f"{len(model.states) - MOST_LABELS} more labels are not shown"
    return table


def _largest(values: NDArray[np.float32], n: int) -> list[int]:
    """The places of the n largest values, the largest first."""
    places = values.argpartition(-n)[-n:]
    order: list[int] = places[(-values[places]).argsort(kind="stable")].tolist()
    return order


def _transitions(model: LinearChain[Any], top: int) -> Table | None:
    """The transitions between labels, with the largest and smallest weights."""
    from rich.table import Table
    from rich.text import Text

    from adaptag.features.characters import CharacterIndex

    node, both, edge = model.index.n_of_kind
    predicate = (
        node if isinstance(model.index, CharacterIndex) else node + both
    )  # plain label bigrams
    if predicate == node + both + edge:
        return None
    _, matrix = model.weights_of(predicate)
    assert matrix is not None
    table = Table(title=Text(f"Transitions ({model.index.name(predicate)})"), title_justify="left")
    table.add_column("likely")
    table.add_column("unlikely")
    order = matrix.ravel().argsort()
    n = len(model.states)

    def named(flat: int) -> str:
        return f"{matrix.ravel()[flat]:+6.2f} {model.states[flat // n]} → {model.states[flat % n]}"

    count = min(2 * top, matrix.size)
    for best, worst in zip(order[::-1][:count], order[:count], strict=True):
        table.add_row(Text(named(int(best))), Text(named(int(worst))))
    return table
