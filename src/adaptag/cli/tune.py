"""``adaptag tune``: search for the best settings by cross-validation on the training data."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adaptag.cli.options import (
    AlgorithmOption,
    CommentOption,
    DocstartOption,
    EdgeCutoffOption,
    EdgeShareOption,
    FormatOption,
    HashBitsOption,
    RichEdgesOption,
    SeedOption,
    SeparatorOption,
    TemplateOption,
    file_format,
)
from adaptag.cli.output import output_stream, say
from adaptag.cli.parameters import given_values, with_values

if TYPE_CHECKING:
    from adaptag.experiments.tuning import Progress, Tuning

__all__ = ["tune"]

VALUES = "Values to try, or one to fix"
OUTPUT = "Output"


@with_values
def tune(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="TRAIN", help="Labelled training file (.gz, .xz; - for stdin); never test data."
        ),
    ],
    template: TemplateOption = None,
    algorithm: AlgorithmOption = None,
    cutoff: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Minimum number of occurrences of a feature.",
            rich_help_panel=VALUES,
        ),
    ] = None,
    also: Annotated[
        str,
        typer.Option(
            metavar="NAME,…",
            help="Comma-separated further parameters to search: alpha, beta, window (n/20, …), "
            "cutoff.",
        ),
    ] = "",
    folds: Annotated[int, typer.Option(min=2, help="Number of folds for cross-validation.")] = 4,
    held_out: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Instead of folds, hold out this fraction of the sentences."
        ),
    ] = None,
    shuffle: Annotated[
        bool,
        typer.Option("--shuffle", help="Assign sentences to folds at random, for sorted files."),
    ] = False,
    passes: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Maximum number of passes; the best number is chosen too.",
            show_default="twice the algorithm's own; lbfgs and owlqn: the algorithm's own",
        ),
    ] = None,
    finalists: Annotated[
        int, typer.Option(min=1, help="Halve the number of trials until this many are left.")
    ] = 2,
    full: Annotated[
        bool, typer.Option("--full", help="Train all trials for all passes, without halving.")
    ] = False,
    seed: SeedOption = None,
    rich_edges: RichEdgesOption = False,
    edge_cutoff: EdgeCutoffOption = 1,
    edge_share: EdgeShareOption = 1.0,
    hash_bits: HashBitsOption = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", min=1, help="Number of processes.", show_default="one per core"
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write all scores as JSON.", rich_help_panel=OUTPUT),
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the table as Markdown.", rich_help_panel=OUTPUT)
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option(help="Draw the scores after each pass as SVG.", rich_help_panel=OUTPUT),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            help="File of finished jobs: the same command continues from there.",
            show_default="OUTPUT.state or TRAIN.tune.state",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    restart: Annotated[
        bool,
        typer.Option("--restart", help="Start over and discard the content of the state file."),
    ] = False,
    format: FormatOption = "columns",  # noqa: A002
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
    **parameters: str | None,
) -> None:
    """Choose rate, regularisation and passes on the training file, by cross-validation.

    All combinations of values are trained for a few passes on each fold; the better half continues,
    and so on. The last line on standard output is the command that trains with the best settings.
    After Ctrl-C, the same command continues the search.
    """
    from adaptag.experiments.charts import require_matplotlib
    from adaptag.experiments.tuning import tune as search
    from adaptag.storage.files import check_writable

    data_format = file_format(format, separator, comment, skip_docstart)
    state_file = state or _state_file(data, output)
    for path in filter(None, [output, markdown, chart, state_file]):
        check_writable(path)
    if chart:
        require_matplotlib()
    try:
        with _progress() as callback:
            result = search(
                data,
                template=template,
                algorithm=algorithm or "adf",
                space=given_values({**parameters, "cutoff": cutoff}),
                also=[name.strip() for name in also.split(",") if name.strip()],
                folds=folds,
                held_out=held_out,
                shuffle=shuffle,
                passes=passes,
                finalists=None if full else finalists,
                seed=1 if seed is None else seed,
                rich_edges=rich_edges,
                edge_cutoff=edge_cutoff,
                edge_share=edge_share,
                hash_bits=hash_bits,
                format=data_format,
                jobs=jobs,
                state_file=state_file,
                restart=restart,
                callbacks=[callback],
            )
    except KeyboardInterrupt:
        say(
            f"interrupted: finished jobs are in {state_file}; the same command continues from there"
        )
        raise typer.Exit(130) from None
    if output:
        _write(output, json.dumps(result.to_dict(), indent=1) + "\n")
    if markdown:
        _write(markdown, result.markdown())
    if chart:
        _write(chart, result.chart())
    _show(result)


def _state_file(data: Path, output: Path | None) -> Path:
    """The default state file: beside the output, or else in the current folder."""
    if output is not None:
        return output.with_name(output.name + ".state")
    return Path(f"{'stdin' if str(data) == '-' else data.name}.tune.state")


def _write(path: Path, text: str) -> None:
    with output_stream(path) as file:
        file.write(text.encode())


def _show(result: Tuning) -> None:
    """Print the trials, the best first, and the command that trains."""
    from rich.console import Console
    from rich.table import Table

    head, rows = result.rows()
    table = Table(title=result.title, title_justify="left")
    for name in head:
        table.add_column(name, justify="right")
    for number, row in enumerate(rows):
        table.add_row(*row, style="bold" if number == 0 else None)
    Console().print(table)
    sys.stdout.flush()
    for note in result.notes():
        say(note)
    typer.echo(result.command())


def _progress() -> AbstractContextManager[Any]:
    """Show the progress of a search: a bar on a terminal, else a line per round."""
    from adaptag.experiments.tuning import TuningCallback

    def best_of(progress: Progress) -> str:
        return "" if progress.best is None else f"best so far {progress.best.mean:.2f}"

    class Lines(TuningCallback):
        rung = 0

        def on_progress(self, progress: Progress) -> None:
            if progress.rung != self.rung:
                self.rung = progress.rung
                finished = f", {progress.done} finished before" if progress.done else ""
                say(
                    f"round {progress.rung}/{progress.rungs}: {progress.trials} trials, "
                    f"{progress.passes} passes, {progress.jobs} jobs{finished}  {best_of(progress)}"
                )

    if not sys.stderr.isatty():
        return nullcontext(Lines())

    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    class ProgressBar(TuningCallback, AbstractContextManager["ProgressBar"]):
        rung = 0

        def __enter__(self) -> ProgressBar:
            self.bar = Bar(
                TextColumn("[bold]tuning[/]"),
                BarColumn(bar_width=None),
                TextColumn("{task.description}"),
                TimeRemainingColumn(compact=True),
                console=Console(stderr=True),
                transient=True,
                expand=True,
            )
            self.bar.start()
            self.task = self.bar.add_task("")
            return self

        def __exit__(self, *_: object) -> None:
            self.bar.stop()

        def on_progress(self, progress: Progress) -> None:
            if progress.rung != self.rung:
                self.rung = progress.rung
                self.bar.reset(self.task)
            self.bar.update(
                self.task,
                completed=progress.done,
                total=progress.jobs,
                description=f"round {progress.rung}/{progress.rungs}: {progress.trials} trials, "
                f"{progress.passes} passes  [cyan]{best_of(progress)}[/]",
            )

    return ProgressBar()
