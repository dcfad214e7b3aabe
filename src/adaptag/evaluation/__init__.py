"""Scores: chunk F, token accuracy, tables."""

from adaptag.evaluation.scores import (
    METRICS,
    Evaluation,
    Score,
    conlleval_text,
    evaluate_ids,
    evaluate_sequences,
    metric_of,
    sentence_counts,
)
from adaptag.evaluation.spans import evaluate_spans

__all__ = [
    "METRICS",
    "Evaluation",
    "Score",
    "conlleval_text",
    "evaluate_ids",
    "evaluate_sequences",
    "evaluate_spans",
    "metric_of",
    "sentence_counts",
]
