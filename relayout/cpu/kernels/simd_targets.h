// Which of Highway's targets the kernels are compiled for: to be included before its headers.
//
// Each target is compiled from the whole source of the kernels, so only those are here that make a difference on
// machines in use: SSE4 (before 2013, and small cores until 2021), AVX2, AVX-512 as of 2017 (AVX3) and with byte
// permutations as of 2019 (AVX3_DL). Processors that have no more than SSE2 or SSSE3 run the plain kernels: Intel's are
// of before 2008, AMD's of before 2011, but for a few small ones. No kernel uses what Zen 4 (AVX3_ZEN4) and Sapphire
// Rapids (AVX3_SPR) have beyond AVX3_DL.
#pragma once

// Byte permutations of AVX-512 are a target that older Highways make only when asked.
#define HWY_WANT_AVX3_DL 1

// By Highway's numbers (hwy/detect_targets.h), as versions before 1.0.7 have no names for some: SSE2 is bit 14, SSSE3
// bit 12, AVX3_ZEN4 bit 6, AVX3_SPR bit 4 and AVX10_2 bit 3. No target of another architecture has these bits.
#define RELAYOUT_DISABLED_TARGETS ((1 << 14) | (1 << 12) | (1 << 6) | (1 << 4) | (1 << 3))
#define HWY_DISABLED_TARGETS RELAYOUT_DISABLED_TARGETS
