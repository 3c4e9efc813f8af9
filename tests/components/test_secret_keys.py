"""Secret keys of a stack file in a project of another name."""

from __future__ import annotations

from unittest.mock import patch

import pulumi
import pytest

from components.secret_keys import secret_configuration


@pytest.mark.components
@pytest.mark.parametrize(
    ("written", "found"),
    [
        (("gpu-fabric:admin",), "gpu-fabric:admin"),
        (("acme:admin",), "acme:admin"),
        (("acme:admin", "gpu-fabric:admin"), "gpu-fabric:admin"),
        # The key that a message then names.
        ((), "gpu-fabric:admin"),
    ],
)
def test_a_secret_is_found_under_this_programs_name_and_under_that_of_a_renamed_project(
    written: tuple[str, ...], found: str
) -> None:
    values = {name: "a kubeconfig" for name in written}
    with (
        patch("pulumi.config.get_project", lambda: "acme"),
        patch("pulumi.runtime.config.get_config", lambda key, default=None: values.get(key, default)),
    ):
        assert secret_configuration("admin").full_key("admin") == found
        assert isinstance(secret_configuration("admin"), pulumi.Config)
