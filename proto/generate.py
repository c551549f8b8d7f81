# ruff: noqa: INP001  # a script beside the .proto files, no package
"""Generate the Python code of the wire contract from the .proto files beside this script.

    python proto/generate.py            write src/hookline/contract/v1
    python proto/generate.py --check    end 1 when what is checked in is not what protoc makes of proto/

Needs the development dependencies (grpcio-tools, mypy-protobuf). protoc names modules after the path of the
.proto file; ours live in the package of the contract, so the imports are rewritten to it.
"""

from __future__ import annotations

import argparse
import os
import sys
import sysconfig
import tempfile
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

PROTO = Path(__file__).resolve().parent
TARGET = PROTO.parent / "src" / "hookline" / "contract" / "v1"
INIT = '"""Code that protoc made of proto/hookline/v1; regenerate it with proto/generate.py."""\n'
PATTERNS = ("*_pb2.py", "*_pb2.pyi", "__init__.py")


def rewrite_imports(text: str) -> str:
    """Point the imports among generated modules at the package they are checked in to."""
    return text.replace("from hookline.v1 import ", "from hookline.contract.v1 import ")


def compile_protos(out: Path) -> None:
    """Run protoc over every .proto file; the files land in out/hookline/v1."""
    sources = sorted(str(path.relative_to(PROTO)) for path in PROTO.rglob("*.proto"))
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    plugin = Path(sysconfig.get_path("scripts")) / "protoc-gen-mypy"
    arguments = ["protoc", f"-I{PROTO}", f"-I{well_known}", f"--plugin=protoc-gen-mypy={plugin}"]
    code = protoc.main([*arguments, f"--python_out={out}", f"--mypy_out=quiet:{out}", *sources])
    if code != 0:
        raise SystemExit(f"protoc ended {code}")


def generate(out: Path) -> None:
    """Write the generated modules and their package into the folder `out`."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        compile_protos(Path(work))
        for made in sorted((Path(work) / "hookline" / "v1").iterdir()):
            (out / made.name).write_text(rewrite_imports(made.read_text(encoding="utf-8")), encoding="utf-8")
    (out / "__init__.py").write_text(INIT, encoding="utf-8")


def read_tree(folder: Path) -> dict[str, str]:
    """Return every generated file of a folder by name."""
    return {path.name: path.read_text(encoding="utf-8") for pattern in PATTERNS for path in folder.glob(pattern)}


def differences(target: Path = TARGET) -> list[str]:
    """Name the files in `target` that are missing, left over or not what protoc makes."""
    with tempfile.TemporaryDirectory() as work:
        generate(Path(work))
        made, kept = read_tree(Path(work)), read_tree(target)
    return sorted(name for name in made.keys() | kept.keys() if made.get(name) != kept.get(name))


def main(arguments: list[str] | None = None) -> int:
    """Generate, or check, and return the exit code."""
    parser = argparse.ArgumentParser(description="Generate the Python code of the wire contract.")
    parser.add_argument("--check", action="store_true", help="compare only; end 1 on a difference")
    if not parser.parse_args(arguments).check:
        generate(TARGET)
        return 0
    stale = differences()
    for name in stale:
        sys.stderr.write(
            f"{os.path.relpath(TARGET / name)} is not what protoc makes of proto/: run proto/generate.py\n"
        )
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
