"""What people do to a conversation, as rows."""

import pytest
from django.contrib.auth.models import User

from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest, Conflict, NotFound
from sessions_app import actions, exchanges, queue_edits
from sessions_app.actions import SessionArchivedError, SessionDeletedError
from sessions_app.engine.intake import claim_and_drain, drain
from sessions_app.engine.lease import is_live
from sessions_app.engine.queue import queue_items
from sessions_app.engine.turn_end import end_turn
from sessions_app.engine.values import Ending
from sessions_app.models import Entry, Session, Tombstone, Turn, Upload
from workspaces_app.models import Workspace

from .conftest import Say

pytestmark = pytest.mark.django_db


def test_the_first_message_creates_the_session_and_names_it(say: Say, workspace: Workspace, owner: User):
    accepted = say("[Currently viewing: a.py]\n\nFix the export")
    session = Session.objects.get(pk=accepted.session_key)
    assert accepted.created
    assert (session.sid, session.title, session.agent_name) == ("sid_one", "Fix the export", "Default")
    assert session.created_by == owner
    assert session.exchange_count == 1


def test_the_same_client_message_is_stored_once(say: Say):
    first = say("hello", client_msg_id="m1")
    again = say("hello", client_msg_id="m1")
    assert again.duplicate
    assert again.entry_id == first.entry_id
    assert Entry.objects.count() == 1
    assert Session.objects.get().exchange_count == 1


def test_one_client_message_id_may_be_used_in_two_sessions(say: Say):
    assert not say("hello", client_msg_id="m1").duplicate
    assert not say("hello", sid="sid_two", client_msg_id="m1").duplicate


@pytest.mark.parametrize("sid", ["", "..", "a/b", "root>child", "x" * 300, "a b"])
def test_unsafe_session_ids_are_refused(say: Say, sid: str):
    with pytest.raises(BadRequest):
        say("hello", sid=sid)
    assert not Session.objects.exists()


def test_an_empty_message_is_refused(say: Say):
    with pytest.raises(BadRequest):
        say("  ")
    assert not Session.objects.exists()


def test_an_unknown_agent_creates_nothing(say: Say):
    with pytest.raises(NotFound):
        say("hello", agent_id="nobody")
    assert not Session.objects.exists()


def test_text_from_outside_is_cleaned(say: Say):
    say("a\0b\ud800c")
    assert Entry.objects.get().text == "a\ufffdb\ufffdc"


def test_a_deleted_session_does_not_come_back_by_a_resend(say: Say):
    accepted = say("hello", client_msg_id="m1")
    assert actions.delete(accepted.session_key) == 1
    with pytest.raises(SessionDeletedError, match="Session sid_one was deleted"):
        say("hello", client_msg_id="m1")
    assert not Session.objects.exists()
    assert Tombstone.objects.get().sid == "sid_one"


def test_an_archived_session_takes_no_message_and_its_queue_is_history(say: Say):
    accepted = say("hello")
    assert actions.archive(accepted.session_key) == 1
    with pytest.raises(SessionArchivedError):
        say("more")
    turn = Turn.objects.get()
    assert (turn.status, turn.stop_reason) == ("aborted", "folded")
    assert Entry.objects.get().turn == turn
    assert claim_and_drain(accepted.session_key) is None


def test_uploads_are_named_by_id_and_belong_to_their_sender(say: Say, workspace: Workspace, owner: User):
    other = User.objects.create_user("other")
    for name, user in (("mine", owner), ("theirs", other)):
        Upload.objects.create(
            id=name, workspace=workspace, user=user, path="/w/a.png", mime_type="image/png", size=1, width=1, height=1
        )
    with pytest.raises(BadRequest, match="theirs"):
        say("look", upload_ids=["theirs"])
    say("look", upload_ids=["mine"])
    assert Entry.objects.get().blocks == [
        {"type": "image", "upload": "mine", "path": "/w/a.png", "media_type": "image/png"}
    ]
    assert Upload.objects.get(pk="mine").used


def test_stop_without_a_run_folds_the_queue(say: Say):
    accepted = say("hello")
    assert actions.stop(accepted.session_key) is False
    assert queue_items(accepted.session_key) == []
    assert claim_and_drain(accepted.session_key) is None
    assert Session.objects.get().stopped_at is None


def test_stop_of_a_run_aims_at_its_turn_and_at_what_waits_now(say: Say):
    key = say("hello").session_key
    assert claim_and_drain(key)
    queued = say("more")
    assert queued.busy == "busy"
    assert actions.stop(key) is True
    assert Session.objects.get().abort_requested == {"tier": "stop", "turn": 0, "upto": queued.entry_id}


def test_18_a_late_interrupt_does_not_touch_the_next_turn(say: Say):
    key = say("hello").session_key
    claimed = claim_and_drain(key)
    assert claimed
    _, batch = claimed
    say("more")
    actions.interrupt(key)
    assert not end_turn(batch.lease, batch, Ending(status="done", stop_reason="end_turn"), 1)
    following = drain(batch.lease)
    assert following
    assert following.index == 1
    assert Session.objects.get().abort_requested is None


def test_interrupting_an_idle_session_does_nothing(say: Say):
    key = say("hello").session_key
    assert actions.interrupt(key) is False


def test_queued_messages_can_be_edited_moved_and_taken_back(say: Say):
    key = say("zero").session_key
    claim_and_drain(key)
    one, two, three = (say(text).entry_id for text in ("one", "two", "three"))
    queue_edits.edit_queued(key, two, "second")
    queue_edits.move_queued(key, three, before=one)
    items = queue_edits.move_queued(key, one, before=None)
    assert [item["text"] for item in items] == ["three", "second", "one"]
    assert [item["entryId"] for item in queue_edits.remove_queued(key, two)] == [three, one]
    assert Entry.objects.get(pk=two).deleted == two


def test_a_drained_message_can_no_longer_be_edited(say: Say):
    accepted = say("zero")
    claim_and_drain(accepted.session_key)
    with pytest.raises(Conflict):
        queue_edits.edit_queued(accepted.session_key, accepted.entry_id, "other")
    assert Entry.objects.get().text == "zero"


def test_the_order_of_the_queue_is_the_order_of_reading(say: Say):
    key = say("one").session_key
    two = say("two").entry_id
    queue_edits.move_queued(key, two, before=Entry.objects.earliest("id").pk)
    claimed = claim_and_drain(key)
    assert claimed
    assert [row.text for row in claimed[1].rows] == ["two", "one"]


def test_rename_sticks_and_does_not_move_the_session(say: Say):
    key = say("hello").session_key
    before = Session.objects.get().updated_at
    actions.rename(key, "  My\n title ")
    say("other words")
    session = Session.objects.get()
    assert session.title == "My title"
    with pytest.raises(BadRequest):
        actions.rename(key, " ")
    assert before <= session.updated_at


def finished(say: Say, *texts: str) -> int:
    """A session whose messages were read as one turn and answered."""
    key = 0
    for text in texts:
        key = say(text).session_key
    claimed = claim_and_drain(key)
    assert claimed
    _, batch = claimed
    Entry.objects.create(
        session_id=key,
        turn_id=batch.turn,
        kind="assistant",
        text="answer",
        blocks=[{"type": "text", "text": "answer"}],
        created_at=Session.objects.get(pk=key).created_at,
    )
    end_turn(batch.lease, batch, Ending(status="done", stop_reason="end_turn"), 1)
    return key


def test_17_two_merged_messages_are_deleted_one_by_one_and_restored_exactly(say: Say):
    key = finished(say, "one", "two")
    one, two, answer = Entry.objects.order_by("id")
    exchanges.delete_exchange(key, entry_id=one.pk)
    assert set(Entry.objects.filter(deleted=None)) == {two, answer}
    exchanges.delete_exchange(key, user_ordinal=1)
    assert not Entry.objects.filter(deleted=None).exists()
    exchanges.restore_exchange(key, two.pk)
    assert set(Entry.objects.filter(deleted=None)) == {two, answer}
    with pytest.raises(NotFound):
        exchanges.delete_exchange(key, entry_id=one.pk)


def test_no_exchange_is_deleted_while_the_session_runs(say: Say):
    accepted = say("hello")
    claim_and_drain(accepted.session_key)
    with pytest.raises(Conflict, match="while the agent is running"):
        exchanges.delete_exchange(accepted.session_key, entry_id=accepted.entry_id)


def test_16_the_number_of_exchanges_never_shrinks(say: Say):
    key = finished(say, "one", "two")
    exchanges.delete_exchange(key, user_ordinal=0)
    assert Session.objects.get().exchange_count == 2


def test_a_turn_runs_at_the_lowest_level_of_its_senders(say: Say):
    key = say("one").session_key
    say("two", level=Access.READONLY)
    claimed = claim_and_drain(key)
    assert claimed
    assert claimed[1].level is Access.READONLY
    assert is_live(key)
