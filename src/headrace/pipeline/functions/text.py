"""Normalises strings, so that different spellings of the same text become equal."""

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.functions.declaration import function

_FORM = "NFKC"
_FORMS = ("NFC", "NFD", "NFKC", "NFKD")


@function("STRING", "STRING", "BOOLEAN", "BOOLEAN", returns="STRING", required=1)
def utf8_normalize(
    texts: pa.Array,
    forms: pa.Array | None = None,
    lower: pa.Array | None = None,
    collapse: pa.Array | None = None,
) -> pa.Array:
    """A string trimmed, Unicode-normalised, in lower case, with runs of white space collapsed.

    The form is NFKC, or the second argument: NFC, NFD or NFKD; the third and the fourth argument
    turn lower case and collapsing off. A blank string becomes null.
    """
    given = pc.utf8_trim_whitespace(texts)
    normal = _in_forms(given, forms)
    normal = _where(lower, pc.utf8_lower(normal), normal)
    spaced = pc.replace_substring_regex(normal, r"[\s\p{Z}]+", " ")
    return utf8_null_if_blank.kernel(_where(collapse, spaced, normal))


@function("STRING", returns="STRING")
def utf8_null_if_blank(texts: pa.Array) -> pa.Array:
    """A trimmed string; null if it is blank."""
    trimmed = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)


@function("STRING", "STRING", returns="STRING", required=1)
def qname_normalize(symbols: pa.Array, modules: pa.Array | None = None) -> pa.Array:
    """A qualified name: `module.symbol`, both normalised; a symbol with a dot is not qualified.

    Null if the symbol is null or blank; a null or blank module is omitted.
    """
    names = utf8_normalize.kernel(symbols)
    if modules is None:
        return names
    qualified = pc.binary_join_element_wise(utf8_normalize.kernel(modules), names, ".")
    alone = pc.or_(pc.match_substring(names, "."), pc.is_null(qualified))
    return pc.if_else(alone, names, qualified)


def _in_forms(texts: pa.Array, forms: pa.Array | None) -> pa.Array:
    normal = pc.utf8_normalize(texts, _FORM)
    if forms is None:
        return normal
    form_names = pc.utf8_upper(pc.fill_null(forms, _FORM))
    for form in pc.unique(form_names).to_pylist():
        if form not in _FORMS:
            raise ValueError(f"{form!r} is no Unicode form; there are {', '.join(_FORMS)}")
        normal = pc.if_else(pc.equal(form_names, form), pc.utf8_normalize(texts, form), normal)
    return normal


def _where(flags: pa.Array | None, changed: pa.Array, unchanged: pa.Array) -> pa.Array:
    if flags is None:
        return changed
    return pc.if_else(pc.fill_null(flags, True), changed, unchanged)
