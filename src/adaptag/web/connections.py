"""Connections that cannot be kept open for nothing: limits that uvicorn does not have.

A client that sends the head of a request slowly, or does not read its answer, is cut off; of more
connections than are allowed, each is told so and closed.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from adaptag.web.guards import Limits, json_bytes

if TYPE_CHECKING:
    import asyncio

__all__ = ["limited_protocol"]


def limited_protocol(limits: Limits) -> type[Any]:
    """Make uvicorn's class of HTTP connections, with limits."""
    base = _base()

    class LimitedConnection(base):  # type: ignore[misc, valid-type]
        """A connection with limits."""

        _head_timer: asyncio.TimerHandle | None = None
        _write_timer: asyncio.TimerHandle | None = None
        _refused = False

        def connection_made(self, transport: Any) -> None:
            if len(self.connections) >= limits.connections:
                transport.write(_too_many_connections())
                transport.close()
                self.transport = transport
                self._refused = True
                return
            super().connection_made(transport)
            self._watch_head()

        def connection_lost(self, error: Exception | None) -> None:
            self._stop("_head_timer")
            self._stop("_write_timer")
            if not self._refused:
                super().connection_lost(error)

        def data_received(self, data: bytes) -> None:
            if self._refused:
                return
            super().data_received(data)
            self._watch_head()

        def _stop(self, timer: str) -> None:
            if getattr(self, timer) is not None:
                getattr(self, timer).cancel()
                setattr(self, timer, None)

        def _watch_head(self) -> None:
            """Start the time that the head of a request may take, or stop it where one runs."""
            running = self.cycle is not None and not self.cycle.response_complete
            if running:
                self._stop("_head_timer")
            elif self._head_timer is None and self.transport is not None:
                self._head_timer = self.loop.call_later(limits.timeout, self._cut_off_head)

        def _cut_off_head(self) -> None:
            self._head_timer = None
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

        def pause_writing(self) -> None:
            super().pause_writing()
            if self._write_timer is None:
                self._write_timer = self.loop.call_later(limits.timeout, self.transport.abort)

        def resume_writing(self) -> None:
            self._stop("_write_timer")
            super().resume_writing()

    return LimitedConnection


def _base() -> Any:
    """The quickest of uvicorn's implementations that is installed."""
    if importlib.util.find_spec("httptools") is not None:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

        return HttpToolsProtocol
    from uvicorn.protocols.http.h11_impl import H11Protocol

    return H11Protocol


def _too_many_connections() -> bytes:
    body = json_bytes({"error": "too many connections"})
    head = (
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nretry-after: 1\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
