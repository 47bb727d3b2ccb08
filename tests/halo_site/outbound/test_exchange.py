"""Requests with a body whose answers stream: the same door, the same rules, no redirects (SECURITY-BAR F5 to F7)."""

import pytest

from halo_site.lib.errors import BadRequest
from halo_site.lib.outbound import FetchFailed, Refused, Rules, exchange
from tests.fakes.catcher import Catcher


@pytest.fixture
def catcher():
    with Catcher() as running:
        yield running


def allowed(catcher: Catcher) -> Rules:
    return Rules.read([f"127.0.0.1:{catcher.port}"])


async def test_the_body_goes_out_and_the_answer_comes_in_pieces(catcher):
    catcher.answer("/a", 200, {"Content-Type": "text/plain"}, b"words")
    async with exchange(f"{catcher.base}/a", allowed(catcher), headers={"X-Key": "k"}, body=b"{}") as answer:
        assert (answer.status, answer.headers["content-type"]) == (200, "text/plain")
        assert b"".join([chunk async for chunk in answer.chunks]) == b"words"
    [request] = catcher.requests
    assert (request.method, request.body, request.headers["x-key"]) == ("POST", b"{}", "k")
    assert request.headers["content-length"] == "2"
    assert request.headers["accept-encoding"] == "identity"


async def test_F5_a_private_address_is_refused_before_anything_is_sent(catcher):
    with pytest.raises(Refused):
        async with exchange(f"{catcher.base}/a", Rules(), body=b"{}"):
            pass
    assert catcher.requests == []


async def test_F6_a_redirect_is_an_answer(catcher):
    catcher.answer("/a", 307, {"Location": f"{catcher.base}/b"})
    async with exchange(f"{catcher.base}/a", allowed(catcher), body=b"{}") as answer:
        assert answer.status == 307
    assert [request.path for request in catcher.requests] == ["/a"]


async def test_F7_a_packed_answer_is_refused_as_nobody_bounds_its_size(catcher):
    catcher.answer("/a", 200, {"Content-Encoding": "gzip"}, b"bomb")
    with pytest.raises(FetchFailed, match="packed"):
        async with exchange(f"{catcher.base}/a", allowed(catcher)):
            pass


async def test_headers_that_are_ours_cannot_be_set(catcher):
    with pytest.raises(BadRequest, match="host cannot be set"):
        async with exchange(catcher.base, allowed(catcher), headers={"Host": "other"}):
            pass
