"""Machine images that are imported, and the shapes that they may start on."""

from __future__ import annotations

from ..resource import Call, CloudError
from ..store import Record
from ..wire import Properties
from . import facts
from .stored import Stored
from .tenancy import Tenancy, invalid, not_found


class Image(Stored):
    """An image from object storage. GPU machines start from it only after a ShapeManagement allows their shape."""

    kind, collection, guarded = "Image", "image", False
    takes_s, limit_s = 10 * 60, 120 * 60

    def check(self, inputs: Properties, record: Record | None) -> None:
        source = inputs.get("imageSourceDetails")
        if source is None and "instanceId" not in inputs:
            raise invalid("an image comes from imageSourceDetails or from an instance")
        if source is not None and source["sourceType"] == "objectStorageUri" and not source.get("sourceUri"):
            raise invalid("imageSourceDetails: sourceType objectStorageUri needs a sourceUri")

    def outputs(self, record: Record) -> Properties:
        return {"launchMode": "NATIVE", "createImageAllowed": True, "operatingSystem": "Custom", "sizeInMbs": "47694"}


class ShapeManagement(Stored):
    """Lets an imported image start on one shape."""

    kind, collection, guarded, regional = "ShapeManagement", "shapemanagement", False, True

    def check(self, inputs: Properties, record: Record | None) -> None:
        if self.tenancy.store.get("image", inputs["imageId"]) is None:
            raise not_found(inputs["imageId"])
        if not facts.is_shape(inputs["shapeName"]):
            raise invalid(f"shapeName: there is no shape {inputs['shapeName']}")

    def read(self, call: Call, identifier: str, state: Properties) -> Properties | None:
        found = super().read(call, identifier, state)
        # the provider lists the image's shapes, looks at the first page and fails (terraform-provider-oci 8.28.0)
        if found is not None and self.tenancy.faults.happens("shape-on-another-page"):
            raise CloudError(f"requested compatible shape {found['shapeName']} does not exist")
        return found


def check_image(tenancy: Tenancy, image: str, shape: str) -> None:
    """Raises Refused where an image cannot start on a shape; one that was not made here starts on any. In a request."""
    imported = tenancy.store.get("image", image) is not None and facts.shape_of(shape) is not None
    allowed = any(
        (each["inputs"]["imageId"], each["inputs"]["shapeName"]) == (image, shape)
        for each in tenancy.store.list("shapemanagement")
    )
    if tenancy.faults.happens("image-incompatible") or (imported and not allowed):
        raise invalid(f"Shape {shape} is incompatible with image {image}")
