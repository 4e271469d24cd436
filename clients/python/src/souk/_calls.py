"""Makes calls, and follows jobs to their results."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace
from enum import Enum
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Tuple, cast

from ._answers import Answer, Meta, Pages, meta_of
from ._errors import SoukError
from ._retry import Repeats
from ._transport import Reply, Request, Transport, in_path, retry_after
from ._units import Units

#: How long the service waits for the end of a job before it answers 202.
_WAIT = 30
_RESULT_TIMEOUT = 45.0
_JOB_TIMEOUT = 30.0
_PAUSE = 1.0


class NotGiven(Enum):
    """The default of parameters that may be None."""

    NOT_GIVEN = "not given"

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN = NotGiven.NOT_GIVEN

#: Method, path, seconds, repeats, whether it has parameters, the field with the entries of a list, and the name of a method.
Address = Tuple[str, str, int, str, str, str, str]

#: Reads the body of an answer.
ReadBody = Callable[[Reply], Any]


class Group:
    """A group of methods."""

    def __init__(self, calls: "Calls") -> None:
        self._calls = calls


class _Read(NamedTuple):
    data: Any
    meta: Meta
    was_lost: bool
    pause: float

    @property
    def is_own(self) -> bool:
        """Whether the job was started by this request, or by an earlier attempt of it."""
        return self.was_lost or not self.meta.is_deduplicated


class Calls:
    """Sends the requests of all methods."""

    def __init__(self, transport: Transport, units: Units, timeout: Optional[float]) -> None:
        self.transport = transport
        self._units = units
        self._timeout = timeout

    def answer(
        self,
        address: Address,
        params: Mapping[str, Any],
        *,
        nullable: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
        options: Optional[Mapping[str, Any]] = None,
        read_body: Optional[ReadBody] = None,
    ) -> Answer[Any]:
        """Calls a method.

        params: those that are None are left out.

        nullable: parameters for which None is a value.

        options: parameters of the query.

        read_body: reads an answer that is not JSON.
        """
        given = {key: value for key, value in params.items() if value is not None}
        given.update({key: value for key, value in (nullable or {}).items() if value is not NOT_GIVEN})
        request = self._request(address, given, options or {}, timeout)
        if address[-1] == "jobs.create":
            created = self._read(request)
            if created.is_own:
                self._units.open(created.meta.job_id)
            return Answer(created.data, created.meta)
        if request.repeats == "charged":
            return self._call(request, read_body)
        read = self._read(request, read_body)
        return Answer(read.data, read.meta)

    def pages(self, address: Address, params: Mapping[str, Any], **others: Any) -> Pages[Any, Any]:
        """Calls a method that returns a list in pages."""

        def page(cursor: str) -> Answer[Any]:
            return self.answer(address, {**params, "cursor": cursor}, **others)

        return Pages(self.answer(address, params, **others), address[5], page)

    def result(
        self, job_id: str, form: Optional[Mapping[str, Any]] = None, read_body: Optional[ReadBody] = None
    ) -> Answer[Any]:
        """Waits for the end of a job, and returns its result."""
        request = Request(
            method="GET",
            path=f"/api/jobs/{in_path(job_id)}/result",
            repeats="always",
            timeout=_RESULT_TIMEOUT,
            query={"wait": _WAIT, **(form or {})},
        )
        while True:
            read = self._read(request, read_body)
            if read.meta.status != 202:
                self._units.end(job_id, read.meta.units)
                return Answer(read.data, replace(read.meta, job_id=job_id))
            self.transport.sleep(read.pause)

    def _request(
        self, address: Address, given: Dict[str, Any], options: Mapping[str, Any], timeout: Optional[float]
    ) -> Request:
        method, path, seconds, repeats, takes, _, name = address
        has_body = method in ("POST", "PATCH")
        for key in re.findall(r"\{(\w+)\}", path):
            path = path.replace(f"{{{key}}}", in_path(given.pop(key)))
        if name == "batches.create":
            # The service returns the same batch for the same key, so that a repetition creates no second one.
            given["idempotencyKey"] = given.get("idempotencyKey") or str(uuid.uuid4())
        return Request(
            method=method,
            path=path,
            repeats=cast(Repeats, repeats),
            timeout=timeout or self._timeout or float(seconds),
            query=options if has_body else {**given, **options},
            # Also without parameters: the service then names those that are missing.
            body=given if has_body and takes == "params" else None,
        )

    def _call(self, request: Request, read_body: Optional[ReadBody]) -> Answer[Any]:
        """Makes a call. If the service answers with its job, waits for the result of the job."""
        read = self._read(request, read_body)
        meta = read.meta
        job_id = meta.job_id
        if meta.status == 202 and job_id:
            if read.is_own:
                self._units.open(job_id)
            form = {name: request.query.get(name) for name in ("format", "table")}
            result = self.result(job_id, form, read_body)
            return result if read.is_own else Answer(result.data, replace(result.meta, is_deduplicated=True, units=0))
        if meta.is_deduplicated and read.was_lost and job_id and not self._units.is_counted(job_id):
            meta = replace(meta, units=self._units_of(job_id))
        self._units.add(job_id, meta.units)
        return Answer(read.data, meta)

    def _units_of(self, job_id: str) -> int:
        """Returns the units of a call whose first answer got lost.

        The answer to the repetition says 0, because it joined the first. The units stay unknown if the service no longer has
        the job.
        """
        request = Request(method="GET", path=f"/api/jobs/{in_path(job_id)}", repeats="always", timeout=_JOB_TIMEOUT)
        try:
            return int(self._read(request).data["unitsCharged"])
        except SoukError:
            return 0

    def _read(self, request: Request, read_body: Optional[ReadBody] = None) -> _Read:
        def read(reply: Reply, was_lost: bool) -> _Read:
            body = read_body if read_body and reply.status != 202 else data_of
            return _Read(body(reply), meta_of(reply), was_lost, retry_after(reply.headers) or _PAUSE)

        return self.transport.send(request, read)


def data_of(reply: Reply) -> Any:
    """Returns the data of JSON in its envelope, or the bytes of a picture."""
    if reply.headers.get("Content-Type", "").startswith("application/json"):
        return reply.json()["data"]
    return reply.body()
