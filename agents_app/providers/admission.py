"""How many calls of one account run at once, and the rest a vendor asks for (spec models 7).

Kept per process and event loop: several processes learn of a busy vendor one by one.
"""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext
from weakref import WeakKeyDictionary

from .contract import ErrorKind, ProviderError

_LONGEST_REST = 60.0  # seconds; as the longest wait between two tries of a turn

Account = tuple[str, str, int]  # provider, endpoint, hash of its keys


class _State:
    def __init__(self, limit: int) -> None:
        self.gate = asyncio.Semaphore(limit) if limit else None
        self.quiet_until = 0.0  # time of the event loop


_states: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[Account, int], _State]]" = WeakKeyDictionary()


@asynccontextmanager
async def admitted(account: Account, limit: int) -> AsyncGenerator[None, None]:
    """Inside, the call may be made. limit: calls of this account at once, 0 = any number.

    A vendor that said how long to wait is left alone for that long by every session, not only by the one it told.
    """
    loop = asyncio.get_running_loop()
    state = _states.setdefault(loop, {}).setdefault((account, limit), _State(limit))
    async with state.gate or nullcontext():
        if (rest := state.quiet_until - loop.time()) > 0:
            await asyncio.sleep(rest + random.random() * min(1.0, rest))  # not all of them in the same moment
        try:
            yield
        except ProviderError as error:
            if error.kind is ErrorKind.THROTTLE and error.retry_after:
                rest = min(error.retry_after, _LONGEST_REST)
                state.quiet_until = max(state.quiet_until, loop.time() + rest)
            raise
