"""The one error that the sandbox shows to a person."""

from __future__ import annotations


class SandboxError(Exception):
    """Something a person can put right: what is wrong, and under it what to do.

    The command line prints ``message`` and ``remedy`` without a traceback and exits with ``status``
    (1: the sandbox could not do it, 2: bad input or usage).
    """

    def __init__(self, message: str, remedy: str = "", status: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.status = status
