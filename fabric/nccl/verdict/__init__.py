"""The verdict on results of nccl-tests: whether the fabric reaches its bar, and every reason why not."""

from fabric.nccl.busbw import BarUnknownError
from fabric.nccl.verdict.bundle import Bundle, BundleError, is_bundle, joined, read_bundle, spoken
from fabric.nccl.verdict.expectation import Expectation, planned_expectation, stack_expectation
from fabric.nccl.verdict.judging import judge
from fabric.nccl.verdict.report import RailResult, Reason, Verdict, verdict_lines
from fabric.nccl.verdict.result import ResultError
from fabric.nccl.verdict.whole import judge_bundle, nothing_measured

__all__ = [
    "BarUnknownError",
    "Bundle",
    "BundleError",
    "Expectation",
    "RailResult",
    "Reason",
    "ResultError",
    "Verdict",
    "is_bundle",
    "joined",
    "judge",
    "judge_bundle",
    "nothing_measured",
    "planned_expectation",
    "read_bundle",
    "spoken",
    "stack_expectation",
    "verdict_lines",
]
