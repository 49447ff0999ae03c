// scales: the scale factors of block-scaled matrices (MXFP8 and NVFP4) as cuBLAS and cuDNN want them.
//
// A matrix of m x k factors is stored in tiles of 128 x 4, tile after tile along k. In a tile, factor (m, k) is at
// (m % 32) * 16 + (m % 128) / 32 * 4 + k % 4, so that the 32 rows that a quarter of a warp's threads read lie 16 bytes
// apart. What is beyond the matrix in the last tiles is padding, which is memory.
//
//     scales:128x4     m = (32,16)(4,4)(ceil(M/128), 512*ceil(K/4))   k = (4,1)(ceil(K/4), 512)
//
// Source: the cuBLAS documentation, "1D Block Scaling Factors Layout".
#include "relayout/core/notations/notation.h"

namespace relayout {

Spelled read_scales(NotationText& text) {
  if (text.rest() != "128x4") text.fail("block scales are stored in tiles of 128x4: scales:128x4");
  text.all();
  Spelled out;
  // Along memory, m % 32 steps over m / 32 % 4; as digits of m it is the other way round.
  out.tag = "AB32a4a4b";
  out.places = {0, 1, 0};
  out.names = "mk";
  return out;
}

}  // namespace relayout
