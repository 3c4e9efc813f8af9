"""The reference page of NCCL's settings: values, audience and reasons, unset variables, and how files are read."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_fabric.catalog import NcclSetting, NcclVariable, catalog
from gpu_fabric.catalog.version import Version
from gpu_fabric.report.pages.explanation import audience_words, not_set_words, since_words, unfit_words, value_words

_INTRODUCTION = """# NCCL settings

Made from `gpu_fabric/catalog/nccl.yaml` by `make docs`; a test holds it fresh. Every variable with its reason, whom it
is for, and the release that brought it. `gpu-fabric explain NCCL_IB_HCA -s dev` says the same of one variable, and what
a stack makes of it. [NCCL files](nccl.md) is about the topology file.

Settings of scope jobs, or jobs and measurements, are in the contract's `environment` and in the settings file. Those of
scope measurements are in `verificationEnvironment` alone: a measurement sets them on top, and no job carries them.

## A stack's own settings

    gpu-fabric:fabric:
      nccl:
        version: "2.27.3"          # oldest NCCL in the jobs' images; newer settings are pointed out (NCL019)
        settings:                  # merged last
          NCCL_IB_TC: 104
          NCCL_IB_TIMEOUT: 23

What replaces a value of the catalog is noted with the reason that is given up (NCL018). An unknown name is a warning
with the nearest known one (NCL010). A value that takes the fabric from jobs, names other NICs than the rails, or is
not a number where NCCL reads one, is refused (NCL011 to NCL016). [Rules](rules.md#nccl_settings) lists them.

Without `version` settings are checked against the vendor's tests of the release line, where those are known.

## How the libraries read a file

| | NCCL | RCCL |
|---|---|---|
| first | the process's environment | the same |
| then | the file in `NCCL_CONF_FILE` (since 2.23), else `~/.nccl.conf` | `~/.rccl.conf` |
| last | `/etc/nccl.conf` | `/etc/rccl.conf` |

What comes first wins, variable by variable; so pods with AMD's GPUs mount the ConfigMap's key `nccl.conf` as
`/etc/rccl.conf`. Pods that carry the contract's environment do not notice another file: both come from one plan, and
change together. RCCL's reference of variables has NCCL_CONF_FILE too; not every release reads it.

- A line is `NAME=VALUE`: no quotes, no `export`, no blanks, which would be part of name or value. A value may begin
  with an equals sign: `NCCL_SOCKET_IFNAME==eth0`.
- `#` at the start of a line is a comment to newer releases of NCCL; RCCL reads such a line. The stack's file has none.
- A carriage return stays in the value, and a value ends after 1023 characters.
- Of a whole number the beginning counts: `yes` is 0, `4MiB` is 4, `010` is 8. In a stack file these are refused.

(Source: src/misc/param.cc of NCCL and RCCL; NCCL manual, NCCL_CONF_FILE; RCCL's reference of variables.)
"""


def nccl_reference() -> str:
    """Tables of the settings and of the variables, and lists of the variables that are not set."""
    known = catalog().nccl_variables.values()
    reasoned = [entry for entry in known if entry.does is not None]
    further = [entry for entry in known if entry.does is None]
    parts = [
        _INTRODUCTION,
        "## Settings\n",
        _table(("setting", "scope", "for", "why", "source"), (_setting(row) for row in catalog().nccl)),
        "\n## Variables\n",
        _table(("variable", "exists", "what it does", "source"), (_variable(entry) for entry in reasoned)),
        "\n## Where a variable is not set, and why\n",
        *(f"- `{entry.name}`: {_reason(entry)}" for entry in reasoned if entry.not_set or entry.derived),
        "\n## What a stack file cannot set, or had better not\n",
        *(line for entry in reasoned for line in _unfit(entry)),
        "\n## Known beside these\n",
        "No document that this program follows asks for them; a stack file may set them. With the release of each.\n",
        ", ".join(f"`{entry.name}`{_release(entry)}" for entry in further) + ".",
    ]
    return "\n".join(parts) + "\n"


def _setting(row: NcclSetting) -> tuple[str, ...]:
    scope = {"training": "jobs", "verification": "measurements", "both": "jobs, measurements"}[row.scope]
    return f"`{value_words(row)}`", scope, audience_words(row), row.why, row.source


def _variable(entry: NcclVariable) -> tuple[str, ...]:
    return f"`{entry.name}`", since_words(entry.since, entry), entry.does or "", entry.source


def _reason(entry: NcclVariable) -> str:
    derived = f"Set by the program: {entry.derived} " if entry.derived is not None else ""
    return f"{derived}{not_set_words(entry).partition(': ')[2]}"


def _unfit(entry: NcclVariable) -> list[str]:
    refused = [f"- `{entry.name}`, refused: {unfit_words(unfit)}" for unfit in entry.refused]
    if entry.limits is not None:
        refused.insert(0, f"- `{entry.name}`, allowed: {entry.limits.said}")
    return refused + [f"- `{entry.name}`, warned of: {unfit_words(unfit)}" for unfit in entry.discouraged]


def _release(entry: NcclVariable) -> str:
    return f" ({entry.since})" if isinstance(entry.since, Version) else ""


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines)
