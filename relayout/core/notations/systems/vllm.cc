// vLLM's key/value caches. Logically all are (l, b, h, n, c): layers, blocks, heads, the slots of a block, and the
// content of a slot, which is a key and a value side by side. A name is the order of memory, outermost first; a layer
// alone leaves L out. NHD and HND are the older names, of all layers or of one.
//
//     vllm:LBHNC    [L][B][H][N][C]
//     vllm:BLNHC    [B][L][N][H][C]
//     vllm:NHD      LBNHC, or BNHC of one layer
//
// Source: vLLM, vllm-project/vllm#42082 and #51718. interop/kv_cache.h has the caches of paged attention before them,
// and the tables that say which block a position is in.
#include "relayout/core/notations/systems/system.h"

namespace relayout::systems {
namespace {

constexpr std::string_view kAll = "lbhnc", kOneLayer = "bhnc";

constexpr SystemName kVllm[] = {
    {"LBHNC", "abcde", kAll},    {"LBNHC", "abdce", kAll}, {"LHBNC", "acbde", kAll},    {"BLHNC", "bacde", kAll},
    {"BLNHC", "badce", kAll},    {"BHLNC", "bcade", kAll}, {"BHNC", "abcd", kOneLayer}, {"BNHC", "acbd", kOneLayer},
    {"HBNC", "bacd", kOneLayer}, {"NHD", "abdce", kAll},   {"NHD", "acbd", kOneLayer},  {"HND", "abcde", kAll},
    {"HND", "abcd", kOneLayer},
};

}  // namespace

const NamedSystem& vllm() {
  static constexpr NamedSystem kSystem{"vllm", "vLLM", kVllm};
  return kSystem;
}

}  // namespace relayout::systems
