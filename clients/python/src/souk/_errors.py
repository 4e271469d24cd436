"""The base classes of errors. ``souk.errors`` has a class for each error code of the API too."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional


class SoukError(Exception):
    """The base of all errors of this package."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: Optional[int] = None,
        request_id: Optional[str] = None,
        metadata: Optional[Mapping[str, Any]] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(message)
        #: The code of the API, or CONNECTION_FAILED, TIMEOUT or UNEXPECTED_ANSWER.
        self.code = code
        #: The HTTP status; None without an answer.
        self.status = status
        #: Identifies the request in the logs of the service.
        self.request_id = request_id
        #: Details, such as every invalid parameter in ``errors``.
        self.metadata: Dict[str, Any] = dict(metadata or {})
        #: Seconds that the service asks to wait before the next attempt; None if it does not say.
        self.retry_after = retry_after


class InvalidRequestError(SoukError):
    """400, 405, 408, 413, 415: the request is malformed. ``metadata["errors"]`` lists every invalid parameter."""


class AuthenticationError(SoukError):
    """401, 403: the key is missing, unknown or revoked, or lacks a right."""


class NotFoundError(SoukError):
    """404, 410: the job, batch, schedule, delivery or record does not exist, or has expired."""


class ConflictError(SoukError):
    """409: the state of a job or batch does not allow the request, or the call was cancelled."""


class QuotaError(SoukError):
    """429 with a code that begins with QUOTA_: units, calls of the plan, or ``max_units`` do not suffice."""


class RateLimitError(SoukError):
    """429 with another code: too many requests, or a limit of the account."""


class ServiceError(SoukError):
    """500 and above: the service or its data provider failed."""


class ConnectionFailedError(SoukError):
    """The connection failed or ended before the answer was complete."""

    def __init__(self, message: str, code: str = "CONNECTION_FAILED") -> None:
        super().__init__(message, code=code)


class AnswerTimeoutError(ConnectionFailedError):
    """The service did not answer within the timeout."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "TIMEOUT")


def base_for(status: int, code: str) -> "type[SoukError]":
    """Returns the class of an error whose code this version does not know."""
    if status == 429:
        return QuotaError if code.startswith("QUOTA_") else RateLimitError
    if status >= 500:
        return ServiceError
    known = {401: AuthenticationError, 403: AuthenticationError, 404: NotFoundError, 409: ConflictError, 410: NotFoundError}
    return known.get(status, InvalidRequestError)
