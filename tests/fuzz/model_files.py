"""Targets that load files of models, datasets and checkpoints, and use what they hold.

Checksums are made to match, so that what is behind them is reached.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import zlib

import numpy as np

import adaptag
from adaptag.cli.inspect import inspect
from adaptag.dataset.encoded import Dataset
from adaptag.errors import AdaptagError
from adaptag.foreign.crfsuite import crfsuite_bytes
from adaptag.loading import load
from adaptag.training.checkpoint import Checkpoint
from tests.fuzz.mutation import mutate_file, resealed
from tests.fuzz.target import Target, stored
from tests.unit import mutants
from tests.unit.mutants import CLASSES, KINDS, LABELS, SENTENCES, TEMPLATE, TEXTS, WORDS

TRIED = [["The", "cat", "sat"], ["dog", "_B-1", "é", "unknown", "1"]]
TRIED_TEXTS = ["天天中国人民abc", "The 中国 人\r\n民民民", "\ud800"]


def try_all(uses):
    """Call functions, each of which may refuse what the file holds."""
    for use in uses:
        with contextlib.suppress(AdaptagError):
            use()


def show(path):
    with contextlib.redirect_stdout(io.StringIO()):
        inspect(path, top=3)


# ---- taggers -------------------------------------------------------------------------------------


def use_model(model):
    attributes = model.index.template.attributes
    tried = [[{"w": word, "long": 2.0} for word in s] if attributes else s for s in TRIED]
    columns = 1 if attributes else model.index.n_columns
    if columns != 1 and columns < 5:
        tried = [[(word,) * columns for word in sentence] for sentence in TRIED]
    for s in tried:
        yield lambda s=s: check_labels(model, s, model.tag(s))
        yield lambda s=s: model.tag(s, legal="auto")
        yield lambda s=s: check_probabilities(model, model.marginals(s))
        yield lambda s=s: model.nbest(s, 3)
        yield lambda s=s: model.segments(s)
        yield lambda s=s: model.probability(s, [model.labels[0]] * len(s))
    yield lambda: model.tag_all(tried, threads=1)
    yield lambda: model.explain(tried[0])
    yield lambda: [model.index.name(p) for p in range(min(20, model.index.n_predicates))]
    yield lambda: (model.node_weights(), model.edge_weights())
    yield lambda: type(model).from_bytes(model.to_bytes())
    yield lambda: str(model)


def check_labels(model, sentence, labels):
    assert len(labels) == len(sentence)
    assert set(labels) <= set(model.labels)


def check_probabilities(model, rows):
    """Probabilities, unless a weight of the file is not finite."""
    if np.isfinite(model.weights).all():
        for row in rows:
            assert all(-1e-3 <= p <= 1.001 for p in row.values()), row


def load_model(data):
    data = resealed(data)
    with stored(data) as path:
        model = load(path)
        uses = {"segmenter": use_segmenter, "classifier": use_classifier}.get(model.kind, use_model)
        try_all(uses(model))
        if zlib.crc32(data) % 8 == 0:
            try_all([lambda: show(path)])


@functools.cache
def tagger():
    return mutants.tagger(threads=1)


# ---- segmenters and classifiers ------------------------------------------------------------------


def use_segmenter(segmenter):
    for text in TRIED_TEXTS:
        yield lambda text=text: check_words(text, segmenter.cut(text))
        yield lambda text=text: segmenter.words(text)
    yield lambda: segmenter.spaced("天天 中国\n人".encode())
    yield lambda: segmenter.evaluate(WORDS)
    yield lambda: ("天" in segmenter.lexicon_, len(segmenter.dictionary))
    yield lambda: (segmenter.dictionary.add(["人人"]), segmenter.cut(TRIED_TEXTS[0]))
    yield lambda: str(segmenter)


def check_words(text, words):
    assert "".join(words) == text


@functools.cache
def segmenter():
    return mutants.segmenter()


def use_classifier(classifier):
    yield lambda: check_classes(classifier, classifier.predict(TEXTS))
    yield lambda: classifier.predicted_lines(classifier.read(TEXTS, CLASSES).corpus)
    yield lambda: classifier.evaluate(TEXTS, CLASSES)
    yield lambda: str(classifier)


def check_classes(classifier, classes):
    assert set(classes) <= set(classifier.labels)


@functools.cache
def classifier():
    return mutants.classifier()


# ---- datasets and checkpoints --------------------------------------------------------------------


def load_dataset(data):
    with stored(resealed(data)) as path:
        dataset = Dataset.load(path)
        repr(dataset)
        adaptag.train(dataset, passes=1, threads=1)


def load_checkpoint(data):
    with stored(resealed(data)) as path:
        repr(Checkpoint.load(path))
        adaptag.train(SENTENCES, LABELS, template=TEMPLATE, threads=1, resume=path)


def checkpoints():
    found = [KINDS["checkpoint"]()]
    for algorithm in ("sgd", "arow"):
        with stored(b"") as path:
            options = {"template": TEMPLATE, "passes": 2, "threads": 1, "algorithm": algorithm}
            adaptag.train(SENTENCES, LABELS, checkpoint=path, **options)
            found.append(path.read_bytes())
    return found


# ---- models of other programs --------------------------------------------------------------------


def load_foreign(data):
    with stored(data) as path:
        model = load(path)
        try_all(itertools.islice(use_model(model), 14))


def crfsuite_models():
    items = [[{"w": word, "n": 2.0} for word in sentence] for sentence in SENTENCES]
    return [crfsuite_bytes(adaptag.train(items, LABELS, passes=2, scheme="as-is"))]


def crfpp_models():
    from tests.unit.test_crfpp_models import binary_model, text_model

    return [text_model(), binary_model()]


def wapiti_models():
    from tests.unit.test_wapiti_models import PATTERNS, model_file, observation, weights_of

    sentence = [("a", "x"), ("Ab", "a/b")]
    seen = {observation(pattern, sentence, t) for t in (0, 1) for pattern in PATTERNS}
    return [model_file({name: np.full(weights_of(name), 0.5) for name in sorted(seen)})]


def seeds(*kinds):
    """The files of some kinds."""
    return lambda: [KINDS[kind]() for kind in kinds]


def compact_models():
    return [
        KINDS["compact"](),
        tagger().compact(prune=0.0, weights="float16").to_bytes(),
        mutants.attributes().compact(prune=0.0, weights="float32").to_bytes(),
    ]


TARGETS = {
    "model": Target(
        load_model, seeds("model", "scheme", "hashed", "attributes", "stream"), mutate_file
    ),
    "compact-model": Target(load_model, compact_models, mutate_file),
    "segmenter": Target(load_model, seeds("segmenter"), mutate_file),
    "compact-segmenter": Target(load_model, seeds("compact-segmenter"), mutate_file),
    "classifier": Target(load_model, seeds("classifier", "compact-classifier"), mutate_file),
    "dataset": Target(load_dataset, seeds("dataset"), mutate_file),
    "checkpoint": Target(load_checkpoint, checkpoints, mutate_file),
    "crfsuite": Target(load_foreign, crfsuite_models),
    "crfpp": Target(load_foreign, crfpp_models),
    "wapiti": Target(load_foreign, wapiti_models),
}
