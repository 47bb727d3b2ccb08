"""The schema of one entry under `mcp:` in agent.yaml. Pure; scalars arrive as the text of the file.

Unknown keys are refused here, not ignored: a misspelt `requiresAccess` must not open a server to weaker sessions.
"""

import re
from itertools import permutations
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from halo_site.lib.access_level import Access

NAME = r"^[a-z][a-z0-9_-]{0,31}$"
MAX_SERVERS = 16
PLACEHOLDER = re.compile(r"\{\{\s*([\w-]+)\.(params|secrets)\.([\w-][\w.-]*)\s*\}\}")  # owner, kind, key
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _no_secret(value: str) -> str:
    if any(found[2] == "secrets" for found in PLACEHOLDER.finditer(value)):
        raise ValueError("secrets may stand in `env` and `headers` only")
    return value


def _list(value: Any) -> Any:
    if isinstance(value, str):
        raise ValueError(f"a list is needed, such as [{value}]")
    return value


def _texts(value: Any) -> Any:
    """`KEY:` without a value is an empty text."""
    return {key: "" if item is None else item for key, item in value.items()} if isinstance(value, dict) else value


Plain = Annotated[str, AfterValidator(_no_secret)]
Words = Annotated[tuple[Plain, ...], BeforeValidator(_list)]
Texts = Annotated[dict[str, str], BeforeValidator(_texts)]


class McpServer(BaseModel):
    """command, args, env: of a stdio server. url, headers: of an HTTP one. timeout: seconds for a start or a call."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=NAME)
    transport: Literal["stdio", "http"]
    command: Plain = ""
    args: Words = ()
    env: Texts = Field(default_factory=dict)
    url: Plain = ""
    headers: Texts = Field(default_factory=dict)
    tools: Annotated[tuple[str, ...], BeforeValidator(_list)] | None = None  # None = all of them
    timeout: Annotated[float, Field(gt=0, le=3600)] = Field(default=60.0, alias="timeout_sec")
    needs: Access = Field(default=Access.WORKSPACE, alias="requiresAccess")

    @model_validator(mode="before")
    @classmethod
    def _empty_means_unset(cls, value: Any) -> Any:
        return {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _fits_transport(self) -> "McpServer":
        if self.transport == "stdio":
            if not self.command.strip():
                raise ValueError("a stdio server needs `command`")
            if self.url or self.headers:
                raise ValueError("`url` and `headers` are for transport http")
        else:
            if urlsplit(self.url).scheme not in ("http", "https"):
                raise ValueError("an http server needs `url`, beginning with http:// or https://")
            if self.command or self.args or self.env:
                raise ValueError("`command`, `args` and `env` are for transport stdio")
        for name in self.env:
            if not _VARIABLE.fullmatch(name):
                raise ValueError(f"env: {name!r} is not the name of a variable")
        if any("\0" in text for text in (self.command, *self.args, *self.env.values())):
            raise ValueError("NUL cannot be passed to a program")
        return self


def _distinct(servers: tuple[McpServer, ...]) -> tuple[McpServer, ...]:
    names = [server.name for server in servers]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"the name {twice[0]} is there twice; each server needs its own")
    for short, long in permutations(names, 2):
        if f"{long}__".startswith(f"{short}__"):
            raise ValueError(f"the names {short} and {long} make tools that nobody can tell apart; change one of them")
    if len(names) > MAX_SERVERS:
        raise ValueError(f"at most {MAX_SERVERS} servers")
    return servers


def _entries(value: Any) -> Any:
    if value is None:
        return ()
    if isinstance(value, str | dict):
        raise ValueError("a list of servers is needed: `- name: ...` lines")
    return value


McpServers = Annotated[tuple[McpServer, ...], BeforeValidator(_entries), AfterValidator(_distinct)]
