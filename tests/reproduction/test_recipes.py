"""Recipes: what they make of their corpora."""

from __future__ import annotations

import numpy as np
import pytest

from adaptag.errors import AdaptagError, FileError
from adaptag.experiments.candidates import check_candidates
from adaptag.experiments.comparison import compare_candidates
from reproduction import data
from reproduction.recipes import (
    base_np,
    bio_ner,
    conll_ner,
    packages,
    people_daily,
    raw_text,
    resources,
    sentiment,
)
from reproduction.recipes.every import RECIPES, recipe
from reproduction.recipes.recipe import Corpora, Effort, Measurement, hold_out
from tests.reproduction.corpora import write_corpora, write_packages


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    return write_corpora(tmp_path_factory.mktemp("corpora"))


class EnglishNames:
    """Names as in Faker's provider of a locale: lists, and frequencies by name."""

    first_names_male = ("Peter", "Anna Lena")
    last_names = {"Blackburn": 0.1}  # noqa: RUF012
    formats = ("Zzz",)


class DutchNames:
    """Another locale."""

    first_names = (("Peter", "Jan"), "Peter")
    first_names_male = ["Peter"]  # noqa: RUF012


@pytest.fixture(autouse=True)
def small_packages(tmp_path_factory, monkeypatch):
    """Small packages in place of those of the group ``reproduction``."""
    folder = write_packages(tmp_path_factory.mktemp("packages"))
    monkeypatch.setattr(packages, "folder_of", lambda package: folder / package)
    monkeypatch.setattr(packages, "person_providers", lambda: [EnglishNames, DutchNames])


def problems(name):
    """All features that a recipe's rows name, each once."""
    studies = [s for s in RECIPES[name].studies if not isinstance(s, Measurement)]
    return sorted({row.features for study in studies for row in study.rows})


@pytest.mark.parametrize(("name", "features"), [(n, f) for n in RECIPES for f in problems(n)])
def test_problems_can_be_learned(corpora, name, features):
    """Training data is what is tested, and no two sentences contradict each other."""
    problem = RECIPES[name].problem(RECIPES[name].read(corpora), features)
    (one,) = check_candidates(["averaged-perceptron"], {}, 10)
    score = compare_candidates([(one, problem)]).entries[0].at_end("scores").value
    assert score >= 90
    counts = problem.parts[0].counts(np.zeros(problem.parts[0].train.layout.n_weights, np.float32))
    assert counts.shape[1] == 3
    assert (counts[:, 0] <= counts[:, 1:].min(axis=1)).all()


@pytest.mark.parametrize("name", RECIPES)
def test_every_row_can_be_run(name):
    """Names and settings are checked before anything is read."""
    for study in RECIPES[name].studies:
        if isinstance(study, Measurement):
            continue
        assert len({row.name for row in study.rows}) == len(study.rows)
        for row in study.rows:
            settings = {k: v for k, v in row.settings.items() if k != "window"}
            found = check_candidates([row.name], {row.name.partition("=")[0]: settings}, None)
            for parameter in row.grid:
                assert parameter in row.settings
                assert parameter == "passes" or parameter in found[0].values
        names = {row.name.partition("=")[0] for row in study.rows}
        assert all(set(drawn) <= names for _, drawn in study.charts)


def test_an_unknown_recipe():
    with pytest.raises(AdaptagError, match="bio-ner"):
        recipe("bio-nerd")


def test_markers_of_documents_are_left_out(corpora):
    found = bio_ner.pos_sentences(corpora / "genia_pos" / "train.tsv")
    assert found[0] == [("IL-2", "NN"), ("gene", "NN")]
    assert len(found) == 10


def test_bio_ner(corpora):
    train, test = RECIPES["bio-ner"].read(corpora)
    assert (len(train), len(test)) == (20, 2)
    assert train[0][0][:3] == ("IL-2", "NN", "capitals+digit+dash")
    assert train[0][0][-1] == "B-DNA"
    assert len(hold_out(Corpora(train, test)).train) == 16


def test_attributes_of_2009():
    rows = [("IL-2", "NN", "x", "B-NP", "B-DNA"), ("gene", "NN", "x", "I-NP", "I-DNA")]
    first, second = bio_ner.attributes(rows)
    assert {"shape=AA-#", "s=IL", "s=L-2", "w3=gene", "p2|=NN|NN", "c3=I-NP", "w1=-"} <= set(first)
    assert "w1|2=IL-2|gene" in second
    assert not any(name.startswith("s=IL") for name in second)


def test_family_and_given_names_are_one_person():
    pairs = [("江", "nr"), ("泽民", "nr"), ("李", "nr"), ("鹏", "nr"), ("布什", "nr"), ("在", "p")]
    assert people_daily.entities(pairs) == [
        ("江泽民", "PER"),
        ("李鹏", "PER"),
        ("布什", "PER"),
        ("在", None),
    ]
    found = people_daily.characters([[("江", "nr"), ("泽民", "nr"), ("２", "m"), ("京", "ns")]])
    assert [row[2] for row in found[0]] == ["B-PER", "I-PER", "E-PER", "O", "S-LOC"]
    assert [row[1] for row in found[0]] == ["word", "word", "word", "digit", "word"]


def test_entities_of_newspapers(corpora):
    train, test = RECIPES["english-ner"].read(corpora)
    assert (len(train), len(test)) == (20, 2)
    peter, blackburn, saw, leeds = test[0]
    assert peter[:2] == ("Peter", "NNP")
    assert peter[3:5] == ("1100" + "0" * 16, "usual")
    assert blackburn[5:] == ("rare", "O", "O", "O", "O", "I-PER")
    assert leeds[6:] == ("O", "O", "B-city", "O", "I-LOC")
    assert saw[3:] == ("O",) * 8
    assert test[1][0][6] == "B-country"
    dutch = RECIPES["dutch-ner"].read(corpora).test
    assert [row[-1] for row in dutch[0]] == ["B-PER", "O", "O", "B-LOC"]


def test_lists_of_names():
    first, last, country, people, city, region = packages.gazetteers("nl")
    assert first(["Peter", "PETER", "peter", "Zzz"]) == ["usual", "usual", "O", "O"]
    assert last(["Blackburn"]) == ["rare"]
    assert country(["Duitsland", "GERMANY", "Bolivia"]) == ["B-country"] * 3
    assert people(["German", "Norwegian", "Dutch"]) == ["B-people"] * 3
    assert city(["LEEDS", "Ledes", "Berlin"]) == ["B-city"] * 3
    assert region(["New", "York", "Hessen"]) == ["B-region", "I-region", "B-region"]


def test_training_in_another_label_scheme(corpora):
    read = RECIPES["english-ner"].read(corpora)
    bioes, as_is = (conll_ner.problem(read, features) for features in ("basic", "basic+as-is"))
    assert "S-LOC" in bioes.parts[0].train.label_names
    assert set(as_is.parts[0].train.label_names) == {"O", "I-LOC", "I-PER"}


@pytest.mark.parametrize("folds", [sentiment._folds, sentiment._blocks])
def test_folds_of_reviews(corpora, folds):
    """Every review is tested once, and every fold has some of each domain and class."""
    reviews = sentiment.read(corpora)
    assert reviews.counts.shape == (64, 3)
    kinds = list(zip(reviews.domains.tolist(), reviews.classes.tolist(), strict=True))
    tested = []
    for train, test in folds(reviews):
        assert sorted([*train, *test]) == list(range(64))
        assert {kinds[k] for k in test} == set(kinds)
        tested += test.tolist()
    assert sorted(tested) == list(range(64))


def test_values_of_reviews(corpora):
    reviews = sentiment.read(corpora)
    assert reviews.counts.max() == 2
    found = {f: float(sentiment._values(reviews.counts, f).max()) for f in sentiment.VALUES}
    assert found == pytest.approx({"": np.log(3), "counts": 2, "binary": 1})
    assert reviews.counts.max() == 2


def test_classifiers_for_all_domains_or_each(corpora):
    """Both test the same reviews in the same order."""
    reviews = sentiment.read(corpora)
    one, each = (sentiment.problem(reviews, f) for f in ("", sentiment.APART))
    assert (len(one.parts), len(each.parts)) == (5, 20)
    sizes = [len(problem.parts[0].train) for problem in (one, each)]
    assert sizes == [48, 12]
    weights = np.zeros(one.parts[0].train.layout.n_weights, np.float32)
    rows = [np.concatenate([p.counts(weights) for p in problem.parts]) for problem in (one, each)]
    assert np.array_equal(*rows)


def test_readings_of_reviews(corpora):
    """Each has the accuracy of three algorithms below the published ones."""
    (table,) = sentiment.readings(sentiment.read(corpora), Effort(quick=True), lambda _: None)
    assert len(table.rows) == 15
    assert all(len(row) == len(table.head) for row in table.rows)
    assert table.rows[1][1:] == ["100.00"] * 3


def test_noun_phrases_in_other_schemes(corpora):
    train, _ = RECIPES["base-np"].read(corpora)
    labels = {
        scheme: [row[2] for row in base_np.in_scheme(train, scheme)[0]]
        for scheme in ("iob2", "iob1", "bioes")
    }
    assert labels["iob2"] == ["B-NP", "O", "B-NP", "I-NP"]
    assert labels["iob1"] == ["I-NP", "O", "I-NP", "I-NP"]
    assert labels["bioes"] == ["S-NP", "O", "B-NP", "E-NP"]


def test_attributes_of_characters():
    """Known words and pairs fire where they match; what is false does not fire."""
    sentences = [["我们", "在", "北京"]] * 3 + [["北京", "好好"]] * 2
    known = raw_text.KnownWords.of(sentences)
    assert known.words == {"我们", "在", "北京"}
    assert known.pairs_at("我们在北京", 3) == ["在|北京"]
    found = list(raw_text.character_attributes("在北京好好", known, [lambda _: [*"vwxyz"]]))
    assert {"c2北", "c1在", "c4好", "b1在北", "begins 北京", "before 在|北京"} <= set(found[1])
    assert {"r0.0v", "r0.1w", "r0.2x"} <= set(found[1])
    assert not {"ends 北京", "same0", "after 在|北京"} & set(found[1])
    assert {"after 在|北京", "c1#"} <= set(found[0])
    assert "ends 北京" in found[2]
    assert {"same0", "c3好"} <= set(found[3])
    assert "same-1" in found[4]


def test_names_of_labelled_sentences():
    sentence = [("IL-2", "B-DNA"), ("gene", "I-DNA"), ("p53", "B-DNA"), ("is", "O"), ("p53", "B-P")]
    found = resources.names_of([sentence, [("p53", "B-P")]])
    assert found == {("IL-2", "gene"): "DNA", ("p53",): "P"}


def test_a_corpus_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match=r"train\.iob2: the corpus is missing"):
        RECIPES["bio-ner"].read(tmp_path)


def test_the_folder_of_corpora(tmp_path, monkeypatch):
    """The one given, or else the one in the environment, or else one beside the checkout."""
    monkeypatch.delenv("ADAPTAG_DATA", raising=False)
    monkeypatch.setattr(data, "BESIDE", tmp_path / "nowhere")
    with pytest.raises(FileError, match="name one with --data or in ADAPTAG_DATA"):
        data.data_folder()
    monkeypatch.setenv("ADAPTAG_DATA", str(tmp_path))
    assert data.data_folder() == tmp_path
    (tmp_path / "other").mkdir()
    assert data.data_folder(tmp_path / "other") == tmp_path / "other"
