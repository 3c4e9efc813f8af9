"""The section `upgrade`: values that waves cannot have, and an operator that would change nodes beside them."""

from __future__ import annotations

from negative.base import Base
from negative.mistake import Kind, together, written_below


def _has_no_section(base: Base) -> bool:
    return not base.has("upgrade")


def _has_no_managed_pool(base: Base) -> bool:
    return _has_no_section(base) and base.provider != "oke"


KINDS = (
    Kind("a wave has no node, or more than all", "SPC002", together(
        written_below("upgrade", ".nodes", {"nodes": 0}, {"nodes": "25%"}, where=_has_no_section),
        written_below("upgrade", ".percent", {"percent": 0}, {"percent": 120}, where=_has_no_section))),
    Kind("a wave's word or time is none that there is", "SPC002", together(
        written_below("upgrade", ".action", {"action": "back"}, where=_has_no_section),
        written_below("upgrade", ".whenJobsRemain", {"whenJobsRemain": "kill"}, where=_has_no_section),
        written_below("upgrade", ".jobMinutes", {"jobMinutes": -1}, where=_has_no_section))),
    Kind("waves are to replace machines on a cluster without managed pools at Oracle", "UPG004",
        written_below("upgrade", ".machines", {"machines": True}, where=_has_no_managed_pool)),
    Kind("a hook has no command", "SPC003",
        written_below("upgrade", ".hook.command", {"hook": {"image": "tools:1"}}, where=_has_no_section)),
)  # fmt: skip
