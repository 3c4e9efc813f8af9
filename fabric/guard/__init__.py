"""The guard: a change that loses nodes, networks or addresses in use needs an acknowledgement that expires."""

from fabric.guard.dangers import dangers, guarded
from fabric.guard.explaining import explanation
from fabric.guard.judging import judged, judgement_on
from fabric.guard.model import Answer, Danger, Judgement, Leftover
from fabric.spec.guard import Acknowledgement

GUARDED = guarded

__all__ = [
    "GUARDED",
    "Acknowledgement",
    "Answer",
    "Danger",
    "Judgement",
    "Leftover",
    "dangers",
    "explanation",
    "guarded",
    "judged",
    "judgement_on",
]
