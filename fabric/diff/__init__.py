"""The difference between two rendered plans, for the people who review a change."""

from fabric.diff.comparing import DifferentStacks, plan_diff
from fabric.diff.markdown import LIMIT, markdown
from fabric.diff.model import PlanDiff

__all__ = ["LIMIT", "DifferentStacks", "PlanDiff", "markdown", "plan_diff"]
