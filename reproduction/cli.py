"""The command line: recipes measured in processes of their own, and their pages written."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from adaptag.cli.arguments import argument, for_typer, option
from adaptag.cli.output import say
from adaptag.errors import AdaptagError
from adaptag.experiments.progress import RunProgress
from adaptag.training.interrupts import exit_code

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["app", "reproduce", "run"]

RESULTS = Path("docs/results")
QUICK = "quick"

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run() -> None:
    """Run the command; bad input ends it with a message and exit code 2."""
    try:
        app(prog_name="python -m reproduction")
    except AdaptagError as error:
        sys.stderr.write(f"reproduction: {error}\n")
        sys.exit(2)


@app.command()
@for_typer
def reproduce(
    tasks: Annotated[
        list[str] | None,
        argument(metavar="TASK", help="Recipes to run; by default all of them."),
    ] = None,
    quick: Annotated[
        bool,
        option("--quick", help="A trial run with few passes and one seed."),
    ] = False,
    data: Annotated[
        Path | None,
        option(help="Folder of the corpora.", show_default="the one that ADAPTAG_DATA names"),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            help="Folder for the pages.",
            show_default=f"{RESULTS}; with --quick {RESULTS / QUICK}",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        option(
            min=1,
            help="Number of recipes to run at a time, each on a core of its own. More than one "
            "makes the measured times less exact.",
            show_default="1; with --quick one per core",
        ),
    ] = None,
    resume: Annotated[
        bool,
        option(
            "--resume",
            help="Skip studies that were measured before with the same settings. Where all were, "
            "only the pages are written again.",
        ),
    ] = False,
    tune: Annotated[
        bool,
        option(
            "--tune",
            help="Instead of measuring, search for settings on the training data and write pages "
            "of what was tried.",
        ),
    ] = False,
) -> None:
    """Measure the tables and figures of the papers again, and write pages of results.

    Figures are saved after each study: Ctrl-C loses only the study that is running, and --resume
    continues from there.
    """
    from adaptag._native import cores
    from adaptag.experiments.charts import require_matplotlib
    from adaptag.experiments.significance import require_scipy
    from reproduction.data import data_folder
    from reproduction.recipes.every import RECIPES, recipe

    chosen = [recipe(name) for name in dict.fromkeys(tasks)] if tasks else list(RECIPES.values())
    folder = data_folder(data).resolve()
    require_scipy()
    require_matplotlib()
    target = output or (RESULTS / QUICK if quick else RESULTS)
    target.mkdir(parents=True, exist_ok=True)
    processes = min(len(chosen), jobs or (cores() if quick else 1))
    shared = (folder, target.resolve(), quick, resume, tune, bool(tasks))
    longest_first = sorted(chosen, key=lambda recipe: -recipe.minutes)
    work = [Work(recipe.name, *shared) for recipe in longest_first]
    try:
        finished = _run(work, processes)
    finally:
        if not tune:
            _write_pages(target)
    if not finished:
        say("not finished; --resume continues from here")
        raise SystemExit(exit_code())


class Work(NamedTuple):
    """The work of a process: a recipe, the folders, and the options.

    Attributes:
        name: The name of the recipe.
        data: The folder of corpora.
        output: The folder of the pages.
        quick: Whether it is a quick run.
        resume: Whether studies that were measured before are skipped.
        tune: Whether to search for settings instead of measuring.
        named: Whether the recipe was named on the command line: its corpora must then exist.
    """

    name: str
    data: Path
    output: Path
    quick: bool
    resume: bool
    tune: bool
    named: bool


def _run(work: Sequence[Work], processes: int) -> bool:
    """Run each recipe in a process on its own core; whether all were finished."""
    context = multiprocessing.get_context("spawn")
    core_queue = context.Queue()
    for core in itertools.islice(itertools.cycle(reversed(_cores())), processes):
        core_queue.put(core)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    pool = ProcessPoolExecutor(processes, context, _pin_to_core, (core_queue,))
    try:
        futures = [pool.submit(_run_recipe, item, processes) for item in work]
        wait(futures)  # a recipe that fails does not end the others
        finished = [future.result() for future in futures]
        return all(finished)
    except BrokenProcessPool:
        say("a process was killed, perhaps for lack of memory")
        return False
    except KeyboardInterrupt:
        return False
    finally:
        pool.shutdown(cancel_futures=True)


def _cores() -> list[int]:
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]


def _pin_to_core(core_queue: Any) -> None:
    """Pin this process to one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core_queue.get()})


def _run_recipe(work: Work, jobs: int) -> bool:
    """Run a recipe; whether it was finished."""
    from adaptag.storage.files import replace_file
    from reproduction import runner
    from reproduction.recipes.every import recipe
    from reproduction.recipes.recipe import Effort, MissingCorpusError

    chosen = recipe(work.name)

    def report(text: str) -> None:
        say(f"{work.name}: {text}")

    with RunProgress(f"{work.name}: ", alone=jobs == 1) as progress:
        options: Any = {"callbacks": [progress], "on_run": progress.on_run, "say": report}
        try:
            if not work.tune:
                return runner.reproduce(
                    chosen,
                    work.data,
                    work.output,
                    Effort(work.quick, jobs),
                    resume=work.resume,
                    **options,
                )
            choices = runner.tune(chosen, work.data, **options)
        except MissingCorpusError as error:
            if work.named:
                raise
            report(f"skipped: {error}")
            return True
        except KeyboardInterrupt:
            return False
        with replace_file(work.output / f"tuning-{work.name}.md") as file:
            file.write(runner.tuning_page(chosen, choices).encode())
    return True


def _write_pages(output: Path) -> None:
    """Write the pages of all recipes that have figures in the folder."""
    from adaptag.storage.files import replace_file
    from reproduction.pages import PICTURES, recipe_page
    from reproduction.recipes.every import RECIPES
    from reproduction.runner import Figures
    from reproduction.summary import index_page

    figures_of = {name: Figures.load(output, name) for name in RECIPES}
    figures_of = {name: figures for name, figures in figures_of.items() if figures.studies}
    if not figures_of:
        return
    (output / PICTURES).mkdir(parents=True, exist_ok=True)
    files: dict[str, str] = {}
    for name, figures in figures_of.items():
        page = recipe_page(RECIPES[name], figures)
        files[f"{name}.md"] = page.text
        files |= {f"{PICTURES}/{picture}": svg for picture, svg in page.pictures.items()}
    files["index.md"] = index_page(list(RECIPES.values()), figures_of)
    for name, text in files.items():
        with replace_file(output / name) as file:
            file.write(text.encode())
    say(f"written: {output / 'index.md'}")
