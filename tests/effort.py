"""How hard the property tests try.

`HEADRACE_EXAMPLES` is the number of examples of a property that asks for 100, and scales all
others with it: the default keeps the suite at a few minutes, a soak sets it to thousands.
"""

import os

STANDARD = 100
EXAMPLES = int(os.environ.get("HEADRACE_EXAMPLES") or STANDARD)


def examples(base: int) -> int:
    """The number of examples for a property that takes `base` of them by default."""
    return max(1, base * EXAMPLES // STANDARD)
