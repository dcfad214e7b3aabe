"""The guard of a service: an ASGI middleware that refuses what must not reach it.

It checks host, origin and token, reads the body within limits of size and time, limits how many
requests run at once and for how long, and answers errors as JSON, ``{"error": …}``.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adaptag.errors import AdaptagError
from adaptag.web.access import COOKIE, Access, same, split_token
from adaptag.web.deadlines import Deadlines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from adaptag.web.deadlines import Deadline

    Observe = Callable[[str, int, float], None]

__all__ = ["SECURITY_HEADERS", "Guard", "Limits", "RequestError", "json_bytes", "send_json"]

logger = logging.getLogger("adaptag.web")

CONTENT_POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
SECURITY_HEADERS = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


@dataclass(frozen=True)
class Limits:
    """The limits of a service.

    Attributes:
        size: The largest body of a request, in bytes.
        timeout: The time that a request may take to arrive, and then to be answered, in seconds.
        requests: How many requests may run at once.
        connections: How many connections may be open at once.
    """

    size: int = 1 << 20
    timeout: float = 30.0
    requests: int = 1024
    connections: int = 1024


class RequestError(AdaptagError):
    """A request that cannot be answered.

    Attributes:
        status: The HTTP status of the answer.
        headers: Further headers of the answer.
    """

    def __init__(
        self, message: str, status: int = 400, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})


class Guard:
    """Lets through what is allowed; see the module.

    Args:
        app: The service.
        access: Who may use it.
        limits: Its limits.
        observe: Called with the path, the status and the seconds of each request at its end; the
            status is 0 where the client was gone before.
    """

    def __init__(
        self,
        app: ASGIApp,
        access: Access | None = None,
        limits: Limits | None = None,
        observe: Observe | None = None,
    ) -> None:
        self.app = app
        self.access = access or Access()
        self.limits = limits or Limits()
        self.observe = observe
        self.n_running = 0
        self._deadlines = Deadlines(self.limits.timeout)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered; see the module."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            else:  # a WebSocket
                await send({"type": "websocket.close", "code": 1008})
            return
        begin = time.perf_counter()
        response = _Response(send)
        try:
            await self._answer(scope, receive, response)
        finally:
            if self.observe is not None:
                self.observe(scope["path"], response.status, time.perf_counter() - begin)

    async def _answer(self, scope: Scope, receive: Receive, response: _Response) -> None:
        """Answer a request, whatever happens."""
        scope.setdefault("app", self.app)  # so that a router raises errors, which are handled here
        try:
            headers: dict[bytes, bytes] = dict(scope["headers"])
            if await self._refuse(scope, headers, response):
                return
            if self.n_running >= self.limits.requests:
                raise RequestError("too many requests at once", 503, {"Retry-After": "1"})
            self.n_running += 1
            try:
                await self._run(scope, headers, receive, response)
            finally:
                self.n_running -= 1
        except RequestError as error:
            await response.send_error(error.status, str(error), error.headers)
        except AdaptagError as error:
            await response.send_error(400, str(error))
        except Exception as error:
            status = getattr(error, "status_code", None)  # of Starlette's own errors
            if status is not None:
                await response.send_error(status, _sentence(error, scope), error.headers)  # type: ignore[attr-defined]
                return
            logger.exception("%s %s failed", scope["method"], scope["path"])
            await response.send_error(500, "an error of the server; its log says more")

    async def _refuse(self, scope: Scope, headers: dict[bytes, bytes], response: _Response) -> bool:
        """Refuse who may not use the service; return whether the request is answered with that."""
        access, method = self.access, scope["method"]
        if error := access.host_error(headers):
            raise RequestError(error, 421, {"Connection": "close"})
        if error := access.origin_error(headers, method):
            raise RequestError(error, 403, {"Connection": "close"})
        if access.token is None:
            return False
        token = None
        if b"token=" in scope["query_string"]:
            token, query = split_token(scope["query_string"])
        if token is not None and method == "GET" and same(token.encode(), access.token.encode()):
            await response.redirect(
                scope["path"] + ("?" + query if query else ""),
                f"{COOKIE}={access.cookie}; HttpOnly; SameSite=Strict; Path=/",
            )
            return True
        if not access.accepts(headers):
            message = "a token is required: send the header 'Authorization: Bearer TOKEN'"
            raise RequestError(message, 401, {"WWW-Authenticate": "Bearer", "Connection": "close"})
        return False

    async def _run(
        self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, response: _Response
    ) -> None:
        """Read the request and have it answered.

        One time limit counts until the request is there, another until the answer begins.
        """
        response.deadline = deadline = self._deadlines.start()
        body = None
        try:
            body = await self._read(headers, receive)
            if body is not None:
                deadline.restart()
                await self.app(scope, _Body(body, receive), response)
        except asyncio.CancelledError:
            if not deadline.exceeded:
                raise
            deadline.uncancel()
            seconds = f"{self.limits.timeout:g} s"
            if body is None:
                text = f"the request did not arrive within {seconds}"
                raise RequestError(text, 408, {"Connection": "close"}) from None
            text = f"no answer within {seconds}"
            raise RequestError(text, 503, {"Retry-After": "1"}) from None
        finally:
            deadline.stop()

    async def _read(self, headers: dict[bytes, bytes], receive: Receive) -> bytes | None:
        """Read the body of a request; None if the client has gone."""
        length = headers.get(b"content-length", b"0")
        if not length.isdigit():
            raise RequestError("the header Content-Length is not a number")
        if int(length) > self.limits.size:
            raise self._too_large()
        if length == b"0" and b"transfer-encoding" not in headers:
            return b""
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            part = message.get("body", b"")
            size += len(part)
            if size > self.limits.size:
                raise self._too_large()
            parts.append(part)
            more = message.get("more_body", False)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _too_large(self) -> RequestError:
        text = f"the request is too large; allowed: {self.limits.size:,} bytes"
        return RequestError(text, 413, {"Connection": "close"})


class _Body:
    """Gives a body that was read to the service, then what follows it."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


class _Response:
    """Sends an answer, adds the headers that all answers have, and knows whether it has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.deadline: Deadline | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self.deadline is not None:
                self.deadline.stop()
            message = {**message, "headers": [*message.get("headers", ()), *SECURITY_HEADERS]}
        await self._send(message)

    async def send_error(
        self, status: int, text: str, headers: Mapping[str, str] | None = None
    ) -> None:
        if self.status:  # nothing can be said any more; the server closes the connection
            return
        await send_json(self, {"error": text}, status, headers)

    async def redirect(self, location: str, cookie: str) -> None:
        path = "/" + location.lstrip("/\\")  # never another host
        headers = [(b"location", path.encode()), (b"set-cookie", cookie.encode())]
        await self({"type": "http.response.start", "status": 303, "headers": headers})
        await self({"type": "http.response.body", "body": b""})


def _sentence(error: Exception, scope: Scope) -> str:
    """What Starlette's error means."""
    allowed = (getattr(error, "headers", None) or {}).get("Allow")
    if allowed:
        allowed = ", ".join(sorted(allowed.split(", ")))
        return f"{scope['path']} does not take {scope['method']}; allowed: {allowed}"
    if getattr(error, "status_code", None) == 404:
        return f"there is no {scope['path']} here"
    return str(getattr(error, "detail", error))


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def json_bytes(value: Any) -> bytes:
    """A value as JSON, as short as possible."""
    try:
        return _encode(value).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only JSON's escapes can hold
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


async def send_json(
    send: Send, value: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> None:
    """Answer with JSON."""
    body = json_bytes(value)
    pairs = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if headers:
        pairs += [
            (name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()
        ]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
