"""All changes by topic, for the tests and for the documentation."""

from tests.pipeline.mutations.column import COLUMNS
from tests.pipeline.mutations.definition import FUNCTIONS, TEXT
from tests.pipeline.mutations.mutation import Mutation
from tests.pipeline.mutations.source import PARQUET, SOURCES
from tests.pipeline.mutations.surroundings import CLOCK_AND_SESSION, SETTINGS, WRITING

SECTIONS: dict[str, list[Mutation]] = {
    "The text of a view": TEXT,
    "Functions": FUNCTIONS,
    "Delta sources": SOURCES,
    "Columns": COLUMNS,
    "Parquet sources": PARQUET,
    "The clock, chance and the session": CLOCK_AND_SESSION,
    "Settings and variables": SETTINGS,
    "How results are written": WRITING,
}
MUTATIONS = [mutation for section in SECTIONS.values() for mutation in section]
