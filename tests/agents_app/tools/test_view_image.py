"""view_image: what a picture is by its bytes, and small enough for a model (spec tools 3.8, 6.14 to 6.16)."""

import base64
import io

import pytest
from PIL import Image

from agents_app.tools.contract import WARN
from halo_site.lib.access_level import Access


def picture(kind: str, size=(40, 30)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, "teal").save(out, kind)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "kind", "mime"),
    [
        ("a.png", "PNG", "image/png"),
        ("b.JPG", "JPEG", "image/jpeg"),
        ("c.gif", "GIF", "image/gif"),
        ("d.webp", "WEBP", "image/webp"),
        ("jpeg.png", "JPEG", "image/jpeg"),
    ],
)
async def test_a_picture_is_told_and_sent_as_what_its_bytes_are(call, workspace, name, kind, mime):
    data = picture(kind)
    (workspace / name).write_bytes(data)
    result = await call("view_image", level=Access.READONLY, path=name)
    assert result.text.startswith(f"Image loaded: {name} ({mime}, ")
    assert "md5: " in result.text
    [block] = result.blocks
    assert block["source"]["media_type"] == mime
    assert base64.b64decode(block["source"]["data"]) == data


async def test_a_large_picture_is_scaled_and_the_file_stays(call, workspace):
    data = picture("PNG", (6000, 100))
    (workspace / "wide.png").write_bytes(data)
    result = await call("view_image", path="wide.png")
    sent = Image.open(io.BytesIO(base64.b64decode(result.blocks[0]["source"]["data"])))
    assert (max(sent.size), sent.format) == (1568, "JPEG")
    assert "resized from 6000x100 to 1568x26" in result.text
    assert (workspace / "wide.png").read_bytes() == data


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("cut.jpg", picture("JPEG", (400, 400))[:500]),
        ("cut.webp", picture("WEBP", (400, 400))[:60]),
        ("text.png", b"hello"),
        ("empty.png", b""),
        ("a.bmp", picture("BMP")),
        ("bmp.png", picture("BMP")),
        ("a.txt", picture("PNG")),
    ],
)
async def test_what_is_no_whole_picture_is_not_sent(call, workspace, name, data):
    (workspace / name).write_bytes(data)
    result = await call("view_image", path=name)
    assert result.text.startswith(WARN)
    assert result.blocks == ()


async def test_a_picture_outside_stays_unseen(call, workspace, tmp_path):
    (tmp_path / "p.png").write_bytes(picture("PNG"))
    (workspace / "link.png").symlink_to(tmp_path / "p.png")
    for path in ("../p.png", str(tmp_path / "p.png"), "link.png"):
        result = await call("view_image", level=Access.WORKSPACE, path=path)
        assert result.text.startswith(WARN)
        assert result.blocks == ()
