"""The project on disk."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptag.annotation.labels import KEYS, check_labels, types_of
from adaptag.annotation.records import CORRECTED, SKIPPED, ImportedText, ProjectError
from adaptag.annotation.store import Store
from adaptag.errors import AdaptagError, MissingFileError, ParameterError

TEXT = ImportedText("Ann saw Rome", [[(0, 3), (4, 7), (8, 12)]], [None])
LABELS = ["B-PER", "O", "B-LOC"]


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "p", create=True) as store:
        store.add_labels(["PER", "LOC"])
        store.add_texts([TEXT, TEXT], "a.txt")
        yield store


def test_answers_are_there_after_opening_again(store, tmp_path):
    kept = store.add_answer(
        1, "ann", CORRECTED, LABELS, suggested=["O", "O", "O"], confidence=0.5, seconds=2.0
    )
    store.close()
    with Store(tmp_path / "p") as again:
        assert again.answers() == [kept]
        assert again.answers(0) == []
        assert [label.name for label in again.labels()] == ["PER", "LOC"]
        assert again.sentences()[1].words == ["Ann", "saw", "Rome"]


def test_every_change_is_synced(store):
    assert store._rows("PRAGMA journal_mode") == [("wal",)]
    assert store._rows("PRAGMA synchronous") == [(2,)]  # FULL
    assert store._rows("PRAGMA foreign_keys") == [(1,)]


def test_undo_keeps_the_history(store):
    first = store.add_answer(0, "ann", CORRECTED, LABELS)
    second = store.add_answer(0, "ann", CORRECTED, ["O"] * 3)
    store.add_answer(1, "bob", CORRECTED, LABELS)
    assert store.undo("ann") == second
    assert [a.number for a in store.answers(0)] == [first.number]
    assert store.undo("ann") == first
    assert store.answers(0) == []
    assert store.undo("ann") is None
    assert store.n_revisions() == 3
    assert len(store.answers()) == 1  # Bob's


def test_skips_are_undone_too(store):
    skipped = store.add_answer(0, "ann", SKIPPED, None)
    assert store.undo("ann") == skipped


def test_an_answer_needs_its_sentence(store):
    with pytest.raises(ProjectError, match="FOREIGN KEY"):
        store.add_answer(2, "ann", CORRECTED, LABELS)
    assert store.answers() == []
    store.add_answer(1, "ann", CORRECTED, LABELS)  # the transaction was rolled back


def test_import_is_all_or_nothing(store):
    def texts():
        yield TEXT
        raise BrokenError

    class BrokenError(AdaptagError):
        pass

    with pytest.raises(BrokenError):
        store.add_texts(texts(), "b.txt")
    assert len(store.sentences()) == 2


def test_a_second_process_is_refused(store, tmp_path):
    with pytest.raises(ProjectError, match="open in another process"):
        Store(tmp_path / "p")
    code = "import sys; from adaptag.annotation.store import Store; Store(sys.argv[1])"
    command = [sys.executable, "-c", code, str(tmp_path / "p")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "open in another process" in done.stderr
    store.add_answer(0, "ann", CORRECTED, LABELS)
    with Store(tmp_path / "p", exclusive=False) as reader:  # to export
        assert len(reader.answers()) == 1
    store.close()
    Store(tmp_path / "p").close()


def test_threads_share_a_store(store):
    def work(name):
        for _ in range(20):
            store.add_answer(0, name, CORRECTED, LABELS)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers = store.answers()
    assert len(answers) == 80
    assert [a.number for a in answers] == sorted({a.number for a in answers})


def test_no_project(tmp_path):
    with pytest.raises(MissingFileError, match="no labelling project"):
        Store(tmp_path / "none", exclusive=False)
    assert not (tmp_path / "none").exists()


def test_other_files_and_versions(tmp_path):
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "project.sqlite").write_text("no database " * 100)
    with pytest.raises(ProjectError, match="not a database"):
        Store(folder)
    (folder / "project.sqlite").unlink()
    Store(folder, create=True).close()
    with sqlite3.connect(folder / "project.sqlite") as db:
        db.execute("PRAGMA user_version = 7")
    db.close()
    with pytest.raises(ProjectError, match="version 7"):
        Store(folder)


def test_labels_have_keys_and_colours(store):
    store.add_labels([f"L{n}" for n in range(40)])
    labels = store.labels()
    keys = [label.key for label in labels if label.key]
    assert keys == list(KEYS)
    assert not {"s", "u", "x"} & set(keys)
    assert {label.colour for label in labels} == set(range(12))
    store.add_labels(["PER"])
    assert store.labels() == labels


@pytest.mark.parametrize("name", ["", " ", "a,b", "a\tb", "x" * 61, 3, None])
def test_names_of_labels(store, name):
    with pytest.raises(ParameterError, match="a label is"):
        store.add_labels([name])


def test_used_labels_stay(store):
    store.add_answer(0, "ann", CORRECTED, LABELS)
    with pytest.raises(ParameterError, match="1 answers have it"):
        store.remove_label("PER")
    store.undo("ann")
    store.remove_label("PER")
    assert [label.name for label in store.labels()] == ["LOC"]
    with pytest.raises(ParameterError, match="unknown label"):
        store.remove_label("PER")


def test_kind_is_chosen_before_labels(store, tmp_path):
    with pytest.raises(ParameterError, match="labels of spans"):
        store.set_kind("tags")
    with Store(tmp_path / "q", create=True) as other:
        other.set_kind("tags")
        assert other.kind == "tags"
        with pytest.raises(ParameterError, match="kind of labels"):
            other.set_kind("odd")


chunks = st.lists(
    st.tuples(st.sampled_from(["", "PER", "LOC"]), st.integers(1, 3)), min_size=1, max_size=6
)


@given(chunks)
def test_labels_of_other_schemes_become_iob2(parts):
    iob2, bioes = [], []
    for name, n in parts:
        if not name:
            iob2 += ["O"] * n
            bioes += ["O"] * n
        else:
            iob2 += [f"B-{name}", *[f"I-{name}"] * (n - 1)]
            whole = (
                [f"S-{name}"] if n == 1 else [f"B-{name}", *[f"I-{name}"] * (n - 2), f"E-{name}"]
            )
            bioes += whole
    converted, names, kind = types_of([bioes])
    assert converted == [iob2]
    assert set(names) == {name for name, _ in parts if name}
    assert kind == "spans"
    assert check_labels(iob2, len(iob2), ["PER", "LOC"], "spans") == tuple(iob2)
