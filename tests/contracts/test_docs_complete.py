"""What the server offers to programs stands in the pages for people: each address, each frame."""

import re
from pathlib import Path

from scripts.gen_frames import event_classes
from tests.contracts.test_access_matrix import MATRIX

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [page for page in DOCS.glob("*.md") if page.name != "benchmarks.md"]
_NAMED = re.compile(r"\{[^{}]*\}|<[^<>]*>")


def addresses(text: str) -> set[str]:
    """Paths below /api as they are written, names of parameters left out."""
    plain = _NAMED.sub("{}", text)
    found = {path.rstrip(".") for path in re.findall(r"(?<![\w./])/api/[\w./{}-]+", plain)}
    return {path for path in found if not path.endswith("/")}  # "below /api/git/" names no route


def test_every_route_stands_on_a_page():
    written = {path for page in PAGES for path in addresses(page.read_text(encoding="utf-8"))}
    routes = {_NAMED.sub("{}", name.split(" ")[1]) for name in MATRIX["routes"]}
    assert sorted(routes - written) == []


def test_every_route_on_a_page_is_there():
    routes = {_NAMED.sub("{}", name.split(" ")[1]) for name in MATRIX["routes"]}
    outside = {"/api/extensions/{}/{}/{}/{}"}  # their files: answered before Django
    for page in PAGES:
        assert sorted(addresses(page.read_text(encoding="utf-8")) - routes - outside) == [], page.name


SOCKET = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("socket.md", "terminal.md", "watching.md"))


def test_every_frame_a_client_can_send_stands_on_a_page_of_the_socket():
    assert [name for name in MATRIX["frames"] if f"`{name.replace('*', '<name>')}`" not in SOCKET] == []


def test_every_frame_a_client_can_get_stands_on_a_page_of_the_socket():
    assert sorted(event.type for event in event_classes() if not re.search(rf"`{event.type}[` ]", SOCKET)) == []
