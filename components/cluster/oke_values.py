"""Values of the plan as the provider `oci` takes them: its version, and what is known only later.

The provider's Python package is not imported: it takes seconds and 100 MB, and its classes would send just this.
"""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import Any, Protocol

import pulumi

from fabric.plan.clouds.oke import Ref, Text
from fabric.resources.resource import Leaf, with_leaves
from fabric.resources.wire import wire_name


class References(Protocol):
    """What else the plan names."""

    def __call__(self, ref: Ref) -> pulumi.Input[Any]:
        """The output of a record or a look-up."""


def plugin_version() -> str:
    """The provider's version: that of its Python package, by which the engine finds the plug-in, too."""
    return version("pulumi-oci")


def known_later(value: Any, references: References) -> Any:
    """A value under the provider's names, with outputs in the place of references."""

    def known(leaf: Leaf) -> Any:
        if isinstance(leaf, Ref):
            return references(leaf)
        assert isinstance(leaf, Text), "Oracle is sent no secret of the stack's"
        words = pulumi.Output.all(**{name: references(ref) for name, ref in leaf.refs.items()})
        text = leaf.text
        return words.apply(lambda found: text.format(**found))

    return with_leaves(value, known)


def value_at(value: Any, path: str) -> Any:
    """What lies at a path within an output, such as `[0].private_endpoint`, under the provider's names."""
    for part in re.findall(r"\w+", path):
        value = value[int(part)] if part.isdecimal() else value[wire_name(part)]
    return value
