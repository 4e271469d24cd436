"""All errors: their base classes by status, and a class for each error code of the API."""

from ._errors import (
    AnswerTimeoutError,
    AuthenticationError,
    ConflictError,
    ConnectionFailedError,
    InvalidRequestError,
    NotFoundError,
    QuotaError,
    RateLimitError,
    ServiceError,
    SoukError,
)
from ._generated import errors as _of_codes
from ._generated.errors import *  # noqa: F403

__all__ = [
    "AnswerTimeoutError",
    "AuthenticationError",
    "ConflictError",
    "ConnectionFailedError",
    "InvalidRequestError",
    "NotFoundError",
    "QuotaError",
    "RateLimitError",
    "ServiceError",
    "SoukError",
] + _of_codes.__all__
