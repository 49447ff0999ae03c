// NumPy's .npy format, as bytes in memory: a magic number, a Python literal dict, the array.
//
//     \x93NUMPY 01 00 <u16 header length> {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n
//
// Source: NumPy's format description, NEP 1 (versions 1.0, 2.0 with a u32 length, 3.0 in UTF-8). The
// dict is read by a grammar of literals; nothing is ever evaluated.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "relayout/interop/files/tensor_file.h"

namespace relayout {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";
/// The most bytes that npy_data_offset() looks at.
inline constexpr int64_t kNpyPrefix = 12;

struct NpyHeader {
  StoredTensor tensor;
  int64_t data_offset = 0;
};

/// Where the array begins, from the first kNpyPrefix bytes (or all, if fewer) of a file of
/// `file_size` bytes. Errors: corrupt, limit, unsupported (a version not known).
int64_t npy_data_offset(std::span<const std::byte> start, int64_t file_size, const FileLimits& limits);

/// Reads the header from the first npy_data_offset() bytes of a file of `file_size` bytes, and checks
/// that the array ends where the file does. Errors: corrupt, limit (rank), unsupported (descr).
NpyHeader parse_npy_header(std::span<const std::byte> head, int64_t file_size);

/// Both, on a whole file.
NpyHeader parse_npy(std::span<const std::byte> file, const FileLimits& limits);

/// The header numpy.save writes for such an array (row-major, little-endian), up to the first data byte.
std::string npy_head(const TensorSpec& spec);

}  // namespace relayout
