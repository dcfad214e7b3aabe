"""``adaptag tune``: training data in, the best settings and the evidence out."""

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
WRITTEN = "What is written"


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
            metavar="A,B,…", help="Leave out features that are rarer.", rich_help_panel=VALUES
        ),
    ] = None,
    also: Annotated[
        str,
        typer.Option(
            metavar="NAME,…", help="Search these as well: alpha, beta, window (n/20, …), cutoff."
        ),
    ] = "",
    folds: Annotated[
        int, typer.Option(min=2, help="Cross-validate on so many parts of the file.")
    ] = 4,
    held_out: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Instead, hold out this share of the sentences, once."),
    ] = None,
    shuffle: Annotated[
        bool,
        typer.Option("--shuffle", help="Deal the sentences out at random; for sorted files."),
    ] = False,
    passes: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Passes at most; how many are best is chosen too.",
            show_default="twice the algorithm's own; lbfgs and owlqn: that",
        ),
    ] = None,
    finalists: Annotated[
        int, typer.Option(min=1, help="Halve the trials until no more than these are left.")
    ] = 2,
    full: Annotated[
        bool, typer.Option("--full", help="No halving: all trials make all passes.")
    ] = False,
    seed: SeedOption = None,
    rich_edges: RichEdgesOption = False,
    edge_cutoff: EdgeCutoffOption = 1,
    edge_share: EdgeShareOption = 1.0,
    hash_bits: HashBitsOption = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Processes.", show_default="one for each core"),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="All scores.", rich_help_panel=WRITTEN)
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="The table as Markdown.", rich_help_panel=WRITTEN)
    ] = None,
    chart: Annotated[
        Path | None, typer.Option(help="Scores by pass, as SVG.", rich_help_panel=WRITTEN)
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            help="What is done so far: the same command goes on from there.",
            show_default="OUTPUT.state or TRAIN.tune.state",
            rich_help_panel=WRITTEN,
        ),
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin anew, whatever the state file holds.")
    ] = False,
    format: FormatOption = "columns",  # noqa: A002
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
    **parameters: str | None,
) -> None:
    """Choose rate, regularisation and passes on the training file, by cross-validation.

    All combinations of values make a few passes on each fold; the better half goes on, and so
    forth. The last line, on standard output, is the command that trains with what was chosen.
    Ctrl-C keeps what is done.
    """
    from adaptag.experiments.charts import require_matplotlib
    from adaptag.experiments.tuning import tune as search
    from adaptag.storage.files import check_writable

    written = file_format(format, separator, comment, skip_docstart)
    kept = state or _state_file(data, output)
    for path in filter(None, [output, markdown, chart, kept]):
        check_writable(path)
    if chart:
        require_matplotlib()
    try:
        with _watcher() as watcher:
            found = search(
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
                format=written,
                jobs=jobs,
                state_file=kept,
                restart=restart,
                callbacks=[watcher],
            )
    except KeyboardInterrupt:
        say(f"interrupted: what is done is in {kept}; the same command goes on from there")
        raise typer.Exit(130) from None
    if output:
        _write(output, json.dumps(found.to_dict(), indent=1) + "\n")
    if markdown:
        _write(markdown, found.markdown())
    if chart:
        _write(chart, found.chart())
    _show(found)


def _state_file(data: Path, output: Path | None) -> Path:
    """Where the state is kept: beside the output, or else in the current folder."""
    if output is not None:
        return output.with_name(output.name + ".state")
    return Path(f"{'stdin' if str(data) == '-' else data.name}.tune.state")


def _write(path: Path, text: str) -> None:
    with output_stream(path) as file:
        file.write(text.encode())


def _show(found: Tuning) -> None:
    """Print the trials, the best first, and the line that trains."""
    from rich.console import Console
    from rich.table import Table

    head, rows = found.rows()
    table = Table(title=found.title, title_justify="left")
    for name in head:
        table.add_column(name, justify="right")
    for number, row in enumerate(rows):
        table.add_row(*row, style="bold" if number == 0 else None)
    Console().print(table)
    sys.stdout.flush()
    for note in found.notes():
        say(note)
    typer.echo(found.command())


def _watcher() -> AbstractContextManager[Any]:
    """Choose how to show a search: a bar where a person looks, else a line a round."""
    from adaptag.experiments.tuning import Watcher

    def best_of(progress: Progress) -> str:
        return "" if progress.best is None else f"best so far {progress.best.mean:.2f}"

    class Lines(Watcher):
        rung = 0

        def on_progress(self, progress: Progress) -> None:
            if progress.rung != self.rung:
                self.rung = progress.rung
                known = f", {progress.done} known" if progress.done else ""
                say(
                    f"round {progress.rung}/{progress.rungs}: {progress.trials} trials, "
                    f"{progress.passes} passes, {progress.jobs} jobs{known}  {best_of(progress)}"
                )

    if not sys.stderr.isatty():
        return nullcontext(Lines())

    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    class Shown(Watcher, AbstractContextManager["Shown"]):
        rung = 0

        def __enter__(self) -> Shown:
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

    return Shown()
