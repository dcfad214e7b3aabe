"""What ``tag``, ``segment cut`` and ``classify predict`` do with ``--cluster``."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from adaptag.cli.arguments import option
from adaptag.errors import ParameterError, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from adaptag.ray.work import Work
    from adaptag.storage.stored import Stored

__all__ = [
    "BlockSizeOption",
    "FolderOption",
    "OnCluster",
    "SkipBadOption",
]

PANEL = "On a cluster"

FolderOption = Annotated[
    str | None,
    option(
        "--output",
        "-o",
        help="File to write; else standard output. With --cluster: the folder to write, or its "
        "URI.",
    ),
]
SkipBadOption = Annotated[
    bool,
    option(
        "--skip-bad-blocks",
        help="Leave out blocks with bad input, and list them in the manifest; else the first bad "
        "line ends the job.",
        panel=PANEL,
    ),
]
BlockSizeOption = Annotated[
    float | None,
    option(
        min=0.001,
        help="The size of the blocks that the input is cut into, in MB.",
        show_default="32",
        panel=PANEL,
    ),
]


@dataclass(frozen=True)
class OnCluster:
    """The options of a command that can run on a cluster.

    Attributes:
        address: The address of the cluster; None means without one.
        threads: The number of threads of each worker.
        skip_bad: Whether bad blocks are skipped.
        block_size: The size of blocks in MB; None means the default.
    """

    address: str | None
    threads: int | None
    skip_bad: bool
    block_size: float | None

    def one_input(self, inputs: Sequence[str], name: str) -> Path:
        """The only input of a command without a cluster; raise where an option needs one."""
        if self.skip_bad or self.block_size is not None:
            given = "--skip-bad-blocks" if self.skip_bad else "--block-size"
            raise ParameterError(f"{given} requires --cluster")
        if len(inputs) != 1:
            raise ParameterError(
                f"{counted(len(inputs), 'input')}; without --cluster, {name} is one file"
            )
        from adaptag.storage.files import check_path

        check_path(inputs[0])
        return Path(inputs[0])

    def run(
        self,
        work: Callable[[], Work],
        inputs: Sequence[str],
        model: Path | Stored,
        output: str | None,
    ) -> None:
        """Do the work on all inputs, with a progress bar, and say what was done."""
        from adaptag.cli.output import say
        from adaptag.cli.progress import byte_bar
        from adaptag.ray.connection import require_ray

        assert self.address is not None
        require_ray()
        from adaptag.ray.inputs import BLOCK
        from adaptag.ray.jobs import Job

        if output is None:
            raise ParameterError("--cluster requires --output, the folder to write")
        begin = time.perf_counter()
        size = BLOCK if self.block_size is None else max(1, round(self.block_size * 1e6))
        job = Job.plan(work(), inputs, model, output, block_size=size)
        with byte_bar(job.work.title, rate=True) as bar:
            task = bar.add_task("", total=job.size)

            def start(finished: int) -> None:
                if finished:
                    say(f"{output}: {finished / job.size:.0%} of the input was finished before")
                bar.update(task, completed=finished)

            total = job.run(
                self.address,
                threads=self.threads or 1,
                skip_bad=self.skip_bad,
                start=start,
                advance=lambda n: bar.advance(task, n),
            )
        say(f"{output}: {_summary(total)}, {time.perf_counter() - begin:.1f} s")


def _summary(total: dict[str, Any]) -> str:
    counts = {name: n for name, n in total.items() if name not in ("blocks", "skipped", "bytes")}
    figures = [f"{n:,} {name}" for name, n in counts.items()]
    skipped = f" ({total['skipped']} skipped)" if total["skipped"] else ""
    return ", ".join([f"{total['blocks']:,} blocks{skipped}", *figures])
