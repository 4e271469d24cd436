"""Answers with what their headers say, and lists in pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, Iterator, List, Mapping, Optional, TypeVar

from ._transport import Reply

if TYPE_CHECKING:
    import pandas

Data = TypeVar("Data")
Entry = TypeVar("Entry")


@dataclass(frozen=True)
class Meta:
    """The headers of an answer."""

    status: int
    #: Identifies the request in the logs of the service.
    request_id: Optional[str]
    #: The job of the call, whose result can be read again for a day.
    job_id: Optional[str]
    #: Units that the call cost.
    units: int
    #: Whether all data came from the cache.
    is_cached: bool
    #: Whether the call joined an identical call of the last five minutes, at no charge.
    is_deduplicated: bool
    #: Calls left in this minute; None where calls are not limited.
    calls_left: Optional[int]


def meta_of(reply: Reply) -> Meta:
    headers: Mapping[str, str] = reply.headers
    left = re.search(r"r=(\d+)", headers.get("RateLimit", ""))
    return Meta(
        status=reply.status,
        request_id=headers.get("X-Request-Id"),
        job_id=headers.get("X-Job-Id"),
        units=int(headers.get("X-Units-Charged") or headers.get("X-Units-Consumed") or 0),
        is_cached=headers.get("X-Cache") == "HIT",
        is_deduplicated=headers.get("X-Deduplicated") == "true",
        calls_left=int(left.group(1)) if left else None,
    )


@dataclass(frozen=True)
class Answer(Generic[Data]):
    """The data of an answer, and what its headers say."""

    data: Data
    meta: Meta

    def to_frame(self, rows: Optional[str] = None) -> "pandas.DataFrame":
        """Returns the rows of the answer as a DataFrame, with nested fields as ``a.b``. Needs pandas.

        rows: the field with the rows, such as "products". Default: the only list of the answer.
        """
        return frame_of(rows_in(self.data, rows))


class Pages(Answer[Data], Generic[Data, Entry]):
    """The first page of a list. Iterating over it yields the entries of all pages."""

    def __init__(self, first: Answer[Data], entries: str, page: Callable[[str], Answer[Data]]) -> None:
        super().__init__(first.data, first.meta)
        object.__setattr__(self, "_entries", entries)
        object.__setattr__(self, "_page", page)

    def __iter__(self) -> Iterator[Entry]:
        data: Any = self.data
        while True:
            yield from data[self._entries]  # type: ignore[attr-defined]
            cursor = data.get("nextCursor")
            if not cursor:
                return
            data = self._page(cursor).data  # type: ignore[attr-defined]

    def to_frame(self, rows: Optional[str] = None) -> "pandas.DataFrame":
        """Returns the entries of all pages as a DataFrame. Needs pandas."""
        return frame_of(list(self) if rows is None else rows_in(self.data, rows))


def rows_in(data: Any, name: Optional[str]) -> List[Any]:
    """Returns the list of an answer."""
    if isinstance(data, list):
        return data
    lists: Dict[str, List[Any]] = {key: value for key, value in dict(data).items() if isinstance(value, list)}
    if name is None and len(lists) == 1:
        name = next(iter(lists))
    if name in lists:
        # A list of ids becomes a column.
        return [row if isinstance(row, dict) else {name: row} for row in lists[name]]
    known = ", ".join(lists) or "none"
    raise ValueError(f"rows: must be one of the lists of the answer ({known}), got {name!r}")


def frame_of(rows: List[Any]) -> "pandas.DataFrame":
    """Returns rows as a DataFrame."""
    return pandas_for("to_frame()").json_normalize(rows)


def pandas_for(what: str) -> Any:
    """Returns pandas. Raises an ImportError that says how to get it."""
    try:
        import pandas
    except ImportError:
        raise ImportError(f"{what} needs pandas, which this package does not install: pip install pandas") from None
    return pandas
