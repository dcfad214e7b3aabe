"""``adaptag segment``: train a word segmenter, score it, find new words."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from adaptag.cli.arguments import argument, option
from adaptag.cli.options import (
    CalibrationOption,
    ChartOption,
    CheckpointOption,
    DevOption,
    EncodingOption,
    EveryOption,
    JsonOption,
    LogOption,
    ModelOption,
    NewModelOption,
    ResumeOption,
)
from adaptag.cli.output import say
from adaptag.cli.segmenters import (
    DictionaryFormatOption,
    DictionaryOption,
    inputs_of,
    load_segmenter,
)
from adaptag.cli.settings import given_parameters, with_settings
from adaptag.errors import CorpusError, ParameterError, counted
from adaptag.features.settings import CharacterFeatures
from adaptag.segmentation.settings import SegmenterSettings
from adaptag.settings import split_options
from adaptag.training.settings import TrainingSettings, parameter_names

if TYPE_CHECKING:
    from adaptag.segmentation.new_words import Detection
    from adaptag.storage.files import PathLike

__all__ = ["evaluate", "new_words", "train"]

TextArgument = Annotated[Path, argument(metavar="TEXT", help="Plain text (.gz, .xz; - for stdin).")]
ThresholdOption = Annotated[
    float, option(min=0, max=1, help="The probability that a new word must exceed.")
]
RoundsOption = Annotated[int, option(min=1, help="Maximum number of rounds.")]


@with_settings(SegmenterSettings, CharacterFeatures, TrainingSettings, parameters=True)
def train(
    data: Annotated[
        Path,
        argument(
            metavar="TRAIN", help="Spaced text, one sentence per line (.gz, .xz; - for stdin)."
        ),
    ],
    model: NewModelOption = None,
    dev: DevOption = None,
    checkpoint: CheckpointOption = None,
    every: EveryOption = None,
    resume: ResumeOption = None,
    log: LogOption = None,
    encoding: EncodingOption = None,
    **options: Any,
) -> None:
    """Train a segmenter on text with spaces between the words.

    Ctrl-C and SIGTERM stop training and save the model reached so far.
    """
    from adaptag.cli.output import check_files
    from adaptag.cli.progress import working
    from adaptag.cli.training import check_every, model_file, train_and_save
    from adaptag.corpus.data import SEGMENTATION, corpus_of
    from adaptag.segmentation.segmenter import Segmenter
    from adaptag.storage.encodings import with_encoding

    *groups, parameters = split_options(
        options, SegmenterSettings, CharacterFeatures, TrainingSettings, also=parameter_names()
    )
    for group, group_options in zip((SegmenterSettings, CharacterFeatures), groups, strict=False):
        group(**group_options).check()
    parameters = given_parameters(options.get("algorithm"), parameters)
    check_every(every, checkpoint)
    target = model_file(model, resume)
    check_files(
        {"--model": target, "--log": log, "--checkpoint": checkpoint},
        {"TRAIN": data, "--dev": dev},
    )
    begin = time.perf_counter()
    with working(f"reading {data}"):
        corpus = corpus_of(with_encoding(data, encoding), task=SEGMENTATION)
        dev_corpus = None
        if dev is not None:
            dev_corpus = corpus_of(with_encoding(dev, encoding), task=SEGMENTATION)
    say(
        f"{counted(len(corpus), 'sentence')}, {counted(corpus.n_words, 'word')}, "
        f"{counted(corpus.n_characters, 'character')}, "
        f"read in {time.perf_counter() - begin:.2f} s"
    )
    train_and_save(
        lambda callbacks: Segmenter.train(
            corpus,
            dev=dev_corpus,
            resume=resume,
            checkpoint=checkpoint,
            every=every,
            callbacks=callbacks,
            **{**options, **parameters},
        ),
        target,
        log=log,
        begin=begin,
        provenance=lambda trained: trained.model_.provenance,
        summary=lambda trained: (
            f"{trained.model_.index.n_words:,} words, "
            f"{trained.model_.index.n_predicates:,} features, "
        ),
    )


def _spaced_line(line: str, words: list[str], separator: str = " ") -> str:
    """Join words by separators, which replace the white space of the text."""
    without_spaces = (word for word in words if not word.isspace())
    return separator.join(without_spaces) + line[len(line.rstrip("\r\n")) :]


def evaluate(
    gold: Annotated[Path, argument(metavar="GOLD", help="Spaced text with the right words.")],
    predicted: Annotated[
        Path | None, argument(metavar="[PREDICTED]", help="The same text, as it was cut.")
    ] = None,
    model: Annotated[
        Path | None,
        option("--model", "-m", help="Cut with this model, whose training words count as known."),
    ] = None,
    words: Annotated[
        Path | None,
        option(help="With PREDICTED: the words of the training data, or that data itself."),
    ] = None,
    fold: Annotated[
        str | None,
        option(
            help="How words are compared with --words: none, width or types.", show_default="none"
        ),
    ] = None,
    new_words: Annotated[
        bool, option("--new-words", help="With a model: find new words first.")
    ] = False,
    dictionary: DictionaryOption = None,
    dictionary_format: DictionaryFormatOption = "auto",
    as_json: JsonOption = False,
    calibration: CalibrationOption = False,
    chart: ChartOption = None,
    encoding: EncodingOption = None,
) -> None:
    """Score a segmentation as the SIGHAN bakeoffs do: P, R, F1, OOV rate, OOV and IV recall."""
    from adaptag.cli.scores import check_calibration, show_scores
    from adaptag.corpus.segmented import SegmentedCorpus
    from adaptag.evaluation.segmentation import evaluate_segmentation, segmentation_table
    from adaptag.features.characters import word_list
    from adaptag.storage.encodings import with_encoding

    if (predicted is None) == (model is None):
        raise ParameterError("give either PREDICTED or --model")
    if predicted is not None and (new_words or dictionary):
        raise ParameterError("--new-words and --dictionary require --model")
    if model is not None and words is not None:
        raise ParameterError("--words cannot be combined with --model: a model knows its words")
    if fold is not None and words is None:
        raise ParameterError("--fold requires --words")
    check_calibration(calibration, chart, {"GOLD": gold, "--model": model})
    right = SegmentedCorpus.read(with_encoding(gold, encoding))
    measured = None
    if model is not None:
        segmenter = load_segmenter(model, dictionary, dictionary_format)
        texts = right.texts()
        segmentation = (
            segmenter.new_words(texts).segmentation if new_words else segmenter.cut_all(texts)
        )
        score = evaluate_segmentation(right.words(), segmentation, segmenter.lexicon_.__contains__)
        measured = segmenter.calibration(right) if calibration else None
    else:
        assert predicted is not None
        lexicon = word_list(
            _all_words(with_encoding(words, encoding)) if words else [], fold or "none"
        )
        found = SegmentedCorpus.read(with_encoding(predicted, encoding))
        known = lexicon.__contains__ if words else lambda _: True
        try:
            score = evaluate_segmentation(right.words(), found.words(), known)
        except CorpusError as error:
            raise CorpusError(f"{right.name} and {found.name}, {error}") from None
    show_scores(score, [segmentation_table], measured, as_json=as_json, chart=chart)


def new_words(
    data: TextArgument,
    model: ModelOption,
    output: Annotated[
        Path | None,
        option("--output", "-o", help="Write the words as a dictionary, for --dictionary."),
    ] = None,
    segmented: Annotated[
        Path | None, option(help="Write the text as it is cut with the new words.")
    ] = None,
    dictionary: DictionaryOption = None,
    dictionary_format: DictionaryFormatOption = "auto",
    threshold: ThresholdOption = 0.5,
    rounds: RoundsOption = 10,
    as_json: Annotated[bool, option("--json", help="Write all of them as JSON.")] = False,
    show: Annotated[int, option(min=1, help="Words to show in the table.")] = 40,
    encoding: EncodingOption = None,
) -> None:
    """Find words that the training data does not have, and cut the text again with them."""
    from rich.console import Console

    from adaptag.cli.output import check_files
    from adaptag.cli.progress import working
    from adaptag.corpus.text import read_lines
    from adaptag.storage.encodings import with_encoding
    from adaptag.storage.files import replace_file

    check_files({"--output": output, "--segmented": segmented}, inputs_of(data, model, dictionary))
    segmenter = load_segmenter(model, dictionary, dictionary_format)
    with working(f"searching {data}"):
        parts = read_lines(with_encoding(data, encoding))
        lines = list(io.StringIO("".join(line for part in parts for line in part)))
        detection = segmenter.new_words(lines, threshold=threshold, rounds=rounds)
    if output is not None:
        with replace_file(output) as file:
            file.write(detection.dictionary().encode())
    if segmented is not None:
        with replace_file(segmented) as file:
            for line, words in zip(lines, detection.segmentation, strict=True):
                file.write(_spaced_line(line, words).encode())
    if as_json:
        print(json.dumps(detection.to_dict(), ensure_ascii=False, indent=1))
    else:
        Console().print(_new_words_table(detection, show))


def _new_words_table(detection: Detection, show: int) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    n = len(detection.new_words)
    caption = f"{counted(n, 'new word')}, {counted(detection.rounds, 'round')}"
    if n > show:
        caption += f"; the {show} most frequent are shown"
    table = Table(box=box.HORIZONTALS, caption=caption, caption_justify="left")
    table.add_column("word", style="bold", no_wrap=True, max_width=20)
    table.add_column("count", justify="right", min_width=5)
    table.add_column("probability", justify="right", min_width=11)
    table.add_column("example", overflow="ellipsis", no_wrap=True, ratio=1)
    for word in detection.new_words[:show]:
        table.add_row(
            Text(word.text), f"{word.count:,}", f"{word.probability:.3f}", Text(word.example)
        )
    return table


def _all_words(path: PathLike) -> Iterable[str]:
    from adaptag.corpus.text import read_lines

    for lines in read_lines(path):
        for line in lines:
            yield from line.split()
