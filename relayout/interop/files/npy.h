// NumPy's .npy format, as bytes in memory: a magic number, a dict written as a Python literal, the array.
//
//     \x93NUMPY 01 00 <u16 header length> {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n
//
// Source: NumPy's format description, NEP 1. Version 2.0 has a u32 length, version 3.0 also a header in
// UTF-8. The dict is read by a parser of literals; nothing is ever evaluated.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "relayout/interop/files/tensor_file.h"

namespace relayout {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";
/// npy_data_offset() needs at most this many bytes of the file.
inline constexpr int64_t kNpyPrefix = 12;

struct NpyHeader {
  StoredTensor tensor;
  int64_t data_offset = 0;
};

/// The offset of the array in a file of `file_size` bytes. `start` is the first kNpyPrefix bytes of the
/// file, or all of it if it is shorter. Errors: corrupt, limit, unsupported (an unknown version).
int64_t npy_data_offset(std::span<const std::byte> start, int64_t file_size, const FileLimits& limits);

/// Reads the header from the first npy_data_offset() bytes of a file of `file_size` bytes, and checks
/// that the array ends where the file does. Errors: corrupt, limit (rank), unsupported (descr).
NpyHeader parse_npy_header(std::span<const std::byte> head, int64_t file_size);

/// Does both for a whole file.
NpyHeader parse_npy(std::span<const std::byte> file, const FileLimits& limits);

/// Everything before the first data byte, as numpy.save writes it for such an array (row-major, little-endian).
std::string npy_head(const TensorSpec& spec);

}  // namespace relayout
