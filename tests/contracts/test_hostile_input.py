"""L4, L5, L6: every field of every route, with values nobody meant: an answer below 500, and nothing half-done.

Routes and fields come from the description the server gives of itself; good values from the access matrix.
"""

import json
from urllib.parse import quote, urlencode

import pytest

from tests.contracts.test_access_matrix import MATRIX, World, fingerprint, seeded, world

__all__ = ["seeded", "world"]  # fixtures

NUMBERS = [-1, 0, 2**31, 2**63, 2**64, -(2**63) - 1, 1.5, 1e308]
TEXTS = [
    *("", " ", "\0", "a\0b", "x" * 5000, "x" * 300_000, "(" * 2000, "名" * 400, "😀" * 300),
    *("../../etc/passwd", "..", ".", "/", "~", "\\", "%00", "%2e%2e%2f", "a:b>c", "*", "["),
    *("-rf", "--help", "\r\nX-Evil: 1", "\x1b[31m", "\u202e", "\ufeff"),
    *("'; DROP TABLE auth_user; --", "__proto__", "a.__proto__.b", "__class__", "_connector", "user__password"),
    *("NaN", "1e400", "null", "true", "{{7*7}}", "<script>", "<<HALO_JWT_SECRET>>"),
]
OTHERS = [None, True, [], {}, [None], {"$gt": ""}, [[[[]]]], {"__class__": "x"}]
RAW = ['{"a":1e400}', '{"a":NaN}', '{"path":"\\ud800"}', "[" * 2000, "", "null", "[]", '"x"', "{", '{"path":"\\u0000"}']
SLOW = {"POST /api/auth/login", "POST /api/auth/change-password"}  # each try hashes; test_login.py has them


def spec():
    from halo_site.api import api

    return api.get_openapi_schema()


def fields_of(operation) -> tuple[list[str], list[str]]:
    """(query parameters, body fields) of one operation."""
    queries = [part["name"] for part in operation.get("parameters", []) if part["in"] == "query"]
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if not content:
        return queries, []
    name = content["schema"].get("$ref", "").rpartition("/")[2]
    return queries, list(spec()["components"]["schemas"].get(name, {}).get("properties", {}))


def send(world: World, name: str, *, path=None, query=None, body=None, raw: str | None = None):
    row = MATRIX["routes"][name]
    method, address = name.split(" ")
    project = str(world.folder)
    values = {**world.fill(row.get("path", {}), project), **(path or {})}
    for key, value in values.items():
        address = address.replace("{" + key + "}", quote(str(value), safe=""))
    queries = {**world.fill(row.get("query", {}), project), **(query or {})}
    if queries:
        address += "?" + urlencode(queries, errors="replace")
    fields = {**world.fill(row.get("body", {}), project), **(body or {})}
    text = raw if raw is not None else json.dumps(fields)
    browser = world.browser("superuser")
    if method == "GET":
        return browser.get(address)
    return browser.generic(method, address, text, "application/json")


def check(answer, what: object) -> None:
    assert answer.status_code < 500, (what, answer.content[:500])
    if answer.status_code >= 400:
        assert answer.json()["error"], what
        assert "Traceback" not in answer.content.decode()
        assert "X-Evil" not in answer.headers


ROUTES = [name for name in MATRIX["routes"] if name not in SLOW and "/api/docs" not in name and "openapi" not in name]


@pytest.mark.parametrize("name", ROUTES)
def test_L5_L6_hostile_values_are_answers(world, name):
    method, address = name.split(" ")
    operations = {path.replace("path:", ""): operation for path, operation in spec()["paths"].items()}
    queries, fields = fields_of(operations[address][method.lower()])
    before = fingerprint(world) if method == "GET" else None
    for field in MATRIX["routes"][name].get("path", {}):
        for value in [*TEXTS, *NUMBERS]:
            if value != "" and len(str(value)) < 6000:
                check(send(world, name, path={field: value}), (field, value))
    for field in queries:
        for value in [*TEXTS, *NUMBERS]:
            if len(str(value)) < 6000:
                check(send(world, name, query={field: value}), (field, value))
        check(send(world, name, query={field: ["a", "b"]}), field)
    for field in fields:
        for value in [*TEXTS, *NUMBERS, *OTHERS]:
            check(send(world, name, body={field: value}), (field, value))
    if method != "GET":
        for raw in RAW:
            check(send(world, name, raw=raw), raw)
    if before is not None:
        assert fingerprint(world) == before


WITH_BODY = [name for name in ROUTES if not name.startswith("GET ") and MATRIX["routes"][name].get("body")]


@pytest.mark.parametrize("name", WITH_BODY)
def test_a_missing_or_wrongly_typed_field_is_400_and_changes_nothing(world, name):
    before = fingerprint(world)
    for raw in ("[]", '"x"', "{", "5"):
        answer = send(world, name, raw=raw)
        assert answer.status_code == 400, (raw, answer.content)
    assert fingerprint(world) == before
