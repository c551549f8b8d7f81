"""From numbers to the text of a commit, and back: varints, sections, checksum, base64url.

The text is `hl1.` and then, as base64url without padding: one byte of flags, the body, and four bytes of CRC-32 (big
endian) over flags and body. Bit 0 of the flags says that the body is deflated (raw, RFC 1951), bit 1 belongs to the
marks; the other bits are ignored. The body is a varint (the position) and sections: number, length, bytes. All of it is
about bytes: what they mean, `_marks` says. What is damaged raises ValueError, and nothing else is raised.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

DEFLATED = 1
LARGEST_BODY = (
    1 << 16
)  # a text of a few kilobytes may inflate a thousandfold; marks of a full window take a tenth of this
LARGEST_TEXT = (1 << 15) - 1  # Kafka counts the bytes of the string in a signed 16-bit number
_WORTH_DEFLATING = 24
_LARGEST_VALUE = (1 << 63) - 1
_MORE = 0x80  # in every byte of a varint but its last
_LAST_SHIFT = 56  # a ninth byte fills 63 bits


def pack_numbers(values: Sequence[int]) -> bytes:
    """Write numbers from 0 to 2^63-1 as varints; ValueError for any other."""
    if not values:
        return b""
    largest = max(values)
    if min(values) < 0 or largest > _LARGEST_VALUE:
        raise ValueError("a number that no varint holds: below the position, out of order, or too large")
    if largest < _MORE:
        return bytes(values)
    packed = bytearray()
    for value in values:
        rest = value
        while rest >= _MORE:
            packed.append(rest & 0x7F | _MORE)
            rest >>= 7
        packed.append(rest)
    return bytes(packed)


def unpack(packed: bytes) -> list[int]:
    """Read varints to the end."""
    if packed.isascii():
        return list(packed)
    values: list[int] = []
    value = shift = 0
    for byte in packed:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < _MORE:
            values.append(value)
            value = shift = 0
        elif shift > _LAST_SHIFT:
            raise ValueError("a varint of more than nine bytes")
    if shift:
        raise ValueError("a varint without its end")
    return values


def read_number(packed: bytes, at: int) -> tuple[int, int]:
    """Read one varint; return it and where the next thing begins."""
    if at < len(packed) and packed[at] < _MORE:
        return packed[at], at + 1
    end = at
    while end < len(packed) and packed[end] >= _MORE:
        end += 1
    (value,) = unpack(packed[at : end + 1])
    return value, end + 1


def read_bytes(packed: bytes, at: int) -> tuple[bytes, int]:
    """Read bytes that stand behind their length; return them and where the next thing begins."""
    length, start = read_number(packed, at)
    if length > len(packed) - start:
        raise ValueError("cut short")
    return packed[start : start + length], start + length


def pack_body(position: int, sections: Iterable[tuple[int, bytes]]) -> bytes:
    """Write the body; an empty section is left out, which says the same."""
    parts = [pack_numbers([position])]
    for number, content in sections:
        if content:
            parts += (pack_numbers([number, len(content)]), content)
    return b"".join(parts)


def unpack_body(body: bytes) -> tuple[int, Mapping[int, bytes]]:
    """Read position and sections, known or not."""
    position, at = read_number(body, 0)
    sections: dict[int, bytes] = {}
    while at < len(body):
        number, at = read_number(body, at)
        if number in sections:
            raise ValueError(f"section {number} stands there twice")
        sections[number], at = read_bytes(body, at)
    return position, sections


def seal(flags: int, body: bytes) -> str:
    """Write flags and body as text behind the prefix, deflated when that is shorter."""
    if len(body) > _WORTH_DEFLATING:
        deflated = zlib.compress(body, 9, -zlib.MAX_WBITS)
        if len(deflated) < len(body):
            flags, body = flags | DEFLATED, deflated
    data = bytes((flags,)) + body
    return _text_of(data + zlib.crc32(data).to_bytes(4, "big"))


def unseal(text: str) -> tuple[int, bytes]:
    """Read flags and body from what stands behind the prefix."""
    if len(text) > LARGEST_TEXT:
        raise ValueError("longer than Kafka takes")
    sealed = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
    data, checksum = sealed[:-4], sealed[-4:]
    if not data or zlib.crc32(data).to_bytes(4, "big") != checksum or _text_of(sealed) != text:
        raise ValueError("the checksum is another")
    return data[0], _inflate(data[1:]) if data[0] & DEFLATED else data[1:]


def _text_of(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _inflate(deflated: bytes) -> bytes:
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        body = stream.decompress(deflated, LARGEST_BODY + 1)
    except zlib.error as error:
        raise ValueError("not deflated") from error
    if len(body) > LARGEST_BODY or not stream.eof or stream.unused_data:
        raise ValueError("no end, more behind it, or too large")
    return body
