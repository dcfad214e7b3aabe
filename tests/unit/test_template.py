from __future__ import annotations

import re

import numpy as np
import pytest

import adaptag
from adaptag.corpus.columns import ColumnCorpus
from adaptag.errors import CorpusError, TemplateError
from adaptag.features.template import Macro, Template, presets
from tests.unit.making import index_of


def names_at(template, sentence):
    """The feature names of each token of a one-sentence corpus."""
    corpus = ColumnCorpus.from_sentences([sentence])
    index, encoded = index_of(corpus, Template(template))
    parts = np.split(encoded.predicates, encoded.positions[1:-1])
    return [[index.name(p) for p in part] for part in parts]


# ---- parsing --------------------------------------------------------------------------------


def test_lines_kinds_comments_and_macros():
    template = Template(
        "# comment %nonsense\n"
        "U00:%x[-2,0]\n"
        "\n   \n"
        "U01:%x[-1,0]/text/%suffix12[+1,3]  \r\n"
        "*7:%shape[0,1]%lower[0,1]%prefix2[0,0]\n"
        "B\n"
        "Bx%x[0,0]\n"
        "U fixed # text"
    )
    found = [(line.number, line.kind, line.skeleton, line.macros) for line in template.lines]
    assert found == [
        (2, 0, "U00:%x[]", (Macro("x", 0, -2, 0),)),
        (5, 0, "U01:%x[]/text/%suffix12[]", (Macro("x", 0, -1, 0), Macro("suffix", 12, 1, 3))),
        (
            6,
            1,
            "*7:%shape[]%lower[]%prefix2[]",
            (Macro("shape", 0, 0, 1), Macro("lower", 0, 0, 1), Macro("prefix", 2, 0, 0)),
        ),
        (7, 2, "B", ()),
        (8, 2, "Bx%x[]", (Macro("x", 0, 0, 0),)),
        (9, 0, "U fixed # text", ()),
    ]
    assert template.n_columns == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (5, "t:1:1: the template is the int 5; allowed: its text"),
        (None, "t:1:1: the template is None; allowed: its text"),
        ("", "t:1:1: no template line; allowed: U"),
        ("# only\n\n", "t:1:1: no template line"),
        ("B\nX01:%x[0,0]", "t:2:1: 'X' does not start a template line; allowed: U, B, *, #"),
        (" U:%x[0,0]", "t:1:1: ' ' does not start a template line"),
        ("y:%x[0,0]", "t:1:1: 'y' does not start a template line"),
        ("U:%", "t:1:3: '%' is not a macro; allowed: %x[row,column]"),
        ("U:%x[0]", "t:1:3: '%x[0]' is not a macro"),
        ("U:%x[0,-1]", "t:1:3: '%x[0,-1]' is not a macro"),
        ("U:%x[0,0]/%x[0,1", "t:1:11: '%x[0,1' is not a macro"),
        ("U:%x[0 ,0]", "t:1:3: '%x[0 ,0]' is not a macro"),
        ("U:%x[0,0]%%", "t:1:10: '%%' is not a macro"),
        ("B\n\nU:%sufix3[0,0]", "t:3:3: unknown macro 'sufix'; did you mean 'suffix'?"),
        ("U:%lowr[0,0]", "t:1:3: unknown macro 'lowr'; did you mean 'lower'?"),
        ("U:%qq[0,0]", "t:1:3: unknown macro 'qq'; allowed: M, T, X, lower, m, "),
        ('U:%m[0,0,"r]', "t:1:3: '%m[0,0,\"r]' is not a macro"),
        ("U:%m[0,0]", "t:1:3: %m takes a regular expression"),
        ('U:%x[0,0,"r"]', "t:1:3: %x takes no regular expression"),
        ('U:%t[0,0,"^*"]', 't:1:3: "^*" has a ? or * that repeats no character'),
        (f'U:%t[0,0,"{"a" * 128}"]', "t:1:3: a regular expression of 128 bytes; allowed: 127"),
        ("u:%x[@1,0]", "t:1:3: '%x[@1,0]' is not a macro; allowed: %x[row,column], %lower, "),
        ("U:%prefix[0,0]", "t:1:3: %prefix takes a length"),
        ("U:%suffix0[0,0]", "t:1:3: %suffix takes a length"),
        ("U:%x2[0,0]", "t:1:3: %x takes no length"),
        ("U:%shape1[0,0]", "t:1:3: %shape takes no length"),
        ("U:%x[1001,0]", "t:1:3: row 1001; allowed: -1000 to 1000"),
        ("U:%x[-1001,0]", "t:1:3: row -1001; allowed: -1000 to 1000"),
        (f"U:%x[{'9' * 5000},0]", "t:1:3: "),
        (f"U:%x[0,{'9' * 5000}]", "t:1:3: "),
        ("U:%suffix99999999999[0,0]", "t:1:3: "),
    ],
)
def test_bad_templates_name_line_and_column(text, message):
    with pytest.raises(TemplateError, match=f"^{re.escape(message)}"):
        Template(text, name="t").program()


def test_macros_need_columns():
    with pytest.raises(TemplateError, match="attributes have no columns"):
        Template("U:%x[0,0]", attributes=True)
    with pytest.raises(
        TemplateError, match=r"^<template>:2: column 2 is asked for; <data> has .* 0 to 1$"
    ):
        adaptag.train([[("a", "b", "L")]], template="B\nU:%x[0,2]")
    model = adaptag.train([[("a", "b", "L")]], template="U:%x[0,1]", passes=1)
    corpus = ColumnCorpus.from_bytes(b"\na\n", "f")
    with pytest.raises(
        CorpusError, match=r"^f:2: 1 column; .* with 2 feature columns, and maybe the label$"
    ):
        model.tag_corpus(corpus)


# ---- where a template comes from ------------------------------------------------------------


def test_sources_of_a_template(tmp_path):
    path = tmp_path / "Unigrams"
    path.write_text("U:%x[0,0]\nB\n")
    loaded = Template.load(path)
    assert (loaded.text, loaded.name) == ("U:%x[0,0]\nB\n", str(path))
    assert Template.load("U:%x[0,0]\nB\n") == Template("U:%x[0,0]\nB\n")
    assert Template.load("B").lines[0].kind == 2
    assert Template.load(loaded) is loaded
    with pytest.raises(
        TemplateError,
        match="no template file 'chunkin', and unknown preset 'chunkin'; did you mean 'chunking'",
    ):
        Template.load("chunkin")
    path.write_bytes(b"U\xff")
    with pytest.raises(TemplateError, match=f"^{path}: invalid UTF-8 at byte 2"):
        Template.load(path)


def test_a_byte_order_mark_is_no_template_line(tmp_path):
    (tmp_path / "t").write_bytes(b"\xef\xbb\xbfU:%x[0,0]\r\nB\r\n")
    assert [line.skeleton for line in Template.load(tmp_path / "t").lines] == ["U:%x[]", "B"]


@pytest.mark.parametrize("name", presets())
@pytest.mark.parametrize("n_columns", [2, 3])
def test_presets_load_and_compile(name, n_columns):
    template = Template.load(name, n_columns)
    assert template.name == name
    assert template.n_columns == {"general": n_columns, "bio-ner": 3}.get(name, 2)
    assert "{" not in "".join(line.skeleton for line in template.lines)
    assert template.program().arity == max(len(line.macros) for line in template.lines)


def test_presets_are_those_documented():
    assert {"chunking", "general"} <= set(presets())


@pytest.mark.parametrize("n_columns", [1, 2, 4])
def test_a_preset_repeats_lines_for_further_columns(n_columns):
    lines = Template.load("general", n_columns).lines
    further = [line for line in lines if line.skeleton.startswith("U4")]
    assert len(further) == 7 * (n_columns - 1)
    assert {m.column for line in further for m in line.macros} == {*range(1, n_columns)}
    assert {m.column for line in lines if line not in further for m in line.macros} == {0}
    for column in range(1, n_columns):
        assert f"U45-{column}:%x[]/%x[]" in [line.skeleton for line in further]


# ---- what lines mean ------------------------------------------------------------------------

SENTENCE = [("The", "D"), ("cat", "N")]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("U1:%x[0,0]", [["U1:The"], ["U1:cat"]]),
        ("U:%x[-1,0]/%x[0,1]/%x[2,0]", [["U:_B-1/D/_B+1"], ["U:The/N/_B+2"]]),
        ("U:%x[-3,0]%x[3,1]", [["U:_B-3_B+2"], ["U:_B-2_B+3"]]),
        ("U:%lower[-1,0]|%shape[1,0]", [["U:_B-1|xx"], ["U:the|_B+1"]]),
        ("U:%prefix2[-1,0]|%suffix9[0,0]", [["U:_B-1|The"], ["U:Th|cat"]]),
        ("Uconstant", [["Uconstant"], ["Uconstant"]]),
        ("B", [[], ["B"]]),
        ("B:%x[-1,1]%x[0,1]", [[], ["B:DN"]]),
        ("*:%x[0,1]", [["*:D"], ["*:N"]]),
        ("B\n*\nU:%x[0,0]", [["U:The", "*"], ["U:cat", "*", "B"]]),
        ("U:%x[0,0]\nU:%x[0,0]", [["U:The", "U:The"], ["U:cat", "U:cat"]]),
    ],
)
def test_features_of_a_sentence(template, expected):
    assert names_at(template, SENTENCE) == expected


def test_lines_that_differ_in_place_only_share_predicates():
    bag = "U:%x[-1,0]\nU:%x[0,1]\nU:%x[1,0]"
    corpus = ColumnCorpus.from_sentences([[("a", "b"), ("b", "a"), ("a", "a")]])
    index, encoded = index_of(corpus, Template(bag))
    assert sorted(index.name(p) for p in range(index.n_predicates)) == [
        "U:_B+1",
        "U:_B-1",
        "U:a",
        "U:b",
    ]
    assert len(encoded.predicates) == 9
    apart, _ = index_of(corpus, Template("U1:%x[-1,0]\nU2:%x[0,1]\nU3:%x[1,0]"))
    assert apart.n_predicates == 8


def test_macros_side_by_side_are_not_run_together():
    corpus = ColumnCorpus.from_sentences([[("a", "bc"), ("ab", "c")]])
    index, encoded = index_of(corpus, Template("U:%x[0,0]%x[0,1]"))
    assert index.n_predicates == 2
    assert [index.name(p) for p in encoded.predicates] == ["U:abc", "U:abc"]


def test_a_token_that_looks_like_a_boundary_is_one():
    index, encoded = index_of(ColumnCorpus.from_sentences([["_B-1", "x"]]), Template("U:%x[-1,0]"))
    assert encoded.predicates.tolist() == [0, 0]
    assert index.name(0) == "U:_B-1"


def test_macro_text_in_tokens_is_not_expanded():
    assert names_at("U:%x[0,0]/%x[1,0]", ["%x[]", "\\1"]) == [["U:%x[]/\\1"], ["U:\\1/_B+1"]]


def test_a_sentence_much_shorter_than_the_window():
    assert names_at("U:%x[-1000,0]/%x[1000,0]", ["a"]) == [["U:_B-1000/_B+1000"]]


def test_empty_sentences_have_no_features():
    corpus = ColumnCorpus.from_sentences([[], ["a"], []])
    _, encoded = index_of(corpus, Template("U:%x[0,0]\nB"))
    assert encoded.sentences.tolist() == [0, 0, 1, 1]
    assert encoded.positions.tolist() == [0, 1]


def test_many_predicates_are_told_apart():
    words = [f"w{k}" for k in range(70_000)]
    corpus = ColumnCorpus.from_sentences([words])
    index, encoded = index_of(corpus, Template("U:%x[0,0]"))
    assert index.n_predicates == len(words)
    assert [index.name(p) for p in encoded.predicates[::7000]] == [f"U:{w}" for w in words[::7000]]
    assert np.array_equal(index.encode(corpus).predicates, encoded.predicates)


def test_plain_is_the_inverse_of_rich():
    text = "# *no line\n*0:%x[0,0]\nU1:%x[-1,0]/*\nB\n"
    plain = Template(text).plain()
    assert plain.text == "# *no line\nU0:%x[0,0]\nU1:%x[-1,0]/*\nB\n"
    assert plain.rich().plain() == plain
    assert not Template.for_attributes().rich().plain().rich_attributes
