import hashlib
import re
from collections import Counter

import pytest

from adaptag.corpus.ingredients import (
    HELD_OUT,
    UNSEEN_LINES,
    Sentence,
    Splits,
    column_text,
    ingredients,
    tokenize,
)

TYPES = {"QTY", "UNIT", "SIZE", "STATE", "BRAND", "NAME", "PREP", "NOTE"}
OUTSIDE = {*",:().-•x&", "of", "or", "and", "plus", "such", "as", "each", "approx."}
# Changes whenever the corpus does, which moves every published number measured on it.
GOLDEN = "de9f9dbd020052c8401e182aa62c5f47abc3fd255ac28c5b90715018b1c83790"


@pytest.fixture(scope="module")
def corpus() -> Splits:
    return ingredients()


@pytest.fixture(scope="module")
def sentences(corpus: Splits) -> list[Sentence]:
    return corpus.train + corpus.dev + corpus.test


def words(sentences: list[Sentence]) -> Counter[str]:
    return Counter(token.lower() for s in sentences for token in s.tokens)


def spans(sentence: Sentence) -> list[tuple[str, str]]:
    """The (type, text) of each chunk; assumes valid BIO."""
    found: list[tuple[str, list[str]]] = []
    for token, label in zip(sentence.tokens, sentence.labels, strict=True):
        if label[0] == "B":
            found.append((label[2:], [token]))
        elif label[0] == "I":
            found[-1][1].append(token)
    return [(kind, " ".join(tokens)) for kind, tokens in found]


def typeset(sentence: Sentence) -> str:
    """The line as a cook would write it: no space before a comma or inside brackets."""
    return re.sub(r" ([,:;.)])(?= |$)", r"\1", " ".join(sentence.tokens)).replace("( ", "(")


def test_the_corpus_is_golden(corpus: Splits) -> None:
    text = "\n".join(map(column_text, (corpus.train, corpus.dev, corpus.test)))
    assert hashlib.sha256(text.encode()).hexdigest() == GOLDEN


def test_same_seed_same_corpus_other_seed_other_corpus(corpus: Splits) -> None:
    assert ingredients() == corpus
    other = ingredients(seed=2015)
    common = {s.tokens for s in other.test} & {s.tokens for s in corpus.test}
    assert len(common) < len(corpus.test) / 10


def test_sizes(corpus: Splits) -> None:
    assert [len(corpus.train), len(corpus.dev), len(corpus.test)] == [4000, 500, 500]
    small = ingredients(train=7, dev=3, test=2, seed=1)
    assert [len(small.train), len(small.dev), len(small.test)] == [7, 3, 2]
    assert ingredients(0, 0, 0) == Splits([], [], [])


def test_a_longer_train_set_extends_a_shorter_one(corpus: Splits) -> None:
    short = ingredients(train=100)
    assert short.train == corpus.train[:100]
    assert (short.dev, short.test) == (corpus.dev, corpus.test)


def test_bio_is_valid(sentences: list[Sentence]) -> None:
    for s in sentences:
        assert s.tokens
        assert len(s.tokens) == len(s.labels)
        for before, label in zip(("O", *s.labels), s.labels, strict=False):
            if label != "O":
                assert label[:2] in {"B-", "I-"}
                assert label[2:] in TYPES
            if label[0] == "I":
                assert before[2:] == label[2:], s


def test_tokens_are_clean(sentences: list[Sentence]) -> None:
    for s in sentences:
        for token in s.tokens:
            assert re.fullmatch(r"[^\s${}?_|]+", token), s  # no blank and no grammar sign leaks
        for token, label in zip(s.tokens, s.labels, strict=True):
            assert label == "O" or token not in {",", ":", "(", ")", "."}, s


def test_outside_words_are_few(sentences: list[Sentence]) -> None:
    for s in sentences:
        for token, label in zip(s.tokens, s.labels, strict=True):
            about = set(token.lower()) <= set("about")  # the one that is long enough for a typo
            assert label != "O" or about or token.lower() in OUTSIDE, s


def test_no_two_sentences_are_equal(sentences: list[Sentence]) -> None:
    assert len({" ".join(s.tokens).lower() for s in sentences}) == len(sentences)


@pytest.mark.parametrize("seed", [2014, 1, 2])
def test_held_out_words_are_unseen_in_train(seed: int) -> None:
    corpus = ingredients(seed=seed)
    assert not HELD_OUT & set(words(corpus.train))
    for split in (corpus.dev, corpus.test):
        assert len(HELD_OUT & set(words(split))) > len(HELD_OUT) / 2


def test_names_units_and_preparations_are_held_out(corpus: Splits) -> None:
    held = {
        (kind, word)
        for s in corpus.test
        for kind, text in spans(s)
        for word in text.lower().split()
        if word in HELD_OUT
    }
    counts = Counter(kind for kind, _ in held)
    assert counts["NAME"] >= 30
    assert counts["UNIT"] >= 5
    assert counts["PREP"] >= 5


def test_most_of_test_is_known_from_train(corpus: Splits) -> None:
    known = set(words(corpus.train))
    test = words(corpus.test)
    unknown = sum(count for word, count in test.items() if word not in known)
    assert 0.03 < unknown / test.total() < 0.2


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_every_type_occurs_in_every_split(corpus: Splits, split: str) -> None:
    counts = Counter(kind for s in getattr(corpus, split) for kind, _ in spans(s))
    assert set(counts) == TYPES
    assert min(counts.values()) > 0.005 * counts.total()
    assert max(counts.values()) < 0.5 * counts.total()


@pytest.mark.parametrize(
    ("word", "kinds"),
    [
        ("ground", {"NAME", "PREP"}),
        ("cloves", {"NAME", "UNIT"}),
        ("chopped", {"NAME", "PREP"}),
        ("sliced", {"NAME", "PREP"}),
        ("stick", {"NAME", "UNIT"}),
        ("can", {"NOTE", "UNIT"}),
        ("large", {"NAME", "SIZE"}),
        ("dried", {"NAME", "STATE"}),
        ("leaves", {"NAME", "PREP", "UNIT"}),
        ("14", {"QTY", "SIZE"}),
        ("maple", {"BRAND", "NAME"}),
    ],
)
def test_ambiguous_words(corpus: Splits, word: str, kinds: set[str]) -> None:
    seen = {kind for s in corpus.train for kind, text in spans(s) if word in text.lower().split()}
    assert seen >= kinds


@pytest.mark.parametrize("form", ["1 1/2", "1½", "½", "2-3", "2 to 3", "a few", "one", "250g"])
def test_written_forms_of_quantities(corpus: Splits, form: str) -> None:
    assert any(("QTY", form) in spans(s) for s in corpus.train)


def test_tokenize_gives_back_the_tokens(sentences: list[Sentence]) -> None:
    for s in sentences:
        assert tokenize(" ".join(s.tokens)) == list(s.tokens)
        assert tokenize(typeset(s)) == list(s.tokens)


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("1 (14-oz) can", "1 ( 14-oz ) can"),
        ("250g butter,softened", "250g butter , softened"),
        ("2 Tbsp. salt, to taste.", "2 Tbsp. salt , to taste ."),
        ("sugar: 2 lbs.", "sugar : 2 lbs."),
        ("• 1,5 kg  flour (optional)", "• 1,5 kg flour ( optional )"),
        ("1½ cups half-and-half", "1½ cups half-and-half"),
        ("  ", ""),
    ],
)
def test_tokenize(line: str, tokens: str) -> None:
    assert tokenize(line) == tokens.split()


def test_unseen_lines_are_none_of_the_grammar(sentences: list[Sentence]) -> None:
    assert len(UNSEEN_LINES) == 5
    known = set(words(sentences))
    for line in UNSEEN_LINES:
        assert any(token.lower() not in known for token in tokenize(line)), line


def test_column_text() -> None:
    first = Sentence(("2", "eggs"), ("B-QTY", "B-NAME"))
    second = Sentence(("salt",), ("B-NAME",))
    assert column_text([first, second]) == "2\tB-QTY\neggs\tB-NAME\n\nsalt\tB-NAME\n"
    assert column_text([]) == ""
