"""Who may use a service: the checks of host, origin and token, as functions of the headers."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COOKIE", "LOOPBACK", "Access", "new_token", "split_token"]

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
COOKIE = "adaptag"


def new_token() -> str:
    """Make a token that cannot be guessed."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Access:
    """Who may use a service.

    Attributes:
        token: The token that every request needs; None if none is needed.
        hosts: The names that requests may give in their header ``Host``, beside those of this
            machine; None allows any name. This protects from DNS rebinding: a page of a name that
            is made to point to this machine sends that name.
    """

    token: str | None = None
    hosts: frozenset[str] | None = frozenset()

    def host_error(self, headers: Mapping[bytes, bytes]) -> str | None:
        """What is wrong with the host that a request names; None if nothing is."""
        if self.hosts is None:
            return None
        name = host_name(headers.get(b"host", b"").decode("latin-1"))
        if name in LOOPBACK or name in self.hosts:
            return None
        allowed = ", ".join(sorted(LOOPBACK | self.hosts))
        return f"the host {name!r} is not served here; allowed: {allowed}"

    def origin_error(self, headers: Mapping[bytes, bytes], method: str) -> str | None:
        """What is wrong with the origin of a request; None if nothing is.

        Requests of pages of other origins are refused. A link to a page may be followed from
        anywhere: the other page cannot read the answer.
        """
        origin = headers.get(b"origin")
        if origin is not None:
            _, _, place = origin.partition(b"://")
            if not place or place.lower() != headers.get(b"host", b"").lower():
                return f"requests from {origin.decode('latin-1')!r} are refused: another origin"
        site = headers.get(b"sec-fetch-site", b"none")
        if site in (b"none", b"same-origin"):
            return None
        followed_link = (
            method == "GET"
            and headers.get(b"sec-fetch-mode") == b"navigate"
            and headers.get(b"sec-fetch-dest") == b"document"
        )
        if followed_link:
            return None
        return f"{site.decode('latin-1')} requests are refused: another origin"

    def accepts(self, headers: Mapping[bytes, bytes]) -> bool:
        """Whether a request shows the token, in the header ``Authorization`` or as a cookie."""
        if self.token is None:
            return True
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer":
            return same(given.strip(), self.token.encode())
        if scheme.lower() == b"basic":  # the password; for clients that know no other way
            return same(_password(given), self.token.encode())
        cookie = _cookies(headers.get(b"cookie", b"")).get(COOKIE.encode(), b"")
        return same(cookie, self.cookie.encode())

    @property
    def cookie(self) -> str:
        """The value of the cookie: not the token, but made of it."""
        return hmac.new((self.token or "").encode(), b"adaptag cookie", hashlib.sha256).hexdigest()


def same(a: bytes, b: bytes) -> bool:
    """Compare secrets in a time that does not depend on where they differ."""
    return hmac.compare_digest(a, b)


@lru_cache(maxsize=64)
def host_name(host: str) -> str:
    """The name in a header ``Host``, without its port and without the brackets of IPv6."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().rstrip(".")


def split_token(query: bytes) -> tuple[str | None, str]:
    """The token in the query of an address, and the query without it."""
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    token = next((value for name, value in pairs if name == "token"), None)
    return token, urlencode([(name, value) for name, value in pairs if name != "token"])


def _password(encoded: bytes) -> bytes:
    try:
        return base64.b64decode(encoded).partition(b":")[2]
    except ValueError:
        return b""


def _cookies(header: bytes) -> dict[bytes, bytes]:
    pairs = (part.strip().partition(b"=") for part in header.split(b";"))
    return {name: value for name, _, value in pairs}
