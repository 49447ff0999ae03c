// Checkpoints of several files: the index that says which file has which tensor, and how tensors are dealt to files.
//
//     {"metadata": {"total_size": 24}, "weight_map": {"a": "model-00001-of-00002.safetensors", "b": ...}}
//
// Source: the files that Hugging Face's transformers writes and reads. GGUF's split files have no index but their
// names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relayout/interop/files/tensor_file.h"

namespace relayout::checkpoint {

/// What an index says, in its order: the files' names, and of each tensor the number of its file.
struct ShardIndex {
  std::vector<std::string> files;
  std::vector<std::pair<std::string, std::size_t>> tensors;
};

/// The most files that are opened for one checkpoint.
inline constexpr std::size_t kMostFiles = 10'000;

bool is_index(const std::filesystem::path& path);
/// Errors: corrupt (no JSON, no map; a file's name that is no plain name, so that no path leaves the index's folder),
/// limit.
ShardIndex parse_index(std::string_view text, const FileLimits& limits);
/// The index's text. `bytes` are those of all tensors.
std::string index_text(const ShardIndex& index, int64_t bytes);

/// All files of a split GGUF model, where the path is that of its first one (NAME-00001-of-00003.gguf); else the path
/// alone. Error{limit}.
std::vector<std::filesystem::path> split_files(const std::filesystem::path& path);

/// Deals tensors of these sizes to files in their order: a file is closed where the next tensor would take it over
/// `most` bytes. Returns the number of each tensor's file.
std::vector<std::size_t> deal(std::span<const int64_t> sizes, int64_t most);
/// "model.safetensors" as file 1 of 7: "model-00001-of-00007.safetensors".
std::filesystem::path shard_path(const std::filesystem::path& path, std::size_t file, std::size_t files);

}  // namespace relayout::checkpoint
