"""Which hooks have a group of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookline.hooks import Hooks
from hookline.service import Settings, SettingsError
from hookline.service._isolation import Isolation
from hookline.service._moments import moment_of
from tests.support.hooks import Script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline import Event


def hook(name: str, **attributes: Any) -> Script:
    """Make a hook from code with attributes."""
    made = Script(name)
    for attribute, value in attributes.items():
        setattr(made, attribute, value)
    return made


def isolation_of(*hooks: Script, **settings: Any) -> Isolation:
    return Isolation(Settings.model_validate({"domain": "orders", **settings}), Hooks({"*": hooks}))


def table(name: str, **keys: Any) -> dict[str, Any]:
    return {"name": name, "kind": "noop", **keys}


def test_a_domain_shares_unless_it_says_otherwise() -> None:
    """The shared group runs every hook, known or not; per hook it runs those alone that nobody lists."""
    assert isolation_of(Script("a")).own == frozenset()
    apart = isolation_of(Script("a"), Script("b"), isolation="per-hook")
    assert apart.own == {"a", "b"}
    assert apart.group_of("a") == "orders-hook.a"
    assert [apart.is_shared(name) for name in ("a", "nobody")] == [False, True]


def test_the_file_goes_before_the_code() -> None:
    """What `[[hooks]]` sets counts, where it says nothing the hook's own attributes do, and then the domain."""
    hooks = hook("a", start="latest", isolation="own"), hook("b", start="latest"), Script("c")
    tables = [table("a", start="earliest"), table("b", renamed_from="old")]
    found = isolation_of(*hooks, hooks=tables, start="2026-01-01T00:00:00Z")
    assert {seat.name: seat.start for seat in found.seats.values()} == {
        "a": "earliest", "b": "latest", "c": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    assert found.own == {"a"}
    assert found.renamed == {"old": "b"}
    assert found.shared_names() == {"b", "c"}


@pytest.mark.parametrize(
    ("hooks", "settings"),
    [
        ([hook("a", isolation="mine")], {}),
        ([hook("a", start="tomorrow")], {}),
        ([hook("a", start=5)], {}),
        ([hook("a", renamed_from="b"), Script("b")], {}),
        ([hook("a", renamed_from="c"), hook("b", renamed_from="c")], {}),
        ([Script("a")], {"groups": {"dead_letters": "orders-hook.a"}}),
    ],
)
def test_what_contradicts_itself_is_refused(hooks: Sequence[Script], settings: dict[str, Any]) -> None:
    """Said when the service is made, not when an event comes."""
    with pytest.raises(SettingsError):
        isolation_of(*hooks, **settings)


def test_hooks_that_nobody_lists_have_no_groups() -> None:
    """Per hook means that hooks are known before the first event."""

    class Unlisted:
        def for_event(self, event: Event) -> Sequence[Script]:
            del event
            return ()

    with pytest.raises(SettingsError):
        Isolation(Settings.model_validate({"domain": "orders", "isolation": "per-hook"}), Unlisted())


def test_only_hooks_of_their_own_groups_can_be_run_alone() -> None:
    """A process that is to run one hook only needs a group to run."""
    isolation_of(Script("a"), isolation="per-hook").require_own(["a"], "--hook")
    with pytest.raises(SettingsError):
        isolation_of(Script("a")).require_own(["a"], "--hook")


def test_a_start_is_a_place_or_a_time() -> None:
    """Words for both ends, RFC 3339 for what lies between."""
    assert (moment_of("earliest"), moment_of("latest"), moment_of("1970-01-01T00:00:01Z")) == (
        "earliest",
        "latest",
        1000,
    )
    for text in ("", "now", "2026-01-01", "2026-01-01T00:00:00"):
        with pytest.raises(ValueError, match="RFC 3339"):
            moment_of(text)
