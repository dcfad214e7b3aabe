"""``en-pos``: English parts of speech."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import adaptag
from adaptag.corpus.tokenizers import TOKENIZERS
from models.corpora import read_conllu
from models.making import Card, train_tagger, write

if TYPE_CHECKING:
    from adaptag.decoding.model import Model
    from models.corpora import Sentence

__all__ = ["make_english"]

NAME = "en-pos"
EWT = "UD English EWT 2.16"
TOKENIZER = "english"
SETTINGS = {"dropout": 0.2}
TEMPLATE = Path(__file__).parent / "en-pos.template"
FEATURES: dict[str, Any] = {
    "template": TEMPLATE.read_text(encoding="utf-8"),
    "tokenizer": TOKENIZER,
}


def make_english(data: Path, output: Path) -> None:
    """Train, score and write the model."""
    train, dev, test = (
        read_conllu(data / "ud_english_ewt" / f"en_ewt-ud-{part}.conllu")
        for part in ("train", "dev", "test")
    )
    pairs = [sentence.pairs for sentence in train]
    small, full, chosen, on_dev = train_tagger(
        pairs, [sentence.pairs for sentence in dev], SETTINGS, **FEATURES
    )
    card = Card(
        NAME,
        "English parts of speech (UPOS), of tokens or of raw text",
        'adaptag.load("en-pos").tag_text(text); adaptag tag --text FILE -m en-pos',
        [
            {
                "name": EWT,
                "licence": "CC BY-SA 4.0",
                "use": "training data, development data and test data",
                "source": "https://github.com/UniversalDependencies/UD_English-EWT",
            }
        ],
        {**SETTINGS, **chosen, "template": TEMPLATE.name, "tokenizer": TOKENIZER},
        "Template, dropout, passes, temperature and the threshold of compaction on the development "
        "data, without which the model was trained for that; then it was trained on training and "
        "development data. The test data chose nothing.",
        labels=small.labels,
    )
    card.add(f"{EWT}, test", "in", "accuracy", _accuracy(small, test))
    remark = "of the text as it was written: place and label of each token are right"
    card.add(f"{EWT}, test, raw text", "in", "F1 of labelled tokens", _text_f1(small, test), remark)
    card.add(f"{EWT}, test, raw text", "in", "F1 of tokens", _token_f1(test), "the tokenizer")
    card.add(f"{EWT}, dev", "dev", "accuracy", on_dev, "of the model without this data")
    _score_genres(card, train + dev, test, chosen)
    write(output, card, small, full)


def _accuracy(model: Model, sentences: list[Sentence]) -> float:
    return model.evaluate([sentence.pairs for sentence in sentences]).accuracy


def _score_genres(
    card: Card, train: list[Sentence], test: list[Sentence], chosen: dict[str, Any]
) -> None:
    """Score on each kind of text a model that was trained without it."""
    settings = {**SETTINGS, "passes": chosen["passes"]}
    for genre in sorted({sentence.genre for sentence in test}):
        others = [sentence.pairs for sentence in train if sentence.genre != genre]
        model = adaptag.train(others, **settings, **FEATURES).compact(prune=chosen["prune"])
        value = _accuracy(model, [sentence for sentence in test if sentence.genre == genre])
        remark = "of a model that was trained without texts of this kind"
        card.add(f"{EWT}, test, {genre}", "out", "accuracy", value, remark)


def _token_f1(sentences: list[Sentence]) -> float:
    cut = TOKENIZERS[TOKENIZER].cut
    return _f1([(set(cut(s.text or "")), set(s.places())) for s in sentences])


def _text_f1(model: Model, sentences: list[Sentence]) -> float:
    tagged = model.tag_texts([s.text or "" for s in sentences], probabilities=False)
    return _f1(
        [
            (
                {(span.start, span.end, span.label) for span in found},
                {(*place, tag) for place, tag in zip(s.places(), s.tags, strict=True)},
            )
            for found, s in zip(tagged, sentences, strict=True)
        ]
    )


def _f1(sets: list[tuple[set[Any], set[Any]]]) -> float:
    both = sum(len(found & right) for found, right in sets)
    return 200 * both / max(1, sum(len(found) + len(right) for found, right in sets))
