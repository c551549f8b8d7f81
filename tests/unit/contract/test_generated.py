"""The generated code is what protoc makes of proto/."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[3]
TARGET = ROOT / "src" / "hookline" / "contract" / "v1"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """Load the script that generates."""
    spec: Any = importlib.util.spec_from_file_location("generate", ROOT / "proto" / "generate.py")
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the generated code that a test may spoil."""
    target = tmp_path / "v1"
    shutil.copytree(TARGET, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def test_checked_in_code_is_fresh(generate: Any) -> None:
    """What is checked in is what protoc makes of proto/ today."""
    assert generate.differences() == []


def test_the_check_sees_an_edit(generate: Any, copy: Path) -> None:
    """A generated file that was edited by hand is named."""
    (copy / "hook_pb2.py").write_text((copy / "hook_pb2.py").read_text() + "\n")
    assert generate.differences(copy) == ["hook_pb2.py"]


def test_the_check_sees_missing_and_left_over_files(generate: Any, copy: Path) -> None:
    """A stub that is missing and a module that no .proto stands behind are named."""
    (copy / "hook_pb2.pyi").unlink()
    (copy / "old_pb2.py").write_text("")
    assert generate.differences(copy) == ["hook_pb2.pyi", "old_pb2.py"]
