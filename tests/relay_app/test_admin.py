"""What staff see of relays, and the end of a wait (spec relay, "beyond")."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from relay_app.models import ReplyTo
from sessions_app.models import Entry, Session
from tests.halo_site.admin.conftest import signed_in
from workspaces_app.models import AuditEvent

from .conftest import folder_of
from .test_api import pending

__all__ = ["pending", "signed_in"]
LIST, DATA = "/admin/relay_app/replyto/", "/admin/relay_app/replyto/graph/data/"


def test_staff_see_pending_and_delivered_relays_and_only_staff_do(pending, signed_in):
    client = signed_in("staff")
    assert "target" in client.get(f"{LIST}?state=open").content.decode()
    assert client.get(f"{LIST}?state=completed").status_code == 200
    assert client.get(f"{LIST}{pending.pk}/change/").status_code == 200
    for path in (LIST, DATA, f"{LIST}graph/"):
        assert signed_in("member", f"m{len(path)}").get(path).status_code == 302


def test_staff_cancel_one_and_its_caller_is_told(pending, signed_in):
    client = signed_in("staff")
    client.post(LIST, {"action": "cancel_relays", "_selected_action": pending.pk, "index": "0"})
    pending.refresh_from_db()
    assert pending.outcome == "cancelled"
    assert "Cancelled by a-staff." in Entry.objects.get(session=pending.caller, origin__kind="report").text
    assert AuditEvent.objects.get(action="relay.cancel").detail == {"key": pending.pk}
    answer = client.post(LIST, {"action": "cancel_relays", "_selected_action": pending.pk, "index": "0"}, follow=True)
    assert "This relay is closed already" in answer.content.decode()


def test_the_graph_names_both_sides_its_edges_and_where_they_stand(pending, home, dept, signed_in):
    client = signed_in("staff")
    page = client.get(f"{LIST}graph/").content.decode()
    assert "<script>" not in page.partition("<main")[2]
    data = client.get(DATA).json()
    [edge] = data["edges"]
    assert (edge["fromName"], edge["toName"]) == ("work space · Caller", "dept · Target")
    assert (edge["state"], edge["ring"], edge["word"], edge["open"]) == ("pending", "wait", "waiting", True)
    columns = {node["title"]: node["column"] for node in data["nodes"]}
    assert columns == {"Caller": 0, "Target": 1}
    ReplyTo.objects.update(closed_at=timezone.now(), outcome="completed")
    assert client.get(DATA).json()["edges"][0]["state"] == "completed"
    Session.objects.all().delete()
    assert [node["href"] for node in client.get(DATA).json()["nodes"]] == ["", ""]


@pytest.mark.parametrize(("targets", "drawn"), [(12, True), (13, False)])
def test_over_twelve_targets_there_is_only_the_table(db, tmp_path, signed_in, targets, drawn):
    user = User.objects.create_user("owner")
    place = folder_of(tmp_path / "w", user)
    now = timezone.now()
    for number in range(targets):
        ReplyTo.objects.create(
            target_workspace=place, caller_workspace=place, target_path=place.path, caller_path=place.path,
            target_sid=f"t{number}", caller_sid="c", caller_agent="default", chain={"ids": ["x"]}, chain_id="x", hop=1,
            created_at=now, renewed_at=now,
        )  # fmt: skip
    data = signed_in("staff").get(DATA).json()
    assert len(data["edges"]) == targets
    assert bool(data["nodes"]) is drawn
