"""``adaptag annotate``: a page to label text on, with a model that learns meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adaptag.cli.arguments import argument, option
from adaptag.cli.options import EncodingOption
from adaptag.cli.output import say
from adaptag.errors import counted

if TYPE_CHECKING:
    from adaptag.annotation.store import Store
    from adaptag.web.running import Address

__all__ = ["annotate"]

EXPORTS = "columns, jsonl, label-studio, docbin (of spaCy) or model"


def annotate(
    project: Annotated[
        Path, argument(metavar="PROJECT", help="The folder of the project; made if it is new.")
    ],
    imports: Annotated[
        list[Path] | None,
        option("--import", help="Text, column or JSON lines file to add; can be repeated."),
    ] = None,
    import_format: Annotated[
        str, option(help="The format of these files: auto, text, columns or jsonl.")
    ] = "auto",
    encoding: EncodingOption = None,
    tokenizer: Annotated[
        str | None,
        option(
            help="What cuts text into tokens: unicode, whitespace or characters.",
            show_default="that of the project, at first unicode",
        ),
    ] = None,
    labels: Annotated[
        str | None, option(help="Labels to add, with commas between them: PER,LOC.")
    ] = None,
    tags: Annotated[
        bool,
        option("--tags", help="In a new project: label each token, as with parts of speech."),
    ] = False,
    strategy: Annotated[
        str | None,
        option(
            help="Which sentence is next: uncertain, random or in-order.",
            show_default="that of the project, at first uncertain",
        ),
    ] = None,
    annotator: Annotated[
        str | None, option(help="The name of the annotator.", show_default="the user's name")
    ] = None,
    host: Annotated[str, option(help="The address of the page.")] = "127.0.0.1",
    port: Annotated[
        int, option(min=0, max=65535, help="Its port; 0 takes any that is free.")
    ] = 8017,
    token: Annotated[
        str | None, option(help="The token that others need, where the host is another one.")
    ] = None,
    open_page: Annotated[
        bool, option("--open/--no-open", help="Open the page in a browser.")
    ] = True,
    export: Annotated[
        Path | None, option(help="Write the labels to this file, and start no server.")
    ] = None,
    format: Annotated[  # noqa: A002
        str | None, option(help=f"Of --export: {EXPORTS}.", show_default="by the ending")
    ] = None,
) -> None:
    """Label text on a page, with a model that learns from every answer and suggests the next.

    Answers are on disk before the page shows the next sentence. Ctrl-C stops the server; the same
    command goes on later.
    """
    import contextlib

    from adaptag.annotation.store import Store
    from adaptag.storage.files import folder_to_fill

    changes = bool(imports or labels or strategy or tags or tokenizer)
    with contextlib.ExitStack() as stack:
        if export is None:
            stack.enter_context(folder_to_fill(project))
        store = stack.enter_context(
            Store(project, create=export is None, exclusive=export is None or changes)
        )
        stack.enter_context(store.set_up())
        if tags:
            store.set_kind("tags")
        if tokenizer is not None:
            store.set_tokenizer(tokenizer)
        for path in imports or []:
            _import(store, path, import_format, encoding)
        if labels:
            store.add_labels(name.strip() for name in labels.split(",") if name.strip())
        if export is not None:
            from adaptag.annotation.exporting import export as write

            say(f"{export}: {write(store, export, format):,} labelled sentences")
            return
        code = _serve(store, strategy, annotator, host, port, token, open_page)
    if code:
        raise SystemExit(code)


def _import(
    store: Store,
    path: Path,
    format: str,  # noqa: A002
    encoding: str | None,
) -> None:
    from adaptag.annotation.importing import read_texts
    from adaptag.storage.encodings import with_encoding
    from adaptag.storage.files import read_bytes

    found = read_texts(
        read_bytes(with_encoding(path, encoding)), str(path), format, store.tokenizer
    )
    n = store.add_texts(found.texts, path.name, labels=found.labels, kind=found.kind)
    labelled = f", {found.n_labelled:,} of them labelled" if found.n_labelled else ""
    say(f"{path}: {counted(n, 'sentence')} added{labelled}")
    if found.cut:
        say(f"note: {found.cut:,} spans begin or end inside a token, which is left unlabelled")


def _serve(
    store: Store,
    strategy: str | None,
    annotator: str | None,
    host: str,
    port: int,
    token: str | None,
    open_page: bool,
) -> int:
    from adaptag.web.running import Address, require_server, run

    require_server()
    from adaptag.annotation.app import LIMITS, annotation_app
    from adaptag.annotation.session import Session

    session = Session(store)
    if strategy is not None:
        session.set_strategy(strategy)

    def ready(address: Address) -> None:
        store.keep()
        if open_page:
            _open(address)

    app = annotation_app(session, annotator or _user())
    address = Address.of(host, port, token)
    return run(app, address, LIMITS, title=f"labelling of {store.folder}", say=say, ready=ready)


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user without a name
        return "annotator"


def _open(address: Address) -> None:
    """Open the page in a browser, without waiting for it."""
    import threading
    import webbrowser

    query = f"?token={address.token}" if address.token else ""
    threading.Thread(target=webbrowser.open, args=(address.url + query,), daemon=True).start()
