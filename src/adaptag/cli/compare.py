"""``adaptag compare``: train several algorithms on the same data and report their results.

``adaptag segment compare`` and ``adaptag classify compare`` are the same command for other tasks.
"""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from adaptag.cli.arguments import argument, option
from adaptag.cli.experiment import make_task, with_task
from adaptag.cli.options import (
    CHECKPOINTS,
    ClusterOption,
    EncodingOption,
    EveryOption,
    RestartOption,
)
from adaptag.cli.output import check_files, end_interrupted, say
from adaptag.cli.settings import number_or_name
from adaptag.errors import FileError, ParameterError
from adaptag.experiments.declarations import CLASSIFICATION, SEGMENTATION, TAGGING, TaskDeclaration
from adaptag.training.algorithms import algorithms as all_algorithms

if TYPE_CHECKING:
    from adaptag.experiments.results import Comparison

__all__ = ["compare", "compare_classifiers", "compare_segmenters"]

WIDE = 140  # characters: the width of all columns
FILES = ("report.html", "report.md", "report.json")


def compare_command(task: TaskDeclaration) -> Callable[..., None]:
    """Make the command that compares algorithms on a task."""

    @with_task(task, training=["passes"])
    def compare(
        train: Annotated[
            Path,
            argument(
                metavar="TRAIN",
                help=f"Training data, as for {' '.join(task.command)} (.gz, .xz; - for stdin).",
            ),
        ],
        test: Annotated[Path, argument(metavar="TEST", help="Labelled data to score on.")],
        algorithms: Annotated[
            str,
            option(
                "--algorithms",
                "-a",
                help="Comma-separated names; the others are tested against the first. Algorithms: "
                f"{', '.join(all_algorithms())}. slow=sgd runs sgd under the name slow.",
            ),
        ] = "adf,sgd,averaged-perceptron",
        output: Annotated[
            Path,
            option("--output", "-o", help=f"Output folder for {', '.join(FILES)}."),
        ] = Path("comparison"),
        seeds: Annotated[
            int, option(min=1, help="Number of seeds, each with its own sentence order.")
        ] = 3,
        settings: Annotated[
            list[str] | None,
            option(
                "--set",
                metavar="NAME.PARAMETER=VALUE",
                help="Set a parameter of one algorithm, such as adf.rate=0.05 or lbfgs.passes=100. "
                "Can be repeated.",
            ),
        ] = None,
        files: Annotated[
            list[Path] | None,
            option(
                "--settings",
                metavar="FILE",
                help="JSON file of settings by algorithm, or the output of adaptag tune. Can be "
                "repeated; --set takes precedence.",
            ),
        ] = None,
        cluster: ClusterOption = None,
        checkpoint: Annotated[
            Path | None,
            option(
                help="File for finished runs, with a folder beside it for the state of the one "
                "that is going on: the same command continues from there.",
                panel=CHECKPOINTS,
            ),
        ] = None,
        every: EveryOption = None,
        restart: RestartOption = False,
        encoding: EncodingOption = None,
        **options: Any,
    ) -> None:
        """Compare algorithms on the same features and sentence order, scored after each pass.

        Writes a report with charts, tables and significance tests. After Ctrl-C or SIGTERM the
        report contains the algorithms that were finished.
        """
        from adaptag.cli.training import check_every
        from adaptag.experiments.charts import require_matplotlib
        from adaptag.storage.encodings import with_encoding
        from adaptag.storage.files import folder_to_fill

        check_every(every, checkpoint)
        require_matplotlib()
        inputs = {
            "TRAIN": train,
            "TEST": test,
            "--template": options.get("template"),
            **{f"--settings ({path})": path for path in files or []},
        }
        reports = {f"--output ({name})": output / name for name in FILES}
        names = [name.strip() for name in algorithms.split(",") if name.strip()]
        with folder_to_fill(output):
            check_files({**reports, "--checkpoint": checkpoint}, inputs)
            _run(
                task,
                (with_encoding(train, encoding), with_encoding(test, encoding)),
                output,
                options,
                algorithms=names,
                passes=options.get("passes"),
                seeds=range(1, seeds + 1),
                parameters=_settings(files or [], settings or []),
                cluster=cluster,
                checkpoint=checkpoint,
                every=every,
                restart=restart,
            )

    return compare


compare = compare_command(TAGGING)
compare_segmenters = compare_command(SEGMENTATION)
compare_classifiers = compare_command(CLASSIFICATION)


def _run(
    task: TaskDeclaration,
    data: tuple[Any, Any],
    output: Path,
    options: dict[str, Any],
    **arguments: Any,
) -> None:
    """Compare, write the reports, and say what came out.

    An interrupt, whenever it comes, keeps the algorithms that were finished.
    """
    from rich.console import Console

    from adaptag.experiments.comparison import compare as run
    from adaptag.training.interrupts import Interrupts

    with Interrupts() as interrupts:
        result = run(*data, task=make_task(task, options), verbose=True, **arguments)
        for error in result.errors.values():
            say(f"left out: {error}")
        if result.entries:
            _write(result, output, _command())
    if result.entries:
        console = Console()
        for table in result.rich_tables(wide=console.width >= WIDE):
            console.print(table)
        say(f"report: {output / FILES[0]}")
    if interrupts.requested or result.unfinished:
        finished = ", ".join(entry.name for entry in result.entries)
        where = f"the report of {finished} is in {output}" if finished else "no report was written"
        left = f"; unfinished and left out: {', '.join(result.unfinished)}"
        end_interrupted(f": {where}{left if result.unfinished else ''}")


def _settings(files: list[Path], settings: list[str]) -> dict[str, dict[str, float | str]]:
    """Merge the settings from files and from the command line."""
    merged: dict[str, dict[str, float | str]] = {}
    for path in files:
        for name, values in _read_settings(path).items():
            merged.setdefault(name, {}).update(values)
    for text in settings:
        place, equals, value = text.partition("=")
        name, dot, parameter = place.rpartition(".")
        if not (equals and dot and name and parameter and value):
            raise ParameterError(f"--set {text!r}; expected NAME.PARAMETER=VALUE")
        merged.setdefault(name, {})[parameter] = number_or_name(value)
    return merged


def _read_settings(path: Path) -> dict[str, dict[str, float | str]]:
    """Read settings by algorithm, or the output of ``adaptag tune``."""
    from adaptag.storage.files import read_bytes, shown

    try:
        content = json.loads(read_bytes(path))
    except FileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{shown(path)}: not JSON: {error}") from None
    if isinstance(content, dict) and isinstance(content.get("algorithm"), str):
        content = {content["algorithm"]: content.get("settings")}
    fine = isinstance(content, dict) and all(
        isinstance(values, dict) and all(_is_value(v) for v in values.values())
        for values in content.values()
    )
    if not fine:
        raise ParameterError(
            f"{shown(path)}: expected an object of settings by algorithm, such as "
            '{"adf": {"rate": 0.1}}'
        )
    return {
        name: {key: number_or_name(str(value)) for key, value in values.items()}
        for name, values in content.items()
    }


def _is_value(value: object) -> bool:
    return isinstance(value, (int, float, str)) and not isinstance(value, bool)


def _write(result: "Comparison", folder: Path, command: str) -> None:
    """Write the three reports, each completely or not at all."""
    from adaptag.experiments.report import html_report, markdown_report
    from adaptag.storage.files import replace_file

    texts = (
        html_report(result, command),
        markdown_report(result, command),
        json.dumps({"command": command, **result.to_dict()}, indent=1) + "\n",
    )
    for name, text in zip(FILES, texts, strict=True):
        with replace_file(folder / name) as file:
            file.write(text.encode("utf-8", "backslashreplace"))


def _command() -> str:
    """The command as it was given."""
    from adaptag.storage.files import shown

    return shown(shlex.join(["adaptag", *sys.argv[1:]]))
