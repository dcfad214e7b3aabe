"""The project on disk: a folder with an SQLite file that is never behind what a page shows."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from adaptag.annotation.labels import COLOURS, KINDS, SPANS, Label, check_name, free_key
from adaptag.annotation.records import (
    IMPORTED,
    CurvePoint,
    ProjectError,
    Sentence,
    StoredAnswer,
    answer_of,
    sentence_of,
)
from adaptag.annotation.schema import SCHEMA, VERSION
from adaptag.corpus.tokenizers import DEFAULT, TOKENIZERS
from adaptag.errors import FileError, MissingFileError, ParameterError, unknown
from adaptag.storage.locks import lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from adaptag.annotation.records import ImportedText
    from adaptag.storage.files import PathLike

__all__ = ["ProjectError", "Store"]

FILE = "project.sqlite"
LOCK = "project.lock"
UNDO = "undo"
WAIT = 10.0  # seconds that a connection waits for another one that writes
COLUMNS = "a.id, a.sentence, n.name, a.kind, a.labels, a.suggested, a.confidence, a.seconds, a.time"


class Store:
    """An open project.

    Every change is on disk when its method returns. One store may be used by several threads; with
    ``exclusive`` no other process can open the project to change it.
    """

    def __init__(self, folder: PathLike, *, create: bool = False, exclusive: bool = True) -> None:
        """Open a project.

        Args:
            folder: The folder of the project.
            create: Whether a project that does not exist is made.
            exclusive: Whether the project is opened to be changed; one process at a time can.
        """
        self.folder = Path(folder)
        self._lock = threading.RLock()
        self._held: IO[str] | None = None
        path = self.folder / FILE
        self._kept = path.exists()
        if not self._kept and not create:
            raise MissingFileError(f"{folder}: no labelling project; expected {FILE} in it")
        try:
            if create:
                self.folder.mkdir(parents=True, exist_ok=True)
            self._held = _hold(self.folder / LOCK, self.folder) if exclusive else None
        except OSError as error:
            raise FileError(f"{folder}: cannot open: {error.strerror or error}") from None
        try:
            self._db = _connect(path)
        except BaseException:
            self._release()
            raise

    def __enter__(self) -> Store:
        """Use the store in a with statement."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the files, and let others open the project."""
        with self._lock:
            self._db.close()
            self._release()

    def _release(self) -> None:
        if self._held is not None:
            self._held.close()  # which gives up the lock
            self._held = None

    @contextlib.contextmanager
    def set_up(self) -> Iterator[None]:
        """Prepare the project for use: a new one is removed on an error, before ``keep``."""
        try:
            yield
        except BaseException:
            self.close()
            if not self._kept:
                for name in (FILE, LOCK):
                    (self.folder / name).unlink(missing_ok=True)
            raise

    def keep(self) -> None:
        """Say that the project is in use, so that nothing removes it any more."""
        self._kept = True

    @contextlib.contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """Make changes of which all or none are kept."""
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
            except BaseException as error:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise ProjectError(f"{self.folder / FILE}: cannot write: {error}") from None
                raise

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self._lock:
            try:
                return self._db.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise ProjectError(f"{self.folder / FILE}: cannot read: {error}") from None

    # ---- settings and labels ------------------------------------------------------------------

    def setting(self, name: str, default: str) -> str:
        """The value of a setting of the project."""
        rows = self._rows("SELECT value FROM settings WHERE name = ?", name)
        return str(rows[0][0]) if rows else default

    def set_setting(self, name: str, value: str) -> None:
        """Change a setting of the project."""
        with self._change() as db:
            db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    @property
    def kind(self) -> str:
        """What labels are given to: ``spans`` of tokens, or each token: ``tags``."""
        return self.setting("kind", SPANS)

    def set_kind(self, kind: str) -> None:
        """Choose what labels are given to, before there is any answer."""
        if kind not in KINDS:
            raise ParameterError(unknown("kind of labels", kind, KINDS))
        if kind != self.kind:
            if self._rows("SELECT 1 FROM labels LIMIT 1"):
                raise ParameterError(f"the project has labels of {self.kind}, not {kind}")
            self.set_setting("kind", kind)

    @property
    def tokenizer(self) -> str:
        """The name of what cuts text into tokens."""
        return self.setting("tokenizer", DEFAULT)

    def set_tokenizer(self, name: str) -> None:
        """Choose what cuts text into tokens; texts that were added before stay as they are."""
        if name not in TOKENIZERS:
            raise ParameterError(unknown("tokenizer", name, TOKENIZERS))
        self.set_setting("tokenizer", name)

    def labels(self) -> list[Label]:
        """The labels, in the order in which they were added."""
        return [
            Label(*row) for row in self._rows("SELECT name, colour, key FROM labels ORDER BY id")
        ]

    def add_labels(self, names: Iterable[str]) -> None:
        """Add labels; those that exist stay as they are."""
        kind = self.kind
        checked = [check_name(name, kind) for name in names]
        with self._change() as db:
            self._add_labels(db, checked)

    def _add_labels(self, db: sqlite3.Connection, names: Sequence[str]) -> None:
        labels = self.labels()
        for name in names:
            if name in (label.name for label in labels):
                continue
            label = Label(name, len(labels) % COLOURS, free_key(labels))
            labels.append(label)
            db.execute(
                "INSERT INTO labels (name, colour, key) VALUES (?, ?, ?)",
                (label.name, label.colour, label.key),
            )

    def remove_label(self, name: str) -> None:
        """Remove a label that no answer has."""
        label_names = [label.name for label in self.labels()]
        if name not in label_names:
            raise ParameterError(unknown("label", name, label_names))
        given = {name, f"B-{name}", f"I-{name}"}
        n = sum(not given.isdisjoint(answer.labels or ()) for answer in self.answers())
        if n:
            raise ParameterError(f"the label {name!r} cannot be removed: {n} answers have it")
        with self._change() as db:
            db.execute("DELETE FROM labels WHERE name = ?", (name,))

    # ---- texts --------------------------------------------------------------------------------

    def add_texts(
        self,
        texts: Iterable[ImportedText],
        source: str,
        *,
        labels: Sequence[str] = (),
        kind: str | None = None,
        annotator: str = "import",
    ) -> int:
        """Add texts, all or none; the labels of sentences that have some become answers.

        Args:
            texts: The texts.
            source: The name of the file that they are from.
            labels: The names of the labels that occur.
            kind: What the labels are given to; None where there are none.
            annotator: Whose answers the labels are.

        Returns:
            The number of sentences that were added.
        """
        if kind is not None:
            self.set_kind(kind)
        names = [check_name(name, self.kind) for name in labels]
        now = time.time()
        with self._change() as db:
            self._add_labels(db, names)
            person = self._annotator(db, annotator) if kind is not None else 0
            first = number = db.execute("SELECT count(*) FROM sentences").fetchone()[0]
            for item in texts:
                text = db.execute(
                    "INSERT INTO texts (source, text, time) VALUES (?, ?, ?)",
                    (source, item.text, now),
                ).lastrowid
                for tokens, given in zip(item.sentences, item.labels, strict=True):
                    db.execute(
                        "INSERT INTO sentences VALUES (?, ?, ?)",
                        (number, text, _compact(tokens)),
                    )
                    if given is not None:
                        db.execute(
                            "INSERT INTO answers (sentence, annotator, kind, labels, time) "
                            "VALUES (?, ?, ?, ?, ?)",
                            (number, person, IMPORTED, _compact(given), now),
                        )
                    number += 1
        return int(number - first)

    def sentences(self, start: int = 0) -> list[Sentence]:
        """The sentences of the pool, from a number on."""
        rows = self._rows(
            "SELECT s.id, t.text, s.tokens, t.source FROM sentences s JOIN texts t ON t.id = s.text"
            " WHERE s.id >= ? ORDER BY s.id",
            start,
        )
        return [sentence_of(*row) for row in rows]

    # ---- answers ------------------------------------------------------------------------------

    def _annotator(self, db: sqlite3.Connection, name: str) -> int:
        """The number of an annotator, who is added if new."""
        db.execute("INSERT OR IGNORE INTO annotators (name) VALUES (?)", (name,))
        row = db.execute("SELECT id FROM annotators WHERE name = ?", (name,)).fetchone()
        return int(row[0])

    def add_answer(
        self,
        sentence: int,
        annotator: str,
        kind: str,
        labels: Sequence[str | None] | None,
        *,
        suggested: Sequence[str] | None = None,
        confidence: float | None = None,
        seconds: float | None = None,
    ) -> StoredAnswer:
        """Keep an answer; it is on disk when this returns."""
        now = time.time()
        with self._change() as db:
            row = db.execute(
                "INSERT INTO answers (sentence, annotator, kind, labels, suggested, confidence, "
                "seconds, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    sentence,
                    self._annotator(db, annotator),
                    kind,
                    None if labels is None else _compact(labels),
                    None if suggested is None else _compact(suggested),
                    confidence,
                    seconds,
                    now,
                ),
            ).lastrowid
        given = None if labels is None else tuple(labels)
        shown = None if suggested is None else tuple(suggested)
        return StoredAnswer(
            int(row or 0), sentence, annotator, kind, given, shown, confidence, seconds, now
        )

    def undo(self, annotator: str) -> StoredAnswer | None:
        """Undo the last answer of an annotator, and return it; the history keeps both."""
        with self._change() as db:
            row = db.execute(
                f"SELECT {COLUMNS} FROM standing a JOIN annotators n ON n.id = a.annotator "
                "WHERE n.name = ? AND a.kind <> ? ORDER BY a.id DESC LIMIT 1",
                (annotator, IMPORTED),
            ).fetchone()
            if row is None:
                return None
            answer = answer_of(*row)
            db.execute(
                "INSERT INTO answers (sentence, annotator, kind, time, undoes) "
                "VALUES (?, ?, ?, ?, ?)",
                (answer.sentence, self._annotator(db, annotator), UNDO, time.time(), row[0]),
            )
        return answer

    def answers(self, sentence: int | None = None) -> list[StoredAnswer]:
        """The answers that were not undone, in the order in which they were given."""
        where = "" if sentence is None else "WHERE a.sentence = ?"
        values = () if sentence is None else (sentence,)
        query = f"SELECT {COLUMNS} FROM standing a JOIN annotators n ON n.id = a.annotator {where}"
        return [answer_of(*row) for row in self._rows(f"{query} ORDER BY a.id", *values)]

    def n_revisions(self) -> int:
        """All answers that were ever given, those that were undone included."""
        return int(self._rows("SELECT count(*) FROM answers WHERE kind <> ?", UNDO)[0][0])

    # ---- the learning curve -------------------------------------------------------------------

    def add_point(self, answers: int, metric: str, score: float, seconds: float) -> CurvePoint:
        """Keep a point of the learning curve."""
        point = CurvePoint(answers, metric, score, seconds, time.time())
        with self._change() as db:
            db.execute(
                "INSERT INTO curve (answers, metric, score, seconds, time) VALUES (?, ?, ?, ?, ?)",
                (answers, metric, score, seconds, point.time),
            )
        return point

    def curve(self) -> list[CurvePoint]:
        """The points of the learning curve."""
        query = "SELECT answers, metric, score, seconds, time FROM curve ORDER BY id"
        return [CurvePoint(*row) for row in self._rows(query)]


def _hold(path: Path, folder: Path) -> IO[str]:
    """Lock a project for this process, until the file is closed or the process ends."""
    file = path.open("a+", encoding="utf-8")
    try:
        lock(file)
    except OSError:
        file.close()
        raise ProjectError(
            f"{folder}: the project is open in another process; close that one first"
        ) from None
    return file


def _connect(path: Path) -> sqlite3.Connection:
    """Open the file, and make its tables if it is new."""
    try:
        db = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA foreign_keys = ON")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version = {VERSION}; END;")
            elif version != VERSION:
                raise ProjectError(
                    f"{path}: version {version} of the project file; this adaptag reads {VERSION}"
                )
        except BaseException:
            db.close()
            raise
    except sqlite3.Error as error:
        raise ProjectError(f"{path}: cannot open: {error}") from None
    return db


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
