"""`plefka explore`: the service, and a browser that shows its page."""

from typing import Annotated

import typer

from plefka.cli import options, serve

Open = Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")]


def explore(
    net: options.Network,
    host: serve.Host = "127.0.0.1",
    port: serve.Port = 8000,
    token: serve.Token = None,
    workers: serve.Workers = 2,
    warm: serve.Warm = True,
    max_seconds: serve.Seconds = 30.0,
    open_page: Open = True,
    log: serve.Log = False,
) -> None:
    """A page in the browser: tick what was seen, and watch the ranking of causes change."""
    import webbrowser

    from plefka.explorer.settings import QuestionLimits, Settings

    settings = Settings(net, host, port, token, workers, warm, log, QuestionLimits(seconds=max_seconds))
    secret = "" if token is None else f"#token={token}"
    serve.start(settings, or_any=True, then=lambda address: open_page and webbrowser.open(address + secret))
