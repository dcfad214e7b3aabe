from __future__ import annotations

import json

import numpy as np
import pytest
from rich.console import Console

import adaptag
from adaptag.errors import AdaptagError
from adaptag.evaluation import (
    Evaluation,
    Score,
    conlleval_text,
    evaluate_ids,
    evaluate_sequences,
)
from adaptag.evaluation.table import table

CHUNKS = (
    ["B-NP I-NP B-VP O", "I-NP B-NP I-PP", "B-VP I-VP B-ADJP"],
    ["B-NP I-NP B-NP O", "B-NP I-NP B-PP", "B-VP O I-ADJP"],
)
TAGS = (["NN VB DT O O", "NN ."], ["NN NN DT DT O", "NN ."])


def evaluate(gold: list[str], predicted: list[str]) -> Evaluation:
    return evaluate_sequences([s.split() for s in gold], [s.split() for s in predicted])


def printed(evaluation: Evaluation) -> list[str]:
    """The lines of the table, with single spaces."""
    console = Console(width=100)
    with console.capture() as capture:
        console.print(table(evaluation))
    return [" ".join(line.split()) for line in capture.get().splitlines()]


def test_score_in_percent():
    score = Score(correct=1, predicted=2, gold=4)
    assert (score.precision, score.recall) == (50.0, 25.0)
    assert score.f1 == pytest.approx(100 / 3)


@pytest.mark.parametrize("score", [Score(0, 0, 0), Score(0, 3, 0), Score(0, 0, 3), Score(0, 3, 3)])
def test_score_without_hits_is_zero(score):
    assert (score.precision, score.recall, score.f1) == (0.0, 0.0, 0.0)


def test_total_sums_the_counts():
    assert Score.total([Score(1, 2, 3), Score(10, 20, 30)]) == Score(11, 22, 33)
    assert Score.total([]) == Score(0, 0, 0)


def test_chunk_labels_are_scored_by_chunk():
    evaluation = evaluate(*CHUNKS)
    assert evaluation == Evaluation(
        tokens=10,
        correct_tokens=4,
        chunks=Score(3, 6, 7),
        by_type={
            "ADJP": Score(1, 1, 1),
            "NP": Score(1, 3, 3),
            "PP": Score(1, 1, 1),
            "VP": Score(0, 1, 2),
        },
    )
    assert evaluation.accuracy == 40.0
    assert evaluation.score == evaluation.chunks.f1


def test_other_labels_are_scored_by_token():
    evaluation = evaluate(*TAGS)
    assert evaluation == Evaluation(
        tokens=7,
        correct_tokens=5,
        chunks=None,
        by_type={
            ".": Score(1, 1, 1),
            "DT": Score(1, 2, 1),
            "NN": Score(2, 3, 2),
            "O": Score(1, 1, 2),
            "VB": Score(0, 0, 1),
        },
    )
    assert evaluation.score == evaluation.accuracy == 100 * 5 / 7


def test_a_chunk_needs_start_end_and_type():
    gold = ["B-X I-X O"] * 4
    predicted = ["B-X O O", "B-X I-X I-X", "O B-X O", "B-Y I-Y O"]
    assert evaluate(gold, predicted).chunks == Score(0, 4, 4)


def test_tokens_are_compared_as_strings():
    evaluation = evaluate(["B-X M-X L-X"], ["B-X I-X E-X"])
    assert evaluation.correct_tokens == 1
    assert evaluation.chunks == Score(1, 1, 1)


def test_ids_index_the_labels_and_may_leave_some_out():
    labels = ["B-Z", "O", "I-X", "B-X", "B-Y"]
    offsets = np.array([0, 3, 4])
    evaluation = evaluate_ids(np.array([3, 2, 1, 2]), np.array([3, 2, 4, 2]), offsets, labels)
    by_type = {"X": Score(2, 2, 2), "Y": Score(0, 1, 0)}
    assert evaluation == Evaluation(4, 3, Score(2, 3, 2), by_type)


def test_nothing_to_evaluate():
    assert evaluate([], []) == evaluate([""], [""]) == Evaluation(0, 0, None, {})
    assert evaluate([], []).score == 0.0
    none = np.array([], dtype=np.int32)
    assert evaluate_ids(none, none, np.array([0]), ["B", "O"]).chunks == Score(0, 0, 0)


def test_lengths_must_agree():
    with pytest.raises(AdaptagError, match="sentence 2: 3 gold labels but 1 predicted"):
        evaluate(["O", "O O O"], ["O", "O"])
    with pytest.raises(AdaptagError, match="2 gold sentences but 1 predicted"):
        evaluate(["O", "O"], ["O"])
    with pytest.raises(AdaptagError, match="2 gold labels but 1 predicted"):
        evaluate_ids(np.array([0, 0]), np.array([0]), np.array([0, 2]), ["O"])


def test_what_can_be_evaluated():
    texts = [adaptag.TaggedText("a", ())]
    assert adaptag.evaluate(iter(texts), iter(texts)).chunks.gold == 0
    assert adaptag.evaluate(iter([["O"]]), iter([["O"]])).accuracy == 100
    with pytest.raises(AdaptagError, match="predicted is the int 5; allowed: a list of sentences"):
        adaptag.evaluate(texts, 5)
    message = "sentence 1 is the string 'O'; allowed: a list of labels"
    with pytest.raises(AdaptagError, match=f"^predicted, {message}"):
        adaptag.evaluate([["O"]], ["O"])
    with pytest.raises(AdaptagError, match=f"^labels, {message}"):
        adaptag.convert_labels(["O"], "iob1")


def test_to_dict_is_json():
    evaluation = evaluate(*CHUNKS)
    record = json.loads(json.dumps(evaluation.to_dict()))
    assert record["score"] == evaluation.score
    assert record["accuracy"] == 40.0
    assert (record["tokens"], record["correct_tokens"]) == (10, 4)
    assert record["chunks"] == {
        "correct": 3,
        "predicted": 6,
        "gold": 7,
        "precision": 50.0,
        "recall": 100 * 3 / 7,
        "f1": evaluation.chunks.f1,
    }
    assert list(record["by_type"]) == ["ADJP", "NP", "PP", "VP"]
    assert record["by_type"]["NP"]["precision"] == 100 / 3
    assert evaluate(*TAGS).to_dict()["chunks"] is None


# The texts are the output of conlleval.pl.
def test_conlleval_text():
    assert conlleval_text(evaluate(*CHUNKS)) == (
        "processed 10 tokens with 7 phrases; found: 6 phrases; correct: 3.\n"
        "accuracy:  40.00%; precision:  50.00%; recall:  42.86%; FB1:  46.15\n"
        "             ADJP: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
        "               NP: precision:  33.33%; recall:  33.33%; FB1:  33.33  3\n"
        "               PP: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
        "               VP: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n"
    )


def test_conlleval_text_of_other_labels_is_that_of_raw_tags():
    assert conlleval_text(evaluate(*TAGS)) == (
        "processed 7 tokens with 5 phrases; found: 6 phrases; correct: 4.\n"
        "accuracy:  71.43%; precision:  66.67%; recall:  80.00%; FB1:  72.73\n"
        "                .: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
        "               DT: precision:  50.00%; recall: 100.00%; FB1:  66.67  2\n"
        "               NN: precision:  66.67%; recall: 100.00%; FB1:  80.00  3\n"
        "               VB: precision:   0.00%; recall:   0.00%; FB1:   0.00  0\n"
    )


def test_conlleval_text_of_nothing():
    text = "processed 0 tokens with 0 phrases; found: 0 phrases; correct: 0.\n"
    assert conlleval_text(evaluate([], [])) == text


def test_conlleval_text_keeps_a_type_named_o():
    text = conlleval_text(evaluate(["B-O"], ["B-O"]))
    assert "with 1 phrases" in text
    assert "                O: precision: 100.00%" in text


def first_cells(lines: list[str]) -> list[str]:
    return [line.split()[0] for line in lines if line.count(" ") == 6]


def test_table_has_the_most_frequent_types_first():
    lines = printed(evaluate(*CHUNKS))
    assert first_cells(lines) == ["type", "NP", "VP", "ADJP", "PP", "overall"]
    assert "NP 33.33 33.33 33.33 3 3 1" in lines
    overall = lines.index("overall 50.00 42.86 46.15 7 6 3")
    assert set(lines[overall - 1]) == {"─"}
    assert lines[-1] == "token accuracy 40.00% (4 of 10)"


def test_table_leaves_out_rare_labels():
    by_type = {f"T{i}": Score(i, i, i + 1) for i in range(33)}
    lines = printed(Evaluation(tokens=561, correct_tokens=528, chunks=None, by_type=by_type))
    assert first_cells(lines) == ["label", *(f"T{i}" for i in range(32, 2, -1)), "overall"]
    assert "overall 100.00 94.12 96.97 561 528 528" in lines
    assert lines[-1] == "3 less frequent labels left out"


def test_table_shows_all_chunk_types():
    by_type = {f"T{i:02}": Score(1, 1, 1) for i in range(33)}
    lines = printed(Evaluation(33, 33, Score.total(by_type.values()), by_type))
    assert first_cells(lines) == ["type", *by_type, "overall"]
    assert lines[-1].startswith("token accuracy")


def test_table_shows_markup_as_it_is():
    assert "[/b]" in first_cells(printed(evaluate(["[/b] NN"], ["[/b] NN"])))
