// Runs gathers from chunks.
#include <cstring>

#include "relayout/cpu/runners/gather.h"
#include "relayout/cpu/runners/methods.h"

namespace relayout::cpu {

void make(const RunContext& context, const Loops& loops, const Chunks& method, const Block& block) {
  prefetch(loops, block);
  if (method.groups.bytes == 1) return gather_elements(context, loops, block);
  with_element(loops.piece[kSrc], [&]<typename T>(T) {
    alignas(kCacheLine) std::byte permuted[kMaxBlockSide * sizeof(T)];
    for (int64_t r = 0; r < block.rows; ++r) {
      std::byte* to = block.dst + block.dst_rows[r];
      context.kernels.shuffle(block.src + block.src_rows[r], kFirst, kFirst, permuted, kFirst, kFirst, 1, 1,
                              method.bytes, method.groups.pattern.data());
      for (int64_t c = 0; c < block.cols; ++c)
        std::memcpy(to + block.dst_cols[c], permuted + block.src_cols[c], sizeof(T));
    }
  });
}

}  // namespace relayout::cpu
