"""Decides whether and when a failed request is repeated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Optional

from ._errors import ConnectionFailedError, SoukError

#: charged: an identical call within five minutes is not charged again; never: a repetition would do it twice.
Repeats = Literal["charged", "always", "never"]

#: The service charges identical calls once within five minutes of the first one. A call whose answer got lost is not sent
#: again later than this, so that the repetition arrives in time.
CHARGED_ONCE = 240.0

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 8.0
#: Spreads clients that were refused at the same time.
SPREAD = 1.0

_OF_JOBS = frozenset(["UPSTREAM_ERROR", "UPSTREAM_TIMEOUT", "DEADLINE_PASSED"])
_PASSING = frozenset([408, 429, 500, 502, 503, 504])


@dataclass
class Attempts:
    """What is known of the attempts of a request. Times are in seconds."""

    repeats: Repeats
    #: Number of attempts so far.
    count: int = 0
    #: All pauses so far.
    paused: float = 0.0
    #: When the first attempt began that may have reached the service without an answer.
    lost_at: Optional[float] = None


def pause_before_retry(
    error: SoukError, attempts: Attempts, now: float, max_retries: int, retry_budget: float, random: float
) -> Optional[float]:
    """Returns the pause before the next attempt in seconds; None if the request must not be repeated."""
    if attempts.count > max_retries or not _is_passing(error):
        return None
    # A free request asks no provider: this is the error of a job that has ended, and it stays.
    if attempts.repeats == "always" and error.code in _OF_JOBS:
        return None
    is_refused = error.status == 429
    if attempts.repeats == "never" and (not is_refused or attempts.lost_at is not None):
        return None
    # A limit that does not say when it ends does not end by waiting.
    if is_refused and error.retry_after is None:
        return None
    asked = error.retry_after
    pause = backoff(attempts.count, random) if asked is None else asked + random * SPREAD
    if attempts.paused + pause > retry_budget:
        return None
    if attempts.repeats == "charged" and attempts.lost_at is not None and now - attempts.lost_at + pause > CHARGED_ONCE:
        return None
    return pause


def backoff(count: int, random: float) -> float:
    """Returns a random pause whose bounds double with each attempt."""
    longest: float = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (count - 1))
    return longest * (0.5 + random / 2)


def is_lost(error: SoukError) -> bool:
    """Whether the service may have accepted the request although the caller has no answer, or only the page of a proxy."""
    if isinstance(error, ConnectionFailedError):
        return True
    return error.code == "UNEXPECTED_ANSWER" and (error.status or 0) >= 500


def _is_passing(error: SoukError) -> bool:
    return is_lost(error) or error.status in _PASSING
