"""Sends requests, and repeats them when that is useful and safe."""

from __future__ import annotations

import json
import math
import socket
import time
import zlib
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from random import random
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import HTTPRedirectHandler, OpenerDirector, build_opener
from urllib.request import Request as HttpRequest

from ._errors import AnswerTimeoutError, ConnectionFailedError, SoukError, base_for
from ._generated.errors import BY_CODE
from ._retry import Attempts, Repeats, is_lost, pause_before_retry
from ._version import VERSION

T = TypeVar("T")

_PART = 65_536
#: An error is a short text.
_LARGEST_ERROR = 2**20


@dataclass
class Request:
    """A request to the service."""

    method: str
    path: str
    repeats: Repeats
    #: Seconds that each attempt may take; for a stream, each part of it.
    timeout: float
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Optional[Mapping[str, Any]] = None
    headers: Mapping[str, str] = field(default_factory=dict)


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect, so that the key is never sent to another address."""

    def redirect_request(self, *args: Any, **named: Any) -> None:
        return None


class Transport:
    """Sends requests with the key of the account."""

    def __init__(self, base_url: str, api_key: str, max_retries: int, retry_budget: float) -> None:
        self.base_url = base_url
        self.max_retries = max_retries
        self._retry_budget = retry_budget
        self._authorization = f"Bearer {api_key}"
        self._opener: OpenerDirector = build_opener(_NoRedirects())
        # Tests replace them.
        self.sleep: Callable[[float], None] = time.sleep
        self.random: Callable[[], float] = random

    def __repr__(self) -> str:
        return f"Transport({self.base_url!r})"

    def send(self, request: Request, read: Callable[["Reply", bool], T]) -> T:
        """Sends a request, and reads its answer with ``read``, which is told whether an earlier attempt was lost."""

        def act(reply: "Reply", was_lost: bool) -> T:
            with reply:
                return read(reply, was_lost)

        return self._repeat(request, act)

    def open(self, request: Request) -> "Reply":
        """Sends a request, and returns its answer, which the caller reads and closes."""
        return self._repeat(request, lambda reply, _: reply)

    def _repeat(self, request: Request, act: Callable[["Reply", bool], T]) -> T:
        attempts = Attempts(request.repeats)
        while True:
            started = time.monotonic()
            attempts.count += 1
            try:
                return act(self._attempt(request, started), attempts.lost_at is not None)
            except SoukError as error:
                if is_lost(error) and attempts.lost_at is None:
                    attempts.lost_at = started
                now = time.monotonic()
                pause = pause_before_retry(error, attempts, now, self.max_retries, self._retry_budget, self.random())
                if pause is None:
                    raise
                self.sleep(pause)
                attempts.paused += pause

    def _attempt(self, request: Request, started: float) -> "Reply":
        deadline = started + request.timeout
        http = self._http_request(request)
        try:
            return Reply(self._opener.open(http, timeout=request.timeout), deadline, request.timeout)
        except HTTPError as refused:
            with Reply(refused, deadline, request.timeout) as reply:
                raise error_of(reply) from None
        except (OSError, HTTPException) as error:
            raise failure_of(error, request.timeout) from None

    def _http_request(self, request: Request) -> HttpRequest:
        address = f"{self.base_url}{request.path}{_query_of(request.query)}"
        headers = {"User-Agent": f"souk-python/{VERSION}", "Accept-Encoding": "gzip", **request.headers}
        body = None
        if request.body is not None:
            body = json.dumps(request.body, separators=(",", ":")).encode()
            headers["Content-Type"] = "application/json"
        http = HttpRequest(address, data=body, headers=headers, method=request.method)
        http.add_unredirected_header("Authorization", self._authorization)
        return http


class Reply:
    """An answer that is being read."""

    def __init__(self, response: Any, deadline: float, timeout: float) -> None:
        self._response = response
        self._deadline = deadline
        self._timeout = timeout
        self.status: int = response.status
        self.headers: Mapping[str, str] = response.headers

    def __enter__(self) -> "Reply":
        return self

    def __exit__(self, *_: object) -> None:
        self._response.close()

    def body(self) -> bytes:
        """Returns the whole body, which must be complete in time."""
        return b"".join(self.parts(self._deadline))

    def json(self) -> Any:
        """Returns the body as JSON."""
        body = self.body()
        try:
            return json.loads(body)
        except ValueError:
            raise SoukError("not an answer of the service", code="UNEXPECTED_ANSWER", status=self.status) from None

    def lines(self) -> Iterator[str]:
        """Yields the complete lines of the body as they come."""
        rest = b""
        for part in self.parts():
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                yield line.decode()

    def parts(self, deadline: float = math.inf) -> Iterator[bytes]:
        """Yields the body in parts as they come. Each of them may take the timeout of the request."""
        inflate = zlib.decompressobj(31) if self.headers.get("Content-Encoding") == "gzip" else None
        received = 0
        while True:
            if time.monotonic() > deadline:
                raise AnswerTimeoutError(f"no complete answer within {self._timeout:g} seconds")
            try:
                part: bytes = self._response.read1(_PART)
                received += len(part)
                if part:
                    yield inflate.decompress(part) if inflate else part
            except (OSError, HTTPException, zlib.error) as error:
                raise failure_of(error, self._timeout) from None
            if not part:
                break
        # The library does not report a body that is shorter than its announced length.
        if received != int(self.headers.get("Content-Length", received)) or (inflate and not inflate.eof):
            raise ConnectionFailedError("the connection ended before the answer was complete")


def error_of(reply: Reply) -> SoukError:
    """Returns the error that an answer stands for."""
    status = reply.status
    envelope = _envelope_of(reply)
    code = envelope.get("code", "UNEXPECTED_ANSWER")
    message = envelope.get("msg") or _unexpected(reply)
    return BY_CODE.get(code, base_for(status, code))(
        message,
        code=code,
        status=status,
        request_id=reply.headers.get("X-Request-Id"),
        metadata=envelope.get("metadata") or {},
        retry_after=retry_after(reply.headers),
    )


def _envelope_of(reply: Reply) -> Dict[str, Any]:
    """Returns an empty envelope for the page of a proxy."""
    try:
        envelope = json.loads(reply.body()[:_LARGEST_ERROR])
    except ValueError:
        return {}
    return envelope if isinstance(envelope, dict) and isinstance(envelope.get("code"), str) else {}


def _unexpected(reply: Reply) -> str:
    if 300 <= reply.status < 400:
        return f"the service is at another address: {reply.headers.get('Location')}; use that as base_url or SOUK_URL"
    return f"not an answer of the service: status {reply.status}"


def failure_of(error: Exception, seconds: float) -> ConnectionFailedError:
    """Returns the error for a request without a complete answer."""
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, (socket.timeout, TimeoutError)):
        return AnswerTimeoutError(f"no answer within {seconds:g} seconds")
    return ConnectionFailedError(f"the connection failed: {reason or type(reason).__name__}")


def retry_after(headers: Mapping[str, str]) -> Optional[float]:
    """Returns the seconds or the date of ``Retry-After`` as seconds from now."""
    value = headers.get("Retry-After")
    if not value:
        return None
    if value.isdigit():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def in_path(value: object) -> str:
    """Returns a value as one part of a path."""
    return quote(str(value), safe="")


def _query_of(query: Mapping[str, Any]) -> str:
    given = {name: _in_query(value) for name, value in query.items() if value is not None}
    return f"?{urlencode(given)}" if given else ""


def _in_query(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(_in_query(item) for item in value)
    return str(value)
