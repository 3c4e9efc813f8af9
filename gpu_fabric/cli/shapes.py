"""`gpu-fabric shapes`: list the catalog's machines."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.shape import Vendor
from gpu_fabric.cli.conversation import Output, print_json, refuse
from gpu_fabric.report.pages.shapes import listed_shape, matching_shapes, shape_page, shape_table
from gpu_fabric.report.text import print_report
from gpu_fabric.spec.suggestion import no_shape


def known_shapes(incomplete: str) -> list[str]:
    """The shapes whose names begin with a text, for the shell's completion."""
    return [name for name in (*catalog().shapes, *catalog().machines) if name.startswith(incomplete)]


def shapes(
    name: Annotated[
        str | None, typer.Argument(help="show everything about this one", autocompletion=known_shapes)
    ] = None,
    provider: Annotated[
        Literal["oci", "doks", "cloud", "server"] | None, typer.Option(help="only what this provider offers")
    ] = None,
    vendor: Annotated[Vendor | None, typer.Option(help="only with GPUs of this vendor")] = None,
    gpu: Annotated[str | None, typer.Option(help="only with GPUs whose model begins so, such as H100")] = None,
    rdma: Annotated[bool | None, typer.Option("--rdma/--no-rdma", help="only with, or without, RDMA NICs")] = None,
    output: Output = "text",
) -> None:
    """List the shapes of the catalog, or show one."""
    known = catalog()
    if name is not None:
        shape = known.find(name)
        if shape is None:
            refuse(no_shape(name, (*known.shapes.values(), *known.machines.values())))
        if output == "json":
            print_json(listed_shape(shape, known.topologies))
        else:
            print_report(shape_page(shape, known.topologies))
        return
    every = (*known.shapes.values(), *known.machines.values())
    found = matching_shapes(every, provider=provider, vendor=vendor, gpu=gpu, rdma=rdma)
    if not found:
        refuse("no shape fits all of these filters; `gpu-fabric shapes` lists them all")
    if output == "json":
        print_json({shape.name: listed_shape(shape, known.topologies) for shape in found})
    else:
        print_report(shape_table(found, known.topologies))
