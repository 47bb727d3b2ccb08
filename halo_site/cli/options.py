"""What stands on the command line, checked before anything is started."""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest

Format = Literal["text", "json", "stream-json"]
FORMATS = ("text", "json", "stream-json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """agent None = `default` for a new session. timeout: seconds. user: whose rights count; None = the first owner."""

    words: str
    workspace: Path
    agent: str | None = None
    session: str | None = None
    new: bool = False
    access: Access = Access.FULL
    lang: Literal["en", "zh"] = "en"
    verbose: bool = False
    format: Format = "text"
    timeout: float | None = None
    user: str | None = None

    @classmethod
    def of(cls, given: dict[str, Any]) -> Self:
        """Raises BadRequest when the workspace is not there."""
        workspace = Path(given["workspace"] or os.getcwd())
        if not workspace.is_dir():
            raise BadRequest(f"Workspace does not exist: {given['workspace']}")
        return cls(
            words=" ".join(given["prompt"]).strip(),
            workspace=workspace.resolve(),
            agent=given["agent"],
            session=given["session"],
            new=given["new"],
            access=Access(given["access"]),
            lang=given["lang"],
            verbose=given["verbose"],
            format=given["format"],
            timeout=given["timeout"],
            user=given["user"],
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="*", help="what to say; text that comes by a pipe is put behind it")
    parser.add_argument("-w", "--workspace", metavar="PATH", help="folder to work in (default: this one)")
    parser.add_argument("-a", "--agent", metavar="ID", help="agent of a new session (default: default)")
    parser.add_argument("-s", "--session", metavar="ID", help="go on with this session; it is made when missing")
    parser.add_argument("-n", "--new", action="store_true", help="always a new session")
    levels = [level.value for level in Access]
    parser.add_argument("--access", choices=levels, default="full", help="what the agent may do (default: full)")
    parser.add_argument("--lang", choices=["en", "zh"], default="en", help="language of slash commands")
    parser.add_argument("-v", "--verbose", action="store_true", help="tools, sub-agents and usage, on stderr")
    parser.add_argument("-f", "--format", choices=FORMATS, default="text", help="of what is printed (default: text)")
    parser.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="stop then, and exit 124")
    parser.add_argument("--user", metavar="NAME", help="whose rights count (default: the first owner)")
    parser.add_argument(
        "--standalone", action="store_true", help="a database of its own in the workspace; no server, no relay"
    )


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds <= 10**7:
        raise ValueError
    return seconds


def prompt_of(words: str, piped: str) -> str:
    """What was typed, an empty line, what was piped. Raises BadRequest when both are empty."""
    prompt = "\n\n".join(part for part in (words, piped.strip()) if part)
    if not prompt:
        raise BadRequest("No prompt provided. Pass a prompt or pipe via stdin.")
    return prompt
