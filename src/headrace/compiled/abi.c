#include "kernels.h"

int32_t headrace_abi(void) { return HEADRACE_ABI; }
