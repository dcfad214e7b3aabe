"""The results of a comparison: curves of every run, their summary, tests, and tables of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from adaptag.experiments.significance import TTest
from adaptag.experiments.tables import (
    MISSING,
    Mean,
    Table,
    best_cells,
    format_p,
    format_score,
    format_seconds,
)
from adaptag.rendering.html_tables import html_of
from adaptag.rendering.tables import Shown
from adaptag.training.callbacks import Converged, PassReport

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table as RichTable

__all__ = [
    "SIGNIFICANCE_LEVEL",
    "Comparison",
    "Data",
    "Entry",
    "Run",
    "Significance",
    "machine_line",
]

NARROW = (0, 1, 2, 6, 7)  # columns of the results where there is not much room
CONVERGENCE = Converged()
SIGNIFICANCE_LEVEL = 0.05  # as in the paper


@dataclass(frozen=True)
class Data:
    """The name and size of some data.

    Attributes:
        name: The name of the file, without its folder.
        sentences: The number of sentences.
        tokens: The number of tokens.
        sentence_unit: What is counted as sentences, such as ``documents``.
        unit: What is counted as tokens, such as ``characters``.
    """

    name: str
    sentences: int
    tokens: int
    sentence_unit: str = "sentences"
    unit: str = "tokens"

    @property
    def size(self) -> str:
        """The size as text."""
        return f"{self.sentences:,} {self.sentence_unit}, {self.tokens:,} {self.unit}"


@dataclass(frozen=True)
class Run:
    """One training; all curves have one value per pass.

    Attributes:
        seed: The seed of the sentence order.
        scores: The scores on the test data, in percent.
        seconds: The training time so far: set-up before the first pass (calibration, allocation)
            and all passes, without scoring.
        objective: The mean loss per sentence, as the algorithm reports it.
        active: The number of weights that are not 0.
        precision: The precision after the last pass, in percent.
        recall: The recall after the last pass, in percent; equal to the precision where all
            tokens count.
        calibrated: The values that were found for parameters set to ``auto``.
        stopped: Why training ended, as in ``training.job.Result``.
    """

    seed: int
    scores: tuple[float, ...]
    seconds: tuple[float, ...]
    objective: tuple[float, ...]
    active: tuple[int, ...]
    precision: float = 0.0
    recall: float = 0.0
    calibrated: dict[str, float] = field(default_factory=dict)
    stopped: str = "passes"

    @property
    def converged(self) -> int | None:
        """The first pass at which the paper's rule holds: five adjacent scores within 0.01.

        A model that predicts nothing correctly, as batch algorithms do at first, has not converged.
        """
        history = [PassReport(n, 0, 0, 0, score) for n, score in enumerate(self.scores, 1)]
        for report in history:
            if report.score > 0 and CONVERGENCE.on_pass(history[: report.number]):
                return report.number
        return None

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Run:
        """Read what ``asdict`` wrote, from JSON or not."""
        fields: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in content.items()
        }
        return cls(**fields)


@dataclass(frozen=True, repr=False)
class Entry:
    """One algorithm with its settings, and its runs: one per seed; only one for batch algorithms.

    Attributes:
        name: The name in the comparison.
        algorithm: The name in ``adaptag.algorithms()``.
        online: Whether the order of sentences matters.
        parameters: All parameters, defaults included; infinity is the text ``inf``.
        weights: The number of weights, 0 or not.
        runs: The runs, in the order of the seeds.
    """

    name: str
    algorithm: str
    online: bool
    parameters: dict[str, float | str]
    weights: int
    runs: tuple[Run, ...]

    def __repr__(self) -> str:
        score = format_score(self.at_end("scores"))
        return f"<Entry {self.name}: {score} after {self.passes} passes, {len(self.runs)} runs>"

    @property
    def passes(self) -> int:
        """Passes that all runs have."""
        return min(len(run.scores) for run in self.runs)

    def curve(self, name: str) -> list[Mean]:
        """Mean and deviation of a curve of ``Run`` over the seeds, pass by pass."""
        curves = [getattr(run, name)[: self.passes] for run in self.runs]
        return [Mean(*_mean(values)) for values in zip(*curves, strict=True)]

    def at_end(self, name: str) -> Mean:
        """Mean and deviation of a curve at the last pass."""
        return Mean(*_mean([getattr(run, name)[-1] for run in self.runs]))

    def converged(self) -> tuple[Mean | None, Mean | None, Mean | None]:
        """Pass, score and seconds at convergence, over the runs that converged."""
        ends = [(run, run.converged) for run in self.runs]
        at_end = [(n, run.scores[n - 1], run.seconds[n - 1]) for run, n in ends if n is not None]
        passes, scores, seconds = zip(*at_end, strict=True) if at_end else ((), (), ())
        return Mean.of(passes), Mean.of(scores), Mean.of(seconds)

    def to_dict(self) -> dict[str, Any]:
        """Settings, summary and curves, ready for JSON."""
        passes, scores, seconds = self.converged()
        summary = {
            "one_pass_score": Mean.of([run.scores[0] for run in self.runs]),
            "converged_runs": sum(run.converged is not None for run in self.runs),
            "convergence_pass": passes,
            "convergence_score": scores,
            "convergence_seconds": seconds,
            "score": self.at_end("scores"),
            "seconds": self.at_end("seconds"),
            "objective": self.at_end("objective"),
            "active": self.at_end("active"),
        }
        named = {k: v._asdict() if isinstance(v, Mean) else v for k, v in summary.items()}
        return asdict(self) | {
            "runs": [asdict(run) | {"converged": run.converged} for run in self.runs],
            "summary": named,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Entry:
        """Read what ``to_dict`` wrote."""
        fields = {k: v for k, v in content.items() if k != "summary"}
        runs = [{k: v for k, v in run.items() if k != "converged"} for run in content["runs"]]
        return cls(**fields | {"runs": tuple(map(Run.from_dict, runs))})


@dataclass(frozen=True)
class Significance:
    """Whether the final scores of an algorithm and the baseline differ significantly.

    Attributes:
        name: The algorithm.
        baseline: The algorithm it is tested against: the first of the comparison.
        difference: The difference of their scores, the mean over seeds.
        blocks: The t-test over blocks of the test data.
        randomisation: The p value of approximate randomisation.
        seeds: The t-test over seeds; None with one seed, or where the order does not matter.
    """

    name: str
    baseline: str
    difference: float
    blocks: TTest | None
    randomisation: float
    seeds: TTest | None

    @property
    def significant(self) -> str:
        """Whether both tests over the test data are significant; unclear where only one is."""
        blocks = self.blocks is not None and self.blocks.p < SIGNIFICANCE_LEVEL
        randomisation = self.randomisation < SIGNIFICANCE_LEVEL
        if blocks != randomisation:
            return "unclear"
        return "yes" if blocks else "no"

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Significance:
        """Read what ``asdict`` wrote."""
        tests = {k: content[k] and TTest(**content[k]) for k in ("blocks", "seeds")}
        return cls(**{**content, **tests})


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """The results of several algorithms on the same data.

    Printed, and in a notebook, it is the tables of results and of significance.

    Attributes:
        train: The training data.
        test: The test data.
        labels: The number of labels.
        features: The number of features of the training data.
        metric: What the score is: ``chunk F1``, ``token accuracy``, ``word F1`` or ``accuracy``.
        feature_settings: How features were made: template, cutoffs and the like.
        seeds: The seeds of the sentence orders.
        entries: The algorithms that were finished.
        unfinished: The names of the algorithms that Ctrl-C interrupted.
        significance: The significance tests of each algorithm but the first.
        machine: What times depend on.
        errors: Why algorithms were left out whose training diverged, by name.
    """

    train: Data
    test: Data
    labels: int
    features: int
    metric: str
    feature_settings: dict[str, Any]
    seeds: tuple[int, ...]
    entries: tuple[Entry, ...]
    unfinished: tuple[str, ...]
    significance: tuple[Significance, ...]
    machine: dict[str, str]
    errors: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        scores = ", ".join(f"{e.name} {format_score(e.at_end('scores'))}" for e in self.entries)
        return f"<Comparison: {self.metric} on {self.test.name}: {scores or 'nothing finished'}>"

    def _shown(self) -> list[Any]:
        return self.rich_tables(wide=False)

    def _repr_html_(self) -> str:
        return html_of(self.rich_tables(wide=True))

    def rich_tables(self, *, wide: bool) -> list[RichTable]:
        """The results and their significance, for the terminal; ``wide`` means all columns."""
        results = self.table() if wide else self.table().select(NARROW)
        tables = [results.rich(f"{self.metric} on {self.test.name}")]
        if self.significance:
            tables.append(self.significance_table().rich("Significance"))
        return tables

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return asdict(self) | {"entries": [entry.to_dict() for entry in self.entries]}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Comparison:
        """Read what ``to_dict`` wrote, from JSON or not."""
        return cls(
            **{
                **content,
                "train": Data(**content["train"]),
                "test": Data(**content["test"]),
                "seeds": tuple(content["seeds"]),
                "unfinished": tuple(content["unfinished"]),
                "entries": tuple(map(Entry.from_dict, content["entries"])),
                "significance": tuple(map(Significance.from_dict, content["significance"])),
            }
        )

    def table(self) -> Table:
        """One row per algorithm; the best values are marked where they can be compared."""
        head = [
            "Algorithm",
            "After 1 pass",
            "Converged at pass",
            "Score at convergence",
            "Seconds to convergence",
            "Passes",
            "Score at the end",
            "Seconds",
            "Objective",
            "Active weights",
        ]
        rows = []
        ranks = []
        for entry in self.entries:
            first = Mean(*_mean([run.scores[0] for run in entry.runs]))
            passes, score, seconds = entry.converged()
            end = entry.at_end("scores")
            reached = sum(run.converged is not None for run in entry.runs)
            part = f" ({reached} of {len(entry.runs)})" if 0 < reached < len(entry.runs) else ""
            rows.append(
                [
                    entry.name,
                    format_score(first),
                    MISSING if passes is None else f"{passes.value:.4g}{part}",
                    format_score(score),
                    MISSING if seconds is None else format_seconds(seconds.value),
                    str(entry.passes),
                    format_score(end),
                    format_seconds(entry.at_end("seconds").value),
                    f"{entry.at_end('objective').value:.4f}",
                    f"{entry.at_end('active').value:,.0f}",
                ]
            )
            all_converged = reached == len(entry.runs)
            ranks.append(
                {
                    1: first.value,
                    2: -passes.value if passes and all_converged else None,
                    3: score.value if score and all_converged else None,
                    4: -seconds.value if seconds and all_converged else None,
                    6: end.value,
                }
            )
        return Table(head, rows, best_cells(rows, ranks))

    def significance_table(self) -> Table:
        """One row for each algorithm but the first."""
        baseline = self.entries[0].name if self.entries else ""
        head = [
            "Algorithm",
            f"Score minus {baseline}'s",
            "t-test over blocks: p",
            "Random swaps: p",
            "t-test over seeds: p",
            "Differ?",
        ]
        rows = [
            [
                test.name,
                f"{test.difference:+.2f}".replace("-", "−"),
                format_p(test.blocks.p if test.blocks else None),
                format_p(test.randomisation),
                format_p(test.seeds.p if test.seeds else None),
                test.significant,
            ]
            for test in self.significance
        ]
        return Table(head, rows)

    def settings_table(self) -> Table:
        """Every algorithm's settings, with the values found for ``auto``."""
        rows = []
        for entry in self.entries:
            texts = []
            for name, value in entry.parameters.items():
                calibrated = [run.calibrated[name] for run in entry.runs if name in run.calibrated]
                values = ", ".join(f"{number:.3g}" for number in calibrated)
                text = f"{name} {value if isinstance(value, str) else format(value, 'g')}"
                texts.append(f"{text} ({values})" if values else text)
            rows.append([entry.name, entry.algorithm, ", ".join(texts)])
        return Table(["Name", "Algorithm", "Settings"], rows, numbers=False)


def machine_line(machine: Mapping[str, str]) -> str:
    """What times depend on, in one line."""
    m = machine
    first = f"{m['processor']}, {m['cores']} core{'s' * (m['cores'] != '1')}, {m['system']}"
    if "cluster" in m:
        first = f"{m['cluster']}, started from {first}"
    return f"{first}, Python {m['Python']}, adaptag {m['adaptag']}"


def _mean(values: Sequence[float]) -> tuple[float, float | None]:
    mean = Mean.of(values)
    assert mean is not None
    return mean.value, mean.deviation
