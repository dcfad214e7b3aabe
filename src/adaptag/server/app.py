"""The addresses of the server: an ASGI application."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route, Router

from adaptag.rendering.colours import assign_colours
from adaptag.server import label_studio
from adaptag.server.metrics import TYPE
from adaptag.server.openapi import description
from adaptag.server.tasks import TASKS
from adaptag.web.guards import send_json
from adaptag.web.static import PageFiles

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from adaptag.server.declarations import Body
    from adaptag.server.models import ServedModel
    from adaptag.server.service import Service
    from adaptag.server.tasks import Task

__all__ = ["PATHS", "make_app"]

PAGES = {"/": "server.html", "/docs": "docs.html"}
PATHS = (
    *(f"/{task.name}" for task in TASKS),
    *("/setup", "/predict", "/webhook", "/health", "/metrics", "/openapi.json", "/models"),
    *PAGES,
)


def make_app(service: Service, *, token: bool = False) -> ASGIApp:
    """Make the application; ``token`` says whether requests need one, for its description."""
    files = PageFiles("adaptag.web", "adaptag.server")
    record = description(token=token)

    async def openapi(_: Request) -> Response:
        return JSONResponse(record)

    async def metrics(_: Request) -> Response:
        return Response(service.metrics_text(), media_type=TYPE)

    async def models(_: Request) -> Response:
        return JSONResponse({"models": [_summary(served) for served in service.models]})

    endpoints = {f"/{task.name}": TaskEndpoint(service, task) for task in TASKS}
    routes = [
        *(Route(path, endpoint, methods=["POST"]) for path, endpoint in endpoints.items()),
        *_backend(service),
        Route("/metrics", metrics),
        Route("/openapi.json", openapi),
        Route("/models", models),
        Mount("/models/{model}", routes=_backend(service)),
        *(Route(path, files[name], methods=["GET"]) for path, name in PAGES.items()),
        Mount("/static", files),
    ]
    router = Router(routes, redirect_slashes=False, lifespan=service.lifespan)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        """Send requests of tasks past the router, which would cost as much as their answer."""
        chosen: ASGIApp = router
        if scope["type"] == "http" and scope["method"] == "POST":
            chosen = endpoints.get(scope["path"], router)
        await chosen(scope, receive, send)

    return app


def _summary(served: ServedModel) -> dict[str, Any]:
    """What the page needs to know about a model."""
    model: Any = served.model
    labels = [] if served.kind == "segmenter" else list(model.labels)
    if served.kind == "model":
        labels = [kind for kind in model.scheme.types if kind] or labels
    return {
        "name": served.name,
        "kind": served.kind,
        "version": served.version,
        "colours": assign_colours(labels),
    }


@dataclass(frozen=True)
class TaskEndpoint:
    """Answers requests of a task: an ASGI application."""

    service: Service
    task: Task

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Answer one."""
        task = self.task
        request = task.body.read(await read_body(receive))
        served = self.service.models.find(request.get("model"), (task.kind,))
        name = task.body.input_of(request)
        single = name in ("text", "tokens")
        is_text = name in ("text", "texts")
        answers = await self.service.answer(
            served,
            task.name,
            [request[name]] if single else request[name],
            is_text=is_text,
            probabilities=request.get("probabilities", is_text and task.name == "tag"),
            nbest=request.get("nbest", 0),
            constraints=request.get("constraints"),
        )
        await send_json(send, answers[0] if single else {"results": answers})


async def read_body(receive: Receive) -> bytes:
    """The body of a request; the guard has limited it."""
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
    return body


def _backend(service: Service) -> list[Route]:
    """Label Studio's addresses; the model is the one in the path, or the only one."""

    def endpoint(
        body: Body, answer: Callable[[ServedModel, dict[str, Any]], Awaitable[dict[str, Any]]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def handle(request: Request) -> Response:
            values = body.read(await request.body())
            served = service.models.find(request.path_params.get("model"))
            return JSONResponse(await answer(served, values))

        return handle

    async def setup(served: ServedModel, values: dict[str, Any]) -> dict[str, Any]:
        return label_studio.setup(served, values)

    async def predict(served: ServedModel, values: dict[str, Any]) -> dict[str, Any]:
        return await label_studio.predict(service, served, values)

    async def webhook(_: ServedModel, values: dict[str, Any]) -> dict[str, Any]:
        return label_studio.webhook(values)

    async def health(request: Request) -> Response:
        if "model" in request.path_params:
            service.models.find(request.path_params["model"])
        return JSONResponse(service.health())

    return [
        Route("/health", health),
        Route("/setup", endpoint(label_studio.SETUP, setup), methods=["POST"]),
        Route("/predict", endpoint(label_studio.PREDICT, predict), methods=["POST"]),
        Route("/webhook", endpoint(label_studio.WEBHOOK, webhook), methods=["POST"]),
    ]
