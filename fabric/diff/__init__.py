"""The difference between two rendered plans, for the people who review a change."""

from fabric.diff.comparing import DifferentStacks, plan_diff
from fabric.diff.markdown import LIMIT, Section, markdown, markdown_at
from fabric.diff.model import PlanDiff

__all__ = ["LIMIT", "DifferentStacks", "PlanDiff", "Section", "markdown", "markdown_at", "plan_diff"]
