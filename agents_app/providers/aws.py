"""AWS: addresses, and requests signed with Signature 4 by botocore. No client of it is used.

Source: spec models 2.2, 2.3, 4.2.
"""

import asyncio
import threading
import time
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from .contract import ModelConfig
from .wire import Signing, WireRequest

_DEFAULT_REGION = "us-east-1"
_OWN_HOSTS = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")
_ZONES = ("us", "eu", "ap", "sa", "ca", "me", "af", "il", "mx", "cn")
_CHAIN_KEPT = 300.0  # seconds until files and environment are looked at again; a role's keys renew themselves
_chain: tuple[float, Any] | None = None
_lock = threading.Lock()


class NoCredentials(Exception):
    """There is nothing to sign with. The text may be shown to a person."""


def signing(config: ModelConfig, service: str) -> Signing:
    """Pure. A half-filled key pair counts as empty."""
    key_id, secret = (config.secrets.get(name, "").strip() for name in ("access_key_id", "secret_access_key"))
    region = region_of(config.endpoint)
    if not (key_id and secret):
        return Signing(service=service, region=region)
    return Signing(service=service, region=region, key_id=key_id, secret=secret)


def region_of(endpoint: str) -> str:
    """The part of the host name that looks like a region (`bedrock-runtime.eu-west-1.amazonaws.com`)."""
    try:
        host = urlsplit(endpoint).hostname or ""
    except ValueError:
        return _DEFAULT_REGION
    for label in host.split("."):
        zone, dash, rest = label.partition("-")
        if dash and zone in _ZONES and rest[-1:].isdigit() and "-" in rest:
            return label
    return _DEFAULT_REGION


async def signed(wire: WireRequest) -> WireRequest:
    """The request as it is sent. Raises NoCredentials.

    In a thread: the first call loads botocore, hashing a long conversation takes a while, and the default chain
    (environment, ~/.aws, the machine's role) may read files and ask the network.
    """
    return wire if wire.signing is None else await asyncio.to_thread(_signed, wire, wire.signing)


def _signed(wire: WireRequest, how: Signing) -> WireRequest:
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
    from botocore.exceptions import BotoCoreError

    if not _is_address(wire.url):
        return wire  # the sender says so
    try:
        credentials = Credentials(how.key_id, how.secret) if how.key_id else _from_chain(wire.url)
        request = AWSRequest("POST", wire.url, headers=dict(wire.headers), data=wire.body)
        SigV4Auth(credentials.get_frozen_credentials(), how.service, how.region).add_auth(request)
    except BotoCoreError as error:
        raise NoCredentials(f"the AWS credentials could not be read ({type(error).__name__})") from error
    return replace(wire, headers=dict(request.headers.items()))


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _from_chain(url: str) -> Any:
    """What the server itself may use. Only for AWS: a workspace may name an address of its own (decision 0009)."""
    global _chain
    host = urlsplit(url).hostname or ""
    if host.endswith(_OWN_HOSTS):
        with _lock:
            if _chain is None or time.monotonic() - _chain[0] > _CHAIN_KEPT:
                from botocore.session import Session

                found = Session().get_credentials()
                _chain = None if found is None else (time.monotonic(), found)
            if _chain is not None:
                return _chain[1]
    raise NoCredentials("no AWS key pair: enter access_key_id and secret_access_key in Settings")
