"""A produce request written by hand: what no client library lets a test send."""

from __future__ import annotations

import socket
import struct
import time
from typing import Final

_SECONDS: Final = 10.0
_PRODUCE, _VERSION = 0, 3
_ERROR_AT_END: Final = 22  # error int16, offset int64, append time int64, throttle time int32


def produce_raw(bootstrap: str, topic: str, headers: list[tuple[bytes, bytes]], value: bytes) -> int:
    """Write one record to partition 0 with header names as they are; return the broker's error code."""
    host, port = bootstrap.split(":")
    batch = _batch(_record(value, headers))
    partition = struct.pack(">iii", 1, 0, len(batch)) + batch
    topics = struct.pack(">i", 1) + _text(topic) + partition
    request = struct.pack(">hhi", _PRODUCE, _VERSION, 1) + _text("raw") + struct.pack(">hhi", -1, -1, 5000) + topics
    with socket.create_connection((host, int(port)), _SECONDS) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        with connection.makefile("rb") as answers:
            answer = answers.read(struct.unpack(">i", answers.read(4))[0])
    (code,) = struct.unpack(">h", answer[-_ERROR_AT_END:][:2])
    return int(code)


def _record(value: bytes, headers: list[tuple[bytes, bytes]]) -> bytes:
    pairs = b"".join(_bytes(name) + _bytes(content) for name, content in headers)
    body = b"\0" + _varint(0) + _varint(0) + _varint(-1) + _bytes(value) + _varint(len(headers)) + pairs
    return _varint(len(body)) + body


def _batch(record: bytes) -> bytes:
    now = time.time_ns() // 1_000_000
    checked = struct.pack(">hiqqqhii", 0, 0, now, now, -1, -1, -1, 1) + record
    rest = struct.pack(">ibI", -1, 2, _crc32c(checked)) + checked
    return struct.pack(">qi", 0, len(rest)) + rest


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _bytes(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _varint(number: int) -> bytes:
    rest, written = (number << 1) ^ (number >> 63), bytearray()
    while rest > 0x7F:
        written.append((rest & 0x7F) | 0x80)
        rest >>= 7
    return bytes([*written, rest])


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
