"""The reference page of the support matrix: possible combinations, and those that this version can create."""

from __future__ import annotations

from gpu_fabric.catalog import Support, catalog

_INTRODUCTION = """# Possible combinations

Made from `gpu_fabric/catalog/support.yaml` by `make docs`; a test holds it fresh. Every row can be planned and proved.
The first entry of a list is the default. What a stack file asks for beyond a row is refused with what is allowed
(SUP001 to SUP009).
"""

_COLUMNS = ("manager", "model", "a pod holds", "links", "RDMA mode", "layouts", "IPAM", "clusters", "comes up on")
_HOLDS = {
    "virtual": "virtual functions",
    "physical": "whole NICs",
    "shared": "a share of the NICs",
    "host": "the host's network",
}
_LINKS = {"ether": "RoCE", "infiniband": "InfiniBand"}


def support_reference() -> str:
    """A table of the rows, then the reason and source of each."""
    rows = catalog().support
    lines = [_INTRODUCTION, f"| {' | '.join(_COLUMNS)} |", "|---" * len(_COLUMNS) + "|"]
    lines += [f"| {' | '.join(_cells(row))} |" for row in rows]
    lines.append("\n## Why\n")
    lines += [f"- `{row.model}` by `{row.manager}`: {row.why} Source: {row.source}." for row in rows]
    return "\n".join(lines) + "\n"


def _cells(row: Support) -> tuple[str, ...]:
    up = ", ".join(row.up_providers) or "planned only"
    return (
        f"`{row.manager}`",
        f"`{row.model}`",
        _HOLDS[row.access],
        ", ".join(_LINKS[link] for link in row.link_types),
        ", ".join(row.rdma_modes),
        ", ".join(row.layouts),
        ", ".join(row.ipams) or "none",
        ", ".join(row.providers),
        up,
    )
