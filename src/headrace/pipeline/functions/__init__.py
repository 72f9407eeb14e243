"""Functions: Python over Arrow, with a signature, callable from views on both runners.

A declaration enters; a function leaves that takes and returns Arrow arrays, with a fingerprint of
everything that it depends on. The standard functions are declared in the same way as a project's.
"""
