"""The client of a Souk service."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Optional
from urllib.parse import urlsplit

from ._answers import Answer, pandas_for
from ._batches import Batches, Files, Jobs
from ._calls import Calls, ReadBody
from ._generated.methods import ADDRESSES, Groups
from ._generated.types import OperationName
from ._tables import form_of, frame_of_csv, save
from ._transport import Transport
from ._units import Units

if TYPE_CHECKING:
    import pandas

_MOST_RETRIES = 4
_RETRY_BUDGET = 90.0


class Souk(Groups):
    """A client of a Souk service, with a method for each operation: ``souk.market.product(country="us", asins=[...])``.

    A client can be used by several threads.
    """

    def __init__(
        self,
        api_key: Optional[str] = None,
        base_url: Optional[str] = None,
        *,
        timeout: Optional[float] = None,
        max_retries: int = _MOST_RETRIES,
        retry_budget: float = _RETRY_BUDGET,
    ) -> None:
        """Creates a client. Nothing is sent before the first method is called.

        api_key: default: the environment variable SOUK_API_KEY.

        base_url: address of the service. Default: the environment variable SOUK_URL.

        timeout: seconds that each attempt may take. Default: the limit of the operation and a few seconds.

        max_retries: attempts after the first one.

        retry_budget: all pauses of a request together, in seconds. The default lets a request wait for the next minute of the plan.
        """
        url = _address_of(base_url or os.environ.get("SOUK_URL"))
        transport = Transport(url, _key_of(api_key or os.environ.get("SOUK_API_KEY")), max_retries, retry_budget)
        #: The units that the calls of this client have cost.
        self.units = Units()
        self._calls = Calls(transport, self.units, timeout)
        super().__init__(self._calls)
        self.jobs: Jobs = Jobs(self._calls)
        self.batches: Batches = Batches(self._calls)
        self.files = Files(self._calls)

    def __repr__(self) -> str:
        return f"Souk(base_url={self._calls.transport.base_url!r})"

    def save(
        self,
        path: str,
        operation: OperationName,
        *,
        format: Optional[str] = None,
        table: Optional[str] = None,
        max_units: Optional[int] = None,
        timeout: Optional[float] = None,
        **params: Any,
    ) -> Answer[str]:
        """Makes a call, and writes its answer to a file, which appears when it is complete.

        operation: such as "market.product"; its parameters are those of the method ``souk.market.product``.

        format: "csv", "ndjson", "xlsx" or "parquet". Default: by the ending of the path.

        table: the rows of the file, such as "products", "history" or "daily".
        """
        options = {**form_of(path, format, table), "maxUnits": max_units}
        return self._table(operation, params, options, timeout, lambda reply: save(reply, path))

    def to_frame(
        self,
        operation: OperationName,
        *,
        table: Optional[str] = None,
        max_units: Optional[int] = None,
        timeout: Optional[float] = None,
        **params: Any,
    ) -> "pandas.DataFrame":
        """Makes a call, and returns a table of its answer as a DataFrame. Needs pandas.

        operation: such as "market.product"; its parameters are those of the method ``souk.market.product``.

        table: the rows, such as "products", "history" or "daily".
        """
        pandas_for("to_frame()")
        options = {"format": "csv", "table": table, "maxUnits": max_units}
        return self._table(operation, params, options, timeout, frame_of_csv).data

    def _table(
        self, operation: str, params: Any, options: Any, timeout: Optional[float], read_body: ReadBody
    ) -> Answer[Any]:
        if operation not in ADDRESSES:
            raise ValueError(f"operation: must be one of {', '.join(sorted(ADDRESSES))}, got {operation!r}")
        return self._calls.answer(ADDRESSES[operation], params, timeout=timeout, options=options, read_body=read_body)


def _address_of(url: Optional[str]) -> str:
    parts = urlsplit(url or "")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("base_url: must be the address of the service, such as https://souk.example, or set SOUK_URL")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("base_url: must have no user, query or fragment")
    return (url or "").rstrip("/")


def _key_of(key: Optional[str]) -> str:
    # The key itself is never part of a message.
    if not key or not re.fullmatch(r"[!-~]+", key):
        raise ValueError("api_key: must be the key of your account, or set SOUK_API_KEY")
    return key
