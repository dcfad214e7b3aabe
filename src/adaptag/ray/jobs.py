"""Files in, files out: a pool of workers that each take a block, and a manifest of what is done.

The inputs are cut into blocks, whose descriptions are a dataset of Ray. A worker reads a block by
itself, writes its output to a temporary file and renames it. So a worker that dies costs the block
it had, which another worker does again, and the driver can be stopped at any time: the next run
does what the manifest does not have.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.errors import AdaptagError, CorpusError, CorpusWarning, FileError
from adaptag.ray.blocks import process_block
from adaptag.ray.connection import OBJECT_STORE, connect, pool_size, quiet_data
from adaptag.ray.filesystems import AccessError, Folder, find_inputs, is_uri
from adaptag.ray.inputs import BLOCK, TEXT, Block, format_of, split_files, suffix_of
from adaptag.ray.manifest import open_manifest
from adaptag.settings import AUTO
from adaptag.storage.ready import model_file
from adaptag.storage.stored import Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from numpy.typing import NDArray

    from adaptag.ray.filesystems import InputFile
    from adaptag.ray.work import Work
    from adaptag.storage.files import PathLike

    Row = dict[str, Any]

__all__ = ["Job", "model_bytes"]

ATTEMPTS = 3  # workers that may die of a block before it is given up
IN_FLIGHT = 2  # blocks that a worker has, or that wait for it


def model_bytes(model: PathLike | Stored) -> NDArray[np.uint8]:
    """The bytes of a model's file; a file is mapped, not read."""
    if isinstance(model, Stored):
        return np.frombuffer(model.to_bytes(), np.uint8)
    return np.asarray(np.memmap(model_file(model), np.uint8, "r"))


@dataclass(frozen=True, eq=False)
class Job:
    """The work on some files, in blocks.

    Attributes:
        work: What is done with each block.
        model: The bytes of the model's file.
        files: The files.
        blocks: Their blocks, in order; the output of block 17 is ``part-00017``.
        folder: Where the output goes.
        block_size: The size of a block.
    """

    work: Work
    model: NDArray[np.uint8]
    files: Sequence[InputFile]
    blocks: Sequence[Block]
    folder: Folder
    block_size: int

    @classmethod
    def plan(
        cls,
        work: Work,
        inputs: Sequence[str],
        model: PathLike | Stored,
        output: str,
        *,
        block_size: int = BLOCK,
    ) -> Job:
        """Find the inputs, and cut them into blocks; raise where something is wrong already.

        Args:
            work: What is done with each block.
            inputs: Files, folders and patterns, as paths or URIs.
            model: The model, or its file.
            output: The folder to write.
            block_size: The size of a block in bytes; larger ones take more memory, smaller ones
                lose less when a worker dies.
        """
        loaded = model if isinstance(model, Stored) else work.model_type.load(model)
        work.check(loaded)
        files = find_inputs(inputs)
        folder = Folder.of(output)
        _check_folder(folder, inputs, files)
        blocks = split_files(files, block_size)
        if not blocks:
            raise CorpusError(f"{', '.join(inputs)}: no sentence found; all files are empty")
        if any(format_of(file.path) != TEXT for file in files):
            work.check_tables()
        return cls(work, model_bytes(model), files, blocks, folder, block_size)

    @property
    def size(self) -> int:
        """Bytes of all blocks."""
        return sum(block.size for block in self.blocks)

    def part_name(self, number: int) -> str:
        """The name of the output of a block; sorted by name, parts are in the order of blocks."""
        suffix = suffix_of(self.blocks[number].path) or ".txt"
        return f"part-{number:0{max(5, len(str(len(self.blocks) - 1)))}}{suffix}"

    def record(self) -> dict[str, Any]:
        """All that the output depends on."""
        return {
            "options": {**self.work.record(), "block_size": self.block_size},
            "model": hashlib.sha256(self.model.data).hexdigest(),
            "inputs": [[file.path, file.size, file.changed] for file in self.files],
        }

    def run(
        self,
        cluster: str = AUTO,
        *,
        threads: int = 1,
        skip_bad: bool = False,
        start: Callable[[int], object] = lambda _: None,
        advance: Callable[[int], object] = lambda _: None,
    ) -> Row:
        """Do the work that is not done yet.

        Args:
            cluster: The address of a cluster, as for ``connect``.
            threads: The number of threads of each worker.
            skip_bad: Whether blocks with bad input are recorded as skipped. Otherwise the first one
                ends the job.
            start: A function that is told how many bytes of the input were finished before.
            advance: A function that is told how many more are finished.

        Returns:
            The totals of all blocks, finished now or before.
        """
        self.folder.create()
        with open_manifest(self.folder, self.record(), keep_skipped=skip_bad) as manifest:
            _remove_temporary(self.folder)
            start(sum(self.blocks[number].size for number in manifest.rows))
            pending = [n for n in range(len(self.blocks)) if n not in manifest.rows]
            if pending:
                with contextlib.closing(self._results(pending, cluster, threads)) as results:
                    for row in results:
                        number = row["block"]
                        for note in row.pop("notes", []):
                            warnings.warn(note, CorpusWarning, stacklevel=2)
                        if number not in manifest.rows:
                            manifest.add(self._checked(row, skip_bad))
                            advance(self.blocks[number].size)
                _remove_temporary(self.folder)
            return manifest.finish()

    def _checked(self, row: Row, skip_bad: bool) -> Row:
        """The record of a block; raise where it is bad, or where its output is not to be seen."""
        block = self.blocks[row["block"]]
        record = {
            "block": row["block"],
            "input": block.name,
            "begin": block.begin,
            "end": block.end,
        }
        if "error" in row:
            if not skip_bad or row["fatal"]:
                raise (AccessError if row["fatal"] else CorpusError)(row["error"])
            return {**record, "skipped": row["error"]}
        if self.folder.size(row["output"]) != row["bytes"]:
            raise FileError(
                f"{self.folder.name}/{row['output']}: another node has written it, but it is not "
                "here; the output must be on a filesystem that all nodes of the cluster share"
            )
        return {**record, **row}

    def _results(self, pending: Sequence[int], cluster: str, threads: int) -> Generator[Row]:
        """What the workers of a cluster say of each block, in the order that they finish them."""
        with (
            connect(cluster, object_store=max(OBJECT_STORE, 2 * len(self.model))) as ray,
            _failures(ray),
        ):
            items = [
                {
                    "number": number,
                    "part": self.part_name(number),
                    "block": json.dumps(asdict(self.blocks[number])),
                }
                for number in pending
            ]
            size = min(len(pending), pool_size(ray, threads))
            with quiet_data(ray):
                # Ray keeps the descriptions of blocks in the object store and reads nothing to make
                # them: so the workers may take all CPUs, and nothing waits for one.
                rows = ray.data.from_items(items, override_num_blocks=len(items)).map_batches(
                    BlockWorker,
                    batch_size=None,
                    batch_format="pyarrow",
                    compute=ray.data.ActorPoolStrategy(
                        size=size, max_tasks_in_flight_per_actor=IN_FLIGHT
                    ),
                    fn_constructor_kwargs={
                        "work": self.work,
                        "model": ray.put(self.model),
                        "folder": self.folder,
                        "threads": threads,
                    },
                    num_cpus=threads,
                )
                for batch in rows.iter_batches(batch_size=None, batch_format="pyarrow"):
                    yield from map(json.loads, batch.column("row").to_pylist())


@contextlib.contextmanager
def _failures(ray: Any) -> Iterator[None]:
    """Say what to do where the cluster fails; a mistake in the code is raised as it is."""
    try:
        yield
    except ray.exceptions.RayTaskError:
        raise
    except ray.exceptions.RayError as error:
        reason = str(error).strip().partition("\n")[0]
        raise AdaptagError(
            f"the cluster failed: {reason}; the same command goes on from what is finished"
        ) from error


class BlockWorker:
    """Works on blocks, in a process of the cluster."""

    def __init__(self, work: Work, model: Any, folder: Folder, threads: int) -> None:
        import ray

        self.work = work
        self.folder = folder
        self.threads = threads
        self.model = work.model_type.from_bytes(ray.get(model))  # a view of shared memory

    def __call__(self, batch: Any) -> Any:
        """Work on blocks: what to record of each."""
        import pyarrow as pa

        rows = [
            self.run(item["number"], item["part"], Block(**json.loads(item["block"])))
            for item in batch.to_pylist()
        ]
        return pa.table({"row": [json.dumps(row) for row in rows]})

    def run(self, number: int, part: str, block: Block) -> Row:
        """Work on a block. Errors in the data are returned: Ray need not try again."""
        try:
            attempts = self._attempt(part)
            if attempts > ATTEMPTS:
                raise CorpusError(
                    f"{block.name}: {ATTEMPTS} workers died while they worked on block {number}, "
                    f"{block.begin} to {block.end}; it may need more memory than there is"
                )
            with (
                warnings.catch_warnings(record=True) as caught,
                self.folder.write(part, f".{part}.{attempts}") as out,
            ):
                warnings.simplefilter("always", CorpusWarning)
                counts = process_block(self.work, self.model, block, out, self.threads)
            self._remove(part, attempts - 1)
        except AdaptagError as error:
            self._remove(part, ATTEMPTS)
            fatal = isinstance(error, AccessError)
            return {"block": number, "error": str(error), "fatal": fatal}
        row: Row = {"block": number, "output": part, **counts, "bytes": self.folder.size(part)}
        if block.begin == 0:  # else the lines that they name are those of the block
            row["notes"] = [str(note.message) for note in caught]
        return row

    def _attempt(self, part: str) -> int:
        """Count how often this block was begun: each time there is another temporary file."""
        attempt = 1
        while self.folder.size(f".{part}.{attempt}") is not None:
            attempt += 1
        if attempt <= ATTEMPTS:
            self.folder.touch(f".{part}.{attempt}")
        return attempt

    def _remove(self, part: str, attempts: int) -> None:
        for attempt in range(1, attempts + 1):
            self.folder.remove(f".{part}.{attempt}")


def _remove_temporary(folder: Folder) -> None:
    """Remove what unfinished work has left."""
    for name in folder.sizes():
        if name.startswith(".part-"):
            folder.remove(name)


def _check_folder(folder: Folder, inputs: Sequence[str], files: Sequence[InputFile]) -> None:
    """Raise where the output would be among the inputs."""
    for given in inputs:
        above = given if is_uri(given) else str(Path(given).absolute())
        if f"{folder.path}/".startswith(f"{above.rstrip('/')}/"):
            raise FileError(
                f"{folder.name}: --output is in the folder {given}, which is an input; choose "
                "another folder"
            )
    for file in files:
        if file.path.startswith(f"{folder.path}/"):
            raise FileError(
                f"{file.name}: an input in the folder of --output; choose another folder"
            )
