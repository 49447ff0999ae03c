// The in-place reorder on this machine's CPU: one buffer, and a small scratch memory.
//
//     std::vector<float> matrix(4096 * 4096);
//     const TensorDesc ab(Format::parse("ab").bind({4096, 4096}), DType::f32);
//     const TensorDesc ba(Format::parse("ba").bind({4096, 4096}), DType::f32);
//     cpu::reorder_in_place(ab, ba, matrix);
//
// Results are bit-equal on every ISA and thread count, and to a reorder from a copy.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "relayout/cpu/reorder.h"
#include "relayout/reorder/in_place.h"

namespace relayout::cpu {

/// Runs a plan. `buffer` points at element 0 of both layouts and holds plan.buffer_bytes(). `scratch` has at least
/// plan.scratch_bytes() bytes outside the buffer, at any alignment; as many threads work at once as it has room for.
/// Allocates nothing but what the thread pool does.
void run(const InPlacePlan& plan, void* buffer, std::span<std::byte> scratch, const RunOptions& options = {}) noexcept;

/// The checked form: takes a vector, an array or a span, of elements or of bytes (core/elements.h), and allocates the
/// scratch for all threads. Errors: invalid_argument where elements are of neither side's type, with the types;
/// buffer_too_small, which names the bytes needed and given.
void run(const InPlacePlan& plan, const Elements& buffer, const RunOptions& options = {});

/// Called with the bytes of source and destination that were moved, all steps together, and with all of them: on the
/// calling thread, while no other thread works. The last call has done == total. It must not throw. It cannot end the
/// work, because elements that are between two layouts would be lost.
using InPlaceProgress = std::function<void(int64_t done, int64_t total)>;
/// The checked form, watched. Between two parts, of some 16 MiB where the plan can be cut so finely, the threads wait
/// for each other.
void run(const InPlacePlan& plan, const Elements& buffer, const RunOptions& options, const InPlaceProgress& progress);

/// Makes the plan and runs it in the checked form. Errors: those of run() and of InPlacePlan::make, such as
/// `unsupported` where there is no in-place plan.
void reorder_in_place(const TensorDesc& src_desc, const TensorDesc& dst_desc, const Elements& buffer,
                      const Attributes& attributes = {}, const RunOptions& options = {},
                      const InPlaceOptions& in_place = {});

}  // namespace relayout::cpu
