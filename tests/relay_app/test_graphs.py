"""Random relay graphs: whatever agents do, caps hold and every dispatch ends in one final or a named refusal.

The real transactions, driven by a small engine that may forget to settle (a crash); no model is asked. Agents send in
every turn that answers a task, so a graph with circles would go on for ever if nothing stopped it.
RELAY_GRAPHS says how many are tried.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halo_site.lib import settings_store
from halo_site.lib.errors import HaloError
from relay_app import actions, reports
from relay_app.models import ReplyTo
from relay_app.rules import too_dear
from sessions_app import actions as sessions
from sessions_app.chain import Chain
from sessions_app.engine import intake, turn_end
from sessions_app.engine.lease import waiting_sessions
from sessions_app.engine.values import Batch, Ending
from sessions_app.models import Entry, ModelCall, Session, Turn
from workspaces_app.models import Workspace

GRAPHS = int(os.environ.get("RELAY_GRAPHS", "15"))
PRICE = 100_000  # of a turn, in millionths
REFUSALS = ("relay cycle: ", "relay hop limit reached: ", "relay spend cap reached: ", "session ", "This session is")
MOST_TURNS = 3000


@dataclass(frozen=True)
class Edge:
    to: int
    report: bool
    hard: bool


@dataclass(frozen=True)
class Graph:
    """edges: what each agent sends in a turn that answers a task. eager: it sends on reports, too (needs the cap)."""

    edges: Sequence[Sequence[Edge]]
    hops: int
    cap: float | None
    eager: bool
    crashes: Sequence[bool]
    archived: int | None


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    count = draw(st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 8]))
    edge = st.builds(Edge, st.integers(0, count - 1), st.sampled_from([True, True, True, False]), st.booleans())
    some = st.lists(edge, min_size=1, max_size=3)
    edges = [draw(some), *draw(st.lists(some | st.just([]), min_size=count - 1, max_size=count - 1))]
    cap = draw(st.sampled_from([None, 0.5, 2.0]))
    return Graph(
        edges,
        draw(st.integers(1, 6)),
        cap,
        cap is not None and draw(st.booleans()),
        draw(st.lists(st.booleans(), min_size=1, max_size=20)),
        draw(st.none() | st.integers(0, count - 1)),
    )


class Machine:
    """One example: a session per agent, each in a workspace of its own, and the turns they take."""

    def __init__(self, graph: Graph, places: list[Workspace], user: User) -> None:
        self.graph, self.places, self.turns, self.refused, self.owed = graph, places, 0, 0, 0
        now = timezone.now()
        self.keys = [
            Session.objects.create(
                workspace=place, sid=f"agent_{at}", agent_id="default", agent_name="Default", created_by=user,
                created_at=now, updated_at=now,
            ).pk
            for at, place in enumerate(places[: len(graph.edges)])
        ]  # fmt: skip
        told = {"kind": "person", "sender": user.pk, "level": "full"}
        Entry.objects.create(session_id=self.keys[0], kind="user", text="go", origin=told, created_at=now)

    def run(self) -> None:
        while True:
            waiting = sorted(waiting_sessions())
            if not waiting:
                if not reports.settle_idle():
                    return
                continue
            key = waiting[self.turns % len(waiting)]
            claimed = intake.claim_and_drain(key)
            assert claimed is not None
            self._rounds(key, claimed[1])
            if not self._crashes():
                reports.settle(key)

    def _rounds(self, key: int, batch: Batch) -> None:
        while True:
            self._turn(key, batch)
            ending = Ending(status=Turn.Status.DONE, stop_reason="end_turn")
            if turn_end.end_turn(batch.lease, batch, ending, 1):
                return
            following = intake.drain(batch.lease)
            assert following is not None
            batch = following

    def _turn(self, key: int, batch: Batch) -> None:
        self.turns += 1
        assert self.turns < MOST_TURNS, "it goes on for ever"
        now = timezone.now()
        ModelCall.objects.create(
            turn_id=batch.turn, call_id="c", provider="p", model="m", started_at=now, ended_at=now, outcome="end_turn",
            cost_micros=PRICE, currency="USD", chain_id=batch.chain_id,
        )  # fmt: skip
        if self.turns == 1 or batch.door or self.graph.eager:
            for edge in self.graph.edges[self.keys.index(key)]:
                self._send(key, edge)
        Entry.objects.create(
            session_id=key, turn_id=batch.turn, kind="assistant", text=f"answer {self.turns}", meta={"final": True},
            created_at=now,
        )  # fmt: skip
        if self.graph.archived is not None and self.turns == 3:
            sessions.archive(self.keys[self.graph.archived])

    def _send(self, key: int, edge: Edge) -> None:
        chain = Chain.of(Turn.objects.filter(session=key).latest("index").chain)
        where = {"workspace": self.places[edge.to].path, "session_id": f"agent_{edge.to}"}
        ask = actions.Ask(caller=key, message="do", report=edge.report, hard=edge.hard, **where)
        spent = actions.spent_by(chain.ids) if chain else {}
        before = ReplyTo.objects.count()
        sent = self._sent(ask)
        if isinstance(sent, HaloError):
            self.refused += 1
            assert str(sent).startswith(REFUSALS)
            assert ReplyTo.objects.count() == before
            return
        assert not too_dear(spent, self.graph.cap)
        self.owed += sent.report
        entry = Entry.objects.filter(session=self.keys[edge.to], origin__kind="relay").latest("pk")
        task = Chain.of(entry.origin["chain"])
        assert task is not None
        assert task.hop <= self.graph.hops
        assert len({caller.root for caller in task.callers}) == len(task.callers)
        assert self.keys[edge.to] not in [caller.root for caller in task.callers[:-1]]

    @staticmethod
    def _sent(ask: actions.Ask) -> actions.Dispatched | HaloError:
        try:
            return actions.dispatch(ask)
        except HaloError as refusal:
            return refusal

    def _crashes(self) -> bool:
        return self.graph.crashes[self.turns % len(self.graph.crashes)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    found = [tmp_path_factory.mktemp(f"w{at}") for at in range(8)]
    for folder in found:
        (folder / ".halo").mkdir()
    return found


@pytest.mark.django_db
@settings(
    max_examples=GRAPHS,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(graph=graphs())
def test_every_dispatch_ends_in_one_final_or_a_named_refusal(folders: list[Path], graph: Graph):
    general, number = settings_store.general, settings_store.number
    with pytest.MonkeyPatch.context() as patch, transaction.atomic():
        set_to = {"relay.max_chain_cost": graph.cap, "relay.allowed_workspaces": []}
        patch.setattr(settings_store, "general", lambda key, *w: set_to[key] if key in set_to else general(key, *w))
        patch.setattr(settings_store, "number", lambda key, *w: graph.hops if "hops" in key else number(key, *w))
        user = User.objects.create_superuser("owner")
        places = [Workspace.objects.create(path=str(folder.resolve()), name=folder.name) for folder in folders]
        machine = Machine(graph, places, user)
        machine.run()
        rows = list(ReplyTo.objects.all())
        assert sum(row.sends for row in rows) == machine.owed
        for row in rows:
            assert row.closed_at, f"{row} is still owed"
            finals = Entry.objects.filter(origin__relay__dispatch=row.pk, origin__relay__part="final").count()
            assert finals == (0 if row.outcome == "undelivered" else 1)
            assert row.outcome in ("completed", "aborted", "undelivered")
        transaction.set_rollback(True)
