"""`gpu-fabric images`: the images and charts that a stack pulls, and their sources."""

from __future__ import annotations

from gpu_fabric.cli.conversation import Output, print_as
from gpu_fabric.cli.stack_choice import StackArgument, StackFile, StackName, chosen_stack, planning
from gpu_fabric.plan.images import ImageList, image_list
from gpu_fabric.prepare import plan_spec
from gpu_fabric.spec.load import validated


def images(
    named: StackArgument = None,
    stack: StackName = None,
    stack_file: StackFile = None,
    output: Output = "text",
) -> None:
    """List every image and chart that a stack uses, by digest where it is known, and what cannot be known."""
    choice = chosen_stack(stack, stack_file, named)
    with planning(output) as progress:
        document = choice.read()
        spec = validated(document)
        # A plan without the mirrors names the images that must be mirrored.
        published = spec.model_copy(update={"software": spec.software.model_copy(update={"registries": {}})})
        planned = plan_spec(published, progress)
        progress.step("listing images")
        found = image_list(planned, spec.catalog, spec.software.registries)
    print_as(output, found, _lines(found))


def _lines(found: ImageList) -> list[str]:
    lines = [f"Images of stack {found.stack}, release line {found.release_line}"]
    for image in found.images:
        lines += ["", image.reference]
        if image.pulled_as != image.reference:
            lines.append(f"    pulled as  {image.pulled_as}")
        lines.append(f"    digest     {image.digest or 'unknown'}")
        lines.append(f"    used by    {', '.join(image.used_by)}")
        lines += [f"    note       {note}" for note in image.notes]
    lines += ["", "Charts"] + ([] if found.charts else ["", "none"])
    for chart in found.charts:
        lines += ["", f"{chart.name} {chart.version}"]
        lines.append(f"    source     {chart.source}")
        if chart.pulled_from != chart.source:
            lines.append(f"    {'stand-in ' if chart.stand_in else 'pulled as'}  {chart.pulled_from}")
        lines.append(f"    digest     {chart.digest or 'unknown'}")
    lines += ["", "Unknown"] + ([] if found.unknown else ["", "nothing"])
    for entry in found.unknown:
        lines += ["", f"{entry.used_by}: {entry.what}"]
    return lines
