"""Images in registries: manifests and blobs by the pull part of the OCI distribution API, with the login of Docker.

Sources: opencontainers/distribution-spec 1.1, spec.md, "Pull"; for tokens distribution/distribution,
docs/content/spec/auth/token.md; for the names of Docker Hub distribution/reference, normalize.go; for the login
docker/cli, docs/reference/commandline/login.md.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from gpu_fabric.base.user_files import file_content
from gpu_fabric.cli.programs import credential_of
from gpu_fabric.image.layers import MANIFESTS, MOST_JSON, ImageError, Store, blob_name

_REFERENCE = re.compile(
    r"(?:docker://)?(?P<host>(?:[a-z0-9-]+\.)+[a-z0-9-]+(?::[0-9]+)?|[a-z0-9-]+:[0-9]+|localhost|\[[0-9a-f:]+\](?::[0-9]+)?)"
    r"/(?P<name>[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?",
    re.ASCII,
)
_LOOPBACK = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|\[?::1\]?")
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')
_HUB, _HUB_LOGIN = "docker.io", "https://index.docker.io/v1/"
_TIMEOUT_S = 60


class Reference(NamedTuple):
    """An image in a registry; `version` is a tag, or the digest where there is one."""

    host: str
    name: str
    version: str

    @property
    def address(self) -> str:
        """Where its registry answers; on loopback without TLS, as Docker has it."""
        host = "registry-1.docker.io" if self.host == _HUB else self.host
        return f"{'http' if _is_loopback(f'//{host}') else 'https'}://{host}/v2/{self.name}"


def reference_of(text: str) -> Reference | None:
    """The image that a text names with its registry; None for any other text, such as that of a file."""
    found = _REFERENCE.fullmatch(text)
    if found is None:
        return None
    name = f"library/{found['name']}" if found["host"] == _HUB and "/" not in found["name"] else found["name"]
    return Reference(found["host"], name, found["digest"] or found["tag"] or "latest")


def _is_loopback(address: str) -> bool:
    return _LOOPBACK.fullmatch(urlsplit(address).hostname or "") is not None


class Registry(Store):
    """The blobs of an image in a registry, as an OCI layout has them; each is read as it comes, and not kept.

    Methods raise ImageError, for what a registry refuses, with the remedy.
    """

    def __init__(self, reference: Reference) -> None:
        self._reference = reference
        self._opener = build_opener(ProxyHandler({}) if _is_loopback(reference.address) else ProxyHandler())
        self._authorization = ""
        self._kept: dict[str, bytes] = {}
        self._named: dict[str, tuple[str, int]] = {}
        """Blob -> the part of the API that has it, and its size, by the manifests that were read."""

    def has(self, name: str) -> bool:
        return name == "index.json"

    def open(self, name: str) -> BinaryIO:
        if name == "index.json":
            self._keep_index()
        if name in self._kept:
            return io.BytesIO(self._kept[name])
        part, size = self._named[name]
        response = self._answer(part, name.replace("blobs/sha256/", "sha256:"))
        return cast(BinaryIO, io.BufferedReader(_Blob(response, self._reference.host, size)))

    def manifest(self, name: str) -> Any:
        document = super().manifest(name)
        if isinstance(document, dict):
            for key, part in (("manifests", "manifests"), ("layers", "blobs"), ("config", "blobs")):
                entries = document.get(key) or ()
                for entry in [entries] if isinstance(entries, dict) else entries:
                    self._named[blob_name(entry)] = (part, int(entry.get("size") or 0))
        return document

    def _keep_index(self) -> None:
        """Keep the manifest that the reference names, and an index that names it alone."""
        host, name, version = self._reference
        with self._answer("manifests", version) as response:
            content = _Blob(response, host, MOST_JSON).readall()
            media = response.headers.get_content_type()
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        if version.startswith("sha256:") and version != digest:
            raise ImageError(f"registry {host} answers with another manifest than {version}")
        named = f"{host}/{name}{'@' if version == digest else ':'}{version}"
        entry = {"mediaType": media, "digest": digest, "annotations": {"org.opencontainers.image.ref.name": named}}
        self._kept = {
            "index.json": json.dumps({"manifests": [entry]}).encode(),
            blob_name(entry): content,
        }

    def _answer(self, part: str, version: str) -> HTTPResponse:
        """What the registry has, after a login where it asks for one; a token may end between two blobs."""
        address = f"{self._reference.address}/{part}/{version}"
        try:
            return self._open(address, self._authorization)
        except HTTPError as error:
            if error.code != 401:
                raise ImageError(_refusal(self._reference, error.code)) from None
            challenges = error.headers.get_all("WWW-Authenticate") or []
        self._authorization = self._login(challenges)
        try:
            return self._open(address, self._authorization)
        except HTTPError as error:
            raise ImageError(_refusal(self._reference, error.code)) from None

    def _open(self, address: str, authorization: str) -> HTTPResponse:
        # Of http or https: the registry's own address is made above, and that of tokens is looked at.
        request = Request(address, headers={"Accept": ", ".join(MANIFESTS), "User-Agent": "gpu-fabric"})  # noqa: S310
        if authorization:
            # Blobs are often in a store of another host, which must not get it.
            request.add_unredirected_header("Authorization", authorization)
        try:
            return cast(HTTPResponse, self._opener.open(request, timeout=_TIMEOUT_S))
        except HTTPError:
            raise
        except (OSError, HTTPException, ValueError) as error:
            host = urlsplit(address).netloc
            reason = str(getattr(error, "reason", "") or error).partition("\n")[0] or type(error).__name__
            raise ImageError(f"{host} was not reached: {reason}") from None

    def _login(self, challenges: list[str]) -> str:
        """The authorization for further requests, by the first challenge that can be met; without a login as anyone."""
        host = self._reference.host
        login = docker_login(_HUB_LOGIN if host == _HUB else host)
        basic = f"Basic {login}" if login else ""
        for challenge in challenges:
            scheme, _, parameters = challenge.partition(" ")
            if scheme.lower() == "basic" and basic:
                return basic
            if scheme.lower() == "bearer":
                stated = dict(_PARAMETER.findall(parameters))
                return f"Bearer {self._token(stated, basic)}"
        raise ImageError(_refusal(self._reference, 401))

    def _token(self, stated: dict[str, str], basic: str) -> str:
        """A token of the service that a registry names, for reading the one repository."""
        host, name, _ = self._reference
        realm = stated.get("realm", "")
        if not realm.startswith("https://") and not (realm.startswith("http://") and _is_loopback(realm)):
            raise ImageError(f"registry {host} names no address with TLS for its tokens")
        asked = {"service": stated.get("service", ""), "scope": f"repository:{name}:pull"}
        address = f"{realm}{'&' if '?' in realm else '?'}{urlencode(asked)}"
        try:
            with self._open(address, basic) as response:
                document = json.loads(_Blob(response, host, MOST_JSON).readall())
            return str(document.get("token") or document["access_token"])
        except HTTPError as error:
            raise ImageError(_refusal(self._reference, error.code)) from None
        except ImageError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ImageError(f"registry {host} gives no token as its clients expect one") from None


def _refusal(reference: Reference, status: int) -> str:
    host, name, version = reference
    if status in (401, 403):
        return f"registry {host} refuses {name}: log in with `docker login {host}`, or it is not there"
    if status == 404:
        return f"registry {host} has no {name} of version {version}"
    if status == 429:
        return f"registry {host} has had too many requests: try it later, or log in with `docker login {host}`"
    return f"registry {host} answers with HTTP status {status}"


class _Blob(io.RawIOBase):
    """A registry's answer, of at most so many bytes."""

    def __init__(self, response: HTTPResponse, host: str, size: int) -> None:
        self._response, self._host, self._most, self._left = response, host, size, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            content = self._response.read(min(len(buffer), self._left + 1))
        except (OSError, HTTPException) as error:
            raise ImageError(f"registry {self._host} stopped answering: {str(error) or type(error).__name__}") from None
        self._left -= len(content)
        if self._left < 0:
            raise ImageError(f"registry {self._host} sends more than {self._most} bytes, at which the blob ends")
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        self._response.close()
        super().close()


def docker_login(server: str) -> str:
    """User and password of a registry in base64, as Docker's configuration or the program that it names has them."""
    folder = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    try:
        document = json.loads(file_content(folder / "config.json"))
        helper = (document.get("credHelpers") or {}).get(server) or document.get("credsStore")
        if helper:
            login = credential_of(str(helper), server)
            return base64.b64encode(":".join(login).encode()).decode() if login else ""
        return str(((document.get("auths") or {}).get(server) or {}).get("auth") or "")
    except (OSError, ValueError, AttributeError):
        return ""
