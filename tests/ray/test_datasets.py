"""Datasets of Ray get columns of labels, words and classes."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

import adaptag
from adaptag.errors import ModelError, ParameterError

ray = pytest.importorskip("ray", reason="a cluster needs Ray", exc_type=ImportError)

import adaptag.ray  # noqa: E402
from adaptag.ray.datasets import _reserved  # noqa: E402
from tests.ray.making import REVIEWS, TAGGER_DATA, TEXT  # noqa: E402

pytestmark = pytest.mark.xdist_group("ray")


@pytest.fixture(scope="module", autouse=True)
def connected(two_nodes):
    from adaptag.ray.connection import quiet_data

    module = sys.modules[__name__]
    ray.cloudpickle.register_pickle_by_value(module)
    with adaptag.ray.connect(two_nodes), quiet_data(ray):
        yield
    ray.cloudpickle.unregister_pickle_by_value(module)


def sentences(batch):
    """What a dataset does before it is tagged; it needs a CPU, and the workers have all of them."""
    return {"id": batch["id"], "tokens": [TAGGER_DATA[k] for k in batch["id"]]}


def test_tagging_starves_nothing_that_comes_before_it(models):
    read = ray.data.range(len(TAGGER_DATA), override_num_blocks=8)
    tokens = read.map_batches(sentences)
    once = adaptag.ray.tag(tokens, models / "tagger", tags="first")
    tagged = adaptag.ray.tag(once, models / "tagger")  # a worker for each of the two CPUs
    model = adaptag.Model.load(models / "tagger")
    rows = sorted(tagged.take_all(), key=lambda row: row["id"])
    assert [list(row["tokens"]) for row in rows] == TAGGER_DATA
    assert [list(row["tags"]) for row in rows] == model.tag_all(TAGGER_DATA)
    assert [list(row["first"]) for row in rows] == model.tag_all(TAGGER_DATA)


def test_texts_get_words_and_classes(models):
    segmenter = adaptag.Segmenter.load(models / "segmenter")
    segmenter.dictionary.add({"喜欢看": float("inf")})
    lines = TEXT.splitlines()[:20] + REVIEWS
    texts = ray.data.from_items([{"line": line} for line in lines])
    both = adaptag.ray.classify(
        adaptag.ray.cut(texts, segmenter, text="line", words="cut"),
        models / "classifier",
        text="line",
        label="class",
        probabilities=True,
    )
    classifier = adaptag.load(models / "classifier")
    found = {row["line"]: row for row in both.take_all()}
    assert [list(found[line]["cut"]) for line in lines] == segmenter.predict(lines)
    assert [found[line]["class"] for line in lines] == classifier.predict(lines)
    assert set(found[lines[0]]["probabilities"]) == set(classifier.labels)


def test_bad_rows_are_errors(models):
    missing = ray.data.from_items([{"tokens": ["a"]}, {"tokens": ["b", None]}])
    with pytest.raises(Exception, match="row 1, counted from 0: column 'tokens' holds None"):
        adaptag.ray.tag(missing, models / "tagger").take_all()


def test_what_is_refused(models):
    data = ray.data.range(1)
    with pytest.raises(ParameterError, match=r"^list; allowed: a ray\.data\.Dataset$"):
        adaptag.ray.tag([["a"]], models / "tagger")
    with pytest.raises(ModelError, match="holds an adaptag model; expected an adaptag segmenter"):
        adaptag.ray.cut(data, models / "tagger")
    with pytest.raises(ParameterError, match=r"^Model; allowed: a Segmenter$"):
        adaptag.ray.cut(data, adaptag.Model.load(models / "tagger"))


@pytest.mark.parametrize(
    ("cpus", "threads", "reserved"), [([1, 1], 1, 0), ([2], 1, 0.5), ([4, 1], 2, 1.0)]
)
def test_workers_leave_a_whole_cpu(cpus, threads, reserved):
    nodes = [{"Alive": True, "Resources": {"CPU": float(n)}} for n in cpus]
    assert _reserved(SimpleNamespace(nodes=lambda: nodes), threads) == reserved
