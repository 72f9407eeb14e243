/* The loops that are worth compiling. All of them are pure: they read and write only what they are
   given, keep nothing, and check every bound, since their input comes from files. Whatever is
   unusual they leave to the caller, who has a slower way that knows everything. */
#ifndef HEADRACE_KERNELS_H
#define HEADRACE_KERNELS_H

#include <stdint.h>

/* Raised whenever a signature changes, here and in library.py: neither then calls an older one. */
#define HEADRACE_ABI 1

int32_t headrace_abi(void);

#endif
