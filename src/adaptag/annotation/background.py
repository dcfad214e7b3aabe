"""Training while people work: models, the learning curve, what is next, and likely mistakes."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.annotation.learner import Learner
from adaptag.annotation.progress import agreement_between_annotators, annotator_rows
from adaptag.annotation.review import disagreements
from adaptag.annotation.selection import choose
from adaptag.annotation.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from adaptag.annotation.answers import Answer
    from adaptag.annotation.learner import Trained
    from adaptag.annotation.records import Sentence, StoredAnswer
    from adaptag.annotation.review import Disagreement
    from adaptag.annotation.store import Store
    from adaptag.evaluation import Evaluation

__all__ = ["BackgroundTraining", "Snapshot"]

QUEUE = 100  # sentences that are chosen after each training


@dataclass(frozen=True)
class Snapshot:
    """The work at one moment.

    Attributes:
        sentences: The sentences of the pool.
        labels: The labels that tokens can have.
        answers: The answers to learn from.
        history: All answers that were not undone.
        strategy: How the next sentences are chosen.
    """

    sentences: Sequence[Sentence]
    labels: Sequence[str]
    answers: Sequence[Answer]
    history: Sequence[StoredAnswer]
    strategy: str

    @property
    def newest(self) -> int:
        """The number of the last answer."""
        return self.history[-1].number if self.history else -1


class BackgroundTraining:
    """Trains in a thread of its own whenever it is requested, on the newest answers.

    Attributes:
        trained: The last model; None before there is one.
        held_out: The last score.
        version: The number of trainings.
        queue: The next sentences, the best one first.
        curve: The points of the learning curve.
        review: The likely mistakes that were found last.
        reviewed: The number of the last answer that the review has seen.
        people: What is known of annotators and their agreement.
    """

    def __init__(
        self, store: Store, snapshot: Callable[[], Snapshot], *, template: str, seed: int
    ) -> None:
        """Load the learning curve.

        Args:
            store: The project, which keeps the learning curve.
            snapshot: Makes a snapshot of the work.
            template: The feature template of the models.
            seed: The seed of training and of the choice of sentences.
        """
        self._store, self._snapshot = store, snapshot
        self._template, self._seed = template, seed
        self._lock = threading.Lock()  # of the learner
        self._learner: Learner | None = None
        self._generation = 0  # of the sentences and labels that a learner is made of
        self._worker = Worker(self._work, "adaptag training")
        self._review_wanted = False
        self._reviewing: int | None = None  # the last answer that the review under way has seen
        self.trained: Trained | None = None
        self.held_out: Evaluation | None = None
        self.version = 0
        self.queue: list[int] = []
        self.curve = store.curve()
        self.review: list[Disagreement] = []
        self.reviewed = -1
        self.people: dict[str, Any] = {}
        self.start, self.stop, self.wait = self._worker.start, self._worker.stop, self._worker.wait
        self.request = self._worker.request

    @property
    def busy(self) -> bool:
        """Whether there is something to do."""
        return self._worker.busy

    @property
    def error(self) -> str:
        """What went wrong in the last training; empty if nothing did."""
        return self._worker.error

    def change_data(self) -> None:
        """Have a learner made of the sentences and labels as they are now."""
        with self._lock:
            self._learner = None
            self._generation += 1

    def request_review(self, newest: int) -> None:
        """Ask for a review that has seen an answer, unless it is under way."""
        if not self._review_wanted and newest != self._reviewing:
            self._review_wanted = True
            self.request()

    def summarize(self, history: Sequence[StoredAnswer]) -> None:
        """Compute what takes too long for every answer."""
        self.people = {
            "between": agreement_between_annotators(history),
            "annotators": annotator_rows(history),
        }

    def _work(self) -> None:
        try:
            self._run()
        finally:
            self._reviewing = None

    def _run(self) -> None:
        """Train, choose the next sentences, and look for mistakes if asked to."""
        with self._lock:
            learner, generation = self._learner, self._generation
        # Before the snapshot: a review that is asked for later must see later answers too.
        review_wanted, self._review_wanted = self._review_wanted, False
        work = self._snapshot()
        self._reviewing = work.newest if review_wanted else None
        words = [sentence.words for sentence in work.sentences] if learner is None else []
        if learner is None:
            learner = Learner(words, template=self._template, labels=work.labels, seed=self._seed)
            with self._lock:
                if generation == self._generation:
                    self._learner = learner
        trained = learner.train(work.answers)
        self.summarize(work.history)
        self._publish(trained)
        self._choose(trained, learner, work)
        if review_wanted:
            self._find_mistakes(trained, learner, work)

    def _publish(self, trained: Trained | None) -> None:
        """Let others use a new model."""
        self.trained = trained
        self.version += 1
        if trained is None or trained.held_out is None:
            return
        self.held_out = trained.held_out
        if not self.curve or self.curve[-1].answers != trained.n_answers:
            metric, score = trained.held_out.metric, float(trained.held_out.score)
            point = self._store.add_point(trained.n_answers, metric, score, trained.seconds)
            self.curve.append(point)

    def _choose(self, trained: Trained | None, learner: Learner, work: Snapshot) -> None:
        """Choose the next sentences, so that none has to be chosen when one is asked for."""
        answered = {answer.sentence for answer in work.answers}
        numbers = [n for n in range(len(learner.pool)) if n not in answered]
        self.queue = choose(
            None if trained is None else trained.model,
            learner.pool,
            np.array(numbers, np.int64),
            QUEUE,
            strategy=work.strategy,
            seed=self._seed + len(work.answers),
        )

    def _find_mistakes(self, trained: Trained | None, learner: Learner, work: Snapshot) -> None:
        found: list[Disagreement] = []
        if trained is not None:
            words = [sentence.words for sentence in work.sentences]
            found = disagreements(learner, trained.model, words, work.answers)
        self.review, self.reviewed = found, work.newest
