"""What fuzzing needs beside the usual build: an instrumented core, and a program of C++ targets."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "fuzz"
SOURCES = Path(__file__).with_name("core")
COMPILERS = ["clang++", *(f"clang++-{version}" for version in range(25, 15, -1))]
FUZZER = "-fsanitize=fuzzer,address,undefined"
MEMORY_CHECKS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
CHECKS = [
    "-fno-sanitize=function,vptr",
    "-fno-sanitize-recover=undefined",
    "-fno-omit-frame-pointer",
]
COMMON = ["-std=c++20", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"]
HINT = "On Debian: apt-get install clang-16 libclang-rt-16-dev, or later ones"
PROBE = """
#include <cstddef>
#include <cstdint>
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const struct { size_t a, b; } pair{size, 1};
  const auto& [a, b] = pair;
  return [&] { return data && a < b ? 0 : 0; }();
}
"""


class Build(NamedTuple):
    """What there is to fuzz with.

    Attributes:
        core: The instrumented core; None means that the usual one is used.
        program: The program of the C++ targets, or None.
        preload: The library that an instrumented core needs, of atheris.
    """

    core: Path | None = None
    program: Path | None = None
    preload: Path | None = None


def build(jobs, *, instrumented=True):
    """Compile what is out of date; without Clang, say so and return what there is.

    Args:
        jobs: The number of processes that compile.
        instrumented: Whether to compile the core that Python uses too.
    """
    compiler = fuzzing_compiler()
    if compiler is None:
        print(
            "Clang 16 or later with libFuzzer is not installed: atheris runs on the usual core, "
            f"whose memory is not checked, and the C++ targets are left out. {HINT}."
        )
        return Build()
    if not instrumented:
        return Build(program=program(compiler, jobs))
    return Build(core(compiler, jobs), program(compiler, jobs), preload())


def fuzzing_compiler():
    """A Clang that has libFuzzer and AddressSanitizer; or None."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in COMPILERS:
        if shutil.which(name) is not None and compiles(name, PROBE, FOLDER, FUZZER, "-std=c++20"):
            return name
    return None


def compiles(compiler, text, folder, *options):
    """Whether a compiler makes a program of a text with some options."""
    source = folder / "probe.cpp"
    source.write_text(f"{text}\n")
    command = [compiler, *options, str(source), "-o", str(folder / "probe")]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def core(compiler, jobs):
    """The core for any processor, with coverage and sanitizers."""
    print("Compiling the core with coverage, ASan and UBSan: some minutes at first.", flush=True)
    tools = Path(sys.executable).parent
    flags = ["-fsanitize=fuzzer-no-link,address,undefined", *CHECKS]
    subprocess.run(
        [
            *(str(tools / "cmake"), "-S", str(ROOT), "-B", str(FOLDER), "-G", "Ninja"),
            f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}",
            f"-DPython_EXECUTABLE={sys.executable}",
            f"-DCMAKE_CXX_COMPILER={compiler}",
            f"-DCMAKE_CXX_FLAGS={' '.join(flags)}",
            "-DADAPTAG_VARIANTS=generic",
            "-DADAPTAG_OPTIONS=-O1;-g1",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    command = [str(tools / "cmake"), "--build", str(FOLDER), "--target", "generic", f"-j{jobs}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return FOLDER / f"generic{sysconfig.get_config_var('EXT_SUFFIX')}"


def program(compiler, jobs, *, fuzzing=True, folder=FOLDER):
    """The program of the C++ targets; without ``fuzzing`` one that only replays inputs."""
    flags = ["-O1", "-g1", FUZZER, *CHECKS]
    if not fuzzing:
        flags = ["-O0", "-DADAPTAG_REPLAY"]
        if compiles(compiler, "int main() {}", folder, *MEMORY_CHECKS):
            flags += MEMORY_CHECKS
    headers = [*SOURCES.glob("*.hpp"), *(ROOT / "cpp").glob("*.hpp")]
    newest = max(path.stat().st_mtime for path in headers)
    waiting, objects = [], []
    for source in sorted(SOURCES.glob("*.cpp")):
        target = folder / f"{source.stem}.o"
        objects.append(str(target))
        made = target.stat().st_mtime if target.exists() else 0
        if made < max(newest, source.stat().st_mtime):
            command = [compiler, *COMMON, *flags, f"-I{ROOT / 'cpp'}", "-c", str(source)]
            waiting.append([*command, "-o", str(target)])
    while waiting:
        running = [subprocess.Popen(waiting.pop()) for _ in waiting[:jobs]]
        codes = [process.wait() for process in running]
        if any(codes):
            raise SystemExit("the C++ targets do not compile")
    out = folder / ("core_fuzz" if fuzzing else "core_replay")
    subprocess.run([compiler, *flags, *objects, "-lpthread", "-o", str(out)], check=True)
    return out


def preload():
    """The library of atheris that holds libFuzzer and AddressSanitizer together."""
    import atheris

    return Path(atheris.path()) / "asan_with_fuzzer.so"
