"""The names that only the wheel has, in an editable installation: each is the checkout's own module, and never a copy.

A copy would have every class twice, and a state would name one or the other
(docs/decisions/0026-components-in-the-wheel.md). It runs at each start of Python, so it imports nothing before it must.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType
else:
    Loader = object

PACKAGES = {"gpu_fabric.components": "components", "gpu_fabric.program": "stacks"}


class _Names(Loader):
    """Finds and loads a module of the wheel by importing that of the checkout."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's spec; None for all other names."""
        core, _, inner = name.partition(".")
        package, _, rest = inner.partition(".")
        own = PACKAGES.get(f"{core}.{package}")
        if own is None:
            return None
        from importlib.machinery import ModuleSpec
        from importlib.util import find_spec

        own = f"{own}.{rest}".rstrip(".")
        return ModuleSpec(name, cls(), loader_state=own) if find_spec(own) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The checkout's module, with what the import system is about to overwrite in it."""
        from importlib import import_module

        module = import_module(spec.loader_state)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Put back what makes it the checkout's; it has run already."""
        assert module.__spec__ is not None, "set by the import system"
        module.__spec__ = module.__spec__.loader_state


def offer() -> None:
    """Have imports of this process find them."""
    # First: by its path, a submodule would be found as a file, and loaded once more.
    sys.meta_path.insert(0, _Names)
