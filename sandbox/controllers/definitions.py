"""The real definitions of a controller's kinds, out of its own Go module, in the place of the stand-in chart's."""

from __future__ import annotations

from pathlib import Path

import yaml

from ..kubernetes_api import Api, ApiError
from .container import NotYetError

_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def take_over(api: Api, folder: Path, names: str) -> None:
    """Give kinds that the chart has defined the versions and names of the real definitions; the rest stays the chart's.

    `names` is a pattern of the files.

    Raises:
        ApiError: the API server refuses a definition or is not reached.
        NotYetError: the chart has not defined a kind.
    """
    for file in sorted(folder.glob(names)):
        wanted = yaml.load(file.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        name, spec = wanted["metadata"]["name"], wanted["spec"]
        try:
            api.patch(f"{_PATH}/{name}", {"spec": {key: spec[key] for key in ("versions", "names")}})
        except ApiError as error:
            if error.status != 404:
                raise
            raise NotYetError(f"there is no definition {name}") from None
