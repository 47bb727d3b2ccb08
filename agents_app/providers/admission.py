"""How many calls of one account run at once, and the rest a vendor asks for (spec models 7).

The number holds per process and event loop. The rest holds for all processes: the one that is told tells the others.
"""

import asyncio
import hashlib
import hmac
import random
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, nullcontext
from weakref import WeakKeyDictionary

from django.conf import settings

from halo_site.lib.publish import on_signal, signal

from .contract import ErrorKind, ProviderError

_USUAL_REST = 2.0  # seconds, when the vendor names none; as the first wait between two tries of a turn
_LONGEST_REST = 60.0  # seconds; as the longest wait between two tries of a turn

_SIGNAL = "model.rest"

_Gates = dict[tuple[str, int], asyncio.Semaphore]
_gates: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Gates]" = WeakKeyDictionary()
_quiet_until: dict[str, float] = {}  # account -> time of our own monotonic clock


def account_of(provider: str, endpoint: str, secrets: Mapping[str, str]) -> str:
    """The same for all processes of an installation; says nothing about the keys to who reads it on the way."""
    told = repr((provider, endpoint, sorted(secrets.items())))
    return hmac.new(settings.HALO.jwt_secret.encode(), told.encode(), hashlib.sha256).hexdigest()[:32]


def hear_of_rests() -> None:
    """From now on this process keeps the rests that others were told of. Called once, when the apps are ready."""
    on_signal(_SIGNAL, _heard)


def _heard(data: Mapping[str, object]) -> None:
    account, seconds = data.get("account"), data.get("seconds")
    if isinstance(account, str) and isinstance(seconds, int | float):
        _rest(account, seconds)


def _rest(account: str, seconds: float) -> None:
    now = time.monotonic()
    for known in [name for name, until in list(_quiet_until.items()) if until < now]:
        _quiet_until.pop(known, None)
    _quiet_until[account] = max(_quiet_until.get(account, 0.0), now + min(seconds, _LONGEST_REST))


@asynccontextmanager
async def admitted(account: str, limit: int) -> AsyncGenerator[None, None]:
    """Inside, the call may be made. limit: calls of this account at once, 0 = any number.

    A vendor that is too busy is left alone by every session, not only by the one it told: for as long as it asked for.
    """
    gates = _gates.setdefault(asyncio.get_running_loop(), {})
    async with gates.setdefault((account, limit), asyncio.Semaphore(limit)) if limit else nullcontext():
        if (rest := _quiet_until.get(account, 0.0) - time.monotonic()) > 0:
            await asyncio.sleep(rest + random.random() * min(1.0, rest))  # not all of them in the same moment
        try:
            yield
        except ProviderError as error:
            if error.kind is ErrorKind.THROTTLE:
                seconds = _USUAL_REST if error.retry_after is None else error.retry_after
                _rest(account, seconds)
                signal(_SIGNAL, account=account, seconds=seconds)
            raise
