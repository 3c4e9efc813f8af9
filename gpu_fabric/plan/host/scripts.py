"""The Bash scripts that prepare a node's own system: each is put together from its parts into one text."""

from __future__ import annotations

from pathlib import Path

# The parts that come before each script, in order: what one defines, the next may use.
_PARTS: dict[str, tuple[str, ...]] = {
    "acs": ("desired_state",),
    "fabric_rule": ("desired_state", "policy_routing"),
    "ipoib": ("desired_state", "rail_interfaces"),
    "link_type": ("desired_state", "pci_nics"),
    "lossless": ("desired_state", "rail_interfaces"),
    "nic_addresses": ("desired_state", "policy_routing"),
    "rdma_mode": ("desired_state", "rdma_subsystem"),
    "virtual_functions": ("pci_nics", "rdma_subsystem"),
}

SCRIPTS = tuple(_PARTS)
"""The names of all scripts: those of their files, without the ending."""


def script(name: str) -> str:
    """A script such as `fabric_rule`, to be piped into Bash; its head names what it does and its environment.

    Raises KeyError for a name that is none of `SCRIPTS`.
    """
    return "\n".join(_text(part) for part in ("library", *_PARTS[name], name))


def _text(part: str) -> str:
    return Path(__file__).with_name(f"{part}.sh").read_text(encoding="utf-8")
