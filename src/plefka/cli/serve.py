"""`plefka serve`: questions about one network over HTTP; `plefka explore`: and a browser that shows its page."""

from collections.abc import Callable
from typing import Annotated

import typer

from plefka.cli import options
from plefka.cli.exits import Interrupts
from plefka.explorer.settings import QuestionLimits, Settings
from plefka.runtime import extras

USUAL_PORT = 8000
LARGEST_OPENED = 32 * 2**20  # bytes of a network that is opened in the page, as it is sent
Host = Annotated[str, typer.Option(help="The address to listen on. Any but this computer's own needs a token.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 for any that is free.")]
AnyPort = Annotated[
    int | None,
    typer.Option(min=0, max=65535, help="The port to listen on. By default 8000, or a free one where that is in use."),
]
Token = Annotated[
    str | None,
    typer.Option(envvar="PLEFKA_TOKEN", show_envvar=True, help="What clients must send: Authorization: Bearer TOKEN."),
]
Workers = Annotated[int, typer.Option(min=1, max=64, help="How many processes answer; each holds the network.")]
Warm = Annotated[bool, typer.Option(help="Ask typical questions first, so that none compiles.")]
Seconds = Annotated[float, typer.Option(min=0.1, help="Seconds after which a question is ended.")]
Rows = Annotated[int, typer.Option(min=1, help="Rows that one question may have.")]
Body = Annotated[int, typer.Option(min=1024, help="Bytes that the body of a request may have.")]
Waiting = Annotated[int, typer.Option(min=1, help="Questions that may wait for a free worker.")]
Memory = Annotated[
    float | None, typer.Option(min=0.5, help="Gigabytes that a worker may use (Linux); a share of all unless given.")
]
Hosts = Annotated[list[str] | None, typer.Option(metavar="NAME", help="A further name of this service, as of a proxy.")]
Origins = Annotated[
    list[str] | None, typer.Option(metavar="ORIGIN", help="A site whose pages may ask, as https://example.org.")
]
Opens = Annotated[
    bool, typer.Option("--open-networks", help="Visitors may open networks of their own, which others cannot see.")
]
Open = Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")]
Log = Annotated[bool, typer.Option(help="Print a line for each request to standard error.")]


def serve(
    net: options.Network,
    host: Host = "127.0.0.1",
    port: Port = USUAL_PORT,
    token: Token = None,
    workers: Workers = 2,
    warm: Warm = True,
    max_seconds: Seconds = 30.0,
    max_rows: Rows = 1000,
    max_body: Body = 4 * 2**20,
    max_waiting: Waiting = 200,
    max_memory: Memory = None,
    allow_host: Hosts = None,
    allow_origin: Origins = None,
    open_networks: Opens = False,
    log: Log = True,
) -> None:
    """A service that answers questions about a network over HTTP, and a page that asks them."""
    memory = None if max_memory is None else int(max_memory * 2**30)
    limits = QuestionLimits(max_seconds, max_rows, max_body, max_waiting, memory)
    settings = Settings(
        net, host, port, token, workers, warm, log, limits, tuple(allow_host or ()), tuple(allow_origin or ()),
        open_networks,
    )  # fmt: skip
    start(settings, or_any=False, then=lambda address: None)


def explore(
    net: options.AnyNetwork = None,
    host: Host = "127.0.0.1",
    port: AnyPort = None,
    token: Token = None,
    workers: Workers = 2,
    warm: Warm = True,
    max_seconds: Seconds = 30.0,
    open_page: Open = True,
    log: Log = False,
) -> None:
    """A page in the browser: tick what was seen, and watch the ranking change; or make a network there."""
    import webbrowser

    limits = QuestionLimits(seconds=max_seconds, body_bytes=LARGEST_OPENED)
    number = USUAL_PORT if port is None else port
    settings = Settings(net, host, number, token, workers, warm, log, limits, opens=True)
    secret = "" if token is None else f"#token={token}"
    start(settings, or_any=port is None, then=lambda address: open_page and webbrowser.open(address + secret))


def start(settings: Settings, *, or_any: bool, then: Callable[[str], object]) -> None:
    """Listen, say where, and answer until the end."""
    with Interrupts() as interrupts:
        if settings.source is not None:
            typer.echo(f"Loading {settings.source} ...", err=True)
        extras.web_service()
        from plefka.explorer import running  # it imports both

        interrupts.check()
        with running.listening(settings.host, settings.port, or_any=or_any) as listener:
            address = running.address(settings.host, listener)
            if or_any and not address.endswith(f":{settings.port}/"):
                typer.echo(f"Port {settings.port} is in use, so a free one was chosen.", err=True)

            def say() -> None:
                print(f"plefka serves {settings.source or 'a new network'} at {address} (Ctrl-C ends it)", flush=True)
                then(address)

            running.serve(settings, listener, say, interrupts.check)
