"""Errors: what a failure means, what it is about, and how it is told without secrets.

A hook raises plain errors. `classify` finds the verdict once for each failing delivery, `describe` makes the failure
document's member, `attribution` collects what the failure is about.

    Exception
    +-- HttpStatusError        a receiver answered, and not with success
    +-- HookCrashedError       stands for a SystemExit, GeneratorExit or cancellation that a hook raised itself
    +-- ExceptionGroup
    |   +-- HookErrorGroup     every hook's failure of one delivery
    +-- ValueError
        +-- RedactionPatternError

Pure: no I/O, no clock, no state; safe from any thread.
"""

from hookline.contract import Subject
from hookline.errs._attribution import Attribution, attribution
from hookline.errs._classify import DEFAULT_CLASSIFIERS, Classifier, classify
from hookline.errs._describe import describe, line_with_cause, location, retry_after_seconds
from hookline.errs._groups import HookCrashedError, HookErrorGroup
from hookline.errs._http import DEFAULT_RETRY_STATUSES, KNATIVE_RETRY_STATUSES, HttpStatusError, http_classifier
from hookline.errs._plain import redacted
from hookline.errs._redact import RedactionPatternError, Redactor
from hookline.errs._retry_after import RETRY_AFTER_LIMIT_SECONDS, parse_retry_after
from hookline.errs._sockets import connection_classifier, generic_classifier, timeout_classifier
from hookline.errs._sql import sql_classifier
from hookline.errs._text import one_line
from hookline.errs._verdict import Verdict
from hookline.errs._walk import is_of
from hookline.errs._wraps import (
    attribute,
    dependency_error,
    detail,
    retryable_dependency_error,
    retryable_error,
    user_error,
)

__all__ = [
    "DEFAULT_CLASSIFIERS",
    "DEFAULT_RETRY_STATUSES",
    "KNATIVE_RETRY_STATUSES",
    "RETRY_AFTER_LIMIT_SECONDS",
    "Attribution",
    "Classifier",
    "HookCrashedError",
    "HookErrorGroup",
    "HttpStatusError",
    "RedactionPatternError",
    "Redactor",
    "Subject",
    "Verdict",
    "attribute",
    "attribution",
    "classify",
    "connection_classifier",
    "dependency_error",
    "describe",
    "detail",
    "generic_classifier",
    "http_classifier",
    "is_of",
    "line_with_cause",
    "location",
    "one_line",
    "parse_retry_after",
    "redacted",
    "retry_after_seconds",
    "retryable_dependency_error",
    "retryable_error",
    "sql_classifier",
    "timeout_classifier",
    "user_error",
]
