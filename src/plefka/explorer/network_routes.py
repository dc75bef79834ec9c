"""Addresses that tell of the network, without computing."""

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

import plefka as pf
from plefka.explorer import answer_schemas
from plefka.explorer.page_files import tagged
from plefka.explorer.questions import LONGEST_NAME
from plefka.explorer.refusals import refuse
from plefka.explorer.responses import JSON, json_response, service_of
from plefka.explorer.service import Service

MOST_GUESSED = 10_000  # units among which the nearest name is looked for; it would take a second among 100,000
router = APIRouter()
Named = Annotated[str, Query(max_length=LONGEST_NAME, description="The name of a unit.")]


@router.get("/health", response_model=answer_schemas.HealthAnswer)
async def health(request: Request) -> Response:
    """Whether the service runs, and whether all workers have loaded the network. Needs no token."""
    return json_response({"status": "ok", "ready": service_of(request).pool.is_ready, "version": pf.__version__})


@router.get("/network", response_model=answer_schemas.NetworkAnswer)
async def network(request: Request) -> Response:
    """What the network consists of, which methods can serve it, and the limits of a question."""
    return json_response(service_of(request).network())


@router.get("/units", response_model=answer_schemas.UnitsAnswer)
async def units(
    request: Request,
    search: Annotated[str, Query(max_length=200)] = "",
    role: Literal["all", "cause", "finding"] = "all",
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Units whose names contain every word of the search; those that begin with it come first."""
    catalogue = service_of(request).catalogue
    found = catalogue.found(search, role)
    page = [catalogue.unit(unit) for unit in found[offset : offset + limit]]
    return json_response({"total": len(found), "offset": offset, "units": page})


@router.get("/units/names", response_model=answer_schemas.NamesAnswer)
async def names(request: Request) -> Response:
    """All names in the order of the units, and a letter for each: c for a cause, f for a finding."""
    service, headers = service_of(request), {"Content-Type": JSON, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return tagged(service.packed_names, request, {**headers, "Content-Encoding": "gzip"})
    return tagged(service.names, request, headers)


@router.get("/unit", response_model=answer_schemas.OneUnitAnswer)
async def unit(request: Request, name: Named) -> Response:
    """One unit with its first 200 parents and children, and its prior, if that has been computed."""
    service = service_of(request)
    place = await _place(service, name)
    prior = service.priors[place] if service.priors else None
    return json_response({**service.catalogue.unit_with_neighbours(place), "prior": prior})


@router.get("/neighbourhood", response_model=answer_schemas.NeighbourhoodAnswer)
async def neighbourhood(
    request: Request,
    name: Named,
    hops: Annotated[int, Query(ge=0, le=6)] = 1,
    limit: Annotated[int, Query(ge=1, le=500)] = 60,
) -> Response:
    """The units near one, nearest and strongest first, and the edges between them."""
    service = service_of(request)
    return json_response(service.catalogue.around(await _place(service, name), hops, limit))


@router.get("/examples", response_model=answer_schemas.ExamplesAnswer)
async def examples(request: Request) -> Response:
    """Cases to start from."""
    return json_response({"cases": service_of(request).cases})


async def _place(service: Service, name: str) -> int:
    places = service.catalogue.places
    if name in places:
        return places[name]
    few = len(places) <= MOST_GUESSED
    guess = await asyncio.to_thread(pf.errors.nearest, name, service.catalogue.names) if few else ""
    raise refuse(404, "unknown_unit", f"there is no unit {name!r} in this network.{guess}")
