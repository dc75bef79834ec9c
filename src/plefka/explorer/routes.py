"""The application: the addresses of the service under /api/v1, the page, and who may ask."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

import plefka as pf
from plefka.explorer import network_routes, question_routes
from plefka.explorer.answer_schemas import Refusal
from plefka.explorer.guards import Doorkeeper, TokenGuard
from plefka.explorer.page_files import INDEX
from plefka.explorer.refusals import on_crash, on_invalid, on_refusal
from plefka.explorer.responses import service_of
from plefka.explorer.service import Service
from plefka.explorer.settings import Settings

pages = APIRouter(include_in_schema=False)


@pages.get("/")
async def page(request: Request) -> Response:
    return service_of(request).pages.response(INDEX, request)


@pages.get("/static/{name:path}")
async def static(request: Request, name: str) -> Response:
    return service_of(request).pages.response(name, request)


def application(service: Service) -> FastAPI:
    """The whole service."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.stop()

    app = FastAPI(
        title="plefka", version=pf.__version__, description="Questions about one network of binary units.",
        openapi_url="/api/openapi.json", docs_url=None, redoc_url=None, redirect_slashes=False, lifespan=lifespan,
        middleware=_middleware(service.settings),
        exception_handlers={HTTPException: on_refusal, RequestValidationError: on_invalid, Exception: on_crash},
        responses={code: {"model": Refusal} for code in ("4XX", "503")},
    )  # fmt: skip
    app.state.service = service
    for router in (network_routes.router, question_routes.router):
        app.include_router(router, prefix="/api/v1")
    app.include_router(pages)
    return app


def _middleware(settings: Settings) -> list[Middleware]:
    others = Middleware(
        CORSMiddleware, allow_origins=settings.origins, allow_methods=["GET", "POST"],
        allow_headers=["Authorization", "Content-Type"],
    )  # fmt: skip
    return [
        Middleware(Doorkeeper, settings=settings),
        *([others] if settings.origins else []),
        Middleware(TokenGuard, token=settings.token),
    ]
