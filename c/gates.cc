// Gates of recurrent weights in C: orders, and reorders that change them.
#include "relayout/core/gates.h"

#include <vector>

#include "c/handles.h"

namespace c = relayout::c;

extern "C" {

relayout_status relayout_gate_places(const char* from, const char* to, int64_t* places, int32_t capacity,
                                     int32_t* gates) {
  return c::guarded([&] {
    c::give_numbers(relayout::gate_places(c::checked_text(from, "from"), c::checked_text(to, "to")), places, capacity,
                    gates);
  });
}

relayout_status relayout_permute_gates(const relayout_desc* src_desc, const void* src, size_t src_bytes,
                                       const relayout_desc* dst_desc, void* dst, size_t dst_bytes, int32_t gate_dim,
                                       const char* from, const char* to, const relayout_run_options* options) {
  return c::guarded([&] {
    const relayout::TensorDesc& source = c::checked(src_desc, "src_desc").desc;
    const relayout::TensorDesc& destination = c::checked(dst_desc, "dst_desc").desc;
    const c::RunHow how = c::options_of(options);
    const c::Buffers buffers = c::checked_buffers(source, src, src_bytes, destination, dst, dst_bytes);
    // All plans before the first byte is moved, so that an error leaves the destination alone.
    std::vector<relayout::Plan> plans;
    for (const relayout::GateMove& move : relayout::permute_gates(
             source.layout, destination.layout, gate_dim, c::checked_text(from, "from"), c::checked_text(to, "to"))) {
      plans.push_back(relayout::cpu::make_plan({move.src, source.dtype}, {move.dst, destination.dtype}));
    }
    c::run(plans, buffers, how);
  });
}

}  // extern "C"
