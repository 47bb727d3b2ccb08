"""Django settings. Everything an operator may set comes from `lib/env.py`."""

import base64
import hashlib
import os
from datetime import timedelta
from pathlib import Path

from .lib.env import Env
from .lib.hosts import AnsweredHosts
from .staff_look import UNFOLD as UNFOLD

BASE_DIR = Path(__file__).resolve().parent.parent
HALO = Env.read(os.environ)

# Django needs a key at import; the real one is made by the first start and checked by `serve` (SECURITY-BAR L3).
SECRET_KEY = base64.b64encode(hashlib.sha512(b"django:" + HALO.jwt_secret.encode()).digest()).decode()
DEBUG = False
ALLOWED_HOSTS = [AnsweredHosts(HALO.hosts)]  # a middleware asks the same before any view runs
ROOT_URLCONF = "halo_site.urls"
ASGI_APPLICATION = "halo_site.asgi.application"
DATABASES = HALO.databases()
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]  # of the staff site; the API speaks English
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = "halo_site.formats"  # of the staff site

INSTALLED_APPS = [
    "daphne",  # first: it owns the event loop
    "unfold.apps.BasicAppConfig",
    "halo_site.apps.StaffSiteConfig",  # django.contrib.admin with our site
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "ninja",  # the files of /api/docs
    "halo_site",  # before django_q: our qcluster command wraps theirs
    "django_q",
    "workspaces_app",
    "agents_app",
    "sessions_app",
    "relay_app",
    "cron_app",
    "channels_app",
    "evolution_app",
    "extensions_app",
]

MIDDLEWARE = [
    # Ours, outermost first; what each is for: halo_site/middleware/__init__.py
    "halo_site.middleware.peer.peer",
    "halo_site.middleware.headers.headers",
    "halo_site.middleware.compress.compress",
    "halo_site.middleware.api_errors.api_errors",
    "halo_site.middleware.hosts.hosts",
    "halo_site.middleware.plain_text.plain_text",
    "halo_site.middleware.cors.cors",
    "halo_site.middleware.origin.origin",
    "halo_site.middleware.gate.gate",
    "halo_site.middleware.body_type.body_type",
    # Django's, for the staff site only
    "halo_site.middleware.elsewhere.Sessions",
    "halo_site.middleware.elsewhere.Accounts",
    "halo_site.middleware.elsewhere.Languages",
    "halo_site.middleware.elsewhere.Messages",
    "halo_site.middleware.elsewhere.Lockout",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# The throttle first: a locked address or account gets no answer about its password.
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "halo_site.backends.PasswordBackend"]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
    "halo_site.passwords.ImportedScryptHasher",  # hashes of a reference home; replaced at the first login
]
AUTH_PASSWORD_VALIDATORS = [{"NAME": "halo_site.passwords.RulesValidator"}]
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"

# Login throttle (SECURITY-BAR A1): each on its own, counted in the database. The time is that of the first lock-out.
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = ["ip_address", "username"]
AXES_HANDLER = "halo_site.throttle.Handler"
AXES_CLIENT_IP_CALLABLE = "halo_site.throttle.address_of"
AXES_USERNAME_CALLABLE = "halo_site.throttle.account_name"
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # a refused try is not counted, so a lock always ends
AXES_DISABLE_ACCESS_LOG = True  # AuditEvent has it
AXES_VERBOSE = False

DATA_UPLOAD_MAX_MEMORY_SIZE = 32 * 1024 * 1024  # the largest JSON body of body_rules.py; the server caps before Django
# TLS ends at a proxy, if at all: we mark cookies Secure per request and leave HSTS and redirects to the proxy; our own
# middleware does the work of Django's security, clickjacking and CSRF ones.
_OURS = ("001", "002", "003", "004", "008", "010", "012", "016")
SILENCED_SYSTEM_CHECKS = [*(f"security.W{number}" for number in _OURS), "axes.W002"]

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"

if HALO.redis_url:
    CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [{"address": HALO.redis_url, "socket_timeout": 15}], "prefix": HALO.layer_prefix},
        }
    }
else:
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

Q_CLUSTER = {
    "name": "halo",
    "orm": "default",
    "workers": 1,
    "timeout": 300,
    "retry": 360,
    "max_attempts": 3,
    "ack_failures": True,
    "queue_limit": 4,
    "bulk": 1,
    "poll": 1,
    "guard_cycle": 1,
    "catch_up": False,
    "save_limit": 100,
}
