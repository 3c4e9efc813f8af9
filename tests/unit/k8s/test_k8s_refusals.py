"""Each promise of `refused.yaml`: what a webhook, an operator or a plug-in would fail on is refused before."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ValidationError

PROMISES: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_text())
ROWS = [
    pytest.param(promise["model"], {**promise.get("base", {}), **changes}, pattern, id=f"{name} [{number}]")
    for name, promise in PROMISES.items()
    for number, (changes, pattern) in enumerate(promise["refused"])
]


def read(model: str, written: dict[str, Any]) -> BaseModel:
    """An object of the model of that name, as YAML has it."""
    module, _, name = model.partition(".")
    kind: type[BaseModel] = getattr(import_module(f"gpu_fabric.k8s.{module}"), name)
    return kind.model_validate(written)


@pytest.mark.parametrize(("model", "written", "pattern"), ROWS)
def test_what_would_fail_in_a_cluster_is_refused_before(model: str, written: dict[str, Any], pattern: str) -> None:
    with pytest.raises(ValidationError, match=pattern):
        read(model, written)


@pytest.mark.parametrize("name", [name for name, promise in PROMISES.items() if "base" in promise])
def test_what_the_rows_of_a_promise_have_in_common_is_taken(name: str) -> None:
    assert read(PROMISES[name]["model"], PROMISES[name]["base"])
