"""What the server answers to good and to bad requests."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptag import load
from adaptag.server.answers import best_sums
from adaptag.server.openapi import description
from adaptag.server.tasks import TASKS
from adaptag.web.guards import Limits
from tests.server.conftest import make_client

TEXT = "Anna Berg lives in Oslo.\n\nRome is cold."
TOKENS = ["Anna", "Berg", "lives", "in", "Oslo"]


def post(client, path, body, **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post(path, content=content, headers=headers)


@pytest.fixture(scope="module")
def tagger(model_files):
    return load(model_files[0])


def test_texts_get_the_spans_of_the_model(client, tagger):
    answer = post(client, "/tag", {"text": TEXT}).json()
    expected = tagger.tag_text(TEXT)
    assert [(s["start"], s["end"], s["label"], s["text"]) for s in answer["spans"]] == [
        (s.start, s.end, s.label, s.text) for s in expected
    ]
    assert [s["probability"] for s in answer["spans"]] == pytest.approx(
        [s.probability for s in expected], abs=1e-5
    )
    assert {s["label"] for s in answer["spans"]} == {"PER", "LOC"}
    bare = post(client, "/tag", {"text": TEXT, "probabilities": False}).json()
    assert all("probability" not in span for span in bare["spans"])


def test_tokens_get_labels(client, tagger):
    assert post(client, "/tag", {"tokens": TOKENS}).json() == {"labels": tagger.tag(TOKENS)}
    asked = {"tokens": TOKENS, "probabilities": True, "nbest": 3}
    answer = post(client, "/tag", asked).json()
    marginals = tagger.marginals(TOKENS)
    chosen = [row[label] for row, label in zip(marginals, answer["labels"], strict=True)]
    assert answer["probabilities"] == pytest.approx(chosen, abs=1e-5)
    expected = tagger.nbest(TOKENS, 3)
    assert [item["labels"] for item in answer["nbest"]] == [labels for labels, _ in expected]
    assert [item["probability"] for item in answer["nbest"]] == pytest.approx(
        [p for _, p in expected], abs=1e-5
    )


def test_batches_are_answered_in_order(client):
    texts = ["Anna is in Rome", "", "Oslo"]
    together = post(client, "/tag", {"texts": texts}).json()["results"]
    assert together == [post(client, "/tag", {"text": text}).json() for text in texts]
    sentences = [TOKENS, [], ["Rome"]]
    together = post(client, "/tag", {"sentences": sentences}).json()["results"]
    assert together == [post(client, "/tag", {"tokens": tokens}).json() for tokens in sentences]
    assert post(client, "/tag", {"texts": []}).json() == {"results": []}


def test_alternatives_of_a_text_are_those_of_its_lines_combined(client, tagger):
    answer = post(client, "/tag", {"text": "Anna in Oslo\nRome is old", "nbest": 6}).json()
    lines = [tagger.nbest(["Anna", "in", "Oslo"], 6), tagger.nbest(["Rome", "is", "old"], 6)]
    products = sorted((p * q for _, p in lines[0] for _, q in lines[1]), reverse=True)[:6]
    assert [item["probability"] for item in answer["nbest"]] == pytest.approx(products, abs=1e-5)
    best = [(s["start"], s["end"], s["label"]) for s in answer["nbest"][0]["spans"]]
    assert best == [(s["start"], s["end"], s["label"]) for s in answer["spans"]]


SCORES = st.lists(st.floats(-50, 0), min_size=1, max_size=6).map(lambda s: sorted(s, reverse=True))


@given(SCORES, SCORES, st.integers(1, 40))
def test_best_sums(left, right, n):
    found = best_sums([((k,), score) for k, score in enumerate(left)], right, n)
    expected = sorted((a + b for a in left for b in right), reverse=True)[:n]
    assert [score for _, score in found] == pytest.approx(expected)
    assert len({ranks for ranks, _ in found}) == len(found)
    assert all(math.isclose(left[i] + right[j], score) for (i, j), score in found)


def test_explanations(client, tagger):
    answer = post(client, "/explain", {"text": "Anna is\nin Rome"}).json()["tokens"]
    assert [(t["token"], t["start"], t["end"]) for t in answer] == [
        ("Anna", 0, 4),
        ("is", 5, 7),
        ("in", 8, 10),
        ("Rome", 11, 15),
    ]
    expected = tagger.explain(["in", "Rome"])[1]
    assert answer[3]["label"] == expected.label
    strongest = max(expected.arguments, key=lambda a: a.weight)
    assert answer[3]["for"][0] == {"feature": strongest.name, "weight": round(strongest.weight, 4)}
    assert all(item["weight"] < 0 for token in answer for item in token["against"])
    tokens = post(client, "/explain", {"tokens": ["Anna"]}).json()["tokens"]
    assert tokens[0]["token"] == "Anna"


def test_segments(client, model_files):
    segmenter = load(model_files[1])
    text = "我们在 北京大学"
    answer = post(client, "/segment", {"text": text}).json()
    assert answer["words"] == segmenter.predict([text])[0]
    assert [text[a:b] for a, b in answer["offsets"]] == answer["words"]
    chances = post(client, "/segment", {"texts": [text, ""], "probabilities": True}).json()
    assert chances["results"][0]["words"] == answer["words"]
    assert all(0 < p <= 1 for p in chances["results"][0]["probabilities"])
    assert chances["results"][1] == {"words": [], "offsets": [], "probabilities": []}


def test_classes(client):
    assert post(client, "/classify", {"text": "good"}).json() == {"label": "pos"}
    answer = post(client, "/classify", {"texts": ["bad", "good"], "probabilities": True}).json()
    assert [item["label"] for item in answer["results"]] == ["neg", "pos"]
    assert sum(answer["results"][0]["probabilities"].values()) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/tag", b"", 400, "not JSON"),
        ("/tag", b"{", 400, "not JSON"),
        ("/tag", b"\xff\xfe{}", 400, "not JSON"),
        ("/tag", b'{"text": NaN}', 400, "NaN is not a JSON number"),
        ("/tag", b"[" * 100_000, 400, "not JSON"),
        ("/tag", [], 400, "the list []; allowed: a JSON object"),
        ("/tag", {}, 400, "exactly one of 'text'"),
        ("/tag", {"text": "a", "tokens": []}, 400, "'text' and 'tokens' given"),
        ("/tag", {"text": 1}, 400, "text is the int 1; allowed: a string"),
        ("/tag", {"text": None}, 400, "text is None"),
        ("/tag", {"texts": "a"}, 400, "texts is the string 'a'; allowed: a list of strings"),
        ("/tag", {"texts": ["a", 1]}, 400, "texts[1] is the int 1"),
        ("/tag", {"tokens": [[]]}, 400, "tokens[0] is the list []"),
        ("/tag", {"sentences": [["a"], [{}]]}, 400, "sentences[1][0] is the dict {}"),
        ("/tag", {"text": "a", "nbest": 101}, 400, "nbest is the int 101; allowed: 0 to 100"),
        ("/tag", {"text": "a", "nbest": True}, 400, "nbest is the bool True"),
        ("/tag", {"text": "a", "probabilities": 1}, 400, "allowed: true or false"),
        ("/tag", {"text": "a", "txet": "b"}, 400, "did you mean 'text'?"),
        ("/tag", {"text": "a", "model": "nams"}, 404, "did you mean 'names'?"),
        ("/tag", {"text": "a", "model": "films"}, 409, "'films' classifies"),
        ("/tag", {"tokens": [["a", "b", "c"]]}, 400, "3 columns"),
        ("/tag", {"texts": ["a"] * 1025}, 413, "1,025 texts or sentences; allowed: 1,024"),
        ("/tag", {"text": "a" * 100_000, "nbest": 100}, 413, "allowed: 20"),
        ("/explain", {"text": "a" * 10_001}, 413, "allowed: 10,000"),
        ("/segment", {"tokens": ["a"]}, 400, "unknown field 'tokens'"),
        ("/predict", {"tasks": [{"data": {}}]}, 400, "several models are served"),
        ("/nowhere", {}, 404, "there is no /nowhere here"),
        ("/health", {}, 405, "does not take POST; allowed: GET, HEAD"),
        ("/static/nothing.js", {}, 404, "there is no file"),
    ],
)
def test_bad_requests_are_refused_with_a_reason(client, path, body, status, message):
    response = post(client, path, body)
    assert response.status_code == status, response.text
    assert list(response.json()) == ["error"]
    assert message in response.json()["error"]


# ---- constraints ---------------------------------------------------------------------------------

ONE_PERSON = {"at_most_once": ["PER"], "at_least_once": ["LOC"]}


def test_tokens_under_constraints(client, tagger):
    tokens = ["Carl", "met", "Anna", "in", "Oslo"]
    asked = {"tokens": tokens, "constraints": ONE_PERSON, "probabilities": True, "nbest": 3}
    answer = post(client, "/tag", asked).json()
    labels = tagger.tag(tokens, constraints=ONE_PERSON)
    assert answer["labels"] == labels != tagger.tag(tokens)
    table = tagger.marginals(tokens, constraints=ONE_PERSON)
    chosen = [row[label] for row, label in zip(table, labels, strict=True)]
    assert answer["probabilities"] == pytest.approx(chosen, abs=1e-5)
    expected = tagger.nbest(tokens, 3, constraints=ONE_PERSON)
    assert [item["labels"] for item in answer["nbest"]] == [found for found, _ in expected]
    bare = post(client, "/tag", {"sentences": [tokens, TOKENS], "constraints": ONE_PERSON}).json()
    assert [each["labels"] for each in bare["results"]] == tagger.tag_all(
        [tokens, TOKENS], constraints=ONE_PERSON
    )


def test_texts_under_constraints(client, tagger):
    text = "Carl met Anna in Oslo"
    answer = post(client, "/tag", {"text": text, "constraints": ONE_PERSON, "nbest": 2}).json()
    expected = tagger.tag_text(text, constraints=ONE_PERSON)
    assert [(s["start"], s["label"]) for s in answer["spans"]] == [
        (s.start, s.label) for s in expected
    ]
    assert [s["probability"] for s in answer["spans"]] == pytest.approx(
        [s.probability for s in expected], abs=1e-5
    )
    for found in answer["nbest"]:
        assert [s["label"] for s in found["spans"]].count("PER") <= 1
    assert post(client, "/tag", {"text": text, "constraints": {}}).json() == (
        post(client, "/tag", {"text": text}).json()
    )


@pytest.mark.parametrize(
    ("constraints", "status", "message"),
    [
        (3, 400, "constraints is the int 3; allowed: a JSON object"),
        ({"at_most": []}, 400, "unknown constraint 'at_most'"),
        ({"at_most_once": ["PRE"]}, 400, "unknown label or type 'PRE'; did you mean 'PER'"),
        ({"fixed": {"5": "O"}}, 400, "token 5; sentence 1 has 1 token"),
        ({"at_least_once": ["PER", "LOC"]}, 400, "no label sequence satisfies the constraints"),
        ({"forbidden_pairs": [["O", "O"]] * 201}, 413, "201 constraints; allowed: 200"),
    ],
)
def test_wrong_constraints_are_refused(client, constraints, status, message):
    response = post(client, "/tag", {"tokens": ["Anna"], "constraints": constraints})
    assert response.status_code == status, response.text
    assert message in response.json()["error"]


def test_long_texts_under_constraints_are_refused(client):
    asked = {"text": "a" * 10_001, "constraints": {"at_most_once": "PER"}}
    response = post(client, "/tag", asked)
    assert (response.status_code, response.json()) == (
        413, {"error": "10,001 to tag under constraints; allowed: 10,000"}
    )  # fmt: skip


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
INPUTS = ["text", "texts", "tokens", "sentences", "tasks"]
NAMES = st.sampled_from([*INPUTS, "model", "probabilities", "nbest", "constraints", "schema"])


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from([t.name for t in TASKS] + ["predict", "setup"]), st.dictionaries(NAMES, JSON)
)
def test_no_request_is_an_error_of_the_server(client, path, body):
    response = client.post(f"/{path}", content=json.dumps(body).encode())
    assert response.status_code < 500, (body, response.text)
    assert response.headers["Content-Type"] == "application/json"


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=30))
def test_any_text_is_answered(client, text):
    for path in ("tag", "explain", "segment", "classify"):
        response = client.post(f"/{path}", content=json.dumps({"text": text}).encode())
        assert response.status_code in (200, 400), response.text
    spans = client.post("/tag", content=json.dumps({"text": text}).encode()).json()["spans"]
    assert all(text[s["start"] : s["end"]] == s["text"] for s in spans)


def test_a_bad_sentence_spoils_no_other_request(client):
    """Requests that are answered in one batch are refused each for itself."""
    import asyncio

    service = client.service
    served = service.models.find("names")

    async def ask():
        jobs = [
            service.answer(served, "tag", [tokens], is_text=False)
            for tokens in (["Rome"], [["a", "b", "c"]], ["Oslo"])
        ]
        return await asyncio.gather(*jobs, return_exceptions=True)

    first, second, third = client.portal.call(ask)
    assert first == third == [{"labels": ["B-LOC"]}]
    assert "3 columns" in str(second)


def test_size_limit(model_files):
    with make_client(model_files[:1], Limits(size=100)) as small:
        assert post(small, "/tag", {"text": "a" * 200}).status_code == 413


def test_health_and_metrics(model_files):
    with make_client(model_files) as client:
        post(client, "/tag", {"sentences": [TOKENS, TOKENS]})
        post(client, "/tag", {})
        client.get("/strange")
        health = client.get("/health").json()
        assert health["status"] == "UP"
        assert [m["name"] for m in health["models"]] == ["names", "chinese", "films"]
        assert [m["kind"] for m in health["models"]] == ["model", "segmenter", "classifier"]
        response = client.get("/metrics")
        assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        lines = response.text.splitlines()
    assert 'adaptag_requests_total{path="/tag",status="200"} 1' in lines
    assert 'adaptag_requests_total{path="other",status="404"} 1' in lines
    assert 'adaptag_errors_total{status="400"} 1' in lines
    assert 'adaptag_request_seconds_count{path="/tag"} 2' in lines
    assert 'adaptag_batch_size_bucket{model="names",le="1"} 0' in lines
    assert 'adaptag_batch_size_bucket{model="names",le="2"} 1' in lines
    assert 'adaptag_tokens_total{model="names"} 10' in lines
    assert 'adaptag_waiting{model="names"} 0' in lines
    names = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    samples = {line.partition("{")[0] for line in lines if not line.startswith("#")}
    endings = ("", "_bucket", "_sum", "_count")
    assert samples <= {name + ending for name in names for ending in endings}


def test_the_description_is_that_of_the_requests(client):
    record = client.get("/openapi.json").json()
    assert record == json.loads(json.dumps(description()))
    for task in TASKS:
        content = record["paths"][f"/{task.name}"]["post"]["requestBody"]["content"]
        schema = content["application/json"]["schema"]
        assert list(schema["properties"]) == list(task.body.fields)
        example = content["application/json"]["example"]
        assert post(client, f"/{task.name}", example).status_code == 200
    assert "security" not in record
    assert description(token=True)["security"] == [{"token": []}]


def test_pages_need_nothing_from_elsewhere(client):
    for path in ("/", "/docs"):
        response = client.get(path)
        assert response.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "http" not in response.text
        assert "<style" not in response.text
        assert "style=" not in response.text
    style = client.get("/static/base.css")
    assert style.headers["Content-Type"] == "text/css; charset=utf-8"
    again = client.get("/static/base.css", headers={"If-None-Match": style.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    script = client.get("/static/server.js")
    assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert client.get("/static/../app.py").status_code == 404
    assert client.get("/static/%2e%2e%2fapp.py").status_code == 404


def test_colours_of_pages_are_those_of_pictures(client):
    from adaptag.rendering.colours import PALETTE, assign_colours

    style = client.get("/static/base.css").text
    for number, colour in enumerate(PALETTE):
        for shade in (colour.light, colour.dark):
            assert f".span-{number} {{ --fill: {shade.fill}; --ink: {shade.ink}; }}" in style
    models = client.get("/models").json()["models"]
    assert models[0]["colours"] == assign_colours(["PER", "LOC"])
