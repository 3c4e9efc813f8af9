"""How a command reads an account at a cloud: by the cloud's own command line, with the login that it has."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any

_LIMIT_S = 120


class AccountError(Exception):
    """An account that was not read, in one line with the remedy."""


@dataclass(frozen=True)
class CloudCommand:
    """A cloud's command line, which prints JSON with these options."""

    program: str
    options: tuple[str, ...] = ("--output", "json")

    def __call__(self, *arguments: str) -> Any:
        """What a command prints.

        Raises:
            AccountError: the program is missing, failed, or printed something else. What it printed is not repeated: it
                may have a token in it.
        """
        shown = " ".join((self.program, *arguments[:3]))
        program = shutil.which(self.program)
        if program is None:
            raise AccountError(f"{self.program} is not on PATH: install it and log in, or leave --account out")
        try:
            result = subprocess.run(
                [program, *arguments, *self.options],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise AccountError(f"`{shown}` gave no answer in {_LIMIT_S} seconds; run it to see why") from None
        if result.returncode != 0:
            raise AccountError(f"`{shown}` failed with exit code {result.returncode}; run it to see why")
        try:
            # The OCI command line prints nothing for an empty list.
            return json.loads(result.stdout) if result.stdout.strip() else None
        except ValueError:
            raise AccountError(f"`{shown}` printed no JSON; run it to see why") from None
