"""The pages of the server, used in a browser."""

from __future__ import annotations

import pytest

from tests.server.conftest import model_files, start_server  # noqa: F401

TEXT = "Anna Berg lives in Oslo 😀\nRome is old"


@pytest.fixture
def server(start_server, model_files):  # noqa: F811
    return start_server(*model_files)


def address(server):
    return f"http://{server.host}:{server.port}/"


def tag(page, server):
    page.goto(address(server))
    page.fill("#text", TEXT)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".token")


def marks(page, within):
    return page.eval_on_selector_all(
        f"{within} mark",
        "marks => marks.map(m => [m.firstChild.textContent, m.lastChild.textContent, m.className])",
    )


def test_tags_alternatives_and_explanations(page, server):
    tag(page, server)
    found = marks(page, "#answer")
    labels = [label.split()[0] for _, label, _ in found]
    assert labels == ["PER", "LOC", "LOC"]
    assert all(label.endswith("%") for _, label, _ in found)
    assert page.inner_text("#answer .tagged").count("😀") == 1
    assert page.locator("ol.alternatives > li").count() == 5
    assert page.inner_text("#legend").split() == ["LOC", "2", "PER", "1"]

    page.click(".token:text-is('Oslo')")
    assert "Why “Oslo”?" in page.inner_text("#explanation")
    assert "B-LOC" in page.inner_text("#explanation .choice")
    assert page.locator("#explanation .for tr").count() > 0

    page.keyboard.press("Tab")
    page.focus(".token.chosen")
    page.keyboard.press("ArrowLeft")
    assert "Why “in”?" in page.inner_text("#explanation")


def test_other_kinds_of_models(page, server):
    page.goto(address(server))
    page.select_option("#model", "chinese")
    assert page.inner_text("#submit") == "Segment"
    page.fill("#text", "我们在北京")
    page.click("#submit")
    page.wait_for_selector(".word")
    assert page.locator(".word").all_inner_texts() == ["我们", "在", "北京"]
    page.select_option("#model", "films")
    page.fill("#text", "a good film")
    page.click("#submit")
    page.wait_for_selector(".chances")
    assert page.inner_text(".chances b") == "pos"


def test_text_is_never_markup(page, server):
    page.goto(address(server))
    page.fill("#text", "<img src=x onerror=alert(1)> Anna")
    page.click("#submit")
    page.wait_for_selector(".token")
    assert page.locator("#answer img").count() == 0
    assert page.locator("#answer .token:text-is('onerror')").count() == 1


def test_errors_are_shown(browser, start_server, model_files):  # noqa: F811
    server = start_server(model_files[0], "--max-size", "50")
    page = browser.new_page()  # whose console may show that a request failed
    page.goto(address(server))
    page.fill("#text", "a " * 100)
    page.click("#submit")
    page.wait_for_selector("#message:visible")
    assert "too large" in page.inner_text("#message")
    page.close()


def test_token_in_the_address(page, start_server, model_files):  # noqa: F811
    server = start_server(model_files[0], "--token", "a-long-enough-token")
    page.goto(address(server) + "?token=a-long-enough-token")
    assert "token" not in page.url
    tag(page, server)


def test_documentation(page, server):
    page.goto(address(server) + "docs")
    page.wait_for_selector("#tag")
    page.fill("#tag textarea", '{"tokens": ["Rome"]}')
    page.click("#tag button")
    page.locator("#tag pre", has_text="B-LOC").wait_for()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_page(open_page, server, width, dark):
    page = open_page(width=width, dark=dark)
    tag(page, server)
    page.click(".token >> nth=0")
    for path in ("", "docs"):
        if path:
            page.goto(address(server) + path)
            page.wait_for_selector("#tag")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(22, 24, 27)" if dark else "rgb(255, 255, 255)")
