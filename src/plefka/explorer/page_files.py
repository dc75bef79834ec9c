"""The page and its files. They come from the package, by a list that is made once: no path of a request is opened."""

import hashlib
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from starlette.requests import Request
from starlette.responses import Response

from plefka.explorer.refusals import refuse

INDEX = "index.html"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
}


class Pages:
    """Every file of the page, by its address below /static."""

    def __init__(self):
        self.files = dict(_listed(files("plefka.explorer").joinpath("page"), ""))

    def response(self, name: str, request: Request) -> Response:
        """The file of that name; names that are not in the list are not looked for."""
        entry = self.files.get(name)
        if entry is None:
            raise refuse(404, "not_found", "there is no such file. The page is at /.")
        content = entry.read_bytes()
        kind = TYPES.get(PurePosixPath(name).suffix, "application/octet-stream")
        return tagged(content, request, {"Content-Type": kind})


def tagged(content: bytes, request: Request, headers: dict[str, str]) -> Response:
    """With an ETag, by which a browser asks whether its copy is still the same."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
    headers = {**headers, "ETag": tag, "Cache-Control": "no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(None, 304, headers)
    return Response(content, 200, headers)


def _listed(folder: Traversable, before: str) -> Iterator[tuple[str, Traversable]]:
    if not folder.is_dir():
        return
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _listed(entry, f"{before}{entry.name}/")
        else:
            yield f"{before}{entry.name}", entry
