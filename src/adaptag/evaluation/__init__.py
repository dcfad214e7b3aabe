"""Scores: chunk F, token accuracy, tables."""

from adaptag.evaluation.scores import (
    Evaluation,
    Score,
    conlleval_text,
    evaluate_ids,
    evaluate_sequences,
    marks_chunks,
)

__all__ = [
    "Evaluation",
    "Score",
    "conlleval_text",
    "evaluate_ids",
    "evaluate_sequences",
    "marks_chunks",
]
