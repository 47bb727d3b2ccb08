"""The one way out for addresses that people, models or sandboxed commands name (SECURITY-BAR F5 to F7, S6).

An address is parsed once (`address.py`), its name resolved once, every answer tested, and the connection made to a
tested one (`door.py`). `fetch.py` is the HTTP client on top; the sandbox's proxy uses the same door. Calls to model
providers do not come through here: their addresses are the owner's (docs/decisions/0009).
"""

from .address import BadAddress, Place, Rules, parse_place, parse_url
from .door import Refused, connect
from .fetch import Fetched, FetchFailed, Opened, exchange, fetch

__all__ = [
    "BadAddress",
    "FetchFailed",
    "Fetched",
    "Opened",
    "Place",
    "Refused",
    "Rules",
    "connect",
    "exchange",
    "fetch",
    "parse_place",
    "parse_url",
]
