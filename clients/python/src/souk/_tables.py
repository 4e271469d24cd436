"""Answers as files and as DataFrames."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any, Mapping, Optional

from ._answers import pandas_for
from ._transport import Reply

if TYPE_CHECKING:
    import pandas

_FORMATS = {"json": "json", "ndjson": "ndjson", "jsonl": "ndjson", "xlsx": "xlsx", "parquet": "parquet"}


def form_of(path: str, format: Optional[str], table: Optional[str]) -> Mapping[str, Any]:
    """Returns the options of a file. Its format is that of the ending of its path, where none is given."""
    ending = os.path.splitext(path)[1].lower().lstrip(".")
    return {"format": format or _FORMATS.get(ending, "csv"), "table": table}


def save(reply: Reply, path: str) -> str:
    """Writes an answer to a file, which appears when it is complete. Returns its path."""
    part = f"{path}.part"
    try:
        with open(part, "wb") as file:
            for piece in reply.parts():
                file.write(piece)
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)
    return path


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
