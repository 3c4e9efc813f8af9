"""The verdict on results of nccl-tests: whether the fabric reaches its bar, and every reason if it does not."""

from gpu_fabric.nccl.busbw import BarUnknownError
from gpu_fabric.nccl.verdict.bundle import Bundle, BundleError, is_bundle, join_parts, read_bundle, script_messages
from gpu_fabric.nccl.verdict.judging import judge, judge_bundle, nothing_measured
from gpu_fabric.nccl.verdict.report import Verdict, verdict_lines
from gpu_fabric.nccl.verdict.result import Expectation, ResultError

__all__ = [
    "BarUnknownError",
    "Bundle",
    "BundleError",
    "Expectation",
    "ResultError",
    "Verdict",
    "is_bundle",
    "join_parts",
    "judge",
    "judge_bundle",
    "nothing_measured",
    "read_bundle",
    "script_messages",
    "verdict_lines",
]
