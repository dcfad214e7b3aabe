"""What ``repr``, ``print`` and notebooks show of objects."""

from __future__ import annotations

import subprocess
import sys

import pytest

import adaptag
from adaptag.corpus.ingredients import ingredients
from adaptag.evaluation.segmentation import evaluate_segmentation
from adaptag.evaluation.table import table
from adaptag.experiments.comparison import compare
from adaptag.experiments.tuning import tune
from adaptag.rendering.tables import printed
from adaptag.training.callbacks import PassReport

LINES = ingredients(train=60, dev=20, test=20)
TRAIN, DEV, TEST = (
    [list(zip(line.tokens, line.labels, strict=True)) for line in part]
    for part in (LINES.train, LINES.dev, LINES.test)
)
TOKENS = ["2", "cups", "<flour>"]


@pytest.fixture(scope="module")
def model():
    return adaptag.train(TRAIN, dev=DEV, passes=3)


@pytest.fixture(scope="module")
def objects(model):
    words = [["研究", "生命"], ["生命", "科学"]] * 5
    segmenter = adaptag.Segmenter(passes=2).fit(words)
    classifier = adaptag.DocumentClassifier.train(
        ["good film", "bad film"] * 5, ["+", "-"] * 5, passes=2
    )
    tuning = {"space": {"rate": [0.01, 0.1], "sigma": [5]}, "passes": 2, "jobs": 1}
    return {
        "model": model,
        "compact": model.compact(prune=0.01),
        "segmenter": segmenter,
        "untrained": adaptag.Segmenter(),
        "compact segmenter": segmenter.compact(prune=0.01),
        "classifier": classifier,
        "evaluation": model.evaluate(TEST),
        "segmentation": segmenter.evaluate(words),
        "classification": classifier.evaluate(["good film", "bad film"], ["+", "-"]),
        "calibration": model.calibration(TEST),
        "explanation": model.explain(TOKENS),
        "token": model.explain(TOKENS)[2],
        "comparison": compare(TRAIN, TEST, algorithms=["adf", "sgd"], passes=2, seeds=(1, 2)),
        "tuning": tune(TRAIN, **tuning),
    }


NAMES = {
    "model": "dev F1",
    "compact": "compact tagger",
    "segmenter": "known words",
    "untrained": "not trained",
    "compact segmenter": "compact segmenter",
    "classifier": "classifier.predict",
    "evaluation": "overall",
    "segmentation": "OOV recall",
    "classification": "right ↓ predicted →",
    "calibration": "expected calibration error",
    "explanation": "flour",
    "token": "rival",
    "comparison": "Significance",
    "tuning": "adaptag train",
}


@pytest.mark.parametrize(("name", "content"), NAMES.items())
def test_objects_show_themselves(objects, name, content):
    shown = objects[name]
    assert "\n" not in repr(shown)
    assert len(repr(shown)) < 150
    assert repr(shown).startswith("<")
    assert content in str(shown)
    assert max(map(len, str(shown).splitlines())) <= 100
    html = shown._repr_html_()
    assert content in html
    assert "<flour>" not in html
    assert "<script" not in html


def test_evaluations_print_the_table_of_the_command(objects):
    evaluation = objects["evaluation"]
    assert str(evaluation) == printed([table(evaluation)])
    assert f"{evaluation.f1:.2f}" in repr(evaluation)
    assert "class='adaptag-number adaptag-strong'>" in evaluation._repr_html_()


def test_rates_of_chunks(objects):
    evaluation = objects["evaluation"]
    chunks = evaluation.chunks
    assert (evaluation.f1, evaluation.precision, evaluation.recall) == (
        *(chunks.f1, chunks.precision, chunks.recall),
    )
    assert evaluation.f1 == evaluation.score


def test_rates_without_chunks_are_the_accuracy():
    result = adaptag.evaluate([["DT", "NN", "NN", "O"]], [["DT", "DT", "NN", "O"]])
    assert result.f1 == result.precision == result.recall == result.accuracy == 75
    assert repr(result) == "<Evaluation: accuracy 75.00 of 4 tokens>"


def test_names_are_no_markup():
    result = adaptag.evaluate([["B-[red]x", "O"]], [["B-[red]x", "O"]])
    assert "[red]x" in str(result)
    assert "[red]x" in result._repr_html_()


def test_reprs_of_data_and_training(model):
    assert repr(adaptag.encode(TRAIN)).startswith("<Dataset of 60 sentences, ")
    corpus = model.read(TEST)
    assert repr(corpus).startswith("<ColumnCorpus '<data>': 20 sentences, ")
    assert repr(model.index).startswith("<FeatureIndex of ")
    trainer = adaptag.StreamTrainer("general")
    trainer.learn(TRAIN)
    assert repr(trainer).startswith("<StreamTrainer, adf: 60 sentences, ")
    assert "F1" in repr(trainer)
    assert (
        str(PassReport(3, 0.5, 1.25, 90.0)) == "pass   3    0.500 s  loss   1.2500  accuracy 90.00"
    )
    assert repr(adaptag.algorithms()["adf"]).startswith("<Algorithm adf(rate=auto, ")
    assert str(adaptag.Template("U:%x[0,0]")) == "U:%x[0,0]"


def test_repr_of_dictionaries(objects):
    dictionary = objects["segmenter"].dictionary.copy()
    dictionary.add(["生物", "化学"])
    assert repr(dictionary) == "<UserDictionary of 2 words: 生物, 化学>"


def test_scores_say_their_rates():
    score = evaluate_segmentation([["a", "b"]], [["ab"]])
    assert repr(score).startswith(
        "<SegmentationScore: F1 0.00, precision 0.00, recall 0.00; 0 right"
    )
    assert "OOV rate" in str(score)


def test_importing_needs_no_tables():
    code = (
        "import sys, adaptag; adaptag.Model; adaptag.Evaluation; adaptag.TaggedText; "
        "print([m for m in ('rich', 'html', 'adaptag.rendering.style') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_models_that_need_only_tokens_say_that_they_tag_text():
    tokens = adaptag.train([["Rome", "is"]], [["B-LOC", "O"]], passes=1)
    assert "model.tag_text(text)" in str(tokens)
    columns = [[("Rome", "NN"), ("is", "VB")]]
    template = "U1:%x[0,0]\nU2:%x[0,1]"
    two = adaptag.train(columns, [["B-LOC", "O"]], template=template, passes=1)
    assert "tag_text" not in str(two)
    assert "model.tag(tokens), model.segments" in str(two)


def test_scores_of_spans_say_nothing_of_tokens():
    texts = [adaptag.TaggedText("in Rome", (adaptag.Span(3, 7, "LOC", "Rome"),))]
    expected = "<Evaluation: F1 100.00, precision 100.00, recall 100.00>"
    assert repr(adaptag.evaluate(texts, texts)) == expected
