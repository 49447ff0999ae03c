// Runs gathers from chunks.
#include "relayout/cpu/runners/gather.h"
#include "relayout/cpu/runners/methods.h"

namespace relayout::cpu {

void make(const RunContext& context, const Loops& loops, const Chunks&, const Block& block) {
  prefetch(loops, block);
  gather_elements(context, loops, block);
}

}  // namespace relayout::cpu
