"""The page that people read about errors."""

from __future__ import annotations

from pathlib import Path

import hookline.errs
from hookline.errs import DEFAULT_RETRY_STATUSES, KNATIVE_RETRY_STATUSES, Verdict

PAGE = (Path(__file__).parents[3] / "docs/errors.md").read_text()


def test_every_verdict_is_explained() -> None:
    """The page has a line for each verdict, in the order of rank in its text."""
    ranked = sorted(Verdict, key=lambda verdict: -verdict.rank)
    assert all(f"| `{verdict.value}` |" in PAGE for verdict in Verdict)
    assert " > ".join(f"`{verdict.value}`" for verdict in ranked) in PAGE


def test_the_page_names_what_is_there() -> None:
    """Names in the page exist."""
    for name in ("http_classifier", "sql_classifier", "connection_classifier", "timeout_classifier", "generic_classifier", "HttpStatusError", "attribution", "Subject"):  # fmt: skip
        assert name in PAGE
        assert name in hookline.errs.__all__


def test_the_page_names_what_knative_adds() -> None:
    """The statuses that Knative's set retries beyond the usual one are those that the page lists."""
    added = sorted(KNATIVE_RETRY_STATUSES - DEFAULT_RETRY_STATUSES)
    assert f"also waits on {', '.join(map(str, added[:-1]))} and {added[-1]}, as Knative" in PAGE


def test_all_is_complete_and_sorted() -> None:
    """What the front door names exists, once."""
    names = hookline.errs.__all__
    assert len(set(names)) == len(names)
    assert all(hasattr(hookline.errs, name) for name in names)
