"""``adaptag serve``: models behind an address."""

from __future__ import annotations

from typing import Annotated

from adaptag.cli.arguments import argument, option
from adaptag.cli.options import ThreadsOption

__all__ = ["serve"]


def serve(
    models: Annotated[
        list[str],
        argument(metavar="MODEL…", help="Model files of any kind; NAME=FILE gives one a name."),
    ],
    host: Annotated[
        str, option(help="The address to bind; all but this machine's own need a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, option(min=0, max=65535, help="The port; 0 takes any that is free.")
    ] = 8000,
    token: Annotated[
        str | None,
        option(
            help="The token that requests need; better set ADAPTAG_TOKEN, which nobody can list.",
            show_default="none; other hosts: a new one",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        option(help="A further name that requests may call this host by. Repeatable."),
    ] = None,
    threads: ThreadsOption = None,
    max_batch: Annotated[
        int, option(min=1, help="Maximum number of texts in a request, and in a call of a model.")
    ] = 1024,
    max_size: Annotated[int, option(min=1, help="Maximum size of a request, in bytes.")] = 1 << 20,
    timeout: Annotated[
        float, option(min=0.1, help="Maximum time of a request, in seconds.")
    ] = 30.0,
    max_connections: Annotated[int, option(min=1, help="Maximum number of connections.")] = 1024,
) -> None:
    """Serve models: POST /tag, /segment and /classify, a page at /, documentation at /docs.

    A model file that is replaced is loaded again. Ctrl-C finishes what is being answered, then
    stops.
    """
    from adaptag.cli.output import say
    from adaptag.parallel import threads_for
    from adaptag.web.running import Address, require_server, run

    require_server()
    from adaptag.server.app import PATHS, make_app
    from adaptag.server.models import Models
    from adaptag.server.service import Service, ServiceLimits
    from adaptag.web.guards import Limits

    threads_for(threads)  # raises where it is not allowed
    address = Address.of(host, port, token, allow_host or ())
    served = Models.load(models)
    limits = Limits(max_size, timeout, max_connections, max_connections)
    service = Service(served, ServiceLimits(max_batch, threads=threads), paths=PATHS)
    for each in served:
        say(f"{each.name}: {each.kind}, loaded from {each.path} in {each.seconds:.2f} s")
    code = run(
        make_app(service, token=address.token is not None),
        address,
        limits,
        say=say,
        observe=service.metrics.observe_request,
    )
    raise SystemExit(code)
