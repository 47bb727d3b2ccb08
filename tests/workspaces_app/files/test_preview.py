"""Pages in a cage, by a token of their folder (spec/README 21, SECURITY-BAR D5, A5, C3)."""

import pytest
from django.contrib.auth.models import User

from halo_site import tokens
from halo_site.tokens import Kind
from tests.accounts import Browser
from workspaces_app.models import Membership

from .conftest import Files, body_of


@pytest.fixture
def site(files: Files) -> Files:
    for path, text in {
        "site/index.html": "<script src=app.js></script>",
        "site/app.js": "1",
        "site/css/a.css": "p {}",
        "site/.env": "SECRET=1",
        "site/.git/config": "secret",
        "other.html": "x",
        "notes.txt": "outside the page's folder",
    }.items():
        (files.root / path).parent.mkdir(parents=True, exist_ok=True)
        (files.root / path).write_text(text)
    return files


def address(files: Files, path: str = "site/index.html") -> str:
    answer = files.post("files/preview", path=path)
    assert answer.status_code == 200, answer.content
    return answer.json()["url"]


def test_a_page_and_its_parts_are_served_without_a_login_and_caged(site: Files):
    url = address(site)
    folder = url.rpartition("/")[0]
    stranger = Browser()
    page = stranger.get(url, headers={"origin": "null"})  # what an opaque origin sends
    assert body_of(page) == b"<script src=app.js></script>"
    assert page["Content-Type"] == "text/html; charset=utf-8"
    policy = page["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'")
    assert "allow-same-origin" not in policy
    assert f"connect-src http://localhost:9527{folder}/;" in policy
    assert page["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in page.headers
    assert "Set-Cookie" not in page.headers
    for name, kind in (("app.js", "text/javascript"), ("css/a.css", "text/css")):
        part = stranger.get(f"{folder}/{name}", headers={"origin": "null"})
        assert part["Content-Type"].startswith(kind)
        assert part["Content-Security-Policy"] == policy
        assert part["X-Content-Type-Options"] == "nosniff"
    assert stranger.get(f"{folder}/app.js", headers={"range": "bytes=0-0"}).status_code == 206


@pytest.mark.parametrize(
    "path",
    [
        "gone.html", ".env", ".git/config", "css", "css/../../notes.txt", "../notes.txt", "%2e%2e/notes.txt",
        "/etc/passwd", "css//a.css", "css/./a.css", "..\\notes.txt", "a%00b",
    ],
)  # fmt: skip
def test_nothing_but_the_visible_files_of_the_folder_is_served(site: Files, path):
    answer = Browser().get(f"{address(site).rpartition('/')[0]}/{path}")
    assert answer.status_code in (400, 401, 404)
    assert b"secret" not in answer.content.lower()
    assert b"outside" not in answer.content


def test_a_link_out_of_the_workspace_is_not_served(site: Files, outside):
    (site.root / "site" / "out.txt").symlink_to(outside / "secret.txt")
    assert Browser().get(f"{address(site).rpartition('/')[0]}/out.txt").status_code == 404


def test_a_service_worker_is_not_served(site: Files):
    folder = address(site).rpartition("/")[0]
    assert Browser().get(f"{folder}/app.js", headers={"service-worker": "script"}).status_code == 404


def test_a_token_ends_with_the_password_the_membership_and_the_account(site: Files):
    user = User.objects.get(username="full")
    url = address(site)
    member = Membership.objects.get(user=user)
    member.delete()
    assert Browser().get(url).status_code == 401
    member.save(force_insert=True)
    assert Browser().get(url).status_code == 200
    user.is_active = False
    user.save()
    assert Browser().get(url).status_code == 401
    user.is_active = True
    user.set_password("another 1")
    user.save()
    assert Browser().get(url).status_code == 401


def test_A5_other_tokens_do_not_open_a_page_and_its_token_opens_nothing_else(site: Files):
    user = User.objects.get(username="full")
    token = address(site).split("/")[3]
    claims = {"user": user.pk, "ws": site.workspace.pk, "dir": "site", "fp": "x" * 32}
    for kind in (Kind.ASSET, Kind.LOGIN, Kind.VISITOR):
        assert Browser().get(f"/api/preview/{tokens.issue(kind, claims, life=60)}/index.html").status_code == 401
    for forged in ({**claims, "user": "x"}, {**claims, "ws": "1"}, {**claims, "dir": None}, claims):
        bad = tokens.issue(Kind.PREVIEW, forged, life=60)
        assert Browser().get(f"/api/preview/{bad}/index.html").status_code == 401
    thief = Browser()
    thief.cookies["halo_token"] = token
    assert thief.get("/api/workspaces").status_code == 401
    assert Browser().get(f"/api/preview/{token}").status_code == 401
    assert Browser().post(f"/api/preview/{token}/index.html").status_code in (401, 405)


@pytest.mark.parametrize(
    ("path", "status"),
    [("notes.txt", 400), ("site", 400), ("gone.html", 404), ("../x.html", 403), ("site/.git/x.html", 400)],
)
def test_an_address_is_made_for_pages_only(site: Files, path, status):
    answer = site.post("files/preview", path=path)
    assert answer.status_code == status
    assert answer.json()["error"]
