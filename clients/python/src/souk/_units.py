"""Counts the units that the calls of a client have cost."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Optional

#: Jobs that are remembered, so that a client that runs for years does not grow.
_MOST_JOBS = 10_000


class Units:
    """The units that the calls of a client have cost."""

    def __init__(self) -> None:
        #: The sum so far. Calls of batches and schedules are not part of it: see ``units.charged`` of a batch.
        self.spent = 0
        # Jobs that this client has started and whose units are not known yet, and those that it has counted.
        self._open: "OrderedDict[str, None]" = OrderedDict()
        self._counted: "OrderedDict[str, None]" = OrderedDict()
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"Units(spent={self.spent})"

    def add(self, job_id: Optional[str], units: int) -> None:
        """Adds the units of a call that was answered immediately."""
        with self._lock:
            self.spent += units
            if job_id and units > 0:
                _remember(self._counted, job_id)

    def open(self, job_id: Optional[str]) -> None:
        """Remembers a job that this client has started."""
        with self._lock:
            if job_id and job_id not in self._counted:
                _remember(self._open, job_id)

    def end(self, job_id: str, units: int) -> None:
        """Adds the units of a job that has ended, if this client has started it and has not added them yet."""
        with self._lock:
            if job_id in self._open:
                del self._open[job_id]
                self.spent += units
                _remember(self._counted, job_id)

    def is_counted(self, job_id: str) -> bool:
        """Whether the units of a job were added."""
        return job_id in self._counted


def _remember(jobs: "OrderedDict[str, None]", job_id: str) -> None:
    jobs[job_id] = None
    if len(jobs) > _MOST_JOBS:
        jobs.popitem(last=False)
