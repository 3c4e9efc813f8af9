"""`gpu-fabric image-check`: what an image of jobs has, and what of it does not fit a stack's nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpu_fabric.catalog import catalog
from gpu_fabric.cli.conversation import Output, print_as, refuse
from gpu_fabric.cli.registry import Registry, reference_of
from gpu_fabric.cli.stack_choice import StackFile, StackName, chosen_stack, planning
from gpu_fabric.image.judging import architecture_of, checked_image, image_lines
from gpu_fabric.image.layers import ImageError, read_image
from gpu_fabric.image.software import Chooser, software_of
from gpu_fabric.plan.case import case_of
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.places import printable

_HOW = (
    "write the image with its registry, as in docker.io/library/debian:13, or save it with `docker save IMAGE -o FILE`"
)


def image_check(
    image: Annotated[
        str,
        typer.Argument(
            metavar="TAR|FOLDER|IMAGE",
            help="what `docker save` wrote, an OCI layout as a tar or a folder, or an image with its registry",
        ),
    ],
    stack: StackName = None,
    stack_file: StackFile = None,
    abi: Annotated[
        int | None,
        typer.Option(min=0, help="what /sys/class/infiniband_verbs/uverbs*/abi_version says on the nodes"),
    ] = None,
    output: Output = "text",
) -> None:
    """Compare an image of jobs with a stack: provider libraries, NCCL, architecture, and what MPI jobs start."""
    name, path, reference = printable(image), Path(image), reference_of(image)
    if reference is None and not path.exists():
        refuse(f"{name}: no such file or folder; {_HOW}")
    choice = chosen_stack(stack, stack_file)
    with planning(output) as progress:
        spec, plan = prepare(choice.read(), for_up=False, progress=progress)
        if plan.part == "cluster":
            refuse(f"stack {plan.stack} creates a cluster only; the fabric is in the stack with part platform")
        case = case_of(spec)
        progress.step(f"reading {name}")
        chosen = Chooser(row.name for row in catalog().job_images.providers)
        try:
            source = path if reference is None or path.exists() else Registry(reference)
            software = software_of(read_image(source, chosen, architecture_of(case, case.groups[0])))
        except ImageError as error:
            refuse(f"{name}: {error}")
        except OSError as error:
            refuse(f"{name}: {error.strerror or error}")
        checked = checked_image(name, software, spec, plan, abi)
    print_as(output, checked, image_lines(checked))
    if checked.errors:
        raise typer.Exit(1)
