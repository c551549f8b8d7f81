"""What a test needs of the machine and does not find."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

__all__ = ["missing"]


def missing(reason: str) -> NoReturn:
    """End the test for want of something: skipped on a laptop, failed with `CI=true`, where nothing may be left out."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
