"""The source distributions of the installed projects, for their tests and training data."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

__all__ = ["ROOT", "WORK", "fresh_folder", "source_of"]

ROOT = Path(__file__).parent.parent
WORK = ROOT / "build" / "compat-work"


def source_of(project: str) -> Path:
    """The unpacked source distribution of the installed version; downloaded when first needed."""
    name = f"{project.replace('-', '_')}-{version(project)}"
    folder = WORK / "sources"
    if not (folder / name).is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        download += ["--no-binary", project, "--dest", str(folder)]
        subprocess.run([*download, f"{project}=={version(project)}"], check=True)
        with tarfile.open(folder / f"{name}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return folder / name


def fresh_folder(name: str) -> Path:
    """An empty folder for the files of one run."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
