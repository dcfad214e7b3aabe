"""``adaptag classify``: train a classifier of documents, classify, score."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adaptag.cli.options import (
    AlgorithmOption,
    ConvergeOption,
    DevOption,
    HashBitsOption,
    LogOption,
    ModelOption,
    PassesOption,
    PatienceOption,
    SeedOption,
)
from adaptag.cli.output import output_stream, say
from adaptag.cli.parameters import given_parameters, with_parameters
from adaptag.errors import ParameterError

if TYPE_CHECKING:
    from adaptag.classification.documents import DocumentClassifier
    from adaptag.corpus.attributes import AttributeCorpus

__all__ = ["classify"]

FEATURES = "Features"

classify = typer.Typer(
    name="classify",
    help="Classification of documents: train a classifier, classify, score.",
    no_args_is_help=True,
)

DocumentsArgument = Annotated[
    Path, typer.Argument(metavar="DATA", help="Documents, one a line (.gz, .xz; - for stdin).")
]


@classify.command()
@with_parameters
def train(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="TRAIN", help="Labelled documents, one a line (.gz, .xz; - for stdin)."
        ),
    ],
    model: Annotated[Path, typer.Option("--model", "-m", help="The model file to write.")],
    dev: DevOption = None,
    format: Annotated[  # noqa: A002
        str,
        typer.Option(
            help="svmlight (label index:value …), counts (feature:count … #label#:label), text "
            "(label<TAB>text), or auto: what the first line looks like.",
            rich_help_panel=FEATURES,
        ),
    ] = "auto",
    bigrams: Annotated[
        bool | None,
        typer.Option(
            "--bigrams/--no-bigrams",
            help="With text: pairs of neighbouring words are features too.",
            show_default="bigrams",
            rich_help_panel=FEATURES,
        ),
    ] = None,
    binary: Annotated[
        bool | None,
        typer.Option(
            "--binary/--counts",
            help="Every feature that occurs counts 1, or as often as it occurs (or its value).",
            show_default="binary with text, else as written",
            rich_help_panel=FEATURES,
        ),
    ] = None,
    normalise: Annotated[
        bool | None,
        typer.Option(
            "--normalise/--no-normalise",
            help="Scale each document to the same length, or all by one factor.",
            show_default="normalise, but not with svmlight",
            rich_help_panel=FEATURES,
        ),
    ] = None,
    cutoff: Annotated[
        int, typer.Option(min=1, help="Leave out rarer features.", rich_help_panel=FEATURES)
    ] = 1,
    hash_bits: HashBitsOption = None,
    algorithm: AlgorithmOption = None,
    passes: PassesOption = None,
    patience: PatienceOption = 5,
    converge: ConvergeOption = False,
    seed: SeedOption = None,
    log: LogOption = None,
    **parameters: float | str | None,
) -> None:
    """Train a classifier on labelled documents, one a line.

    Ctrl-C stops training and saves the model reached so far.
    """
    from adaptag.classification.documents import DocumentClassifier, Documents
    from adaptag.cli.progress import log_end, tell_outcome, watched, working
    from adaptag.corpus.documents import DocumentFormat
    from adaptag.storage.files import check_writable

    given = given_parameters(algorithm, parameters)
    written = DocumentFormat(format, bigrams is not False, binary)
    for path in filter(None, [model, log]):
        check_writable(path)
    begin = time.perf_counter()
    with working(f"reading {data}"):
        documents = Documents.read(data, written)
        if bigrams is not None and documents.written.name != "text":
            raise ParameterError(
                f"--bigrams and --no-bigrams go with text; {data} is {documents.written.name}"
            )
        held_out = None if dev is None else Documents.read(dev, documents.written)
    say(
        f"{len(documents):,} documents, format {documents.written.name}, "
        f"read in {time.perf_counter() - begin:.2f} s"
    )
    with watched(log) as callbacks:
        result = DocumentClassifier.train(
            documents,
            dev=held_out,
            normalise=normalise,
            algorithm=algorithm or "adf",
            passes=passes,
            seed=1 if seed is None else seed,
            cutoff=cutoff,
            hash_bits=hash_bits,
            converge=converge,
            patience=patience,
            callbacks=callbacks,
            **given,
        )
        result.save(model)
        seconds = time.perf_counter() - begin
        provenance = result.model.provenance
        log_end(callbacks, {"seconds": seconds, **provenance, "model": str(model)})
    tell_outcome(provenance)
    say(
        f"{model}: {len(result.labels)} classes, {result.model.index.n_predicates:,} features, "
        f"{model.stat().st_size / 1e6:.1f} MB, {seconds:.2f} s in all"
    )


@classify.command()
def predict(
    data: DocumentsArgument,
    model: ModelOption,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; else standard output.")
    ] = None,
    probabilities: Annotated[
        bool,
        typer.Option("--probabilities", help="Behind the class, label:probability of every class."),
    ] = False,
    unlabelled: Annotated[
        bool,
        typer.Option("--unlabelled", help="No document has a label: tabs in text are white space."),
    ] = False,
) -> None:
    """Classify documents: one line with the class of each.

    Documents are written like those of the training data, with labels or without; blank lines are
    skipped. Files of any size are read in parts.
    """
    from adaptag.classification.documents import DocumentClassifier
    from adaptag.cli.progress import working

    classifier = DocumentClassifier.load(model)
    with output_stream(output) as out, working(f"classifying {data}"):
        for part in classifier.read_parts(data, bare=unlabelled):
            out.write(_predicted(classifier, part, probabilities).encode())


def _predicted(classifier: DocumentClassifier, corpus: AttributeCorpus, probabilities: bool) -> str:
    """A line for each document: its class, and on request the probability of each class."""
    names = classifier.labels
    if not probabilities:
        return "".join(f"{names[y]}\n" for y in classifier.predict(corpus).tolist())
    lines = []
    for row in classifier.probabilities(corpus).tolist():
        cells = [f"{name}:{p:.6f}" for name, p in zip(names, row, strict=True)]
        lines.append("\t".join([names[row.index(max(row))], *cells]) + "\n")
    return "".join(lines)


@classify.command()
def evaluate(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="Labelled documents, one a line (.gz, .xz; - for stdin)."
        ),
    ],
    model: ModelOption,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Classify labelled documents and score: accuracy, each class, what is taken for what."""
    from rich.console import Console

    from adaptag.classification.documents import DocumentClassifier
    from adaptag.evaluation.classification import class_table, confusion_table

    score = DocumentClassifier.load(model).evaluate(data)
    if as_json:
        typer.echo(json.dumps(score.to_dict(), ensure_ascii=False, indent=2))
    else:
        console = Console()
        console.print(class_table(score))
        console.print(confusion_table(score))
