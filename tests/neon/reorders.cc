// Runs one reorder a number of times on one instruction set, for count.py, which counts instructions in an emulator.
//
//     ./neon_reorders                       the names of the reorders, each after its limit
//     ./neon_reorders neon "nchw to nhwc" 3
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "relayout/core/format.h"
#include "relayout/cpu/reorder.h"

namespace {

using namespace relayout;

struct Reorder {
  std::string_view name;
  double most;  // of plain C++'s instructions that it may take on NEON
  const char *src, *dst;
  Dims dims;
  DType src_type = DType::f32, dst_type = src_type;
};

// At least one for each family that NEON has kernels of. What plain C++ does value by value takes a fraction on NEON.
// Copies and conversions of the simplest types take as many, because the compiler makes NEON instructions of plain C++
// by itself, and of the latter better ones: it handles 16 values at a time where the kernel handles 4. A line of a
// program of 16 bytes takes more than the copies that it replaces.
const Reorder kReorders[] = {
    {"copy of padded rows", 1.15, "strides:80,1", "ab", {64, 67}},
    {"nchw to nhwc", 0.45, "nchw", "nhwc", {1, 64, 8, 16}},
    {"nhwc to nchw, bytes", 0.3, "nhwc", "nchw", {1, 64, 8, 16}, DType::u8},
    {"nchw to nhwc, 2 bytes", 0.45, "nchw", "nhwc", {1, 64, 8, 16}, DType::bf16},
    {"nchw to nhwc, 8 bytes", 0.8, "nchw", "nhwc", {1, 32, 8, 8}, DType::f64},
    {"nchw to nChw8c", 0.4, "nchw", "nChw8c", {1, 64, 8, 16}},
    {"nChw16c to nhwc, 67 channels", 1.5, "nChw16c", "nhwc", {1, 67, 8, 8}},
    {"RGB to planes", 0.1, "nhwc", "nchw", {1, 3, 32, 32}, DType::u8},
    {"planes to RGB", 0.1, "nchw", "nhwc", {1, 3, 32, 32}, DType::u8},
    {"RGB to planes, 4 bytes", 0.3, "nhwc", "nchw", {1, 3, 32, 32}},
    {"pairs of channels, bytes", 0.1, "OIhw4i16o4i", "OIhw16i16o", {32, 32, 3, 3}, DType::s8},
    {"f32 to u8", 0.9, "ab", "ab", {64, 128}, DType::f32, DType::u8},
    {"s8 to f32", 1, "ab", "ab", {64, 128}, DType::s8, DType::f32},
    {"f32 to bf16, transposed", 0.65, "nchw", "nhwc", {1, 64, 8, 16}, DType::f32, DType::bf16},
    {"u4 to u4, transposed", 0.45, "ab", "ba", {64, 64}, DType::u4},
    {"padding filled", 0.95, "nchw", "nChw16c", {1, 3, 16, 32}},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Reorder& reorder : kReorders) {
    if (argc != 4) {
      std::printf("%.2f %s\n", reorder.most, reorder.name.data());
      continue;
    }
    if (reorder.name != argv[2]) continue;
    cpu::set_isa(argv[1]);
    const TensorDesc src(Format::parse(reorder.src).bind(reorder.dims), reorder.src_type);
    const TensorDesc dst(Format::parse(reorder.dst).bind(reorder.dims), reorder.dst_type);
    // A machine with caches of its own, as those of the emulator's host are the host's.
    const Plan plan = Plan::make(src, dst, {}, {.l1 = 64 << 10, .l2 = 1 << 20, .l3 = 32 << 20});
    std::vector<std::byte> in(static_cast<std::size_t>(src.span_bytes()), std::byte{1});
    std::vector<std::byte> out(static_cast<std::size_t>(dst.span_bytes()));
    for (int i = 0; i < std::atoi(argv[3]); ++i) cpu::run(plan, in.data(), out.data(), {1});
  }
}
