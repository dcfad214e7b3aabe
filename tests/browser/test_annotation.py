"""The labelling page in a real browser."""

from __future__ import annotations

import re
import signal
from urllib.parse import urlsplit

import numpy as np
import pytest

import adaptag
from adaptag.annotation.exporting import export
from adaptag.annotation.store import Store
from tests.annotation.making import TYPES, make_project
from tests.annotation.serving import Server

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

KEYS = {name: str(number) for number, name in enumerate(TYPES, 1)}
SHOWN_SPANS = """() => [...document.querySelectorAll('#sentence > .span')].map(span => {
  const tokens = [...span.querySelectorAll('.token')].map(t => Number(t.dataset.token));
  return [tokens[0], tokens.at(-1), span.getAttribute('aria-label')];
})"""
PAINT = """selector => {
  const node = document.querySelector(selector);
  const style = getComputedStyle(node);
  return [style.color, style.backgroundColor];
}"""


@pytest.fixture
def project(tmp_path):
    return tmp_path / "p", make_project(tmp_path / "p", 120)


@pytest.fixture
def server(project):
    """To be named before the page in tests, so that the page is closed first."""
    server = Server(project[0], "--annotator", "ann")
    yield server
    server.end()


def load(page, url):
    page.goto(url)
    page.wait_for_selector("body[data-ready=true]")


def sentence_number(page):
    return int(re.search(r"(\d+)$", page.inner_text("#place"))[1]) - 1


def spans_of(labels):
    spans = []
    for n, label in enumerate(labels):
        if label.startswith("B-"):
            spans.append([n, n, label[2:]])
        elif label.startswith("I-"):
            spans[-1][1] = n
    return spans


def label_by_keyboard(page, gold):
    """Give a sentence its labels by keys alone, and accept them."""
    number = sentence_number(page)
    wanted = spans_of(gold[number].labels)
    if page.evaluate(SHOWN_SPANS) != wanted:
        for key in ("Home", "Shift+End", "Backspace"):
            page.keyboard.press(key)
        for first, last, label in wanted:
            page.keyboard.press("Home")
            for _ in range(first):
                page.keyboard.press("ArrowRight")
            for _ in range(last - first):
                page.keyboard.press("Shift+ArrowRight")
            page.keyboard.press(KEYS[label])
    assert page.evaluate(SHOWN_SPANS) == wanted
    before = page.inner_text("#place")
    page.keyboard.press("Enter")
    page.locator("#place", has_not_text=re.compile(f"^{re.escape(before)}$")).wait_for()
    return number


def test_labelling_thirty_sentences_through_a_kill(browser, project, tmp_path):
    folder, gold = project
    # The same sentences in every run. Those that the model chooses depend on when training ends,
    # and the score of so few answers, all of them hard, can fall by chance.
    server = Server(folder, "--annotator", "ann", "--strategy", "in-order")
    page = browser.new_context().new_page()
    try:
        load(page, server.url)
        numbers = [label_by_keyboard(page, gold) for _ in range(10)]
        page.wait_for_selector(".curve")
        first = float(page.get_attribute(".curve", "data-score"))
        numbers += [label_by_keyboard(page, gold) for _ in range(14)]

        assert server.end(signal.SIGKILL) == -signal.SIGKILL
        page.keyboard.press("Enter")
        page.wait_for_selector("#problem:not([hidden])")
        assert "does not answer" in page.inner_text("#problem")
        server = Server(folder, "--annotator", "ann", "--port", str(urlsplit(server.url).port))
        # the page goes on where it was
        numbers += [label_by_keyboard(page, gold) for _ in range(6)]
        assert page.is_hidden("#problem")
        page.locator("#model-text", has_text="on 29 answers").wait_for()
        assert float(page.get_attribute(".curve", "data-score")) > first
        assert page.inner_text("#done-text").startswith("30 of 120")

        page.click("[data-view=project]")
        with page.expect_download() as download:
            page.click("a[href$='format=columns']")
        download.value.save_as(tmp_path / "page.txt")
    finally:
        page.context.close()
        server.end()
    with Store(folder) as store:
        assert export(store, tmp_path / "command.txt") == 30
    assert (tmp_path / "page.txt").read_bytes() == (tmp_path / "command.txt").read_bytes()
    exported = adaptag.train(tmp_path / "page.txt", passes=3)
    answered = [gold[n] for n in sorted(numbers)]
    direct = adaptag.train([s.tokens for s in answered], [s.labels for s in answered], passes=3)
    np.testing.assert_array_equal(exported.weights, direct.weights)


def test_labelling_by_mouse(server, page, project):
    load(page, server.url)
    tokens = page.locator("#sentence .token")
    first, second = tokens.nth(0).bounding_box(), tokens.nth(1).bounding_box()
    page.mouse.move(first["x"] + 3, first["y"] + 5)
    page.mouse.down()
    page.mouse.move(second["x"] + 3, second["y"] + 5, steps=4)
    page.mouse.up()
    page.click("[data-label=SIZE]")
    assert page.evaluate(SHOWN_SPANS) == [[0, 1, "SIZE"]]
    page.click("[data-label=QTY]")  # the cursor is in the span: it gets another label
    assert page.evaluate(SHOWN_SPANS) == [[0, 1, "QTY"]]
    page.click("#sentence .span-label")
    assert page.evaluate(SHOWN_SPANS) == []
    tokens.nth(0).click()
    page.click("[data-label=NAME]")
    number = sentence_number(page)
    page.click("#accept")
    page.locator("#status", has_text="Saved").wait_for()
    with Store(project[0], exclusive=False) as store:
        (answer,) = store.answers()
    assert answer.sentence == number
    assert answer.labels[0] == "B-NAME"
    assert set(answer.labels[1:]) <= {"O"}


def test_keys_that_change_skip_and_undo(server, page):
    load(page, server.url)
    number = sentence_number(page)
    page.keyboard.press("1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("x")
    assert page.locator("#sentence .unsure").count() == 1
    page.keyboard.press("Control+z")
    assert page.locator("#sentence .unsure").count() == 0
    assert page.evaluate(SHOWN_SPANS) == [[0, 0, "QTY"]]
    page.keyboard.press("Enter")
    page.locator("#status", has_text="Saved").wait_for()
    other = sentence_number(page)
    assert other != number
    page.keyboard.press("u")
    page.locator("#status", has_text="Und").wait_for()
    assert sentence_number(page) == number
    assert page.evaluate(SHOWN_SPANS) == [[0, 0, "QTY"]]
    page.keyboard.press("s")
    page.locator("#status", has_text="Skipped").wait_for()
    assert sentence_number(page) == other
    page.keyboard.press("?")
    assert page.is_visible("#help")
    page.keyboard.press("Escape")
    assert page.is_hidden("#help")


def test_review_search_and_project(server, page, project):
    _, gold = project
    for number in range(40):
        labels = list(gold[number].labels)
        if number == 20:
            labels = ["O"] * len(labels)
        server.call("answer", {"sentence": number, "labels": labels, "next": False})
    load(page, server.url)
    page.click("[data-view=review]")
    row = page.locator("#review-rows li[data-sentence='20']")
    row.wait_for()
    row.get_by_text("Edit").click()
    page.wait_for_selector("#view-label:not([hidden])")
    assert sentence_number(page) == 20
    page.keyboard.press("Home")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.wait_for_selector("#view-review:not([hidden])")
    page.keyboard.press("/")
    page.fill("#search-text", gold[7].tokens[-1])
    page.keyboard.press("Enter")
    page.locator("#search-rows li[data-sentence='7']").wait_for()
    page.click("[data-view=project]")
    page.fill("#label-name", "EXTRA")
    page.keyboard.press("Enter")
    page.locator("#label-list li", has_text="EXTRA").wait_for()
    page.fill("#import-text", "3 cups sugar\n2 eggs")
    page.click("#import-form button")
    page.locator("#import-state", has_text=re.compile(".")).wait_for()
    assert "2 sentences added" in page.inner_text("#import-state")
    page.keyboard.press("Escape")
    page.locator("[data-label=EXTRA]").wait_for()


def test_a_new_project_begins_with_labels_and_texts(page, tmp_path):
    server = Server(tmp_path / "new")
    try:
        load(page, server.url)
        assert page.is_visible("#view-project")
        page.fill("#label-name", "PER")
        page.keyboard.press("Enter")
        page.locator("#label-list li", has_text="PER").wait_for()
        page.fill("#import-text", "Ann saw Rome.\nשלום עולם\n北京 很 大")
        page.click("#import-form button")
        page.locator("#import-state", has_text=re.compile(".")).wait_for()
        page.click("[data-view=label]")
        page.wait_for_selector("#sentence .token")
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.locator("#status", has_text="Saved").wait_for()
    finally:
        page.close()  # before the server, which it asks whether training has ended
        server.end()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_and_can_be_read(server, open_page, width, dark):
    page = open_page(width=width, dark=dark)
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    load(page, server.url)
    page.keyboard.press("1")
    for view in ("label", "review", "search", "project"):
        page.click(f"[data-view={view}]")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert all(url.startswith(server.url) for url in requests)
    page.click("[data-view=label]")
    for selector in ("[data-label=QTY]", "[data-label=NOTE]", "#accept", "#skip"):
        assert contrast(*page.evaluate(PAINT, selector)) >= 4.5, selector


def contrast(*colours):
    """The contrast of two colours by the rules of WCAG."""
    values = []
    for colour in colours:
        channels = [int(x) / 255 for x in re.findall(r"\d+", colour)[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        values.append(sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True)))
    low, high = sorted(values)
    return (high + 0.05) / (low + 0.05)
