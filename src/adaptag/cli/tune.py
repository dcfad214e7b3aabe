"""``adaptag tune``: search for the best settings by cross-validation on the training data.

``adaptag segment tune`` and ``adaptag classify tune`` are the same command for other tasks.
"""

import json
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
from adaptag.cli.output import check_files, end_interrupted, output_stream, say
from adaptag.cli.settings import given_values, with_values
from adaptag.experiments.declarations import CLASSIFICATION, SEGMENTATION, TAGGING, TaskDeclaration
from adaptag.experiments.space import on_request
from adaptag.training.settings import parameter_names

if TYPE_CHECKING:
    from adaptag.experiments.tuning import Tuning

__all__ = ["tune", "tune_classifier", "tune_segmenter"]

OUTPUT = "Output"
TRAINING = ("algorithm", "seed")  # settings of training that the search takes


def tune_command(task: TaskDeclaration) -> Callable[..., None]:
    """Make the command that searches for the settings of a task."""
    searchable = task.searchable()

    @with_values(searchable)
    @with_task(task, training=TRAINING, without=searchable)
    def tune(
        data: Annotated[
            Path,
            argument(
                metavar="TRAIN",
                help=f"Training data, as for {' '.join(task.command)} (.gz, .xz; - for stdin); "
                "never test data.",
            ),
        ],
        also: Annotated[
            str,
            option(
                metavar="NAME,…",
                help="Comma-separated further settings to search: "
                f"{', '.join(on_request(searchable))}.",
            ),
        ] = "",
        folds: Annotated[int, option(min=2, help="Number of folds for cross-validation.")] = 4,
        held_out: Annotated[
            float | None,
            option(min=0, max=1, help="Instead of folds, hold out this fraction of the sentences."),
        ] = None,
        shuffle: Annotated[
            bool,
            option("--shuffle", help="Assign sentences to folds at random, for sorted files."),
        ] = False,
        passes: Annotated[
            int | None,
            option(
                min=1,
                help="Maximum number of passes; the best number is chosen too.",
                show_default="twice the algorithm's own; lbfgs and owlqn: the algorithm's own",
            ),
        ] = None,
        finalists: Annotated[
            int, option(min=1, help="Halve the number of trials until this many are left.")
        ] = 2,
        full: Annotated[
            bool, option("--full", help="Train all trials for all passes, without halving.")
        ] = False,
        jobs: Annotated[
            int | None,
            option("--jobs", "-j", min=1, help="Number of processes.", show_default="one per core"),
        ] = None,
        cluster: ClusterOption = None,
        output: Annotated[
            Path | None,
            option("--output", "-o", help="Write all scores as JSON.", panel=OUTPUT),
        ] = None,
        markdown: Annotated[
            Path | None, option(help="Write the table as Markdown.", panel=OUTPUT)
        ] = None,
        chart: Annotated[
            Path | None,
            option(help="Draw the scores after each pass as SVG.", panel=OUTPUT),
        ] = None,
        checkpoint: Annotated[
            Path | None,
            option(
                help="File of finished jobs, with a folder beside it for the state of those that "
                "are running: the same command continues from there.",
                show_default="OUTPUT.state or TRAIN.tune.state",
                panel=CHECKPOINTS,
            ),
        ] = None,
        every: EveryOption = None,
        restart: RestartOption = False,
        encoding: EncodingOption = None,
        **options: Any,
    ) -> None:
        """Choose rate, regularisation and passes on the training file, by cross-validation.

        All combinations of values are trained for a few passes on each fold; the better half
        continues, and so on. The last line on standard output is the command that trains with the
        best settings. After Ctrl-C, SIGTERM or a crash, the same command continues the search.
        """
        from adaptag.experiments.charts import require_matplotlib
        from adaptag.storage.encodings import with_encoding

        checkpoint_file = checkpoint or _checkpoint_file(data, output)
        outputs = {"--output": output, "--markdown": markdown, "--chart": chart}
        check_files(
            {**outputs, "--checkpoint": checkpoint_file},
            {"TRAIN": data, "--template": options.get("template")},
        )
        if chart:
            require_matplotlib()
        names = set(parameter_names()) | set(searchable)
        arguments: dict[str, Any] = {
            "task": make_task(task, {n: v for n, v in options.items() if n not in names}),
            "space": given_values({n: v for n, v in options.items() if n in names}),
            "also": [name.strip() for name in also.split(",") if name.strip()],
            "folds": folds,
            "held_out": held_out,
            "shuffle": shuffle,
            "passes": passes,
            "finalists": None if full else finalists,
            "jobs": jobs,
            "cluster": cluster,
            "checkpoint": checkpoint_file,
            "every": every,
            "restart": restart,
            **{str(name): options[name] for name in TRAINING if name in options},
        }
        try:
            _run(with_encoding(data, encoding), outputs, arguments)
        except KeyboardInterrupt:
            end_interrupted(
                f": finished jobs are in {checkpoint_file}; the same command continues from there"
            )

    return tune


tune = tune_command(TAGGING)
tune_segmenter = tune_command(SEGMENTATION)
tune_classifier = tune_command(CLASSIFICATION)


def _run(data: Any, outputs: dict[str, Path | None], arguments: dict[str, Any]) -> None:
    """Search, write the outputs that are wanted, and show the result."""
    from adaptag.experiments.tuning import tune as search

    result = search(data, verbose=True, **arguments)
    texts = {
        "--output": lambda: json.dumps(result.to_dict(), indent=1) + "\n",
        "--markdown": result.markdown,
        "--chart": result.chart,
    }
    for name, path in outputs.items():
        if path is not None:
            _write(path, texts[name]())
    _show(result)


def _checkpoint_file(data: Path, output: Path | None) -> Path:
    """The default file of finished jobs: next to the output, or else in the current folder."""
    if output is not None:
        return output.with_name(output.name + ".state")
    return Path(f"{'stdin' if str(data) == '-' else data.name}.tune.state")


def _write(path: Path, text: str) -> None:
    with output_stream(path) as file:
        file.write(text.encode())


def _show(result: "Tuning") -> None:
    """Print the trials, the best first, and the command that trains."""
    from rich.console import Console

    Console().print(result.rich_table())
    sys.stdout.flush()
    for note in result.notes():
        say(note)
    print(result.command())
