from __future__ import annotations

import io
import os
import pickle
import stat
import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adaptag
from adaptag.errors import AdaptagError, FileError, ModelError, ParameterError
from adaptag.storage.files import check_outputs, check_writable, read_bytes, replace_file
from adaptag.storage.stored import PickledFields
from adaptag.storage.tensors import DTYPES, read_tensors, tensors_from_buffer, write_tensors

HEADER = {"text": 'ü😀\n"\\', "number": 1.5, "list": [1, None, {"a": []}]}
TENSORS = {
    "bytes": np.arange(7, dtype=np.uint8),
    "f4": np.array([[1.5, np.nan], [-0.0, np.inf]], np.float32),
    "f8": np.array([np.pi]),
    "i4": np.array([[[-(2**31)]]], np.int32),
    "i8": np.array([2**62, -1]),
    "u4": np.arange(6, dtype=np.uint32).reshape(2, 3),
    "u8": np.array([2**64 - 1], np.uint64),
    "none": np.zeros((0, 3), np.uint32),
    "fortran": np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
}


def as_bytes(header=HEADER, tensors=TENSORS, kind="thing"):
    file = io.BytesIO()
    write_tensors(file, kind, header, tensors)
    return file.getvalue()


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()


def test_tensors_round_trip(tmp_path):
    (tmp_path / "x").write_bytes(as_bytes())
    for header, tensors in [
        tensors_from_buffer(as_bytes(), "thing"),
        read_tensors(tmp_path / "x", "thing"),
        read_tensors(str(tmp_path / "x"), "thing", verify=True),
    ]:
        assert header == HEADER
        assert_equal(tensors, TENSORS)
        assert all(array.flags.aligned for array in tensors.values())
        assert not any(array.flags.writeable for array in tensors.values() if array.size)


def test_the_safetensors_package_reads_the_same(tmp_path):
    safetensors = pytest.importorskip("safetensors")
    numpy_loader = pytest.importorskip("safetensors.numpy")
    (tmp_path / "x").write_bytes(as_bytes())
    found = numpy_loader.load_file(tmp_path / "x")
    assert found.pop("checksum").shape == (2,)
    assert_equal(found, TENSORS)
    with safetensors.safe_open(tmp_path / "x", "np") as file:
        assert file.metadata()["kind"] == "thing"


ARRAYS = st.tuples(
    st.sampled_from(sorted(DTYPES)),
    st.lists(st.integers(0, 3), min_size=1, max_size=3),
    st.integers(0, 255),
).map(lambda a: np.full(a[1], a[2]).astype(DTYPES[a[0]]))


@given(
    st.dictionaries(st.text(max_size=4), ARRAYS, max_size=4),
    st.dictionaries(st.text(max_size=4), st.text() | st.floats(allow_nan=False), max_size=3),
)
@settings(deadline=None)
def test_any_tensors_round_trip(tensors, header):
    found_header, found = tensors_from_buffer(as_bytes(header, tensors), "thing")
    assert found_header == header
    assert_equal(found, tensors)


def test_the_same_content_gives_the_same_bytes():
    assert as_bytes() == as_bytes()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not an adaptag thing: no header, or truncated"),
        (b"\x08", "not an adaptag thing: no header, or truncated"),
        (b"\xff" * 100, "not an adaptag thing: no header, or truncated"),
        (b"\x10" + b"\0" * 7 + b"{" * 50, "not an adaptag thing, or its header is damaged"),
        (as_bytes(kind="other"), "holds an adaptag other; expected an adaptag thing"),
        (as_bytes() + b"\0", "truncated, or bytes were added"),
        (as_bytes()[:-1], "malformed|truncated"),
        (as_bytes()[:-1] + b"\x77", "the arrays are damaged: the checksum does not match"),
        (as_bytes().replace(b'"i4"', b'"i5"'), "its header is damaged"),
    ],
)
def test_damage_is_seen(tmp_path, data, message):
    with pytest.raises(ModelError, match=message):
        tensors_from_buffer(data, "thing")
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(ModelError, match=f"^{tmp_path / 'x'}: ") as caught:
        read_tensors(tmp_path / "x", "thing")
    caught.match(message)


@pytest.mark.parametrize("name", ["no", "."])
def test_files_that_cannot_be_read(tmp_path, name):
    with pytest.raises(FileError, match="cannot read: "):
        read_tensors(tmp_path / name, "thing")


@pytest.mark.parametrize("source", [5, None, ["x"], b"x"])
def test_what_is_no_file(source):
    with pytest.raises(FileError, match=r"^the file is .*; allowed: a path, or an open file$"):
        read_bytes(source)
    with pytest.raises(FileError, match=r"^the file is .*; allowed: a path"):
        adaptag.evaluate_file(source)


@pytest.mark.parametrize("mode", ["r", "rb"])
def test_a_file_that_is_closed(tmp_path, mode):
    (tmp_path / "x").write_bytes(b"a\tA\n")
    with (tmp_path / "x").open(mode) as file:
        pass
    for use in (adaptag.train, adaptag.evaluate_file, adaptag.Segmenter.train):
        with pytest.raises(FileError, match=r"x: the file is closed; allowed: an open file$"):
            use(file)


@pytest.mark.parametrize("data", [None, "x", 5])
@pytest.mark.parametrize(
    "kind", [adaptag.Model, adaptag.Segmenter, adaptag.DocumentClassifier], ids=lambda k: k.kind
)
def test_what_are_no_bytes(kind, data):
    with pytest.raises(ParameterError, match=rf"^the {kind.kind} is .*; allowed: the bytes of its"):
        kind.from_bytes(data)


# ---- writing --------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError, SystemExit])
@pytest.mark.parametrize("old", [None, b"old"])
def test_a_failing_write_leaves_all_as_it_was(tmp_path, error, old):
    path = tmp_path / "x"
    if old is not None:
        path.write_bytes(old)

    def write():
        with replace_file(path) as file:
            file.write(b"new")
            raise error("disk")

    with pytest.raises(AdaptagError if error is OSError else error):
        write()
    assert [p.name for p in tmp_path.iterdir()] == ([] if old is None else ["x"])
    assert old is None or path.read_bytes() == old


def test_a_write_that_succeeds_replaces_the_file(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"old")
    with replace_file(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == read_bytes(path) == b"new"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_written_files_have_the_usual_rights(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    with replace_file(tmp_path / "x"):
        pass
    rights = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "x")]
    assert rights[0] == rights[1]


def test_places_that_cannot_be_written(tmp_path):
    with (
        pytest.raises(FileError, match="cannot write: No such file"),
        replace_file(tmp_path / "a/b"),
    ):
        pass
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match="cannot write: "), replace_file(tmp_path / "folder"):
        pass
    for name in (5, None, "a\0b"):
        with (
            pytest.raises(FileError, match=r"^the file is .*; allowed: a path"),
            replace_file(name),
        ):
            pass
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_a_pipe_or_device_is_written_to_and_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with replace_file(tmp_path / "pipe") as file:
            file.write(b"x")
        assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
        assert os.read(reader, 9) == b"x"
    finally:
        os.close(reader)


def stale(folder, name, digits="0123456789ab"):
    path = folder / f".{name}.{digits}.partial"
    path.write_bytes(b"half")
    return path


def test_what_a_pipe_holds_is_read_once(tmp_path):
    text = "".join(f"w{i} {'BI'[i % 2]}\n\n" for i in range(2000))
    pipe, path = tmp_path / "pipe", tmp_path / "model.adaptag"
    os.mkfifo(pipe)

    def written(data: bytes) -> threading.Thread:
        thread = threading.Thread(target=pipe.write_bytes, args=(data,), daemon=True)
        thread.start()
        return thread

    writer = written(text.encode())
    model = adaptag.train(pipe, passes=1)
    writer.join()
    assert model.provenance["sentences"] == 2000
    model.save(path)
    writer = written(path.read_bytes())
    assert adaptag.load(pipe).tag(["w1"]) == model.tag(["w1"])
    writer.join()


def test_symbolic_links_that_lead_nowhere(tmp_path):
    loop = tmp_path / "a"
    loop.symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(loop)
    with pytest.raises(FileError, match="a: cannot write: Too many levels of symbolic links"):
        check_writable(loop)
    check_outputs({"--output": tmp_path / "c"}, {"INPUT": loop})
    with pytest.raises(FileError, match="--output and INPUT are the same file"):
        check_outputs({"--output": loop}, {"INPUT": loop})


def test_what_killed_processes_left_of_the_same_file_is_removed(tmp_path):
    left = [stale(tmp_path, "x"), stale(tmp_path, "x", "f" * 12)]
    others = [stale(tmp_path, "y"), stale(tmp_path, "x.y"), stale(tmp_path, "x", "short")]
    with pytest.raises(FileError), replace_file(tmp_path / "x"):
        raise OSError("disk")
    assert all(path.exists() for path in left)  # only a write that succeeds removes them
    with replace_file(tmp_path / "x") as file:
        file.write(b"new")
    assert not any(path.exists() for path in left)
    assert all(path.exists() for path in others)


def test_files_that_others_are_writing_are_not_removed(tmp_path):
    with replace_file(tmp_path / "x") as slow:
        slow.write(b"slow")
        with replace_file(tmp_path / "x") as quick:
            quick.write(b"quick")
        assert (tmp_path / "x").read_bytes() == b"quick"
    assert (tmp_path / "x").read_bytes() == b"slow"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_many_writers_of_one_file(tmp_path):
    """None loses its temporary file to another, and nothing is left of them."""
    path, errors = tmp_path / "x", []

    def write(number):
        try:
            for k in range(25):
                with replace_file(path) as file:
                    file.write(bytes([number]) * (1 + k))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(set(path.read_bytes())) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_a_file_is_on_the_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, Path.replace
    monkeypatch.setattr(
        os, "fsync", lambda n: (calls.append(stat.S_ISDIR(os.fstat(n).st_mode)), fsync(n))
    )
    monkeypatch.setattr(Path, "replace", lambda *a: (calls.append("rename"), replace(*a)))
    with replace_file(tmp_path / "x") as file:
        file.write(b"new")
    assert calls == [False, "rename", True]


def test_names_as_long_as_filesystems_allow(tmp_path):
    for name in ("x" * 255, "é" * 127):
        check_writable(tmp_path / name)
        with replace_file(tmp_path / name) as file:
            file.write(b"new")
        assert (tmp_path / name).read_bytes() == b"new"
    for name in ("x" * 256, "a/b", "."):
        with pytest.raises(FileError, match="cannot write: "):
            check_writable(tmp_path / name)
    assert len(list(tmp_path.iterdir())) == 2


@dataclass(frozen=True)
class Table(PickledFields):
    """A table with something that cannot be pickled."""

    rows: tuple[int, ...]

    @cached_property
    def native(self):
        return memoryview(bytes(self.rows))


def test_pickles_hold_fields_and_nothing_that_is_cached():
    table = Table((1, 2))
    assert table.native[1] == 2
    again = pickle.loads(pickle.dumps(table))
    assert again == table
    assert "native" not in vars(again)
    assert again.native[1] == 2
