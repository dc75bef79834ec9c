"""The application: the addresses of the service under /api/v1, the page, and who may ask."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

import plefka as pf
from plefka.explorer import answer_schemas as answers
from plefka.explorer import schemas
from plefka.explorer.bodies import CheckedRoute
from plefka.explorer.guards import Doorkeeper, TokenGuard
from plefka.explorer.outcomes import Failure, encoded
from plefka.explorer.responses import INDEX, JSON, on_crash, on_invalid, on_refusal, refuse, refused, tagged
from plefka.explorer.served_network import ServedNetwork
from plefka.explorer.service import Service
from plefka.methods.posterior import ACCURACIES

MOST_GUESSED = 10_000  # units among which the nearest name is looked for; it would take a second among 100,000
Named = Annotated[str, Query(max_length=schemas.LONGEST_NAME, description="The name of a unit.")]
GONE = 499  # the client has left; for the log only
RANKED_BY_DEFAULT = 10  # causes of each method that are compared
Key = Annotated[
    str | None, Query(max_length=64, description="The key of an opened network; that of the service unless given.")
]
about, questions = APIRouter(), APIRouter(route_class=CheckedRoute)
pages = APIRouter(include_in_schema=False)
WORDS = {"method_does_not_apply": "does_not_apply", "too_long": "too_long", "busy": "busy"}


def service_of(request: Request) -> Service:
    return request.app.state.service


async def network_of(request: Request, network: Key = None) -> ServedNetwork:
    """The network that is asked about."""
    found = service_of(request).served(network)
    if isinstance(found, Failure):
        raise refused(found)
    return found


Network = Annotated[ServedNetwork, Depends(network_of)]


def json_response(content: Any) -> Response:
    """Of plain numbers and words, or of JSON that a worker has written; a failure is refused."""
    if isinstance(content, Failure):
        raise refused(content)
    return Response(content if isinstance(content, bytes) else encoded(content), media_type=JSON)


# ---- about the network, without computing ----------------------------------------------------------------------------


@about.get("/health", response_model=answers.HealthAnswer)
async def health(request: Request) -> Response:
    """Whether the service runs, and whether all workers have loaded the network. Needs no token."""
    return json_response({"status": "ok", "ready": service_of(request).pool.is_ready, "version": pf.__version__})


@about.get("/network", response_model=answers.NetworkAnswer)
async def facts(request: Request, network: Network) -> Response:
    """What the network consists of, which methods can serve it, and the limits of a question."""
    return json_response(service_of(request).facts(network))


@about.get("/units", response_model=answers.UnitsAnswer)
async def units(
    network: Network,
    search: Annotated[str, Query(max_length=200)] = "",
    role: Literal["all", "cause", "finding"] = "all",
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Units whose names contain every word of the search; those that begin with it come first."""
    catalogue = network.catalogue
    found = catalogue.found(search, role)
    page = [catalogue.unit(unit) for unit in found[offset : offset + limit]]
    return json_response({"total": len(found), "offset": offset, "units": page})


@about.get("/units/names", response_model=answers.NamesAnswer)
async def names(request: Request, network: Network) -> Response:
    """All names in the order of the units, and a letter for each: c (cause), f (finding), u (of a machine)."""
    return tagged(network.names, request, JSON)


@about.get("/unit", response_model=answers.OneUnitAnswer)
async def unit(network: Network, name: Named) -> Response:
    """One unit with its first 200 parents and children, and its prior, if that has been computed."""
    place = await _place(network, name)
    prior = network.priors[place] if network.priors else None
    return json_response({**network.catalogue.unit_with_neighbours(place), "prior": prior})


@about.get("/neighbourhood", response_model=answers.NeighbourhoodAnswer)
async def neighbourhood(
    network: Network,
    name: Named,
    hops: Annotated[int, Query(ge=0, le=6)] = 1,
    limit: Annotated[int, Query(ge=1, le=500)] = 60,
) -> Response:
    """The units near one, nearest and strongest first, and the edges between them."""
    centre = await _place(network, name)
    return json_response(await asyncio.to_thread(network.catalogue.around, [centre], hops, limit, limit))


@about.get("/examples", response_model=answers.ExamplesAnswer)
async def examples(network: Network) -> Response:
    """Cases to start from."""
    return json_response({"cases": network.cases})


async def _place(network: ServedNetwork, name: str, refusal: int = 404) -> int:
    places = network.catalogue.places
    if name in places:
        return places[name]
    few = len(places) <= MOST_GUESSED
    guess = await asyncio.to_thread(pf.errors.nearest, name, network.catalogue.names) if few else ""
    raise refuse(refusal, "unknown_unit", f"there is no unit {name!r} in this network.{guess}")


# ---- questions -------------------------------------------------------------------------------------------------------


QUESTIONS = {  # that a worker answers as they are asked
    "infer": (schemas.Infer, answers.InferAnswer,
        "ln P(evidence) and the most probable units. Impossible evidence is an answer, too: see contradiction."),
    "explain": (schemas.Explain, answers.ExplainAnswer,
        "How much each observation moved the log-odds of a hidden unit, and what would move them most."),
    "ask": (schemas.Ask, answers.AskAnswer,
        "Which hidden unit to look at next, by expected information about the targets."),
    "interview": (schemas.InterviewSoFar, answers.InterviewAnswer,
        "The next question of an interview and why it is asked, or why it is time to stop. States are evidence."),
    "joint": (schemas.JointUnits, answers.JointAnswer,
        "The probability of every state of a few hidden units together."),
    "sensitivity": (schemas.TargetSensitivity, answers.SensitivityAnswer,
        "Which numbers of the network the probability of a hidden unit depends on most."),
    "most_probable": (schemas.ChosenUnits, answers.MostProbableAnswer,
        "The most probable states of hidden units together, and whether none is more probable."),
    "rows": (schemas.Rows, answers.RowsAnswer,
        "ln P(evidence) and the most probable units of each of several rows of evidence."),
    "sample": (schemas.Sample, answers.SampleAnswer, "States drawn from the network."),
    "save": (schemas.Save, answers.SavedAnswer, "The network as files of a format, each in base64."),
    "table_case": (schemas.TableCase, answers.TableCaseAnswer, "What the first row observes, if all rows can be read."),
    "table_rows": (schemas.TableRows, answers.TableRowsAnswer,
        "The rows of a table with their answers, as CSV; or beside their truth, for /table-validation."),
    "table_validation": (schemas.TableValidation, answers.TableValidationAnswer,
        "The measures of all that /table-rows has compared with the truth, put together, and a page with pictures."),
    "tables": (schemas.Strict, answers.TablesAnswer, "The network as rows of the two tables of causes and findings."),
}  # fmt: skip
COUNTED: dict[str, tuple[str, Callable[[Any], int]]] = {  # questions that have a limit, and what counts
    "rows": ("rows", lambda asked: len(asked.rows)),
    "sample": ("count", lambda asked: asked.count),
    "table_rows": ("lines of csv", lambda asked: len(asked.csv.splitlines())),
}


def _add_question(kind: str, asked_as: type[schemas.Strict], answer: type[BaseModel], about: str) -> None:
    field, counted = COUNTED.get(kind, ("", lambda _: 0))

    async def question(request: Request, network: Network, asked: schemas.Strict) -> Response:
        most, count = service_of(request).settings.limits.rows, counted(asked)
        if count > most:
            raise refuse(413, "too_many_rows", f"{field} may be {most:,} at most; got {count:,}. Ask several times.")
        return json_response(await _ask(request, network, kind, asked.model_dump()))

    question.__annotations__["asked"] = asked_as
    path = "/" + kind.replace("_", "-")
    questions.post(path, response_model=answer, name=kind, description=about)(question)


for _kind, _described in QUESTIONS.items():
    _add_question(_kind, *_described)


@questions.post("/neighbourhood", response_model=answers.NeighbourhoodAnswer)
async def neighbourhood_of_several(network: Network, asked: schemas.Neighbourhood) -> Response:
    """The units near one of several, nearest and strongest first, and the edges between them."""
    centres = [await _place(network, name, 422) for name in asked.units]
    found = await asyncio.to_thread(network.catalogue.around, centres, asked.hops, asked.limit, asked.each_hop)
    return json_response(found)


@questions.post("/compare", response_model=answers.CompareAnswer)
async def compare(request: Request, network: Network, asked: schemas.Compare) -> Response:
    """Methods side by side. One that does not apply or takes too long says so in its status."""
    methods = list(dict.fromkeys(asked.methods or network.compared))
    each = [{**asked.model_dump(), "method": method, "top": RANKED_BY_DEFAULT} for method in methods]
    found = await asyncio.gather(*(_ask(request, network, "compare", one) for one in each))
    return json_response({**_compared(network, methods, found), **network.identity})


def _compared(network: ServedNetwork, methods: list[str], found: list[Any]) -> dict[str, Any]:
    """All with the means of the same units: those whose faults are most probable by any method."""
    for failure in (one for one in found if isinstance(one, Failure) and one.code not in WORDS):
        raise refused(failure)
    faults = {z["name"]: z["state"] for one in found if not isinstance(one, Failure) for z in one.pop("ranking")}
    places = {name: network.catalogue.places[name] for name in faults}
    nothing = dict.fromkeys(("log_likelihood", "kind", "seconds")) | {"means": {}, "accuracy": {}}
    told = [
        {"method": method, **nothing, "status": WORDS[one.code], "status_text": one.message}
        if isinstance(one, Failure)
        else {
            **one,
            "means": {name: float(one["means"][place]) for name, place in places.items()},
            "accuracy": {name: str(ACCURACIES[one["accuracy"][place]]) for name, place in places.items()},
        }
        for method, one in zip(methods, found, strict=True)
    ]
    return {"faults": faults, "methods": told}


@questions.post("/networks", response_model=answers.OpenedAnswer)
async def networks(request: Request, asked: schemas.Open) -> Response:
    """Read the files of a network, and say what is suspicious in it; if it is kept, ask questions with its key."""
    return json_response(await service_of(request).open(asked.model_dump()))


async def _ask(request: Request, network: ServedNetwork, kind: str, asked: Mapping[str, Any]) -> Any:
    """The answer; a question whose client has left is dropped."""
    answering = asyncio.ensure_future(service_of(request).ask(kind, asked, network))
    leaving = asyncio.ensure_future(_has_left(request))
    try:
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        answering.cancel()  # unless it is done
    if not answering.done():
        raise refuse(GONE, "client_left", "the connection was closed before the answer was there.")
    return answering.result()


async def _has_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


# ---- the page, and all together --------------------------------------------------------------------------------------


@pages.get("/")
@pages.get("/static/{name:path}")
async def page(request: Request) -> Response:
    return service_of(request).pages.response(request.path_params.get("name", INDEX), request)


def application(service: Service) -> FastAPI:
    """The whole service."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.stop()

    settings = service.settings
    other_sites = Middleware(
        CORSMiddleware, allow_origins=settings.origins, allow_methods=["GET", "POST"],
        allow_headers=["Authorization", "Content-Type"],
    )  # fmt: skip
    guards = [
        Middleware(Doorkeeper, settings=settings),
        *([other_sites] if settings.origins else []),
        Middleware(TokenGuard, token=settings.token),
    ]
    app = FastAPI(
        title="plefka", version=pf.__version__, description="Questions about networks of binary units.",
        openapi_url="/api/openapi.json", docs_url=None, redoc_url=None, redirect_slashes=False, lifespan=lifespan,
        middleware=guards,
        exception_handlers={HTTPException: on_refusal, RequestValidationError: on_invalid, Exception: on_crash},
        responses={code: {"model": answers.Refusal} for code in ("4XX", "503")},
    )  # fmt: skip
    app.state.service = service
    for router in (about, questions):
        app.include_router(router, prefix="/api/v1")
    app.include_router(pages)
    return app
