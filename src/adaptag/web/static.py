"""The files of pages, which are part of the package: no build step, and no other site needed."""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from adaptag.rendering.colours import PALETTE
from adaptag.web.guards import RequestError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import Receive, Scope, Send

    from adaptag.rendering.colours import Shade

__all__ = ["PageFile", "PageFiles", "palette_style"]

BASE_STYLE = "base.css"

TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class PageFile:
    """A file of a page: an ASGI application that answers with it.

    Attributes:
        content: The file.
        type: Its media type.
        tag: What changes whenever the content does.
    """

    content: bytes
    type: str
    tag: bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Answer with the file, or that the browser has it already."""
        known = dict(scope["headers"]).get(b"if-none-match") == self.tag
        body = b"" if known or scope["method"] == "HEAD" else self.content
        headers = [
            (b"content-type", f"{self.type}; charset=utf-8".encode()),
            (b"etag", self.tag),
            (b"cache-control", b"no-cache"),  # always ask whether it has changed
        ]
        if not known:
            headers.append((b"content-length", str(len(self.content)).encode()))
        status = 304 if known else 200
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class PageFiles:
    """The files in the folder ``static`` of some packages: an ASGI application for a mount.

    Args:
        packages: The packages; a file of a later one hides one of the same name.
    """

    def __init__(self, *packages: str) -> None:
        self.files: dict[str, PageFile] = {}
        for package in packages:
            for entry in (resources.files(package) / "static").iterdir():
                if entry.is_file():
                    content = entry.read_bytes()
                    if entry.name == BASE_STYLE:
                        content += palette_style().encode()
                    self.files[entry.name] = _page_file(entry.name, content)

    def __getitem__(self, name: str) -> PageFile:
        """One of the files."""
        return self.files[name]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the file that the end of the path names."""
        name = scope["path"].rpartition("/")[2]
        if name not in self.files or scope["method"] not in ("GET", "HEAD"):
            raise RequestError(f"there is no file {name!r}", 404)
        await self.files[name](scope, receive, send)


def palette_style() -> str:
    """The colours of labels, ``.span-0`` and so on, as those of pictures of texts."""

    def rules(shades: Iterable[Shade]) -> str:
        return "".join(
            f".span-{k} {{ --fill: {shade.fill}; --ink: {shade.ink}; }}\n"
            for k, shade in enumerate(shades)
        )

    dark = rules(colour.dark for colour in PALETTE)
    light = rules(colour.light for colour in PALETTE)
    return f"\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}}}\n"


def _page_file(name: str, content: bytes) -> PageFile:
    suffix = name[name.rfind(".") :]
    kind = TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return PageFile(content, kind, f'"{hashlib.sha256(content).hexdigest()[:16]}"'.encode())
