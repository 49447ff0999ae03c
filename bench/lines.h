// How much memory a conversion has to touch: the lines of the cache in which its elements lie.
//
//     const TensorDesc src(Format::parse("nChw16c").bind({2, 3, 5, 5}), DType::f32);
//     lines_touched(src, Touched::elements);      // 50: of each block of 16 channels, which is a line, 3 are read
//
// Memory moves in lines of 64 bytes. So a copy of as many lines is what a conversion can be compared with where it
// reads a few bytes of each line, or where its destination has gaps: a count of bytes says too little there.
//
// Law: the result is the number of different values of floor(address / 64) over all bytes of all elements, or of
// elements and padding, where the buffer starts `misalign` bytes after the start of a page.
#pragma once

#include <cstdint>

#include "relayout/core/layout.h"

namespace relayout::bench {

/// What of a tensor is read or written: a source's padding is not read, a destination's is written.
enum class Touched : uint8_t { elements, elements_and_padding };

/// Exact. Cost: a step for each run of elements or padding (core/runs.h), and a bit for each line of the buffer.
/// Errors: not_injective where indices share offsets by other strides than 0, and limit, as for_each_run().
int64_t lines_touched(const TensorDesc& desc, Touched what, int64_t misalign = 0);

/// Bytes of the lines that are touched on both sides: elements of the source, elements and padding of the destination.
/// Errors as above.
int64_t bytes_of_lines(const TensorDesc& src, const TensorDesc& dst, int64_t misalign = 0);

}  // namespace relayout::bench
