"""Fast, accurate training of log-linear models for language.

>>> import adaptag
>>> model = adaptag.train("train.txt", template="chunking")  # doctest: +SKIP
>>> model.save("model.adaptag")  # doctest: +SKIP
>>> adaptag.load("model.adaptag").tag([("The", "DT"), ("cat", "NN")])  # doctest: +SKIP
['B-NP', 'I-NP']

Names are imported when they are first used, so that ``import adaptag`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from adaptag.version import __version__ as __version__

if TYPE_CHECKING:
    from adaptag import pycrfsuite as pycrfsuite
    from adaptag.api import convert_labels as convert_labels
    from adaptag.api import encode as encode
    from adaptag.api import evaluate as evaluate
    from adaptag.api import evaluate_file as evaluate_file
    from adaptag.api import read as read
    from adaptag.api import train as train
    from adaptag.classification.documents import DocumentClassifier as DocumentClassifier
    from adaptag.corpus.columns import ColumnFormat as ColumnFormat
    from adaptag.corpus.pictures import render as render
    from adaptag.corpus.spans import Span as Span
    from adaptag.corpus.spans import TaggedText as TaggedText
    from adaptag.dataset.encoded import Dataset as Dataset
    from adaptag.decoding.constraints import Constraints as Constraints
    from adaptag.decoding.decoder import Segment as Segment
    from adaptag.decoding.model import Model as Model
    from adaptag.errors import AdaptagError as AdaptagError
    from adaptag.estimators import metrics as metrics
    from adaptag.estimators import scorers as scorers
    from adaptag.estimators.crf import CRF as CRF
    from adaptag.estimators.maxent import MaxEntClassifier as MaxEntClassifier
    from adaptag.evaluation import Evaluation as Evaluation
    from adaptag.features.template import Template as Template
    from adaptag.loading import load as load
    from adaptag.segmentation.segmenter import Segmenter as Segmenter
    from adaptag.segmentation.word_tagger import WordTagger as WordTagger
    from adaptag.storage.encodings import TextFile as TextFile
    from adaptag.streams.trainer import StreamTrainer as StreamTrainer
    from adaptag.training.algorithms import algorithms as algorithms
    from adaptag.training.callbacks import Callback as Callback

_PLACES = {
    "AdaptagError": "adaptag.errors",
    "CRF": "adaptag.estimators.crf",
    "Callback": "adaptag.training.callbacks",
    "ColumnFormat": "adaptag.corpus.columns",
    "Constraints": "adaptag.decoding.constraints",
    "Dataset": "adaptag.dataset.encoded",
    "DocumentClassifier": "adaptag.classification.documents",
    "Evaluation": "adaptag.evaluation",
    "MaxEntClassifier": "adaptag.estimators.maxent",
    "Model": "adaptag.decoding.model",
    "Segment": "adaptag.decoding.decoder",
    "Segmenter": "adaptag.segmentation.segmenter",
    "Span": "adaptag.corpus.spans",
    "StreamTrainer": "adaptag.streams.trainer",
    "TaggedText": "adaptag.corpus.spans",
    "Template": "adaptag.features.template",
    "TextFile": "adaptag.storage.encodings",
    "WordTagger": "adaptag.segmentation.word_tagger",
    "algorithms": "adaptag.training.algorithms",
    "convert_labels": "adaptag.api",
    "encode": "adaptag.api",
    "evaluate": "adaptag.api",
    "evaluate_file": "adaptag.api",
    "load": "adaptag.loading",
    "metrics": "adaptag.estimators",
    "pycrfsuite": "adaptag",
    "read": "adaptag.api",
    "render": "adaptag.corpus.pictures",
    "scorers": "adaptag.estimators",
    "train": "adaptag.api",
}

_MODULES = {"metrics", "pycrfsuite", "scorers"}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        if name in _MODULES:
            return importlib.import_module(f"{_PLACES[name]}.{name}")
        return getattr(importlib.import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'adaptag' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_PLACES]
