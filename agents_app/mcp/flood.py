"""Messages that nobody asked for: some are normal, such as log lines; a flood of them must not take the loop away."""

import asyncio
from dataclasses import dataclass

from .errors import McpFailed

MOST = 20_000
SECONDS = 10.0
AT_ONCE = 200  # so many are looked at before others have their turn


@dataclass(slots=True)
class Flood:
    """Counts them for one link."""

    count: int = 0
    since: float = 0.0  # by the clock of the loop

    async def note(self) -> None:
        """One more came. Raises McpFailed when there were more than `MOST` within `SECONDS`."""
        now = asyncio.get_running_loop().time()
        if now - self.since >= SECONDS:
            self.count, self.since = 0, now
        self.count += 1
        if self.count > MOST:
            raise McpFailed(f"it sent more than {MOST} messages that nobody asked for within {SECONDS:g} s")
        if self.count % AT_ONCE == 0:
            await asyncio.sleep(0)
