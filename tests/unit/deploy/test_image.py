"""The image's recipe: read, because there is no engine to build it with in a unit test."""

import json
import re
import shlex
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "image"
DOCKERFILES = [ROOT / "Dockerfile", EXAMPLE / "Dockerfile"]


@dataclass(frozen=True, slots=True)
class Instruction:
    """One line of a Dockerfile: its name and what follows."""

    name: str
    rest: str


@dataclass(frozen=True, slots=True)
class Stage:
    """One FROM and the instructions up to the next."""

    base: str
    alias: str
    instructions: tuple[Instruction, ...]

    def all(self, name: str) -> list[str]:
        """List what follows each instruction of that name."""
        return [item.rest for item in self.instructions if item.name == name]

    def one(self, name: str) -> str:
        """Return what follows the only instruction of that name."""
        [rest] = self.all(name)
        return rest


def read_instructions(path: Path) -> list[Instruction]:
    text = re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n", " ", text).splitlines()
    return [Instruction(*line.split(maxsplit=1)) for line in lines if line.strip()]


def read_stages(path: Path) -> list[Stage]:
    instructions = read_instructions(path)
    starts = [index for index, item in enumerate(instructions) if item.name == "FROM"]
    stages = []
    for start, end in zip(starts, [*starts[1:], len(instructions)], strict=True):
        base, _as, alias = instructions[start].rest.split()
        stages.append(Stage(base=base, alias=alias, instructions=tuple(instructions[start + 1 : end])))
    return stages


def global_arguments(path: Path) -> dict[str, str]:
    instructions = read_instructions(path)
    first_stage = next(index for index, item in enumerate(instructions) if item.name == "FROM")
    return dict(item.rest.split("=", 1) for item in instructions[:first_stage])


def runtime() -> Stage:
    return read_stages(ROOT / "Dockerfile")[-1]


@pytest.mark.parametrize("path", DOCKERFILES, ids=["hookline", "example"])
def test_every_base_image_is_an_argument(path: Path) -> None:
    """Each stage starts from an argument of the build, so a mirror or another distribution needs no edit."""
    names = {f"${{{name}}}" for name in global_arguments(path)}
    assert {stage.base for stage in read_stages(path)} <= names


def test_the_default_base_image_is_a_supported_python() -> None:
    """The default image's Python is one that the package says it supports."""
    image = global_arguments(ROOT / "Dockerfile")["PYTHON_IMAGE"]
    [version] = re.findall(r"python:(\d\.\d+)-slim$", image)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"Programming Language :: Python :: {version}" in project["classifiers"]


def test_the_process_is_the_entrypoint_itself() -> None:
    """ENTRYPOINT and CMD have the exec form, so no shell stands between SIGTERM and hookline."""
    assert json.loads(runtime().one("ENTRYPOINT")) == ["hookline"]
    assert json.loads(runtime().one("CMD")) == ["run", "--config", "/etc/hookline/hookline.toml"]
    assert runtime().one("STOPSIGNAL") == "SIGTERM"


def test_the_runtime_needs_no_shell() -> None:
    """The last stage runs no command, so its base may be an image without a shell."""
    assert runtime().all("RUN") == []


def test_the_user_is_a_number_and_not_root() -> None:
    """The user is numeric (runAsNonRoot cannot judge a name) and not 0, also in an image built on ours."""
    user, group = runtime().one("USER").split(":")
    assert int(user) > 0
    assert int(group) > 0
    assert read_stages(EXAMPLE / "Dockerfile")[-1].all("USER") == []


def test_nothing_is_written_beside_the_code_at_run_time() -> None:
    """Python writes no bytecode at run time: it is compiled in the build, and the root is read-only."""
    assert "PYTHONDONTWRITEBYTECODE=1" in shlex.split(runtime().one("ENV"))
    [installs] = [run for stage in read_stages(ROOT / "Dockerfile") for run in stage.all("RUN") if "--no-index" in run]
    assert "--compile" in installs


def test_every_package_is_installed_by_hash() -> None:
    """What comes from an index is checked by hash, and the project's wheel brings in nothing of its own."""
    runs = [run for stage in read_stages(ROOT / "Dockerfile") for run in stage.all("RUN")]
    commands = [
        command for run in runs for command in run.split("&&") if "-m pip" in command and "check" not in command
    ]
    for command in commands:
        assert "--require-hashes" in command or "--no-index" in command or "--no-build-isolation" in command
        assert "--require-hashes" in command or "--no-deps" in command


@pytest.mark.parametrize("name", ["title", "description", "licenses", "version", "revision"])
def test_the_image_is_labelled(name: str) -> None:
    """The image carries the Open Container Initiative's labels."""
    labels = dict(label.split("=", 1) for label in shlex.split(runtime().one("LABEL")))
    assert labels[f"org.opencontainers.image.{name}"]


def test_the_version_label_defaults_to_the_package_version() -> None:
    """An image built without arguments says the version of the package in it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"VERSION={project['version']}" in runtime().all("ARG")


def test_everything_copied_exists_and_is_in_the_context() -> None:
    """Each path that a COPY takes from the tree exists, and .dockerignore lets it in."""
    let_in = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for stage in read_stages(ROOT / "Dockerfile"):
        for copy in stage.all("COPY"):
            if copy.startswith("--from"):
                continue
            *sources, _target = copy.split()
            for source in sources:
                assert (ROOT / source).exists()
                assert any(fnmatch(source, pattern) for pattern in let_in)


def test_stages_copy_only_from_earlier_stages() -> None:
    """Every `COPY --from` names an earlier stage of the same file."""
    for path in DOCKERFILES:
        earlier: set[str] = set()
        for stage in read_stages(path):
            named = {match for copy in stage.all("COPY") for match in re.findall(r"--from=(\S+)", copy)}
            assert named <= earlier
            earlier.add(stage.alias)
