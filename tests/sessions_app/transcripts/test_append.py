"""The copy of a conversation in its workspace (ARCHITECTURE 4, spec storage 6)."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import TestCase

from halo_site.lib.errors import HaloError
from sessions_app import actions, exchanges
from sessions_app.models import Entry, Session, Tombstone, Turn
from sessions_app.transcripts import append as transcript
from sessions_app.transcripts.append import append
from sessions_app.transcripts.follow import behind
from sessions_app.transcripts.records import file_of
from sessions_app.transcripts.removal import remove_files_left_behind
from workspaces_app.models import Workspace

from ..conftest import Say
from ..engine.conftest import Viewer, engine, in_db, viewer  # noqa: F401
from ..search.test_search import made, said, turn_of
from ..test_fork import compacted, exchange

pytestmark = pytest.mark.django_db


def path_of(session: Session) -> Path:
    return Path(session.workspace.path, file_of(session.agent_id, session.sid))


def records(session: Session, kind: str | None = None) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in path_of(session).read_text().splitlines()]
    return [line for line in lines if kind in (None, line["kind"])]


def ids(session: Session) -> list[int]:
    return [record["id"] for record in records(session, "entry")]


async def test_a_run_leaves_its_conversation_in_the_folder(
    engine: Any,  # noqa: F811
    viewer: Viewer,  # noqa: F811
    say: Say,
    workspace: Workspace,
    in_db: Any,  # noqa: F811
) -> None:
    await in_db(say, "hello")
    await viewer.completes()
    await engine.shutdown()  # waits for what the run still does
    session = await in_db(lambda: Session.objects.select_related("workspace").get())
    assert records(session)[0]["id"] == "sid_one"
    assert records(session)[0]["v"] == 1
    entries = await in_db(lambda: list(Entry.objects.values_list("pk", flat=True)))
    assert ids(session) == entries
    assert session.exported == entries[-1]
    assert path_of(session).stat().st_mode & 0o777 == 0o600


async def test_many_turns_of_a_few_seconds_are_one_append(
    engine: Any,  # noqa: F811
    viewer: Viewer,  # noqa: F811
    say: Say,
    workspace: Workspace,
    in_db: Any,  # noqa: F811
) -> None:
    for number, text in enumerate(("one", "two", "three"), 1):
        await in_db(say, text)
        await viewer.completes(number)
    await engine.shutdown()
    session = await in_db(lambda: Session.objects.select_related("workspace").get())
    assert len(records(session, "turn")) == 3
    assert len(records(session, "session")) == 1  # each append begins with one


def test_what_a_killed_process_owed_is_found_at_the_next_start(workspace: Workspace) -> None:
    session = made(workspace)
    exchange(session, 1)
    other = made(workspace, "s2")
    exchange(other, 1)
    append(other.pk)
    assert behind() == [session.pk]


def test_only_what_is_new_is_appended(workspace: Workspace) -> None:
    session = made(workspace)
    first = exchange(session, 1)
    append(session.pk)
    second = exchange(session, 2)
    append(session.pk)
    assert ids(session) == [entry.pk for entry in (*first, *second)]
    assert [record["index"] for record in records(session, "turn")] == [0, 1]


def test_a_long_log_is_written_in_pieces(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "PIECE", 3)
    session = made(workspace)
    entries = [entry.pk for number in range(5) for entry in exchange(session, number)]
    append(session.pk)
    assert ids(session) == entries


def test_what_still_changes_waits(workspace: Workspace) -> None:
    session = made(workspace)
    done = exchange(session, 1)
    running = turn_of(session, "running")
    growing = said(session, "half", running, kind="assistant")
    after = said(session, "note", kind="notice")
    append(session.pk)
    assert ids(session) == [entry.pk for entry in done]
    Turn.objects.update(status="done")
    append(session.pk)
    assert ids(session) == [*(entry.pk for entry in done), growing.pk, after.pk]


def test_a_message_that_waits_is_written_once_it_was_read(workspace: Workspace) -> None:
    session = made(workspace)
    waiting = Entry.objects.create(session=session, kind="user", text="later", created_at=session.created_at)
    said(session, "note", kind="notice")
    append(session.pk)
    assert ids(session) == []
    Entry.objects.filter(pk=waiting.pk).update(turn=turn_of(session))
    append(session.pk)
    assert waiting.pk in ids(session)


def test_a_torn_line_is_cut_and_nothing_is_lost(workspace: Workspace) -> None:
    session = made(workspace)
    exchange(session, 1)
    append(session.pk)
    with path_of(session).open("ab") as file:
        file.write(b'{"kind":"entry","id":99,"entr')
    exchange(session, 2)
    append(session.pk)
    assert len(ids(session)) == 4


def test_a_removed_file_is_written_anew_as_a_whole(workspace: Workspace) -> None:
    session = made(workspace)
    exchange(session, 1)
    append(session.pk)
    path_of(session).unlink()
    exchange(session, 2)
    append(session.pk)
    assert len(ids(session)) == 4


def test_a_folder_that_is_away_is_not_made_again_and_gets_it_later(workspace: Workspace, tmp_path: Path) -> None:
    session = made(workspace)
    exchange(session, 1)
    shutil.move(workspace.path, tmp_path / "away")
    with pytest.raises(HaloError):
        append(session.pk)
    assert not Path(workspace.path).exists()
    shutil.move(tmp_path / "away", workspace.path)
    append(session.pk)
    assert len(ids(session)) == 2


def test_a_link_in_the_place_of_the_folder_leads_nowhere(workspace: Workspace, tmp_path: Path) -> None:
    session = made(workspace)
    exchange(session, 1)
    outside = tmp_path / "outside"
    outside.mkdir()
    Path(workspace.path, ".halo").mkdir()
    Path(workspace.path, ".halo", "sessions").symlink_to(outside)
    with pytest.raises(HaloError):
        append(session.pk)
    assert list(outside.iterdir()) == []


def test_renames_summaries_and_deletions_are_records(workspace: Workspace) -> None:
    session = made(workspace, title="Old")
    one, two = exchange(session, 1), exchange(session, 2)
    append(session.pk)
    actions.rename(session.pk, "New")
    exchanges.delete_exchange(session.pk, entry_id=two[0].pk)
    summary = compacted(session, list(one), "of 1")
    append(session.pk)
    assert [record["title"] for record in records(session, "session")] == ["Old", "New"]
    assert records(session, "deleted")[-1]["ids"] == [entry.pk for entry in two]
    assert records(session, "summary")[-1] == {
        "kind": "summary",
        "id": summary.pk,
        "covers": [entry.pk for entry in one],
    }


def test_no_key_of_this_database_tells_who_wrote(workspace: Workspace, owner: User) -> None:
    session = made(workspace)
    said(session, "hello", origin={"kind": "person", "sender": owner.pk, "level": "full"})
    append(session.pk)
    assert records(session, "entry")[0]["entry"]["origin"] == {"kind": "person", "level": "full"}


def test_deleting_a_session_removes_its_transcripts_and_those_below(workspace: Workspace) -> None:
    root = made(workspace)
    child = made(workspace, "s1>c", parent=root, root=root)
    other = made(workspace, "s2")
    for session in (root, child, other):
        exchange(session, 1)
        append(session.pk)
    with TestCase.captureOnCommitCallbacks(execute=True):
        actions.delete(root.pk)
    assert [path_of(session).exists() for session in (root, child, other)] == [False, False, True]


def test_a_removal_that_was_cut_off_is_made_up_for(workspace: Workspace) -> None:
    session = made(workspace)
    exchange(session, 1)
    append(session.pk)
    path = path_of(session)
    actions.delete(session.pk)  # and the process dies before the file is gone
    assert path.exists()
    remove_files_left_behind()
    assert not path.exists()
    assert Tombstone.objects.get().file == ""


def test_the_file_of_a_deleted_session_goes_once_its_folder_is_back(workspace: Workspace) -> None:
    session = made(workspace)
    exchange(session, 1)
    append(session.pk)
    path, folder = path_of(session), Path(workspace.path)
    away = folder.rename(folder.with_name("away"))
    with TestCase.captureOnCommitCallbacks(execute=True):
        actions.delete(session.pk)
    remove_files_left_behind()
    assert not folder.exists()
    away.rename(folder)
    remove_files_left_behind()
    assert not path.exists()


def test_a_deleted_session_that_never_had_a_file_owes_none(workspace: Workspace) -> None:
    session = made(workspace)
    with TestCase.captureOnCommitCallbacks(execute=True):
        actions.delete(session.pk)
    assert Tombstone.objects.get().file == ""


def test_an_append_that_comes_after_the_delete_leaves_nothing(workspace: Workspace) -> None:
    session = made(workspace)
    exchange(session, 1)
    piece = transcript.next_piece(session.pk)
    assert piece is not None
    path = path_of(session)
    actions.delete(session.pk)
    transcript.write(piece)
    assert not transcript.mark(session.pk, piece.upto)
    transcript.remove(piece.root, [piece.path])
    assert not path.exists()


def test_the_name_of_a_file_fits_every_file_system() -> None:
    assert file_of("default", "sid_a>sid_b") == ".halo/sessions/default/sid_b.jsonl"
    long = file_of("default", "文" * 255)
    assert len(Path(long).name.encode()) <= 255
    assert long != file_of("default", "文" * 254)
