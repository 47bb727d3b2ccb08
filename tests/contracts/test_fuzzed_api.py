"""Schemathesis over the whole description of the JSON API, against a real server: no 500, and answers as described.

HALO_FUZZ_EXAMPLES: requests per operation and kind (valid, invalid). Four fit into the suite; more find more.
"""

import asyncio
import json
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from tests.contracts.fuzzed_schema import EXCLUDED, fields_of, operations, takes_something
from tests.server import PASSWORD, RunningServer, prepared_home
from tests.socket_client import SocketClient

EXAMPLES = int(os.environ.get("HALO_FUZZ_EXAMPLES", "4"))
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance]
EXPECTED = (503, 507)  # busy database, full disk: not a fault


def described() -> dict[str, Any]:
    from halo_site import urls  # noqa: F401  mounts the API; its description needs the addresses
    from halo_site.api import api

    return json.loads(json.dumps(api.get_openapi_schema(), default=str))


SCHEMA = described()


@dataclass
class Target:
    server: RunningServer
    session: requests.Session
    schema: schemathesis.BaseSchema
    known: dict[str, list[Any]]  # by the name of a field: what exists

    def faults(self) -> list[dict[str, object]]:
        return [event for event in self.server.events() if event.get("level") == "error"]


def make_folder(folder: Path) -> None:
    (folder / ".halo" / "agents" / "local").mkdir(parents=True)
    (folder / ".halo" / "agents" / "local" / "agent.yaml").write_text("name: Local\n")
    (folder / ".halo" / "skills" / "local").mkdir(parents=True)
    (folder / ".halo" / "skills" / "local" / "SKILL.md").write_text("---\nname: local\ndescription: x\n---\n")
    (folder / "notes.md").write_text("# Notes\n")
    (folder / "page.html").write_text("<p>page</p>")
    (folder / "table.csv").write_text("a,b\n1,2\n")
    (folder / "rows.jsonl").write_text('{"a": 1}\n')
    with sqlite3.connect(folder / "rows.db") as rows:
        rows.execute("CREATE TABLE orders (a, b)")
    rows.close()


async def first_chat(base: str, cookie: str, folder: str) -> None:
    async with SocketClient(base, cookie) as tab:
        tab.open("sid_fuzz_1", folder)
        sent = tab.chat("sid_fuzz_1", folder, "hello")
        await asyncio.wait_for(tab.until(lambda: tab.is_acked(sent) and not tab.view("sid_fuzz_1").running), 60)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    place = tmp_path_factory.mktemp("fuzz")
    folder = place / "work"
    folder.mkdir()
    make_folder(folder)
    # HOME: keys and git settings of whoever runs the tests stay out of it.
    with (
        RunningServer(prepared_home(place / "home"), HOME=str(place), DATABASE_URL="", REDIS_URL="") as server,
        requests.Session() as session,
    ):
        session.headers["Origin"] = server.base
        assert session.post(f"{server.base}/api/auth/login", json={"password": PASSWORD}).status_code == 200
        assert session.post(f"{server.base}/api/fs/workspace/resolve", json={"path": str(folder)}).ok
        asyncio.run(first_chat(server.base, f"halo_token={session.cookies['halo_token']}", str(folder)))
        known: dict[str, list[Any]] = {
            "projectId": [str(folder)],
            "path": ["notes.md", "page.html", "table.csv", "rows.jsonl", "rows.db", ".halo", "", str(folder)],
            "sid": ["sid_fuzz_1"],
            "sessionId": ["sid_fuzz_1"],
            "agent_id": ["default", "local"],
            "agentId": ["default", "local"],
            "skill_id": ["local"],
            "scope": ["workspace", "global"],
            "file": ["AGENT.md", "INSTRUCTIONS.md", "INDEX.md"],
            "entryId": [1, 2],
            "table": ["orders"],
            "oldPath": ["notes.md", "page.html"],
            "newPath": ["moved.md", ".halo/moved.md"],
            "targetDir": ["", "inbox"],
            "all": ["1"],
            "number": ["1"],
            "provider": ["demo"],
            "model": ["demo"],
            "message": ["words"],
            "key": ["general.language", "general.agent.max_retries"],
        }
        schema = schemathesis.openapi.from_dict(SCHEMA)
        schema.config.update(base_url=server.base)
        yield Target(server, session, schema, known)


def aim(case: schemathesis.Case, fields: dict[str, str], known: dict[str, list[Any]], data: st.DataObject) -> None:
    """Name what exists in most requests; the workspace nearly always, or nothing behind the first check is reached."""
    for name, place in fields.items():
        if name not in known or data.draw(st.integers(0, 9)) > (8 if name == "projectId" else 6):
            continue
        value = data.draw(st.sampled_from(known[name]))
        if place == "path":
            case.path_parameters[name] = value
        elif place == "query":
            case.query[name] = value
        elif isinstance(case.body, dict):
            case.body[name] = value


KINDS = [
    pytest.param(method, path, mode, id=f"{method} {path} {mode.value}")
    for method, path in operations(SCHEMA)
    for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or takes_something(SCHEMA, method, path)
]


@pytest.mark.server
@pytest.mark.skipif(bool(os.environ.get("DATABASE_URL")), reason="one server on SQLite answers for both")
@pytest.mark.parametrize(("method", "path", "mode"), KINDS)
def test_L6_no_request_breaks_the_server_and_every_answer_is_as_described(
    target: Target, method: str, path: str, mode: GenerationMode
) -> None:
    operation = target.schema[path][method]
    fields = fields_of(SCHEMA, method, path)

    @hypothesis.settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode), data=st.data())
    def send(case: schemathesis.Case, data: st.DataObject) -> None:
        aim(case, fields, target.known, data)
        answer = case.call(session=target.session, timeout=60)
        if answer.status_code not in EXPECTED:
            case.validate_response(answer, checks=CHECKS)

    send()
    assert not target.faults()


def test_every_excluded_operation_exists() -> None:
    there = {f"{method.upper()} {path}" for path, item in SCHEMA["paths"].items() for method in item}
    assert EXCLUDED.keys() <= there
