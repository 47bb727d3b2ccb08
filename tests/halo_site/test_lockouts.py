"""How long the lock-outs of SECURITY-BAR A1 last when somebody goes on guessing, and whom they leave alone."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command

from halo_site import lockouts
from halo_site.models import LoginLock
from tests.accounts import PASSWORD, Browser, logged_in, person
from tests.clock import Clock

pytestmark = pytest.mark.django_db

HOME, OFFICE, STRANGER = "10.0.0.1", "10.0.0.2", "203.0.113.9"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def log_in(name: str, address: str, password: str = PASSWORD) -> Any:
    return Browser().post("/api/auth/login", {"username": name, "password": password}, REMOTE_ADDR=address)


def guess(name: str, address: str, times: int = 5) -> list[int]:
    return [log_in(name, address, "wrong").status_code for _ in range(times)]


def minutes_locked(name: str, address: str) -> int:
    """What a right password gets to hear, rounded down to whole minutes; 0 = it is let in."""
    answer = log_in(name, address)
    if answer.status_code == 200:
        return 0
    assert (answer.status_code, answer.json()) == (429, {"error": "Too many attempts, try again later"})
    return int(answer["Retry-After"]) // 60


@pytest.mark.parametrize(
    ("number", "hours"), [(1, 0.25), (2, 0.5), (3, 1), (4, 2), (7, 16), (8, 24), (9, 24), (10**9, 24)]
)
def test_each_lock_out_in_a_row_is_twice_as_long_up_to_a_day(number, hours):
    assert lockouts.length(number) == timedelta(hours=hours)


def test_A1_guessing_on_after_a_lock_out_is_locked_out_for_longer(clock):
    person("anna")
    for minutes in (15, 30, 60):
        assert guess("anna", STRANGER, 6) == [401] * 5 + [429]
        clock.advance(minutes=minutes - 1)
        assert guess("anna", STRANGER, 1) == guess("nobody", STRANGER, 1) == [429], "the address"
        assert minutes_locked("anna", HOME) == 1, "the account"
        clock.advance(minutes=1, seconds=1)
    assert minutes_locked("anna", STRANGER) == 0


def test_A1_tries_while_locked_out_do_not_make_it_longer(clock):
    person("anna")
    guess("anna", STRANGER)
    for _ in range(3):
        clock.advance(minutes=4)
        assert guess("anna", STRANGER) == [429] * 5
    clock.advance(minutes=3, seconds=1)
    assert minutes_locked("anna", STRANGER) == 0


def test_A1_a_day_without_a_lock_out_makes_the_next_one_the_first_again(clock):
    person("anna")
    guess("anna", STRANGER)
    clock.advance(minutes=15, hours=24, seconds=1)
    guess("anna", STRANGER)
    assert minutes_locked("anna", STRANGER) == 15
    clock.advance(minutes=15, hours=23)
    guess("anna", STRANGER)
    assert minutes_locked("anna", STRANGER) == 30


def test_A1_a_login_makes_the_accounts_next_lock_out_the_first_again_but_not_that_of_the_address(clock):
    person("anna")
    guess("anna", STRANGER)
    clock.advance(minutes=16)
    assert minutes_locked("anna", STRANGER) == 0
    guess("anna", STRANGER)
    assert minutes_locked("anna", OFFICE) == 15
    assert minutes_locked("anna", STRANGER) == 30


def test_A1_where_a_person_logged_in_before_strangers_lock_them_out_no_longer_than_the_first_time(clock):
    person("anna")
    assert log_in("anna", HOME).status_code == 200
    for minutes in (15, 30, 60):
        guess("anna", STRANGER)
        assert minutes_locked("anna", OFFICE) == minutes, "anna was never there"
        assert minutes_locked("anna", HOME) == 15
        clock.advance(minutes=15, seconds=1)
        assert log_in("anna", HOME, "typo").status_code == 401
        clock.advance(minutes=minutes - 15)
    guess("anna", STRANGER)
    clock.advance(minutes=15, seconds=1)
    assert minutes_locked("anna", HOME) == 0


def test_A1_from_a_known_address_nobody_guesses_more_often_than_from_another(clock):
    person("anna")
    log_in("anna", HOME)
    assert guess("anna", HOME, 6) == [401] * 5 + [429]
    assert minutes_locked("anna", HOME) == minutes_locked("anna", STRANGER) == 15


def test_A1_an_address_is_known_for_its_own_people_and_as_long_as_a_login_may_live(clock):
    person("anna")
    person("mallory")
    log_in("anna", HOME)
    log_in("mallory", STRANGER)
    guess("anna", OFFICE)
    assert minutes_locked("anna", STRANGER) == 15
    clock.advance(minutes=15, seconds=1)
    guess("anna", OFFICE)
    clock.advance(minutes=15, seconds=1)
    assert (minutes_locked("anna", STRANGER), minutes_locked("anna", HOME)) == (14, 0)
    clock.advance(days=91)
    for _ in range(2):
        guess("anna", OFFICE)
        clock.advance(minutes=15, seconds=1)
    assert minutes_locked("anna", HOME) == 14


def test_A1_a_guessed_old_password_locks_out_for_longer_each_time_too(clock):
    browser = logged_in(person())
    body = {"oldPassword": "no", "newPassword": "fresh pass 2"}
    for minutes in (15, 30):
        codes = [browser.post("/api/auth/change-password", body).status_code for _ in range(5)]
        assert codes == [401] * 5
        answer = browser.post("/api/auth/change-password", body)
        assert (answer.status_code, int(answer["Retry-After"]) // 60) == (429, minutes)
        clock.advance(minutes=minutes, seconds=1)


def test_the_staff_form_says_how_long(clock):
    person("sue", is_staff=True)
    for _ in range(3):
        guess("sue", STRANGER)
        clock.advance(hours=1, seconds=1)
    guess("sue", STRANGER)
    browser = Browser()
    token = browser.get("/admin/login/").cookies["csrftoken"].value
    form = f"username=sue&password=x&csrfmiddlewaretoken={token}"
    page = browser.post("/admin/login/", form, "application/x-www-form-urlencoded", REMOTE_ADDR=STRANGER)
    assert page.status_code == 429
    assert "Try again in 2 hours." in page.content.decode().replace("\xa0", " ")


@pytest.mark.parametrize("command", [["axes_reset"], ["axes_reset_username", "anna"], ["axes_reset_ip", STRANGER]])
def test_the_owner_ends_a_lock_out_on_the_server(clock, command):
    person("anna")
    for _ in range(2):
        guess("anna", STRANGER)
        clock.advance(minutes=16)
    call_command(*command)
    address = HOME if "anna" in command else STRANGER
    name = "nobody" if STRANGER in command else "anna"
    assert guess(name, address, 1) == [401]


def test_lock_outs_of_long_ago_are_no_rows_any_more(clock):
    guess("nobody", STRANGER)
    assert LoginLock.objects.count() == 2
    clock.advance(days=2)
    guess("nobody", OFFICE, 1)
    assert not LoginLock.objects.exists()
