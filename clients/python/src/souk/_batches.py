"""Methods for jobs and batches that follow work to its end, and for files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Literal, Mapping, Optional, cast

from ._answers import Answer, pandas_for
from ._calls import Calls
from ._errors import SoukError
from ._generated import methods, types
from ._retry import backoff, is_lost
from ._tables import download, form_of, frame_of_csv, save
from ._transport import Request, in_path

if TYPE_CHECKING:
    import pandas

_IDLE_TIMEOUT = 60.0
#: A table is made before its first part is sent.
_TABLE_TIMEOUT = 600.0
#: Pauses between looks at a batch that has not finished.
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 10.0


class Jobs(methods.Jobs):
    """Methods that begin with ``jobs.``"""

    def result(self, id: str) -> Answer[Any]:
        """Waits for the end of a job, and returns the answer of its call. Raises the error of its call."""
        return self._calls.result(id)

    def save(self, id: str, path: str, *, format: Optional[str] = None, table: Optional[str] = None) -> Answer[str]:
        """Waits for the end of a job, and writes a table of its answer to a file, which appears when it is complete.

        format: "csv", "ndjson", "xlsx" or "parquet". Default: by the ending of the path.

        table: the rows of the file, such as "products", "history" or "daily".
        """
        return self._calls.result(id, form_of(path, format, table), lambda reply: save(reply, path))


class Batches(methods.Batches):
    """Methods that begin with ``batches.``"""

    def wait(self, id: str, *, on_progress: Optional[Callable[[types.Batch], object]] = None) -> types.Batch:
        """Waits until a batch has finished.

        on_progress: called with the batch after each look at it.
        """
        pause = _FIRST_PAUSE
        while True:
            batch = self.get(id).data
            if on_progress:
                on_progress(batch)
            if batch["finishedAt"] is not None:
                return batch
            self._calls.transport.sleep(pause)
            pause = _longer(pause)

    def results(
        self,
        id: str,
        *,
        order: Optional[Literal["item", "finished"]] = None,
        cursor: Optional[int] = None,
        follow: bool = True,
    ) -> Iterator[Dict[str, Any]]:
        """Yields each result once, and waits for further ones until the batch has finished.

        Continues behind the last result after a broken connection.

        order: item: in the order of the items; finished: in the order in which they finish.

        cursor: index of the last result that was received: continues behind it.

        follow: False: ends with the results so far.
        """
        transport = self._calls.transport
        pause, breaks = _FIRST_PAUSE, 0
        while True:
            try:
                request = _request(id, {"order": order, "cursor": cursor}, _IDLE_TIMEOUT)
                with transport.open(request) as reply:
                    for line in reply.lines():
                        result = cast(Dict[str, Any], json.loads(line))
                        cursor = result["index"]
                        pause, breaks = _FIRST_PAUSE, 0
                        yield result
                    if not follow or reply.headers.get("X-Batch-Finished") == "true":
                        return
                transport.sleep(pause)
                pause = _longer(pause)
            except SoukError as error:
                if not is_lost(error) or breaks >= transport.max_retries:
                    raise
                breaks += 1
                transport.sleep(backoff(breaks, transport.random()))

    def save(self, id: str, path: str, *, format: Optional[str] = None, table: Optional[str] = None) -> str:
        """Writes the results so far to a file, which appears when it is complete. Returns its path.

        Continues after a broken connection.

        format: "csv", "ndjson", "xlsx" or "parquet". Default: by the ending of the path.

        table: the rows of the file, such as "products", "history" or "daily".
        """
        request = _request(id, form_of(path, format, table), _TABLE_TIMEOUT)
        return download(self._calls.transport, request, path)

    def changes(self, id: str) -> Iterator[Dict[str, Any]]:
        """Yields what has changed in a run of a schedule with onlyChanges: index, key, column, before and after."""
        request = _get(f"/api/batches/{in_path(id)}/changes", {}, _IDLE_TIMEOUT)
        with self._calls.transport.open(request) as reply:
            for line in reply.lines():
                yield json.loads(line)

    def to_frame(self, id: str, *, table: Optional[str] = None) -> "pandas.DataFrame":
        """Returns the results so far as a DataFrame. Needs pandas."""
        pandas_for("to_frame()")
        request = _request(id, {"format": "csv", "table": table}, _TABLE_TIMEOUT)
        frame: "pandas.DataFrame" = self._calls.transport.send(request, lambda reply, _: frame_of_csv(reply))
        return frame


class Files:
    """Methods for files that jobs have written, such as those of ``aba.export``."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def save(self, id: str, path: str) -> str:
        """Writes a file to a path, where it appears when it is complete. Returns the path.

        Continues after a broken connection.
        """
        return download(self._calls.transport, _get(f"/api/files/{in_path(id)}", {}, _IDLE_TIMEOUT), path)


def _request(id: str, query: Mapping[str, Any], timeout: float) -> Request:
    return _get(f"/api/batches/{in_path(id)}/results", query, timeout)


def _get(path: str, query: Mapping[str, Any], timeout: float) -> Request:
    return Request(
        method="GET",
        path=path,
        repeats="always",
        timeout=timeout,
        query=query,
        # A compressed stream would arrive in large parts.
        headers={"Accept-Encoding": "identity"},
    )


def _longer(pause: float) -> float:
    return min(_LONGEST_PAUSE, pause * 1.5)
