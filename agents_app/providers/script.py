"""A model that follows a script: its file, and which step comes next. Pure. Source: spec models 4.6."""

import re
from collections.abc import Sequence
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from .contract import Message, StopReason
from .wire import Family


class ScriptError(ValueError):
    """The script cannot be followed. The text says where."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Piece(_Part):
    """One delta, or a pause. Exactly one of them."""

    text: str | None = None
    thinking: str | None = None
    wait_ms: float | None = Field(default=None, ge=0, le=60_000)

    @model_validator(mode="after")
    def _one_of_them(self) -> "Piece":
        if len(self.model_fields_set) != 1:
            raise ValueError("a delta is one of text, thinking, wait_ms")
        return self


class Counted(_Part):
    input: int = Field(default=0, ge=0)
    output: int = Field(default=0, ge=0)
    cache_read: int = Field(default=0, ge=0)
    cache_write: int = Field(default=0, ge=0)


class Called(_Part):
    name: str
    input: dict[str, Any] = {}
    id: str = ""


class Refusal(_Part):
    status: int = Field(ge=400, le=599)
    body: str = ""


class Step(_Part):
    """One model call. `when`: only when this pattern is found in the last text of the person."""

    when: str = ""
    deltas: tuple[Piece, ...] = ()
    tool_calls: tuple[Called, ...] = ()
    usage: Counted = Counted()
    stop_reason: StopReason | None = None
    error: Refusal | None = None
    hang: bool = False  # until cancelled
    raw_sse: str = ""  # a recorded stream, next to the script, played through the family's own code
    family: Family = "chat"

    def suits(self, said: str) -> bool:
        return not self.when or re.search(self.when, said) is not None

    @model_validator(mode="after")
    def _pattern_is_one(self) -> "Step":
        try:
            re.compile(self.when)
        except re.error as error:
            raise ValueError(f"when is no regular expression: {error}") from error
        return self


class Script(_Part):
    match: Literal["sequence", "last_user_regex"] = "sequence"
    on_exhausted: Literal["repeat_last", "error"] = "repeat_last"
    steps: tuple[Step, ...] = Field(min_length=1)

    def step(self, calls: int, said: str) -> Step | None:
        """The step for the next call; None when there is none.

        calls: model calls of this session so far. said: the last text of the person. In a sequence `when` lets a step
        be passed over; otherwise the first step whose pattern fits answers, however often.
        """
        if self.match == "last_user_regex":
            return next((step for step in self.steps if step.suits(said)), None)
        suiting = [step for step in self.steps if step.suits(said)]
        if calls < len(suiting):
            return suiting[calls]
        return suiting[-1] if suiting and self.on_exhausted == "repeat_last" else None


def parse(text: str) -> Script:
    """Raises ScriptError."""
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        raise ScriptError(f"the script is not YAML{f' (line {mark.line + 1})' if mark else ''}") from error
    try:
        return Script.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ScriptError(f"{'.'.join(map(str, first['loc'])) or 'script'}: {first['msg']}") from error


def last_words(messages: Sequence[Message]) -> str:
    """The last text of the person."""
    for message in reversed(messages):
        if message["role"] != "user":
            continue
        content = message["content"]
        if isinstance(content, str):
            return content
        if texts := [block["text"] for block in content if block["type"] == "text"]:
            return "\n".join(texts)
    return ""
