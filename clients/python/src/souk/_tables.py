"""Answers as files and as DataFrames."""

from __future__ import annotations

import io
import os
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional

from ._answers import pandas_for
from ._errors import SoukError
from ._retry import backoff, is_lost
from ._transport import Reply, Request, Transport

if TYPE_CHECKING:
    import pandas

_FORMATS = {"json": "json", "ndjson": "ndjson", "jsonl": "ndjson", "xlsx": "xlsx", "parquet": "parquet"}


def form_of(path: str, format: Optional[str], table: Optional[str]) -> Mapping[str, Any]:
    """Returns the options of a file. Its format is that of the ending of its path, where none is given."""
    ending = os.path.splitext(path)[1].lower().lstrip(".")
    return {"format": format or _FORMATS.get(ending, "csv"), "table": table}


@contextmanager
def _partial(path: str) -> Iterator[str]:
    """Yields the path of a file that takes its place when it is complete."""
    part = f"{path}.part"
    try:
        yield part
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def save(reply: Reply, path: str) -> str:
    """Writes an answer to a file, which appears when it is complete. Returns its path."""
    with _partial(path) as part, open(part, "wb") as file:
        file.writelines(reply.parts())
    return path


def download(transport: Transport, request: Request, path: str) -> str:
    """Writes an answer to a file, which appears when it is complete. Returns its path.

    After a broken connection, it continues where it ended if the answer had an ETag and is still the same, and otherwise
    begins again.
    """
    breaks = 0
    # Parts are of the bytes without compression.
    headers = {**request.headers, "Accept-Encoding": "identity"}
    with _partial(path) as part:
        while True:
            with transport.open(replace(request, headers=headers)) as reply:
                is_rest = reply.status == 206
                with open(part, "ab" if is_rest else "wb") as file:
                    try:
                        for piece in reply.parts():
                            file.write(piece)
                            breaks = 0 if is_rest else breaks
                        return path
                    except SoukError as error:
                        if not is_lost(error) or breaks >= transport.max_retries:
                            raise
                        tag = reply.headers.get("ETag")
                        if tag:
                            headers.update({"Range": f"bytes={file.tell()}-", "If-Range": tag})
            breaks += 1
            transport.sleep(backoff(breaks, transport.random()))


def frame_of_csv(reply: Reply) -> "pandas.DataFrame":
    """Returns a table as a DataFrame, with times as times and ids as texts."""
    pandas = pandas_for("to_frame()")
    table = b"".join(reply.parts())
    names = pandas.read_csv(io.BytesIO(table), nrows=0).columns
    # An id of digits alone would lose the zeros in front.
    texts = {name: str for name in names if "asin" in name.lower() or name.lower().endswith(("id", "code", "ids"))}
    frame = pandas.read_csv(io.BytesIO(table), dtype=texts)
    for name in frame.columns[frame.dtypes == object]:
        found = frame[name].dropna()
        if len(found) and found.astype(str).str.match(r"\d{4}-\d\d-\d\d(T[\d:.]+Z)?$").all():
            frame[name] = pandas.to_datetime(frame[name], utc=True)
    return frame
