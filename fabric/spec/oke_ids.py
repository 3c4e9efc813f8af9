"""Oracle's ids, by the kind of thing that they name."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

# ocid1.KIND.REALM.[REGION].UNIQUE, where the region may have a further part that Oracle keeps for later.
_REST = r"\.oc\d{1,3}\.[a-z0-9-]*(\.[a-z0-9-]*)?\.[A-Za-z0-9_-]+$"

Ocid = Annotated[str, StringConstraints(pattern=r"^ocid1\.[a-z0-9-]+" + _REST)]
CompartmentId = Annotated[str, StringConstraints(pattern=r"^ocid1\.(compartment|tenancy)" + _REST)]
TenancyId = Annotated[str, StringConstraints(pattern=r"^ocid1\.tenancy" + _REST)]
VcnId = Annotated[str, StringConstraints(pattern=r"^ocid1\.vcn" + _REST)]
SubnetId = Annotated[str, StringConstraints(pattern=r"^ocid1\.subnet" + _REST)]
RouteTableId = Annotated[str, StringConstraints(pattern=r"^ocid1\.routetable" + _REST)]
ImageId = Annotated[str, StringConstraints(pattern=r"^ocid1\.image" + _REST)]
ReservationId = Annotated[str, StringConstraints(pattern=r"^ocid1\.capacityreservation" + _REST)]
DynamicGroupId = Annotated[str, StringConstraints(pattern=r"^ocid1\.dynamicgroup" + _REST)]
