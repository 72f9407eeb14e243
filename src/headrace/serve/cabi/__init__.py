"""The C library: `libheadrace`, also under the name `libdelta_lazy`, for engines in any language.

Calls from C enter; the files of a table leave, by a callback or as an Arrow stream. The library
holds a Python interpreter, started by the first call; `headrace build-cabi` compiles it.
"""
