"""Stands in for DigitalOcean's `doctl`, as far as kubeconfigs call it and messages name it.

A kubeconfig asks it for a token: `kubernetes cluster kubeconfig exec-credential --version=v1beta1 ID`. Other commands
list what the simulated account has and offers, and delete what a creation has left behind. As the real one it needs an
account's token in DIGITALOCEAN_ACCESS_TOKEN, and takes the sandbox's only.
"""

from __future__ import annotations

import datetime
import hmac
from collections.abc import Mapping, Sequence

from ..failure import SandboxError
from ..home import SandboxHome
from .account import account_token
from .exec_credential import credential, run

_COMMAND = ["kubernetes", "cluster", "kubeconfig", "exec-credential", "--version=v1beta1"]
_LIFETIME = datetime.timedelta(minutes=10)
_YES = ("--force", "-f")


def answer(arguments: Sequence[str], environment: Mapping[str, str], home: SandboxHome) -> str:
    """What the command prints. Raises SandboxError for any other command, account, cluster or pool."""
    if list(arguments[:-1]) == _COMMAND:
        _require_account(environment, home)
        return credential(home, arguments[-1], _LIFETIME)
    from .digitalocean.command import COMMANDS

    stated = [argument for argument in arguments if argument not in _YES]
    for words, command in COMMANDS.items():
        given = _given(words.split(), stated)
        if given is not None:
            _require_account(environment, home)
            return command(home, given)
    known = "".join(f"\n  doctl {words}" for words in (f"{' '.join(_COMMAND)} ID", *COMMANDS))
    raise SandboxError(f"the sandbox's doctl knows no other command than:{known}")


def _given(words: list[str], stated: list[str]) -> list[str] | None:
    """What stands in the place of the words in capitals; None where this is another command."""
    if len(words) != len(stated):
        return None
    pairs = list(zip(words, stated, strict=True))
    if any(word != own for word, own in pairs if not word.isupper()):
        return None
    return [own for word, own in pairs if word.isupper()]


def _require_account(environment: Mapping[str, str], home: SandboxHome) -> None:
    given = environment.get("DIGITALOCEAN_ACCESS_TOKEN", "")
    if not hmac.compare_digest(given.encode(), account_token(home).encode()):
        raise SandboxError("DIGITALOCEAN_ACCESS_TOKEN is not the token of the simulated account")


if __name__ == "__main__":
    run(answer)
