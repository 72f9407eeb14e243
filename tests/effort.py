"""How many examples the property tests try.

`HEADRACE_EXAMPLES` is the number of examples for a property that asks for 100, and scales all
others with it. The default keeps the suite at a few minutes; a soak test sets it to thousands.
"""

import os

STANDARD = 100
EXAMPLES = int(os.environ.get("HEADRACE_EXAMPLES") or STANDARD)
IS_SOAK = "HEADRACE_EXAMPLES" in os.environ


def examples(base: int) -> int:
    """Return the number of examples for a property whose default is `base`."""
    return max(1, base * EXAMPLES // STANDARD)
