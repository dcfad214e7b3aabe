"""Pages of tagged texts, and objects in a notebook, in a real browser."""

from __future__ import annotations

import pytest

import adaptag
from adaptag.corpus.spans import Span, TaggedText
from adaptag.rendering.colours import DARK, LIGHT, PALETTE, assign_colours
from adaptag.rendering.style import page_of

HEBREW = "שלום דנה מתל אביב"
TEXTS = [
    ("Ada <b>Love</b> in Rome &amp; co\nsecond line", [(0, 3, "PER", 0.98), (19, 23, "LOC", 0.42)]),
    (HEBREW, [(5, 8, "PER", 0.9), (9, 17, "LOC", 0.8)]),
    ("美国总统在北京大学发表了演讲。", [(0, 2, "LOC", 0.99), (5, 9, "ORG", 0.9)]),
]


def tagged_texts():
    return [
        TaggedText(text, tuple(Span(a, b, label, text[a:b], p) for a, b, label, p in spans))
        for text, spans in TEXTS
    ]


def rgb(colour):
    return f"rgb({', '.join(str(int(colour[k : k + 2], 16)) for k in (1, 3, 5))})"


def style(locator, name):
    return locator.evaluate(f"element => getComputedStyle(element).{name}")


@pytest.fixture
def address(tmp_path):
    """A page of the texts, from a file."""
    adaptag.render(tagged_texts(), tmp_path / "page.html", title="Texts")
    return (tmp_path / "page.html").as_uri()


def test_the_page_loads_nothing_else(page, address):
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    page.locator("mark").first.hover()
    assert requests == [address]
    assert page.title() == "Texts"


def test_the_text_is_that_of_the_file(page, address):
    page.goto(address)
    lines = page.locator(".adaptag-text").first.locator("p")
    plain = "p => [...p.childNodes].map(n => n.nodeName == 'MARK' ? n.firstChild.data : n.data)"
    assert ["".join(line.evaluate(plain)) for line in lines.all()] == TEXTS[0][0].split("\n")


def test_copied_text_has_no_labels(page, address):
    page.goto(address)
    page.evaluate("getSelection().selectAllChildren(document.querySelectorAll('.adaptag-text')[2])")
    assert page.evaluate("getSelection().toString()").strip() == TEXTS[2][0]


def test_probabilities_on_hover_and_for_screen_readers(page, address):
    page.goto(address)
    mark = page.locator("mark").first
    assert mark.get_attribute("title") == "PER, probability 0.9800"
    before = style(mark, "outlineStyle")
    mark.hover()
    assert (before, style(mark, "outlineStyle")) == ("none", "solid")
    assert "probability 98%" in page.locator("body").aria_snapshot()


@pytest.mark.parametrize("dark", [False, True])
def test_colours_follow_the_system(open_page, address, dark):
    page = open_page(dark=dark)
    page.goto(address)
    theme = DARK if dark else LIGHT
    colour = PALETTE[assign_colours(["LOC", "ORG", "PER"])["PER"]]
    shade = colour.dark if dark else colour.light
    mark = page.locator("mark").first
    assert style(page.locator("body"), "backgroundColor") == rgb(theme.page)
    assert style(mark, "backgroundColor") == rgb(shade.fill)
    assert style(mark, "color") == rgb(theme.text)
    assert style(mark.locator(".adaptag-label"), "color") == rgb(shade.ink)


def test_uncertain_spans_look_different(page, address):
    page.goto(address)
    unsure = page.locator("mark.adaptag-unsure")
    assert unsure.count() == 1
    assert style(unsure, "borderTopStyle") == "dashed"
    assert style(unsure, "backgroundColor") == "rgba(0, 0, 0, 0)"
    assert page.get_by_text("probability below 50%").is_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit_the_window(open_page, address, width):
    page = open_page(width=width)
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_right_to_left(page, address):
    page.goto(address)
    line = page.locator(".adaptag-text").nth(1).locator("p")
    assert style(line, "direction") == "rtl"
    person, place = line.locator("mark").all()
    assert place.bounding_box()["x"] < person.bounding_box()["x"]  # read from the right
    box = person.bounding_box()
    label = person.locator(".adaptag-label").bounding_box()
    assert label["x"] < box["x"] + box["width"] / 2  # after the name, on its left
    edge = line.bounding_box()
    first = page.evaluate(
        "p => {const r = document.createRange(); r.setStart(p.firstChild, 0);"
        "r.setEnd(p.firstChild, 1); return r.getBoundingClientRect().right}",
        line.element_handle(),
    )
    assert first == pytest.approx(edge["x"] + edge["width"], abs=2)


def test_han_characters_are_chinese_and_labels_stay_with_them(open_page, address):
    page = open_page(width=390)
    page.goto(address)
    text = page.locator(".adaptag-text").nth(2)
    assert text.get_attribute("lang") == "zh"
    for width in range(120, 390, 30):  # wherever lines break, a label does not begin one
        page.set_viewport_size({"width": width, "height": 800})
        for mark in text.locator("mark").all():
            same_line = mark.evaluate(
                """mark => {
                    const range = document.createRange(), text = mark.firstChild;
                    range.setStart(text, text.length - 1); range.setEnd(text, text.length);
                    const last = range.getBoundingClientRect();
                    const label = mark.querySelector('.adaptag-label').getClientRects()[0];
                    return label.top < last.bottom;
                }"""
            )
            assert same_line


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_objects_of_a_notebook(open_page, tmp_path, width, dark):
    data = [[("Ada", "B-PER"), ("saw", "O"), ("Rome", "B-LOC")]] * 10
    model = adaptag.train(data, passes=2)
    shown = [model, model.evaluate(data), model.explain(["Ada", "saw"]), tagged_texts()[0]]
    html = page_of("Notebook", "".join(each._repr_html_() for each in shown))
    (tmp_path / "notebook.html").write_text(html, encoding="utf-8")
    page = open_page(width=width, dark=dark)
    page.goto((tmp_path / "notebook.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    rows = page.locator("table").nth(1).locator("tbody tr")
    assert rows.all_inner_texts()[-1].split()[0] == "overall"
    theme = DARK if dark else LIGHT
    assert style(page.locator("td").first, "color") == rgb(theme.text)
    assert rows.last.locator("th").bounding_box()["height"] < 40  # not broken letter by letter


def test_the_style_of_the_page_around_does_not_win(page):
    around = (
        "[dir] .doc .page mark{background-color:yellow}"
        ".doc .page ul{list-style:disc;display:block}"
        ".doc .page table:not([class]){display:inline-block;border:3px solid}"
        ".doc .page table:not([class]) th{min-width:20em;padding:3em}"
    )
    text = tagged_texts()[0]
    gold = [["B-PER", "O"]]
    inside = text.to_html() + adaptag.evaluate(gold, gold)._repr_html_()
    page.set_content(
        f"<html dir=ltr><style>{around}</style><div class=doc><div class=page>{inside}</div></div>"
    )
    number = assign_colours(span.label for span in text)["PER"]
    mark = page.locator("mark").first
    assert style(mark, "backgroundColor") == rgb(PALETTE[number].light.fill)
    legend = page.locator(".adaptag-legend")
    assert (style(legend, "listStyleType"), style(legend, "display")) == ("none", "flex")
    assert style(page.locator("table"), "display") == "table"
    assert style(page.locator("th").first, "minWidth") in ("0px", "auto")
