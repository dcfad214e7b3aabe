"""Reading, encoding and tagging give the same bits for every number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adaptag
from adaptag import parallel
from adaptag._native import core
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.columns import ColumnCorpus
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.options import DecodingOptions
from adaptag.errors import CorpusError
from adaptag.features.index import FeatureIndex
from adaptag.features.settings import FeatureSettings
from adaptag.features.template import Template
from tests.property.test_features import TEMPLATES, TOKENS

FAST = settings(deadline=None, max_examples=60)
THREADS = (2, 3, 5)
LABELLED = st.lists(
    st.lists(st.tuples(TOKENS, TOKENS, st.sampled_from("XYZ")), max_size=6), min_size=1, max_size=12
)
ITEMS = st.lists(
    st.lists(
        st.dictionaries(st.sampled_from("abcdefg"), st.sampled_from([1.0, 0.5, -2.0]), max_size=4),
        max_size=4,
    ),
    min_size=1,
    max_size=10,
)
# Lines of a column file: data of one to three columns, blank ones, comments, and bad ones.
LINES = st.sampled_from(
    [
        "a b",
        "c d",
        "été 日本",
        "x\ty",
        "",
        "",
        "",
        "\r",
        " ",
        "# a b",
        "-DOCSTART- x",
        "a b c",
        "\ta",
    ]
)


@pytest.fixture(autouse=True)
def _any_work_is_worth_a_thread(monkeypatch):
    for name in ("TOKENS", "SENTENCES", "BYTES"):
        monkeypatch.setattr(parallel, name, 1e-9)


def assert_same_arrays(found, wanted):
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype, name
        assert np.array_equal(found[name], array), name


def assert_same_index(found, wanted):
    assert found.n_of_kind == wanted.n_of_kind
    assert_same_arrays(found.tensors, wanted.tensors)


def assert_same_encoding(found, wanted):
    for name in ("sentences", "positions", "predicates", "values"):
        a, b = getattr(found, name), getattr(wanted, name)
        assert (a is None) == (b is None)
        assert a is None or (a.dtype == b.dtype and np.array_equal(a, b)), name


def outcome(function):
    """What a function returns, or the message of its error."""
    try:
        return function()
    except CorpusError as error:
        return str(error)


@FAST
@given(st.lists(LINES, max_size=25), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "#"]))
def test_a_text_is_parsed_the_same(lines, end, comment):
    data = "".join(line + end for line in lines).encode()
    form = adaptag.ColumnFormat(comment=comment, skip_docstart=True)
    wanted = outcome(lambda: ColumnCorpus.from_bytes(data, "f", form, 1))
    for threads in THREADS:
        found = outcome(lambda n=threads: ColumnCorpus.from_bytes(data, "f", form, n))
        if isinstance(wanted, str):
            assert found == wanted
        else:
            arrays = ("cells", "sentences", "lines")
            assert_same_arrays(
                {name: getattr(found, name) for name in arrays},
                {name: getattr(wanted, name) for name in arrays},
            )


@pytest.mark.parametrize("threads", [1, *THREADS])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (b"a\n", "f:58: 1 column; line 1 has 2"),
        (b"a \xff\n", "f:58: invalid UTF-8 at byte 3 of the line; allowed: UTF-8 text"),
    ],
)
def test_an_error_names_its_line(threads, bad, message):
    data = b"a b\nc d\n\n" * 19 + bad + b"\n" + b"a b\n\n" * 30 + b"a b c\n"
    with pytest.raises(CorpusError, match=f"^{message}$"):
        ColumnCorpus.from_bytes(data, "f", None, threads)


@FAST
@given(TEMPLATES, LABELLED, LABELLED, st.integers(1, 3), st.sampled_from([1.0, 0.5]))
def test_columns_are_encoded_the_same(template, sentences, more, cutoff, share):
    corpus, other = (ColumnCorpus.from_sentences([s for s in x if s] or [[("a", "b", "X")]])
                     for x in (sentences, more))  # fmt: skip
    options = FeatureSettings(template=Template(template), cutoff=cutoff, edge_share=share)
    wanted = Dataset.build(corpus, options, 1)
    grown, again = wanted.index.grow(other, options, threads=1)
    for threads in THREADS:
        found = Dataset.build(corpus, options, threads)
        assert found.label_names == wanted.label_names
        assert np.array_equal(found.labels, wanted.labels)
        assert_same_index(found.index, wanted.index)
        assert_same_encoding(found.encoded, wanted.encoded)
        assert_same_encoding(
            found.index.encode(other, labelled=True, threads=threads),
            wanted.index.encode(other, labelled=True, threads=1),
        )
        index, encoded = found.index.grow(other, options, threads=threads)
        assert_same_index(index, grown)
        assert_same_encoding(encoded, again)


@FAST
@given(ITEMS, ITEMS, st.integers(1, 2))
def test_attributes_are_encoded_the_same(items, more, cutoff):
    corpus, other = AttributeCorpus.from_items(items), AttributeCorpus.from_items(more)
    options = FeatureSettings(cutoff=cutoff)
    index, encoded = FeatureIndex.build(corpus, options, threads=1)
    for threads in THREADS:
        found, data = FeatureIndex.build(corpus, options, threads=threads)
        assert_same_index(found, index)
        assert_same_encoding(data, encoded)
        assert_same_encoding(found.encode(other, threads=threads), index.encode(other, threads=1))


@FAST
@given(LABELLED)
def test_sentences_are_tagged_the_same(sentences):
    train = [["the", "cat", "sat"], ["a", "dog", "Ab", "b"]]
    model = adaptag.train(train, [["B-X", "I-X", "O"], ["O", "B-X", "B-Y", "I-Y"]], passes=2)
    tokens = [[token for token, *_ in sentence] for sentence in sentences]
    corpus = ColumnCorpus.from_sentences([*tokens, ["a"]])
    encoded = model.index.encode(corpus)
    wanted = [model.tag(sentence) for sentence in tokens]
    for threads in THREADS:
        some, one = DecodingOptions(threads=threads), DecodingOptions(threads=1)
        assert model.tag_all(tokens, threads=threads) == wanted
        assert model.tag_all(tokens, threads=threads, legal="auto") == model.tag_all(
            tokens, threads=1, legal="auto"
        )
        for method, data in [
            (model.tag_corpus, corpus),
            (model.tag_encoded, encoded),
            (model.marginals_corpus, corpus),
        ]:
            assert np.array_equal(method(data, some), method(data, one))
        pairs = zip(
            model.nbest_corpus(corpus, 3, some), model.nbest_corpus(corpus, 3, one), strict=True
        )
        for found, expected in pairs:
            assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("threads", [1, *THREADS])
def test_many_sentences_are_tagged_chunk_by_chunk(threads):
    train = [["the", "cat", "sat"], ["a", "dog", "Ab", "b"]]
    model = adaptag.train(train, [["B-X", "I-X", "O"], ["O", "B-X", "B-Y", "I-Y"]], passes=2)
    words = ["the", "cat", "sat", "a", "dog", "Ab", "b", "été"]
    sentences = [[words[(i * k) % 8] for k in range(i % 7)] for i in range(2000)]
    assert model.tag_all(sentences, threads=threads) == [model.tag(s) for s in sentences]
    for bad, message in [(5, "token 3: a column is the int 5"), (None, "token 3 is None")]:
        token = (bad,) if bad else bad
        broken = [*sentences[:1500], ["the", "cat", token], *sentences, ["the", token]]
        with pytest.raises(CorpusError, match=f"sentence 1501, {message}"):
            model.tag_all(broken, threads=threads)
    with pytest.raises(ZeroDivisionError):  # of the data's own code, in the middle
        model.tag_all([*sentences, (1 // 0 for _ in "a"), *sentences], threads=threads)


@pytest.mark.parametrize("threads", [1, *THREADS])
def test_data_is_added_to_data(threads):
    """What threads found before is known when more is added, and counted on."""
    text = "".join(f"w{i * i % 17} p{i % 3} L\n" + "\n" * (i % 4 == 0) for i in range(400))
    first = ColumnCorpus.from_bytes(text.encode())
    second = ColumnCorpus.from_bytes(text.replace("w1", "v1").encode())
    program = Template("U0:%x[0,0]/%x[-1,0]\nU1:%x[0,0]\nB").program()

    def built(n):
        builder = core.IndexBuilder(program)
        for corpus in (first, second, first):
            builder.add_columns(corpus.text, corpus.cells, corpus.sentences, n)
        tables = builder.freeze(2, 1, 1.0)
        return tables | {"n_of_kind": np.array(tables["n_of_kind"])}

    assert_same_arrays(built(threads), built(1))


@pytest.mark.parametrize("threads", [1, *THREADS])
def test_cells_outside_the_text_are_refused(threads):
    corpus = ColumnCorpus.from_bytes(b"a b\n\nc d\n\ne f\n\ng h\n")
    builder = core.IndexBuilder(Template("U0:%x[0,0]\nB").program())
    for row, end in [(1, 0), (3, 1000)]:
        cells = corpus.cells.copy()
        cells[row, :, 1] = end
        with pytest.raises(ValueError, match="a span lies outside the text"):
            builder.add_columns(corpus.text, cells, corpus.sentences, threads)
        with pytest.raises(ValueError, match="a span lies outside the text"):
            core.number_labels(corpus.text, cells, 1, [], threads)
        with pytest.raises(ValueError, match="a span lies outside the text"):
            core.write_columns(
                corpus.text, cells, corpus.sentences, np.zeros(4, np.int32), ["x"], None
            )
    builder.add_columns(corpus.text, corpus.cells, corpus.sentences, threads)
    positions, predicates, _ = builder.take((100, 0, 10))
    assert positions.tolist() == [0, 1, 2, 3, 4]  # nothing is left of what failed
    assert len(predicates) == 4
