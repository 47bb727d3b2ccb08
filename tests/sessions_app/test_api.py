"""Routes of sessions (spec http-api, Sessions)."""

import io
import itertools
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client
from PIL import Image

from halo_site.auth import COOKIE, new_login, token_of
from halo_site.lib.access_level import Access
from sessions_app.models import Entry, Session, SessionSeen, Tombstone, Turn, Upload
from workspaces_app.models import AuditEvent, Membership, Workspace

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Shop:
    """A workspace, its owner's browser, and a way to make sessions."""

    workspace: Workspace
    owner: User
    numbers: Any = field(default_factory=itertools.count)

    def browser(self, user: User | None = None) -> Client:
        client = Client()
        client.cookies[COOKIE] = token_of(new_login(user or self.owner))
        return client

    def get(self, path: str, user: User | None = None, **query: Any) -> Any:
        query.setdefault("projectId", self.workspace.path)
        return self.browser(user).get(f"/api/sessions{path}", query)

    def session(self, sid: str | None = None, **fields: Any) -> Session:
        number = next(self.numbers)
        at = fields.pop("updated_at", LONG_AGO + timedelta(seconds=number))
        values = {"agent_id": "default", "agent_name": "Default", "created_at": at, "updated_at": at} | fields
        values.setdefault("workspace", self.workspace)
        return Session.objects.create(sid=sid or f"sid_{number:05}", **values)

    def log(self, session: Session, *texts: str) -> list[Entry]:
        turn = Turn.objects.create(
            session=session, index=Turn.objects.count(), status="done", started_at=LONG_AGO, ended_at=LONG_AGO
        )
        return Entry.objects.bulk_create(
            Entry(
                session=session,
                turn=turn,
                kind="user" if index % 2 == 0 else "assistant",
                text=text,
                blocks=[] if index % 2 == 0 else [{"type": "text", "text": text}],
                meta={} if index % 2 == 0 else {"turn_id": f"t{index}"},
                created_at=LONG_AGO,
            )
            for index, text in enumerate(texts)
        )

    def member(self, name: str, level: Access | None) -> User:
        user = User.objects.create_user(name)
        if level is not None:
            Membership.objects.create(workspace=self.workspace, user=user, level=level.value)
        return user


@pytest.fixture
def shop(transactional_db: None, tmp_path: Path) -> Shop:
    folder = tmp_path / "work"
    (folder / ".halo").mkdir(parents=True)
    workspace = Workspace.objects.create(path=str(folder.resolve()), name="work")
    return Shop(workspace, User.objects.create_superuser("owner"))


def ids(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    return [row["id"] for row in response.json()["sessions"]]


def test_the_list_is_newest_first_and_has_the_fields_of_the_spec(shop: Shop) -> None:
    shop.session("old", title="First", exchange_count=3, context_tokens=10, output_tokens=4)
    shop.session("new")
    rows = shop.get("/logs").json()["sessions"]
    assert [row["id"] for row in rows] == ["new", "old"]
    old = rows[1]
    assert old["title"] == "First"
    assert rows[0]["title"] == "New session"
    assert (old["exchangeCount"], old["contextTokens"], old["totalOutputTokens"]) == (3, 10, 4)
    assert old["createdAt"] == int(LONG_AGO.timestamp() * 1000)
    assert (old["stoppedAt"], old["archivedAt"], old["goalSessionId"], old["parentSessionId"]) == (None,) * 4
    assert (old["running"], old["compacting"], old["startedAt"], old["unseen"]) == (False, False, None, False)


@pytest.mark.parametrize("size", [1, 2])
def test_X14_pages_never_overlap_or_skip_also_with_equal_times(shop: Shop, size: int) -> None:
    made = {shop.session(updated_at=LONG_AGO).sid for _ in range(7)} | {shop.session().sid for _ in range(4)}
    seen: list[str] = []
    cursor = ""
    for _ in range(20):
        page = shop.get("/logs", limit=size, cursor=cursor).json()
        seen += [row["id"] for row in page["sessions"]]
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert sorted(seen) == sorted(made)
    assert len(seen) == len(set(seen))


def test_a_plain_number_of_milliseconds_is_still_a_cursor(shop: Shop) -> None:
    shop.session("a", updated_at=LONG_AGO)
    shop.session("b", updated_at=LONG_AGO + timedelta(hours=1))
    later = int((LONG_AGO + timedelta(minutes=1)).timestamp() * 1000)
    assert ids(shop.get("/logs", cursor=later)) == ["a"]


def test_descendants_come_with_their_roots_and_not_with_rootOnly(shop: Shop) -> None:
    root = shop.session("root")
    child = shop.session("root>a", parent=root, root=root)
    shop.session("root>a>b", parent=child, root=root)
    shop.session("root>z", parent=root, root=root, archived_at=LONG_AGO)
    assert set(ids(shop.get("/logs"))) == {"root", "root>a", "root>a>b"}
    assert ids(shop.get("/logs", rootOnly=1)) == ["root"]
    assert ids(shop.get("/logs", parentId="root")) == ["root>a"]
    assert set(ids(shop.get("/logs", parentId="*"))) == {"root", "root>a", "root>a>b"}
    assert "root>z" in ids(shop.get("/logs", includeArchived=1))


def test_internal_sessions_are_not_listed_but_found_by_id(shop: Shop) -> None:
    shop.session("hidden", source=Session.Source.INTERNAL)
    assert ids(shop.get("/logs")) == []
    assert shop.get("/logs/hidden").status_code == 200


def test_a_row_says_that_it_runs_and_what_its_reader_has_not_seen(shop: Shop) -> None:
    session = shop.session("s", seq=7, lease_owner="x", lease_until=LONG_AGO, activity="turn")
    Turn.objects.create(session=session, index=0, started_at=LONG_AGO)
    row = shop.get("/logs").json()["sessions"][0]
    assert (row["running"], row["status"], row["startedAt"]) == (True, "running", int(LONG_AGO.timestamp() * 1000))
    assert row["unseen"] is True
    SessionSeen.objects.create(user=shop.owner, session=session, seq=7)
    assert shop.get("/logs").json()["sessions"][0]["unseen"] is False


def test_a_row_names_the_model_of_the_newest_turn_that_asked_one(shop: Shop) -> None:
    session = shop.session("s", turn_count=3)
    shop.session("other")
    for index, model in enumerate(["vendor/old", "vendor/new", ""]):  # the third ended before it asked a model
        Turn.objects.create(session=session, index=index, status="done", model=model, started_at=LONG_AGO)
    rows = shop.get("/logs").json()["sessions"]
    assert {row["id"]: row["model"] for row in rows} == {"s": "vendor/new", "other": ""}


def test_a_row_counts_what_a_deletion_takes_along(shop: Shop) -> None:
    root = shop.session("s")
    child = shop.session("s>a", parent=root, root=root)
    shop.session("s>a>b", parent=child, root=root, archived_at=LONG_AGO)
    shop.session("s>c", parent=root, root=root, source=Session.Source.INTERNAL)
    shop.session("s2")  # begins with the same letter
    rows = shop.get("/logs").json()["sessions"]
    assert {row["id"]: row["descendants"] for row in rows} == {"s": 3, "s>a": 1, "s2": 0}
    assert shop.browser().delete(f"/api/sessions/logs/s?{urlencode({'projectId': shop.workspace.path})}").json() == {
        "ok": True,
        "deleted": 1 + 3,
    }


def test_an_unchanged_list_is_not_sent_again(shop: Shop) -> None:
    shop.session("a")
    first = shop.get("/logs")
    again = shop.browser().get(
        "/api/sessions/logs", {"projectId": shop.workspace.path}, headers={"If-None-Match": first["ETag"]}
    )
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "query", [{"limit": "0"}, {"limit": "-1"}, {"limit": "x"}, {"limit": "NaN"}, {"cursor": "?"}, {"cursor": "9" * 30}]
)
def test_bad_paging_is_400(shop: Shop, query: dict[str, str]) -> None:
    response = shop.get("/logs", **query)
    assert response.status_code == 400
    assert response.json()["error"]


def test_a_limit_over_the_most_is_cut(shop: Shop) -> None:
    shop.session("a")
    assert shop.get("/logs", limit=10**6).status_code == 200


def test_windows_are_the_same_rows_as_the_whole_log(shop: Shop) -> None:
    session = shop.session("s")
    shop.log(session, *(f"line {number}" for number in range(25)))
    seen: list[str] = []
    before: int | None = None
    while True:
        query = {"limit": 4} | ({"before": before} if before else {})
        page = shop.get("/logs/s/entries", **query).json()
        seen = [row["content"] for row in page["messages"]] + seen
        if not page["hasMore"]:
            assert page["before"] is None
            break
        before = page["before"]
    assert seen == [f"line {number}" for number in range(25)]


def test_14_segments_and_the_newest_window_are_all_rows_without_overlap(shop: Shop) -> None:
    session = shop.session("s")
    shop.log(session, *(f"line {number}" for number in range(1210)))
    document = shop.get("/logs/s").json()
    assert document["archiveCount"] == 2
    rows = [row["content"] for number in (1, 2) for row in shop.get(f"/logs/s/archive/{number}").json()["messages"]]
    assert len(rows) == 1000
    assert rows + [row["content"] for row in document["messages"]] == [f"line {number}" for number in range(1210)]
    first = shop.get("/logs/s/archive/1").json()
    shop.log(session, *(f"later {number}" for number in range(700)))
    assert shop.get("/logs/s/archive/1").json() == first


def test_archive_checks_come_in_the_order_of_the_spec(shop: Shop) -> None:
    def error(path: str, **query: Any) -> tuple[int, str]:
        response = shop.browser().get(f"/api/sessions/logs/{path}", query)
        return response.status_code, response.json()["error"]

    project = {"projectId": shop.workspace.path}
    shop.session("s")
    assert error("%2e%2e/archive/x") == (400, "projectId required")
    assert error(quote("..", safe="") + "/archive/x", **project) == (400, "Invalid session id")
    assert error("s/archive/x", **project) == (400, "Invalid segment number")
    assert error("s/archive/0", **project) == (400, "Invalid segment number")
    assert error("nobody/archive/1", **project) == (404, "Session not found")
    assert error("s/archive/1", **project) == (404, "Segment not found")


@pytest.mark.parametrize("sid", ["..%2F..%2Fetc", "a b", "%2e%2e", "x" * 300])
@pytest.mark.parametrize("tail", ["", "/entries"])
def test_ids_that_could_be_a_path_are_400(shop: Shop, sid: str, tail: str) -> None:
    response = shop.browser().get(f"/api/sessions/logs/{sid}{tail}?projectId={shop.workspace.path}")
    assert (response.status_code, response.json()["error"]) == (400, "Invalid session id")


def test_a_session_reads_as_one_document(shop: Shop) -> None:
    session = shop.session("s", title="Names", description="d")
    shop.log(session, "question", "answer")
    document = shop.get("/logs/s").json()
    assert document["version"] == 1
    assert document["createdAt"] == "2026-01-01T00:00:00.000Z"
    assert [row["type"] for row in document["messages"]] == ["user", "assistant"]
    assert document["messageCount"] == 2
    assert document["rawMessages"] == []
    assert (document["output"], document["archivedUserCount"]) == ("answer", 0)


def test_a_document_says_what_the_newest_turn_said_and_how_many_questions_its_window_leaves_out(shop: Shop) -> None:
    session = shop.session("s")
    shop.log(session, *["question", "answer"] * 399)
    shop.log(session, "question", "It is blue.")
    document = shop.get("/logs/s").json()
    shown = sum(row["type"] == "user" for row in document["messages"])
    assert (document["archiveCount"], document["archivedUserCount"]) == (1, 400 - shown)
    assert shown < 400
    assert document["output"] == "It is blue."


def test_without_projectId_only_the_one_of_its_name_that_the_caller_sees(shop: Shop, tmp_path: Path) -> None:
    other = Workspace.objects.create(path=str(tmp_path / "other"), name="other")
    shop.session("twice")
    shop.session("twice", workspace=other)
    shop.session("once")
    assert shop.browser().get("/api/sessions/logs/once").status_code == 200
    assert shop.browser().get("/api/sessions/logs/twice").status_code == 404
    member = shop.member("member", Access.READONLY)
    assert shop.browser(member).get("/api/sessions/logs/twice").status_code == 200


def test_rename_needs_a_title_and_a_session(shop: Shop) -> None:
    shop.session("s")

    def rename(sid: str, body: object) -> Any:
        return shop.browser().patch(
            f"/api/sessions/logs/{sid}?projectId={shop.workspace.path}", body, content_type="application/json"
        )

    assert rename("s", {"title": "  Better  name "}).json() == {"ok": True}
    assert Session.objects.get(sid="s").title == "Better name"
    assert (rename("s", {"title": " "}).status_code, rename("s", {}).json()["error"]) == (400, "title required")
    assert (rename("no", {"title": "x"}).status_code, rename("no", {"title": "x"}).json()["error"]) == (
        404,
        "Session not found",
    )


def test_delete_takes_the_descendants_along_and_leaves_an_audit_row(shop: Shop) -> None:
    root = shop.session("root")
    shop.session("root>a", parent=root, root=root)
    shop.session("other")
    response = shop.browser().delete(f"/api/sessions/logs/root?projectId={shop.workspace.path}")
    assert response.json() == {"ok": True, "deleted": 2}
    assert [session.sid for session in Session.objects.all()] == ["other"]
    assert Tombstone.objects.count() == 2
    event = AuditEvent.objects.get(action="session.delete")
    assert (event.target, event.actor, event.detail) == ("root", shop.owner, {"sessions": 2})


def test_C2_a_session_of_another_workspace_is_404_like_a_missing_one(shop: Shop, tmp_path: Path) -> None:
    folder = tmp_path / "foreign"
    folder.mkdir()
    foreign = Workspace.objects.create(path=str(folder), name="foreign")
    shop.session("theirs", workspace=foreign)
    member = shop.member("member", Access.FULL)
    for project in (shop.workspace.path, foreign.path):
        for path in ("/logs/theirs", "/logs/theirs/entries", "/logs/theirs/archive/1"):
            assert shop.get(path, member, projectId=project).status_code == 404
        client = shop.browser(member)
        assert client.delete(f"/api/sessions/logs/theirs?projectId={project}").status_code == 404
    assert shop.get("/logs", member, projectId=foreign.path).json() == {"error": "Project not found"}
    assert shop.browser(member).get("/api/sessions/logs/theirs").status_code == 404
    assert Session.objects.filter(sid="theirs").exists()


def test_a_readonly_member_reads_and_changes_nothing(shop: Shop) -> None:
    shop.session("s", title="kept")
    reader = shop.member("reader", Access.READONLY)
    assert shop.get("/logs/s", reader).status_code == 200
    client = shop.browser(reader)
    address = f"/api/sessions/logs/s?projectId={shop.workspace.path}"
    assert client.patch(address, {"title": "x"}, content_type="application/json").status_code == 403
    assert client.delete(address).status_code == 403
    assert Session.objects.get().title == "kept"


def picture(kind: str = "PNG") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (8, 4), "red").save(out, kind)
    return out.getvalue()


def upload(shop: Shop, data: bytes, name: str = "x.png", user: User | None = None) -> Any:
    file = io.BytesIO(data)
    file.name = name
    return shop.browser(user).post("/api/sessions/uploads", {"projectId": shop.workspace.path, "file": file})


def test_an_image_goes_up_and_lies_below_the_workspace(shop: Shop) -> None:
    response = upload(shop, picture("JPEG"), "wrong.png")
    assert response.status_code == 201, response.content
    body = response.json()
    assert (body["mimeType"], body["width"], body["height"]) == ("image/jpeg", 8, 4)
    row = Upload.objects.get(pk=body["id"])
    assert Path(row.path).read_bytes() == picture("JPEG")
    inside = Path(row.path).relative_to(shop.workspace.path)
    assert inside.parts[:5] == (".halo", "assets", "web", "inbound", "web")
    assert row.path.endswith(".jpg")


def test_what_is_no_image_is_refused_by_its_bytes(shop: Shop) -> None:
    response = upload(shop, b"<svg/>", "x.png")
    assert (response.status_code, response.json()["error"]) == (400, "not an image")
    assert upload(shop, picture()[:-30]).status_code == 400
    assert upload(shop, picture() + b"\0" * (5 << 20)).status_code == 413
    assert not Upload.objects.exists()


def test_a_reader_uploads_nothing(shop: Shop) -> None:
    assert upload(shop, picture(), user=shop.member("reader", Access.READONLY)).status_code == 403


def test_an_upload_that_no_message_named_goes_after_a_day(shop: Shop) -> None:
    old = Upload.objects.get(pk=upload(shop, picture()).json()["id"])
    Upload.objects.update(created_at=LONG_AGO)
    upload(shop, picture())
    assert not Upload.objects.filter(pk=old.pk).exists()
    assert not Path(old.path).exists()


def of_agent(shop: Shop, path: str = "", user: User | None = None, method: str = "get", **query: Any) -> Any:
    client = shop.browser(user)
    address = f"/api/agent-configs/writer/sessions{path}?" + urlencode({"projectId": shop.workspace.path} | query)
    return getattr(client, method)(address)


def test_an_agents_sessions_are_listed_at_any_depth_and_only_its_own(shop: Shop) -> None:
    root = shop.session("root")
    shop.session("root>a", parent=root, root=root, agent_id="writer")
    shop.session("put_away", agent_id="writer", archived_at=LONG_AGO)
    shop.session("elsewhere", agent_id="writer", workspace=Workspace.objects.create(path="/else", name="e"))
    assert ids(of_agent(shop)) == ["put_away", "root>a"]
    page = of_agent(shop, limit=1).json()
    assert [row["id"] for row in page["sessions"]] == ["put_away"]
    assert ids(of_agent(shop, cursor=page["nextCursor"])) == ["root>a"]


def test_an_agents_sessions_are_listed_and_deleted_by_how_they_began(shop: Shop) -> None:
    root = shop.session("root")
    shop.session("root>a", parent=root, root=root, agent_id="writer", source="delegated")
    shop.session("asked", agent_id="writer")
    assert ids(of_agent(shop, source="delegated")) == ["root>a"]
    assert ids(of_agent(shop, source="explorer")) == ["asked"]
    assert ids(of_agent(shop, source="nobody")) == []
    assert of_agent(shop, method="delete", source="delegated", all="1").json() == {"ok": True, "deleted": 1}
    assert sorted(row.sid for row in Session.objects.all()) == ["asked", "root"]


def test_an_agents_session_is_read_and_deleted_under_its_name_only(shop: Shop) -> None:
    shop.session("mine", agent_id="writer", title="Draft")
    shop.session("other")
    assert of_agent(shop, "/mine").json() == shop.get("/logs/mine").json()
    assert of_agent(shop, "/other").status_code == 404
    assert of_agent(shop, "/other", method="delete").status_code == 404
    assert of_agent(shop, "/mine", method="delete").json() == {"ok": True, "deleted": 1}
    assert [row.sid for row in Session.objects.all()] == ["other"]
    assert Tombstone.objects.filter(sid="mine").exists()


def test_all_sessions_of_an_agent_go_only_when_all_are_asked_for(shop: Shop) -> None:
    root = shop.session("one", agent_id="writer")
    shop.session("one>a", parent=root, root=root, agent_id="writer")
    shop.session("two", agent_id="writer")
    shop.session("other")
    assert of_agent(shop, method="delete").status_code == 400
    assert of_agent(shop, method="delete", user=shop.member("reader", Access.READONLY), all="1").status_code == 403
    assert Session.objects.count() == 4
    assert of_agent(shop, method="delete", all="1").json() == {"ok": True, "deleted": 3}
    assert [row.sid for row in Session.objects.all()] == ["other"]
    assert AuditEvent.objects.filter(action="session.delete").count() == 2


def test_test_chats_are_not_kept_apart_any_more(shop: Shop) -> None:
    address = "/api/agent-configs/writer/sessions"
    response = shop.browser().post(address, {"messages": []}, content_type="application/json")
    assert response.status_code == 410
    assert "ordinary sessions" in response.json()["error"]
