"""The classes of dynamic resources in a state that another program goes on with."""

import base64
import json
import pickle
import sys
from copy import deepcopy
from itertools import accumulate
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest

from gpu_fabric.live.moved_state import CHECKOUT, PACKAGE, UnknownProviderError, renamed, renamed_providers

# By these Pulumi marks a secret in an export with `--show-secrets`.
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}


def recorded(module: str, name: str = "KeptObjectsProvider") -> str:
    """A provider as Pulumi's SDK records it: an object of a class, by its module and name."""
    made = {part: ModuleType(part) for part in accumulate(module.split("."), "{}.{}".format)}
    provider = type(name, (), {"__module__": module})
    made[module].__dict__[name] = provider
    with patch.dict(sys.modules, made):
        return base64.b64encode(pickle.dumps(provider(), protocol=4)).decode()


def state(provider: str) -> dict[str, Any]:
    """A state with the provider as secret input and output of a resource, and of one that was being created."""
    secret = {**SECRET, "plaintext": json.dumps(provider)}
    resource = {"urn": "urn:kept", "inputs": {"__provider": secret}, "outputs": {"__provider": deepcopy(secret)}}
    others = [{"urn": "urn:stack"}, {"urn": "urn:chart", "inputs": {"name": "kueue"}, "outputs": {}}]
    pending = [{"type": "creating", "resource": {"urn": "urn:new", "inputs": {"__provider": deepcopy(secret)}}}]
    return {"resources": [*others, resource], "pending_operations": pending}


@pytest.mark.parametrize("module", ["kept_objects", "rdma.verification", "operators.queue_teardown"])
def test_a_recorded_class_gets_the_name_that_the_other_program_would_record(module: str) -> None:
    there, here = recorded(f"{CHECKOUT}.{module}"), recorded(f"{PACKAGE}.{module}")

    assert renamed(there, PACKAGE) == here
    assert renamed(here, CHECKOUT) == there
    assert renamed(here, PACKAGE) == here


def test_every_place_of_a_state_is_renamed_and_nothing_else() -> None:
    moved = state(recorded("components.kept_objects"))

    assert renamed_providers(moved, PACKAGE) == 3
    assert moved == state(recorded("gpu_fabric.components.kept_objects"))
    assert renamed_providers(moved, PACKAGE) == 0


def test_a_provider_of_another_program_stays_as_it_is() -> None:
    theirs = state(recorded("their_components.databases"))

    assert renamed_providers(theirs, PACKAGE) == 0


@pytest.mark.parametrize(
    "provider", [{**SECRET, "ciphertext": "v1:abc"}, "no base64", recorded("components.kept_objects")[:-8]]
)
def test_a_form_that_is_not_known_is_refused_by_the_resources_name(provider: Any) -> None:
    moved = {"resources": [{"urn": "urn:kept", "inputs": {"__provider": provider}}]}

    with pytest.raises(UnknownProviderError, match="urn:kept"):
        renamed_providers(moved, PACKAGE)
