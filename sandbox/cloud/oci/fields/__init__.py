"""What the resource types take and give, from the tables next to this file.

Names, kinds and required inputs are those of the provider's Python package 5.5.0. The flags are those of the schema of
Oracle's Terraform provider 8.28.0; each property of the stacks was run against it.
"""

from pathlib import Path

from ...field_tables import FieldTables

_TABLES = FieldTables(Path(__file__).parent)
fields_of, token_of, kinds = _TABLES.fields_of, _TABLES.token_of, _TABLES.kinds
