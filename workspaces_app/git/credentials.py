"""`~/.git-credentials`: one line per host, as git itself reads it (rule 37). No answer or log has a token."""

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from halo_site.lib.atomic_file import locked_folder, write_atomic
from halo_site.lib.errors import BadRequest, Conflict, StorageFull
from halo_site.lib.outbound import BadAddress, parse_place

from ..sandbox.argv import environment
from .remote_url import Remote

MAX_BYTES = 1 << 20
WARNING = (
    "Git keeps these tokens as plain text in ~/.git-credentials of the server's account: whoever reads that file has "
    "them. Prefer tokens for single repositories, or a deploy key of the workspace."
)
_LINE = re.compile(r"(https?)://([^:@/\s]*)(?::([^@/\s]*))?@([^/?#@\s]+)/?\s*")


@dataclass(frozen=True, slots=True)
class Credential:
    scheme: str
    host: str  # with the port, when one is named
    username: str
    token: str

    @property
    def line(self) -> str:
        return f"{self.scheme}://{quote(self.username, safe='')}:{quote(self.token, safe='')}@{self.host}"

    def as_answer(self) -> bytes:
        """For git's question to a credential helper."""
        return f"username={self.username}\npassword={self.token}\n".encode()


def parse_line(line: str) -> Credential | None:
    """None for what is no credential; such lines are kept as they are."""
    found = _LINE.fullmatch(line)
    if not found or found[3] is None:
        return None
    return Credential(found[1], found[4].lower(), unquote(found[2]), unquote(found[3]))


def with_credential(text: str, new: Credential) -> str:
    """The file with `new` in place of what it had for that host."""
    kept = [line for line in text.splitlines() if not _is_for(line, new.host)]
    return "".join(f"{line}\n" for line in [*kept, new.line])


def without_host(text: str, host: str) -> str:
    return "".join(f"{line}\n" for line in text.splitlines() if not _is_for(line, host.lower()))


def _is_for(line: str, host: str) -> bool:
    found = parse_line(line)
    return found is not None and found.host == host


def matching(found: Sequence[Credential], target: Remote) -> Credential | None:
    """The one for this address: same scheme, host and port, and user name when the address has one."""
    for one in found:
        same = one.scheme == target.scheme and one.host == target.authority.lower()
        if same and (not target.user or target.user == one.username):
            return one
    return None


# -- the file


def file() -> Path:
    """Where it really is: dotfiles are often links."""
    return Path(os.path.realpath(Path.home() / ".git-credentials"))


def listed() -> list[Credential]:
    return [found for line in _read().splitlines() if (found := parse_line(line))]


def find(target: Remote) -> Credential | None:
    return matching(listed(), target)


def save(host: str, username: str, token: str) -> None:
    """Raises BadRequest that says what is missing or wrong."""
    scheme, address = split_host(host)
    for name, value in (("username", username), ("token", token)):
        if not value:
            raise BadRequest(f"{name} is required")
        if len(value) > 4096 or any(ord(char) < 32 or ord(char) == 127 for char in value):
            raise BadRequest(f"{name} must be one line of at most 4096 characters")
    new = Credential(scheme, address, username, token)
    _change(lambda text: with_credential(text, new))
    _use_store()


def remove(host: str) -> None:
    """Fine when there is none."""
    _, address = split_host(host)
    if any(found.host == address for found in listed()):
        _change(lambda text: without_host(text, address))


def split_host(text: str) -> tuple[str, str]:
    """`host`, `host:port`, or an address of it -> scheme and host. Raises BadRequest."""
    scheme, separator, rest = text.strip().partition("://")
    scheme, rest = (scheme.lower(), rest) if separator else ("https", scheme)
    host = rest.rstrip("/").lower()
    if not host:
        raise BadRequest("host is required")
    try:
        parse_place(host if re.search(r"(?<=[\w.\]]):\d{1,5}$", host) else f"{host}:443")
    except BadAddress as error:
        raise BadRequest("host must be a host name, with a port when it needs one, for example github.com") from error
    if scheme not in ("https", "http"):
        raise BadRequest("host must be reached by https")
    return scheme, host


def _read() -> str:
    try:
        with open(file(), "rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise Conflict(f"~/.git-credentials cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise Conflict("~/.git-credentials is larger than 1 MiB")
    return data.decode("utf-8", "surrogateescape")


def _change(edit: Callable[[str], str]) -> None:
    path = file()
    try:
        with locked_folder(path.parent):
            write_atomic(path, edit(_read()).encode("utf-8", "surrogateescape"), mode=0o600)
    except OSError as error:
        raise StorageFull(f"The credential was not saved: {error.strerror}") from error


def _use_store() -> None:
    """Git of terminals reads the file too, unless the owner chose another helper."""
    base = ["git", "config", "--global"]
    env = environment(Path.home()) | {"GIT_CONFIG_NOSYSTEM": "1"}
    with suppress(OSError, subprocess.TimeoutExpired):
        known = subprocess.run(
            [*base, "--get-all", "credential.helper"], capture_output=True, timeout=5, cwd="/", env=env
        )
        if known.returncode == 1:
            subprocess.run([*base, "credential.helper", "store"], capture_output=True, timeout=5, cwd="/", env=env)
