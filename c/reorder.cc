// Reorders in C: plans, running them, and both at once.
#include "c/handles.h"
#include "relayout/cpu/parts.h"

namespace c = relayout::c;
using relayout::Error;
using relayout::ErrorCode;

namespace {

void check_apart(const void* src, int64_t src_bytes, const void* dst, int64_t dst_bytes) {
  if (!c::share_memory(src, src_bytes, dst, dst_bytes)) return;
  throw Error(ErrorCode::overlap, "src and dst share memory; relayout_reorder_in_place works within one buffer", "dst");
}

}  // namespace

namespace relayout::c {

Buffers checked_buffers(const TensorDesc& src_desc, const void* src, size_t src_bytes, const TensorDesc& dst_desc,
                        void* dst, size_t dst_bytes) {
  const auto in = memory<const std::byte>(src, src_bytes, "src");
  const auto out = memory<std::byte>(dst, dst_bytes, "dst");
  const int64_t src_needed = src_desc.span_bytes(), dst_needed = dst_desc.span_bytes();
  check_size("src", src_bytes, src_needed);
  check_size("dst", dst_bytes, dst_needed);
  check_apart(src, src_needed, dst, dst_needed);
  return {in.first(static_cast<size_t>(src_needed)), out.first(static_cast<size_t>(dst_needed))};
}

void run(std::span<const Plan> plans, const Buffers& buffers, const RunHow& how) {
  const auto count = static_cast<int64_t>(plans.size());
  for (int64_t k = 0; k < count; ++k) {
    const Plan& plan = plans[static_cast<size_t>(k)];
    if (how.progress == nullptr) {
      cpu::run(plan, buffers.src.data(), buffers.dst.data(), how.threads);
      continue;
    }
    // The plans are those of equal parts of a tensor.
    const auto go_on = [&](int64_t done, int64_t total) {
      return how.progress(how.context, k * total + done, count * total) == 0;
    };
    if (!cpu::run_in_parts(plan, buffers.src.data(), buffers.dst.data(), how.threads, {}, go_on))
      throw Error(ErrorCode::interrupted, "progress() asked to stop; the destination is written in part", "progress");
  }
}

}  // namespace relayout::c

extern "C" {

relayout_status relayout_plan_make(const relayout_desc* src, const relayout_desc* dst,
                                   const relayout_attributes* attributes, relayout_plan** plan) {
  return c::guarded([&] {
    const relayout_desc &from = c::checked(src, "src"), &to = c::checked(dst, "dst");
    relayout_plan*& out = c::result(plan, "plan");
    out = new relayout_plan(relayout::cpu::make_plan(from.desc, to.desc, c::attributes_of(attributes)));
  });
}

relayout_status relayout_plan_make_compiled(const relayout_desc* src, const relayout_desc* dst,
                                            const relayout_attributes* attributes, relayout_plan** plan) {
  return c::guarded([&] {
    const relayout_desc &from = c::checked(src, "src"), &to = c::checked(dst, "dst");
    relayout_plan*& out = c::result(plan, "plan");
    out = new relayout_plan(relayout::cpu::compiled_plan(from.desc, to.desc, c::attributes_of(attributes)));
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
    const c::RunHow how = c::options_of(options);
    c::run({&made, 1}, c::checked_buffers(made.src(), src, src_bytes, made.dst(), dst, dst_bytes), how);
  });
}

relayout_status relayout_reorder(const relayout_desc* src_desc, const void* src, size_t src_bytes,
                                 const relayout_desc* dst_desc, void* dst, size_t dst_bytes,
                                 const relayout_attributes* attributes, const relayout_run_options* options) {
  return c::guarded([&] {
    const relayout_desc &from = c::checked(src_desc, "src_desc"), &to = c::checked(dst_desc, "dst_desc");
    const relayout::Attributes how_to = c::attributes_of(attributes);
    const c::RunHow how = c::options_of(options);
    const c::Buffers buffers = c::checked_buffers(from.desc, src, src_bytes, to.desc, dst, dst_bytes);
    const relayout::Plan plan = relayout::cpu::cached_plan(from.desc, to.desc, how_to);
    c::run({&plan, 1}, buffers, how);
  });
}

relayout_status relayout_reorder_in_place(const relayout_desc* src_desc, const relayout_desc* dst_desc, void* buffer,
                                          size_t bytes, const relayout_attributes* attributes,
                                          const relayout_run_options* options) {
  return c::guarded([&] {
    const relayout_desc &from = c::checked(src_desc, "src_desc"), &to = c::checked(dst_desc, "dst_desc");
    const c::RunHow how = c::options_of(options);
    if (how.progress != nullptr) {
      throw Error(ErrorCode::unsupported,
                  "a reorder in place cannot be ended halfway, as its source would be gone: it takes no progress",
                  "progress");
    }
    relayout::cpu::reorder_in_place(from.desc, to.desc, c::memory<std::byte>(buffer, bytes, "buffer"),
                                    c::attributes_of(attributes), how.threads);
  });
}

}  // extern "C"
