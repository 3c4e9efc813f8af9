"""What a simulated cloud's own command answers kubectl: a token for one of its clusters, which ends soon."""

from __future__ import annotations

import datetime
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence

from ..failure import SandboxError
from ..home import SandboxHome
from .clusters import ControlPlanes

Answer = Callable[[Sequence[str], Mapping[str, str], SandboxHome], str]


def credential(home: SandboxHome, cluster: str, lifetime: datetime.timedelta) -> str:
    """An ExecCredential with a fresh token. Raises SandboxError for an unknown cluster."""
    token, end = ControlPlanes(home).issue_token(cluster, lifetime)
    status = {"token": token, "expirationTimestamp": end.strftime("%Y-%m-%dT%H:%M:%SZ")}
    kind = {"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential"}
    return json.dumps({**kind, "status": status})


def run(answer: Answer) -> None:
    """Print the answer to this process' arguments; exit status 1 and a line on standard error where there is none."""
    try:
        print(answer(sys.argv[1:], os.environ, SandboxHome.current()))
    except (SandboxError, ValueError) as error:
        sys.exit(f"Error: {error}")
