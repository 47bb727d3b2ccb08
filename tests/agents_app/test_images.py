"""Images are proved and made small enough before they reach a model (CASES C43, SECURITY-BAR D10)."""

import io
import struct
import zlib

import pytest
from PIL import Image

from agents_app.images import MANY_EDGE, Picture, check, edge_for, fit, media_type_of
from halo_site.lib.errors import BadRequest, HaloError, TooLarge, UnsupportedMedia


def encoded(kind: str, size=(40, 30), mode="RGB", **more) -> bytes:
    out = io.BytesIO()
    Image.new(mode, size, **({"color": 90} if mode == "P" else {})).save(out, kind, **more)
    return out.getvalue()


def noise(size) -> bytes:
    import random

    image = Image.frombytes("RGB", size, random.Random(1).randbytes(size[0] * size[1] * 3))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize(
    ("kind", "media_type"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp")]
)
def test_C43_the_kind_is_read_from_the_bytes(kind, media_type):
    picture = check(encoded(kind))
    assert (picture.media_type, picture.width, picture.height) == (media_type, 40, 30)
    assert media_type_of(encoded(kind)) == media_type


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"just text named photo.png",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        encoded("BMP"),
        encoded("TIFF"),
        b"%PDF-1.7",
    ],
)
def test_C43_another_kind_is_refused_at_upload(data):
    with pytest.raises(UnsupportedMedia):
        check(data)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_C43_a_damaged_image_is_refused(kind):
    data = encoded(kind, (300, 300))
    for cut in (len(data) // 2, 20, 12):
        with pytest.raises((BadRequest, UnsupportedMedia)):
            check(data[:cut])


def test_C43_a_tall_screenshot_is_scaled_to_the_vendors_limit():
    small = fit(check(encoded("PNG", (1440, 8570))))
    assert max(small.width, small.height) == 8000
    assert check(small.data).width == small.width


def test_C43_many_images_are_scaled_further():
    assert edge_for(20) == 8000
    assert edge_for(21) == MANY_EDGE
    small = fit(check(encoded("PNG", (1170, 2532))), edge=edge_for(21))
    assert (small.width, small.height) == (924, 2000)


def test_C43_bytes_are_capped_by_the_base64_form():
    picture = check(noise((1500, 1300)), limit=20_000_000)
    assert picture.encoded_size > 5 * 1024 * 1024
    small = fit(picture)
    assert small.encoded_size <= 5 * 1024 * 1024
    assert small.media_type == "image/jpeg"


def test_C43_an_image_over_the_upload_limit_is_refused():
    with pytest.raises(TooLarge):
        check(b"\x89PNG\r\n\x1a\n" + b"x" * (5 * 1024 * 1024))


def test_what_fits_is_not_touched():
    picture = check(encoded("PNG"))
    assert fit(picture) is picture


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P", "1", "I;16"])
def test_every_mode_can_be_scaled(mode):
    picture = check(encoded("PNG", (100, 80), mode))
    assert fit(picture, edge=50).width == 50


def test_transparency_survives_when_it_fits():
    small = fit(check(encoded("PNG", (100, 80), "RGBA")), edge=50)
    assert small.media_type == "image/png"
    assert Image.open(io.BytesIO(small.data)).mode == "RGBA"


def test_cmyk_photos_and_animations_are_scaled_too():
    assert fit(check(encoded("JPEG", (100, 80), "CMYK")), edge=50).media_type == "image/jpeg"
    frames = [Image.new("P", (100, 80), i) for i in range(3)]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    assert fit(check(out.getvalue()), edge=50).width == 50


def bomb(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("size", [(8000, 7000), (100_000, 100_000), (2**31 - 1, 2**31 - 1)])
def test_D10_a_bomb_is_refused_before_it_is_unpacked(size):
    with pytest.raises((TooLarge, BadRequest)):
        check(bomb(*size))


def test_D10_any_damage_is_an_answer_never_a_crash():
    data = bytearray(encoded("PNG", (60, 60)))
    for place in range(8, len(data)):
        changed = bytes(data[:place]) + bytes([data[place] ^ 0xFF]) + bytes(data[place + 1 :])
        try:
            assert isinstance(check(changed), Picture)
        except HaloError:
            pass
