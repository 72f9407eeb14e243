"""Functions: Python over Arrow, with a signature, usable in views on both runners.

A declaration enters; a function leaves that takes and gives Arrow arrays, and a fingerprint of
all that it is made of. The standard functions are declared here in the same way as a project's.
"""
