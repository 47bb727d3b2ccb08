"""Images on their way to a model: what they really are, whether they decode, and small enough (CASES C43).

A bad or too large image in a conversation makes every later request fail, so nothing unchecked gets in.
"""

import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halo_site.lib.errors import BadRequest, TooLarge, UnsupportedMedia

if TYPE_CHECKING:  # Pillow is loaded with the first image: most servers never see one
    from PIL.Image import Image

MAX_UPLOAD = 5 * 1024 * 1024  # bytes of one image as it comes in
MAX_PIXELS = 50_000_000
MAX_EDGE = 8_000  # pixels; what model vendors take for few images
MANY_EDGE = 2_000  # pixels of each when there are more than MANY images
MANY = 20
MAX_ENCODED = 5 * 1024 * 1024  # bytes of base64 of one image
TOOL_EDGE = 1_568  # pixels; view_image scales to this
_QUALITIES = (82, 67, 52, 37)

FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
MEDIA_TYPES = tuple(FORMATS.values())


@dataclass(frozen=True, slots=True)
class Picture:
    """Bytes that decode, and what they are by their content (never by name or by what a client says)."""

    data: bytes
    media_type: str
    width: int
    height: int

    @property
    def encoded_size(self) -> int:
        """Bytes of the base64 form."""
        return (len(self.data) + 2) // 3 * 4


def media_type_of(data: bytes) -> str | None:
    """By the first bytes; None when it is none of the four kinds."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def check(data: bytes, *, limit: int = MAX_UPLOAD) -> Picture:
    """The picture, decoded once to prove that it is whole.

    Raises TooLarge (bytes or pixels), UnsupportedMedia (another kind, or not an image), BadRequest (damaged).
    """
    if len(data) > limit:
        raise TooLarge(f"The image has {len(data)} bytes; the limit is {limit}")
    kind = media_type_of(data)
    if kind is None:
        raise UnsupportedMedia("Not an image of a kind that models take (png, jpeg, gif, webp)")
    image = _opened(data)
    try:
        if FORMATS.get(image.format or "") != kind:
            raise UnsupportedMedia("Not an image of a kind that models take (png, jpeg, gif, webp)")
        if image.width * image.height > MAX_PIXELS:
            raise TooLarge(f"The image has {image.width} x {image.height} pixels; the limit is 50 megapixels")
        _decode(image)
        return Picture(data, kind, image.width, image.height)
    finally:
        image.close()


def fit(picture: Picture, *, edge: int = MAX_EDGE, encoded: int = MAX_ENCODED) -> Picture:
    """The same picture, within `edge` pixels on its longer side and `encoded` bytes of base64.

    Unchanged when it fits. Else scaled and written as JPEG (PNG when it has transparency and that fits), with less
    quality until it fits. Raises BadRequest when even that is too large.
    """
    if max(picture.width, picture.height) <= edge and picture.encoded_size <= encoded:
        return picture
    from PIL import Image as pillow

    with _opened(picture.data) as image:
        _decode(image)
        whole = image.convert("RGBA" if _transparent(image) else "RGB")
    side = min(edge, max(whole.size))
    for _ in range(6):
        scaled = whole.copy()
        scaled.thumbnail((side, side), pillow.Resampling.LANCZOS)
        for data, media_type in _encodings(scaled):
            fitted = Picture(data, media_type, scaled.width, scaled.height)
            if fitted.encoded_size <= encoded:
                return fitted
        side = side * 3 // 4
    raise BadRequest("The image could not be made small enough for a model")


def edge_for(count: int) -> int:
    """The longest edge that vendors take when a request holds `count` images."""
    return MANY_EDGE if count > MANY else MAX_EDGE


def _encodings(image: "Image") -> Iterator[tuple[bytes, str]]:
    """Best first; made one by one, as the first usually fits."""
    from PIL import Image as pillow

    if image.mode == "RGBA":
        out = io.BytesIO()
        image.save(out, "PNG", optimize=True)
        yield out.getvalue(), "image/png"
        flat = pillow.new("RGB", image.size, "white")
        flat.paste(image, mask=image.getchannel("A"))
        image = flat
    for quality in _QUALITIES:
        out = io.BytesIO()
        image.save(out, "JPEG", quality=quality)
        yield out.getvalue(), "image/jpeg"


def _transparent(image: "Image") -> bool:
    return image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info


def _opened(data: bytes) -> "Image":
    """Only the header is read; a bomb is recognised by its size before anything is unpacked."""
    from PIL import Image as pillow

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pillow.DecompressionBombWarning)
        try:
            return pillow.open(io.BytesIO(data), formats=list(FORMATS))
        except pillow.DecompressionBombError as error:
            raise TooLarge("The image has more than 50 megapixels") from error
        except Exception as error:  # unidentified, or one of the many kinds decoders raise for hostile headers
            raise BadRequest("The image is damaged and was not taken") from error


def _decode(image: "Image") -> None:
    try:
        image.load()
    except Exception as error:  # SyntaxError, EOFError, struct.error, ValueError ...: all mean a bad file
        raise BadRequest("The image is damaged and was not taken") from error
