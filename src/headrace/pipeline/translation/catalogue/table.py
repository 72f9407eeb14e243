"""All scalar entries."""

from headrace.pipeline.translation.catalogue.collection import COLLECTION
from headrace.pipeline.translation.catalogue.entry import Catalogue
from headrace.pipeline.translation.catalogue.form import FORM
from headrace.pipeline.translation.catalogue.number import NUMBER
from headrace.pipeline.translation.catalogue.text import TEXT
from headrace.pipeline.translation.catalogue.time import TIME

SCALAR = Catalogue([*FORM, *NUMBER, *TEXT, *TIME, *COLLECTION])
