"""People for tests, and HTTP clients that act like a browser: with a `Host`, an `Origin` and every check switched on.

anna = person("anna")
browser = logged_in(anna)
browser.post("/api/auth/logout")
"""

from typing import Any

from django.contrib.auth.models import User
from django.test import Client

PASSWORD = "correct horse 1"
HOST = "localhost:9527"
ORIGIN = "http://localhost:9527"


def person(name: str = "anna", *, password: str = PASSWORD, **flags: Any) -> User:
    return User.objects.create_user(name, password=password, **flags)


def owner(name: str = "admin", *, password: str = PASSWORD) -> User:
    return User.objects.create_superuser(name, password=password)


class Browser(Client):
    """A browser on our own page. `post`, `put`, `patch` send JSON unless told otherwise."""

    def __init__(self, **defaults: Any) -> None:
        super().__init__(enforce_csrf_checks=True, headers={"host": HOST, "origin": ORIGIN}, **defaults)

    def post(self, path: str, data: Any = None, content_type: str = "application/json", **extra: Any) -> Any:
        return super().post(path, {} if data is None else data, content_type, **extra)

    def patch(self, path: str, data: Any = "", content_type: str = "application/json", **extra: Any) -> Any:
        return super().patch(path, data, content_type, **extra)

    def put(self, path: str, data: Any = "", content_type: str = "application/json", **extra: Any) -> Any:
        return super().put(path, data, content_type, **extra)

    def log_in(self, user: User | str, password: str = PASSWORD) -> Any:
        name = user if isinstance(user, str) else user.username
        return self.post("/api/auth/login", {"username": name, "password": password})

    @property
    def token(self) -> str:
        return self.cookies["halo_token"].value


def logged_in(user: User) -> Browser:
    """With a login cookie, made without the detour over the password."""
    from halo_site.auth import COOKIE, new_login, token_of

    browser = Browser()
    browser.cookies[COOKIE] = token_of(new_login(user))
    return browser
