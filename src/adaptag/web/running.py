"""Runs a service: binds its address, says where it is, and shuts it down when it is told to."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import signal
import socket
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adaptag.errors import AdaptagError, ParameterError
from adaptag.web.access import LOOPBACK, Access, new_token
from adaptag.web.guards import Guard, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from starlette.types import ASGIApp

    from adaptag.web.guards import Observe

__all__ = ["TOKEN_VARIABLE", "Address", "AddressError", "require_server", "run"]

SWITCH = 0.0005  # seconds until a thread that computes lets the one that answers requests go on
TOKEN_VARIABLE = "ADAPTAG_TOKEN"
SHORTEST_TOKEN = 8


class AddressError(AdaptagError):
    """A service cannot be bound to its address."""


def require_server() -> None:
    """Import the packages of services; where they are missing, say how to install them."""
    try:
        import starlette
        import uvicorn  # noqa: F401
    except ImportError:
        raise ParameterError(
            "a server needs Starlette and uvicorn; install them: pip install 'adaptag[serve]'"
        ) from None
    del starlette


@dataclass(frozen=True)
class Address:
    """Where a service is, and who may use it.

    Attributes:
        host: The address it is bound to.
        port: The port; 0 takes any that is free.
        token: The token that requests need; None if none is needed.
        generated: Whether the token was made here, so that nobody knows it yet.
        hosts: Further names that requests may give in their header ``Host``.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    generated: bool = False
    hosts: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        host: str = "127.0.0.1",
        port: int = 8000,
        token: str | None = None,
        hosts: Iterable[str] = (),
    ) -> Address:
        """Complete an address: where others can reach it there must be a token.

        It is the given one, that of the environment variable ``ADAPTAG_TOKEN``, or a new one.
        """
        given = token or os.environ.get(TOKEN_VARIABLE) or None
        if given is not None and (len(given) < SHORTEST_TOKEN or not given.isascii()):
            raise ParameterError(
                f"the token has {len(given)} characters; allowed: {SHORTEST_TOKEN} or more, all "
                "of them ASCII"
            )
        generated = given is None and not is_loopback(host)
        names = frozenset(name.lower() for name in hosts)
        return cls(host, port, new_token() if generated else given, generated, names)

    @property
    def access(self) -> Access:
        """Who may use the service.

        Where others can reach it, the token protects it whatever name they use for this machine.
        """
        return Access(self.token, self.hosts if is_loopback(self.host) else None)

    @property
    def url(self) -> str:
        """The address for a browser on this machine."""
        host = "127.0.0.1" if self.host in ("", "0.0.0.0") else self.host
        host = "::1" if host == "::" else host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    if host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def run(
    app: ASGIApp,
    address: Address,
    limits: Limits | None = None,
    *,
    title: str = "adaptag",
    say: Callable[[str], None] | None = None,
    ready: Callable[[Address], None] | None = None,
    observe: Observe | None = None,
) -> int:
    """Run a service until Ctrl-C or SIGTERM; what is being answered then is finished first.

    Args:
        app: The service; it is guarded here.
        address: Where it is.
        limits: Its limits.
        title: What to call it.
        say: Takes messages for the user; by default they go to standard error.
        ready: Called with the address, once its port is known and bound.
        observe: Called at the end of each request; see ``Guard``.

    Returns:
        The exit code.
    """
    require_server()
    import uvicorn

    from adaptag.web.connections import limited_protocol

    say = say or _say
    limits = limits or Limits()
    listener = bind(address)
    address = _with_port(address, listener.getsockname()[1])
    config = uvicorn.Config(
        Guard(app, address.access, limits, observe),
        http=limited_protocol(limits),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=max(1, round(limits.timeout)),
        backlog=min(limits.connections, 2048),
    )
    server = uvicorn.Server(config)
    sys.setswitchinterval(SWITCH)
    say(_greeting(title, address))
    if ready is not None:
        ready(address)
    with _signals_end_quietly(), contextlib.closing(listener):
        server.run(sockets=[listener])
    say("stopped")
    return 0 if server.started else 1


def bind(address: Address) -> socket.socket:
    """Bind the address, and listen."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # with the protocol, or asyncio does not turn off the delay of small packets
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise AddressError(
            f"{address.host}:{address.port}: {(reason or str(error)).lower()}; choose another "
            "address with --host and --port (0 takes any port that is free)"
        ) from None
    return listener


def _with_port(address: Address, port: int) -> Address:
    return Address(address.host, port, address.token, address.generated, address.hosts)


def _greeting(title: str, address: Address) -> str:
    query = f"?token={address.token}" if address.generated else ""
    lines = [f"{title} is at {address.url}{query} (Ctrl-C stops it)"]
    if address.generated:
        lines.append(f"token: {address.token}")
    elif address.token is not None:
        lines.append("requests need the token that was given; in a browser, append ?token=TOKEN")
    return "\n".join(lines)


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


@contextlib.contextmanager
def _signals_end_quietly() -> Iterator[None]:
    """Ignore the signals that uvicorn raises again after it has shut down because of them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous: dict[int, Any] = {
        number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
