"""Word segmentation beside spacy-pkuseg and jieba, one core: training, cutting, F.

usage: python segmentation_speed.py [--passes N] [--repeats N]

Writes results/segmentation_speed.md. The status is 1 where a bar is missed: training in at most one
fiftieth of spacy-pkuseg's time, with a higher F, and cutting ten times as fast and faster than
jieba.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import report
from contestants import ADAPTAG, PEER_PYTHON, REQUIREMENTS, install_peers
from measure import HERE, Run, run
from peers.cutting import REPEATS
from report import Table, figure, markdown_table
from segmentation import PKU

from adaptag import Segmenter
from adaptag.corpus.segmented import SegmentedCorpus
from adaptag.evaluation.segmentation import evaluate_segmentation
from adaptag.features.characters import CharacterIndex
from adaptag.features.settings import CharacterFeatures

WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}

READ_FIRST = """\
PKU, reconstructed training set ({characters:,} characters), and the official test set; full-width
digits, letters and punctuation are turned to half-width in both files beforehand, for all tools.
One core; adaptag and spacy-pkuseg train for the same number of passes.

- **Training** is the whole process: reading, dictionaries, features, passes, saving.
- **Cutting** is line by line in one process, without loading the model; the fastest of {repeats}
  runs. `cut_all` is adaptag's call for many texts, here with one thread.
- spacy-pkuseg cuts with `user_dict=None`: with the words of its own model only. jieba has its own
  dictionary and another idea of words: its F is no measure of its quality.
- NWD: with new word detection."""


@dataclass
class Figures:
    """What was measured of one tool."""

    name: str
    training: list[Run] = field(default_factory=list)
    per_pass: float | None = None
    f: float | None = None
    per_second: float | None = None


def fold(source: Path, target: Path, spaces: bool = True) -> Path:
    text = source.read_text(encoding="utf-8").replace("\r", "").translate(WIDTH)
    if not spaces:
        text = "".join(text.split(" "))
    target.write_text(text, encoding="utf-8")
    return target


def score(gold: Path, cut: Path) -> float:
    right, found = SegmentedCorpus.read(gold), SegmentedCorpus.read(cut)
    return evaluate_segmentation(right.words(), found.words()).f1


def timed(log: Path) -> dict[str, float]:
    return json.loads(log.read_text(encoding="utf-8").splitlines()[-1])


def measure_adaptag(folder: Path, files: list[Path], passes: int, repeats: int) -> list[Figures]:
    training, gold, plain = files
    model, log = folder / "adaptag.model", folder / "passes.jsonl"
    ours = Figures("adaptag")
    for _ in range(repeats):
        command = [ADAPTAG, "segment", "train", str(training), "-m", str(model)]
        options = ["--passes", str(passes), "--log", str(log)]
        ours.training.append(run([*command, *options], folder / "log"))
    events = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    ours.per_pass = min(event["seconds"] for event in events if event["event"] == "pass")
    output = folder / "adaptag.txt"
    script = str(HERE / "segmentation_cut.py")
    run([sys.executable, script, str(plain), str(output), str(model)], folder / "cut")
    found = timed(folder / "cut")
    ours.per_second = found["characters"] / found["single"]
    ours.f = score(gold, output)
    many = Figures("adaptag, cut_all", per_second=found["characters"] / found["all"], f=ours.f)
    new = Figures("adaptag, NWD")
    segmenter = Segmenter.load(model)
    corpus = SegmentedCorpus.read(gold)
    words = segmenter.new_words(corpus.texts()).segmentation
    new.f = evaluate_segmentation(corpus.words(), words).f1
    return [ours, many, new]


def measure_pkuseg(folder: Path, files: list[Path], passes: int) -> Figures:
    training, gold, plain = files
    theirs = Figures("spacy-pkuseg")
    model, output = folder / "pkuseg", folder / "pkuseg.txt"
    peer = [PEER_PYTHON, "-m", "peers.pkuseg"]
    paths = [str(training), str(gold), str(model)]
    theirs.training.append(run([*peer, "train", *paths, str(passes)], folder / "log"))
    run([*peer, "cut", str(plain), str(model), str(output)], folder / "cut")
    found = timed(folder / "cut")
    theirs.per_second = found["characters"] / found["single"]
    theirs.f = score(gold, output)
    return theirs


def measure_jieba(folder: Path, files: list[Path]) -> Figures:
    _, gold, plain = files
    theirs = Figures("jieba")
    output = folder / "jieba.txt"
    run([PEER_PYTHON, "-m", "peers.jieba_words", str(plain), str(output)], folder / "cut")
    found = timed(folder / "cut")
    theirs.per_second = found["characters"] / found["single"]
    theirs.f = score(gold, output)
    return theirs


def encoding_seconds(training: Path) -> float:
    """Dictionaries and features of the training data, the fastest of three."""
    corpus = SegmentedCorpus.read(training)
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        CharacterIndex.build(corpus, CharacterFeatures()).encode(corpus)
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--passes", type=int, default=2, help="of both trainers")
    parser.add_argument("--repeats", type=int, default=3, help="of adaptag's training")
    arguments = parser.parse_args()
    install_peers()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [
            fold(PKU / "train.utf8", folder / "train.txt"),
            fold(PKU / "test_gold.utf8", folder / "gold.txt"),
            fold(PKU / "test_gold.utf8", folder / "plain.txt", spaces=False),
        ]
        corpus = SegmentedCorpus.read(files[0])
        ours = measure_adaptag(folder, files, arguments.passes, arguments.repeats)
        pkuseg = measure_pkuseg(folder, files, arguments.passes)
        jieba = measure_jieba(folder, files)
        encoding = encoding_seconds(files[0])
    rows = [*ours, pkuseg, jieba]
    table = Table(
        "Training and cutting",
        ["Tool", "Training s", "Ratio", "s per pass", "Peak MB", "F", "Characters per second"],
        [],
    )
    fastest = min(r.wall_s for r in ours[0].training)
    for row in rows:
        walls = [r.wall_s for r in row.training]
        table.rows.append(
            [
                row.name,
                figure(min(walls, default=None)),
                figure(min(walls) / fastest if walls else None, ".1f"),
                figure(row.per_pass),
                figure(min((r.peak_mb for r in row.training), default=None), ".0f"),
                figure(row.f),
                figure(row.per_second, ",.0f"),
            ]
        )
    report.show([table])
    bars = {
        "training, times faster than spacy-pkuseg (bar 50)": pkuseg.training[0].wall_s / fastest,
        "F above spacy-pkuseg's (bar 0)": ours[0].f - pkuseg.f,
        "encoding in passes (bar: at most 3)": encoding / ours[0].per_pass,
        "cut, times faster than spacy-pkuseg (bar 10)": ours[0].per_second / pkuseg.per_second,
        "cut, times faster than jieba (bar 1)": ours[0].per_second / jieba.per_second,
    }
    text = READ_FIRST.format(characters=corpus.n_characters, repeats=REPEATS)
    parts = ["# Word segmentation: adaptag beside spacy-pkuseg and jieba", text]
    parts += [f"Machine: {report.described(report.machine(REQUIREMENTS))}."]
    command = f"python benchmarks/segmentation_speed.py --passes {arguments.passes}"
    parts += [f"Command: `{command}`", f"## {table.title}", markdown_table(table)]
    parts += [f"Encoding (dictionaries and features): {encoding:.2f} s."]
    parts += ["\n".join(f"- {name}: {value:.2f}" for name, value in bars.items())]
    (HERE / "results" / "segmentation_speed.md").write_text(
        "\n\n".join(parts) + "\n", encoding="utf-8"
    )
    for name, value in bars.items():
        print(f"{name}: {value:.2f}")
    ratio, better, passes, times, jieba_times = bars.values()
    return int(ratio < 50 or better <= 0 or passes > 3 or times < 10 or jieba_times < 1)


if __name__ == "__main__":
    sys.exit(main())
