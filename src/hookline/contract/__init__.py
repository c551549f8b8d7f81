"""The wire contract: events, ids, codecs, topic keys, the dead-letter record and the HTTP signature.

Pure: no I/O, and nothing of ours is imported. docs/wire.md is the same contract in words, for any language.
"""

from __future__ import annotations

from hookline.contract._codec import EncodedRecord, Mode, decode_delivery, decode_record, encode_event
from hookline.contract._deadletters import UNKNOWN_ORIGIN, DeadLetter, DeadLetterClass, Shrink
from hookline.contract._documents import event_from_json, event_to_json
from hookline.contract._errors import (
    ContractError,
    InvalidEventError,
    InvalidGateError,
    MalformedRecordError,
    WebhookSecretError,
)
from hookline.contract._event import Event
from hookline.contract._failures import HookFailure, Subject
from hookline.contract._gates import (
    MAX_REASON_CHARS,
    Gate,
    GateKey,
    GateRecord,
    decode_gate,
    encode_gate,
    encode_gate_key,
)
from hookline.contract._headers import Headers, read_text
from hookline.contract._ids import mint_unversioned_id, mint_versioned_id
from hookline.contract._payload import MAX_EXACT_INTEGER, MAX_FOREIGN_DEPTH, MAX_PAYLOAD_DEPTH
from hookline.contract._readonly import JsonValue, ReadOnlyDict, ReadOnlyList
from hookline.contract._redrives import Origin, Redrive, strip_reserved
from hookline.contract._times import MAX_TIMESTAMP_MS, MIN_TIMESTAMP_MS, format_time, parse_time
from hookline.contract._told_pages import ToldPage, decode_told_page, encode_told_page
from hookline.contract._topic_keys import HOOK_TOPIC_KEY, bind_topic_keys, topic_keys
from hookline.contract._validation import MAX_VALUE_BYTES, validate_for_publishing
from hookline.contract._webhook_signature import parse_webhook_secret, sign_webhook, webhook_message_id
from hookline.contract.v1.hook_pb2 import HookEvent

__all__ = [
    "HOOK_TOPIC_KEY",
    "MAX_EXACT_INTEGER",
    "MAX_FOREIGN_DEPTH",
    "MAX_PAYLOAD_DEPTH",
    "MAX_REASON_CHARS",
    "MAX_TIMESTAMP_MS",
    "MAX_VALUE_BYTES",
    "MIN_TIMESTAMP_MS",
    "UNKNOWN_ORIGIN",
    "ContractError",
    "DeadLetter",
    "DeadLetterClass",
    "EncodedRecord",
    "Event",
    "Gate",
    "GateKey",
    "GateRecord",
    "Headers",
    "HookEvent",
    "HookFailure",
    "InvalidEventError",
    "InvalidGateError",
    "JsonValue",
    "MalformedRecordError",
    "Mode",
    "Origin",
    "ReadOnlyDict",
    "ReadOnlyList",
    "Redrive",
    "Shrink",
    "Subject",
    "ToldPage",
    "WebhookSecretError",
    "bind_topic_keys",
    "decode_delivery",
    "decode_gate",
    "decode_record",
    "decode_told_page",
    "encode_event",
    "encode_gate",
    "encode_gate_key",
    "encode_told_page",
    "event_from_json",
    "event_to_json",
    "format_time",
    "mint_unversioned_id",
    "mint_versioned_id",
    "parse_time",
    "parse_webhook_secret",
    "read_text",
    "sign_webhook",
    "strip_reserved",
    "topic_keys",
    "validate_for_publishing",
    "webhook_message_id",
]
