"""The hash format of older homes, and the rule for new passwords."""

import base64
import hashlib

import pytest
from django.contrib.auth.hashers import check_password, identify_hasher

from halo_site.lib.env import Env
from halo_site.passwords import ImportedScryptHasher, weakness
from halo_site.serve.first_start import first_admin
from tests.accounts import Browser, owner

SALT = base64.b64encode(b"sixteen bytes ok").decode()
DIGEST = base64.b64encode(
    hashlib.scrypt(b"old secret 1", salt=b"sixteen bytes ok", n=16384, r=8, p=1, maxmem=2**26, dklen=32)
).decode()
GOOD = f"scrypt$N=16384,r=8,p=1${SALT}${DIGEST}"

BAD = {
    "empty digest": f"scrypt$N=16384,r=8,p=1${SALT}$",
    "three parts": f"scrypt$N=16384,r=8,p=1${SALT}",
    "five parts": f"{GOOD}$x",
    "N not a power of two": f"scrypt$N=3,r=8,p=1${SALT}${DIGEST}",
    "N zero": f"scrypt$N=0,r=8,p=1${SALT}${DIGEST}",
    "N that eats the memory": f"scrypt$N=67108864,r=8,p=1${SALT}${DIGEST}",
    "not base64": f"scrypt$N=16384,r=8,p=1${SALT}$!!!",
    "salt not base64": f"scrypt$N=16384,r=8,p=1$!!!${DIGEST}",
    "no salt": f"scrypt$N=16384,r=8,p=1$${DIGEST}",
    "parameters missing": f"scrypt$${SALT}${DIGEST}",
    "Django's own scrypt": "scrypt$16384$salt$8$1$hash",
    "junk": "scrypt$",
}


def test_an_imported_hash_is_read():
    assert check_password("old secret 1", GOOD)
    assert not check_password("wrong", GOOD)


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_hash_is_a_wrong_password_and_never_an_error(name):
    assert check_password("old secret 1", BAD[name]) is False


def test_the_staff_site_can_show_an_imported_hash():
    summary = identify_hasher(GOOD).safe_summary(GOOD)
    assert DIGEST not in str(summary)
    hasher = ImportedScryptHasher()
    assert hasher.verify("x1", hasher.encode("x1", hasher.salt()))


@pytest.mark.django_db
def test_the_password_of_an_older_home_is_that_of_the_first_admin(settings, tmp_path):
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "config.yaml").write_text(f"server:\n  password: {{value: '{GOOD}', default: ''}}\n")
    settings.HALO = Env.read({"HALO_HOME": str(tmp_path)})
    assert first_admin() == "", "none is made up and printed"
    assert Browser().post("/api/auth/login", {"password": "old secret 1"}).status_code == 200
    assert Browser().post("/api/auth/login", {"password": "wrong"}).status_code == 401


@pytest.mark.django_db
def test_the_first_login_replaces_an_imported_hash():
    user = owner()
    user.password = GOOD
    user.save()
    assert Browser().post("/api/auth/login", {"password": "old secret 1"}).status_code == 200
    user.refresh_from_db()
    assert not user.password.startswith("scrypt$N=")
    assert Browser().post("/api/auth/login", {"password": "old secret 1"}).status_code == 200


@pytest.mark.django_db
def test_a_login_that_replaces_the_hash_keeps_its_own_cookie():
    user = owner()
    user.password = GOOD
    user.save()
    browser = Browser()
    browser.post("/api/auth/login", {"password": "old secret 1"})
    assert browser.get("/api/auth/check").status_code == 200


@pytest.mark.parametrize("password", ["correct horse 1", "pässwörter1", "密码密码密码abc1", "a" * 1000 + "1"])
def test_good_passwords_pass(password):
    assert weakness(password) is None


@pytest.mark.parametrize("password", ["", "short1", "onlyletters", "12345678", "1a" * 600])
def test_weak_passwords_do_not(password):
    assert weakness(password)
