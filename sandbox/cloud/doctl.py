"""Stands in for DigitalOcean's `doctl` where a simulated cluster's kubeconfig asks it for a token.

`doctl kubernetes cluster kubeconfig exec-credential --version=v1beta1 ID` and nothing else. As the real one it needs an
account's token in DIGITALOCEAN_ACCESS_TOKEN, and takes the sandbox's only.
"""

from __future__ import annotations

import datetime
import hmac
from collections.abc import Mapping, Sequence

from sandbox.cloud.account import account_token
from sandbox.cloud.exec_credential import credential, run
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome

_COMMAND = ["kubernetes", "cluster", "kubeconfig", "exec-credential", "--version=v1beta1"]
_LIFETIME = datetime.timedelta(minutes=10)


def answer(arguments: Sequence[str], environment: Mapping[str, str], home: SandboxHome) -> str:
    """What the command prints. Raises SandboxError for any other command, account or cluster."""
    if list(arguments[:-1]) != _COMMAND:
        raise SandboxError(f"the sandbox's doctl knows no other command than: doctl {' '.join(_COMMAND)} ID")
    given = environment.get("DIGITALOCEAN_ACCESS_TOKEN", "")
    if not hmac.compare_digest(given.encode(), account_token(home).encode()):
        raise SandboxError("DIGITALOCEAN_ACCESS_TOKEN is not the token of the simulated account")
    return credential(home, arguments[-1], _LIFETIME)


if __name__ == "__main__":
    run(answer)
