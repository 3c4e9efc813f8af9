"""The output of `gpu-fabric explain` for a variable of NCCL or another library, as lines of text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from operator import not_
from textwrap import wrap
from typing import TYPE_CHECKING

from pydantic import Field

from gpu_fabric.catalog import NcclSetting, NcclVariable, catalog
from gpu_fabric.catalog.nccl import UNSET, Resilience, Since, UnfitValues
from gpu_fabric.catalog.version import Version
from gpu_fabric.findings import rules
from gpu_fabric.nccl.name_list import exact_note
from gpu_fabric.nccl.outage import RETRIES, TIMEOUT, outage
from gpu_fabric.spec.suggestion import meant

if TYPE_CHECKING:
    from gpu_fabric.plan import Plan

_WIDTH = 80
_MOST_RULES = 4
_LIBRARIES = {
    "nccl": "NCCL",
    "rccl": "RCCL",
    "nccl-tests": "nccl-tests",
    "launcher": "MPI launchers",
    "driver": "drivers",
}
# What the names in braces of a row's value stand for.
_PLACES = {
    "{hcaList}": "=… (the shape's RDMA devices, in rail order)",
    "{ports}": "… (the shape's RDMA devices with their ports, in rail order)",
    "{devices}": "… (the shape's RDMA devices, in rail order)",
    "{gpuToNic}": "… (for each GPU the first NIC below its PCI switch)",
    "{storagePorts}": "… (the RDMA devices of storage fabrics)",
    "{railsApart}": "y",
}
_SCOPES = {"training": "jobs", "verification": "measurements only", "both": "jobs and measurements"}
_PODS = {
    "virtual": "pods with virtual functions",
    "physical": "pods with whole NICs",
    "shared": "pods with interfaces on top of the nodes' NICs",
    "host": "pods on the nodes' own network",
}
_LINKS = {"ether": "RoCE", "infiniband": "InfiniBand"}


class ExplainedVariable(NcclVariable):
    """A variable for scripts; with a stack also its values there, as sentences."""

    on_stack: tuple[str, ...] | None = Field(default=None, exclude_if=not_)


def variable_explanation(variable: NcclVariable, plan: Plan | None = None) -> list[str]:
    """A variable: its effect, the values for each audience with the reasons, and a stack's value.

    `plan` is that of the stack in question.
    """
    lines = [variable.name, *_wrap_lines(variable.does or f"A variable of {_title(variable)}.")]
    lines += [f"Exists: {since_words(variable.since, variable)}.", f"Source: {variable.source}."]
    lines += _library_lines(variable)
    for row in variable.settings:
        lines += ["", f"{value_words(row)} for {_SCOPES[row.scope]}"]
        lines += _wrap_lines(f"for: {audience_words(row)}", "  ")
        lines += [*_wrap_lines(f"why: {row.why}", "  "), *_wrap_lines(f"source: {row.source}.", "  ")]
    lines += [""] if variable.settings else []
    lines += [line for text in _choices_of(variable) for line in _wrap_lines(text)]
    if variable.derived is not None:
        lines += _wrap_lines(f"Set by the program: {variable.derived}")
    lines += _wrap_lines(not_set_words(variable))
    lines += _wrap_lines(exact_note(row.value for row in variable.settings))
    if variable.limits is not None:
        lines += _wrap_lines(f"Allowed: {variable.limits.said} ({variable.limits.source}).")
    lines += [
        line for unfit in variable.refused for line in _wrap_lines(f"Refused in a stack file: {unfit_words(unfit)}")
    ]
    lines += [line for unfit in variable.discouraged for line in _wrap_lines(f"Better not: {unfit_words(unfit)}")]
    return [*lines, *([] if plan is None else ["", *values_on_stack(variable, plan)])]


def unknown_name(name: str, keys: Iterable[str]) -> str:
    """The message for a name that is of no rule, no variable and none of the stack file's `keys`, with near ones."""
    word = name.upper()
    if "_" in name:
        near, what = get_close_matches(word, list(catalog().variables), n=3), "variable"
        page = "libraries" if near and near[0] in catalog().libraries.known else "nccl-settings"
    elif near := _near_rules(word.replace("-", "")):
        what, page = "rule", "rules"
    else:
        near, what, page = (
            [key for key in (meant(name.rpartition(".")[2], keys),) if key is not None],
            "key",
            "configuration",
        )
    guess = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    if not guess and what == "key":
        return f"no rule, variable or key {name!r}: see docs/rules.md, docs/nccl-settings.md and docs/configuration.md"
    return f"no {what} {name!r}: {guess}docs/{page}.md lists them all"


def _near_rules(word: str) -> list[str]:
    """Rules that begin with a word, or that it may be an id of; of another family only where the word has a number."""
    if word in rules():
        return [word]
    found = re.fullmatch(r"([A-Z]{3})(\d*)", word)
    family = [rule for rule in rules() if found and rule.startswith(found[1])]
    if found and family:
        begun = [rule for rule in family if rule.startswith(word)]
        padded = f"{found[1]}{int(found[2] or 0):03}"
        by_number = sorted(family, key=lambda rule: abs(int(rule[3:]) - int(found[2] or 0)))
        return list(dict.fromkeys([*(rule for rule in family if rule == padded), *begun, *by_number]))[:_MOST_RULES]
    return get_close_matches(word, list(rules()), n=1, cutoff=0.6) if re.search(r"\d", word) else []


def value_words(row: NcclSetting) -> str:
    """A row's variable and value; what depends on shape or stack is described in words."""
    if row.value == UNSET:
        return f"{row.variable} left alone"
    value = row.value
    for place, variable in catalog().libraries.facts.items() if "{" in value else ():
        value = value.replace(f"{{{place}}}", f"… (that of {variable})")
    for place, words in _PLACES.items():
        value = value.replace(place, words)
    return f"{row.variable}={value}"


def _library_lines(variable: NcclVariable) -> list[str]:
    """How the settings of another library than NCCL reach a job."""
    library = catalog().libraries.by_name.get(variable.library)
    if library is None or not variable.settings:
        return []
    read = f"; its source was read at {library.read}" if isinstance(library.read, Version) else ""
    return _wrap_lines(
        f"Read by {library.title}{read}. `gpu-fabric attach` sets it in workloads that use {library.name}; "
        "the first row that is for the stack decides."
    )


def choice_words(row: Resilience) -> str:
    """The settings of a choice of `fabric.resilience`, in words."""
    return ", ".join(
        f"`{entry.variable}={entry.value}`{f' ({_LINKS[entry.links[0]]})' if entry.links else ''}"
        for entry in row.settings
    )


def ridden_out(row: Resilience) -> str:
    """What a choice's own timeout rides out."""
    own = {entry.variable: entry.value for entry in row.settings if entry.variable == TIMEOUT}
    found = outage(own)
    return f"{found.ridden_out:.1f} s; an error after {found.earliest:.1f} s" if own else "by the shape's settings"


def audience_words(row: NcclSetting) -> str:
    """The audience of a row, in words."""
    parts = []
    if row.devices:
        parts.append(" or ".join(f"{_PODS[way]} ({_models(way)})" for way in row.devices))
    if row.links:
        parts.append(" or ".join(_LINKS[link] for link in row.links))
    if row.ip_versions:
        parts.append(" or ".join(f"IPv{version} addresses" for version in row.ip_versions))
    if row.channel is not None:
        parts.append(f"pods with{'' if row.channel else 'out'} an IMEX channel")
    if row.drivers:
        parts.append(f"NICs driven by {' or '.join(row.drivers)}")
    if row.vendors:
        parts.append(f"GPUs of {' or '.join(row.vendors)}")
    if row.models:
        parts.append(f"{' or '.join(row.models)} GPUs")
    if row.providers:
        parts.append(f"shapes of {', '.join(row.providers)}")
    if row.shapes:
        parts.append(", ".join(row.shapes))
    return "; ".join(parts) or "everyone"


def since_words(since: Since, variable: NcclVariable) -> str:
    """The releases that have a variable, in words."""
    if isinstance(since, Version):
        until = f", and no longer after {variable.last}" if variable.last else ""
        return f"since {_title(variable)} {since}{until}"
    if since == "unmarked" and variable.library in catalog().libraries.by_name:
        return "in every release that was read"
    if since == "unmarked":
        return "in all releases, as far as the manual says"
    return "in which releases is not published"


def _title(variable: NcclVariable) -> str:
    """The name of the library that reads a variable."""
    library = catalog().libraries.by_name.get(variable.library)
    return _LIBRARIES[variable.library] if library is None else library.title


def not_set_words(variable: NcclVariable) -> str:
    """The reason why a variable is not set."""
    if variable.does is None:
        return "Known, not set: no document that this program follows asks for it."
    if variable.not_set is None:
        return ""
    return f"{'Not set otherwise' if variable.settings or variable.derived else 'Known, not set'}: {variable.not_set}"


def unfit_words(unfit: UnfitValues) -> str:
    """The values, the reason against them, and the alternative."""
    which = ", ".join(unfit.values) or (f"other than {', '.join(unfit.unless)}" if unfit.unless else "any value")
    where = " or ".join([_LINKS[link] for link in unfit.links] + [_PODS[way] for way in unfit.devices])
    return f"{which}{f' ({where})' if where else ''}: {unfit.why}; {unfit.instead}."


def values_on_stack(variable: NcclVariable, plan: Plan) -> Iterator[str]:
    """The values of a variable in a stack's jobs and measurements."""
    rows = [row for row in plan.nccl.settings if row.variable == variable.name]
    by_library = plan.workload.libraries.get(variable.library, {}).get(variable.name)
    for row in rows:
        whose = "the catalog's row above" if row.stated_by == "catalog" else "the stack file"
        yield f"On stack {plan.stack}: {row.variable}={row.value} for {_SCOPES[row.scope]}, by {whose}."
    value = plan.workload.environment.get(variable.name)
    if by_library is not None:
        yield f"On stack {plan.stack}: {variable.name}={by_library} for jobs that use {_title(variable)}."
    elif not rows and value is not None:
        yield f"On stack {plan.stack}: {variable.name}={value}, set by the program."
    elif not rows:
        yield f"On stack {plan.stack}: not set."
    if variable.name in (TIMEOUT, RETRIES):
        # What a plan is made by takes longer to import than the rest of the command, which needs no stack.
        from gpu_fabric.plan.nccl_settings import environment_of

        yield f"On stack {plan.stack}: {outage(environment_of(plan.nccl.settings, 'training')).words}."


def _choices_of(variable: NcclVariable) -> Iterator[str]:
    """The choices of `fabric.resilience` that set a variable, and what its values ride out."""
    for choice, row in catalog().nccl_resilience.items():
        for setting in row.settings:
            if setting.variable == variable.name:
                where = f" ({' or '.join(_LINKS[link] for link in setting.links)})" if setting.links else ""
                yield f"With fabric.resilience: {choice}{where}: {setting.variable}={setting.value}. {row.does}"
    if variable.name in (TIMEOUT, RETRIES):
        chosen = [setting for row in catalog().nccl_resilience.values() for setting in row.settings]
        every = (*variable.settings, *chosen)
        values = dict.fromkeys(setting.value for setting in every if setting.variable == TIMEOUT)
        yield f"By default: {outage({}).words}."
        yield from (f"{outage({TIMEOUT: value}).words}." for value in values)


def _models(way: str) -> str:
    models = dict.fromkeys(f"{row.model} by {row.manager}" for row in catalog().support if row.access == way)
    return ", ".join(models)


def _wrap_lines(text: str, indent: str = "") -> list[str]:
    return wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
