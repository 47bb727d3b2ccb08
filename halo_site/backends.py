"""How passwords are checked, after django-axes had its say: `HALO_PASSWORD` for `admin`, Django's hash for the rest."""

import hashlib
import hmac
from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from .passwords import MAX_BYTES
from .throttle import give_back


class PasswordBackend(ModelBackend):
    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        """Raises PermissionDenied when no other backend may be asked. Takes the same time for every name."""
        user = self._check(request, username, password, **kwargs)
        if user is not None and request is not None:
            give_back(request)
        return user

    def _check(
        self, request: HttpRequest | None, username: str | None, password: str | None, **kwargs: Any
    ) -> User | None:
        if username is None or password is None or "\0" in username or len(username) > 150:
            username, password = "", password or ""
        if len(password.encode("utf-8", "surrogatepass")) > MAX_BYTES:
            raise PermissionDenied
        user = super().authenticate(request, username=username, password=password, **kwargs)
        expected = settings.HALO.password
        if username != "admin" or not expected:
            return user
        # The hash was computed above all the same, so that `admin` answers no faster than any other name.
        if not hmac.compare_digest(_digest(password), _digest(expected)):
            raise PermissionDenied
        return User.objects.filter(username="admin", is_active=True).first()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
