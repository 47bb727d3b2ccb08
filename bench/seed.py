"""`python -m bench.seed FOLDER SESSIONS [SIZES]`: sessions with two entries each, and one per size with that many.

Prints the sids of the long ones as JSON. Rows look like those of finished turns.
"""

import json
import os
import sys
from datetime import timedelta

import django

QUESTION = "lorem ipsum dolor sit amet " * 4
ANSWER = "lorem ipsum dolor sit amet " * 40


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_site.settings")
    django.setup()
    from django.contrib.auth.models import User
    from django.utils import timezone

    from sessions_app.models import Entry, Session, Turn
    from workspaces_app.models import Workspace

    workspace = Workspace.objects.get(path=sys.argv[1])
    admin = User.objects.get(username="admin")
    now = timezone.now()
    sizes = json.loads(sys.argv[3])
    counts = sizes + [2] * (int(sys.argv[2]) - len(sizes))
    Session.objects.bulk_create(
        [
            Session(
                workspace=workspace,
                sid=f"sid_seed_{number}",
                agent_id="default",
                agent_name="Default",
                title=f"question {number}",
                created_by=admin,
                created_at=now - timedelta(seconds=number),
                updated_at=now - timedelta(seconds=number),
                exchange_count=count // 2,
                turn_count=count // 2,
            )
            for number, count in enumerate(counts)
        ],
        batch_size=500,
    )
    sessions = list(Session.objects.filter(workspace=workspace, sid__startswith="sid_seed_").order_by("-updated_at"))
    turns = [
        Turn(session=session, index=at, status="done", stop_reason="end_turn", started_at=now, ended_at=now)
        for session, count in zip(sessions, counts, strict=True)
        for at in range(count // 2)
    ]
    Turn.objects.bulk_create(turns, batch_size=500)
    by_session = {}
    for turn in Turn.objects.filter(session__in=[session.pk for session in sessions[:50]]).order_by("session", "index"):
        by_session.setdefault(turn.session_id, []).append(turn)
    entries = []
    for turn in Turn.objects.filter(session__workspace=workspace).order_by("session", "index").iterator(2000):
        # What a compaction leaves: only the newest 5 turns are in the model's context, however long the log is.
        in_context = turn.index >= len(by_session.get(turn.session_id, [])) - 5
        shared = {"session_id": turn.session_id, "turn": turn, "created_at": now, "in_context": in_context}
        entries.append(Entry(kind="user", text=f"message {turn.index} {QUESTION}", origin={"kind": "person"}, **shared))
        answer = f"answer {turn.index} {ANSWER}"
        entries.append(
            Entry(
                kind="assistant",
                text=answer,
                blocks=[{"type": "text", "text": answer}],
                meta={"turn_id": f"t-{turn.pk}", "final": True, "stop_reason": "end_turn"},
                **shared,
            )
        )
    Entry.objects.bulk_create(entries, batch_size=500)
    print(json.dumps([session.sid for session in sessions[: len(sizes)]]))


if __name__ == "__main__":
    main()
