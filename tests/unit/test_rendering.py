"""Pictures of tagged texts: colours, HTML, terminal; and their commands."""

from __future__ import annotations

import re
from functools import partial
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adaptag
from adaptag.cli.program import run
from adaptag.corpus.labels import in_one_line
from adaptag.corpus.spans import Span, TaggedText
from adaptag.corpus.tagged_texts import join_tokens, read_tagged_texts
from adaptag.errors import CorpusError, FileError, ParameterError
from adaptag.rendering.colours import DARK, LIGHT, PALETTE, assign_colours, contrast
from adaptag.rendering.html import direction, html_page
from adaptag.rendering.terminal import coloured_text, plain_text
from adaptag.rendering.texts import line_parts, percent, text_parts

AA = 4.5


def text_of(text, *spans):
    made = (Span(a, b, label, text[a:b], p) for a, b, label, p in spans)
    return TaggedText(text, tuple(made))


ROME = text_of("Ada in Rome", (0, 3, "PER", 0.98), (7, 11, "LOC", 0.42))


class Reader(HTMLParser):
    """Reads the texts of a page back: what is drawn, and what is marked."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.lines = [], [], []
        self.open, self.in_text = [], False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append(tag)
        self.attributes.append((tag, attributes))
        if tag not in ("meta", "br"):
            self.open.append((tag, attributes.get("class") or ""))
        if tag == "p" and self.within("adaptag-text"):
            self.lines.append("")

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def within(self, name):
        return any(name in classes.split() for _, classes in self.open)

    def handle_data(self, data):
        if self.within("adaptag-text") and not self.within("adaptag-label"):
            self.lines[-1] += data


@st.composite
def tagged_texts(draw):
    text = draw(st.text(max_size=40))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
    places = list(zip(cuts[::2], cuts[1::2], strict=False))
    label, p = st.text(max_size=5), st.none() | st.floats(0, 1)
    return text_of(text, *((a, b, draw(label), draw(p)) for a, b in places))


# ---- colours --------------------------------------------------------------------------------


@pytest.mark.parametrize("colour", PALETTE, ids=lambda colour: colour.name)
@pytest.mark.parametrize(("name", "theme"), [("light", LIGHT), ("dark", DARK)])
def test_contrast_of_spans(colour, name, theme):
    shade = getattr(colour, name)
    assert contrast(theme.text, shade.fill) >= AA
    assert contrast(shade.ink, shade.fill) >= AA
    assert contrast(shade.ink, theme.page) >= AA  # of spans without a fill


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_contrast_of_pages(theme):
    assert contrast(theme.text, theme.page) >= AA
    assert contrast(theme.faint, theme.page) >= AA


def test_contrast_is_that_of_wcag():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@given(st.lists(st.text(max_size=4), max_size=30))
def test_colours_do_not_depend_on_the_order(labels):
    colours = assign_colours(labels)
    assert colours == assign_colours(reversed(labels))
    assert set(colours) == set(labels)
    used = [list(colours.values()).count(number) for number in range(len(PALETTE))]
    assert max(used) - min(used) <= 1


# ---- parts of texts -------------------------------------------------------------------------


@given(tagged_texts())
def test_parts_are_the_text(tagged):
    assert "".join(part.text for part in text_parts(tagged)) == tagged.text
    assert [part.span for part in text_parts(tagged) if part.span] == list(tagged.spans)
    lines = ["".join(part.text for part in line) for line in line_parts(tagged)]
    wanted = tagged.text.splitlines()
    assert [line for line in lines if line] == [line for line in wanted if line]


@pytest.mark.parametrize("spans", [[(0, 4), (3, 5)], [(4, 6), (0, 2)], [(2, 2)], [(5, 99)]])
def test_spans_that_do_not_fit_are_refused(spans):
    tagged = TaggedText("ten letter", tuple(Span(a, b, "X", "") for a, b in spans))
    with pytest.raises(ParameterError, match=r"span \d+ to \d+ \(X\)"):
        tagged.to_html()


def test_only_certainty_is_a_hundred_percent():
    assert [percent(p) for p in (0, 0.0001, 0.5, 0.994, 0.9961, 0.99999, 1)] == [
        *("0%", "0.1%", "50%", "99%", "99.6%", "99.9%", "100%")
    ]


# ---- HTML -----------------------------------------------------------------------------------


@given(st.lists(tagged_texts(), max_size=3))
def test_pages_hold_the_texts_and_nothing_else(texts):
    html = html_page(texts)
    reader = Reader(html)
    assert not reader.open
    assert not {"script", "link", "img", "iframe", "a"} & set(reader.tags)
    assert not any(name in ("src", "href") or name.startswith("on")
                   for _, attributes in reader.attributes for name in attributes)  # fmt: skip
    assert "url(" not in html.split("<body")[0]
    visible = [c for text in texts for c in text.text if c.isprintable()]
    assert [c for line in reader.lines for c in line if c in visible] == visible
    html.encode()


def test_labels_texts_and_titles_are_escaped():
    bad = "<script>alert('1')</script>"
    tagged = text_of(f"{bad} & co", (0, 8, "'><b>", 0.3))
    html = tagged.to_html(page=True, title=bad)
    assert "<script" not in html
    assert "<b>" not in html
    assert html.count("&lt;script&gt;") >= 2


def test_probability_is_in_the_tooltip_and_read_aloud():
    html = ROME.to_html()
    assert "title='PER, probability 0.9800'" in html
    assert "<span class='adaptag-hidden'>, probability 98%</span>" in html
    shown = ROME.to_html(probabilities=True)
    assert "<span class='adaptag-figure'>&nbsp;98%</span>" in shown


def test_uncertain_spans_are_dashed_and_the_legend_says_so():
    html = ROME.to_html()
    (unsure,) = re.findall(r"<mark class='[^']*unsure'[^>]*>(\w+)", html)
    assert unsure == "Rome"
    assert "probability below 50%" in html
    certain = ROME.to_html(threshold=0.4)
    assert not re.search(r"<mark class='[^']*unsure", certain)
    assert "probability below" not in certain
    with pytest.raises(ParameterError, match="threshold is 2; allowed: 0 to 1"):
        ROME.to_html(threshold=2)


def test_a_label_has_one_colour():
    tagged = text_of("a b c", (0, 1, "X", None), (2, 3, "Y", None), (4, 5, "X", None))
    first, second, third = re.findall(r"<mark class='adaptag-span (adaptag-\d+)'", tagged.to_html())
    assert first == third != second
    assert f"<span class='adaptag-span {first}'><bdi class='adaptag-label'>X" in tagged.to_html()


def test_directions_of_lines_and_spans():
    tagged = text_of("שלום Ada\nsays שלום", (5, 8, "PER", None), (14, 18, "X", None))
    reader = Reader(tagged.to_html())
    found = [(tag, a["dir"]) for tag, a in reader.attributes if tag in ("p", "mark")]
    assert found == [("p", "rtl"), ("mark", "ltr"), ("p", "ltr"), ("mark", "rtl")]
    assert [direction(text) for text in ("12", "1 a", "(ع")] == ["", "ltr", "rtl"]


def test_a_span_over_two_lines_has_one_label():
    html = text_of("New\nYork", (0, 8, "LOC", 0.9)).to_html()
    assert len(re.findall("<mark ", html)) == 2
    assert len(re.findall(r"<span class='adaptag-label'", html)) == 1


def test_control_characters_and_surrogates_do_no_harm():
    tagged = text_of("a\x00\x1b[31m\ud800b", (0, 1, "X", None))
    assert "a␀␛[31m\ufffdb" in re.sub("<[^>]*>|X", "", tagged.to_html())
    assert plain_text(tagged) == "a [X]␀␛[31m\ufffdb"


# ---- terminal and objects -------------------------------------------------------------------


def test_text_in_the_terminal():
    text = coloured_text(ROME)
    assert text.plain == "Ada [PER 98%] in Rome [LOC 42%?]" == plain_text(ROME) == str(ROME)
    styles = {text.plain[s.start : s.end]: str(s.style) for s in text.spans}
    colours = assign_colours(["PER", "LOC"])
    assert styles["Ada"] == f"bold {PALETTE[colours['PER']].terminal}"
    assert styles["Rome"] == f"underline {PALETTE[colours['LOC']].terminal}"


def test_repr_of_texts():
    assert repr(ROME) == "<TaggedText 'Ada in Rome': 1 PER, 1 LOC>"
    assert len(repr(text_of("x" * 1000))) < 80
    assert ROME._repr_html_() == ROME.to_html()


def test_render_writes_a_page(tmp_path):
    page = adaptag.render([ROME, ROME], tmp_path / "x.html", title="Two")
    assert (tmp_path / "x.html").read_text(encoding="utf-8") == page
    assert page.count("adaptag-text'") == 2
    assert adaptag.render(ROME).count("adaptag-text'") == 1


def test_render_takes_dictionaries():
    spans = [[0, 3, "PER"], [7, 11, "LOC"]]
    as_dictionary = {"text": ROME.text, "spans": spans}
    tokens = {"tokens": ["Ada", "in", "Rome"], "tags": ["B-PER", "O", "B-LOC"]}
    plain = text_of(ROME.text, *((*span, None) for span in spans))
    expected = adaptag.render([plain] * 3)
    assert adaptag.render(iter([as_dictionary, plain, tokens])) == expected
    assert adaptag.render(as_dictionary) == adaptag.render(plain)
    assert adaptag.render([ROME.to_dict()]) == adaptag.render(ROME)
    assert "adaptag-text'" not in adaptag.render([])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (5, "the data is the int 5; allowed: a list of texts with spans"),
        ("Rome", "the data is the string 'Rome'; allowed: a list of texts with spans"),
        ([ROME, 5], "text 2: the int 5; allowed: {'text'"),
        ([ROME, {"text": "a", "spans": [[0, 9, "X"]]}], "text 2: a span from 0 to 9; the text has"),
    ],
)
def test_what_cannot_be_rendered(texts, message):
    with pytest.raises(CorpusError, match=f"^{message}"):
        adaptag.render(texts)


def test_a_page_needs_a_path():
    with pytest.raises(FileError, match="the file is the int 5; allowed: a path"):
        adaptag.render(ROME, 5)


# ---- tagged files ---------------------------------------------------------------------------


def test_tokens_are_joined_as_they_are_written():
    assert join_tokens(["in", "Rome", "."])[0] == "in Rome ."
    assert join_tokens(["我", "在", "Rome", "，", "好"])[0] == "我在 Rome ，好"


@given(st.lists(st.text(min_size=1, max_size=4), max_size=8))
def test_places_of_joined_tokens(tokens):
    text, places = join_tokens(tokens)
    assert [text[a:b] for a, b in places] == tokens


def test_columns_become_texts(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text(
        "Ada X B-PER\nLove X I-PER\nsaw X O\nRome X B-LOC\n\n好 X O\n", encoding="utf-8"
    )
    first, second = read_tagged_texts(path)
    assert first.text == "Ada Love saw Rome"
    assert [(s.text, s.label) for s in first] == [("Ada Love", "PER"), ("Rome", "LOC")]
    assert (second.text, len(second)) == ("好", 0)
    path.write_text("the DT\ncat NN\n", encoding="utf-8")
    (tags,) = read_tagged_texts(path)
    assert [(s.text, s.label) for s in tags] == [("the", "DT"), ("cat", "NN")]


def can_be_read(tagged):
    return all(span.text == span.text.strip() and in_one_line(span.label) for span in tagged)


@settings(deadline=None)
@given(tagged_texts().filter(can_be_read))
def test_json_lines_round_trip(tmp_path_factory, tagged):
    import json

    path = tmp_path_factory.getbasetemp() / "round.jsonl"
    path.write_text(json.dumps(tagged.to_dict()) + "\n", encoding="utf-8")
    (read,) = read_tagged_texts(path)
    assert read.to_dict() == tagged.to_dict()


def test_spans_as_objects_and_out_of_order(tmp_path):
    path = tmp_path / "x"
    span = '{"start": 4, "end": 8, "label": "LOC", "probability": 0.25}'
    path.write_text(
        f'{{"text": "Ada Rome", "spans": [{span}, {{"start": 0, "end": 4, "label": "PER"}}]}}\n'
    )
    (text,) = read_tagged_texts(path)
    assert [(s.text, s.label, s.probability) for s in text] == [
        ("Ada", "PER", None),
        ("Rome", "LOC", 0.25),
    ]


def test_tokens_with_tags_become_texts(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"tokens": ["saw"], "tags": ["O"]}\n'
        '{"text": "Rome", "spans": [[0, 4, "LOC"]]}\n'
        '{"tokens": ["Ada", "Love", "in", "Rome"], "tags": ["B-PER", "I-PER", null, "B-LOC"]}\n'
    )
    saw, rome, ada = read_tagged_texts(path)
    assert (saw.text, len(saw)) == ("saw", 0)
    assert [(s.text, s.label) for s in rome] == [("Rome", "LOC")]
    assert [(s.text, s.label) for s in ada] == [("Ada Love", "PER"), ("Rome", "LOC")]
    path.write_text('{"tokens": ["the", "cat"], "tags": ["DT", null]}\n')
    (tags,) = read_tagged_texts(path)
    assert [(s.text, s.label) for s in tags] == [("the", "DT")]


def test_exports_of_tools_become_texts(tmp_path):
    (tmp_path / "a.txt").write_text("in Rome")
    (tmp_path / "a.ann").write_text("T1\tLOC 3 7\tRome\n")
    for path in (tmp_path, tmp_path / "a.ann"):
        (text,) = read_tagged_texts(path)
        assert [(s.text, s.label) for s in text] == [("Rome", "LOC")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": 1, "spans": []}', "allowed: a string"),
        ('{"text": "a", "spans": [[0, 2, "X"]]}', "from 0 to 2; the text has 1 character"),
        ('{"text": "ab", "spans": [[0, 2, "X"], [1, 2, "Y"]]}', "overlap"),
        ('{"text": "a", "spans": [[0, 1, "X"]], "probabilities": []}', "a list of 1 numbers"),
        ('{"text": "a", "spans": [[0, 1, "X"]], "probabilities": [1, 2]}', "a list of 1 numbers"),
        ('{"text": "a", "spans": [[0, 1, "X"]], "probabilities": [1.5]}', "allowed: 0 to 1"),
        ('{"text": "a", "spans": [[0, 1, "X"]], "probabilities": [true]}', "allowed: 0 to 1"),
        ('{"text": "a", "spans": [[0, 1, "X"]], "probabilities": [NaN]}', "allowed: 0 to 1"),
        ('{"text": "a", "spans": [[0, 1, "X"]], "probabilities": 1}', "a list of 1 numbers"),
        ('{"text": "a", "spans": 3}', "allowed: a list"),
        ("[]", "allowed"),
    ],
)
def test_bad_lines_are_refused(tmp_path, line, message):
    path = tmp_path / "bad.jsonl"
    path.write_text(f'{{"text": "fine", "spans": []}}\n{line}\n', encoding="utf-8")
    with pytest.raises(CorpusError, match=rf"bad\.jsonl:2.*{message}"):
        list(read_tagged_texts(path))


# ---- commands -------------------------------------------------------------------------------


@pytest.fixture
def cli(command_line):
    return partial(command_line, run)


def test_render_command(cli, tmp_path):
    lines = '{"text": "in Rome", "spans": [[3, 7, "LOC"]], "probabilities": [0.9]}\n' * 3
    (tmp_path / "r.jsonl").write_text(lines, encoding="utf-8")
    done = cli("render", "r.jsonl", "--title", "A <title>", "--limit", 2)
    assert (done.code, done.out) == (0, "")
    assert "1 further text is left out" in done.err
    assert "wrote r.html" in done.err
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<h1>A &lt;title&gt;</h1>" in html
    assert "2 of 3 texts." in html
    assert html.count("adaptag-text'") == 2
    piped = cli("render", "-", stdin=lines.encode())
    assert piped.out.startswith("<!DOCTYPE html>")
    assert cli("render", "r.jsonl", "-o", "-").out.count("adaptag-text'") == 3


def test_render_refuses(cli, tmp_path):
    (tmp_path / "e.jsonl").write_text("\n", encoding="utf-8")
    assert cli("render", "e.jsonl").code == 2
    assert cli("render", "missing.jsonl").code == 2
    line = '{"text": "a", "spans": []}'
    (tmp_path / "x.html").write_text(line, encoding="utf-8")
    done = cli("render", "x.html")
    assert done.code == 2
    assert (tmp_path / "x.html").read_text(encoding="utf-8") == line
    done = cli("render", "x.html", "-o", "y.html", "--format", "jsonnl")
    assert "did you mean 'jsonl'?" in done.err


@pytest.fixture
def tagger(tmp_path):
    data = [[("Ada", "B-PER"), ("saw", "O"), ("Rome", "B-LOC")]] * 20
    adaptag.train(data, passes=5).save(tmp_path / "m.adaptag")


@pytest.mark.usefixtures("tagger")
def test_show(cli, tmp_path):
    (tmp_path / "in.txt").write_text("Ada\nsaw\nRome\n\nRome\n", encoding="utf-8")
    done = cli("tag", "in.txt", "-m", "m.adaptag", "--show")
    first, second = done.out.splitlines()
    assert re.fullmatch(r"Ada \[PER [\d.]+%\] saw Rome \[LOC [\d.]+%\]", first)
    assert re.fullmatch(r"Rome \[LOC [\d.]+%\??\]", second)
    for options in (["-o", "x"], ["--marginals"], ["--nbest", 2], ["--cluster", "local"]):
        done = cli("tag", "in.txt", "-m", "m.adaptag", "--show", *options)
        assert done.code == 2
        assert "--show cannot be combined with" in done.err


@pytest.mark.usefixtures("tagger")
def test_show_raw_text(cli, tmp_path):
    (tmp_path / "in.txt").write_text("Ada  saw Rome\nRome!\n", encoding="utf-8")
    done = cli("tag", "--text", "in.txt", "-m", "m.adaptag", "--show")
    first, second = done.out.splitlines()
    assert re.fullmatch(r"Ada \[PER [\d.]+%\]  saw Rome \[LOC [\d.]+%\]", first)
    assert re.fullmatch(r"Rome \[LOC [\d.]+%\??\]!.*", second)
    (tmp_path / "in.jsonl").write_text('{"text": "Ada  saw Rome"}\n', encoding="utf-8")
    assert cli("tag", "in.jsonl", "-m", "m.adaptag", "--show").out == f"{first}\n"


@pytest.mark.usefixtures("tagger")
def test_show_in_colours(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    (tmp_path / "in.txt").write_text("Ada\n", encoding="utf-8")
    assert "\x1b[1;" in cli("tag", "in.txt", "-m", "m.adaptag", "--show").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert ";3" not in cli("tag", "in.txt", "-m", "m.adaptag", "--show").out


def test_show_of_labels_without_chunks(cli, tmp_path):
    data = [[("the", "DT"), ("cat", "NN")]] * 20
    adaptag.train(data, passes=5).save(tmp_path / "p.adaptag")
    (tmp_path / "in.txt").write_text("the\ncat\n", encoding="utf-8")
    done = cli("tag", "in.txt", "-m", "p.adaptag", "--show")
    assert re.fullmatch(r"the \[DT [\d.]+%\] cat \[NN [\d.]+%\]\n", done.out)
