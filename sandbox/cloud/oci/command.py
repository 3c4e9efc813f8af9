"""Stands in for Oracle's command `oci` where a simulated cluster's kubeconfig asks it for a token.

`oci ce cluster generate-token --cluster-id ID --region REGION`, with further options that it takes and does not look at
(--profile, --auth), and nothing else. OCI_CLI_CONFIG_FILE must name the sandbox's own configuration.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Mapping, Sequence
from typing import NoReturn

from sandbox.cloud.exec_credential import credential, run
from sandbox.cloud.oci.credentials import credentials, is_configured
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome

_USAGE = "oci ce cluster generate-token --cluster-id ID --region REGION"
_LIFETIME = datetime.timedelta(minutes=4)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise SandboxError(f"the sandbox's oci knows no other command than: {_USAGE} ({message})")


def answer(arguments: Sequence[str], environment: Mapping[str, str], home: SandboxHome) -> str:
    """What the command prints. Raises SandboxError for any other command, account or cluster."""
    parser = _Parser(prog="oci", add_help=False, allow_abbrev=False)
    parser.add_argument("command", nargs=3)
    parser.add_argument("--cluster-id", required=True)
    for option in ("--region", "--profile", "--auth"):
        parser.add_argument(option)
    given = parser.parse_args(list(arguments))
    if given.command != ["ce", "cluster", "generate-token"]:
        parser.error(" ".join(given.command))
    if given.auth not in (None, "api_key") or not is_configured(credentials(home), environment):
        raise SandboxError("OCI_CLI_CONFIG_FILE does not name the configuration of the simulated account")
    return credential(home, given.cluster_id, _LIFETIME)


if __name__ == "__main__":
    run(answer)
