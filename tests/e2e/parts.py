"""The parts of a browser test: a server of its own home, a fake model server, and a person at the page."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import httpx
from playwright.sync_api import Locator, Page, expect

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = "/usr/bin/chromium"
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START_LIMIT = 120.0  # seconds; the first start migrates
PATIENCE = 40_000  # ms a page may take on a busy machine
expect.set_options(timeout=PATIENCE)  # also where a test names none: the default is five seconds


class Halo:
    """`manage.py serve` as a process of its own, on a home that was empty at first."""

    def __init__(self, home: Path, port: int = 0, settings: Mapping[str, str] | None = None) -> None:
        """settings: its HALO_ variables, besides the home."""
        self.home, self.port, self.settings = home, port, dict(settings or {})
        self.password = ""
        self.address = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> Self:
        env = {name: value for name, value in os.environ.items() if not name.startswith("HALO_")}
        env.pop("DJANGO_SETTINGS_MODULE", None)
        env |= {"HALO_HOME": str(self.home), "PYTHONUNBUFFERED": "1", "HOME": str(self.home.parent)} | self.settings
        command = [sys.executable, "manage.py", "serve", "--port", str(self.port), "--no-qcluster"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        timer = threading.Timer(START_LIMIT, self._process.kill)
        timer.start()
        said: list[str] = []
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said.append(line)
            if found := re.search(r"Password\s+(\S+)", line):
                self.password = found[1]
            if found := re.search(r"running at (http://\S+)", line):
                self.address = found[1]
                break
        timer.cancel()
        assert self.address, "the server did not start:\n" + "".join(said)
        self.port = int(self.address.rsplit(":", 1)[1])
        threading.Thread(target=self._process.stdout.read, daemon=True).start()  # a full pipe would stop the server
        return self

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                raise
            self._process = None

    def member(self, folder: Path, level: str = "workspace") -> str:
        """The login cookie of a new person who is a member of this folder (opened before) and nothing else."""
        code = _MEMBER.format(folder=str(folder), level=level, name=f"member-{folder.parent.name}")
        return self.runs(code).split("token ")[1].strip()

    def runs(self, code: str) -> str:
        """What this Python prints in a shell of the server's home: for rows that no click makes quickly."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(("HALO_", "DJANGO_"))}
        command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code]
        env["HALO_HOME"] = str(self.home)
        return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout


_MEMBER = """
from django.contrib.auth.models import User
from halo_site.auth import new_login, token_of
from workspaces_app.models import Membership, Workspace
user = User.objects.create_user({name!r}, password="a long password 1")
Membership.objects.create(workspace=Workspace.objects.get(path={folder!r}), user=user, level={level!r})
print("token", token_of(new_login(user)))
"""


class Models:
    """The fake model server as a process of its own."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.fakes.model_server", "--port", "0"]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        found = re.search(r":(\d+)", self._process.stdout.readline())
        assert found, "the model server did not start"
        self.port = int(found[1])
        self.address = f"http://127.0.0.1:{self.port}"
        self._http = httpx.Client(base_url=self.address, trust_env=False, timeout=60)
        self.control({})

    def control(self, settings: dict[str, object]) -> None:
        self._http.post("/control", json=settings).raise_for_status()

    def stop(self) -> None:
        self._http.close()
        self._process.terminate()
        self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()


class Person:
    """What a person does at the page, in their words."""

    def __init__(self, page: Page, halo: Halo) -> None:
        self.page, self.halo = page, halo
        self.complaints: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def arrives(self, path: str = "/") -> Self:
        self.page.goto(self.halo.address + path)
        return self

    def signs_in(self, password: str | None = None) -> Self:
        self.page.get_by_label("Password", exact=True).fill(password or self.halo.password)
        self.page.get_by_role("button", name="Sign in").click()
        return self

    def opens_the_sample(self) -> Self:
        self.page.get_by_role("button", name="Sample folder").click()
        expect(self.composer).to_be_visible(timeout=PATIENCE)
        return self

    def asks(self, text: str) -> Self:
        self.composer.fill(text)
        self.composer.press("Enter")
        return self

    def sees(self, text: str) -> Self:
        expect(self.log.get_by_text(text).first).to_be_visible(timeout=PATIENCE)
        return self

    @property
    def composer(self) -> Locator:
        return self.page.locator("#composer")

    @property
    def log(self) -> Locator:
        return self.page.get_by_role("log")

    def keeps_a_picture(self, path: Path) -> None:
        """Into the documentation when asked to (HALO_TEST_KEEP=1), else to the other results: no run dirties git."""
        if not os.environ.get("HALO_TEST_KEEP"):
            path = ROOT / "test-results" / path.name
        path.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=path)
