"""How turns are written: what has to be there first is made first, and a turn that fails is begun anew."""

from __future__ import annotations

import logging
from pathlib import Path

from sandbox.hardware.jobs.turns import Turn
from sandbox.hardware.watching import key_of
from sandbox.hardware.writing import path_of
from sandbox.kubernetes_api import Api, ApiError, Object

# Its status is written with the rest of it: Volcano's definition has no subresource.
_WITHOUT_SUBRESOURCE = ("PodGroup",)

log = logging.getLogger(__name__)


class TurnWriter:
    """Writes turns to one cluster."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._refused: set[str] = set()

    @classmethod
    def of(cls, kubeconfig: Path) -> TurnWriter:
        """A writer with a connection of its own."""
        return cls(Api(kubeconfig))

    def write(self, turn: Turn) -> bool:
        """Write a turn; False where something did not work, and the rest of the turn was left.

        A status says what was made, so it is written last; one of an object that others have changed since it was
        seen is refused by the API server.
        """
        try:
            for item in turn.deletes:
                self._attempt("DELETE", f"{path_of(item)}?propagationPolicy=Background", None, 404)
            for item in turn.creates:
                self._attempt("POST", path_of(item).rpartition("/")[0], item, 409)
            for item, body in turn.patches:
                self._api.patch(path_of(item), body)
                log.info("%s %s is changed", item["kind"], key_of(item))
            for item, status in turn.statuses:
                place = "" if item["kind"] in _WITHOUT_SUBRESOURCE else "/status"
                self._api.request("PUT", path_of(item) + place, {**item, "status": status})
        except ApiError as error:
            # 409: somebody has changed the object since it was seen, so it is looked at again
            if error.status != 409 and str(error) not in self._refused:
                log.warning("%s; again soon, and as long as it is so", error)
                self._refused.add(str(error))
            return False
        return True

    def _attempt(self, method: str, path: str, body: Object | None, harmless: int) -> None:
        """A request that may have been made before."""
        try:
            self._api.request(method, path, body)
            log.info("%s %s", method, path if body is None else f"{body['kind']} {key_of(body)}")
        except ApiError as error:
            if error.status != harmless:
                raise
