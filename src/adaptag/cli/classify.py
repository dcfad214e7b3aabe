"""``adaptag classify``: train a classifier of documents, classify, score."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from adaptag.classification.settings import DocumentFeatures
from adaptag.cli.arguments import argument, option
from adaptag.cli.cluster import BlockSizeOption, FolderOption, OnCluster, SkipBadOption
from adaptag.cli.options import (
    CalibrationOption,
    ChartOption,
    CheckpointOption,
    ClusterOption,
    DevOption,
    EncodingOption,
    EveryOption,
    JsonOption,
    LogOption,
    ModelOption,
    NewModelOption,
    ResumeOption,
    ThreadsOption,
)
from adaptag.cli.output import output_stream, say
from adaptag.cli.settings import given_parameters, with_settings
from adaptag.corpus.settings import DocumentFormat
from adaptag.errors import ParameterError, counted
from adaptag.settings import split_options
from adaptag.training.settings import TrainingSettings, parameter_names

if TYPE_CHECKING:
    from adaptag.corpus.attributes import AttributeCorpus
    from adaptag.ray.work import Work

__all__ = ["evaluate", "predict", "train"]

DocumentsArgument = Annotated[
    list[str],
    argument(
        metavar="DATA",
        help="Documents, one per line (.gz, .xz; - for stdin). With --cluster: files, folders and "
        "patterns, also JSON lines and Parquet.",
    ),
]
LabelledArgument = Annotated[
    Path,
    argument(metavar="DATA", help="Labelled documents, one per line (.gz, .xz; - for stdin)."),
]


@with_settings(DocumentFormat, DocumentFeatures, TrainingSettings, parameters=True)
def train(
    data: LabelledArgument,
    model: NewModelOption = None,
    dev: DevOption = None,
    checkpoint: CheckpointOption = None,
    every: EveryOption = None,
    resume: ResumeOption = None,
    log: LogOption = None,
    encoding: EncodingOption = None,
    **options: Any,
) -> None:
    """Train a classifier on labelled documents, one per line.

    Ctrl-C and SIGTERM stop training and save the model reached so far.
    """
    from adaptag.classification.documents import DocumentClassifier
    from adaptag.cli.output import check_files
    from adaptag.cli.progress import working
    from adaptag.cli.training import check_every, model_file, train_and_save
    from adaptag.corpus.data import CLASSIFICATION, corpus_of
    from adaptag.storage.encodings import with_encoding

    form, features, training, parameters = split_options(
        options, DocumentFormat, DocumentFeatures, TrainingSettings, also=parameter_names()
    )
    algorithm_parameters = given_parameters(training.get("algorithm"), parameters)
    DocumentFeatures(**features).check()
    check_every(every, checkpoint)
    target = model_file(model, resume)
    check_files(
        {"--model": target, "--log": log, "--checkpoint": checkpoint},
        {"TRAIN": data, "--dev": dev},
    )
    begin = time.perf_counter()
    with working(f"reading {data}"):
        requested = DocumentFormat(**form).check()
        documents = corpus_of(with_encoding(data, encoding), task=CLASSIFICATION, format=requested)
        if "bigrams" in form and documents.format.format != "text":
            raise ParameterError(
                "--bigrams and --no-bigrams require the format text; "
                f"{data} is {documents.format.format}"
            )
        held_out = None
        if dev is not None:
            held_out = corpus_of(
                with_encoding(dev, encoding), task=CLASSIFICATION, format=documents.format
            )
    say(
        f"{counted(len(documents), 'document')}, format {documents.format.format}, "
        f"read in {time.perf_counter() - begin:.2f} s"
    )
    train_and_save(
        lambda callbacks: DocumentClassifier.train(
            documents,
            dev=held_out,
            resume=resume,
            checkpoint=checkpoint,
            every=every,
            callbacks=callbacks,
            **features,
            **training,
            **algorithm_parameters,
        ),
        target,
        log=log,
        begin=begin,
        provenance=lambda trained: trained.model.provenance,
        summary=lambda trained: (
            f"{counted(len(trained.labels), 'class', 'classes')}, "
            f"{counted(trained.model.index.n_predicates, 'feature')}, "
        ),
    )


def predict(
    data: DocumentsArgument,
    model: ModelOption,
    output: FolderOption = None,
    probabilities: Annotated[
        bool,
        option("--probabilities", help="After the class, write label:probability of each class."),
    ] = False,
    unlabelled: Annotated[
        bool,
        option("--unlabelled", help="No document has a label: tabs in text are white space."),
    ] = False,
    threads: ThreadsOption = None,
    encoding: EncodingOption = None,
    cluster: ClusterOption = None,
    skip_bad: SkipBadOption = False,
    block_size: BlockSizeOption = None,
) -> None:
    """Classify documents: one line with the class of each.

    Documents are written like those of the training data, with labels or without. A blank line is
    no document, and has no line in the output. Files of any size are read in parts, which are
    classified on all cores. On a cluster, the output is a folder of parts in the order of the
    input.
    """
    from adaptag.classification.documents import DocumentClassifier
    from adaptag.cli.output import check_files
    from adaptag.cli.progress import working
    from adaptag.parallel import write_ordered
    from adaptag.storage.encodings import with_encoding

    on_cluster = OnCluster(cluster, threads, skip_bad, block_size)
    if cluster is not None:
        if encoding is not None:
            raise ParameterError("--encoding cannot be combined with --cluster")
        on_cluster.run(lambda: _work(probabilities, unlabelled), data, model, output)
        return
    path = on_cluster.one_input(data, "DATA")
    check_files({"--output": output}, {"DATA": path, "--model": model})
    classifier = DocumentClassifier.load(model)
    source = with_encoding(path, encoding)
    parts: Iterable[AttributeCorpus | None] = classifier.read_parts(source, bare=unlabelled)
    if not path.is_file():  # a line of a pipe is answered before the next one is waited for
        parts = itertools.chain.from_iterable((part, None) for part in parts)
    with output_stream(output) as out, working(f"classifying {path}"):
        write_ordered(
            out,
            lambda part: (
                classifier.predicted_lines(part, probabilities=probabilities),
                len(part),
            ),
            parts,
            threads,
        )


def _work(probabilities: bool, unlabelled: bool) -> Work:
    from adaptag.ray.work import Classifying

    return Classifying(probabilities=probabilities, unlabelled=unlabelled)


def evaluate(
    data: LabelledArgument,
    model: ModelOption,
    as_json: JsonOption = False,
    calibration: CalibrationOption = False,
    chart: ChartOption = None,
    encoding: EncodingOption = None,
) -> None:
    """Classify labelled documents and score: accuracy, the scores of each class, confusions."""
    from adaptag.classification.documents import DocumentClassifier
    from adaptag.cli.scores import check_calibration, show_scores
    from adaptag.corpus.data import CLASSIFICATION, corpus_of
    from adaptag.evaluation.classification import class_table, confusion_table
    from adaptag.storage.encodings import with_encoding

    check_calibration(calibration, chart, {"DATA": data, "--model": model})
    classifier = DocumentClassifier.load(model)
    source = with_encoding(data, encoding)
    documents = corpus_of(source, task=CLASSIFICATION, format=classifier.format)
    score = classifier.evaluate(documents)
    measured = classifier.calibration(documents) if calibration else None
    show_scores(score, [class_table, confusion_table], measured, as_json=as_json, chart=chart)
