// Indices of files, split files, and how tensors are dealt to files: see shards.h.
#include "relayout/checkpoint/shards.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>

#include "relayout/interop/files/json_walk.h"

namespace relayout::checkpoint {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kIndexEnding = ".index.json";

[[noreturn]] void fail_index(const std::string& what, std::string value = {}) {
  throw Error(ErrorCode::corrupt, "index: " + what, "weight_map", std::move(value));
}

/// A name without a folder, so that it stays in the index's own.
void check_file_name(std::string_view tensor, std::string_view file) {
  const bool plain = !file.empty() && file != "." && file != ".." &&
                     file.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
  if (plain) return;
  fail_index("tensor \"" + escaped(tensor) + "\" is in \"" + escaped(file) +
                 "\", which is not the plain name of a file in the index's folder",
             escaped(file));
}

[[noreturn]] void too_many_files(std::size_t files) {
  const std::string most = std::to_string(kMostFiles);
  throw Error(ErrorCode::limit, std::to_string(files) + " files; at most " + most + " are opened", "files",
              std::to_string(files), most);
}

std::string five_digits(std::size_t number) {
  const std::string digits = std::to_string(number);
  return std::string(5 - std::min<std::size_t>(5, digits.size()), '0') + digits;
}

}  // namespace

bool is_index(const fs::path& path) { return path.filename().native().ends_with(kIndexEnding); }

ShardIndex parse_index(std::string_view text, const FileLimits& limits) {
  ShardIndex out;
  std::unordered_map<std::string, std::size_t> numbers;
  bool map = false;
  walk_json(text, limits.json_depth, "index", [&](const JsonEvent& event) {
    if (event.depth == 0 && event.kind != JsonEvent::Kind::object) fail_index("it is not a JSON object");
    if (event.keys.empty() || event.keys[0] != "weight_map") return;
    if (event.depth == 1) {
      if (event.kind != JsonEvent::Kind::object) fail_index("weight_map is not an object");
      map = true;
      return;
    }
    const std::string& tensor = event.keys[1];
    if (event.kind != JsonEvent::Kind::string) fail_index("tensor \"" + escaped(tensor) + "\" has no file's name");
    if (static_cast<int64_t>(out.tensors.size()) == limits.tensors) {
      const std::string most = std::to_string(limits.tensors);
      throw Error(ErrorCode::limit, "index: more than " + most + " tensors", "tensors", {}, most);
    }
    check_file_name(tensor, event.text);
    const auto [found, added] = numbers.emplace(event.text, out.files.size());
    if (added) out.files.emplace_back(event.text);
    if (out.files.size() > kMostFiles) too_many_files(out.files.size());
    out.tensors.emplace_back(tensor, found->second);
  });
  if (!map) fail_index("it has no weight_map");
  return out;
}

std::string index_text(const ShardIndex& index, int64_t bytes) {
  std::string out = "{\n  \"metadata\": {\"total_size\": " + std::to_string(bytes) + "},\n  \"weight_map\": {";
  const char* before = "\n    ";
  for (const auto& [tensor, file] : index.tensors) {
    out += before + json_quoted(tensor) + ": " + json_quoted(index.files[file]);
    before = ",\n    ";
  }
  return out + "\n  }\n}\n";
}

std::vector<fs::path> split_files(const fs::path& path) {
  constexpr std::string_view kFirst = "-00001-of-", kEnding = ".gguf";
  const std::string name = path.filename().native();
  const std::size_t tail = kFirst.size() + 5 + kEnding.size();
  if (name.size() <= tail || !name.ends_with(kEnding)) return {path};
  const std::string_view end = std::string_view(name).substr(name.size() - tail);
  const std::string_view digits = end.substr(kFirst.size(), 5);
  if (!end.starts_with(kFirst) || digits.find_first_not_of("0123456789") != std::string_view::npos) return {path};
  std::size_t count = 0;
  for (const char digit : digits) count = count * 10 + static_cast<std::size_t>(digit - '0');
  if (count > kMostFiles) too_many_files(count);
  std::vector<fs::path> out;
  const std::string stem = name.substr(0, name.size() - tail) + std::string(kEnding);
  for (std::size_t file = 0; file < std::max<std::size_t>(count, 1); ++file)
    out.push_back(shard_path(path.parent_path() / stem, file, count));
  return out;
}

std::vector<std::size_t> deal(std::span<const int64_t> sizes, int64_t most) {
  std::vector<std::size_t> out;
  std::size_t file = 0;
  int64_t in_file = 0;
  bool empty = true;
  for (const int64_t size : sizes) {
    if (!empty && size > most - in_file) {
      ++file;
      in_file = 0;
    }
    empty = false;
    in_file += size;
    out.push_back(file);
  }
  return out;
}

fs::path shard_path(const fs::path& path, std::size_t file, std::size_t files) {
  fs::path out = path;
  out.replace_filename(path.stem().native() + "-" + five_digits(file + 1) + "-of-" + five_digits(files) +
                       path.extension().native());
  return out;
}

}  // namespace relayout::checkpoint
