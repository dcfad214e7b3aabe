"""A block in, its output out: files in their own format, JSON lines, Parquet."""

from __future__ import annotations

import io
import json
from collections import Counter
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from adaptag.corpus.text import line_parts
from adaptag.errors import AdaptagError, CorpusError, FileError
from adaptag.parallel import write_ordered
from adaptag.ray.arrow import with_columns
from adaptag.ray.filesystems import AccessError, open_file
from adaptag.ray.inputs import JSON, LINES, PARQUET, format_of, lines_before, open_block

if TYPE_CHECKING:
    from adaptag.ray.inputs import Block
    from adaptag.ray.work import Record, Work

__all__ = ["added_columns", "process_block"]

ROWS = 1 << 14  # of a Parquet file, at a time


def process_block(
    work: Work, model: Any, block: Block, out: IO[bytes], threads: int = 1
) -> Counter[str]:
    """Do the work on a block, write its output, and count sentences or the like.

    Lines are counted from the beginning of the block. Only when one of them is wrong, those before
    the block are counted too, and the block is done again to say where it is.
    """
    try:
        return _process(work, model, block, out, threads, None)
    except CorpusError:
        boundary = LINES if format_of(block.path) == JSON else work.boundary
        if format_of(block.path) == PARQUET or not (before := lines_before(block, boundary)):
            raise
        _process(work, model, block, io.BytesIO(), threads, before + 1)
        raise


def _process(
    work: Work, model: Any, block: Block, out: IO[bytes], threads: int, line: int | None
) -> Counter[str]:
    kind = format_of(block.path)
    if kind == JSON:
        return _json_lines(work, model, block, out, threads, line or 1)
    if kind == PARQUET:
        return _parquet(work, model, block, out, threads)
    return work.write(model, block, out, threads, line)


def _json_lines(
    work: Work, model: Any, block: Block, out: IO[bytes], threads: int, line: int
) -> Counter[str]:
    """Add fields to the records of JSON lines."""
    counts: Counter[str] = Counter()

    def add(part: tuple[int, list[str]]) -> tuple[bytes, Counter[str]]:
        first, lines = part
        numbers = [first + k for k, text in enumerate(lines) if text.strip()]
        records = [_record(lines[number - first], block.name, number) for number in numbers]
        try:
            added, counted = work.records(model, records)
        except AdaptagError as error:
            for number, record in zip(numbers, records, strict=True):
                _try_one(work, model, records[0], record, f"{block.name}:{number}")
            raise CorpusError(f"{block.name}: {error}") from None
        texts = (
            json.dumps({**record, **new}, ensure_ascii=False)
            for record, new in zip(records, added, strict=True)
        )
        return "".join(f"{text}\n" for text in texts).encode(), counted

    with open_block(block, LINES) as file:
        write_ordered(out, add, line_parts(file, line), threads, counts.update)
    return counts


def _record(text: str, name: str, number: int) -> Record:
    try:
        record = json.loads(text)
    except ValueError as error:
        raise CorpusError(f"{name}:{number}: not JSON: {error}") from None
    if not isinstance(record, dict):
        raise CorpusError(f"{name}:{number}: {text.strip():.60}; expected a JSON object")
    return record


def _try_one(work: Work, model: Any, first: Record, record: Record, where: str) -> None:
    """Raise where the work on a record fails, by itself or because it is unlike the first one."""
    try:
        work.records(model, [record])
        work.records(model, [first, record])
    except AdaptagError as error:
        raise CorpusError(f"{where}: {error}") from None


def _parquet(work: Work, model: Any, block: Block, out: IO[bytes], threads: int) -> Counter[str]:
    """Add columns to some row groups of a Parquet file."""
    import pyarrow.parquet as pq

    counts: Counter[str] = Counter()
    where = f"{block.name}: "
    with open_file(block.path, block.name) as opened:
        try:
            file = pq.ParquetFile(opened)
            groups = range(block.begin, block.end)
            row = sum(file.metadata.row_group(k).num_rows for k in range(block.begin))
            batches = file.iter_batches(ROWS, row_groups=groups)
            writer = None
            for batch in batches:
                table = pa.Table.from_batches([batch])
                added, counted = added_columns(work, model, table, threads, where, row)
                output = with_columns(table, added)
                writer = writer or pq.ParquetWriter(out, output.schema)
                _write_table(writer, output)
                counts.update(counted)
                row += len(table)
            if writer is None:
                table = file.schema_arrow.empty_table()
                added, counts = added_columns(work, model, table, threads, where, row)
                output = with_columns(table, added)
                writer = pq.ParquetWriter(out, output.schema)
            writer.close()
        except (FileError, CorpusError):
            raise
        except (pa.ArrowException, OSError) as error:
            raise FileError(f"{block.name}: damaged Parquet file: {error}") from None
    return counts


def _write_table(writer: Any, table: Any) -> None:
    try:
        writer.write_table(table)
    except OSError as error:
        raise AccessError(f"cannot write: {error}") from None


def added_columns(
    work: Work, model: Any, table: Any, threads: int, where: str = "", first: int = 0
) -> tuple[dict[str, Any], Counter[str]]:
    """The columns to add to a table, and counts; an error says which row is wrong.

    Args:
        work: What is done.
        model: The model.
        table: The table.
        threads: The number of threads.
        where: What comes before the message of an error.
        first: The number of the first row.
    """
    try:
        return work.columns(model, table, threads)
    except AdaptagError as error:
        for k in range(len(table)):
            _try_row(work, model, table.slice(k, 1), f"{where}row {first + k}, counted from 0")
        raise CorpusError(f"{where}{error}") from None


def _try_row(work: Work, model: Any, table: Any, where: str) -> None:
    """Raise where the work on a row fails."""
    try:
        work.columns(model, table)
    except AdaptagError as error:
        text = str(error).removeprefix("row 0, counted from 0: ")
        raise CorpusError(f"{where}: {text}") from None
