"""Install wheels into an empty environment, as a user would, and use what they hold.

usage: python packaging/try_wheels.py FOLDER

Times the three commands from nothing to a tagged sentence, and the import; fails where a command
does.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ENGLISH = "Could you send us the report by Friday?"
CHINESE = "我们喜欢在公园里喝茶。"
IMPORT = "import time; t = time.perf_counter(); import adaptag; print(time.perf_counter() - t)"


def timed(*command: str | Path, text: str | None = None) -> tuple[float, str]:
    """Run a command: its wall time in seconds, and what it printed."""
    start = time.perf_counter()
    done = subprocess.run(
        list(map(str, command)), input=text, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: code {done.returncode}\n{done.stderr}")
    return seconds, done.stdout.strip()


def tried(wheels: list[Path], folder: Path) -> None:
    """Use wheels in an environment that is made in a folder."""
    programs = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
    program, sentences = programs / "adaptag", folder / "english.txt"
    sentences.write_text(f"{ENGLISH}\n", encoding="utf-8")
    commands = {
        "an empty environment": (sys.executable, "-m", "venv", folder / "env"),
        "pip install": (programs / "python", "-m", "pip", "install", "--quiet", *wheels),
        "adaptag tag --text": (program, "tag", "--text", sentences, "-m", "en-pos"),
    }
    total = 0.0
    for name, command in commands.items():
        seconds, printed = timed(*command)
        total += seconds
        print(f"{seconds:6.2f} s  {name}{f': {printed}' if printed else ''}")
    print(f"{total:6.2f} s  the three of them")
    seconds, printed = timed(program, "segment", "cut", "-", text=f"{CHINESE}\n")
    print(f"{seconds:6.2f} s  adaptag segment cut: {printed}")
    seconds, _ = timed(program, "demo", "--model", folder / "demo.adaptag")
    print(f"{seconds:6.2f} s  adaptag demo")
    imports = [float(timed(programs / "python", "-c", IMPORT)[1]) for _ in range(10)]
    print(f"{1000 * statistics.median(imports):6.0f} ms import adaptag, median of 10")


def main() -> None:
    """Try the wheels of a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    wheels = sorted(parser.parse_args().folder.resolve().glob("*.whl"))
    for wheel in wheels:
        print(f"{wheel.stat().st_size / 1e6:6.2f} MB {wheel.name}")
    with tempfile.TemporaryDirectory() as folder:
        tried(wheels, Path(folder))


if __name__ == "__main__":
    main()
