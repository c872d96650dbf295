"""What every Kafka message looks like at every version: text files, and decoders made from them.

Importing this reads no schema; see :mod:`kdissect.schema.catalogue` for what
is read when, :mod:`kdissect.schema.notation` for the notation, and
:mod:`kdissect.schema.message` for decoding.
"""

from kdissect.schema.catalogue import (
    Api,
    ApiHead,
    Format,
    api,
    api_name,
    apis,
    format,
    formats,
    load,
    record,
    version_table,
)
from kdissect.schema.error_codes import error_codes, error_name
from kdissect.schema.layout import Field, Layout
from kdissect.schema.notation import SchemaError

__all__ = [
    "Api",
    "ApiHead",
    "Field",
    "Format",
    "Layout",
    "SchemaError",
    "api",
    "api_name",
    "apis",
    "error_codes",
    "error_name",
    "format",
    "formats",
    "load",
    "record",
    "version_table",
]
