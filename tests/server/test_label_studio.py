"""The contract of Label Studio's machine-learning backends."""

from __future__ import annotations

import json

import pytest

from tests.server.conftest import make_client

NER = """<View><Header value="Names"/>
<Labels name="tags" toName="body"><Label value="per"/><Label value="LOC"/></Labels>
<Text name="body" value="$content"/></View>"""
CHOICES = """<View><Text name="text" value="$text"/>
<Choices name="mood" toName="text"><Choice value="pos"/><Choice value="neg"/></Choices></View>"""


def post(client, path, body):
    response = client.post(path, content=json.dumps(body).encode())
    return response.status_code, response.json()


@pytest.fixture(scope="module")
def backend(model_files):
    """A server of one tagger, which needs no name."""
    with make_client(model_files[:1]) as client:
        yield client


def test_setup_names_the_version_of_the_model(backend):
    status, answer = post(backend, "/setup", {"project": "1.2", "schema": NER, "hostname": "x"})
    assert status == 200
    assert answer["model_version"].startswith("names 20")


def test_predictions_are_regions(backend):
    text = "Anna Berg is in Rome"
    request = {
        "tasks": [{"id": 7, "data": {"content": text}}, {"id": 8, "data": {"content": ""}}],
        "project": "1.2",
        "label_config": NER,
        "params": {"context": None},
    }
    status, answer = post(backend, "/predict", request)
    assert status == 200
    first, second = answer["results"]
    assert [region["value"] for region in first["result"]] == [
        {"start": 0, "end": 9, "text": "Anna Berg", "labels": ["per"]},
        {"start": 16, "end": 20, "text": "Rome", "labels": ["LOC"]},
    ]
    for region in first["result"]:
        assert (region["from_name"], region["to_name"]) == ("tags", "body")
        assert region["type"] == "labels"
        assert 0 < region["score"] <= 1
    assert 0 < first["score"] <= 1
    assert first["model_version"] == answer["model_version"]
    assert second["result"] == []
    assert len({region["id"] for region in first["result"]}) == 2


def test_labels_that_the_project_does_not_have_are_left_out(backend):
    only_places = NER.replace('<Label value="per"/>', "")
    request = {"tasks": [{"data": {"content": "Anna in Rome"}}], "label_config": only_places}
    _, answer = post(backend, "/predict", request)
    assert [r["value"]["labels"] for r in answer["results"][0]["result"]] == [["LOC"]]


def test_each_model_is_a_backend(client):
    task = {"data": {"text": "a good film"}}
    _, answer = post(client, "/models/films/predict", {"tasks": [task], "label_config": CHOICES})
    (region,) = answer["results"][0]["result"]
    assert (region["type"], region["from_name"]) == ("choices", "mood")
    assert region["value"] == {"choices": ["pos"]}
    _, answer = post(client, "/models/chinese/predict", {"tasks": [{"data": {"text": "我们在"}}]})
    assert [r["value"]["text"] for r in answer["results"][0]["result"]] == ["我们", "在"]
    assert client.get("/models/films/health").json()["status"] == "UP"
    assert client.get("/models/none/health").status_code == 404


def test_webhooks_are_acknowledged(backend):
    status, answer = post(backend, "/webhook", {"action": "ANNOTATION_CREATED", "project": {}})
    assert status == 200
    assert "does not train" in answer["message"]


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/setup", {"schema": "<View>"}, "is not XML"),
        ("/setup", {"schema": "<View/>"}, "has no <Labels>"),
        ("/setup", {"schema": CHOICES}, "has no <Labels>"),
        ("/setup", {"schema": '<!DOCTYPE x [<!ENTITY a "b">]><View/>'}, "declares entities"),
        ("/setup", {"schema": 1}, "schema is the int 1"),
        ("/predict", {}, "exactly one of 'tasks'"),
        ("/predict", {"tasks": [1]}, "tasks[0] is the int 1"),
        ("/predict", {"tasks": [{}]}, "tasks[0].data.text is None"),
        ("/predict", {"tasks": [{"data": {"text": 1}}]}, "tasks[0].data.text is the int 1"),
    ],
)
def test_bad_requests(backend, path, body, message):
    status, answer = post(backend, path, body)
    assert status == 400
    assert message in answer["error"]
