"""Django's clock, moved by hand: `clock.advance(minutes=14)`. Monotonic clocks and Unix time stay as they are."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead = timedelta()
        now = timezone.now
        monkeypatch.setattr(timezone, "now", lambda: now() + self.ahead)

    def advance(self, **by: Any) -> None:
        """The arguments of a timedelta."""
        self.ahead += timedelta(**by)
