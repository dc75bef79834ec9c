"""What all handlers need: the service, and JSON."""

from typing import Any

from fastapi import Request, Response

from plefka.explorer.json_encoding import encoded
from plefka.explorer.service import Service

JSON = "application/json"


def service_of(request: Request) -> Service:
    return request.app.state.service


def json_response(content: Any) -> Response:
    """Of plain numbers and words, or of JSON that a worker has written."""
    return Response(content if isinstance(content, bytes) else encoded(content), media_type=JSON)
