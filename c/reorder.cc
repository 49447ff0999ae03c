// Reorders in C: plans, running them, and both at once.
#include "c/handles.h"

namespace c = relayout::c;
using relayout::Error;
using relayout::ErrorCode;

namespace {

/// The caller's memory. It may be null where nothing is needed.
template <typename Byte, typename Pointer>
std::span<Byte> memory(Pointer* data, size_t bytes, std::string_view parameter) {
  if (data == nullptr && bytes != 0) c::refuse(parameter, "is null, but its size is " + std::to_string(bytes));
  return {static_cast<Byte*>(data), bytes};
}

/// Error where a buffer does not hold its layout.
void check_size(std::string_view parameter, size_t bytes, int64_t needed) {
  if (bytes >= static_cast<size_t>(needed)) return;
  throw Error(ErrorCode::buffer_too_small,
              std::string(parameter) + " has " + std::to_string(bytes) + " bytes, and its layout takes " +
                  std::to_string(needed),
              std::string(parameter), std::to_string(bytes), std::to_string(needed));
}

void check_apart(const void* src, int64_t src_bytes, const void* dst, int64_t dst_bytes) {
  const auto a = reinterpret_cast<uintptr_t>(src), b = reinterpret_cast<uintptr_t>(dst);
  if (src_bytes == 0 || dst_bytes == 0 || a + static_cast<uintptr_t>(src_bytes) <= b ||
      b + static_cast<uintptr_t>(dst_bytes) <= a)
    return;
  throw Error(ErrorCode::overlap, "src and dst share memory; relayout_reorder_in_place works within one buffer", "dst");
}

}  // namespace

extern "C" {

relayout_status relayout_plan_make(const relayout_desc* src, const relayout_desc* dst,
                                   const relayout_attributes* attributes, relayout_plan** plan) {
  return c::guarded([&] {
    const relayout_desc &from = c::checked(src, "src"), &to = c::checked(dst, "dst");
    relayout_plan*& out = c::result(plan, "plan");
    out = new relayout_plan(relayout::cpu::make_plan(from.desc, to.desc, c::attributes_of(attributes)));
  });
}

void relayout_plan_free(relayout_plan* plan) { c::free_handle(plan); }

relayout_status relayout_plan_explain(const relayout_plan* plan, char* text, size_t capacity, size_t* length) {
  return c::guarded([&] { c::give_text(c::checked(plan, "plan").plan.explain(), text, capacity, length); });
}

relayout_status relayout_plan_run(const relayout_plan* plan, const void* src, size_t src_bytes, void* dst,
                                  size_t dst_bytes, const relayout_run_options* options) {
  return c::guarded([&] {
    const relayout::Plan& made = c::checked(plan, "plan").plan;
    const relayout::cpu::RunOptions run_options = c::options_of(options);
    const auto in = memory<const std::byte>(src, src_bytes, "src");
    const auto out = memory<std::byte>(dst, dst_bytes, "dst");
    const int64_t src_needed = made.src().span_bytes(), dst_needed = made.dst().span_bytes();
    check_size("src", src_bytes, src_needed);
    check_size("dst", dst_bytes, dst_needed);
    check_apart(src, src_needed, dst, dst_needed);
    relayout::cpu::run(made, in.data(), out.data(), run_options);
  });
}

relayout_status relayout_reorder(const relayout_desc* src_desc, const void* src, size_t src_bytes,
                                 const relayout_desc* dst_desc, void* dst, size_t dst_bytes,
                                 const relayout_attributes* attributes, const relayout_run_options* options) {
  return c::guarded([&] {
    const relayout_desc &from = c::checked(src_desc, "src_desc"), &to = c::checked(dst_desc, "dst_desc");
    relayout::cpu::reorder(from.desc, memory<const std::byte>(src, src_bytes, "src"), to.desc,
                           memory<std::byte>(dst, dst_bytes, "dst"), c::attributes_of(attributes),
                           c::options_of(options));
  });
}

relayout_status relayout_reorder_in_place(const relayout_desc* src_desc, const relayout_desc* dst_desc, void* buffer,
                                          size_t bytes, const relayout_attributes* attributes,
                                          const relayout_run_options* options) {
  return c::guarded([&] {
    const relayout_desc &from = c::checked(src_desc, "src_desc"), &to = c::checked(dst_desc, "dst_desc");
    relayout::cpu::reorder_in_place(from.desc, to.desc, memory<std::byte>(buffer, bytes, "buffer"),
                                    c::attributes_of(attributes), c::options_of(options));
  });
}

}  // extern "C"
