"""The same edge as it runs in production: asynchronous, through Django's ASGI handler."""

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.core.asgi import get_asgi_application
from django.core.management import call_command
from django.db import connections

from halo_site.http_threads import THREADS, HttpThreads
from halo_site.lib.db import DbThreads
from tests.accounts import ORIGIN, PASSWORD, owner, person
from workspaces_app.models import AuditEvent

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def web():
    app = HttpThreads(get_asgi_application())
    headers = {"origin": ORIGIN}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=ORIGIN, headers=headers) as client:
        yield client
    for _ in range(THREADS):  # their connections would keep the test database from being dropped
        next(app._threads).submit(connections.close_all).result()


@pytest.fixture(autouse=True)
async def no_connection_left():
    yield
    await sync_to_async(connections.close_all)()


async def test_log_in_look_change_and_log_out(web):
    await sync_to_async(person)("anna")
    assert (await web.get("/api/workspaces")).status_code == 401
    answer = await web.post("/api/auth/login", json={"username": "anna", "password": PASSWORD})
    assert answer.status_code == 200
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert (await web.get("/api/auth/check")).json()["user"]["username"] == "anna"
    assert (await web.get("/api/workspaces")).json() == {"workspaces": []}
    assert (await web.get("/api/fs/home")).status_code == 403
    assert (await web.patch("/api/auth/prefs", json={"theme": "dark"})).json()["theme"] == "dark"
    assert (await web.post("/api/auth/logout")).json() == {"ok": True}
    assert (await web.get("/api/workspaces")).status_code == 401
    assert await AuditEvent.objects.acount() == 2


async def test_refusals_have_the_one_shape_and_the_headers(web):
    for path, headers, status in (
        ("/api/nope", {}, 401),
        ("/api/auth/check", {"host": "evil.example"}, 400),
        ("/api/health", {"host": "evil.example"}, 400),
    ):
        answer = await web.get(path, headers=headers)
        assert answer.status_code == status
        assert set(answer.json()) >= ({"error"} if status != 401 or path == "/api/nope" else set())
        assert answer.headers["x-content-type-options"] == "nosniff"
    answer = await web.post("/api/auth/logout", headers={"origin": "http://evil.example"})
    assert answer.status_code == 403
    answer = await web.post("/api/auth/login", content="{}", headers={"content-type": "text/plain"})
    assert answer.status_code == 415


async def test_the_staff_site_works_and_its_form_is_locked_too(web):
    await sync_to_async(owner)()
    page = await web.get("/admin/login/")
    assert page.status_code == 200
    form = {"username": "admin", "csrfmiddlewaretoken": web.cookies["csrftoken"]}
    for _ in range(5):
        await web.post("/admin/login/", data={**form, "password": "no"})
    locked = await web.post("/admin/login/", data={**form, "password": PASSWORD})
    assert locked.status_code == 429
    assert int(locked.headers["retry-after"]) > 800
    assert (await web.post("/api/auth/login", json={"password": PASSWORD})).status_code == 429
    await sync_to_async(call_command)("axes_reset")
    entered = await web.post("/admin/login/?next=/admin/", data={**form, "password": PASSWORD})
    assert entered.status_code == 302
    assert (await web.get("/api/auth/check")).json()["user"]["username"] == "admin"


async def test_a_socket_scope_is_identified_in_a_database_thread():
    from halo_site.auth import COOKIE, authenticate_scope, new_login, token_of

    user = await sync_to_async(person)("anna")
    token = await sync_to_async(lambda: token_of(new_login(user)))()
    scope = {"type": "websocket", "headers": [(b"cookie", f"a=b; {COOKIE}={token}".encode())]}
    threads = DbThreads("test-auth", 1)
    try:
        assert (await authenticate_scope(scope, threads)).username == "anna"
        assert (await authenticate_scope(scope)).username == "anna"
    finally:
        threads.close()
