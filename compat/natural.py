"""Sequences that the projects make of texts, recorded where they hand them to a tagger."""

from __future__ import annotations

import importlib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pycrfsuite

from compat.sources import source_of

if TYPE_CHECKING:
    from random import Random

__all__ = ["natural_sequences"]

Sequence = list[Any]
N_TEXTS = 300  # of each kind


class _RecordingTagger(pycrfsuite.Tagger):  # type: ignore[misc]
    """Keeps what is tagged, by the path of the model."""

    recorded: ClassVar[defaultdict[str, list[Sequence]]] = defaultdict(list)

    def open(self, path: str) -> Any:
        self.path = str(Path(path).resolve())
        return super().open(path)

    def tag(self, xseq: Any = None) -> Any:
        if xseq:
            self.recorded[self.path].append(xseq)
        return super().tag(xseq)


def natural_sequences(random: Random) -> dict[str, list[Sequence]]:
    """The sequences of each model, by its path."""
    original = pycrfsuite.Tagger
    pycrfsuite.Tagger = _RecordingTagger
    try:
        _parse_addresses(random)
        _parse_names(random)
        _tag_vietnamese(random)
        _tag_thai(random)
    finally:
        pycrfsuite.Tagger = original
    return dict(_RecordingTagger.recorded)


def _texts(project: str, *files: str) -> list[str]:
    from parserator.training import readTrainingData

    paths = [str(source_of(project) / file) for file in files]
    return [text for text, _ in readTrainingData(paths, "")]


def _parse_addresses(random: Random) -> None:
    import usaddress

    texts = _texts("usaddress", "training/labeled.xml", "training/synthetic_osm_data_xml.xml")
    for text in random.sample(texts, 4 * N_TEXTS):
        usaddress.parse(text)


def _parse_names(random: Random) -> None:
    import probablepeople

    files = [f"name_data/labeled/{kind}_labeled.xml" for kind in ("person", "company")]
    texts = _texts("probablepeople", *files)
    for text in random.sample(texts, 4 * N_TEXTS):
        for kind in (None, "person", "company"):
            probablepeople.parse(text, type=kind)


def _tag_vietnamese(random: Random) -> None:
    """Words of the dictionary, in random order."""
    import underthesea
    from underthesea.models.fast_crf_sequence_tagger import FastCRFSequenceTagger

    folder = Path(underthesea.__file__).parent / "pipeline"
    segmenter = FastCRFSequenceTagger()
    segmenter.load(str(folder / "word_tokenize/models/ws_crf_vlsp2013_20230727"))
    tagger = FastCRFSequenceTagger()
    tagger.load(str(folder / "pos_tag/models/pos_crf_vlsp2013_20230303"))
    joblib = importlib.import_module("joblib")
    words = joblib.load(folder / "word_tokenize/models/ws_crf_vlsp2013_20230727/dictionary.bin")
    for text in _sentences(random, sorted(words), " "):
        entities = underthesea.ner(text)  # by way of words, parts of speech and chunks
        segmenter.predict([[syllable] for syllable in text.split()])
        tagger.predict([[row[0]] for row in entities])


def _tag_thai(random: Random) -> None:
    """Words of the dictionary, in random order."""
    import pythainlp
    from pythainlp.chunk import CRFChunkParser
    from pythainlp.corpus import thai_words
    from pythainlp.tag import pos_tag
    from pythainlp.tag.thainer import ThaiNameTagger
    from pythainlp.tokenize import sent_tokenize, subword_tokenize, word_tokenize

    chunks = CRFChunkParser()
    names = pycrfsuite.Tagger()  # ThaiNameTagger asks for another version of its model
    names.open(str(Path(pythainlp.__file__).parent / "corpus" / "thainer_crf_1_5_1.model"))
    for text in _sentences(random, sorted(thai_words()), ""):
        words = word_tokenize(text)
        sent_tokenize(words, engine="crfcut")
        sent_tokenize(text, engine="crfcut")
        subword_tokenize(text, engine="han_solo")
        tagged = pos_tag(words)
        names.tag(ThaiNameTagger._extract_features(tagged))
        chunks.parse(tagged)


def _sentences(random: Random, words: list[str], space: str) -> list[str]:
    marks = [", ", ". ", " 15 ", " 1/2 ", "!", " John ", " "]
    return [
        space.join(
            random.choice(words) if random.random() < 0.9 else random.choice(marks)
            for _ in range(random.randint(1, 20))
        )
        for _ in range(N_TEXTS)
    ]
