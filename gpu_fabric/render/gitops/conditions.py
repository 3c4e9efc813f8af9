"""Conditions that the plan waits for, in the languages of the tools that wait instead of this program."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from gpu_fabric.model import FrozenModel

_FIELD = re.compile(r"jsonpath=\{(\.[\w.]+)\}=(.+)")
# States in which a policy waits for a person: the operator failed, or obeys another policy (`status.state` in the
# definitions of Network Operator 26.4.1 and GPU Operator v26.3.3).
_FAILED = {"NicClusterPolicy": ("error", "ignore"), "ClusterPolicy": ("ignored",)}
_OF_CONDITION = re.compile(r'jsonpath=\{\.status\.conditions\[\?\(@\.type=="(\w+)"\)\]\.(\w+)\}=(.+)')


class Condition(FrozenModel):
    """A field of an object, and its wanted value.

    `path` is the field's; with `of_condition`, it is in the entry of `status.conditions` of this type.
    """

    path: tuple[str, ...]
    value: str
    of_condition: str | None = None

    @property
    def cel(self) -> str:
        """An expression in CEL (Common Expression Language) on the object's own top-level fields, as Flux takes it."""
        if self.of_condition is not None:
            (field,) = self.path
            entry = f"c.type == '{self.of_condition}' && has(c.{field}) && c.{field} == '{self.value}'"
            return f"has(status.conditions) && status.conditions.exists(c, {entry})"
        parents = (".".join(self.path[:end]) for end in range(2, len(self.path) + 1))
        return " && ".join((*(f"has({path})" for path in parents), f"{'.'.join(self.path)} == '{self.value}'"))

    @property
    def lua(self) -> str:
        """An expression in Lua, as Argo CD takes it; `field` and `condition` are functions of the same script."""
        if self.of_condition is not None:
            return f'condition("{self.of_condition}", "{self.path[0]}") == "{self.value}"'
        keys = ", ".join(f'"{key}"' for key in self.path)
        return f'field(obj, {{{keys}}}) == "{self.value}"'

    @property
    def kubectl(self) -> str:
        """The option of `kubectl wait`."""
        if self.of_condition is None:
            path = "." + ".".join(self.path)
        elif self.path == ("status",):
            return f"--for=condition={self.of_condition}"
        else:
            path = f'.status.conditions[?(@.type=="{self.of_condition}")].{self.path[0]}'
        return f"--for=jsonpath={shlex.quote('{' + path + '}')}={self.value}"


def condition_of(wait_for: str) -> Condition:
    """The condition of a `pulumi.com/waitFor` text.

    Raises:
        ValueError: the text has a form that no object of the plan uses.
    """
    if wait_for.startswith("condition="):
        return Condition(path=("status",), value="True", of_condition=wait_for.removeprefix("condition="))
    if (found := _OF_CONDITION.fullmatch(wait_for)) is not None:
        return Condition(path=(found[2],), value=found[3], of_condition=found[1])
    if (found := _FIELD.fullmatch(wait_for)) is not None:
        return Condition(path=tuple(found[1].strip(".").split(".")), value=found[2])
    raise ValueError(f"{wait_for}: no tool is known to wait for this")


class Check(FrozenModel):
    """An object, and all that must hold before it counts as ready; `timeout` is in seconds.

    `is_applied`: the plan applies the object itself. `by_chart`: it is among the manifests of a chart. Where neither is
    true, software of the stack creates it.
    """

    api_version: str
    kind: str
    name: str
    namespace: str | None = None
    conditions: tuple[Condition, ...]
    timeout: int
    is_applied: bool
    by_chart: bool = False

    @property
    def group(self) -> str:
        """The API group; empty for the core."""
        return self.api_version.rpartition("/")[0]

    @property
    def command(self) -> str:
        """The command that waits for it."""
        version = self.api_version.rpartition("/")[2]
        kind = f"{self.kind.lower()}.{version}.{self.group}" if self.group else self.kind.lower()
        place = [] if self.namespace is None else ["-n", self.namespace]
        wanted = [condition.kubectl for condition in self.conditions]
        lines = (
            " ".join(["kubectl", "wait", *place, f"{kind}/{self.name}", each, f"--timeout={self.timeout}s"])
            for each in wanted
        )
        return " && ".join(lines)


def lua_script(check: Check) -> str:
    """A health check of Argo CD: healthy when all conditions hold, degraded in a state of failure, else on its way."""
    wanted = " and ".join(condition.lua for condition in check.conditions)
    failed = ", ".join(f'"{state}"' for state in _FAILED.get(check.kind, ()))
    degraded = program("health_failed").replace("STATES", failed) if failed else ""
    return program("health_of_kinds").replace("WANTED", wanted).replace("FAILED\n", degraded)


def program(name: str) -> str:
    """A health check of Argo CD in Lua, with words in capitals for what depends on the kind."""
    return Path(__file__).with_name(f"{name}.lua").read_text(encoding="utf-8")
