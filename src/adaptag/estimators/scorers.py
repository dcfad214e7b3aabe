"""Scorers for scikit-learn's searches, under the names that users of sklearn-crfsuite know."""

from __future__ import annotations

from adaptag.estimators import metrics

from sklearn.metrics import make_scorer  # isort: skip  metrics says what to install without it

__all__ = ["flat_accuracy", "sequence_accuracy"]

flat_accuracy = make_scorer(metrics.flat_accuracy_score)
sequence_accuracy = make_scorer(metrics.sequence_accuracy_score)
