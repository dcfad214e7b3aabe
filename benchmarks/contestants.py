"""The tools behind one interface: how to train and tag with each, and to read its log."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from chunking import ROOT
from measure import HERE

REQUIREMENTS = HERE / "requirements.txt"
PEER_ENVIRONMENT = Path(os.environ.get("ADAPTAG_PEERS", ROOT / ".venv-bench"))
PEER_PYTHON = str(PEER_ENVIRONMENT / "bin" / "python")
ADAPTAG = str(Path(sys.executable).with_name("adaptag"))


@dataclass(frozen=True)
class Contestant:
    """One row: a tool, its algorithm and its settings."""

    name: str
    tool: str  # adaptag, or a module in peers/
    algorithm: str
    settings: tuple[str, ...] = ()
    passes: int = 10
    repeats: int = 99  # at most, where a run is long
    cores: int = 1


def slug(name: str) -> str:
    """The name as part of a file's name."""
    return re.sub("[^a-z0-9]+", "-", name.lower())


def train_command(
    c: Contestant,
    passes: int,
    text: Path,
    model: Path,
    passes_log: Path,
    template: str = "chunking",
    seed: int = 1,
) -> list[str]:
    """Train on a column file; the peers have the features of chunking.py, or ready attributes."""
    if c.tool == "adaptag":
        files = [str(text), "-t", template, "-m", str(model), "--log", str(passes_log)]
        options = ["--algorithm", c.algorithm, "--passes", str(passes), "--seed", str(seed)]
        return [ADAPTAG, "train", *files, *options, *c.settings]
    command = [PEER_PYTHON, "-m", f"peers.{c.tool}", "train", str(text), str(model)]
    return [*command, str(passes), c.algorithm, *c.settings]


def tag_command(c: Contestant, model: Path, text: Path, output: Path) -> list[str]:
    if c.tool == "adaptag":
        return [ADAPTAG, "tag", str(text), "-m", str(model), "-o", str(output)]
    return [PEER_PYTHON, "-m", f"peers.{c.tool}", "tag", str(text), str(model), str(output)]


def pass_seconds(c: Contestant, log: Path) -> list[float]:
    """The wall time of each pass, from the tool's log; CRFsuite's first pass is left out."""
    text = log.read_text(encoding="utf-8")
    if c.tool == "adaptag":
        events = map(json.loads, text.splitlines())
        return [event["seconds"] for event in events if event["event"] == "pass"]
    pattern = {
        "crfsuite": r"Wall seconds of this iteration: ([\d.]+)",
        "wapiti": r" time=([\d.]+)s/",
    }[c.tool]
    return [float(seconds) for seconds in re.findall(pattern, text)]


def install_peers() -> None:
    """Make the peers' environment, once for each version of requirements.txt."""
    installed = PEER_ENVIRONMENT / "requirements.txt"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if installed.is_file() and installed.read_text(encoding="utf-8") == wanted:
        return
    print(f"installing the peers in {PEER_ENVIRONMENT.name}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(PEER_ENVIRONMENT)], check=True)
    pip = [PEER_PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
    installed.write_text(wanted, encoding="utf-8")
