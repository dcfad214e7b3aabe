"""The JSON API and the page, through the guard that the server has."""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("starlette", reason="the extra serve is not installed")
pytest.importorskip("httpx", reason="httpx is not installed")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer versions of Starlette prefer another HTTP client
    from starlette.testclient import TestClient

from adaptag.annotation.app import LIMITS, annotation_app
from adaptag.annotation.session import Session
from adaptag.annotation.store import Store
from adaptag.web.guards import Guard
from tests.annotation.making import make_project


@pytest.fixture
def gold(tmp_path):
    return make_project(tmp_path / "p", 30)


@pytest.fixture
def client(tmp_path, gold):
    assert gold
    with Store(tmp_path / "p") as store:
        app = Guard(annotation_app(Session(store), "ann"), limits=LIMITS)
        with TestClient(app, base_url="http://127.0.0.1") as client:
            client.store = store
            yield client


def test_page_and_its_files(client):
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert "<script>" not in page.text
    assert "style=" not in page.text
    assert "http" not in page.text  # nothing from elsewhere
    for name in ("base.css", "annotation.css", "annotation.js", "editor.js", "chart.js"):
        assert client.get(f"/static/{name}").status_code == 200
    assert client.get("/static/none.js").status_code == 404


def test_an_answer_is_kept_before_the_next_sentence_comes(client, gold):
    shown = client.get("/api/next").json()["next"]
    number = shown["sentence"]
    body = {"sentence": number, "labels": list(gold[number].labels), "seconds": 1}
    answered = client.post("/api/answer", json=body).json()
    assert answered["next"]["sentence"] != number
    assert answered["progress"]["answered"] == 1
    (kept,) = client.store.answers()
    assert kept.number == answered["saved"]
    assert kept.labels == tuple(gold[number].labels)
    assert kept.annotator == "ann"


def test_skip_undo_and_other_annotators(client):
    first = client.get("/api/next", params={"annotator": "bob"}).json()["next"]["sentence"]
    result = client.post("/api/skip", json={"sentence": first, "annotator": "bob"}).json()
    assert result["next"]["sentence"] != first
    assert client.post("/api/undo", json={"annotator": "eve"}).json()["next"] is None
    undone = client.post("/api/undo", json={"annotator": "bob"}).json()["next"]
    assert undone["sentence"] == first


def test_project_labels_and_strategy(client):
    project = client.get("/api/project").json()
    assert [label["name"] for label in project["labels"]][:2] == ["QTY", "UNIT"]
    assert project["sentences"] == 30
    added = client.post("/api/labels", json={"name": "NEW"}).json()
    assert added["labels"][-1]["name"] == "NEW"
    assert client.post("/api/labels", json={"name": "NEW"}).status_code == 400
    removed = client.post("/api/labels/remove", json={"name": "NEW"}).json()
    assert removed["labels"] == project["labels"]
    chosen = client.post("/api/strategy", json={"strategy": "random"}).json()
    assert chosen["strategy"] == "random"


def test_import_and_export(client):
    content = "x\tB-QTY\ny\tO\n\nz\tB-NEW\n"
    done = client.post("/api/import", json={"name": "a.tsv", "content": content}).json()
    assert (done["added"], done["labelled"], done["sentences"]) == (2, 2, 32)
    assert done["labels"][-1]["name"] == "NEW"
    file = client.get("/api/export", params={"format": "columns"})
    assert file.text == content
    assert "labels.txt" in file.headers["content-disposition"]
    assert client.get("/api/export", params={"format": "odd"}).status_code == 400
    found = client.get("/api/search", params={"text": "Z", "status": "answered"}).json()
    assert [row["words"] for row in found["rows"]] == [["z"]]


def test_review_and_sentence(client):
    assert client.get("/api/review").json()["rows"] == []
    assert client.get("/api/sentence", params={"number": "3"}).json()["sentence"] == 3
    assert client.get("/api/progress").json()["curve"] == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("answer", b""),
        ("answer", b"[1]"),
        ("answer", b"{"),
        ("answer", b"[" * 100_000),
        ("answer", b"{}"),
        ("answer", b'{"sentence": 0, "labels": [["O"]]}'),
        ("answer", b'{"sentence": 0, "labels": 3}'),
        ("answer", b'{"sentence": 99, "labels": []}'),
        ("answer", b'{"sentence": 0.5, "labels": []}'),
        ("answer", b'{"sentence": 0, "labels": [], "annotator": ""}'),
        ("answer", b'{"sentence": 0, "labels": [], "annotator": 3}'),
        ("answer", b'{"sentence": 0, "labels": [], "seconds": "long"}'),
        ("answer", b'{"sentence": 0, "labels": [], "seconds": NaN}'),
        ("skip", b'{"sentence": "0"}'),
        ("labels", b'{"name": ""}'),
        ("labels/remove", b'{"name": "none"}'),
        ("strategy", b'{"strategy": "odd"}'),
        ("import", b'{"content": 3}'),
        ("import", b'{"content": ""}'),
        ("import", b'{"content": "a", "format": "odd"}'),
    ],
)
def test_wrong_requests_are_refused(client, path, body):
    response = client.post(f"/api/{path}", content=body)
    assert response.status_code == 400
    assert response.json()["error"]
    assert client.store.answers() == []


def test_wrong_queries_are_refused(client):
    for query in ("sentence", "sentence?number=-1", "sentence?number=999999", "search?status=odd"):
        assert client.get(f"/api/{query}").status_code == 400, query
    assert client.get("/api/none").status_code == 404
    assert client.get("/api/answer").status_code == 405


def test_other_origins_are_refused(client):
    headers = {"Origin": "http://evil.example"}
    assert client.post("/api/undo", json={}, headers=headers).status_code == 403
    assert client.get("/api/project", headers={"Host": "evil.example"}).status_code == 421
