"""Addresses that answer questions."""

import asyncio
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response

from plefka.explorer import answer_schemas
from plefka.explorer import questions as q
from plefka.explorer.bodies import CheckedRoute
from plefka.explorer.failures import Failure
from plefka.explorer.refusals import refuse, refused
from plefka.explorer.responses import json_response, service_of
from plefka.explorer.service import Service
from plefka.methods.posterior import ACCURACIES

GONE = 499  # the client has left; for the log only
RANKED_BY_DEFAULT = 10  # causes of each method that are compared
router = APIRouter(route_class=CheckedRoute)


@router.post("/infer", response_model=answer_schemas.InferAnswer)
async def infer(request: Request, asked: q.Infer) -> Response:
    """ln P(evidence) and the most probable units. Impossible evidence is an answer, too: see contradiction."""
    return await _answered(request, "infer", asked.model_dump())


@router.post("/rows", response_model=answer_schemas.RowsAnswer)
async def rows(request: Request, asked: q.Rows) -> Response:
    """ln P(evidence) and the most probable units of each of several rows of evidence."""
    _check_rows(request, len(asked.rows), "rows")
    return await _answered(request, "rows", asked.model_dump())


@router.post("/explain", response_model=answer_schemas.ExplainAnswer)
async def explain(request: Request, asked: q.Explain) -> Response:
    """How much each observation moved the log-odds of a hidden unit, and what would move them most."""
    return await _answered(request, "explain", asked.model_dump())


@router.post("/ask", response_model=answer_schemas.AskAnswer)
async def ask(request: Request, asked: q.Ask) -> Response:
    """Which hidden unit to look at next, by expected information about the targets."""
    return await _answered(request, "ask", asked.model_dump())


@router.post("/sample", response_model=answer_schemas.SampleAnswer)
async def sample(request: Request, asked: q.Sample) -> Response:
    """States drawn from the network."""
    _check_rows(request, asked.count, "count")
    return await _answered(request, "sample", asked.model_dump())


@router.post("/compare", response_model=answer_schemas.CompareAnswer)
async def compare(request: Request, asked: q.Compare) -> Response:
    """Methods side by side. One that does not apply or takes too long says so in its status."""
    service = service_of(request)
    methods = list(dict.fromkeys(asked.methods or service.compared))
    evidence = asked.model_dump()["evidence"]
    each = [{"evidence": evidence, "method": method, "top": RANKED_BY_DEFAULT} for method in methods]
    found = await asyncio.gather(*(_ask(request, "compare", one) for one in each))
    return json_response({"methods": _compared(service, methods, found)})


def _compared(service: Service, methods: list[str], found: list[Any]) -> list[dict[str, Any]]:
    """All with the means of the same units: those that are most probable by any method."""
    for failure in found:
        if isinstance(failure, Failure) and failure.code not in ("method_does_not_apply", "too_long"):
            raise refused(failure)
    shown = dict.fromkeys(name for one in found if not isinstance(one, Failure) for name in one["top"])
    places = {name: service.catalogue.places[name] for name in shown}
    nothing = dict.fromkeys(("log_likelihood", "kind", "seconds"))
    return [
        {
            "method": method,
            **nothing,
            "status": WORDS[one.code],
            "status_text": one.message,
            "means": {},
            "accuracy": {},
        }
        if isinstance(one, Failure)
        else {
            **{key: value for key, value in one.items() if key != "top"},
            "means": {name: float(one["means"][place]) for name, place in places.items()},
            "accuracy": {name: str(ACCURACIES[one["accuracy"][place]]) for name, place in places.items()},
        }
        for method, one in zip(methods, found, strict=True)
    ]


WORDS = {"method_does_not_apply": "does_not_apply", "too_long": "too_long"}


def _check_rows(request: Request, count: int, field: str) -> None:
    most = service_of(request).settings.limits.rows
    if count > most:
        raise refuse(413, "too_many_rows", f"{field} may be {most:,} at most; got {count:,}. Ask several times.")


async def _answered(request: Request, kind: str, asked: Mapping[str, Any]) -> Response:
    found = await _ask(request, kind, asked)
    if isinstance(found, Failure):
        raise refused(found)
    return json_response(found)


async def _ask(request: Request, kind: str, asked: Mapping[str, Any]) -> Any:
    """The answer; a question whose client has left is dropped."""
    answering = asyncio.ensure_future(service_of(request).ask(kind, asked))
    leaving = asyncio.ensure_future(_has_left(request))
    try:
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        if not answering.done():
            answering.cancel()
    if not answering.done():
        raise refuse(GONE, "client_left", "the connection was closed before the answer was there.")
    return answering.result()


async def _has_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
