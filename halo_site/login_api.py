"""Routes of the login: who you are, in and out, your password, your looks; and the server's health."""

from typing import Literal

from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest, HttpResponse
from ninja import Router, Status

from halo_site.lib import settings_store
from halo_site.lib.db import in_transaction
from halo_site.lib.errors import BadRequest, Unauthorized
from halo_site.lib.schema import ApiSchema, Ok
from workspaces_app.access import Caller
from workspaces_app.audit import audit
from workspaces_app.models import UserPrefs

from .auth import (
    Login,
    clear_login_cookie,
    forget_expired_revocations,
    new_login,
    revoke,
    set_login_cookie,
)
from .auth_watch import tell_rights_changed
from .end_logins import end_all_logins
from .health import state
from .passwords import is_env_managed, weakness
from .ready import readiness
from .throttle import account_name, check_not_locked

router = Router(by_alias=True, tags=["login"])


class GateRequest(HttpRequest):
    """What middleware/gate.py leaves on a request; `caller` is there only with a login."""

    caller: Caller
    login: Login | None


class LoginIn(ApiSchema):
    username: str = "admin"
    password: str = ""


class PasswordIn(ApiSchema):
    old_password: str = ""
    new_password: str = ""


class Prefs(ApiSchema):
    """Empty = the site's default."""

    theme: Literal["", "dark", "light", "midnight", "warm", "system"] = ""
    language: Literal["", "en", "zh", "en-US", "zh-CN"] = ""


class PrefsIn(ApiSchema):
    theme: Literal["", "dark", "light", "midnight", "warm", "system"] | None = None
    language: Literal["", "en", "zh", "en-US", "zh-CN"] | None = None


class Me(ApiSchema):
    id: int
    username: str
    is_superuser: bool
    is_staff: bool
    prefs: Prefs


class CheckOut(ApiSchema):
    authenticated: bool
    badge: str | None
    user: Me | None = None
    password_managed: bool | None = None  # true: HALO_PASSWORD rules, the app offers no change


@router.get("/health", summary="Is the server up")
async def health(request: HttpRequest) -> dict[str, object]:
    return state()


class ReadyOut(ApiSchema):
    status: Literal["ready", "not ready"]
    checks: dict[str, str]  # database, migrations, engine: "ok" or what is wrong
    error: str | None = None  # all that is wrong; with 503 only


@router.get("/ready", response={200: ReadyOut, 503: ReadyOut}, exclude_none=True, summary="Can the server do its work")
def ready(request: HttpRequest) -> Status[dict[str, object]]:
    found = readiness()
    return Status(200 if found.is_ready else 503, found.body())


@router.post("/auth/login", response=Ok, summary="Log in; without a user name as admin")
def log_in(request: HttpRequest, response: HttpResponse, body: LoginIn | None = None) -> Ok:
    """A request without a body is a wrong password like any other, and counted."""
    body = body or LoginIn()
    username = account_name(request, {"username": body.username or "admin"})
    check_not_locked(request, username)
    user = authenticate(request, username=username, password=body.password)
    if not isinstance(user, User):
        audit("login.failed", target=username, request=request)
        raise Unauthorized("Invalid password")
    _enter(request, response, user)
    return Ok()


@in_transaction
def _enter(request: HttpRequest, response: HttpResponse, user: User) -> None:
    user_logged_in.send(sender=User, request=request, user=user)  # clears the failures, sets `last_login`
    forget_expired_revocations()
    audit("login", actor=user, target=user.username, request=request)
    set_login_cookie(response, new_login(user), https=request.is_secure())


@router.get("/auth/check", response={200: CheckOut, 401: CheckOut}, exclude_none=False, summary="Who am I")
def check(request: GateRequest) -> Status[CheckOut]:
    badge = settings.HALO.badge or None
    if request.login is None:
        return Status(401, CheckOut(authenticated=False, badge=badge))
    caller = request.caller
    managed = caller.username == "admin" and bool(settings.HALO.password)
    return Status(200, CheckOut(authenticated=True, badge=badge, user=_me(caller), password_managed=managed))


@router.post("/auth/logout", response=Ok, summary="Log out on the server too")
def log_out(request: GateRequest, response: HttpResponse) -> Ok:
    if request.login is not None:
        _leave(request)
    clear_login_cookie(response, https=request.is_secure())
    if settings.SESSION_COOKIE_NAME in request.COOKIES:
        response.delete_cookie(settings.SESSION_COOKIE_NAME, samesite="Lax")  # as set
    return Ok()


@in_transaction
def _leave(request: GateRequest) -> None:
    assert request.login is not None
    revoke(request.login)
    tell_rights_changed(request.caller.user_id)  # sockets opened with this login end, those of others stay
    session_key = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    if session_key.isascii() and session_key.isalnum() and len(session_key) <= 40:
        SessionStore(session_key).delete()
    audit("logout", actor=request.caller, target=request.caller.username, request=request)


@router.post("/auth/logout-everywhere", response=Ok, summary="End every login of yours, this one too")
def log_out_everywhere(request: GateRequest, response: HttpResponse) -> Ok:
    _leave_everywhere(request)
    clear_login_cookie(response, https=request.is_secure())
    if settings.SESSION_COOKIE_NAME in request.COOKIES:
        response.delete_cookie(settings.SESSION_COOKIE_NAME, samesite="Lax")  # as set
    return Ok()


@in_transaction
def _leave_everywhere(request: GateRequest) -> None:
    end_all_logins(request.caller.user_id)
    audit("logout.everywhere", actor=request.caller, target=request.caller.username, request=request)


@router.post("/auth/change-password", response=Ok, summary="Change your password; ends your other logins")
def change_password(request: GateRequest, response: HttpResponse, body: PasswordIn) -> Ok:
    user = User.objects.get(pk=request.caller.user_id)
    if is_env_managed(user):
        raise BadRequest("Password is managed by the HALO_PASSWORD environment variable")
    check_not_locked(request, user.username)
    if authenticate(request, username=user.username, password=body.old_password) is None:
        audit("password.failed", actor=user, target=user.username, request=request)
        raise Unauthorized("Incorrect current password")
    if reason := weakness(body.new_password):
        raise BadRequest(reason)
    if body.new_password == body.old_password:
        raise BadRequest("New password must differ from the current password")
    _store_password(request, response, user, body.new_password)
    return Ok()


@in_transaction
def _store_password(request: GateRequest, response: HttpResponse, user: User, password: str) -> None:
    user.set_password(password)
    user.save(update_fields=["password"])  # auth_watch.py tells the hub to close this person's other sockets
    if request.login is not None:
        revoke(request.login)
    audit("password.change", actor=user, target=user.username, request=request)
    set_login_cookie(response, new_login(user), https=request.is_secure())


@router.patch("/auth/prefs", response=Prefs, summary="Your theme and language")
def set_prefs(request: GateRequest, body: PrefsIn) -> Prefs:
    changes = body.model_dump(exclude_none=True)
    prefs, _ = UserPrefs.objects.update_or_create(user_id=request.caller.user_id, defaults=changes)
    return _prefs(prefs)


def _me(caller: Caller) -> Me:
    own = UserPrefs.objects.filter(user=caller.user_id).first()
    looks = {name: getattr(own, name, "") or settings_store.site_default(name) for name in Prefs.model_fields}
    return Me(
        id=caller.user_id,
        username=caller.username,
        is_superuser=caller.is_superuser,
        is_staff=caller.is_staff,
        prefs=Prefs.model_validate(looks),
    )


def _prefs(prefs: UserPrefs) -> Prefs:
    return Prefs.model_validate({"theme": prefs.theme, "language": prefs.language})
