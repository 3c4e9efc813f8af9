"""`gpu-fabric image-check` of an image in a registry, against one that is played on loopback.

The answers are those of opencontainers/distribution-spec 1.1, "Pull", and of docs/content/spec/auth/token.md of
distribution. A real registry is in tests/engine.
"""

import base64
import hashlib
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from command_line import refusal_of, run
from json_server import Response, http_server
from saved_images import layer, layout

from gpu_fabric.cli.registry import Registry, docker_login, reference_of
from gpu_fabric.image.layers import Image, ImageError, Wanted, read_image

FILES = {"usr/bin/ssh": b"s", "usr/sbin/sshd": b"d" * 5000}
IMAGE = layout([layer(FILES)], ("arm64", "amd64"), "zstd")
LOGIN = base64.b64encode(b"team:se:cret").decode()
STACK = Path(__file__).parents[3] / "examples/Pulumi.host-device.yaml"


@dataclass
class Played:
    """A registry with one image, `team/train:1`. It `asks` for a login by this scheme; what it was sent is kept."""

    files: dict[str, bytes]
    asks: str = ""
    login: str = ""
    """The login without which it hands out nothing; empty where anyone gets a token."""

    moved_to: int = 0
    """The port at which blobs are, where they are elsewhere."""

    realm: str = "http://127.0.0.1:{port}/token"
    answers: dict[str, Response] = field(default_factory=dict)
    """Other answers than its own, by the end of a path."""

    once: bool = False
    """Whether each token is for one request."""

    port: int = 0
    granted: int = 0
    sent: list[tuple[str, str]] = field(default_factory=list)

    def answer(self, _: str, path: str, __: bytes, headers: Message) -> Response:
        given = headers.get("Authorization", "")
        self.sent.append((path, given))
        found = next((answer for end, answer in self.answers.items() if path.endswith(end)), None)
        if found is not None:
            return found
        basic = f"Basic {self.login}" if self.login else ""
        if path.startswith("/token?"):
            asked = parse_qs(urlsplit(path).query)
            is_known = asked == {"service": ["played"], "scope": ["repository:team/train:pull"]} and given == basic
            self.granted += 1
            token = json.dumps({"access_token" if self.once else "token": f"granted-{self.granted}"}).encode()
            return (200, {}, token) if is_known else (401, {}, b"{}")
        if self.asks and given != (basic if self.asks == "Basic" else f"Bearer granted-{self.granted}"):
            challenge = f'{self.asks} realm="{self.realm.format(port=self.port)}",service="played",scope="ignored"'
            return 401, {"WWW-Authenticate": challenge}, b""
        self.granted += self.once
        part, _, version = path.removeprefix("/v2/team/train/").partition("/")
        if part == "blobs" and self.moved_to:
            return 307, {"Location": f"http://127.0.0.1:{self.moved_to}{path}"}, b""
        if version == "1":
            version = json.loads(self.files["index.json"])["manifests"][0]["digest"]
        content = self.files.get(f"blobs/sha256/{version.removeprefix('sha256:')}")
        return (200, {}, content) if content is not None else (404, {}, b"{}")


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[object]:
    """Serves a registry, for a user without a login of Docker's."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with ExitStack() as stack:

        def one(played: Played) -> int:
            played.port = stack.enter_context(http_server(played.answer))
            return played.port

        yield one


def log_in(folder: Path, server: str) -> None:
    (folder / "config.json").write_text(json.dumps({"auths": {server: {"auth": LOGIN}}}), encoding="utf-8")


def read(port: int, version: str = ":1", architecture: str = "amd64") -> Image:
    reference = reference_of(f"127.0.0.1:{port}/team/train{version}")
    assert reference is not None
    return read_image(Registry(reference), lambda path: Wanted(9999), architecture)


@pytest.mark.parametrize("asks", ["", "Bearer", "Basic"])
def test_an_image_is_read_for_the_architecture_with_the_login_that_a_registry_asks_for(serve, tmp_path, asks) -> None:
    played = Played(IMAGE, asks, LOGIN if asks else "")
    port = serve(played)
    log_in(tmp_path, f"127.0.0.1:{port}")

    image = read(port)

    assert (image.names, image.architecture) == ((f"127.0.0.1:{port}/team/train:1",), "amd64")
    assert {path: file.content for path, file in image.files.items()} == FILES
    assert read(port, architecture="arm64").architecture == "arm64"


def test_a_token_that_ends_between_two_blobs_is_asked_for_again(serve) -> None:
    played = Played(IMAGE, "Bearer", once=True)

    assert read(serve(played)).files.keys() == FILES.keys()

    # Of the index, the manifest, the configuration and the layer.
    assert len([path for path, _ in played.sent if path.startswith("/token?")]) == 4


def test_a_store_of_another_address_does_not_get_the_login(serve, tmp_path) -> None:
    elsewhere = Played(IMAGE)
    played = Played(IMAGE, "Bearer", LOGIN, moved_to=serve(elsewhere))
    port = serve(played)
    log_in(tmp_path, f"127.0.0.1:{port}")

    assert read(port).files.keys() == FILES.keys()

    assert {given for _, given in elsewhere.sent} == {""}
    assert {path.split("?")[0] for path, given in played.sent if given == f"Basic {LOGIN}"} == {"/token"}


def blobs(kind: str) -> list[str]:
    """The digests of the manifests, configurations or layers of the image, that of amd64 last."""
    index = json.loads(IMAGE["index.json"])["manifests"][0]["digest"]
    entries = json.loads(IMAGE[f"blobs/sha256/{index[7:]}"])["manifests"][:2]
    if kind == "manifest":
        return [entry["digest"] for entry in entries]
    manifests = [json.loads(IMAGE[f"blobs/sha256/{entry['digest'][7:]}"]) for entry in entries]
    return [one["config"]["digest"] if kind == "config" else one["layers"][0]["digest"] for one in manifests]


def test_an_image_by_its_digest_is_the_one_that_has_it(serve) -> None:
    digest = blobs("manifest")[-1]
    other = IMAGE[f"blobs/sha256/{blobs('manifest')[0][7:]}"]

    assert read(serve(Played(IMAGE)), f"@{digest}").names[0].endswith(f"/team/train@{digest}")
    with pytest.raises(ImageError, match=f"answers with another manifest than {digest}"):
        read(serve(Played(IMAGE, answers={digest: (200, {}, other)})), f":1@{digest}")


LAYER = IMAGE[f"blobs/sha256/{blobs('layer')[0][7:]}"]
ONE = "/manifests/1"
REFUSED = {
    "a tag that is not there": (Played({**IMAGE, "index.json": b'{"manifests": [{"digest": "sha256:0"}]}'}),
        "registry 127.0.0.1:PORT has no team/train of version 1"),
    "no login": (Played(IMAGE, "Bearer", LOGIN), "refuses team/train: log in with `docker login 127.0.0.1:PORT`"),
    "no password": (Played(IMAGE, "Basic", LOGIN), "refuses team/train: log in with `docker login 127.0.0.1:PORT`"),
    "another scheme": (Played(IMAGE, "Negotiate"), "refuses team/train"),
    "too many requests": (Played(IMAGE, answers={ONE: (429, {}, b"")}), "has had too many requests"),
    "an error": (Played(IMAGE, answers={ONE: (500, {}, b"secret")}), "answers with HTTP status 500"),
    "tokens without TLS": (Played(IMAGE, "Bearer", realm="http://tokens.example/"), "no address with TLS"),
    "tokens in a file": (Played(IMAGE, "Bearer", realm="file://localhost/etc/passwd"), "no address with TLS"),
    "no token": (Played(IMAGE, "Bearer", answers={"Apull": (200, {}, b"[1]")}), "gives no token"),
    "a token of two lines": (Played(IMAGE, "Bearer", answers={"Apull": (200, {}, b'{"token": "a\\nb: c"}')}),
        "was not reached: Invalid header value"),
    "a token without end": (Played(IMAGE, "Bearer", answers={"Apull": (200, {}, b" " * (5 << 20))}),
        "sends more than 4194304 bytes"),
    "another manifest": (Played(IMAGE, answers={blobs("manifest")[-1]: (200, {}, b"{}")}),
        "has another content than its digest says"),
    "another configuration": (Played(IMAGE, answers={blobs("config")[-1]: (200, {}, b"{}")}),
        "has another content than its digest says"),
    "another layer": (Played(IMAGE, answers={blobs("layer")[-1]: (200, {}, layer({"usr/bin/ssh": b"x"})[:99])}),
        "layer 1 of 1 (blobs/sha256/"),
    "a longer layer": (Played(IMAGE, answers={blobs("layer")[-1]: (200, {}, LAYER + b"x")}),
        f"sends more than {len(LAYER)} bytes"),
    "a cut layer": (Played(IMAGE, answers={blobs("layer")[-1]: (200, {}, LAYER[:-9])}), "end-of-stream"),
    "a redirection out of the network": (Played(IMAGE, answers={ONE: (302, {"Location": "file:///etc/passwd"}, b"")}),
        "answers with HTTP status 302"),
}  # fmt: skip


@pytest.mark.parametrize(("played", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_what_a_registry_refuses_or_sends_wrong_is_refused_in_one_message(serve, played: Played, says: str) -> None:
    port = serve(played)

    with pytest.raises(ImageError) as refused:
        read(port)

    assert says.replace("PORT", str(port)) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert LOGIN not in str(refused.value)


def test_the_command_names_the_registry_and_what_is_wrong_with_the_image(serve) -> None:
    played = Played(IMAGE)
    image = f"localhost:{serve(played)}/team/train"

    result = run("image-check", f"{image}:1", "-f", str(STACK))

    assert (result.exit_code, result.stderr) == (1, "")
    assert result.stdout.splitlines()[0] == f"Image {image}:1, amd64, for stack host-device"
    assert "error IMG011" in result.stdout
    assert refusal_of("image-check", image, "-f", str(STACK)).endswith(" has no team/train of version latest\n")
    unreached = refusal_of("image-check", "127.0.0.1:1/team/train:1", "-f", str(STACK))
    assert unreached.startswith("127.0.0.1:1/team/train:1: 127.0.0.1:1 was not reached: [Errno")


DIGEST = f"sha256:{hashlib.sha256(b'').hexdigest()}"


@pytest.mark.parametrize(
    ("text", "address", "version"),
    [
        ("docker.io/debian", "https://registry-1.docker.io/v2/library/debian", "latest"),
        ("docker.io/team/train:1.0", "https://registry-1.docker.io/v2/team/train", "1.0"),
        ("docker://nvcr.io/nvidia/pytorch:25.10-py3", "https://nvcr.io/v2/nvidia/pytorch", "25.10-py3"),
        (f"ghcr.io/a/b__c:1@{DIGEST}", "https://ghcr.io/v2/a/b__c", DIGEST),
        ("registry:5000/train", "https://registry:5000/v2/train", "latest"),
        ("localhost:5000/train", "http://localhost:5000/v2/train", "latest"),
        ("localhost.example/train", "https://localhost.example/v2/train", "latest"),
        ("[::1]:5000/train", "http://[::1]:5000/v2/train", "latest"),
    ],
)
def test_an_image_with_its_registry_is_told_from_a_file(text: str, address: str, version: str) -> None:
    found = reference_of(text)

    assert found is not None
    assert (found.address, found.version) == (address, version)


@pytest.mark.parametrize(
    "text", ["debian:13", "team/train", "image.tar", "./image.tar", "../a.b/c", "a.b/Image.tar", ""]
)
def test_what_names_no_registry_is_a_file(text: str) -> None:
    assert reference_of(text) is None


def test_a_program_for_logins_is_asked_by_its_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "docker-credential-kept"
    program.write_text(
        f"""#!{sys.executable}
import json, sys
known = sys.argv[1:] == ["get"] and sys.stdin.read() == "registry.example"
print(json.dumps({{"ServerURL": "", "Username": "team", "Secret": "se:cret"}}) if known else "credentials not found")
sys.exit(not known)
""",
        encoding="utf-8",
    )
    program.chmod(0o700)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    config = tmp_path / "config.json"

    config.write_text('{"credHelpers": {"registry.example": "kept"}}', encoding="utf-8")
    assert (docker_login("registry.example"), docker_login("other.example")) == (LOGIN, "")
    config.write_text('{"credsStore": "kept"}', encoding="utf-8")
    assert (docker_login("registry.example"), docker_login("other.example")) == (LOGIN, "")
    for content in ('{"credsStore": "../kept"}', '{"credsStore": "missing"}', "[]", "{", '{"auths": []}'):
        config.write_text(content, encoding="utf-8")
        assert docker_login("registry.example") == ""
