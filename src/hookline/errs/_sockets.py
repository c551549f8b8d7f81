"""What connection errors, timeouts and local exhaustion mean.

Never by `OSError` alone: a missing file, a refused permission and an HTTP 404 of urllib are OSErrors too.
"""

from __future__ import annotations

import errno
import socket
import ssl
from typing import Any, Final

from hookline.errs._names import names
from hookline.errs._verdict import Verdict
from hookline.errs._walk import peek

_UNREACHABLE: Final = frozenset(
    {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.ENETRESET, errno.EADDRNOTAVAIL}
)
_STORAGE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ESTALE})
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EAGAIN, errno.EINTR})
_MAIL: Final = frozenset({"smtplib", "aiosmtplib"})
_MAIL_LOST: Final = frozenset({"SMTPServerDisconnected", "SMTPConnectError", "SMTPTimeoutError"})
_MAIL_LATER: Final = range(400, 500)
_CLIENTS: Final = frozenset({"aiohttp", "http", "socket", "ssl", "urllib"})

_trace_of: Final[Any] = BaseException.__dict__["__traceback__"].__get__  # past a class that overrides it


def connection_classifier(error: BaseException) -> Verdict:
    """Claim what says that the other end cannot be reached: InfraDependencyRetryable.

    Connection and resolver errors, TLS failures while connecting, unreachable networks, the kernel's own connect
    timeout, and the plain `OSError` in which asyncio sums up several failed addresses. A mail server by its reply too:
    lost or 4xx is away, 5xx a refusal (RFC 5321, 4.2.1).
    """
    mail = _mail_verdict(error)
    if mail is not Verdict.UNKNOWN:
        return mail
    if isinstance(error, ConnectionError | socket.gaierror | socket.herror | ssl.SSLError):
        return Verdict.INFRA_DEPENDENCY_RETRYABLE
    if not isinstance(error, OSError):
        return Verdict.UNKNOWN
    away = error.errno == errno.ETIMEDOUT or error.errno in _UNREACHABLE or _sums_up_addresses(error)
    return Verdict.INFRA_DEPENDENCY_RETRYABLE if away else Verdict.UNKNOWN


def timeout_classifier(error: BaseException) -> Verdict:
    """Claim a bare `TimeoutError`: InfraRetryable, since a hook bounds its own work with it.

    One that was raised inside a client, as urllib, http.client and aiohttp do, is that client's own timeout: the other end
    did not answer, InfraDependencyRetryable.
    """
    if not isinstance(error, TimeoutError):
        return Verdict.UNKNOWN
    return Verdict.INFRA_DEPENDENCY_RETRYABLE if _raiser(error) in _CLIENTS else Verdict.INFRA_RETRYABLE


def generic_classifier(error: BaseException) -> Verdict:
    """Claim exhaustion of this process or its disk.

    A full or failing disk is a dependency that is away (InfraDependencyRetryable); no descriptors, no memory, an
    interrupted call are InfraRetryable. Cancellation is claimed by nobody: only a stop or revoke may cancel, and
    that is no failure.
    """
    if isinstance(error, MemoryError):
        return Verdict.INFRA_RETRYABLE
    if not isinstance(error, OSError):
        return Verdict.UNKNOWN
    if error.errno in _STORAGE:
        return Verdict.INFRA_DEPENDENCY_RETRYABLE
    return Verdict.INFRA_RETRYABLE if error.errno in _EXHAUSTED else Verdict.UNKNOWN


def _mail_verdict(error: BaseException) -> Verdict:
    known = {name for package, name in names(error) if package in _MAIL}
    if not known.isdisjoint(_MAIL_LOST):
        return Verdict.INFRA_DEPENDENCY_RETRYABLE
    reply = peek(error, "smtp_code") or peek(error, "code") if "SMTPResponseException" in known else None
    if not isinstance(reply, int):
        return Verdict.UNKNOWN
    return Verdict.INFRA_DEPENDENCY_RETRYABLE if reply in _MAIL_LATER else Verdict.INFRA_DEPENDENCY


def _sums_up_addresses(error: OSError) -> bool:
    # `asyncio.open_connection` raises an OSError without errno when every address of a host failed, each its own way.
    return type(error) is OSError and error.errno is None and _raiser(error) == "asyncio"


def _raiser(error: BaseException) -> str:
    """Name the top-level package whose code raised an error; empty when nobody raised it."""
    trace = _trace_of(error)
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    known = peek(trace, "tb_frame", "f_globals")
    return str(known.get("__name__", "")).partition(".")[0] if isinstance(known, dict) else ""
