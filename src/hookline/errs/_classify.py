"""The processor: from an error to one verdict, once for each failing delivery."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from hookline.errs._http import http_classifier
from hookline.errs._sockets import connection_classifier, generic_classifier, timeout_classifier
from hookline.errs._sql import sql_classifier
from hookline.errs._verdict import Verdict
from hookline.errs._walk import chain, face, is_of, members, wraps
from hookline.errs._wraps import ClassifiedError

Classifier: TypeAlias = Callable[[BaseException], Verdict]
"""Looks at one node, never at its causes or members; UNKNOWN is "not mine"."""

# HTTP before SQL and sockets: several clients' errors are OSErrors, and a status says more than that.
DEFAULT_CLASSIFIERS: Final[tuple[Classifier, ...]] = (
    http_classifier(),
    sql_classifier,
    connection_classifier,
    timeout_classifier,
    generic_classifier,
)


def classify(error: BaseException, classifiers: Sequence[Classifier] = DEFAULT_CLASSIFIERS) -> Verdict:
    """Return the verdict on `error`.

    On a chain of causes an explicit wrap wins, the outermost of several; else the first verdict from the outermost
    node inwards, asking the classifiers in order at each; of what is no `Exception` nobody is asked. A group that is reached undecided is weighed: the highest
    rank among its members, each judged alone, whatever their order; a foreign ExceptionGroup no differently. Nothing
    said is UNKNOWN. Never raises, and takes linear time: a classifier that raises has said nothing.
    """
    best = Verdict.UNKNOWN
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        found = list(chain(waiting.pop()))
        verdict = _explicit(found) or _asked(found, classifiers)
        best = max(best, verdict, key=_rank)
        if verdict is Verdict.UNKNOWN:
            waiting.extend(members(found, seen))
    return best


def _rank(verdict: Verdict) -> int:
    return verdict.rank


def _explicit(found: list[BaseException]) -> Verdict | None:
    every = (wrap for node in found for wrap in wraps(node))
    return next((wrap.verdict for wrap in every if isinstance(wrap, ClassifiedError)), None)


def _asked(found: list[BaseException], classifiers: Sequence[Classifier]) -> Verdict:
    # What ends a program or a task is no failure that anybody may call retryable (case 9).
    nodes = [node for node in map(face, found) if node is not None and is_of(node, Exception)]
    verdicts = (_ask(classifier, node) for node in nodes for classifier in classifiers)
    return next((verdict for verdict in verdicts if verdict is not Verdict.UNKNOWN), Verdict.UNKNOWN)


def _ask(classifier: Classifier, node: BaseException) -> Verdict:
    try:
        return classifier(node)
    except Exception:  # noqa: BLE001  # somebody's classifier over somebody's exception; the failure at hand still needs its verdict
        return Verdict.UNKNOWN
