#!/usr/bin/env python3
"""Preview extensions: `ext.py [--hub OWNER/NAME] show|install SOURCE [--pin ...] [--older]`, `list`, `remove ID`.

SOURCE is an id (its newest release in the hub), a zip file or an address. Works on the folder alone: a running server
notices by itself. The rules lie in `rules/`, copied from the server, so that both give the same verdict.
Exit: 0 done, 1 refused or not reachable and nothing changed, 2 wrong call. Python 3.11 or newer, nothing else.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

if sys.version_info < (3, 11):  # noqa: UP036 -- whatever python3 is here
    sys.exit("error: this needs Python 3.11 or newer; name it in place of python3")
sys.path.insert(0, str(Path(__file__).resolve().parent / "rules"))

from extensions_app import scanner, steps
from extensions_app.manifest import ID, VERSION, Manifest, is_older

GITHUB = "https://api.github.com/repos/"
LARGEST = 100 * 1024 * 1024
LARGEST_LIST = 16 * 1024 * 1024
PAGES = 10  # of a hundred releases each
TIMEOUT = 60  # seconds without a byte
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
REPOSITORY = re.compile(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+")


class Failed(Exception):
    """Why nothing was done, for a person."""


class OnlyShown(Exception):
    """Everything was checked; `show` ends here."""


@dataclass(frozen=True)
class Package:
    """A zip at hand. digest: of these bytes. expect: the id it must have, None = any."""

    file: IO[bytes]
    digest: str
    publisher: str
    expect: str | None = None


class NoDowngrade(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, request: Any, file: Any, code: int, message: str, headers: Any, target: str) -> Any:
        if request.full_url.startswith("https:") and not target.startswith("https:"):
            raise Failed(f"{host(request.full_url)} leads to an address without https")
        return super().redirect_request(request, file, code, message, headers, target)


def main(arguments: list[str]) -> int:
    top = argparse.ArgumentParser(description="Preview extensions of Halo")
    top.add_argument("--hub", default="", help="owner/name on GitHub, or the address of a repository's API")
    top.add_argument("--root", help="folder of the extensions; found by itself")
    verbs = top.add_subparsers(dest="verb", required=True)
    for verb, text in (("show", "check a package and say what it is"), ("install", "install or replace")):
        one = verbs.add_parser(verb, help=text)
        one.add_argument("source", help="id, zip file or address")
        one.add_argument("--pin", default="", help="sha256:... of the zip, or for an id its version")
        one.add_argument("--older", action="store_true", help="also over a newer version")
    verbs.add_parser("list", help="what is installed, and what is broken")
    verbs.add_parser("remove", help="take one away, a broken one too").add_argument("id")
    given = top.parse_args(arguments)
    root = Path(given.root) if given.root else extensions_root()
    try:
        if given.verb == "list":
            listed(root)
        elif given.verb == "remove":
            remove(root, given.id)
        else:
            install(root, given)
    except steps.Older as error:
        return failed(f"{error}; --older installs it all the same")
    except (Failed, steps.Refused, steps.Stuck) as error:
        return failed(str(error))
    except OSError as error:
        return failed(f"{error.filename or 'the disk or the network'}: {error.strerror or error}")
    return 0


def failed(text: str) -> int:
    print(f"error: {plain(text)}", file=sys.stderr)
    return 1


def extensions_root() -> Path:
    """Beside the skills this script is installed among; a copy in a workspace goes by HALO_HOME, else ~/.halo."""
    here = Path(__file__).resolve()
    if here.parents[2].name == "skills" and here.parents[3].name == "global":
        return here.parents[3] / "extensions"
    return Path(os.environ.get("HALO_HOME") or Path.home() / ".halo") / "global" / "extensions"


def listed(root: Path) -> None:
    found = scanner.scan(root)
    for each in found.extensions:
        said = each.manifest
        print(plain(f"{said.id} {said.version} {' '.join(said.extensions)}"))
        for kind, other in found.passed_over(said.id).items():
            print(plain(f"{kind} of {said.id} opens with {other}"))
    for broken in found.errors:
        print(plain(f"{broken.id} BROKEN: {broken.error}"))
    if not found.extensions and not found.errors:
        print("No extension is installed.")


def remove(root: Path, name: str) -> None:
    folder = scanner.scan(root).folder_of(name)
    try:
        if folder is None:
            raise steps.Missing
        steps.remove(root, folder)
    except steps.Missing:
        raise Failed(f"{name} is not installed") from None
    print(plain(f"Removed {name}"))


def install(root: Path, given: argparse.Namespace) -> None:
    """Get it, say what it is, and put it in its place unless it is only to be shown."""
    pin = given.pin
    if pin and not DIGEST.fullmatch(pin) and not VERSION.fullmatch(pin):
        raise Failed("--pin takes sha256: and 64 hex digits, or a version such as 1.2.0")
    here = scanner.scan(root)
    with tempfile.TemporaryFile() as room:
        package = fetched(given, room)
        if DIGEST.fullmatch(pin) and package.digest != pin:
            raise Failed(f"this is {package.digest}, not the pinned {pin}; nothing was installed")

        def look(manifest: Manifest) -> None:
            if pin and not DIGEST.fullmatch(pin) and manifest.version != pin:
                raise Failed(f"this is version {manifest.version}, not the pinned {pin}; nothing was installed")
            print(told(manifest, package, here), flush=True)
            if given.verb == "show":
                raise OnlyShown

        try:
            installed = steps.install_zip(
                root,
                package.file,  # type: ignore[arg-type]
                expect=package.expect,
                older=given.older or bool(VERSION.fullmatch(pin)),  # who names the version means it
                look=look,
            )
        except OnlyShown:
            print("Nothing was changed.")
        else:
            print(f"Installed {installed.manifest.id} {installed.manifest.version}")


def told(manifest: Manifest, package: Package, here: scanner.Snapshot) -> str:
    found = here.find(manifest.id)
    had = found.manifest.version if found else ""
    newer = bool(had) and is_older(manifest.version, had)
    others = {kind: [ident for ident in here.viewers(kind) if ident != manifest.id] for kind in manifest.extensions}
    lines = {
        "Extension": f"{manifest.name} ({manifest.id} {manifest.version})",
        "Publisher": package.publisher,
        "Capabilities": ", ".join(manifest.capabilities) or "none, it only shows files",
        "File types": " ".join(manifest.extensions),
        "Others for them": ", ".join(f"{kind} {' '.join(ids)}" for kind, ids in others.items() if ids),
        "Opens them": "at once" if manifest.priority == "default" else "when chosen under Open with",
        "Replaces": f"version {had}{', which is newer' if newer else ''}" if had else "nothing",
        "Description": manifest.description or "",
        "Homepage": manifest.homepage or "",
        "Licence": manifest.license or "",
        "Pin": package.digest,
    }
    return "\n".join(plain(f"{name}: {text}") for name, text in lines.items() if text)


def plain(text: str) -> str:
    """One line, whatever a stranger wrote into it."""
    return "".join(char if char.isprintable() else " " for char in text)


# -- where a package comes from ------------------------------------------------------------------------------------


def fetched(given: argparse.Namespace, room: IO[bytes]) -> Package:
    source = given.source
    if re.match(r"https?://", source):
        check_address(source, pinned=bool(DIGEST.fullmatch(given.pin)))
        return Package(room, load(source, room), f"unknown; it comes from {host(source)}")
    if ID.fullmatch(source) and not Path(source).is_file():
        return released(given, room)
    path = Path(source)
    if not path.is_file():
        raise Failed(f"{source} is no file, no address and no id")
    with path.open("rb") as file:
        return Package(room, copy(file, room), f"unknown; it is the file {path}")


def released(given: argparse.Namespace, room: IO[bytes]) -> Package:
    """The newest release of an id, or the one of the pinned version; its bytes are those the hub names."""
    ident = given.source
    base = hub_address(given.hub)
    release = chosen(base, ident, given.pin if VERSION.fullmatch(given.pin) else "")
    asset = next((each for each in release["assets"] if str(each.get("name", "")).lower().endswith(".zip")), None)
    if asset is None:
        raise Failed(f"the release {release['tag_name']} has no zip")
    address, digest = str(asset.get("browser_download_url")), str(asset.get("digest") or "")
    pinned = bool(DIGEST.fullmatch(given.pin))
    check_address(address, pinned=pinned)
    if not DIGEST.fullmatch(digest) and not pinned:
        raise Failed(f"the release {release['tag_name']} names no digest; use --pin sha256:... from a source you trust")
    found = load(address, room)
    if DIGEST.fullmatch(digest) and found != digest:
        raise Failed(f"the zip is {found}, but the hub says {digest}; nothing was installed")
    author = (release.get("author") or {}).get("login") or "somebody unknown"
    where = urllib.parse.urlsplit(base).path.rpartition("/repos/")[2]
    return Package(room, found, f"{author} in {where} on {host(base)}, release {release['tag_name']}", ident)


def hub_address(hub: str) -> str:
    if not hub or hub.startswith(("{{", "<<")):
        raise Failed("no hub is set: set the parameter hub of this skill in Settings, or give a file or an address")
    if REPOSITORY.fullmatch(hub):
        return GITHUB + hub
    if not re.match(r"https?://", hub):
        raise Failed(f"hub must be owner/name or the address of a repository's API, not {hub}")
    check_address(hub, pinned=False)
    return hub.rstrip("/")


def chosen(base: str, ident: str, version: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    for page in range(1, PAGES + 1):
        releases = asked(f"{base}/releases?per_page=100&page={page}")
        found += [each for each in releases if fits(each, ident, version)]
        if len(releases) < 100:
            break
    if not found:
        raise Failed(f"the hub has no release of {ident}" + (f" {version}" if version else ""))
    return max(found, key=lambda each: str(each.get("published_at") or ""))  # the first of equals: as the hub lists


def fits(release: object, ident: str, version: str) -> bool:
    if not isinstance(release, dict) or release.get("draft") or release.get("prerelease"):
        return False
    tag = str(release.get("tag_name", ""))
    start = f"{ident}-v"
    return isinstance(release.get("assets"), list) and (tag == start + version if version else tag.startswith(start))


def asked(address: str) -> list[Any]:
    headers = {"Accept": "application/vnd.github+json", "User-Agent": "halo-extensions"}
    request = urllib.request.Request(address, headers=headers)
    if token := os.environ.get("GITHUB_TOKEN"):
        request.add_unredirected_header("Authorization", f"Bearer {token}")  # for the hub alone
    with opened(request) as answer:
        data = answer.read(LARGEST_LIST + 1)
    try:
        found = json.loads(data) if len(data) <= LARGEST_LIST else None
    except ValueError:
        found = None
    if not isinstance(found, list):
        raise Failed(f"{host(address)} did not answer with a list of releases")
    return found


def load(address: str, room: IO[bytes]) -> str:
    with opened(urllib.request.Request(address, headers={"User-Agent": "halo-extensions"})) as answer:
        if int(answer.headers.get("Content-Length") or 0) > LARGEST:
            raise Failed(f"the zip is larger than {LARGEST // 1024 // 1024} MB")
        return copy(answer, room)


def opened(request: urllib.request.Request) -> Any:
    try:
        return urllib.request.build_opener(NoDowngrade).open(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        with error:
            if error.code in (403, 429):
                text = "refuses more requests for now: 60 an hour without a token; set GITHUB_TOKEN, or wait"
            else:
                text = f"answered {error.code}"
            raise Failed(f"{host(request.full_url)} {text}") from None
    except OSError as error:
        raise Failed(f"{host(request.full_url)} could not be reached: {getattr(error, 'reason', error)}") from None


def copy(source: IO[bytes], room: IO[bytes]) -> str:
    """Bytes into the room; their digest."""
    digest, size = hashlib.sha256(), 0
    while piece := source.read(1 << 16):
        size += len(piece)
        if size > LARGEST:
            raise Failed(f"the zip is larger than {LARGEST // 1024 // 1024} MB")
        digest.update(piece)
        room.write(piece)
    room.seek(0)
    return f"sha256:{digest.hexdigest()}"


def check_address(address: str, *, pinned: bool) -> None:
    name = urllib.parse.urlsplit(address).hostname or ""
    if not address.startswith("https://") and not pinned and name not in ("127.0.0.1", "localhost", "::1"):
        raise Failed(f"{address} is without https: anybody on the way could change it; use --pin sha256:...")


def host(address: str) -> str:
    return urllib.parse.urlsplit(address).netloc.rpartition("@")[2]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
