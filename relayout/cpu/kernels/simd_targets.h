// Which of Highway's targets the kernels are compiled for: to be included before its headers.
#pragma once

// Byte permutations of AVX-512 are a target that older Highways make only when asked.
#define HWY_WANT_AVX3_DL 1
