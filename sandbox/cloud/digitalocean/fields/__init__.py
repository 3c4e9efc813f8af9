"""What the resource types take and give, from the table next to this file."""

from pathlib import Path

from ...field_tables import FieldTables

fields_of = FieldTables(Path(__file__).parent).fields_of
