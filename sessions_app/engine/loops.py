"""Notices an agent that goes round in circles: the same tool with the same input (spec sessions 6.6). Pure."""

import json
from collections import deque
from collections.abc import Mapping
from typing import Any

WINDOW = 15  # calls looked back upon
REPEATS = 3
# Asking again how others are getting on is no circle.
EXEMPT = frozenset({"session_list", "get_session_output", "query_agent", "relay_list", "relay_read"})
TO_PERSON = "{tool} was called {count} times with the same input in this turn. The agent may be going round in circles."
TO_MODEL = (
    "[You called {tool} {count} times with this very input in your last {window} calls. The answer will not change: "
    "try something else, or tell the person what is in your way.]"
)


class LoopWatch:
    """The calls of one turn."""

    def __init__(self) -> None:
        self._calls: deque[str] = deque(maxlen=WINDOW)
        self._warned: set[str] = set()

    def count(self, tool: str, given: Mapping[str, Any]) -> int:
        """Note a call. How often it was made lately, when that is worth a warning; once per pattern, else 0."""
        times = self._note(tool, given)
        pattern = _pattern(tool, given)
        if times < REPEATS or pattern in self._warned:
            return 0
        self._warned.add(pattern)
        return times

    def is_stuck(self, tool: str, given: Mapping[str, Any], limit: int) -> bool:
        """Whether one more such call would be the `limit`th. 0 = there is no limit."""
        return 0 < limit <= self._calls.count(_pattern(tool, given)) + 1 and tool not in EXEMPT

    def _note(self, tool: str, given: Mapping[str, Any]) -> int:
        if tool in EXEMPT:
            return 0
        pattern = _pattern(tool, given)
        self._calls.append(pattern)
        return self._calls.count(pattern)


def _pattern(tool: str, given: Mapping[str, Any]) -> str:
    return f"{tool} {json.dumps(given, sort_keys=True, default=str)}"


def to_person(tool: str, count: int) -> str:
    return TO_PERSON.format(tool=tool, count=count)


def to_model(tool: str, count: int) -> str:
    return TO_MODEL.format(tool=tool, count=count, window=WINDOW)
