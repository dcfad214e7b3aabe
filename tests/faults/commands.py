"""Commands as processes of their own, to be killed: what they read, write, and must leave."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import adaptag
from adaptag.corpus.ingredients import ingredients
from adaptag.storage.files import TEMPORARY
from adaptag.training.checkpoint import Checkpoint

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = [sys.executable, "-c", "from adaptag.cli.program import start; start()"]
CHARACTERS = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏"


@dataclass(frozen=True)
class Case:
    """A command that is run again and again with the same arguments.

    Attributes:
        name: What it is called in the counts.
        words: The arguments.
        output: The file that it writes, whose bytes must not depend on kills.
        checkpoints: Files that must load whenever they exist.
        algorithm: The algorithm that it trains with.
    """

    name: str
    words: tuple[str, ...]
    output: str
    checkpoints: tuple[str, ...] = ()
    algorithm: str = "adf"


def write_data(folder: Path, size: int) -> None:
    """Write data for all commands into a folder."""
    rng = random.Random(1)
    lines = ingredients(size, 0, 60)
    for name, part in (("train.txt", lines.train), ("dev.txt", lines.test)):
        sentences = ("\n".join(map("\t".join, zip(x.tokens, x.labels, strict=True))) for x in part)
        (folder / name).write_text("\n\n".join(sentences) + "\n", encoding="utf-8")
    words = ["".join(rng.choices(CHARACTERS, k=rng.randint(1, 3))) for _ in range(400)]
    spaced = (" ".join(rng.choices(words, k=rng.randint(2, 12))) for _ in range(size))
    (folder / "spaced.txt").write_text("\n".join(spaced) + "\n", encoding="utf-8")
    names = [f"w{k}" for k in range(300)]
    documents = (
        f"{label}\t{' '.join(rng.choices(names[k : k + 150], k=rng.randint(3, 30)))}"
        for label, k in rng.choices([("a", 0), ("b", 75), ("c", 150)], k=size)
    )
    (folder / "documents.txt").write_text("\n".join(documents) + "\n", encoding="utf-8")


def training(name: str, data: str, algorithm: str, *options: str, passes: int = 40) -> Case:
    """A training with a checkpoint that it continues from."""
    words = (*name.split(), data, "-m", "model", "-a", algorithm, "--passes", str(passes))
    saving = ("--checkpoint", "state", "--resume", "state", "--every", "1")
    label = f"{name} {algorithm} {' '.join(options)}".strip()
    return Case(label, (*words, *saving, *options), "model", ("state",), algorithm)


def cases() -> list[Case]:
    """The commands that are killed."""
    tagging = [
        training("train", "train.txt", algorithm)
        for algorithm in ("adf", "sgd", "sgd-l1", "averaged-perceptron", "cw", "arow")
    ]
    batch = [training("train", "train.txt", name) for name in ("lbfgs", "owlqn")]
    forms = [
        training("train", "train.txt", "adf", "--threads", "2"),
        training("train", "train.txt", "adf", "--orders", "2", "--dropout", "0.2"),
        training("train", "train.txt", "madf", "--dev", "dev.txt", "--patience", "99"),
        training("train", "train.txt", "lbfgs", "--dev", "dev.txt", "--patience", "99"),
        training("segment train", "spaced.txt", "adf"),
        training("segment train", "spaced.txt", "pa"),
        training("classify train", "documents.txt", "adf", "--threads", "2"),
        training("classify train", "documents.txt", "lbfgs"),
    ]
    search = ("--rate", "0.05,0.2", "--sigma", "2,5", "--folds", "2", "--passes", "12")
    tune = Case(
        "tune adf",
        ("tune", "train.txt", *search, "--jobs", "1", "--every", "1", "-o", "tuned.json"),
        "tuned.json",
    )
    processes = ("--jobs", "2", "--every", "1", "-o", "tuned.json")
    several = Case(
        "tune lbfgs, two processes",
        ("tune", "train.txt", "-a", "lbfgs", "--sigma", "1,5", *search[4:], *processes),
        "tuned.json",
        algorithm="lbfgs",
    )
    runs = ("--passes", "8", "--seeds", "2", "--checkpoint", "runs", "--every", "1", "-o", ".")
    compare = Case(
        "compare adf,sgd,lbfgs",
        ("compare", "train.txt", "dev.txt", "-a", "adf,sgd,lbfgs", *runs),
        "report.json",
    )
    learn = Case(
        "learn",
        ("learn", "base", "--stream", "train.txt", "-o", "model", "--every", "20"),
        "model",
    )
    compact = Case("compact", ("compact", "base", "-o", "model", "--prune", "0.01"), "model")
    return [*tagging, *batch, *forms, tune, several, compare, learn, compact]


@dataclass
class Ground:
    """A folder that a command is run in, with its data."""

    folder: Path
    size: int = 200
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    def __post_init__(self) -> None:
        write_data(self.folder, self.size)
        adaptag.train(self.folder / "dev.txt", passes=2).save(self.folder / "base")
        self.given = {path.name for path in self.folder.iterdir()}

    def clear(self) -> None:
        """Remove what commands have written."""
        for path in sorted(self.folder.rglob("*"), reverse=True):
            if path.relative_to(self.folder).parts[0] not in self.given:
                path.rmdir() if path.is_dir() else path.unlink()

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a command."""
        return subprocess.Popen(
            [*PROGRAM, *words],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, *words: str) -> tuple[int, str]:
        """Run a command to its end: the exit code and the messages."""
        with self.start(*words) as process:
            _, messages = process.communicate(timeout=300)
        return process.returncode, messages.decode()

    def signalled(self, words: tuple[str, ...], number: int, after: float) -> tuple[int, str]:
        """Run a command that gets a signal after some time, if it still runs then."""
        with self.start(*words) as process:
            try:
                _, messages = process.communicate(timeout=after)
            except subprocess.TimeoutExpired:
                process.send_signal(number)
                _, messages = process.communicate(timeout=300)
        return process.returncode, messages.decode()

    def temporary_files(self) -> list[str]:
        """Temporary files that were left."""
        return [path.name for path in self.folder.rglob(f"*{TEMPORARY}")]

    def check_files(self, case: Case, earlier: bytes) -> None:
        """Raise unless the earlier model, or a whole new one, and the checkpoints load."""
        output = self.folder / case.output
        if output.exists() and output.read_bytes() != earlier:
            _check_loads(output)
        for name in case.checkpoints:
            if (self.folder / name).exists():
                Checkpoint.load(self.folder / name)


def _check_loads(path: Path) -> None:
    if path.suffix == ".json":
        json.loads(path.read_bytes())
    else:
        adaptag.load(path, verify=True)


def outcome(path: Path) -> bytes:
    """The bytes of an output, without times."""
    if path.suffix != ".json":
        return path.read_bytes()

    def without_times(content: object) -> object:
        if isinstance(content, dict):
            kept = {k: v for k, v in content.items() if "seconds" not in k and k != "machine"}
            return {k: without_times(v) for k, v in kept.items()}
        if isinstance(content, list):
            return [without_times(item) for item in content]
        return content

    return json.dumps(without_times(json.loads(path.read_bytes()))).encode()


@dataclass
class Counts:
    """What happened to a command that was killed until it was finished."""

    kills: int = 0
    runs: int = 0
    left: int = 0  # temporary files that kills left behind
    seconds: float = 0.0


def kill_until_finished(
    ground: Ground, case: Case, rng: random.Random, kills: int, expected: bytes, longest: float
) -> Counts:
    """Kill a command at random moments, start it again each time, and let it finish in the end.

    Args:
        ground: Where it runs.
        case: The command.
        rng: Chooses the moments.
        kills: How often it is killed.
        expected: The outcome of a run that was not killed.
        longest: The time such a run takes.
    """
    ground.clear()
    counts, begin = Counts(), time.monotonic()
    earlier = b""
    if case.output == "model":
        earlier = (ground.folder / "base").read_bytes()
        (ground.folder / "model").write_bytes(earlier)
    while counts.kills < kills:
        code, messages = ground.signalled(
            case.words, signal.SIGKILL, rng.uniform(0.1, 1.05) * longest
        )
        counts.runs += 1
        ground.check_files(case, earlier)
        if code == -signal.SIGKILL:
            counts.kills += 1
        else:
            assert code == 0, (case, code, messages)
            assert outcome(ground.folder / case.output) == expected, case
            for path in case.checkpoints or ():
                (ground.folder / path).unlink(missing_ok=True)
            if not case.checkpoints:
                ground.clear()
    counts.left = len(ground.temporary_files())
    code, messages = ground.run(*case.words)
    assert code == 0, (case, code, messages)
    assert outcome(ground.folder / case.output) == expected, case
    assert not ground.temporary_files(), (case, ground.temporary_files())
    counts.seconds = time.monotonic() - begin
    return counts
