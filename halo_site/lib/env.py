"""The environment, read once into one typed object (`settings.HALO`). Nothing else reads `os.environ` for options.

Precedence: environment, then `secrets/config.yaml`, then the default (spec deploy 3).
"""

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import environ
import yaml
from django.core.exceptions import ImproperlyConfigured

# Never handed to a child process (spec deploy 3).
SERVER_SECRETS = ("HALO_PASSWORD", "HALO_JWT_SECRET", "HALO_SETTINGS_KEY", "DATABASE_URL", "REDIS_URL")


@dataclass(frozen=True, slots=True)
class Env:
    home: Path  # HALO_HOME, ~/.halo
    port: int  # HALO_PORT, 9527
    password: str  # HALO_PASSWORD, plain text; empty = the stored hash decides
    password_hash: str  # server.password of a reference home; becomes the first admin's
    host: str  # HALO_HOST, 127.0.0.1; 0.0.0.0 listens on every interface
    jwt_secret: str  # HALO_JWT_SECRET, base64; empty = made by the first start
    settings_key: str  # HALO_SETTINGS_KEY, or the content of HALO_SETTINGS_KEY_FILE; empty = secrets stored in clear
    database_url: str  # DATABASE_URL; empty = SQLite in the home
    redis_url: str  # REDIS_URL; empty = one process
    cors_origins: tuple[str, ...]  # HALO_CORS_ORIGINS, comma list
    hosts: tuple[str, ...]  # HALO_HOSTS, comma list of names besides localhost, IP literals and our own
    trusted_proxies: tuple[str, ...]  # HALO_TRUSTED_PROXIES, comma list of addresses or networks (docs/security.md)
    badge: str  # HALO_BADGE
    default_provider: str  # HALO_DEFAULT_PROVIDER, used when a home is seeded
    max_context_tokens: int  # HALO_MAX_CONTEXT_TOKENS, 200000
    shell_timeout: timedelta  # HALO_SHELL_TIMEOUT, ms
    web_fetch_timeout: timedelta  # HALO_WEB_FETCH_TIMEOUT, ms
    model_timeout: timedelta  # HALO_MODEL_TIMEOUT, ms
    terminal_grace: timedelta  # HALO_TERMINAL_GRACE, ms; how long a terminal waits for its browser
    log_level: str  # HALO_LOG_LEVEL
    log_max_size: int  # HALO_LOG_MAX_SIZE, bytes
    log_max_files: int  # HALO_LOG_MAX_FILES
    goal_mode: bool  # HALO_GOAL_MODE, false
    standalone: Path | None  # HALO_STANDALONE, set by `manage.py cli --standalone`: its database instead of any other

    @property
    def global_dir(self) -> Path:
        return self.home / "global"

    @property
    def secrets_dir(self) -> Path:
        return self.home / "secrets"

    @property
    def layer_prefix(self) -> str:
        """Keeps installations that share one Redis apart: pub/sub knows no database numbers, so we name both."""
        names = [urlsplit(url).path.strip("/") or "0" for url in (self.redis_url, self.database_url)]
        return "halo." + ".".join(names)

    @classmethod
    def read(cls, environ_: Mapping[str, str]) -> Self:
        """Raises ImproperlyConfigured that names the variable, the value and what is allowed."""
        home = Path(environ_.get("HALO_HOME") or Path(environ_.get("HOME", "~")).expanduser() / ".halo")
        if not home.is_absolute():
            raise ImproperlyConfigured(f"HALO_HOME is {str(home)!r}: give an absolute path")
        leaves = _leaves(home / "secrets" / "config.yaml")

        def text(name: str, key: str, default: str = "") -> str:
            value: object = environ_.get(name)
            if value is None or value == "":
                value = leaves.get(key)
            if value is None or value == "":
                return default
            return ",".join(map(str, value)) if isinstance(value, list) else str(value)

        def number(name: str, key: str, default: int, low: int, high: int) -> int:
            raw = text(name, key, str(default))
            try:
                value = int(raw)
            except ValueError:
                value = low - 1
            if not low <= value <= high:
                raise ImproperlyConfigured(f"{name} is {raw!r}: give a whole number from {low} to {high}")
            return value

        def words(name: str, key: str) -> tuple[str, ...]:
            return tuple(word.strip() for word in text(name, key).split(",") if word.strip())

        day_ms = 86_400_000
        standalone = Path(environ_["HALO_STANDALONE"]) if environ_.get("HALO_STANDALONE") else None
        env = cls(
            home=home,
            port=number("HALO_PORT", "server.port", 9527, 0, 65535),
            password=environ_.get("HALO_PASSWORD", ""),
            password_hash=text("-", "server.password"),
            host=text("HALO_HOST", "server.host", "127.0.0.1"),
            jwt_secret=text("HALO_JWT_SECRET", "server.jwt_secret"),
            settings_key=_settings_key(environ_),
            database_url="" if standalone else text("DATABASE_URL", "server.database_url"),
            redis_url="" if standalone else text("REDIS_URL", "server.redis_url"),
            cors_origins=words("HALO_CORS_ORIGINS", "server.cors_origins"),
            hosts=words("HALO_HOSTS", "server.hosts"),
            trusted_proxies=_networks(words("HALO_TRUSTED_PROXIES", "server.trusted_proxies")),
            badge=environ_.get("HALO_BADGE", ""),
            default_provider=environ_.get("HALO_DEFAULT_PROVIDER", ""),
            max_context_tokens=number("HALO_MAX_CONTEXT_TOKENS", "-", 200_000, 1_000, 100_000_000),
            shell_timeout=timedelta(
                milliseconds=number("HALO_SHELL_TIMEOUT", "timeout.shell_exec", 600_000, 1, day_ms)
            ),
            web_fetch_timeout=timedelta(
                milliseconds=number("HALO_WEB_FETCH_TIMEOUT", "timeout.web_fetch", 10_000, 1, day_ms)
            ),
            model_timeout=timedelta(
                milliseconds=number("HALO_MODEL_TIMEOUT", "timeout.model_request", 1_800_000, 1, day_ms)
            ),
            terminal_grace=timedelta(
                milliseconds=number("HALO_TERMINAL_GRACE", "timeout.terminal_grace", 300_000, 1, day_ms)
            ),
            log_level=text("HALO_LOG_LEVEL", "-", "warn"),
            log_max_size=number("HALO_LOG_MAX_SIZE", "logging.max_file_size", 10_485_760, 1024, 2**40),
            log_max_files=number("HALO_LOG_MAX_FILES", "logging.max_files", 5, 1, 1000),
            goal_mode=text("HALO_GOAL_MODE", "features.goal_mode", "false").lower() in ("1", "true", "yes", "on"),
            standalone=standalone,
        )
        if "*" in env.cors_origins:
            raise ImproperlyConfigured("HALO_CORS_ORIGINS is '*': list the origins that may use your login")
        if env.redis_url and not env.database_url:
            raise ImproperlyConfigured("REDIS_URL is set, DATABASE_URL is not: several processes need PostgreSQL")
        return env

    @property
    def sqlite_file(self) -> Path:
        return self.standalone or self.secrets_dir / "halo.sqlite3"

    def databases(self) -> dict[str, dict[str, object]]:
        """Django's DATABASES. SQLite is tuned for one process (DEPENDENCIES R5); FULL = acknowledged is on disk."""
        if self.database_url:
            config = environ.Env.db_url_config(self.database_url)
            config |= {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True, "DISABLE_SERVER_SIDE_CURSORS": True}
            # A worker cut off in a transaction holds row locks until the server gives it up (SECURITY-BAR T11).
            config.setdefault("OPTIONS", {}).setdefault("options", "-c idle_in_transaction_session_timeout=20s")
            return {"default": config}
        pragmas = (
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-20000;"
            "PRAGMA mmap_size=134217728; PRAGMA journal_size_limit=67108864;"
        )
        return {
            "default": {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": str(self.sqlite_file),
                "CONN_MAX_AGE": None,
                "OPTIONS": {"timeout": 5, "transaction_mode": "IMMEDIATE", "init_command": pragmas},
            }
        }


def _settings_key(environ_: Mapping[str, str]) -> str:
    """Raises ImproperlyConfigured for a file that cannot be read, and for a key one could guess."""
    key, file = environ_.get("HALO_SETTINGS_KEY", ""), environ_.get("HALO_SETTINGS_KEY_FILE", "")
    if file and not key:
        try:
            key = Path(file).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ImproperlyConfigured(f"HALO_SETTINGS_KEY_FILE is {file!r}: it cannot be read: {error}") from error
        if not key.strip():
            raise ImproperlyConfigured(f"HALO_SETTINGS_KEY_FILE is {file!r}: it is empty")
    key = key.strip()
    if key and (len(key) < 32 or len(set(key)) < 12):
        raise ImproperlyConfigured("HALO_SETTINGS_KEY is too short or a pattern: give 32 random characters or more")
    return key


def _networks(entries: tuple[str, ...]) -> tuple[str, ...]:
    for entry in entries:
        try:
            ipaddress.ip_network(entry, strict=False)
        except ValueError as error:
            raise ImproperlyConfigured(f"HALO_TRUSTED_PROXIES has {entry!r}: give addresses or networks") from error
    return entries


def _leaves(path: Path) -> dict[str, object]:
    """The set leaves of config.yaml as `{"server.port": 9527}`; a leaf is `{value, default, ...}`."""
    try:
        raw = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    try:
        document = yaml.safe_load(raw)
    except yaml.YAMLError as error:
        raise ImproperlyConfigured(f"{path} is not valid YAML, mend it or move it away: {error}") from error
    found: dict[str, object] = {}

    def walk(node: object, prefix: str) -> None:
        if not isinstance(node, dict):
            return
        if "value" in node or "default" in node:
            value = node.get("value")
            found[prefix] = node.get("default") if value is None or value == "" else value
            return
        for key, child in node.items():
            walk(child, f"{prefix}.{key}" if prefix else str(key))

    walk(document, "")
    return found


def child_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process' environment without the server's secrets, for child processes we trust."""
    clean = {key: value for key, value in os.environ.items() if key not in SERVER_SECRETS}
    return clean | dict(extra or {})
