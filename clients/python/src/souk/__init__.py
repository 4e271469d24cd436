"""A client of a Souk service: ``Souk().market.product(country="us", asins=["B08N5WRWNX"])``."""

from . import errors
from ._answers import Answer, Meta, Pages
from ._calls import NOT_GIVEN, NotGiven
from ._client import Souk
from ._errors import SoukError
from ._generated import types
from ._version import VERSION as __version__

__all__ = ["NOT_GIVEN", "Answer", "Meta", "NotGiven", "Pages", "Souk", "SoukError", "__version__", "errors", "types"]
