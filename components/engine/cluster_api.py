"""Requests to a cluster's API server as plain JSON, for objects that are not resources of the stack."""

from __future__ import annotations

import base64
import json
import math
import os
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from urllib.request import getproxies

import yaml

from gpu_fabric.base.api_objects import api_path as api_path

if TYPE_CHECKING:
    import urllib3

APPLY = "application/apply-patch+yaml"
# Seconds until a connection, and until an answer.
_CONNECT, _READ = 10, 60
PATIENCE = 60.0
"""Seconds for a server that is starting or busy while a run writes."""
# Seconds for one that is busy before a run, or does not serve a definition yet that an earlier run has written.
_BUSY = 15.0
# Answers of a server that is starting or busy, or whose webhook does not run yet; a refusal has none of them.
_TEMPORARY = {0, 429, 503, 504}
_TEMPORARY_REASONS = ("failed calling webhook", "etcdserver: ", "no endpoints available")
# What entries of a kubeconfig may say and be read without the kubernetes client, whose import takes longer than what a
# run asks its cluster.
_PLAIN_CLUSTER = {"server", "certificate-authority-data"}
_PLAIN_USER = {"client-certificate-data", "client-key-data", "token"}
# The kubernetes client caches key files by content, and does not re-create one that another thread has removed.
_loading = threading.Lock()

# With this variable the Kubernetes provider treats unreachable objects as deleted; so do the providers here.
_DELETE_UNREACHABLE = "PULUMI_K8S_DELETE_UNREACHABLE"

Json = dict[str, Any]


class RequestError(Exception):
    """The API server refused a request, or was not reached (status 0); the text is its reason in one line."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(" ".join(reason.split())[:400])
        self.status = status

    @property
    def temporary(self) -> bool:
        """Whether the same request may succeed a little later."""
        failed = self.status == 500 and any(reason in str(self) for reason in _TEMPORARY_REASONS)
        return failed or self.status in _TEMPORARY


def counts_as_deleted(error: RequestError) -> bool:
    """Whether an object counts as deleted: the cluster was not reached, and the user has set the variable for that."""
    return error.status == 0 and os.environ.get(_DELETE_UNREACHABLE, "").lower() == "true"


class ClusterApi:
    """The API server of a kubeconfig, with at most `connections` persistent connections.

    Requests are repeated after temporary failures, until none has succeeded for `patience` seconds. Safe for use from
    several threads. Raises RequestError if the kubeconfig cannot be used; the message never has any of its content.
    `date` is the cluster's time at its last answer, in whole seconds; None before, or if it gives none.
    """

    date: datetime | None = None
    _repeats_unreached = True

    def __init__(self, kubeconfig: str, context: str | None, connections: int = 1, patience: float = 0.0) -> None:
        self._patience, self._failing_since = patience, math.inf
        with _loading:
            try:
                self._host, self._pool, self._authorization = _connected(kubeconfig, context, connections)
            except RequestError:
                raise
            except Exception as error:
                # Its message may repeat the content.
                reason = f"its kubeconfig cannot be used ({type(error).__name__})"
                raise RequestError(0, reason) from None

    def items(self, collection: str, selector: str = "") -> list[Json]:
        """The objects of a collection with these labels; empty if the cluster does not have the kind."""
        try:
            listed = self.request("GET", f"{collection}?{urlencode({'labelSelector': selector})}")
        except RequestError as error:
            if error.status == 404:
                return []
            raise
        items: list[Json] = listed["items"]
        return items

    def apply(self, path: str, manifest: Json, manager: str) -> None:
        """Server-side apply, which also takes over fields of other managers. Raises RequestError."""
        query = urlencode({"fieldManager": manager, "force": "true"})
        self.request("PATCH", f"{path}?{query}", manifest, {"Content-Type": APPLY})

    def delete(self, path: str) -> None:
        """Request the deletion of an object, which need not exist. Raises RequestError."""
        try:
            self.request("DELETE", path)
        except RequestError as error:
            if error.status != 404:
                raise

    def request(self, method: str, path: str, body: Json | None = None, headers: Mapping[str, str] = {}) -> Json:
        """The answer to a request, which is repeated within the server's patience. Raises RequestError."""
        pause = 0.2
        while True:
            try:
                answer = self._request(method, path, body, headers)
            except RequestError as error:
                if not error.temporary or counts_as_deleted(error) or not (error.status or self._repeats_unreached):
                    raise
                now = time.monotonic()
                self._failing_since = min(self._failing_since, now)
                if now - self._failing_since >= self._patience:
                    raise
            else:
                self._failing_since = math.inf
                return answer
            time.sleep(pause)
            pause = min(2 * pause, 3.0)

    def _request(self, method: str, path: str, body: Json | None, headers: Mapping[str, str]) -> Json:
        # Imported here, as the client below: a program that only registers resources sends no request.
        import urllib3

        sent = {"Accept": "application/json", **headers}
        if authorization := self._authorization():
            sent["Authorization"] = authorization
        try:
            answer = self._pool.request(
                method,
                f"{self._host}{path}",
                body=None if body is None else json.dumps(body),
                headers=sent,
                timeout=urllib3.Timeout(connect=_CONNECT, read=_READ),
                # A persistent connection may have been closed, which is noticed only at the next request. An answer
                # that names a time to wait (429, 503) is an answer: urllib3 would say that no server was reached.
                retries=urllib3.Retry(
                    connect=1,
                    read=1,
                    other=1,
                    redirect=0,
                    status=0,
                    allowed_methods=None,
                    respect_retry_after_header=False,
                ),
            )
        except urllib3.exceptions.HTTPError as error:
            raise RequestError(0, f"the API server was not reached: {_cause(error)}") from None
        self.date = _date(answer.headers.get("Date"))
        document = _document(answer.data)
        if answer.status >= 400:
            raise RequestError(answer.status, document.get("message") or f"HTTP status {answer.status}")
        return document


class PatientClusterApi(ClusterApi):
    """An API server that is asked again while it is busy, for the questions before a run; not if it gives no answer."""

    _repeats_unreached = False

    def __init__(self, kubeconfig: str, context: str | None) -> None:
        super().__init__(kubeconfig, context, patience=_BUSY)


def find(api: ClusterApi, path: str) -> Json | None:
    """The object at a path; None if it does not exist. Raises RequestError."""
    try:
        return api.request("GET", path)
    except RequestError as error:
        if error.status == 404:
            return None
        raise


def merge(api: ClusterApi, path: str, changes: Json) -> Json:
    """Merge fields into the object at a path, and remove those that are None. Raises RequestError."""
    return api.request("PATCH", path, changes, {"Content-Type": "application/merge-patch+json"})


def _connected(
    kubeconfig: str, context: str | None, connections: int
) -> tuple[str, urllib3.PoolManager, Callable[[], str | None]]:
    """The server's address, connections to it, and what gives the header with which a request says who it is from."""
    document = yaml.safe_load(kubeconfig)
    if (plain := _plain_entries(document, context)) is not None:
        cluster, user = plain
        token = f"Bearer {user['token']}" if user.get("token") else None
        return cluster["server"].rstrip("/"), _plain_pool(cluster, user, connections), lambda: token
    # Imported here, because the import takes longer than all questions to a cluster.
    from kubernetes.client import Configuration
    from kubernetes.config import load_kube_config_from_dict

    configuration = Configuration()
    load_kube_config_from_dict(document, context=context, client_configuration=configuration, persist_config=False)
    pool = _connection_pool(configuration, connections)
    return configuration.host, pool, partial(_authorization, configuration)


def _plain_entries(document: Any, context: str | None) -> tuple[Json, Json] | None:
    """The entries of the context's cluster and user, if they hold all that a connection needs, as texts.

    None for whatever else a kubeconfig can say: files, commands that print credentials, passwords, proxies, other names
    of the server. Those, and wrong forms, are left to the kubernetes client.
    """
    if getproxies().keys() - {"no"} or not isinstance(document, dict):
        return None
    named = [_named(document, "contexts", context or document.get("current-context"))]
    named += [_named(document, f"{key}s", (named[0] or {}).get(key)) for key in ("cluster", "user")]
    _, cluster, user = named
    if cluster is None or user is None or not cluster.keys() <= _PLAIN_CLUSTER or not user.keys() <= _PLAIN_USER:
        return None
    texts = all(isinstance(value, str) and value for value in (*cluster.values(), *user.values()))
    paired = ("client-certificate-data" in user) == ("client-key-data" in user)
    return (cluster, user) if texts and paired and cluster.get("server", "").startswith("https://") else None


def _named(document: Json, listed: str, name: Any) -> Json | None:
    """The content of the one entry of a kubeconfig's list with a name; None if there is none, or several."""
    entries = document.get(listed)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and "name" in entry for entry in entries):
        return None
    found = [entry.get(listed.removesuffix("s")) for entry in entries if entry["name"] == name]
    return found[0] if len(found) == 1 and isinstance(found[0], dict) else None


def _plain_pool(cluster: Json, user: Json, connections: int) -> urllib3.PoolManager:
    """Connections with the certificates of plain entries."""
    import urllib3

    if "certificate-authority-data" in cluster:
        with _file_of(cluster, "certificate-authority-data") as path:
            context = _trust(path)
    else:
        context = _trust(None)
    if "client-key-data" in user:
        with _file_of(user, "client-certificate-data", "client-key-data") as path:
            context.load_cert_chain(path)
    return urllib3.PoolManager(ssl_context=context, cert_reqs=ssl.CERT_REQUIRED, maxsize=connections, block=True)


def _trust(authority: str | None) -> ssl.SSLContext:
    """Trust in a file's authority alone, or without one in the system's."""
    context = ssl.create_default_context(cafile=authority)
    # As the agent on the nodes: since Python 3.13 authorities without a key identifier are refused, which clusters have
    # (kubernetes-client/python, issue 2394). Name, signature and validity are checked as ever.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


@contextmanager
def _file_of(entry: Json, *keys: str) -> Iterator[str]:
    """A file with what an entry has in Base64, for Python's readers of certificates; only this user can read it."""
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(b"\n".join(base64.standard_b64decode(entry[key]) for key in keys))
        file.flush()
        yield file.name


def _authorization(configuration: Any) -> str | None:
    """The value of the header; the kubeconfig may name a command that prints it."""
    try:
        if found := configuration.get_api_key_with_prefix("authorization", alias="BearerToken"):
            return str(found)
        return str(configuration.get_basic_auth_token()) if configuration.username else None
    except Exception as error:
        raise RequestError(0, f"its credentials cannot be read ({type(error).__name__})") from None


def _connection_pool(configuration: Any, connections: int) -> urllib3.PoolManager:
    """Connections with the kubeconfig's certificates, whose files are deleted at once.

    Pulumi kills its plug-ins, so a private key's file could not be deleted later.
    """
    from kubernetes.client.rest import RESTClientObject
    from kubernetes.config import kube_config

    pool: urllib3.PoolManager = RESTClientObject(configuration).pool_manager
    options = pool.connection_pool_kw
    context = _trust(configuration.ssl_ca_cert)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    kube_config._cleanup_temp_files()
    for name in ("ca_certs", "cert_file", "key_file"):
        options.pop(name, None)
    options.update(ssl_context=context, maxsize=connections, block=True)
    return pool


def _cause(error: urllib3.exceptions.HTTPError) -> str:
    """Why a request got no answer, without the addresses of Python objects."""
    reason = getattr(error, "reason", None) or error
    return str(reason).rpartition(": ")[2]


def _date(text: str | None) -> datetime | None:
    """The time of an answer's header, which is always GMT."""
    try:
        return None if text is None else parsedate_to_datetime(text).replace(tzinfo=UTC)
    except ValueError:
        return None


def _document(data: bytes) -> Json:
    try:
        document = json.loads(data)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
