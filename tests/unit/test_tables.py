"""Tables in, sentences and labels out: pandas, polars, PyArrow and Hugging Face datasets."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import adaptag
from adaptag.corpus.tables import is_table, sentences_and_labels
from adaptag.errors import CorpusError, ParameterError

SENTENCES = [["a", "red", "car"], ["cars"]]
TAGS = [["DET", "ADJ", "NOUN"], ["NOUN"]]
POS = [["x", "y", "z"], ["z"]]
NAMES = ["ADJ", "DET", "NOUN"]
NUMBERS = [[NAMES.index(tag) for tag in tags] for tags in TAGS]
WIDE = {"tokens": SENTENCES, "tags": TAGS, "pos": POS}
LONG = {
    "tokens": ["a", "red", "car", "cars"],
    "tags": ["DET", "ADJ", "NOUN", "NOUN"],
    "sentence_id": [7, 7, 7, 1],
}


def polars_frame(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def arrow_table(columns):
    return pytest.importorskip("pyarrow").table(columns)


def hugging_face(columns):
    return pytest.importorskip("datasets").Dataset.from_dict(columns)


LIBRARIES = [pd.DataFrame, polars_frame, arrow_table, hugging_face]


@pytest.fixture(params=LIBRARIES, ids=lambda library: library.__name__)
def library(request):
    return request.param


def test_one_sentence_a_row(library):
    assert sentences_and_labels(library(WIDE)) == (SENTENCES, TAGS)


def test_several_columns_make_tuples(library):
    sentences, labels = sentences_and_labels(library(WIDE), tokens=("tokens", "pos"))
    assert sentences == [[("a", "x"), ("red", "y"), ("car", "z")], [("cars", "z")]]
    assert labels == TAGS
    sentences, _ = sentences_and_labels(library(WIDE), tokens=["tokens"])
    assert sentences[1] == [("cars",)]


def test_one_token_a_row(library):
    assert sentences_and_labels(library(LONG), sentence="sentence_id") == (SENTENCES, TAGS)


def test_a_sentence_ends_where_the_number_changes(library):
    table = library(LONG | {"sentence_id": ["1", "2", "2", "1"]})
    sentences, _ = sentences_and_labels(table, sentence="sentence_id")
    assert sentences == [["a"], ["red", "car"], ["cars"]]


def test_no_labels_where_there_is_no_column(library):
    table = library({"tokens": SENTENCES})
    assert sentences_and_labels(table) == (SENTENCES, None)
    with pytest.raises(ParameterError, match="no column of labels: tags, ner_tags, labels"):
        adaptag.encode(table)


@pytest.mark.parametrize("name", ["tags", "ner_tags", "labels"])
def test_columns_that_are_found_by_themselves(name):
    table = pd.DataFrame({"tokens": SENTENCES, name: TAGS})
    assert sentences_and_labels(table)[1] == TAGS


def test_two_columns_that_may_hold_the_labels_are_refused():
    table = pd.DataFrame(WIDE | {"ner_tags": POS})
    with pytest.raises(ParameterError, match="columns tags, ner_tags: any may hold the labels"):
        adaptag.encode(table)
    assert sentences_and_labels(table, tags="ner_tags")[1] == POS


def test_unknown_columns_are_refused(library):
    with pytest.raises(ParameterError, match="unknown column 'tok'; did you mean 'tokens'"):
        sentences_and_labels(library(WIDE), tokens="tok")
    with pytest.raises(ParameterError, match="unknown column 'sentence'"):
        sentences_and_labels(library(LONG), sentence="sentence")
    with pytest.raises(ParameterError, match="no column of tokens"):
        sentences_and_labels(library(WIDE), tokens=())


def test_unequal_lengths_are_refused_with_their_row(library):
    table = library(WIDE | {"tags": [TAGS[0], ["NOUN", "NOUN"]]})
    message = "row 1, counted from 0: 2 in column 'tags'; 'tokens' has 1"
    with pytest.raises(CorpusError, match=message):
        sentences_and_labels(table)
    with pytest.raises(CorpusError, match=message):
        adaptag.encode(table)
    table = library(WIDE | {"pos": [["x"], ["z"]]})
    with pytest.raises(CorpusError, match="row 0, counted from 0: 1 in column 'pos'"):
        sentences_and_labels(table, tokens=("tokens", "pos"))


def test_text_in_place_of_tokens_is_refused(library):
    with pytest.raises(CorpusError, match=r"row 0.* holds 'a'; expected a list; for one token"):
        sentences_and_labels(library(LONG))


def test_missing_cells_are_refused(library):
    table = library(WIDE | {"tokens": [SENTENCES[0], None]})
    with pytest.raises(CorpusError, match="row 1, counted from 0: column 'tokens' holds None"):
        sentences_and_labels(table)
    table = library(WIDE | {"tags": [["DET", None, "NOUN"], ["NOUN"]]})
    with pytest.raises(CorpusError, match="row 0, counted from 0: column 'tags' holds None"):
        sentences_and_labels(table)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT], ids=str)
def test_rows_of_no_sentence_are_refused(missing):
    table = pd.DataFrame(LONG).astype({"sentence_id": object})
    table.loc[2, "sentence_id"] = missing
    with pytest.raises(CorpusError, match=r"row 2.*every token needs its sentence"):
        sentences_and_labels(table, sentence="sentence_id")


def test_numbers_without_names_are_refused(library):
    table = library({"tokens": SENTENCES, "tags": NUMBERS})
    with pytest.raises(CorpusError, match=r"row 0.* column 'tags' holds 1; expected a string"):
        sentences_and_labels(table)
    table = library(LONG | {"tags": [1, 0, 2, 2]})
    with pytest.raises(CorpusError, match=r"row 0.* column 'tags' holds 1; expected a string"):
        sentences_and_labels(table, sentence="sentence_id")


def test_a_wrong_token_of_a_long_table_is_refused_with_its_row():
    table = pd.DataFrame(LONG | {"tokens": ["a", "red", 3, "cars"]})
    with pytest.raises(CorpusError, match="row 2, counted from 0: column 'tokens' holds 3"):
        sentences_and_labels(table, sentence="sentence_id")


def test_pandas_with_arrays_and_categories():
    table = pd.DataFrame({"tokens": [np.array(s, object) for s in SENTENCES], "tags": TAGS})
    assert sentences_and_labels(table) == (SENTENCES, TAGS)
    table = pd.DataFrame(LONG).astype({"tags": "category", "tokens": "string"})
    table.index = [5, 5, 8, 9]
    assert sentences_and_labels(table, sentence="sentence_id") == (SENTENCES, TAGS)


def test_a_column_named_features_does_no_harm():
    table = pd.DataFrame(WIDE | {"features": POS})
    assert sentences_and_labels(table) == (SENTENCES, TAGS)


def test_polars_categories_and_queries():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame(WIDE).with_columns(
        polars.col("tags").cast(polars.List(polars.Categorical))
    )
    assert sentences_and_labels(table) == (SENTENCES, TAGS)
    assert is_table(table.lazy())
    with pytest.raises(ParameterError, match="collect it first"):
        adaptag.encode(table.lazy())


def class_labels_in_feature_columns():
    """The ways to write a list of class labels."""
    datasets = pytest.importorskip("datasets")
    label = datasets.ClassLabel(names=NAMES)
    forms = [datasets.Sequence(label), [label]]
    return forms + [datasets.List(label)] * hasattr(datasets, "List")


@pytest.mark.parametrize("form", range(3))
def test_class_labels_become_names(form):
    datasets = pytest.importorskip("datasets")
    forms = class_labels_in_feature_columns()
    if form >= len(forms):
        pytest.skip("this version of datasets has no List")
    features = datasets.Features(
        {"tokens": datasets.Sequence(datasets.Value("string")), "ner_tags": forms[form]}
    )
    table = datasets.Dataset.from_dict(
        {"tokens": SENTENCES, "ner_tags": NUMBERS}, features=features
    )
    assert sentences_and_labels(table) == (SENTENCES, TAGS)
    assert sentences_and_labels(table.with_format("numpy")) == (SENTENCES, TAGS)
    assert adaptag.encode(table).label_names == adaptag.encode(SENTENCES, TAGS).label_names


def test_class_labels_of_long_tables_and_numbers_without_a_name():
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {
            "tokens": datasets.Value("string"),
            "tags": datasets.ClassLabel(names=NAMES),
            "sentence_id": datasets.Value("int32"),
        }
    )
    table = datasets.Dataset.from_dict(LONG | {"tags": [1, 0, 2, 2]}, features=features)
    assert sentences_and_labels(table, sentence="sentence_id") == (SENTENCES, TAGS)
    table = datasets.Dataset.from_dict(LONG | {"tags": [1, 0, -1, 2]}, features=features)
    with pytest.raises(CorpusError, match=r"row 2.* holds -1; expected a string, or 0 to 2"):
        sentences_and_labels(table, sentence="sentence_id")


def test_the_parts_of_a_dataset_are_refused():
    datasets = pytest.importorskip("datasets")
    parts = datasets.DatasetDict({"train": datasets.Dataset.from_dict(WIDE)})
    with pytest.raises(ParameterError, match=r"several tables \(train\); choose one: \['train'\]"):
        adaptag.train(parts)


def test_a_dataset_that_is_streamed():
    table = hugging_face(WIDE).to_iterable_dataset()
    assert sentences_and_labels(table) == (SENTENCES, TAGS)


def test_training_and_scoring_take_tables(library):
    table = library({"tokens": SENTENCES, "tags": TAGS})
    model = adaptag.train(table, dev=table, passes=3)
    pairs = zip(SENTENCES, TAGS, strict=True)
    inside = [list(zip(*pair, strict=True)) for pair in pairs]
    same = adaptag.train(inside, dev=inside, passes=3)
    np.testing.assert_array_equal(model.weights, same.weights)
    assert model.evaluate(table).score == 100
    apart = adaptag.train(table, POS, passes=1)
    assert sorted(apart.labels) == ["x", "y", "z"]


def test_a_table_without_rows_is_refused():
    with pytest.raises(CorpusError, match="no sentence"):
        adaptag.encode(pd.DataFrame({"tokens": [], "tags": []}))


def test_what_is_no_table():
    assert not any(map(is_table, (SENTENCES, "train.txt", {"tokens": []}, iter([]))))


def test_nothing_is_imported_for_tables():
    code = (
        "import sys, adaptag.api; "
        "assert not {'pandas', 'polars', 'pyarrow', 'datasets'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
