"""``adaptag reproduce``: the tables and figures of the papers, measured again."""

from __future__ import annotations

import itertools
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from adaptag.cli.output import say
from adaptag.cli.progress import Watch

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["reproduce"]

RESULTS = Path("docs/results")
QUICK = "quick"
INTERRUPTED = 130


def reproduce(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TASK]…", help="Recipes to run; all, unless some are named."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Few passes and one seed, to see that all works."),
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the corpora; else the one that ADAPTAG_DATA names, else ../shared/data."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help=f"Folder for the pages; {RESULTS} unless given, {RESULTS / QUICK} with --quick.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Recipes at a time, each on a core of its own; 1 unless given, so that times are "
            "those of a quiet machine; all cores with --quick.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Leave out what has its figures already, with the same settings; where nothing is "
            "missing, only the pages are written again.",
        ),
    ] = False,
    tune: Annotated[
        bool,
        typer.Option(
            "--tune",
            help="In place of that, try settings on training data and write pages of evidence.",
        ),
    ] = False,
) -> None:
    """Measure the tables and figures of the papers again, and write pages of results.

    Figures are kept study by study: Ctrl-C loses only the one that is running, and --resume goes
    on from there.
    """
    from adaptag._native import cores
    from adaptag.experiments.charts import check_charts
    from adaptag.experiments.recipes.every import RECIPES, recipe
    from adaptag.experiments.recipes.recipe import data_folder
    from adaptag.experiments.significance import needs_scipy

    chosen = [recipe(name) for name in dict.fromkeys(tasks)] if tasks else list(RECIPES.values())
    folder = data_folder(data).resolve()
    needs_scipy()
    check_charts()
    target = output or (RESULTS / QUICK if quick else RESULTS)
    target.mkdir(parents=True, exist_ok=True)
    processes = min(len(chosen), jobs or (cores() if quick else 1))
    rest = (folder, target.resolve(), quick, resume, tune, bool(tasks))
    work = [Work(one.name, *rest) for one in sorted(chosen, key=lambda one: -one.minutes)]
    try:
        done = _run(work, processes)
    finally:
        if not tune:
            _write(target)
    if not done:
        say("not finished; --resume goes on from here")
        raise typer.Exit(INTERRUPTED)


class Work(NamedTuple):
    """What a process is to do: a recipe, its data, where to write, and the options.

    Attributes:
        named: whether the recipe was asked for by its name: its corpora must then be there.
    """

    name: str
    data: Path
    output: Path
    quick: bool
    resume: bool
    tune: bool
    named: bool


def _run(work: Sequence[Work], processes: int) -> bool:
    """Run recipes in processes of their own, each on one core; whether all were finished."""
    context = multiprocessing.get_context("spawn")
    places = context.Queue()
    for core in itertools.islice(itertools.cycle(reversed(_cores())), processes):
        places.put(core)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    pool = ProcessPoolExecutor(processes, context, _begin, (places,))
    try:
        futures = [pool.submit(_one, one, processes) for one in work]
        wait(futures)  # one that fails does not end the others
        finished = [future.result() for future in futures]
        return all(finished)
    except BrokenProcessPool:
        say("a process was ended from outside, perhaps for want of memory")
        return False
    except KeyboardInterrupt:
        return False
    finally:
        pool.shutdown(cancel_futures=True)


def _cores() -> list[int]:
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]


def _begin(places: Any) -> None:
    """Keep this process on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {places.get()})


def _one(work: Work, jobs: int) -> bool:
    """Run a recipe, one of so many at a time; whether it was finished."""
    from adaptag.experiments import reproduction
    from adaptag.experiments.recipes.every import recipe
    from adaptag.experiments.recipes.recipe import Effort, MissingCorpusError
    from adaptag.storage.files import replace_file

    chosen = recipe(work.name)

    def tell(text: str) -> None:
        say(f"{work.name}: {text}")

    with Watch(f"{work.name}: ", alone=jobs == 1) as watch:
        ways: Any = {"callbacks": [watch], "on_run": watch.on_run, "say": tell}
        try:
            if not work.tune:
                return reproduction.reproduce(
                    chosen,
                    work.data,
                    work.output,
                    Effort(work.quick, jobs),
                    resume=work.resume,
                    **ways,
                )
            choices = reproduction.tune(chosen, work.data, **ways)
        except MissingCorpusError as error:
            if work.named:
                raise
            tell(f"left out: {error}")
            return True
        except KeyboardInterrupt:
            return False
        with replace_file(work.output / f"tuning-{work.name}.md") as file:
            file.write(reproduction.tuning_page(chosen, choices).encode())
    return True


def _write(output: Path) -> None:
    """Write the pages of all recipes that have figures there."""
    from adaptag.experiments.pages import PICTURES, index_page, recipe_page
    from adaptag.experiments.recipes.every import RECIPES
    from adaptag.experiments.reproduction import Figures
    from adaptag.storage.files import replace_file

    found = {name: Figures.load(output, name) for name in RECIPES}
    found = {name: figures for name, figures in found.items() if figures.studies}
    if not found:
        return
    (output / PICTURES).mkdir(parents=True, exist_ok=True)
    files: dict[str, str] = {}
    for name, figures in found.items():
        page = recipe_page(RECIPES[name], figures)
        files[f"{name}.md"] = page.text
        files |= {f"{PICTURES}/{picture}": svg for picture, svg in page.pictures.items()}
    files["index.md"] = index_page(list(RECIPES.values()), found)
    for name, text in files.items():
        with replace_file(output / name) as file:
            file.write(text.encode())
    say(f"written: {output / 'index.md'}")
