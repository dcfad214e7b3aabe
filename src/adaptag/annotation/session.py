"""The work on a project: which sentence is next, what the model suggests, and what was answered."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from adaptag.annotation import progress
from adaptag.annotation.answers import Answer
from adaptag.annotation.background import BackgroundTraining, Snapshot
from adaptag.annotation.labels import SPANS, check_labels, token_labels
from adaptag.annotation.records import ACCEPTED, CORRECTED, SKIPPED
from adaptag.annotation.selection import STRATEGIES
from adaptag.annotation.suggestion import Suggestion, suggest
from adaptag.errors import ParameterError, described, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adaptag.annotation.records import ImportedText, Sentence, StoredAnswer
    from adaptag.annotation.store import Store
    from adaptag.decoding.model import Model

__all__ = ["Session"]

EVERY = 5  # answers after which the model is trained again
KEPT = 600.0  # seconds that a sentence is kept for the annotator who looks at it
FOUND = 100  # results of a search


class Session:
    """Labelling of a project by one or more annotators, with a model that learns meanwhile.

    Its methods may be called by several threads. None of them waits for training.

    Attributes:
        store: The project.
    """

    def __init__(
        self, store: Store, *, template: str = "general", seed: int = 1, every: int = EVERY
    ) -> None:
        """Load a project.

        Args:
            store: The project.
            template: The feature template of the models.
            seed: The seed of training and of the choice of sentences.
            every: The number of answers after which the model is trained again.
        """
        self.store = store
        self._every = every
        self._lock = threading.RLock()
        self._training = BackgroundTraining(store, self._snapshot, template=template, seed=seed)
        self._sentences: list[Sentence] = []
        self._folded: list[str] = []  # the texts for search, in the form that ignores case
        self._history: list[StoredAnswer] = []
        self._answers: dict[int, StoredAnswer] = {}  # the latest one with labels of each sentence
        self._count: Counter[str] = Counter()  # how often each label was given
        self._skipped: set[tuple[str, int]] = set()
        self._shown: dict[int, tuple[str, float]] = {}  # who looks at a sentence, since when
        self._again: deque[int] = deque()  # sentences that were shown when others were undone
        self._since = 0  # answers since training was last requested
        self._load()

    def _load(self) -> None:
        self._sentences += self.store.sentences(len(self._sentences))
        self._folded = [sentence.text.casefold() for sentence in self._sentences]
        self._labels = self.store.labels()
        self._kind = self.store.kind
        self._reload_answers()
        self._training.summarize(self._history)
        self._training.change_data()

    def _reload_answers(self) -> None:
        self._history = self.store.answers()
        self._answers, self._skipped = {}, set()
        self._count.clear()
        for answer in self._history:
            self._note(answer)

    def _note(self, answer: StoredAnswer) -> None:
        if answer.labels is None:
            self._skipped.add((answer.annotator, answer.sentence))
            return
        before = self._answers.pop(answer.sentence, None)  # the latest one goes to the end
        self._answers[answer.sentence] = answer
        if before is not None:
            self._count.subtract(progress.names_given(before, self._kind))
        self._count.update(progress.names_given(answer, self._kind))

    def _snapshot(self) -> Snapshot:
        with self._lock:
            return Snapshot(
                list(self._sentences),
                token_labels([label.name for label in self._labels], self._kind),
                [Answer(a.sentence, a.labels or ()) for a in self._answers.values()],
                list(self._history),
                self.strategy,
            )

    def start(self) -> None:
        """Start to train in the background."""
        self._training.start()
        self._training.request()

    def stop(self) -> None:
        """Stop training."""
        self._training.stop()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the model is trained on what has been requested."""
        return self._training.wait(timeout)

    @property
    def model(self) -> Model | None:
        """The model of the last training; None before there is one."""
        trained = self._training.trained
        return None if trained is None else trained.model

    # ---- questions and answers ----------------------------------------------------------------

    def next(self, annotator: str) -> dict[str, Any] | None:
        """The sentence that an annotator labels next; None where all are done."""
        with self._lock:
            number = self._next_number(annotator)
            if number is None:
                return None
            self._shown[number] = annotator, time.monotonic()
        return self.question(number)

    def _next_number(self, annotator: str) -> int | None:
        now = time.monotonic()
        for number, (name, since) in list(self._shown.items()):
            if number in self._answers or now - since > KEPT:
                del self._shown[number]
            elif name == annotator and (annotator, number) not in self._skipped:
                return number  # it was shown, and not answered: the page was loaded again
        candidates = (*self._again, *self._training.queue, *range(len(self._sentences)))
        return next((n for n in candidates if self._is_open(n, annotator)), None)

    def _is_open(self, number: int, annotator: str) -> bool:
        """Whether a sentence can be shown to an annotator as the next one."""
        return not (
            number in self._answers
            or (annotator, number) in self._skipped
            or self._shown.get(number, (annotator, 0.0))[0] != annotator
        )

    def question(self, number: int) -> dict[str, Any]:
        """A sentence with labels filled in: those of its answer, or what the model suggests."""
        sentence = self._sentence(number)
        answer = self._answers.get(number)
        suggestion = self._suggest(sentence)
        empty: list[str | None] = ["O" if self._kind == SPANS else None] * len(sentence.tokens)
        labels: Sequence[str | None] = empty
        if answer is not None and answer.labels is not None:
            labels, origin = answer.labels, "answer"
        elif suggestion is not None:
            labels, origin = suggestion.labels, "model"
        else:
            origin = "empty"
        return {
            **sentence.to_dict(),
            "labels": list(labels),
            "origin": origin,
            "annotator": None if answer is None else answer.annotator,
            "suggestion": None if suggestion is None else suggestion.to_dict(),
        }

    def _suggest(self, sentence: Sentence) -> Suggestion | None:
        model = self.model
        names = token_labels([label.name for label in self._labels], self._kind)
        return None if model is None else suggest(model, sentence.words, names)

    def _sentence(self, number: object) -> Sentence:
        n = len(self._sentences)
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < n:
            raise ParameterError(
                f"sentence is {described(number)}; the project has sentences 0 to {n - 1}"
            )
        return self._sentences[number]

    def answer(
        self,
        annotator: str,
        number: int,
        labels: Sequence[str | None],
        *,
        suggested: Sequence[str] | None = None,
        confidence: float | None = None,
        seconds: float | None = None,
    ) -> StoredAnswer:
        """Keep the labels of a sentence: when this returns, they are on disk.

        Args:
            annotator: The name of the annotator.
            number: The number of the sentence.
            labels: A label for each token; None where it is not labelled.
            suggested: What the model had suggested when the sentence was shown.
            confidence: The confidence of that suggestion.
            seconds: How long the annotator took.
        """
        with self._lock:
            sentence = self._sentence(number)
            names = [label.name for label in self._labels]
            given = check_labels(labels, len(sentence.tokens), names, self._kind)
            shown = None
            if suggested is not None:
                shown = check_labels(suggested, len(sentence.tokens), names, self._kind)
            kept = self.store.add_answer(
                number,
                annotator,
                ACCEPTED if given == shown else CORRECTED,
                given,
                suggested=None if shown is None else [label or "O" for label in shown],
                confidence=confidence,
                seconds=seconds,
            )
            self._taken(kept)
            return kept

    def skip(self, annotator: str, number: int, *, seconds: float | None = None) -> None:
        """Leave a sentence to others: this annotator does not see it again as the next one."""
        with self._lock:
            self._sentence(number)
            self._taken(self.store.add_answer(number, annotator, SKIPPED, None, seconds=seconds))

    def _taken(self, answer: StoredAnswer) -> None:
        self._history.append(answer)
        self._note(answer)
        self._shown.pop(answer.sentence, None)
        self._since += answer.labels is not None
        if self._since >= self._every:
            self._request()

    def _request(self) -> None:
        self._since = 0
        self._training.request()

    def undo(self, annotator: str) -> dict[str, Any] | None:
        """Undo the last answer of an annotator, and show its sentence again with its labels."""
        with self._lock:
            undone = self.store.undo(annotator)
            if undone is None:
                return None
            self._reload_answers()
            for shown in [n for n, (name, _) in self._shown.items() if name == annotator]:
                del self._shown[shown]
                self._again.appendleft(shown)
            self._shown[undone.sentence] = annotator, time.monotonic()
        question = self.question(undone.sentence)
        if undone.labels is not None and question["origin"] != "answer":
            question |= {"labels": list(undone.labels), "origin": "undone"}
        return question

    # ---- the project --------------------------------------------------------------------------

    def add_texts(
        self,
        texts: Sequence[ImportedText],
        source: str,
        labels: Sequence[str] = (),
        kind: str | None = None,
    ) -> int:
        """Add texts to the project; see ``Store.add_texts``."""
        with self._lock:
            n = self.store.add_texts(texts, source, labels=labels, kind=kind)
            self._load()
            self._request()
            return n

    def add_label(self, name: str) -> None:
        """Add a label."""
        with self._lock:
            if name in [label.name for label in self._labels]:
                raise ParameterError(f"the label {name!r} exists already")
            self.store.add_labels([name])
            self._labels = self.store.labels()
            self._training.change_data()

    def remove_label(self, name: str) -> None:
        """Remove a label that no answer has."""
        with self._lock:
            self.store.remove_label(name)
            self._labels = self.store.labels()
            self._training.change_data()
            self._request()

    @property
    def strategy(self) -> str:
        """How the next sentences are chosen."""
        return self.store.setting("strategy", STRATEGIES[0])

    def set_strategy(self, strategy: str) -> None:
        """Choose how the next sentences are chosen."""
        if strategy not in STRATEGIES:
            raise ParameterError(unknown("strategy", strategy, STRATEGIES))
        with self._lock:
            self.store.set_setting("strategy", strategy)
            self._request()

    def describe(self) -> dict[str, Any]:
        """What a page has to know of the project."""
        with self._lock:
            return {
                "name": self.store.folder.resolve().name,
                "kind": self._kind,
                "labels": [vars(label) for label in self._labels],
                "strategy": self.strategy,
                "strategies": list(STRATEGIES),
                "sentences": len(self._sentences),
            }

    def progress(self) -> dict[str, Any]:
        """How far the labelling is."""
        with self._lock:
            training = self._training
            trained = training.trained
            return {
                "sentences": len(self._sentences),
                "answered": len(self._answers),
                "skipped": len({n for _, n in self._skipped if n not in self._answers}),
                "strategy": self.strategy,
                "version": training.version,
                "training": training.busy,
                "trained_on": 0 if trained is None else trained.n_answers,
                "seconds": None if trained is None else trained.seconds,
                "error": training.error,
                "curve": progress.curve_points(training.curve),
                "agreement": progress.agreement_with_model(self._history),
                "labels": progress.label_rows(self._labels, self._count, training.held_out),
                **training.people,
            }

    def search(self, text: str = "", *, label: str = "", status: str = "") -> dict[str, Any]:
        """Find sentences that contain a text, have a label, or are (not) answered.

        Args:
            text: What they contain; upper and lower case are the same.
            label: A label that their answer has.
            status: ``answered`` or ``open``; empty for both.
        """
        statuses = ("answered", "open")
        if status and status not in statuses:
            raise ParameterError(unknown("status", status, statuses))
        wanted, given = text.casefold(), {label, f"B-{label}"}
        found = []
        with self._lock:
            for number, folded in enumerate(self._folded):
                answer = self._answers.get(number)
                if (
                    wanted in folded
                    and (not status or (answer is not None) == (status == "answered"))
                    and (not label or (answer and given.intersection(answer.labels or ())))
                ):
                    found.append(number)
            rows = [self._row(number) for number in found[:FOUND]]
        return {"found": len(found), "rows": rows}

    def _row(self, number: int) -> dict[str, Any]:
        answer = self._answers.get(number)
        return {
            **self._sentences[number].to_dict(),
            "labels": None if answer is None else list(answer.labels or ()),
            "annotator": None if answer is None else answer.annotator,
        }

    def review(self) -> dict[str, Any]:
        """Answers that differ from the model, likely mistakes first; older ones while it works."""
        with self._lock:
            training = self._training
            newest = self._history[-1].number if self._history else -1
            if newest != training.reviewed:
                training.request_review(newest)
            rows = []
            for item in training.review:
                number = item.answer.sentence
                answer = self._answers.get(number)
                if answer is None or answer.labels != item.answer.labels or self._confirmed(answer):
                    continue
                more = {"model": list(item.labels), "probability": item.probability}
                rows.append(self._row(number) | more)
            busy = newest != training.reviewed
            return {"busy": busy, "found": len(rows), "rows": rows[:FOUND]}

    def _confirmed(self, answer: StoredAnswer) -> bool:
        """Whether the same labels were given before: someone has looked at them again."""
        return any(
            other.number != answer.number
            and other.sentence == answer.sentence
            and other.labels == answer.labels
            for other in self._history
        )
