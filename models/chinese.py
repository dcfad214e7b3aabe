"""``zh-words``: Chinese words; ``zh-pos``: Chinese words with parts of speech."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptag.segmentation.segmenter import Segmenter
from adaptag.segmentation.word_tagger import WordTagger
from models.corpora import cedict_words, chinese_punctuation, read_conllu, read_spaced
from models.making import Card, pairs_f1, train_tagger, write

if TYPE_CHECKING:
    from models.corpora import Sentence

__all__ = ["make_chinese"]

WORDS, POS = "zh-words", "zh-pos"
GSD = "UD Chinese GSD, simplified"
SETTINGS: dict[str, Any] = {"tags": "bies", "rate": 0.2, "sigma": 5, "dropout": 0.2, "passes": 20}
TEMPLATE = Path(__file__).parent / "zh-pos.template"
WEIGHTS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)  # of the words of the dictionary
LOSS = 0.1  # of the F1 on the development data, in percentage points
TREEBANK = {
    "name": GSD,
    "licence": "CC BY-SA 4.0",
    "use": "training data, development data and test data",
    "source": "https://github.com/UniversalDependencies/UD_Chinese-GSD",
}


def make_chinese(data: Path, output: Path) -> None:
    """Train, score and write both models."""
    train, dev, test = (
        read_conllu(data / "ud_chinese_gsd" / f"{part}.conll") for part in ("train", "dev", "test")
    )
    segmenter = _make_words(data, output, train, dev, test)
    _make_pos(output, train, dev, test, segmenter)


def _make_words(
    data: Path, output: Path, train: list[Sentence], dev: list[Sentence], test: list[Sentence]
) -> Segmenter:
    """Make the segmenter."""
    lexicon, dictionary = cedict_words()
    first = Segmenter.train(_words(chinese_punctuation(train)), **SETTINGS)
    weight = max(WEIGHTS, key=lambda each: _with_words(first, lexicon, each).score(_words(dev)))
    first = _with_words(first, lexicon, weight)
    first_small = first.compact(within=LOSS, dev=_words(dev))
    threshold = first_small.model_.provenance["compact"]["prune"]
    full = Segmenter.train(_words(chinese_punctuation(train + dev)), **SETTINGS)
    full = _with_words(full, lexicon, weight)
    small = full.compact(prune=threshold)
    card = Card(
        WORDS,
        "Chinese words (simplified characters; Traditional with for_traditional)",
        'adaptag.load("zh-words").cut(text); adaptag segment cut FILE',
        [
            TREEBANK,
            {
                "name": dictionary,
                "licence": "CC BY-SA 4.0",
                "use": f"{len(lexicon):,} words of two to four characters, as its dictionary",
                "source": "https://www.mdbg.net/chinese/dictionary?page=cc-cedict",
            },
        ],
        {**SETTINGS, "fold": small.fold, "weight of the dictionary": weight, "prune": threshold},
        "Settings of training, the weight of the dictionary and the threshold of compaction on the "
        "development data, without which the segmenter was trained for that; then it was trained "
        "on training and development data, with wide punctuation in half of the sentences. The "
        "test data chose nothing.",
    )
    card.add(f"{GSD}, test", "in", "F1 of words", small.evaluate(_words(test)).f1)
    wide = _words(chinese_punctuation(test))
    card.add(f"{GSD}, test, Chinese punctuation", "in", "F1 of words", small.evaluate(wide).f1)
    score = first_small.evaluate(_words(dev)).f1
    card.add(f"{GSD}, dev", "dev", "F1 of words", score, "of the model without this data")
    other = data / "pku" / "test_gold.utf8"
    if other.exists():
        remark = "another standard of what a word is"
        score = small.evaluate(read_spaced(other)).f1
        card.add("SIGHAN 2005 PKU, test", "out", "F1 of words", score, remark)
    write(output, card, small, full)
    return small


def _with_words(segmenter: Segmenter, lexicon: list[str], weight: float) -> Segmenter:
    segmenter.dictionary.add(lexicon, weight)
    return segmenter


def _make_pos(
    output: Path,
    train: list[Sentence],
    dev: list[Sentence],
    test: list[Sentence],
    segmenter: Segmenter,
) -> None:
    """Make the tagger of the segmenter's words."""
    wide = [sentence.pairs for sentence in chinese_punctuation(train)]
    features = {"template": TEMPLATE.read_text(encoding="utf-8"), "tokenizer": segmenter}
    small, full, chosen, accuracy = train_tagger(
        wide, [sentence.pairs for sentence in chinese_punctuation(dev)], {}, **features
    )
    card = Card(
        POS,
        "Chinese words with parts of speech (UPOS, as in UD version 1)",
        'adaptag.load("zh-pos").cut_pos(text); adaptag segment cut FILE -m zh-pos',
        [TREEBANK],
        {**chosen, "template": TEMPLATE.name},
        "Design, template, passes, temperature and the threshold of compaction on the development "
        "data, without which the model was trained for that; then it was trained on training and "
        "development data. The test data chose nothing.",
        labels=small.labels,
        segmenter=WORDS,
    )
    remark = "of the raw text: place and label of each word are right"
    metric = "F1 of labelled words"
    card.add(f"{GSD}, test", "in", metric, _pos_f1(WordTagger(segmenter, small), test), remark)
    right_words = small.evaluate([sentence.pairs for sentence in test]).accuracy
    card.add(f"{GSD}, test, right words", "in", "accuracy", right_words)
    card.add(f"{GSD}, dev, right words", "dev", "accuracy", accuracy, "without this data")
    write(output, card, small, full)


def _pos_f1(model: WordTagger, sentences: list[Sentence]) -> float:
    texts = ["".join(sentence.words) for sentence in sentences]
    return pairs_f1(model.cut_pos_all(texts), [sentence.pairs for sentence in sentences])


def _words(sentences: list[Sentence]) -> list[tuple[str, ...]]:
    return [sentence.words for sentence in sentences]
