"""Normalizes LIKE patterns to one escape character, the backslash."""


def like_parts(pattern: str, escape: str) -> str | None:
    r"""Return the pattern with `\` as its escape; None if Spark would reject it.

    Only `%`, `_` and the escape itself may be escaped.
    """
    written, place = "", 0
    while place < len(pattern):
        letter = pattern[place]
        if letter == escape:
            place += 1
            if place == len(pattern) or pattern[place] not in {"%", "_", escape}:
                return None
            written += f"\\{pattern[place]}" if pattern[place] in "%_\\" else pattern[place]
        else:
            written += "\\\\" if letter == "\\" else letter
        place += 1
    return written
