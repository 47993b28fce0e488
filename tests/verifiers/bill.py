"""Whether a bill of materials keeps the strict schema of CycloneDX 1.5."""

import pathlib
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(pathlib.Path(sys.argv[1]).read_text())
if error:
    sys.exit(str(error))
