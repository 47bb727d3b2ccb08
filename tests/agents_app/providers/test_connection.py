"""The Test button, against the fake vendors."""

import pytest

from agents_app.providers import connection
from agents_app.providers.registry import resolve_model

from .conftest import KEY, Vendor

PROVIDERS = {
    "chat": "openai",
    "messages": "anthropic",
    "responses": "aws-bedrock-mantle",
    "bedrock": "aws-bedrock-claude-invoke",
}


def model(vendor: Vendor, **changes: str):
    block = {"provider": PROVIDERS[vendor.family], "id": "fake", "endpoint": vendor.endpoint} | changes
    return resolve_model(block, secrets={"api_key": KEY})


async def test_a_working_provider_is_reached_lists_models_and_answers(vendor: Vendor):
    vendor.server.will(text="ready", usage={"input": 12, "output": 1})
    report = await connection.test_connection(model(vendor))
    assert report.ok
    assert report.models == (() if vendor.family == "bedrock" else ("fake", "fake-large"))  # Bedrock lists elsewhere
    assert report.reach_ms is not None
    assert report.first_token_ms is not None
    assert report.tokens == 13
    assert report.cost_micros is None  # no price known: unknown, not 0
    assert vendor.last_body["max_output_tokens" if vendor.family == "responses" else "max_tokens"] <= 256
    assert report.as_dict()["error"] == ""


async def test_a_wrong_key_is_reported_without_the_key(vendor: Vendor):
    vendor.server.key = "another"
    report = await connection.test_connection(model(vendor))
    assert not report.ok
    assert report.error_kind == "account"
    assert KEY not in report.error


async def test_a_server_that_is_not_there(vendor: Vendor):
    report = await connection.test_connection(model(vendor, endpoint="http://127.0.0.1:1/v1"))
    assert (report.ok, report.reach_ms, report.error_kind) == (False, None, "network")


async def test_a_server_without_a_list_of_models_still_passes(vendor: Vendor):
    vendor.server.models = []
    assert (await connection.test_connection(model(vendor))).ok


@pytest.mark.parametrize("endpoint", ["http://[::1", "nonsense", "http://x:99999"])
async def test_an_endpoint_that_is_no_address(vendor: Vendor, endpoint: str):
    assert not (await connection.test_connection(model(vendor, endpoint=endpoint))).ok


async def test_the_demo_needs_no_network():
    report = await connection.test_connection(
        resolve_model({"provider": "demo", "id": "demo", "endpoint": "demo://local?pace=0"})
    )
    assert report.ok
    assert (report.reach_ms, report.tokens) == (0, 0)
