"""The made-up account of the simulated clouds."""

from __future__ import annotations

import secrets

from ..home import SandboxHome, file_lock, write_private


def account_token(home: SandboxHome) -> str:
    """The token that the simulated clouds of this sandbox take, and no other; made at first use (file mode 600)."""
    file = home.cloud / "token"
    with file_lock(home.cloud / "token.lock", wait=True):
        if not file.exists():
            # no real token has this form, so that one in a log or a state is known at sight
            write_private(file, f"sandbox_v1_{secrets.token_hex(32)}\n")
        return file.read_text().strip()
