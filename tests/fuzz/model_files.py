"""Targets that load files of models, datasets and checkpoints, and use what they hold.

Checksums are made to match, so that what is behind them is reached.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import os
import tempfile
import zlib
from pathlib import Path

import adaptag
from adaptag.cli.inspect import inspect
from adaptag.dataset.encoded import Dataset
from adaptag.errors import AdaptagError
from adaptag.foreign.crfsuite import crfsuite_bytes
from adaptag.loading import load
from adaptag.training.checkpoint import Checkpoint
from tests.fuzz.mutation import mutate_file, resealed
from tests.fuzz.target import Target

TEMPLATE = "U:%x[0,0]\nU2:%lower[-1,0]/%x[0,0]\n*s:%shape[0,0]\nB\nBx:%x[0,0]\n"
SENTENCES = [["The", "cat", "sat"], ["A", "dog"], ["it", "sat", "1"]]
LABELS = [["B-X", "I-X", "O"], ["B-X", "I-X"], ["O", "O", "B-Y"]]
WORDS = [["天天", "中国", "人"], ["中国", "人民"], ["天", "abc", "民"]]
TEXTS = ["good film", "bad film", "good good", "bad"]
CLASSES = ["p", "n", "p", "n"]
TRIED = [["The", "cat", "sat"], ["dog", "_B-1", "é", "unknown", "1"]]
TRIED_TEXTS = ["天天中国人民abc", "The 中国 人\r\n民民民", "\ud800"]
FOLDER = Path(tempfile.gettempdir()) if not Path("/dev/shm").is_dir() else Path("/dev/shm")
PATH = FOLDER / f"adaptag-fuzz-{os.getpid()}"


@contextlib.contextmanager
def stored(data):
    """A file with this content, in memory where there is such a folder."""
    PATH.write_bytes(data)
    try:
        yield PATH
    finally:
        PATH.unlink(missing_ok=True)


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
    tried = [[{"w": word, "n": 2.0} for word in s] if attributes else s for s in TRIED]
    columns = 1 if attributes else model.index.n_columns
    if columns != 1 and columns < 5:
        tried = [[(word,) * columns for word in sentence] for sentence in TRIED]
    for s in tried:
        yield lambda s=s: check_labels(model, s, model.tag(s))
        yield lambda s=s: model.tag(s, legal="auto")
        yield lambda s=s: check_probabilities(model.marginals(s))
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


def check_probabilities(rows):
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
def tagger(**options):
    return adaptag.train(SENTENCES, LABELS, template=TEMPLATE, passes=2, threads=1, **options)


def attribute_tagger(**options):
    items = [[{"w": word, "n": len(word)} for word in sentence] for sentence in SENTENCES]
    return adaptag.train(items, LABELS, passes=2, threads=1, **options)


def stream_model():
    trainer = adaptag.StreamTrainer(TEMPLATE)
    trainer.learn(SENTENCES, LABELS)
    return trainer.model()


def models():
    return [
        model.to_bytes()
        for model in (
            tagger(),
            tagger(scheme="bioes"),
            tagger(hash_bits=6),
            attribute_tagger(),
            stream_model(),
        )
    ]


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
    trained = adaptag.Segmenter.train(WORDS, passes=2, threads=1)
    trained.dictionary.add({"人民": 2.0, "天中": float("inf")})
    return trained


def use_classifier(classifier):
    yield lambda: check_classes(classifier, classifier.predict_texts(TEXTS))
    yield lambda: classifier.predicted_lines(classifier.read(TEXTS, CLASSES).corpus)
    yield lambda: classifier.evaluate(TEXTS, CLASSES)
    yield lambda: str(classifier)


def check_classes(classifier, classes):
    assert set(classes) <= set(classifier.labels)


@functools.cache
def classifier():
    return adaptag.DocumentClassifier.train(TEXTS, CLASSES, passes=2)


# ---- datasets and checkpoints --------------------------------------------------------------------


def load_dataset(data):
    with stored(resealed(data)) as path:
        dataset = Dataset.load(path)
        repr(dataset)
        adaptag.train(dataset, passes=1, threads=1)


def load_checkpoint(data):
    with stored(resealed(data)) as path:
        repr(Checkpoint.load(path))
        options = {"template": TEMPLATE, "passes": 1, "threads": 1}
        adaptag.train(SENTENCES, LABELS, resume=path, **options)


def datasets():
    with stored(b"") as path:
        adaptag.encode(SENTENCES, LABELS, template=TEMPLATE).save(path)
        return [path.read_bytes()]


def checkpoints():
    found = []
    for algorithm in ("adf", "sgd", "arow"):
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
    return [crfsuite_bytes(attribute_tagger(scheme="as-is"))]


def crfpp_models():
    from tests.unit.test_crfpp_models import binary_model, text_model

    return [text_model(), binary_model()]


TARGETS = {
    "model": Target(load_model, models, mutate_file),
    "compact-model": Target(
        load_model,
        lambda: [
            tagger().compact(prune=0.0).to_bytes(),
            tagger().compact(prune=0.0, weights="float16").to_bytes(),
            attribute_tagger().compact(prune=0.0, weights="float32").to_bytes(),
        ],
        mutate_file,
    ),
    "segmenter": Target(load_model, lambda: [segmenter().to_bytes()], mutate_file),
    "compact-segmenter": Target(
        load_model, lambda: [segmenter().compact(prune=0.0).to_bytes()], mutate_file
    ),
    "classifier": Target(
        load_model,
        lambda: [classifier().to_bytes(), classifier().compact(prune=0.0).to_bytes()],
        mutate_file,
    ),
    "dataset": Target(load_dataset, datasets, mutate_file),
    "checkpoint": Target(load_checkpoint, checkpoints, mutate_file),
    "crfsuite": Target(load_foreign, crfsuite_models),
    "crfpp": Target(load_foreign, crfpp_models),
}
