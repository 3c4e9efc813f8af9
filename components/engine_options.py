"""How the plan has a resource treated, as options of the engine."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi

from gpu_fabric.resources.resource import Handling


def handled(
    options: pulumi.ResourceOptions, handling: Handling, made: Mapping[str, pulumi.Resource] = {}
) -> pulumi.ResourceOptions:
    """Options with the planned handling; `made` has the resources that others may be deleted with, by their names."""
    timeouts = handling.timeouts
    planned = pulumi.ResourceOptions(
        protect=handling.protect or None,
        delete_before_replace=handling.delete_before_replace or None,
        replace_on_changes=list(handling.replace_on_changes) or None,
        ignore_changes=list(handling.ignore_changes) or None,
        retain_on_delete=handling.retain_on_delete or None,
        import_=handling.adopts,
        custom_timeouts=pulumi.CustomTimeouts(timeouts.create, timeouts.update, timeouts.delete)
        if any((timeouts.create, timeouts.update, timeouts.delete))
        else None,
        deleted_with=made[handling.deleted_with] if handling.deleted_with else None,
    )
    return pulumi.ResourceOptions.merge(options, planned)
