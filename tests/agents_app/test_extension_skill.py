"""The script of the `extension` skill, where it is installed: the server's verdicts, the hub, pins (spec skills 9)."""

import hashlib
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agents_app.seed import CODE, RULES, seed_home
from extensions_app.install import install_zip
from extensions_app.scanner import scan
from halo_site.lib.errors import BadRequest
from tests.extensions_app.test_install import NAMES, tree
from tests.extensions_app.zips import good, manifest, with_entry, zipped


@pytest.fixture
def root(home) -> Path:
    seed_home(home)
    return home / "global/extensions"


def ext(root: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    script = root.parent / "skills/extension/scripts/ext.py"
    env = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **environ}
    command = [sys.executable, "-I", "-S", "-B", str(script), *arguments]  # -S: the standard library alone
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)


def saved(tmp_path: Path, zip: io.BytesIO) -> str:
    place = tmp_path / "given.zip"
    place.write_bytes(zip.getvalue())
    return str(place)


class Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        hub = self.server.hub  # type: ignore[attr-defined]
        hub.asked.append((self.path, self.headers.get("Authorization")))
        status, body = hub.answers.get(self.path, (404, b"{}"))
        self.send_response(status)
        if status == 302:
            self.send_header("Location", body.decode())
            body = b""
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Hub:
    def __init__(self, port: int) -> None:
        self.base = f"http://127.0.0.1:{port}"
        self.asked: list[tuple[str, str | None]] = []
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.releases: list[dict[str, Any]] = []

    @property
    def repository(self) -> str:
        return f"{self.base}/repos/lab/viewers"

    def release(self, tag: str, data: bytes, *, at: str = "2026-01-01T00:00:00Z", **changes: Any) -> None:
        self.answers[f"/{tag}.zip"] = (200, data)
        digest = changes.pop("digest", f"sha256:{hashlib.sha256(data).hexdigest()}")
        asset = {"name": f"{tag}.zip", "browser_download_url": f"{self.base}/{tag}.zip", "digest": digest}
        facts = {"tag_name": tag, "author": {"login": "ada"}, "published_at": at, "assets": [{"name": "x.txt"}, asset]}
        self.releases.append({"draft": False, "prerelease": False} | facts | changes)
        self.answers["/repos/lab/viewers/releases?per_page=100&page=1"] = (200, json.dumps(self.releases).encode())


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serving() as found:
        yield found


@contextmanager
def serving() -> Iterator[Hub]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.hub = Hub(server.server_port)  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.hub  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_rules_are_the_servers_own_files(root):
    place = root.parent / "skills/extension/scripts/rules"
    assert {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()} == set(RULES)
    for name in RULES:
        assert (place / name).read_text() == (CODE / name).read_text()


def test_a_zip_is_installed_listed_and_removed(root, tmp_path):
    done = ext(root, "install", saved(tmp_path, zipped(good(capabilities=["save"]), below="mol-view/")))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "Capabilities: save" in lines[:-1]
    assert any(line.startswith("Publisher: unknown; it is the file ") for line in lines)
    assert lines[-1] == "Installed mol-view 1.2.0"
    (root / "bad").mkdir()
    listed = ext(root, "list").stdout
    assert listed == "mol-view 1.2.0 .mol .pdb\nbad BROKEN: there is no halo-extension.json\n"
    assert ext(root, "remove", "bad").stdout == "Removed bad\n"
    assert ext(root, "remove", "mol-view").returncode == 0
    assert os.listdir(root) == []
    again = ext(root, "remove", "mol-view")
    assert (again.returncode, again.stderr) == (1, "error: mol-view is not installed\n")


def test_to_show_a_package_changes_nothing(root, tmp_path):
    install_zip(root, zipped(good(version="1.0.0")))
    before = tree(root)
    done = ext(root, "show", saved(tmp_path, zipped(good())))
    assert "Replaces: version 1.0.0" in done.stdout
    assert done.stdout.endswith("Nothing was changed.\n")
    assert tree(root) == before


def test_C58_the_script_goes_back_to_an_older_version_only_when_told_and_shows_other_viewers(root, tmp_path):
    install_zip(root, zipped(good(version="2.0.0")))
    install_zip(root, zipped(good(id="other", extensions=[".pdb"])))
    given = saved(tmp_path, zipped(good(version="1.0.0")))
    shown = ext(root, "show", given).stdout.splitlines()
    assert "Replaces: version 2.0.0, which is newer" in shown
    assert "Others for them: .pdb other" in shown
    refused = ext(root, "install", given)
    assert (refused.returncode, refused.stderr) == (
        1,
        "error: mol-view 1.0.0 is older than 2.0.0, which is installed; --older installs it all the same\n",
    )
    assert scan(root).find("mol-view").manifest.version == "2.0.0"
    assert ext(root, "install", given, "--older").stdout.endswith("Installed mol-view 1.0.0\n")
    assert ext(root, "list").stdout.splitlines()[-1] in (
        ".pdb of other opens with mol-view",
        ".pdb of mol-view opens with other",
    )


HOSTILE = {ascii(name)[:30]: with_entry(name) for name in NAMES}
HOSTILE |= {"link": with_entry("assets", b"../x", mode=0o120777), "no zip": io.BytesIO(b"words"), "empty": zipped({})}
HOSTILE |= {"cut": io.BytesIO(zipped(good()).getvalue()[:-30])}
HOSTILE |= {
    str(changes): zipped(good(**changes))
    for changes in (
        {"id": "No"},
        {"name": ""},
        {"version": "1.2"},
        {"extensions": ["glb"]},
        {"entry": "../x.html"},
        {"entry": "none.html"},
        {"capabilities": ["network"]},
        {"homepage": "javascript:1"},
        {"id": ...},
    )
}
HOSTILE |= {
    f"json {data[:12]!r}": zipped(good() | {"halo-extension.json": data})
    for data in (b"{", b"[]", b"\xff", b'{"id": "\\ud800"}', b'{"n": NaN, ' + manifest()[1:], b"[" * 60_000)
}


@pytest.mark.parametrize("name", HOSTILE)
def test_E1_the_script_and_the_server_give_the_same_verdict(root, tmp_path, name):
    install_zip(root, zipped(good(version="1.0.0")))
    before = tree(root)
    done = ext(root, "install", saved(tmp_path, HOSTILE[name]))
    with pytest.raises(BadRequest) as refused:
        install_zip(root, HOSTILE[name])
    HOSTILE[name].seek(0)
    assert done.returncode == 1
    assert f"Not installed: {done.stderr.removeprefix('error: ').rstrip()}" == str(refused.value)
    assert tree(root) == before


def test_a_pin_takes_these_bytes_and_no_others(root, tmp_path):
    file = saved(tmp_path, zipped(good()))
    digest = hashlib.sha256(Path(file).read_bytes()).hexdigest()
    refused = ext(root, "install", file, "--pin", "sha256:" + "0" * 64)
    assert (refused.returncode, os.listdir(root)) == (1, [])
    assert ext(root, "install", file, "--pin", "9.9.9").returncode == 1
    assert "--pin takes" in ext(root, "install", file, "--pin", "latest").stderr
    assert ext(root, "install", file, "--pin", f"sha256:{digest}").returncode == 0


def test_an_id_is_the_newest_finished_release_of_the_hub(root, hub):
    hub.release("mol-view-v1.0.0", zipped(good(version="1.0.0")).getvalue(), at="2026-01-01T00:00:00Z")
    hub.release("mol-view-v1.2.0", zipped(good()).getvalue(), at="2026-03-01T00:00:00Z")
    hub.release("mol-view-v2.0.0", b"", at="2026-04-01T00:00:00Z", prerelease=True)
    hub.release("mol-view-v3.0.0", b"", at="2026-05-01T00:00:00Z", draft=True)
    hub.release("mol-view-extra-v1.0.0", b"", at="2026-06-01T00:00:00Z")
    done = ext(root, "--hub", hub.repository, "install", "mol-view", GITHUB_TOKEN="t")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Publisher: ada in lab/viewers on {hub.base[7:]}, release mol-view-v1.2.0" in done.stdout
    assert [token for _, token in hub.asked] == ["Bearer t", None]
    assert ext(root, "--hub", hub.repository, "install", "mol-view", "--pin", "1.0.0").returncode == 0
    assert scan(root).find("mol-view").manifest.version == "1.0.0"


def test_what_the_hub_sends_must_be_what_it_names(root, hub):
    data = zipped(good()).getvalue()
    hub.release("mol-view-v1.2.0", data, digest="sha256:" + "0" * 64)
    done = ext(root, "--hub", hub.repository, "install", "mol-view")
    assert "but the hub says sha256:0000" in done.stderr
    hub.releases.clear()
    hub.release("mol-view-v1.2.0", data, digest=None)
    assert "names no digest" in ext(root, "--hub", hub.repository, "install", "mol-view").stderr
    assert os.listdir(root) == []
    pin = f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert ext(root, "--hub", hub.repository, "install", "mol-view", "--pin", pin).returncode == 0


def test_another_id_than_the_asked_one_is_refused(root, hub):
    hub.release("glb-v1.2.0", zipped(good()).getvalue())
    done = ext(root, "--hub", hub.repository, "install", "glb")
    assert (done.returncode, done.stderr) == (1, "error: this is mol-view, not glb\n")


def test_the_token_stays_with_the_hub(root, hub):
    with serving() as elsewhere:
        elsewhere.answers["/x"] = (200, b"[]")
        hub.answers["/repos/lab/viewers/releases?per_page=100&page=1"] = (302, f"{elsewhere.base}/x".encode())
        done = ext(root, "--hub", hub.repository, "install", "mol-view", GITHUB_TOKEN="t")
        assert "no release of mol-view" in done.stderr
        assert elsewhere.asked == [("/x", None)]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ((403, b"{}"), "set GITHUB_TOKEN"),
        ((429, b"{}"), "set GITHUB_TOKEN"),
        ((404, b""), "answered 404"),
        ((200, b"<html>"), "did not answer with a list"),
        ((200, b"{}"), "did not answer with a list"),
    ],
)
def test_a_hub_that_does_not_help_says_why(root, hub, answer, text):
    hub.answers["/repos/lab/viewers/releases?per_page=100&page=1"] = answer
    done = ext(root, "--hub", hub.repository, "install", "mol-view")
    assert done.returncode == 1
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_hub_or_a_safe_address_nothing_is_asked(root):
    for hub in ("", "{{extension.params.hub}}"):
        assert "no hub is set" in ext(root, "--hub", hub, "install", "glb").stderr
    assert "is without https" in ext(root, "install", "http://192.0.2.1/x.zip").stderr
    assert "is no file, no address and no id" in ext(root, "install", "./None.zip").stderr


def test_an_address_is_installed_up_to_a_size(root, hub):
    hub.answers["/a.zip"] = (200, zipped(good()).getvalue())
    assert "Publisher: unknown; it comes from 127.0.0.1" in ext(root, "install", f"{hub.base}/a.zip").stdout
    assert scan(root).find("mol-view") is not None


def test_what_a_manifest_says_stays_on_its_line(root, tmp_path):
    done = ext(root, "show", saved(tmp_path, zipped(good(description="x\nPublisher: us\x1b[2J"))))
    assert sum(line.startswith("Publisher:") for line in done.stdout.splitlines()) == 1
    assert "\x1b" not in done.stdout
