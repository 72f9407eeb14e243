"""All scalar entries of the catalogue."""

from headrace.pipeline.translation.catalogue.arithmetic import ARITHMETIC
from headrace.pipeline.translation.catalogue.binary import BINARY
from headrace.pipeline.translation.catalogue.collection import COLLECTION
from headrace.pipeline.translation.catalogue.entry import Catalogue
from headrace.pipeline.translation.catalogue.form import FORM
from headrace.pipeline.translation.catalogue.interval import INTERVAL
from headrace.pipeline.translation.catalogue.json import JSON
from headrace.pipeline.translation.catalogue.number import NUMBER
from headrace.pipeline.translation.catalogue.number_text import NUMBER_TEXT
from headrace.pipeline.translation.catalogue.pattern import PATTERN
from headrace.pipeline.translation.catalogue.special_value import SPECIAL_VALUE
from headrace.pipeline.translation.catalogue.text import TEXT
from headrace.pipeline.translation.catalogue.time import TIME
from headrace.pipeline.translation.catalogue.time_format import TIME_FORMAT
from headrace.pipeline.translation.catalogue.time_zone import TIME_ZONE
from headrace.pipeline.translation.catalogue.variant import VARIANTS
from headrace.pipeline.translation.catalogue.vector import VECTOR
from headrace.pipeline.translation.catalogue.word import WORD
from headrace.pipeline.translation.catalogue.xpath import XPATH

SCALAR = Catalogue(
    [
        *(*FORM, *NUMBER, *ARITHMETIC, *SPECIAL_VALUE, *NUMBER_TEXT),
        *(*TEXT, *WORD, *PATTERN, *BINARY, *JSON),
        *(*TIME, *TIME_FORMAT, *TIME_ZONE, *INTERVAL, *COLLECTION, *VECTOR, *VARIANTS, *XPATH),
    ]
)
