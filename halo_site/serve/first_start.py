"""What a start does before it listens: home, secret, schema, seed, first admin (spec deploy 4).

Each step finds its work already done at a second start, and may be killed at any point and begun again.
"""

import base64
import logging
import secrets
import string
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction

from halo_site.lib.config_file import ConfigBroken, set_leaf
from halo_site.lib.errors import HaloError
from halo_site.lib.migrating import ensure_schema

log = logging.getLogger("halo.serve")


class WeakSecret(HaloError):
    """The text names the setting and what is allowed."""


class NoAdmin(HaloError):
    def __init__(self) -> None:
        super().__init__("No superuser can log in. Make one with `manage.py createsuperuser`, then start again.")


def check_secret() -> None:
    """An empty, short or guessable signing key ends the start (SECURITY-BAR L3). Raises WeakSecret."""
    from halo_site import tokens

    try:
        tokens.check_secret()
    except ImproperlyConfigured as error:
        raise WeakSecret(str(error)) from error


def prepare_database(tell: Callable[[str], None]) -> None:
    if ensure_schema(tell):
        log.info("the database schema is up to date now")


def seed() -> None:
    """Platform files of the home; a failure is logged and never stops a start (spec deploy 4.3).

    Except for a `config.yaml` that cannot be read: it holds the signing key. Raises ConfigBroken.
    """
    from agents_app.seed import seed_home

    try:
        seed_home(settings.HALO.home, settings.HALO.default_provider)
    except ConfigBroken:
        raise
    except (OSError, HaloError):
        log.exception("the home folder could not be seeded; starting with what is there")


def make_secret() -> bool:
    """Write a signing key to config.yaml when there is none; True = settings must be read anew."""
    if settings.HALO.jwt_secret:
        return False
    key = base64.b64encode(secrets.token_bytes(32)).decode()
    set_leaf(settings.HALO.secrets_dir / "config.yaml", "server.jwt_secret", key)
    return True


@transaction.atomic
def first_admin() -> str:
    """Make sure a superuser can log in; the generated password when one was made up just now, else "".

    Raises NoAdmin when there are users but none of them is a superuser who can log in.
    """
    usable = [user for user in User.objects.filter(is_superuser=True, is_active=True) if user.has_usable_password()]
    if usable or (settings.HALO.password and User.objects.filter(username="admin", is_superuser=True).exists()):
        return ""
    if User.objects.exists():
        raise NoAdmin
    admin = User(username="admin", is_superuser=True, is_staff=True)
    generated = ""
    if settings.HALO.password:
        admin.set_password(settings.HALO.password)
    elif settings.HALO.password_hash:
        admin.password = settings.HALO.password_hash
    else:
        generated = new_password()
        admin.set_password(generated)
    admin.save()
    return generated


def new_password() -> str:
    """16 characters in four groups, letters and digits, none that look alike; about 80 bits."""
    alphabet = "".join(sorted(set(string.ascii_lowercase + string.digits) - set("il1o0")))
    while True:
        text = "".join(secrets.choice(alphabet) for _ in range(16))
        if any(c.isdigit() for c in text) and any(c.isalpha() for c in text):
            return "-".join(text[at : at + 4] for at in range(0, 16, 4))
