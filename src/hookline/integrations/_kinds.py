"""What a kind of hooks is, for those that ship and for those that plug-ins bring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pydantic import BaseModel

    from hookline.hooks import Hook


class HookKind(Protocol):
    """Makes the hooks of ``[[hooks]]`` whose `kind` it is; what an entry point of the group ``hookline.hooks`` names.

    A class is one when its objects are hooks and it is made with a name and options, as all kinds that ship are; so is
    any object with these three. `Options` is a pydantic model of the keys that the kind reads: they may not be keys that
    every hook has. A field whose type is `pathlib.Path` starts from the folder of the settings file, one of `SecretStr` is
    masked wherever settings are shown, and one that is called ``<something>_file`` is checked by ``hookline config check``.
    """

    @property
    def kind(self) -> str:
        """The name in ``[[hooks]]``; the entry point has the same."""
        ...

    @property
    def Options(self) -> type[BaseModel]:  # noqa: N802 - as the kinds that ship call theirs
        """The model of its keys."""
        ...

    def __call__(self, name: str, options: Any, /) -> Hook:
        """Make a hook of this name from an instance of `Options`.

        Quick, and without talking to anybody: that is for the hook's `__aenter__`. Raising refuses the hook at start.
        """
        ...
