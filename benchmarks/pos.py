"""Part-of-speech tagging with large label sets: adaptag adf beside CRFsuite l2sgd, one core.

usage: python pos.py [--quick] [--repeats N] [--only TEXT ...]

UD English EWT (XPOS, its own test file) and People's Daily (the last tenth of the lines is the test
data), with the features of the preset `general`. CRFsuite gets the same features, as adaptag
numbers them. Writes results/pos.md; the status is 1 where adaptag takes 4 GiB or more.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import report
from chunking import DATA
from contestants import (
    REQUIREMENTS,
    Contestant,
    install_peers,
    pass_seconds,
    tag_command,
    train_command,
)
from measure import HERE, Run, run
from report import Table, figure, markdown_table
from score import accuracy

import adaptag

if TYPE_CHECKING:
    from collections.abc import Callable

    Sentences = list[list[tuple[str, str]]]  # word, tag

TEMPLATE = "general"
BAR_MB = 4 * 2**30 / 1e6
QUICK_SENTENCES, QUICK_PASSES = 1500, 2

PT = ("feature.possible_transitions=1",)
ALL = (*PT, "feature.possible_states=1")
ADF = Contestant("adaptag adf", "adaptag", "adf")
L2SGD = Contestant("CRFsuite l2sgd", "crfsuite", "l2sgd", PT)
L2SGD_ALL = Contestant("CRFsuite l2sgd, all weights", "crfsuite", "l2sgd", ALL, passes=3, repeats=1)

READ_FIRST = """\
The features of the preset `general`, the same for both tools: CRFsuite gets them as the numbers
that adaptag gave them, so its memory holds short names. One core.

- **s per pass** is the wall time of the fastest pass. Contestants took turns, {repeats} times, slow
  ones once. Times vary by 20–25 % from run to run.
- **Peak MB** (10⁶ bytes) is that of the whole training process, reading included. The bar for
  adaptag is 4 GiB.
- CRFsuite keeps only the pairs of feature and label seen in training, except with *all weights*;
  adaptag keeps all. CRFsuite was not built for the native instruction set.
- Parameters are each tool's defaults; CRFsuite's possible transitions are on."""


def ewt() -> tuple[Sentences, Sentences]:
    """Words and XPOS tags: the training and the test file."""
    return tuple(
        [
            [
                (columns[1], columns[4])
                for columns in (line.split("\t") for line in block.split("\n"))
                if columns[0].isdigit()  # not a comment, a range or an empty node
            ]
            for block in path.read_text(encoding="utf-8").strip().split("\n\n")
        ]
        for path in (
            DATA.parent / "ud_english_ewt" / f"en_ewt-ud-{part}.conllu"
            for part in ("train", "test")
        )
    )


def people_daily() -> tuple[Sentences, Sentences]:
    """Words and tags; the last tenth of the lines are for testing."""
    path = DATA.parent / "people_daily_199801" / "199801.txt"
    sentences = [
        [tuple(token.rsplit("/", 1)) for token in line.split(" ") if token]
        for line in path.read_text(encoding="utf-8").split("\n")
        if line.strip()
    ]
    n = len(sentences) * 9 // 10
    return sentences[:n], sentences[n:]


@dataclass(frozen=True)
class Corpus:
    """Where the sentences come from, and who trains on them."""

    name: str
    load: Callable[[], tuple[Sentences, Sentences]]
    contestants: list[Contestant]


CORPORA = [
    Corpus("UD English EWT, XPOS", ewt, [ADF, L2SGD, L2SGD_ALL]),
    # All weights of People's Daily would take CRFsuite far more than 4 GiB.
    Corpus("People's Daily", people_daily, [ADF, L2SGD]),
]


@dataclass
class Record:
    """The figures of one contestant on one corpus."""

    runs: list[Run] = field(default_factory=list)
    pass_s: list[float] = field(default_factory=list)
    accuracy: float | None = None


class Bench:
    """One corpus: its files in a temporary folder, and the records."""

    def __init__(self, corpus: Corpus, folder: Path, limit: int | None) -> None:
        self.corpus, self.folder = corpus, folder
        self.records = {c: Record() for c in corpus.contestants}
        train, test = (sentences[:limit] for sentences in corpus.load())
        self.train, self.test = folder / "train.txt", folder / "test.txt"
        self.input = folder / "input.txt"  # the test file without its labels
        for path, sentences in ((self.train, train), (self.test, test)):
            write_columns(path, [["\t".join(token) for token in s] for s in sentences])
        write_columns(self.input, [[word for word, _ in s] for s in test])
        encoded = adaptag.encode(self.train, template=TEMPLATE)
        index, names = encoded.index, encoded.label_names
        write_attributes(encoded, self.train.with_suffix(".attributes"))
        tested = adaptag.Dataset.encode(adaptag.read(self.test), index, names)
        write_attributes(tested, self.test.with_suffix(".attributes"))
        self.described = (
            f"{len(train):,} training sentences of {encoded.n_tokens:,} tokens, "
            f"{tested.n_tokens:,} test tokens; {len(names)} labels, "
            f"{index.n_predicates:,} features, "
            f"{encoded.layout.n_node * len(names) + len(names) ** 2:,} weights."
        )
        print(f"{corpus.name}: {self.described}", flush=True)

    def one(self, c: Contestant) -> None:
        """Train once; the first run is scored."""
        record, own = self.records[c], c.tool == "adaptag"
        log, passes_log = self.folder / "train.log", self.folder / "passes.jsonl"
        passes_log.unlink(missing_ok=True)
        text = self.train if own else self.train.with_suffix(".attributes")
        model = self.folder / "model"
        done = run(train_command(c, c.passes, text, model, passes_log, TEMPLATE), log, c.cores)
        record.runs.append(done)
        record.pass_s += pass_seconds(c, passes_log if own else log)
        if record.accuracy is None:
            output = self.folder / "tagged.txt"
            text = self.input if own else self.test.with_suffix(".attributes")
            run(tag_command(c, model, text, output), self.folder / "tag.log")
            record.accuracy = accuracy(self.test, output)
        message = f"{min(record.pass_s):.3f} s per pass, {done.peak_mb:.0f} MB"
        print(f"{c.name}: {message}, accuracy {record.accuracy:.2f}", flush=True)

    def table(self) -> Table:
        """Times, memory and accuracy."""
        own = min(self.records[self.corpus.contestants[0]].pass_s)
        rows = [
            [
                c.name,
                str(c.passes),
                figure(min(r.pass_s), ".3f"),
                figure(min(r.pass_s) / own),
                figure(min(one.wall_s for one in r.runs), ".1f"),
                figure(max(one.peak_mb for one in r.runs), ".0f"),
                figure(r.accuracy),
            ]
            for c, r in self.records.items()
        ]
        head = ["Contestant", "Passes", "s per pass", "Ratio", "Training, whole process s"]
        return Table(self.corpus.name, [*head, "Peak MB", "Accuracy"], rows)

    def within_bar(self) -> bool:
        """Whether adaptag's memory stayed below the bar."""
        records = (r for c, r in self.records.items() if c.tool == "adaptag")
        return all(one.peak_mb < BAR_MB for record in records for one in record.runs)


def write_columns(path: Path, sentences: list[list[str]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines("\n".join(lines) + "\n\n" for lines in sentences)


def write_attributes(dataset: adaptag.Dataset, path: Path) -> None:
    """The node features of every token, by number, behind the label; `B` is CRFsuite's own."""
    e, n_node = dataset.encoded, dataset.layout.n_node
    labels = [dataset.label_names[label] for label in dataset.labels]
    ends = set(e.sentences[1:].tolist())
    positions = e.positions.tolist()
    with path.open("w", encoding="utf-8") as file:
        for t, label in enumerate(labels):
            ids = e.predicates[positions[t] : positions[t + 1]]
            file.write("\t".join([label, *map(str, ids[ids < n_node].tolist())]) + "\n")
            if t + 1 in ends:
                file.write("\n")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Part-of-speech tagging with large label sets.")
    parser.add_argument("--quick", action="store_true", help="few sentences, two passes, once")
    parser.add_argument("--repeats", type=int, help="of each run (default 2; quick 1)")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="corpora with this name part")
    arguments = parser.parse_args()
    arguments.repeats = arguments.repeats or (1 if arguments.quick else 2)
    return arguments


def main() -> int:
    arguments = parse_arguments()
    install_peers()
    corpora = CORPORA
    if arguments.only:
        corpora = [c for c in corpora if any(part in c.name for part in arguments.only)]
    complete = corpora == CORPORA and not arguments.quick
    limit = QUICK_SENTENCES if arguments.quick else None
    parts = ["# Part-of-speech tagging", READ_FIRST.format(repeats=arguments.repeats)]
    parts.append(f"Machine: {report.described(report.machine(REQUIREMENTS))}.")
    parts.append(f"Command: `python benchmarks/pos.py --repeats {arguments.repeats}`")
    tables, within = [], True
    for corpus in corpora:
        if arguments.quick:
            few = [replace(c, passes=QUICK_PASSES) for c in corpus.contestants]
            corpus = replace(corpus, contestants=few)
        with tempfile.TemporaryDirectory(prefix="adaptag-bench-") as folder:
            bench = Bench(corpus, Path(folder), limit)
            for repeat in range(arguments.repeats):
                for c in corpus.contestants:
                    if repeat < c.repeats:
                        bench.one(c)
        tables.append(bench.table())
        within &= bench.within_bar()
        parts += [f"## {corpus.name}", bench.described, markdown_table(tables[-1])]
    report.show(tables)
    print(f"adaptag below 4 GiB: {'yes' if within else 'NO'}")
    path = HERE / "results" / f"pos{'' if complete else '-partial'}.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(f"written: {path}")
    return not within


if __name__ == "__main__":
    sys.exit(main())
