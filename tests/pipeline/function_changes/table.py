"""All changes whose effect on a function's fingerprint is tested and documented."""

from tests.pipeline.function_changes.computed_name import COMPUTED_NAME_CHANGES
from tests.pipeline.function_changes.definition import DEFINITION_CHANGES
from tests.pipeline.function_changes.hidden import HIDDEN_CHANGES
from tests.pipeline.function_changes.imported import IMPORTED_CHANGES
from tests.pipeline.function_changes.kind import KIND_CHANGES
from tests.pipeline.function_changes.on_import import ON_IMPORT_CHANGES
from tests.pipeline.function_changes.outside import OUTSIDE_CHANGES
from tests.pipeline.function_changes.surroundings import SURROUNDINGS_CHANGES

CHANGES = [
    *DEFINITION_CHANGES,
    *ON_IMPORT_CHANGES,
    *IMPORTED_CHANGES,
    *COMPUTED_NAME_CHANGES,
    *SURROUNDINGS_CHANGES,
    *KIND_CHANGES,
    *HIDDEN_CHANGES,
    *OUTSIDE_CHANGES,
]
