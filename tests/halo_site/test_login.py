"""The login over HTTP: in, out, who am I, and what a changed password ends."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from threading import Barrier

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F

from halo_site.lib import settings_write
from halo_site.models import RevokedToken
from tests.accounts import PASSWORD, Browser, logged_in, owner, person
from tests.clock import Clock
from tests.homes import own_home
from workspaces_app.models import AuditEvent, UserPrefs

pytestmark = pytest.mark.django_db


def test_a_password_alone_logs_in_as_admin():
    owner()
    browser = Browser()
    answer = browser.post("/api/auth/login", {"password": PASSWORD})
    assert (answer.status_code, answer.json()) == (200, {"ok": True})
    who = browser.get("/api/auth/check").json()
    assert who["authenticated"] is True
    assert who["user"]["username"] == "admin"
    assert who["user"]["isSuperuser"] is True
    assert who["user"]["prefs"] == {"theme": "", "language": ""}


def test_any_user_logs_in_by_name():
    person("bert")
    browser = Browser()
    assert browser.log_in("bert").status_code == 200
    assert browser.get("/api/auth/check").json()["user"]["username"] == "bert"


def test_the_login_cookie_is_closed_to_scripts_and_foreign_pages():
    person()
    browser = Browser()
    browser.log_in("anna")
    cookie = browser.cookies["halo_token"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert cookie["path"] == "/"
    assert cookie["max-age"] == 1_209_600
    assert not cookie["secure"]


def test_over_https_the_login_cookie_is_secure():
    person()
    browser = Browser()
    browser.post(
        "/api/auth/login",
        {"username": "anna", "password": PASSWORD},
        secure=True,
        headers={"origin": "https://localhost:9527"},
    )
    assert browser.cookies["halo_token"]["secure"]


@pytest.mark.parametrize("body", [{}, {"password": "wrong"}, {"username": "nobody", "password": "x"}, {"password": ""}])
def test_a_wrong_password_answers_401_and_nothing_else(body):
    owner()
    answer = Browser().post("/api/auth/login", body)
    assert (answer.status_code, answer.json()) == (401, {"error": "Invalid password"})
    assert "halo_token" not in answer.cookies


@pytest.mark.parametrize("kind", ["application/json", ""])
def test_a_login_without_a_body_is_a_wrong_password_and_counted(kind):
    owner()
    browser = Browser()
    for _ in range(5):
        answer = browser.generic("POST", "/api/auth/login", b"", kind)
        assert (answer.status_code, answer.json()) == (401, {"error": "Invalid password"})
    assert browser.post("/api/auth/login", {"password": PASSWORD}).status_code == 429


@pytest.mark.parametrize("name", ["x" * 5000, "名" * 200, " ", "\u202egnp"])
def test_odd_user_names_are_just_wrong(name):
    answer = Browser().post("/api/auth/login", {"username": name, "password": "x"})
    assert answer.status_code == 401


def test_a_very_long_password_is_wrong_without_being_hashed():
    owner()
    assert Browser().post("/api/auth/login", {"password": "x" * 2000}).status_code == 401


def test_check_without_a_login_says_so_and_shows_the_badge(settings):
    settings.HALO = replace(settings.HALO, badge="staging")
    answer = Browser().get("/api/auth/check")
    assert answer.status_code == 401
    assert answer.json()["authenticated"] is False
    assert answer.json()["badge"] == "staging"


def test_A2_every_login_makes_a_new_token_and_logout_ends_it_on_the_server():
    user = person()
    browser = Browser()
    browser.cookies["halo_token"] = "planted"
    browser.log_in(user)
    first = browser.token
    browser.log_in(user)
    assert len({"planted", first, browser.token}) == 3
    stolen = Browser()
    stolen.cookies["halo_token"] = browser.token
    answer = browser.post("/api/auth/logout")
    assert answer.json() == {"ok": True}
    gone = answer.cookies["halo_token"]
    assert (gone.value, gone["max-age"], gone["path"], gone["samesite"]) == ("", 0, "/", "Lax")
    assert stolen.get("/api/auth/check").status_code == 401
    assert RevokedToken.objects.count() == 1


def test_A2_a_renewed_copy_ends_with_the_logout_too(monkeypatch):
    import halo_site.auth as auth

    login = auth.new_login(person())
    later = auth.renewed(login, now=login.issued + 2 * 86_400)
    auth.revoke(login)
    assert auth.identify({"halo_token": auth.token_of(later)}, now=later.issued + 5) is None


def test_logging_out_everywhere_ends_every_login_of_the_person_and_nobody_elses():
    anna, bert = person("anna"), person("bert")
    here, elsewhere, of_bert, staff_site, berts_staff_site = (Browser() for _ in range(5))
    here.log_in(anna)
    elsewhere.log_in(anna)
    of_bert.log_in(bert)
    staff_site.force_login(anna)
    berts_staff_site.force_login(bert)
    renewed_copy = Browser()
    renewed_copy.cookies["halo_token"] = here.token
    answer = here.post("/api/auth/logout-everywhere")
    assert (answer.json(), answer.cookies["halo_token"]["max-age"]) == ({"ok": True}, 0)
    ended = [browser.get("/api/auth/check").status_code for browser in (here, elsewhere, staff_site, renewed_copy)]
    assert ended == [401] * 4
    assert [browser.get("/api/auth/check").status_code for browser in (of_bert, berts_staff_site)] == [200] * 2
    assert AuditEvent.objects.filter(action="logout.everywhere", target="anna").count() == 1


def test_a_login_after_logging_out_everywhere_holds_until_the_next_time():
    anna = person("anna")
    browser = Browser()
    for _ in range(2):
        browser.log_in(anna)
        assert browser.get("/api/auth/check").status_code == 200
        assert browser.post("/api/auth/logout-everywhere").status_code == 200
        assert browser.get("/api/auth/check").status_code == 401


def test_logout_without_a_login_is_fine():
    assert Browser().post("/api/auth/logout").json() == {"ok": True}


def test_A2_a_login_posted_from_a_foreign_page_is_refused():
    person()
    answer = Browser().post(
        "/api/auth/login", {"username": "anna", "password": PASSWORD}, headers={"origin": "http://evil.example"}
    )
    assert answer.status_code == 403
    assert "halo_token" not in answer.cookies


def test_A3_a_password_change_ends_every_other_login_and_renews_this_one():
    user = person()
    here, elsewhere = logged_in(user), logged_in(user)
    answer = here.post("/api/auth/change-password", {"oldPassword": PASSWORD, "newPassword": "fresh pass 2"})
    assert answer.json() == {"ok": True}
    assert here.get("/api/auth/check").status_code == 200
    assert elsewhere.get("/api/auth/check").status_code == 401
    assert Browser().log_in("anna", "fresh pass 2").status_code == 200


def test_A3_a_disabled_user_is_out_at_the_next_request():
    user = person()
    browser = logged_in(user)
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert browser.get("/api/auth/check").status_code == 401


def test_C69_a_changed_role_ends_the_login_and_a_deleted_user_has_none():
    user = person()
    browser = logged_in(user)
    User.objects.filter(pk=user.pk).update(is_superuser=True)
    assert browser.get("/api/auth/check").status_code == 401
    browser = logged_in(User.objects.get(pk=user.pk))
    user.delete()
    assert browser.get("/api/auth/check").status_code == 401


@pytest.mark.parametrize(
    ("new", "error"),
    [
        ("short1", "Password must be at least 8 characters"),
        ("12345678", "Password must contain at least one letter"),
        ("abcdefgh", "Password must contain at least one digit"),
        (PASSWORD, "New password must differ from the current password"),
    ],
)
def test_a_weak_new_password_is_refused_with_the_reason(new, error):
    browser = logged_in(person())
    answer = browser.post("/api/auth/change-password", {"oldPassword": PASSWORD, "newPassword": new})
    assert (answer.status_code, answer.json()) == (400, {"error": error})


def test_the_old_password_is_checked_before_the_new_one():
    browser = logged_in(person())
    answer = browser.post("/api/auth/change-password", {"oldPassword": "wrong", "newPassword": "x"})
    assert (answer.status_code, answer.json()) == (401, {"error": "Incorrect current password"})


def test_HALO_PASSWORD_rules_for_admin_alone(settings):
    admin = owner(password="stored pass 1")
    settings.HALO = replace(settings.HALO, password="from the environment")
    assert Browser().post("/api/auth/login", {"password": "stored pass 1"}).status_code == 401
    browser = Browser()
    assert browser.post("/api/auth/login", {"password": "from the environment"}).status_code == 200
    answer = browser.post("/api/auth/change-password", {"oldPassword": "x", "newPassword": "y"})
    assert answer.json() == {"error": "Password is managed by the HALO_PASSWORD environment variable"}
    assert answer.status_code == 400
    before = logged_in(admin)
    settings.HALO = replace(settings.HALO, password="another")
    assert before.get("/api/auth/check").status_code == 401


def test_an_admin_session_counts_as_a_login_and_changes_nothing_when_stale():
    from django.contrib.sessions.models import Session

    user = owner()
    browser = Browser()
    browser.force_login(user)
    assert browser.get("/api/auth/check").json()["user"]["username"] == "admin"
    user.set_password("something else 3")
    user.save()
    assert browser.get("/api/auth/check").status_code == 401
    assert Session.objects.count() == 1


def test_logout_ends_the_admin_session_too():
    browser = Browser()
    browser.force_login(owner())
    browser.post("/api/auth/logout")
    assert browser.get("/api/auth/check").status_code == 401


def test_prefs_follow_the_person():
    browser = logged_in(person())
    assert browser.patch("/api/auth/prefs", {"theme": "light"}).json() == {"theme": "light", "language": ""}
    assert browser.patch("/api/auth/prefs", {"language": "zh"}).json() == {"theme": "light", "language": "zh"}
    assert browser.get("/api/auth/check").json()["user"]["prefs"] == {"theme": "light", "language": "zh"}
    assert browser.patch("/api/auth/prefs", {"theme": "pink"}).status_code == 400
    assert UserPrefs.objects.count() == 1


def test_17_who_chose_no_looks_has_those_the_owner_set_for_the_site(settings, tmp_path):
    own_home(settings, tmp_path)
    browser = logged_in(person())

    def looks() -> dict[str, str]:
        prefs: dict[str, str] = browser.get("/api/auth/check").json()["user"]["prefs"]
        return prefs

    assert looks() == {"theme": "", "language": ""}, "nobody chose: the browser decides"
    settings_write.write("global", None, "general.language", "zh-CN")
    settings_write.write("global", None, "general.theme", "warm")
    assert looks() == {"theme": "warm", "language": "zh-CN"}
    browser.patch("/api/auth/prefs", {"language": "en-US"})
    assert looks() == {"theme": "warm", "language": "en-US"}


def test_logins_leave_a_trail():
    owner()
    browser = Browser()
    browser.post("/api/auth/login", {"password": "wrong"})
    browser.post("/api/auth/login", {"password": PASSWORD})
    browser.post("/api/auth/logout")
    rows = list(AuditEvent.objects.order_by("id").values_list("action", "actor_name", "target", "address"))
    assert rows == [
        ("login.failed", "", "admin", "127.0.0.1"),
        ("login", "admin", "admin", "127.0.0.1"),
        ("logout", "admin", "admin", "127.0.0.1"),
    ]


def wrong(browser: Browser, name: str = "anna", address: str = "10.0.0.1", **extra):
    return browser.post("/api/auth/login", {"username": name, "password": "no"}, REMOTE_ADDR=address, **extra)


def test_A1_five_failures_lock_the_account_and_the_address_for_15_minutes(monkeypatch):
    clock = Clock(monkeypatch)
    person("anna")
    person("bert")
    browser = Browser()
    assert [wrong(browser).status_code for _ in range(5)] == [401] * 5
    right = {"username": "anna", "password": PASSWORD}
    locked = browser.post("/api/auth/login", right, REMOTE_ADDR="10.0.0.1")
    assert (locked.status_code, locked.json()) == (429, {"error": "Too many attempts, try again later"})
    assert 880 <= int(locked["Retry-After"]) <= 901
    # per account: from another address; per address: for another account
    assert browser.post("/api/auth/login", right, REMOTE_ADDR="10.0.0.2").status_code == 429
    other = {"username": "bert", "password": PASSWORD}
    assert browser.post("/api/auth/login", other, REMOTE_ADDR="10.0.0.1").status_code == 429
    assert browser.post("/api/auth/login", other, REMOTE_ADDR="10.0.0.2").status_code == 200
    # 14 minutes later still, 15 minutes later no more
    clock.advance(minutes=14)
    assert browser.post("/api/auth/login", right, REMOTE_ADDR="10.0.0.1").status_code == 429
    clock.advance(minutes=1, seconds=1)
    assert browser.post("/api/auth/login", right, REMOTE_ADDR="10.0.0.1").status_code == 200


def test_A1_unknown_names_are_counted_like_known_ones():
    browser = Browser()
    assert [wrong(browser, "nobody").status_code for _ in range(6)] == [401] * 5 + [429]


def test_A1_a_success_clears_the_account_but_not_what_the_address_did_to_others():
    person("anna")
    person("mallory")
    browser = Browser()
    for _ in range(4):
        wrong(browser)
    browser.post("/api/auth/login", {"username": "mallory", "password": PASSWORD}, REMOTE_ADDR="10.0.0.1")
    assert wrong(browser).status_code == 401
    assert wrong(browser).status_code == 429


def test_A1_a_success_clears_the_failures_of_that_account():
    person("anna")
    browser = Browser()
    for _ in range(4):
        wrong(browser)
    browser.post("/api/auth/login", {"username": "anna", "password": PASSWORD}, REMOTE_ADDR="10.0.0.1")
    assert [wrong(browser).status_code for _ in range(5)] == [401] * 5


def test_A1_wrong_passwords_in_the_staff_form_lock_the_api():
    owner()
    browser = Browser()
    for _ in range(5):
        csrf = browser.get("/admin/login/").cookies["csrftoken"].value
        browser.post(
            "/admin/login/",
            f"username=admin&password=no&csrfmiddlewaretoken={csrf}",
            "application/x-www-form-urlencoded",
            REMOTE_ADDR="10.0.0.1",
        )
    assert browser.post("/api/auth/login", {"password": PASSWORD}).status_code == 429
    csrf = browser.get("/admin/login/").cookies["csrftoken"].value
    form = f"username=admin&password={PASSWORD.replace(' ', '+')}&csrfmiddlewaretoken={csrf}"
    answer = browser.post("/admin/login/", form, "application/x-www-form-urlencoded")
    assert answer.status_code == 429
    assert int(answer["Retry-After"]) > 800


def test_A1_C71_a_forged_forwarded_for_does_not_evade_the_limit():
    person("anna")
    browser = Browser()
    codes = [wrong(browser, f"user{n}", headers={"x-forwarded-for": f"203.0.113.{n}"}).status_code for n in range(50)]
    assert codes == [401] * 5 + [429] * 45


def test_A1_guessing_the_old_password_with_a_stolen_cookie_is_limited_too():
    browser = logged_in(person())
    guess = {"oldPassword": "no", "newPassword": "fresh pass 2"}
    codes = [browser.post("/api/auth/change-password", guess).status_code for _ in range(6)]
    assert codes == [401] * 5 + [429]


def at_once(calls: list[Callable[[], int]]) -> list[int]:
    """What the calls return, all begun in the same moment on threads of their own."""
    start = Barrier(len(calls))

    def call(act: Callable[[], int]) -> int:
        start.wait(30)
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as threads:
        return sorted(threads.map(call, calls))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("names", "addresses", "agents"),
    [(1, 1, 1), (1, 1, 12), (1, 12, 1), (12, 1, 12)],
    ids=["one browser", "one person in many browsers", "one account from many addresses", "many accounts"],
)
def test_A1_tries_in_the_same_moment_are_limited_to_five(names, addresses, agents):
    person("name0")

    def guess(number: int) -> int:
        address, agent = f"10.0.0.{number % addresses}", f"agent {number % agents}"
        return wrong(Browser(), f"name{number % names}", address, headers={"user-agent": agent}).status_code

    codes = at_once([partial(guess, number) for number in range(12)])
    assert codes == [401] * 5 + [429] * 7


@pytest.mark.django_db(transaction=True)
def test_A1_right_passwords_in_the_same_moment_use_up_no_tries():
    person("anna")
    for _ in range(2):
        assert at_once([lambda: Browser().log_in("anna").status_code] * 4) == [200] * 4
    assert not AccessAttempt.objects.exists()


def test_A1_a_right_old_password_gives_its_try_back_and_lengthens_no_lock():
    browser = logged_in(person())
    guess = {"oldPassword": "no", "newPassword": "fresh pass 2"}
    browser.post("/api/auth/change-password", guess)
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(minutes=10))
    before = AccessAttempt.objects.values_list("failures_since_start", "attempt_time").get()
    weak = browser.post("/api/auth/change-password", {"oldPassword": PASSWORD, "newPassword": "short"})
    assert weak.status_code == 400
    assert AccessAttempt.objects.values_list("failures_since_start", "attempt_time").get() == before


def test_A1_known_and_unknown_names_take_the_same_time(settings, monkeypatch):
    """The hash of the password is nearly all of it: it is made once for either, with the same effort."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
    person("anna")
    made: list[int] = []
    encode = PBKDF2PasswordHasher.encode

    def counted(self, password, salt, iterations=None):
        made.append(iterations or self.iterations)
        return encode(self, password, salt, iterations)

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", counted)
    efforts = []
    for name in ("anna", "nobody"):
        made.clear()
        Browser().post("/api/auth/login", {"username": name, "password": "no"})
        efforts.append(list(made))
    assert efforts == [[PBKDF2PasswordHasher.iterations]] * 2
