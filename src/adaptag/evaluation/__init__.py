"""Scores: chunk F, token accuracy, tables."""

from adaptag.evaluation.scores import (
    METRICS,
    Evaluation,
    Score,
    conlleval_text,
    evaluate_ids,
    evaluate_sequences,
    marks_chunks,
)

__all__ = [
    "METRICS",
    "Evaluation",
    "Score",
    "conlleval_text",
    "evaluate_ids",
    "evaluate_sequences",
    "marks_chunks",
]
