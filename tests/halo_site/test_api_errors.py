"""One error shape, and nothing in it or in the log that helps an attacker."""

import json
import logging
import zlib

import orjson
import pytest
from asgiref.sync import async_to_sync
from django.db import OperationalError
from django.http import HttpResponse, StreamingHttpResponse
from django.test import RequestFactory
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from halo_site import health
from halo_site.api import api, describe, on_database_trouble, server_error
from halo_site.faults import log_fault
from halo_site.login_api import router
from halo_site.middleware.compress import coding_for, compress
from tests.accounts import Browser, logged_in, owner, person

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "path", ["/api", "/api/", "/api/nope", "/api/auth", "/api/files/../../etc/passwd", "/api//auth"]
)
def test_an_unknown_route_is_404_json(path):
    answer = logged_in(owner()).get(path)
    assert (answer.status_code, answer.json()) == (404, {"error": "Not found"})


@pytest.mark.parametrize(
    "path",
    [
        "/api/auth/loginx",
        "/api/healthz",
        "/api/auth/login/",
        "/api/workspaces",
        "/api/docs",
        "/api/openapi.json",
        "/api",
        "/api/auth/check/x",
        "/api/Auth/check",
    ],
)
def test_public_paths_are_exact(path):
    answer = Browser().get(path)
    assert (answer.status_code, answer.json()) == (401, {"error": "Unauthorized"})


def test_a_wrong_method_is_405_json():
    answer = logged_in(owner()).delete("/api/workspaces")
    assert (answer.status_code, answer.json()) == (405, {"error": "Method not allowed"})


BAD_JSON = [
    "{",
    "",
    "nul",
    "{'a':1}",
    '{"a":NaN}',
    '{"a":1e999}',
    '{"path":"\\ud800"}',
    "[" * 100_000,
    '{"a":1}x',
    "\ufeff{}",
]


@pytest.mark.parametrize("body", BAD_JSON)
def test_L6_invalid_json_is_400(body):
    answer = logged_in(owner()).post("/api/fs/workspace/resolve", body)
    assert answer.status_code == 400
    assert answer.json()["error"] in ("Invalid JSON body", "body required")


@pytest.mark.parametrize("body", [b"\xff\xfe{}", b'{"path":"\xff"}', b"\0"])
def test_L5_bytes_that_are_no_text_are_400(body):
    answer = logged_in(owner()).post("/api/fs/workspace/resolve", body)
    assert (answer.status_code, answer.json()) == (400, {"error": "Invalid JSON body"})


@pytest.mark.parametrize("body", ["[]", '"text"', "1", "null", "true"])
def test_a_body_that_is_no_object_is_400(body):
    answer = logged_in(owner()).post("/api/fs/workspace/resolve", body)
    assert answer.status_code == 400
    assert answer.json()["error"]


@pytest.mark.parametrize("value", [1, 1.5, True, [], {}, ["/tmp"]])
def test_a_wrong_type_names_the_field(value):
    answer = logged_in(owner()).post("/api/fs/workspace/resolve", {"path": value})
    assert (answer.status_code, answer.json()) == (400, {"error": "path: Input should be a valid string"})


def test_a_missing_field_is_named():
    assert (
        describe([{"loc": ("body", "body", "title"), "type": "missing", "msg": "Field required"}]) == "title required"
    )
    assert (
        describe([{"loc": ("query", "limit"), "type": "int_parsing", "msg": "not a number"}]) == "limit: not a number"
    )


@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
        max_leaves=5,
    )
)
def test_L6_any_json_on_any_login_route_is_an_answer_below_500(value):
    body = json.dumps(value, ensure_ascii=True)
    for path in ("/api/auth/login", "/api/auth/logout"):
        answer = Browser().post(path, body)
        assert answer.status_code < 500


@pytest.mark.parametrize(
    "path",
    [
        "/api/fs/exists?path=%00",
        "/api/fs/browse?path=%00",
        "/api/fs/browse?path=%ff",
        "/api/fs/exists?path=/a&path=/b",
        "/api/fs/browse?path=/%ED%A0%80",
    ],
)
def test_L5_odd_queries_are_answers(path):
    assert logged_in(owner()).get(path).status_code in (200, 400, 404)


SECRET_PLACE = "/srv/halo/secrets.sqlite3"


@pytest.fixture
def broken_route(monkeypatch):
    """A route that fails with everything in its message that must not get out."""

    def fail(caller_id):
        raise RuntimeError(f"SELECT password FROM {SECRET_PLACE}\r\nforged line \x1b[31mred")

    monkeypatch.setattr("halo_site.login_api._me", fail)
    assert router is not None


def test_L2_an_unhandled_error_is_500_with_an_id_and_nothing_else(broken_route, caplog):
    caplog.set_level(logging.INFO)
    answer = logged_in(person()).get("/api/auth/check")
    assert answer.status_code == 500
    assert set(answer.json()) == {"error", "id"}
    assert answer.json()["error"] == "internal error"
    assert SECRET_PLACE not in answer.content.decode()
    lines = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(lines) == 1
    assert not any(record.exc_info for record in caplog.records)
    event = orjson.loads(lines[0])
    assert event["id"] == answer.json()["id"]
    assert SECRET_PLACE in event["text"]


def test_L2_a_hostile_path_or_message_stays_on_its_line(caplog):
    request = RequestFactory().get("/api/x%0d%0aforged%1b[31m")
    log_fault(request, ValueError("one\r\ntwo\x1b[2J\x85three\u2028four"))
    (line,) = [record.getMessage() for record in caplog.records]
    assert "\n" not in line
    assert "\r" not in line
    assert "\x1b" not in line


def test_L2_errors_outside_ninja_have_the_same_shape(caplog):
    request = RequestFactory().get("/api/x")
    try:
        raise RuntimeError(SECRET_PLACE)
    except RuntimeError:
        answer = server_error(request)
        page = server_error(RequestFactory().get("/admin/"))
    assert (answer.status_code, set(json.loads(answer.content))) == (500, {"error", "id"})
    assert SECRET_PLACE not in answer.content.decode() + page.content.decode()


@pytest.mark.parametrize(
    ("text", "status"),
    [("database is locked", 503), ("database or disk is full", 507), ("no such table: x", 500)],
)
def test_T4_database_trouble_says_what_it_is(text, status):
    answer = on_database_trouble(RequestFactory().get("/api/x"), OperationalError(text))
    assert answer.status_code == status
    assert answer.has_header("Retry-After") is (status == 503)
    assert "table" not in answer.content.decode()


def test_the_description_of_the_api_is_for_people_who_are_logged_in():
    browser = logged_in(person())
    schema = browser.get("/api/openapi.json").json()
    assert "/api/auth/login" in schema["paths"]
    assert browser.get("/api/docs").status_code == 200
    assert api.title == schema["info"]["title"]


def test_health_answers_without_a_login():
    answer = Browser().get("/api/health").json()
    assert answer["status"] == "ok"
    assert answer["engine"] == "agent"
    assert set(answer) == {"status", "timestamp", "uptime", "engine", "version", "gitSha"}


@pytest.mark.parametrize(
    ("method", "status", "has_body"), [("GET", 200, True), ("HEAD", 200, False), ("POST", 405, True)]
)
async def test_health_is_answered_below_django(method, status, has_body):
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "path": "/api/health", "method": method}
    assert health.is_health(scope)
    assert not health.is_health({**scope, "path": "/api/healthz"})
    await health.health(scope, None, send)
    assert sent[0]["status"] == status
    assert bool(sent[1]["body"]) is has_body


def test_L5_NUL_is_refused_in_addresses_and_bodies_alike():
    browser = logged_in(owner())
    assert browser.get("/api/fs/exists?path=/a%00b").json() == {"error": "NUL is not allowed here"}
    assert browser.get("/api/a%00b").status_code == 400
    body = '{"path": "/a\\u0000b"}'
    assert browser.post("/api/fs/workspace/resolve", body).json() == {"error": "Invalid JSON body"}
    # a backslash before the letters is no NUL
    assert browser.post("/api/fs/workspace/resolve", '{"path": "/a\\\\u0000b"}').status_code == 404


def test_large_answers_are_compressed_and_small_ones_are_not():
    import gzip

    browser = logged_in(owner())
    plain = browser.get("/api/openapi.json")
    packed = browser.get("/api/openapi.json", headers={"accept-encoding": "gzip, br"})
    assert packed["Content-Encoding"] == "gzip"
    assert int(packed["Content-Length"]) == len(packed.content) < len(plain.content)
    assert gzip.decompress(packed.content) == plain.content
    assert "Accept-Encoding" in plain["Vary"]
    small = browser.get("/api/auth/check", headers={"accept-encoding": "gzip"})
    assert "Content-Encoding" not in small
    deflated = browser.get("/api/openapi.json", headers={"accept-encoding": "br, deflate"})
    assert deflated["Content-Encoding"] == "deflate"
    assert zlib.decompress(deflated.content) == plain.content


@pytest.mark.parametrize(
    ("kind", "media_type"),
    [
        (HttpResponse, "text/event-stream"),
        (StreamingHttpResponse, "text/event-stream"),
        (StreamingHttpResponse, "application/json"),
    ],
)
def test_18_what_comes_piece_by_piece_is_passed_on_as_it_is(kind, media_type):
    answer = kind(iter([b"data: x\n\n"] * 1000), content_type=media_type)

    async def stream(_request):
        return answer

    request = RequestFactory().get("/api/any", headers={"accept-encoding": "gzip"})
    assert async_to_sync(compress(stream))(request) is answer
    assert "Content-Encoding" not in answer
    assert b"".join(answer) == b"data: x\n\n" * 1000


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate, br", "gzip"),
        ("deflate;q=0.5, GZIP;q=0.1", "gzip"),
        ("gzip;q=0, deflate", "deflate"),
        ("gzip; q=0.000", None),
        ("*", "gzip"),
        ("*;q=0", None),
        ("*, gzip;q=0", "deflate"),
        ("x-gzip2", None),
        ("identity", None),
        ("", None),
    ],
)
def test_an_answer_is_packed_only_as_the_client_takes_it(accepted, coding):
    assert coding_for(accepted) == coding


@pytest.mark.parametrize(
    ("method", "path", "text"),
    [
        ("get", "agent-configs/..%2F..%2Fetc/yaml", "Invalid agent id"),
        ("get", "agent-configs/..%2Fetc/md-all", "Invalid agent id"),
        ("get", "agent-configs/%2e%2e/md/AGENT.md", "Invalid agent id"),
        ("get", "agent-configs/%2e%2e/mcp", "Invalid agent id"),
        ("get", "agent-configs/a%20b/prompt", "Invalid agent id"),
        ("get", "agent-configs/a%20b/sessions", "Invalid agent id"),
        ("get", "agent-configs/%2e%2e/sessions/x", "Invalid agent id"),
        ("get", "skills/x%2F..%2Fy/md", "Invalid skill id"),
        ("get", "sessions/logs/..%2F..%2Fetc", "Invalid session id"),
        ("delete", "agent-configs/..%2F..%2Fetc", "Invalid agent id"),
        ("delete", "agent-configs/a%20b/sessions?all=1", "Invalid agent id"),
        ("delete", "agent-configs/a%20b/sessions/x", "Invalid agent id"),
        ("delete", "skills/..%2F..%2Fetc", "Invalid skill id"),
        ("delete", "extensions/..%2F..%2Fetc", "Invalid id"),
        ("delete", "extensions/%2e%2e", "Invalid id"),
        ("delete", "sessions/logs/..%2F..%2Fetc", "Invalid session id"),
    ],
)
def test_ids_that_could_be_a_path_are_400_by_their_name(method, path, text):
    answer = getattr(logged_in(owner()), method)(f"/api/{path}")
    assert (answer.status_code, answer.json()) == (400, {"error": text})


def test_other_unknown_addresses_with_dots_are_just_not_there():
    assert logged_in(owner()).get("/api/nothing/..%2Fx").status_code == 404
