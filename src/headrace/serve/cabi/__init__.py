"""The C library `libheadrace`, also installed as `libdelta_lazy`, for engines in any language.

Calls from C enter; the files of a table leave, through a callback or as an Arrow stream. The
library embeds a Python interpreter, started by the first call; `headrace build-cabi` compiles it.
"""
