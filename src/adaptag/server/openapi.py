"""The OpenAPI description of a server, from the declarations that check its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adaptag.server import label_studio
from adaptag.server.tasks import TASKS
from adaptag.version import __version__

if TYPE_CHECKING:
    from adaptag.server.declarations import Body

__all__ = ["description"]

ERRORS = {
    "400": "The request is malformed; the message says where.",
    "401": "The token is missing or wrong.",
    "403": "The request comes from a page of another origin.",
    "404": "There is no such model.",
    "408": "The request arrived too slowly.",
    "409": "The model cannot do this.",
    "413": "The request is too large.",
    "421": "The name of the host is not served here.",
    "503": "Too many requests at once; try again after Retry-After seconds.",
}


def description(*, token: bool = False) -> dict[str, Any]:
    """The description; ``token`` says whether requests need one."""
    paths: dict[str, Any] = {}
    for task in TASKS:
        answer: dict[str, Any] = task.answer
        if {"texts", "sentences"} & set(task.body.inputs):
            results = {"type": "array", "items": answer}
            batch = {"type": "object", "properties": {"results": results}}
            answer = {"oneOf": [answer, {**batch, "description": "For texts or sentences."}]}
        paths[f"/{task.name}"] = {"post": _post(task.name, task.summary, task.body, answer)}
    for name, summary, body in (
        ("setup", "Label Studio: check a labelling configuration.", label_studio.SETUP),
        ("predict", "Label Studio: predictions for tasks.", label_studio.PREDICT),
        (
            "webhook",
            "Label Studio: acknowledge an event; nothing is trained.",
            label_studio.WEBHOOK,
        ),
    ):
        paths[f"/{name}"] = {"post": _post(name, summary, body, {"type": "object"})}
    paths["/health"] = {"get": _get("health", "The models, and their state.", "application/json")}
    paths["/metrics"] = {"get": _get("metrics", "Figures for Prometheus.", "text/plain")}
    record: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "adaptag",
            "version": __version__,
            "description": "Tags, segments and classifies text.",
        },
        "paths": paths,
        "components": {
            "schemas": {
                "Error": {
                    "type": "object",
                    "required": ["error"],
                    "properties": {"error": {"type": "string"}},
                }
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
    if token:
        record["security"] = [{"token": []}]
    return record


def _post(name: str, summary: str, body: Body, answer: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {"schema": body.schema()}
    if body.example:
        content["example"] = dict(body.example)
    return {
        "operationId": name,
        "summary": summary,
        "requestBody": {"required": True, "content": {"application/json": content}},
        "responses": {
            "200": {
                "description": "The answer.",
                "content": {"application/json": {"schema": answer}},
            },
            **_errors(),
        },
    }


def _get(name: str, summary: str, kind: str) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": {"description": "The answer.", "content": {kind: {}}}},
    }


def _errors() -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Error"}
    content = {"application/json": {"schema": schema}}
    return {
        status: {"description": meaning, "content": content} for status, meaning in ERRORS.items()
    }
