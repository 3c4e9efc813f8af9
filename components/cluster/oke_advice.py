"""What is done about Oracle's refusals: those that pass are asked again, the others are explained."""

from __future__ import annotations

import asyncio

import pulumi

from components.cluster.oke_time import real_seconds
from fabric.plan.clouds.oke import OkeResources, advice_on

_PAUSE_S = 30


def advising(name: str, planned: OkeResources) -> pulumi.ErrorHook:
    """The hook for everything at Oracle: after an error it asks again, or says what it means and what to do.

    The engine calls it where it runs the program: `up`, not `destroy`.
    """

    async def advise(failure: pulumi.ErrorHookArgs) -> bool:
        found = advice_on(planned, failure.name, failure.errors[0] if failure.errors else "")
        if found is None or pulumi.runtime.is_dry_run():
            return False
        # The newest is the first, so there are as many as there have been tries.
        tried = len(failure.errors)
        if tried <= found.tries:
            pulumi.log.info(f"{found.means}: trying again in {_PAUSE_S} s ({tried} of {found.tries})")
            await asyncio.sleep(real_seconds(_PAUSE_S))
            return True
        pulumi.log.error(found.text)
        return False

    return pulumi.ErrorHook(f"{name}: advice on Oracle's refusals", advise)
