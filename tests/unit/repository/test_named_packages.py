"""No file has a user install this repository's packages by a name, which on an index may be anybody's."""

import re
from pathlib import Path

from own_files import own_files

# A requirement by name, with or without extras and versions; a path has a slash before it.
NAMES = r"gpu[-_.]fabric(?:[-_.](?:policy|sandbox|nccl[-_.]topology))?"
OURS = rf"{NAMES}(?:\[[\w,\s-]*\])?(?:\s*(?:[=<>~!]=?|@)\s*[^\s\"'`]*)?"
INSTALLS = re.compile(
    rf"\b(?:pip3?|pipx|uvx?|poetry|pdm|conda|npm|yarn)\b[^|;&#`]*?\b(?:install|add|run|wheel|download|with)\b[^|;&#`]*?"
    rf"(?<![\w./\\@{{-]){OURS}(?![\w/.:-]*[\w/])",
    re.IGNORECASE,
)
REQUIRED = re.compile(rf"^\s*{OURS}\s*(?:[;#\\].*)?$", re.IGNORECASE)
# A repository that a reader has to complete, or a version of one that has no tags.
ELSEWHERE = re.compile(r"\bOWNER\b|gpu-fabric/components@")


def is_named(path: str, line: str) -> bool:
    """Whether a line has the packages fetched by name, or from a place that is not this project's."""
    required = re.search(r"requirements[\w.-]*\.(txt|in|lock)$", path) and REQUIRED.match(line)
    return bool(required or INSTALLS.search(line) or ELSEWHERE.search(line))


def test_a_package_that_is_named_is_found_and_one_by_its_path_is_not() -> None:
    for line in (
        '    pip install "gpu-fabric[pulumi]"',
        "run: uv pip install gpu-fabric==0.2.0",
        "run: uvx --with gpu-fabric plan",
        "pip install gpu-fabric-nccl-topology",
        "pulumi package add github.com/acme/gpu-fabric/components@0.2.0",
    ):
        assert is_named("docs/a.md", line)
    assert is_named("a/requirements-dev.txt", "gpu_fabric == 0.2.0  # pinned")
    assert not is_named("requirements.txt", "./gpu_fabric-0.2.0-py3-none-any.whl[pulumi]")
    assert not is_named("docs/a.md", "pip install ../gpu-fabric ../gpu-fabric/policy")


def test_no_file_has_them_fetched_by_name(root: Path) -> None:
    others = (name for name in own_files() if not name.endswith(Path(__file__).name))
    texts = {name: (root / name).read_text("utf-8", "replace") for name in others}
    found = [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in texts.items()
        for number, line in enumerate(text.replace("\\\n", "  ").splitlines(), start=1)
        if is_named(name, line)
    ]

    assert len(texts) > 500
    assert found == []
