"""Pure: addresses of remotes. Which kind they are, where they lead, how they are shown and switched."""

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from halo_site.lib.errors import BadRequest
from halo_site.lib.outbound import BadAddress, Place, parse_place

Kind = Literal["http", "ssh", "file"]
Protocol = Literal["https", "ssh", "other"]

MAX_URL = 2048
_PORTS = {"http": 80, "https": 443, "ssh": 22}
_SCP = re.compile(r"(?:([\w.-]+)@)?(\[[0-9a-fA-F:.]+\]|[\w.-]+):(?!//)(.+)", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9_][\w.-]{0,99}(?:/[\w.-]{1,100}){0,4}", re.ASCII)
_IN_URL = re.compile(r"(?<=://)([^/@\s:]*):[^/@\s]*@")


@dataclass(frozen=True, slots=True)
class Remote:
    """scheme: http, https or "" . user: what the address names, "" = none. place: None for a folder."""

    kind: Kind
    scheme: str = ""
    place: Place | None = None
    authority: str = ""  # host, with the port when the address names one
    user: str = ""


def parse_remote(url: str) -> Remote:
    """Raises BadRequest for anything but https, http, ssh and folders: other kinds may run programs."""
    if not url or len(url) > MAX_URL or url.startswith("-") or any(ord(char) < 32 or ord(char) == 127 for char in url):
        raise BadRequest("That is not an address of a remote")
    if "://" in url:
        return _from_url(url)
    if "::" in url.partition("/")[0] and not url.startswith("["):
        raise BadRequest(f"Remotes of kind {url.partition('::')[0]!r} are not supported: use https or ssh")
    if (found := _SCP.fullmatch(url)) and "/" not in url.partition(":")[0]:
        if found[2].startswith("-"):
            raise BadRequest("That is not an address of a remote")
        return Remote("ssh", "ssh", _place(found[2], 22), found[2], found[1] or "")
    return Remote("file")


def _from_url(url: str) -> Remote:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadRequest(f"That is not an address of a remote: {error}") from error
    scheme = parts.scheme.lower()
    if scheme == "file" and not parts.netloc:
        return Remote("file")
    if scheme not in _PORTS:
        raise BadRequest(f"Remotes of kind {scheme!r} are not supported: use https or ssh")
    authority = parts.netloc.rpartition("@")[2]
    if not authority or authority.startswith("-") or not parts.path.strip("/"):
        raise BadRequest("The address names no host or no repository")
    host = authority if port is None else authority.rpartition(":")[0]
    user = parts.username or ""
    return Remote("ssh" if scheme == "ssh" else "http", scheme, _place(host, port or _PORTS[scheme]), authority, user)


def _place(host: str, port: int) -> Place:
    try:
        return parse_place(f"{host.removesuffix(':')}:{port}")
    except BadAddress as error:
        raise BadRequest(f"{host} is not a host name") from error


def protocol_of(url: str) -> Protocol:
    """What the panel's switch shows."""
    if url.lower().startswith("https://"):
        return "https"
    if url.lower().startswith("ssh://") or ("://" not in url and _SCP.fullmatch(url)):
        return "ssh"
    return "other"


def switched(url: str, to: Literal["https", "ssh"]) -> str:
    """`https://<host>/<path>` <-> `git@<host>:<path>` (rule 41). Raises BadRequest for other addresses.

    A user name or password in the old address is not taken along; an address that is of that kind stays as it is.
    """
    if protocol_of(url) == "other":
        raise BadRequest("Only https and ssh addresses can be switched")
    if protocol_of(url) == to:
        return url
    if "://" in url:
        parts = urlsplit(url)
        host, path, odd = parts.hostname or "", parts.path.lstrip("/"), parts.port is not None
    else:
        found = _SCP.fullmatch(url)
        assert found is not None
        host, path, odd = found[2], found[3].lstrip("/"), False
    if odd:
        raise BadRequest("This address names a port, which the other kind cannot take over: set it by hand")
    if not host or not path:
        raise BadRequest("Only https and ssh addresses can be switched")
    new = f"https://{host}/{path}" if to == "https" else f"git@{host}:{path}"
    parse_remote(new)
    return new


def shown(text: str) -> str:
    """`text` without passwords in addresses."""
    return _IN_URL.sub(r"\1:***@", text)


def check_name(name: str) -> str:
    """A remote's name. Raises BadRequest."""
    if not _NAME.fullmatch(name) or ".." in name or name.endswith((".lock", ".")) or "/." in name:
        raise BadRequest("A remote's name has letters, digits, `.`, `_`, `-` and `/` only")
    return name
