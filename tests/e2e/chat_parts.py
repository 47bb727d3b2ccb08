"""A chat under test: a server whose agent speaks to the fake model, and a socket that a test can cut."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Locator, Page, WebSocketRoute, expect

from tests.server import bind_agent

from .parts import PATIENCE, ROOT, Halo, Models, Person


class Wire:
    """The socket of a page, led through the test: `cut()` ends it and refuses new ones until `mend()`.

    What the server says is kept back from `hold()` to `release()`.
    """

    def __init__(self, page: Page) -> None:
        self.open: list[WebSocketRoute] = []
        self.down = False
        self._held: list[tuple[WebSocketRoute, str | bytes]] | None = None
        self.sent: list[dict[str, object]] = []  # frames of the page
        self.received: list[dict[str, object]] = []
        page.route_web_socket(re.compile(r"/ws$"), self._accept)

    def _accept(self, route: WebSocketRoute) -> None:
        if self.down:
            route.close(code=1011, reason="cut by the test")
            return
        server = route.connect_to_server()
        self.open.append(route)

        def up(data: str | bytes) -> None:
            self.sent.append(json.loads(data))
            server.send(data)

        def down(data: str | bytes) -> None:
            self.received.append(json.loads(data))
            if self._held is None:
                route.send(data)
            else:
                self._held.append((route, data))

        route.on_message(up)
        server.on_message(down)

    def cut(self) -> None:
        self.down = True
        for route in self.open:
            route.close(code=1011, reason="cut by the test")
        self.open.clear()

    def mend(self) -> None:
        self.down = False

    def hold(self) -> None:
        self._held = []

    def release(self) -> None:
        held, self._held = self._held or [], None
        for route, data in held:
            route.send(data)

    def chats(self) -> list[str]:
        return [str(frame["clientMsgId"]) for frame in self.sent if frame["type"] == "chat"]


class Chat:
    """A person in front of a chat, in a folder of their own."""

    def __init__(self, person: Person, folder: Path) -> None:
        self.person, self.page, self.folder = person, person.page, folder
        self.wire = Wire(person.page)

    def enters(self) -> "Chat":
        """Signs in and opens the folder; waits until messages can be written."""
        self.person.arrives(f"/?folder={self.folder}").signs_in()
        expect(self.person.composer).to_be_visible(timeout=PATIENCE)
        expect(self.page.get_by_text("Live", exact=True)).to_be_visible(timeout=PATIENCE)
        return self

    def opens(self, session: str) -> "Chat":
        """Has this session open in the first tab from the next arrival on."""
        tabs = json.dumps({"tabs": [{"id": session, "draft": False}], "active": session})
        self.page.add_init_script(f"localStorage.setItem('halo_chat_tabs_{self.folder}', {json.dumps(tabs)})")
        return self

    def asks(self, text: str) -> "Chat":
        self.person.asks(text)
        return self

    def sees(self, text: str) -> "Chat":
        self.person.sees(text)
        return self

    def finishes(self) -> "Chat":
        expect(self.run_bar).to_have_count(0, timeout=PATIENCE)
        return self

    def message(self, text: str) -> Locator:
        return self.page.locator(".chat-user").filter(has=self.page.get_by_text(text, exact=True))

    def log_text(self, text: str) -> Locator:
        return self.person.log.get_by_text(text, exact=True)

    @property
    def session(self) -> str:
        """Id of the session on screen, as the page keeps it."""
        return str(self.page.evaluate("folder => localStorage.getItem(`halo_session_${folder}`)", str(self.folder)))

    @property
    def run_bar(self) -> Locator:
        return self.page.locator(".chat-run:not([aria-hidden])")

    @property
    def queue(self) -> Locator:
        return self.page.get_by_role("list", name="Queued messages").get_by_role("listitem")

    @property
    def prose(self) -> str:
        return "\n".join(self.page.locator(".chat-row-text .md").all_inner_texts())

    @property
    def scroller(self) -> Locator:
        return self.page.get_by_role("log", name="Conversation")


def speaking(halo: Halo, models: Models) -> Halo:
    """The server's default agent asks the fake model from its next turn on."""
    bind_agent(halo.home, f"{models.address}/v1")
    return halo


def plan(models: Models, *steps: dict[str, object]) -> None:
    """How the next model calls are answered, in order."""
    models.control({"queue": list(steps)})


def words(count: int) -> str:
    """Text in which every word is different, so that a lost or doubled one shows."""
    return " ".join(f"w{number}" for number in range(count))


def seed(halo: Halo, folder: Path, sizes: Sequence[int]) -> list[str]:
    """Sessions of these many entries in a folder that was opened before; their ids."""
    environment = {"HALO_HOME": str(halo.home), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "bench.seed", str(folder), str(len(sizes)), json.dumps(list(sizes))]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return [str(sid) for sid in json.loads(done.stdout.strip().splitlines()[-1])]
