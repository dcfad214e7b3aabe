"""The component in pipelines: what it sets, how it is saved, scored and trained."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

spacy = pytest.importorskip("spacy", reason="needs spaCy")

from spacy.tokens import Doc, Span, Token  # noqa: E402

import adaptag  # noqa: E402
from adaptag.errors import (  # noqa: E402
    MissingFileError,
    NotTrainedError,
    ParameterError,
    WrongKindError,
)
from adaptag.spacy import to_docbin  # noqa: E402
from tests.spacy.making import (  # noqa: E402
    columns,
    corpus,
    examples,
    model,
    pipeline,
    plain,
    tagger,
)

LINE = ["2", "large", "onions", ",", "finely", "chopped"]


@pytest.fixture
def nlp(tmp_path):
    return pipeline(model(), tmp_path / "food.adaptag")


def line_doc(nlp):
    return Doc(nlp.vocab, words=LINE)


def chunks(tokens):
    """What the model itself finds, as token offsets."""
    return [(s.first, s.last + 1, s.type, s.probability) for s in model().segments(tokens)]


def spans_of(spans):
    return [(s.start, s.end, s.label_, s._.confidence) for s in spans]


def test_entities_and_their_confidence(nlp):
    doc = nlp(line_doc(nlp))
    assert len(doc.ents) >= 3
    assert spans_of(doc.ents) == chunks(LINE)
    assert nlp.get_pipe("adaptag").labels == model().scheme.types
    assert all(token.ent_iob_ != "" for token in doc)  # outside, not missing


def test_batches_give_what_single_documents_give(nlp):
    docs = [Doc(nlp.vocab, words=tokens) for tokens in columns(corpus().test)[0][:30]]
    docs.insert(3, Doc(nlp.vocab, words=[]))
    single = [spans_of(nlp(plain(nlp, doc)).ents) for doc in docs]
    assert [spans_of(doc.ents) for doc in nlp.pipe(docs, batch_size=7)] == single


@pytest.mark.parametrize("annotates", ["ents", "spans"])
def test_entities_under_constraints(annotates, tmp_path):
    rules = {"at_most_once": ["QTY"], "fixed": {"1": "B-NOTE"}}
    config = {"constraints": rules, "annotates": annotates}
    nlp = pipeline(model(), tmp_path / "food.adaptag", **config)
    words = ["2", "large", "onions", "or", "3", "cups"]
    expected = model().segments(words, constraints=rules)
    assert expected != model().segments(words)
    unpickled = pickle.loads(pickle.dumps(nlp))
    nlp.to_disk(tmp_path / "pipeline")
    for each in (nlp, unpickled, spacy.load(tmp_path / "pipeline")):
        doc = each(Doc(each.vocab, words=words))
        found = doc.ents if annotates == "ents" else doc.spans["sc"]
        assert spans_of(found) == [(s.first, s.last + 1, s.type, s.probability) for s in expected]


def test_tags_under_constraints(tmp_path):
    rules = {"at_most_once": ["QTY"]}
    nlp = pipeline(tagger(), tmp_path / "tags.adaptag", constraints=rules)
    words = ["2", "large", "onions", "or", "3", "cups"]
    doc = nlp(Doc(nlp.vocab, words=words))
    expected = tagger().tag(words, constraints=rules)
    assert [token.tag_ for token in doc] == expected != tagger().tag(words)
    table = tagger().marginals(words, constraints=rules)
    assert [token._.confidence for token in doc] == pytest.approx(
        [row[label] for row, label in zip(table, expected, strict=True)]
    )


def test_batches_are_tagged_in_one_call(nlp, monkeypatch):
    calls = []
    find = adaptag.Model.segments_corpus
    monkeypatch.setattr(
        adaptag.Model, "segments_corpus", lambda *a: calls.append(len(a[1])) or find(*a)
    )
    list(nlp.pipe([line_doc(nlp) for _ in range(20)], batch_size=20))
    assert calls == [20]


def test_white_space_is_no_token(nlp):
    words = ["\n", *LINE[:3], "  ", *LINE[3:], " "]
    doc = nlp(Doc(nlp.vocab, words=words))
    place = [n for n, word in enumerate(words) if not word.isspace()]
    expected = [(place[a], place[b - 1] + 1, kind, p) for a, b, kind, p in chunks(LINE)]
    assert spans_of(doc.ents) == expected
    assert nlp("  \n").ents == () == nlp("").ents


def test_sentences_are_tagged_by_themselves(nlp):
    starts = [True, *[False] * (len(LINE) - 1)]
    doc = nlp(Doc(nlp.vocab, words=LINE * 2, sent_starts=starts * 2))
    n = len(LINE)
    second = [(a + n, b + n, kind, p) for a, b, kind, p in chunks(LINE)]
    assert spans_of(doc.ents) == chunks(LINE) + second
    whole = nlp(Doc(nlp.vocab, words=LINE * 2))
    assert spans_of(whole.ents) == chunks(LINE * 2) != chunks(LINE) + second


def test_threshold(tmp_path):
    tokens = columns(corpus().test)[0][:20]
    known = [p for line in tokens for *_, p in chunks(line)]
    limit = float(np.median(known))
    nlp = pipeline(model(), tmp_path / "m", threshold=limit)
    docs = nlp.pipe(Doc(nlp.vocab, words=line) for line in tokens)
    kept = [span._.confidence for doc in docs for span in doc.ents]
    assert kept == [p for p in known if p >= limit]
    assert 0 < len(kept) < len(known)


@pytest.mark.parametrize("overwrite", [False, True])
def test_entities_that_exist(tmp_path, overwrite):
    nlp = pipeline(model(), tmp_path / "m", overwrite=overwrite)
    doc = line_doc(nlp)
    doc.ents = [Span(doc, 0, 2, label="MINE")]
    ents = [(e.start, e.end, e.label_) for e in nlp(doc).ents]
    mine, all_found = (0, 2, "MINE"), [row[:3] for row in chunks(LINE)]
    assert ents == (all_found if overwrite else [mine, *(r for r in all_found if r[0] >= 2)])


@pytest.mark.parametrize("overwrite", [False, True])
def test_tags(tmp_path, overwrite):
    nlp = pipeline(tagger(), tmp_path / "m", overwrite=overwrite)
    doc = line_doc(nlp)
    doc[1].tag_ = "MINE"
    nlp(doc)
    labels, marginals = tagger().tag(LINE), tagger().marginals(LINE)
    assert [t.tag_ for t in doc][2:] == labels[2:]
    assert doc[1].tag_ == (labels[1] if overwrite else "MINE")
    assert doc[0]._.confidence == pytest.approx(marginals[0][labels[0]], abs=1e-6)
    assert set(nlp.get_pipe("adaptag").labels) == set(tagger().labels)


def test_chunk_labels_as_tags(tmp_path):
    nlp = pipeline(model(), tmp_path / "m", annotates="tags")
    assert [t.tag_ for t in nlp(line_doc(nlp))] == model().tag(LINE)


def test_spans_with_scores(tmp_path):
    nlp = pipeline(model(), tmp_path / "m", annotates="spans", spans_key="food")
    doc = line_doc(nlp)
    doc.spans["food"] = [Span(doc, 0, 6, label="LINE")]
    group = nlp(doc).spans["food"]
    assert spans_of(group)[1:] == chunks(LINE)
    assert group[0].label_ == "LINE"
    scores = group.attrs["scores"]
    assert np.isnan(scores[0])
    assert scores[1:].tolist() == [p for *_, p in chunks(LINE)]
    assert doc.ents == ()


def test_columns_from_token_attributes(tmp_path):
    sentences = [[("a", "X"), ("a", "Y")], [("a", "Y"), ("a", "X")]] * 5
    labels = [["B-X", "O"], ["O", "B-X"]] * 5
    two = adaptag.train(sentences, labels, template="U:%x[0,1]\nB", passes=10)
    nlp = pipeline(two, tmp_path / "m", columns=["text", "tag_"])
    doc = nlp(Doc(nlp.vocab, words=["a", "a", "a"], tags=["Y", "X", "Y"]))
    assert [(e.start, e.label_) for e in doc.ents] == [(1, "X")]
    one = pipeline(two, tmp_path / "m")
    with pytest.raises(ParameterError, match=r"columns names 1 token attribute: text.* 2 columns"):
        one("a a a")


def test_columns_from_extensions(tmp_path):
    two = adaptag.train([[("a", "X"), ("a", "Y")]] * 5, [["B-X", "O"]] * 5, passes=5)
    nlp = pipeline(two, tmp_path / "m", columns=["text", "_.adaptag_test"])
    with pytest.raises(ParameterError, match=r"no extension '_\.adaptag_test'"):
        nlp("a a")
    Token.set_extension("adaptag_test", getter=lambda token: "XY"[token.i])
    try:
        assert [e.label_ for e in nlp("a a").ents] == ["X"]
    finally:
        Token.remove_extension("adaptag_test")


def test_types_that_are_empty_have_a_name(tmp_path):
    bare = adaptag.train([["a", "b"]] * 5, [["B", "O"]] * 5, passes=10)
    nlp = pipeline(bare, tmp_path / "m")
    assert [e.label_ for e in nlp("a b").ents] == ["CHUNK"]


# ---- saved and loaded --------------------------------------------------------------------------


def test_saved_pipeline_in_another_process_with_the_same_score(nlp, tmp_path):
    """It is loaded without importing adaptag, and spaCy's own scorer gives our F."""
    tokens, labels = columns(corpus().test)
    to_docbin(tokens, labels).to_disk(tmp_path / "test.spacy")
    nlp.to_disk(tmp_path / "pipeline")
    (tmp_path / "food.adaptag").unlink()
    code = """
import json, sys, warnings
warnings.simplefilter("error")
import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Example
nlp = spacy.load(sys.argv[1])
docs = DocBin().from_disk(sys.argv[2]).get_docs(nlp.vocab)
words = [(Doc(nlp.vocab, words=[token.text for token in doc]), doc) for doc in docs]
scores = nlp.evaluate([Example(*pair) for pair in words])
print(json.dumps([scores["ents_p"], scores["ents_r"], scores["ents_f"]]))
"""
    arguments = [str(tmp_path / "pipeline"), str(tmp_path / "test.spacy")]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    own = model().evaluate(tokens, labels).chunks
    assert [100 * x for x in json.loads(done.stdout)] == pytest.approx(
        [own.precision, own.recall, own.f1], abs=1e-9
    )
    assert 50 < own.f1 < 100


def test_bytes_carry_the_model(nlp):
    other = spacy.blank("xx")
    other.add_pipe("adaptag")
    with pytest.raises(NotTrainedError, match=r"nlp\.initialize"):
        other("2 onions")
    assert other.get_pipe("adaptag").labels == ()
    other.from_bytes(nlp.to_bytes())
    assert spans_of(other(line_doc(other)).ents) == chunks(LINE)


def test_pickle_carries_the_model(nlp, tmp_path):
    data = pickle.dumps(nlp.get_pipe("adaptag"))
    (tmp_path / "food.adaptag").unlink()
    assert spans_of(pickle.loads(data)(line_doc(nlp)).ents) == chunks(LINE)


def test_a_pipeline_without_a_model_can_be_saved(tmp_path):
    nlp = spacy.blank("xx")
    nlp.add_pipe("adaptag")
    nlp.to_disk(tmp_path / "p")
    assert spacy.load(tmp_path / "p").pipe_names == ["adaptag"]


def test_several_processes(nlp):
    texts = ["2 large onions", "1 cup flour"] * 5
    alone = [spans_of(doc.ents) for doc in nlp.pipe(texts)]
    together = [spans_of(doc.ents) for doc in nlp.pipe(texts, n_process=2, batch_size=3)]
    assert together == alone
    assert all(alone)


# ---- scored and trained ------------------------------------------------------------------------


@pytest.mark.parametrize("annotates", ["tags", "spans"])
def test_other_scores(tmp_path, annotates):
    tokens, labels = columns(corpus().test)
    chosen = tagger() if annotates == "tags" else model()
    nlp = pipeline(chosen, tmp_path / "m", annotates=annotates)
    if annotates == "tags":
        labels = [[label.partition("-")[2] or "OTHER" for label in row] for row in labels]
    gold = examples(nlp, to_docbin(tokens, labels))
    for example in gold:
        example.reference.spans["sc"] = list(example.reference.ents)
    scores = nlp.evaluate(gold)
    name = {"tags": "tag_acc", "spans": "spans_sc_f"}[annotates]
    assert 100 * scores[name] == pytest.approx(chosen.evaluate(tokens, labels).score, abs=1e-9)


def test_initialize_trains():
    tokens, labels = columns(corpus().train)
    nlp = spacy.blank("xx")
    component = nlp.add_pipe("adaptag", config={"training": {"passes": 5, "seed": 1}})
    gold = examples(nlp, to_docbin(tokens, labels))
    nlp.initialize(lambda: gold)
    assert component.adaptag_model.to_bytes() == model().to_bytes()


def test_initialize_settings_and_tags():
    tokens, labels = columns(corpus().train[:50])
    names = [[label.replace("-", "") for label in row] for row in labels]
    nlp = spacy.blank("xx")
    component = nlp.add_pipe("adaptag")
    nlp.config["initialize"]["components"]["adaptag"] = {"training": {"passes": 2}}
    gold = examples(nlp, to_docbin(tokens, names))
    nlp.initialize(lambda: gold)
    assert component.annotates == "tags"
    assert len(component.adaptag_model.provenance["passes"]) == 2


def test_initialize_keeps_a_model_that_was_given(nlp):
    before = model().to_bytes()
    nlp.initialize()
    assert nlp.get_pipe("adaptag").adaptag_model.to_bytes() == before


# ---- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"annotates": "entities"}, "unknown annotation 'entities'; did you mean 'ents'"),
        ({"columns": ["text", "tagg"]}, "no attribute 'tagg'; allowed: text, tag_"),
        ({"columns": []}, "columns is"),
        ({"threshold": 1.5}, "threshold is 1.5; allowed: 0 to 1"),
        ({"constraints": {"once": ["A"]}}, "unknown constraint 'once'"),
    ],
)
def test_wrong_settings(config, message):
    with pytest.raises(ParameterError, match=message):
        spacy.blank("xx").add_pipe("adaptag", config=config)


def test_wrong_models(tmp_path):
    nlp = spacy.blank("xx")
    nlp.add_pipe("adaptag", config={"model": str(tmp_path / "none")})
    with pytest.raises(MissingFileError, match="none: cannot read"):
        nlp("x")
    adaptag.Segmenter.train([["a", "b"]], passes=1).save(tmp_path / "none")
    with pytest.raises(WrongKindError, match="segmenter; expected an adaptag model"):
        nlp("x")
    with pytest.raises(ParameterError, match=r"mark no chunks .* allowed: tags"):
        pipeline(tagger(), tmp_path / "m", annotates="ents")("x")
    attributes = adaptag.train([[{"a": "b"}]], [["X"]], passes=1)
    with pytest.raises(ParameterError, match="trained on attributes"):
        pipeline(attributes, tmp_path / "m")("x")


def test_examples_without_annotation():
    nlp = spacy.blank("xx")
    nlp.add_pipe("adaptag")
    with pytest.raises(ValueError, match="no token of 1 documents has tags annotated"):
        nlp.initialize()
