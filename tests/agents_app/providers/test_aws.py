"""AWS: regions, signatures and whose credentials they are made with."""

from pathlib import Path

import pytest

from agents_app.model_binding import has_key
from agents_app.providers.aws import region_of
from agents_app.providers.contract import ErrorKind
from agents_app.providers.registry import PACKAGED, _entry
from agents_app.providers.wire import Wire
from halo_site.lib import settings_write

from .conftest import KEY, Vendor


@pytest.mark.parametrize(
    ("endpoint", "region"),
    [
        ("https://bedrock-runtime.us-east-1.amazonaws.com", "us-east-1"),
        ("https://bedrock-runtime.eu-central-1.amazonaws.com/", "eu-central-1"),
        ("https://bedrock-mantle.us-east-2.api.aws/openai/v1", "us-east-2"),
        ("https://bedrock-runtime.us-gov-west-1.amazonaws.com", "us-gov-west-1"),
        ("https://bedrock-runtime.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("https://vpce-0a1b-c2.bedrock-runtime.ap-southeast-2.vpce.amazonaws.com", "ap-southeast-2"),
        ("http://127.0.0.1:9700", "us-east-1"),
        ("http://[::1", "us-east-1"),
        ("nonsense", "us-east-1"),
    ],
)
def test_the_region_comes_from_the_host(endpoint: str, region: str):
    assert region_of(endpoint) == region


async def test_a_request_is_signed_so_that_aws_accepts_it(bedrock: Vendor):
    answer = await bedrock.ask(model="global.anthropic.claude-haiku-4-5-20251001-v1:0")
    assert answer.error is None, answer.error
    [entry] = bedrock.server.requests
    assert entry["path"].startswith("/model/global.anthropic.claude-haiku-4-5-20251001-v1:0/")
    assert "/us-east-1/bedrock/aws4_request" in entry["headers"]["authorization"]
    assert KEY not in str(entry["headers"])


async def test_an_inference_profile_is_signed_as_it_is_sent(bedrock: Vendor):
    arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/ab12 x"
    assert (await bedrock.ask(model=arn)).error is None
    assert "%2Fab12%20x" in bedrock.server.requests[0]["path"]


async def test_a_wrong_secret_is_an_account_error_that_does_not_show_it(bedrock: Vendor):
    wrong = {"access_key_id": "AKIAFAKE", "secret_access_key": "wrong-secret-0123"}
    answer = await bedrock.ask(secrets=wrong)
    assert (answer.error.kind, answer.error.status) == (ErrorKind.ACCOUNT, 403)
    assert "signature" in str(answer.error)
    assert "wrong-secret" not in str(answer.error)


async def test_a_bedrock_api_key_is_sent_instead_of_a_signature(bedrock: Vendor):
    bedrock.server.key = KEY
    assert (await bedrock.ask(secrets={"api_key": KEY})).error is None
    assert bedrock.server.requests[0]["headers"]["authorization"] == f"Bearer {KEY}"


async def test_responses_behind_aws_are_signed_where_no_key_is_given(responses: Vendor):
    responses.wire = Wire(sigv4="bedrock")
    pair = {"access_key_id": "AKIAFAKE", "secret_access_key": KEY}
    assert (await responses.ask(secrets=pair)).error is None
    assert "/bedrock/aws4_request" in responses.server.requests[0]["headers"]["authorization"]
    assert (await responses.ask(secrets=pair | {"api_key": KEY})).error is None
    assert responses.server.requests[1]["headers"]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("half", [{"access_key_id": "AKIAFAKE"}, {"secret_access_key": KEY}, {}])
async def test_the_servers_own_credentials_never_go_to_a_foreign_address(
    bedrock: Vendor, half: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    """A half-filled pair is none; a workspace may name any endpoint (decision 0009)."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAOWNER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "owner-secret")
    answer = await bedrock.ask(secrets=half)
    assert answer.error.kind is ErrorKind.ACCOUNT
    assert "access_key_id" in str(answer.error)
    assert bedrock.server.requests == []


def test_without_a_pair_the_default_chain_signs_for_aws(monkeypatch: pytest.MonkeyPatch):
    from agents_app.providers.aws import _signed
    from agents_app.providers.wire import Signing, WireRequest

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAOWNER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "owner-secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "owner-token")
    how = Signing(service="bedrock", region="eu-west-1")
    url = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/invoke-with-response-stream"
    signed = _signed(WireRequest(url=url, headers={}, body=b"{}", signing=how), how)
    headers = {name.lower(): value for name, value in signed.headers.items()}
    assert "Credential=AKIAOWNER/" in headers["authorization"]
    assert headers["x-amz-security-token"] == "owner-token"


async def test_a_stream_of_broken_frames_is_worth_a_retry(bedrock: Vendor):
    from tests.fakes.bedrock_wire import chunk

    good = chunk(b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}')
    for broken in (b"\x00\x00\x00\x10" + b"x" * 40, good[:-1] + b"!", b"\x7f" * 64):
        stream = (good + broken).decode("utf-8", "surrogateescape")
        bedrock.server.will(raw=stream, content_type="application/vnd.amazon.eventstream")
        answer = await bedrock.ask()
        assert answer.error.kind is ErrorKind.NETWORK
        assert answer.joined("text") == "Hi"


def test_a_frame_that_never_ends_is_given_up():
    from agents_app.providers.aws_stream import FrameReader
    from agents_app.providers.wire import BrokenStream
    from tests.fakes.bedrock_wire import chunk

    reader = FrameReader(frame_limit=1_000)
    assert reader.feed(chunk(b"x" * 100))
    with pytest.raises(BrokenStream, match="more than 1000 bytes"):
        reader.feed(chunk(b"x" * 5_000)[:2_000])


@pytest.mark.parametrize(
    ("stored", "ready"),
    [({}, False), ({"api_key": "k" * 20}, True), ({"access_key_id": "AKIA1234", "secret_access_key": "s" * 20}, True)],
)
def test_a_provider_with_optional_keys_is_ready_with_one_of_them(stored: dict[str, str], ready: bool, tmp_path: Path):
    entry = _entry(PACKAGED / "aws-bedrock-mantle.yaml")
    for key, value in stored.items():
        settings_write.write("workspace", tmp_path, f"aws-bedrock-mantle.secrets.{key}", value)
    assert has_key(entry, tmp_path) is ready
