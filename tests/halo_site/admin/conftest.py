"""Chromium of the system (Playwright's own download is not used); skipped where there is none."""

import os
import shutil

import pytest

FLAGS = (
    "--no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("needs the system's Chromium")
    # Playwright's synchronous interface keeps a loop running in this thread, until the end of the session.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    return {**browser_type_launch_args, "executable_path": chromium, "args": FLAGS.split()}


@pytest.fixture(autouse=True)
def _no_card_of_another_test():
    from django.core.cache import cache

    cache.clear()


@pytest.fixture
def signed_in(db):
    """`signed_in("staff")`: a client of the staff site with the login of a superuser, staff or plain member."""
    from django.contrib.auth.models import User
    from django.test import Client

    flags = {"superuser": {"is_staff": True, "is_superuser": True}, "staff": {"is_staff": True}, "member": {}}

    def sign_in(role: str, name: str = "") -> Client:
        client = Client()
        client.user = User.objects.create_user(name or f"a-{role}", password="a-password-1", **flags[role])
        client.force_login(client.user, backend="halo_site.backends.PasswordBackend")
        return client

    return sign_in
