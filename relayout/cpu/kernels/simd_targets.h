// Which of Highway's targets the kernels are compiled for: to be included before its headers.
//
// Each target compiles the whole source of the kernels again, so there are only targets that make a difference on
// machines in use: SSE4 (processors before 2013, and small cores until 2021), AVX2, AVX-512 as of 2017 (AVX3), and
// AVX-512 with byte permutations as of 2019 (AVX3_DL). Processors with only SSE2 or SSSE3 run the plain kernels. Apart
// from a few small ones, these are Intel's of before 2008 and AMD's of before 2011. No kernel uses instructions that
// Zen 4 (AVX3_ZEN4) and Sapphire Rapids (AVX3_SPR) add to AVX3_DL. On 64-bit Arm there is NEON, which every processor
// has. The targets of Arm's registers of unknown length (SVE) are left out: the kernels keep registers in arrays and
// lambdas, which these cannot be put into.
#pragma once

// Older versions of Highway compile for AVX3_DL only if asked.
#define HWY_WANT_AVX3_DL 1

// Targets are given by Highway's bits (hwy/detect_targets.h), because versions before 1.0.7 lack some names: SSE2 is
// bit 14, SSSE3 bit 12, AVX3_ZEN4 bit 6, AVX3_SPR bit 4 and AVX10_2 bit 3; the targets of SVE, and NEON with more than
// each processor has, are among bits 15 to 27. No target of another architecture has these bits.
#define RELAYOUT_NEWER_ARM ((1 << 28) - (1 << 15))
#define RELAYOUT_DISABLED_TARGETS ((1 << 14) | (1 << 12) | (1 << 6) | (1 << 4) | (1 << 3) | RELAYOUT_NEWER_ARM)
#define HWY_DISABLED_TARGETS RELAYOUT_DISABLED_TARGETS
