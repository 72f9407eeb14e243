"""Converts Java regular expressions to Python's, where both mean the same for all texts.

Java has more line terminators than Python, so `.` and `$` are written out. Not supported are
references, look-behind, possessive quantifiers, word boundaries (releases of Java differ), and
repeated groups that can match nothing, which leave different captures.
"""

import re

_LINE_ENDS = "\\n\\r\\u0085\\u2028\\u2029"
_DOT = f"[^{_LINE_ENDS}]"
_END = "(?=(?:\\r\\n|(?<!\\r)\\n|[\\r\\u0085\\u2028\\u2029])?\\Z)"
_TOKEN = re.compile(
    r"(?P<flag>\A\(\?i\))"
    r"|(?P<open>\((?:\?[:=!])?(?!\?))"
    r"|(?P<close>\))"
    r"|(?P<bar>\|)"
    r"|(?P<repeat>(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})\??)"
    r"|(?P<set>\[\^?(?:[A-Za-z0-9 ,.;:!@#%=_<>/~'\"`+*?()$|{}\u00a1-\U0010ffff-]"
    r"|\\[dwstnr.\\\]\[$+*?(){}|^/-])+\])"
    r"|(?P<dot>\.)|(?P<end>\$)|(?P<start>\^)"
    r"|(?P<plain>\\[dDwWsStnr.\\+*?()\[\]{}|^$/-]|[^\\\[\](){}*+?.^$|])",
    re.DOTALL,
)
_QUANTIFIABLE = frozenset({"close", "set", "dot", "plain"})


def python_pattern(java: str) -> str | None:
    """Return the pattern for Python's `re` in ASCII mode; None if the two may differ."""
    written, place, before = "", 0, ""
    opened: list[int] = []
    group = ""
    while place < len(java):
        token = _TOKEN.match(java, place)
        if token is None:
            return None
        kind = str(token.lastgroup)
        if kind == "repeat" and (before not in _QUANTIFIABLE or _may_be_empty(before, group)):
            return None
        if kind == "open":
            opened.append(len(written))
        elif kind == "close":
            if not opened:
                return None
            group = written[opened.pop() :] + ")"
        written += {"dot": _DOT, "end": _END, "start": r"\A"}.get(kind, token[0])
        place, before = token.end(), kind
    is_odd = "&&" in java or "--" in java or "[[" in java
    return written if not opened and not is_odd and _compiles(written) else None


def _may_be_empty(before: str, group: str) -> bool:
    return before == "close" and (not _compiles(group) or re.match(group, "") is not None)


def splits_letters(pattern: str) -> bool:
    """Return whether a search may continue after an empty match before a surrogate pair.

    Java continues between the two UTF-16 units, where Python has no position.
    """
    if pattern.startswith(r"\A") and "|" not in pattern.replace(_END, ""):
        return False
    looks_ahead = re.search(r"\(\?[=!]", pattern.replace(_END, "")) is not None
    return looks_ahead or re.match(pattern, "", re.ASCII) is not None


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern, re.ASCII)
    except re.error:
        return False
    return True


def replacement_parts(java: str, groups: int) -> str | None:
    """Return a replacement with `$1` groups as a Python template; None if it is unclear."""
    written, place = "", 0
    while place < len(java):
        letter = java[place]
        place += 1
        if letter == "$":
            digits = re.match(r"\d+", java[place:])
            if digits is None or len(digits[0]) > 1 or int(digits[0]) > groups:
                return None
            written += f"\\g<{digits[0]}>"
            place += 1
        elif letter == "\\":
            if place == len(java):
                return None
            written += _quoted(java[place])
            place += 1
        else:
            written += _quoted(letter)
    return written


def _quoted(letter: str) -> str:
    return "\\\\" if letter == "\\" else letter
