// relayout checkpoint list: the tensors of a checkpoint, what is recorded of them, and where they are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "tools/verbs/checkpoint/checkpoint.h"
#include "tools/verbs/checkpoint/digest.h"

namespace relayout::tools {
namespace {

using checkpoint::Checkpoint;
using checkpoint::CheckpointFile;
using checkpoint::CheckpointTensor;
using checkpoint::MetadataEntry;

struct ListOptions {
  std::string path;
  bool sha256 = false;
};

/// The SHA-256 of each tensor where it is asked for, else none; "" of those that cannot be read.
using Digests = std::vector<std::string>;

Digests digests_of(const Checkpoint& model) {
  Digests out;
  for (std::size_t i = 0; i < model.tensors().size(); ++i)
    out.push_back(model.tensors()[i].problem ? "" : from_data([&] { return tensor_sha256(model, i); }));
  return out;
}

/// How many tensors of a type there are, and their bytes.
struct Sum {
  int64_t tensors = 0, bytes = 0;

  /// Tensors that repeat their elements may have more bytes together than 64 bits count; then it is as many as they do.
  void add(int64_t more_tensors, int64_t more_bytes) {
    tensors += more_tensors;
    if (__builtin_add_overflow(bytes, more_bytes, &bytes)) bytes = std::numeric_limits<int64_t>::max();
  }
};

/// By type, the most bytes first; tensors that cannot be read are in none.
std::vector<std::pair<std::string, Sum>> sums_of(const Checkpoint& model) {
  std::map<std::string, Sum> by_type;
  for (const CheckpointTensor& tensor : model.tensors()) {
    if (tensor.problem) continue;
    by_type[type_text(tensor)].add(1, tensor.array_bytes());
  }
  std::vector<std::pair<std::string, Sum>> out(by_type.begin(), by_type.end());
  std::ranges::stable_sort(out, std::ranges::greater{}, [](const auto& pair) { return pair.second.bytes; });
  return out;
}

std::string file_name(const CheckpointFile& file) { return escaped(file.path.filename().native(), 200); }

/// Rows with their columns aligned: texts to the left, bytes to the right. A row with a problem has it behind the name.
std::string table_text(const Checkpoint& model, const Digests& digests) {
  constexpr std::size_t kColumns = 7, kBytes = 4;
  using Row = std::array<std::string, kColumns>;
  std::vector<Row> rows{{"name", "type", "shape", "layout", "bytes", "file", "sha256"}};
  const bool several = model.files().size() > 1;
  for (const CheckpointTensor& tensor : model.tensors()) {
    const std::string file = several ? file_name(model.files()[tensor.file]) : "";
    if (tensor.problem) {
      rows.push_back({escaped(tensor.name, 200), "-", "", "", "", file, ""});
      continue;
    }
    rows.push_back({escaped(tensor.name, 200), type_text(tensor), dims_text(tensor.shape), layout_text(tensor),
                    std::to_string(tensor.array_bytes()), file, digests.empty() ? "" : digests[rows.size() - 1]});
  }
  std::array<std::size_t, kColumns> width{};
  for (std::size_t k = 0; k < kColumns; ++k) {
    const bool empty =
        std::ranges::all_of(rows.begin() + 1, rows.end(), [&](const Row& row) { return row[k].empty(); });
    for (Row& row : rows) width[k] = empty ? 0 : std::max(width[k], characters(row[k]));
  }
  std::string out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t k = 0; k < kColumns; ++k) {
      if (width[k] == 0) continue;
      const std::string space(width[k] - characters(rows[r][k]), ' ');
      line += "  " + (k == kBytes ? space + rows[r][k] : rows[r][k] + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += (r == 0 ? bold(line) : line) + "\n";
    const auto& problem = r == 0 ? std::nullopt : model.tensors()[r - 1].problem;
    if (problem) out += "    cannot be read: " + problem->message() + "\n";
  }
  return out;
}

std::string value_text(const MetadataEntry& entry) {
  constexpr std::size_t kShown = 4, kCharacters = 80;
  return escaped(entry.value.type() == checkpoint::ValueType::text ? entry.value.text() : entry.value.json(kShown),
                 kCharacters);
}

/// A line a type; nothing where there is only one.
std::string sums_text(const std::vector<std::pair<std::string, Sum>>& sums) {
  if (sums.size() < 2) return "";
  std::size_t width = 0;
  for (const auto& [type, sum] : sums) width = std::max(width, characters(type));
  std::string out = "\n";
  for (const auto& [type, sum] : sums) {
    out += fmt::format("  {}{}  {}, {}\n", type, std::string(width - characters(type), ' '),
                       counted(sum.tensors, "tensor"), size_text(sum.bytes));
  }
  return out;
}

std::string listing_text(const std::string& path, const Checkpoint& model, const Digests& digests) {
  Sum all;
  const auto sums = sums_of(model);
  for (const auto& [type, sum] : sums) all.add(sum.tensors, sum.bytes);
  const auto count = static_cast<int64_t>(model.tensors().size());
  std::string out =
      bold(fmt::format("{}: {}, {}", escaped(path, 200), counted(count, "tensor"), size_text(all.bytes))) + "\n";
  if (all.tensors != count) out += fmt::format("{} cannot be read\n", counted(count - all.tensors, "tensor"));
  for (const CheckpointFile& file : model.files()) {
    if (model.files().size() > 1 || file.problem)
      out +=
          fmt::format("{}: {}\n", file_name(file), file.problem ? file.problem->message() : size_text(file.byte_size));
  }
  if (count > 0) out += "\n" + table_text(model, digests);
  out += sums_text(sums);
  if (!model.metadata().empty()) out += "\n" + bold("metadata") + "\n";
  for (const MetadataEntry& entry : model.metadata())
    out += fmt::format("  {} = {}\n", escaped(entry.key, 200), value_text(entry));
  return out;
}

Json tensor_json(const Checkpoint& model, const CheckpointTensor& tensor) {
  Json out = {{"name", tensor.name}, {"file", model.files()[tensor.file].path.filename().native()}};
  if (tensor.problem) {
    out["problem"] = tensor.problem->message();
    return out;
  }
  out["dtype"] = tensor.dtype ? Json(name(*tensor.dtype)) : Json();
  out["type_name"] = tensor.type_name;
  out["shape"] = json_of(tensor.shape);
  if (!tensor.row_major()) out["strides"] = json_of(tensor.strides);
  if (tensor.layout) {
    out["layout"] = tensor.layout->text();
    out["dims"] = json_of(*tensor.dims);
  }
  if (!tensor.notes.packed.empty()) {
    out["packed"] = tensor.notes.packed;
    out["packed_dims"] = json_of(tensor.notes.packed_dims);
  }
  if (!tensor.notes.from.empty()) out["from"] = tensor.notes.from;
  if (tensor.notes.strides) out["saved_strides"] = json_of(*tensor.notes.strides);
  if (tensor.byte_swapped) out["byte_swapped"] = true;
  out["bytes"] = tensor.array_bytes();
  out["offset"] = tensor.offset;
  if (!tensor.mapped) out["compressed"] = true;
  return out;
}

Json listing_json(const Checkpoint& model, const Digests& digests) {
  Json files = Json::array(), tensors = Json::array(), types = Json::array(), metadata = Json::object();
  for (const CheckpointFile& file : model.files()) {
    Json object = {{"path", file.path.native()}};
    if (file.problem) {
      object["problem"] = file.problem->message();
    } else {
      object["format"] = name(file.kind);
      object["bytes"] = file.byte_size;
    }
    files.push_back(std::move(object));
  }
  for (const CheckpointTensor& tensor : model.tensors()) {
    Json& json = tensors.emplace_back(tensor_json(model, tensor));
    const std::size_t at = tensors.size() - 1;
    if (at < digests.size() && !digests[at].empty()) json["sha256"] = digests[at];
  }
  Sum all;
  for (const auto& [type, sum] : sums_of(model)) {
    types.push_back({{"type", type}, {"tensors", sum.tensors}, {"bytes", sum.bytes}});
    all.add(sum.tensors, sum.bytes);
  }
  for (const MetadataEntry& entry : model.metadata()) metadata[entry.key] = Json::parse(entry.value.json());
  return {{"files", std::move(files)},
          {"tensors", std::move(tensors)},
          {"types", std::move(types)},
          {"bytes", all.bytes},
          {"metadata", std::move(metadata)}};
}

}  // namespace

Verb add_checkpoint_list(CommandLine& line) {
  auto [command, json] = add_verb(
      line, "checkpoint list", "List the tensors of a checkpoint: types, shapes, recorded layouts, sizes, files",
      "  relayout checkpoint list model.safetensors\n"
      "  relayout checkpoint list model.safetensors.index.json        the tensors of all its files\n"
      "  relayout checkpoint list pytorch_model.bin --json            a pickle, of which nothing is run\n"
      "A tensor that cannot be read is listed with the reason, and hides no other.");
  auto options = std::make_shared<ListOptions>();
  command.add_option("FILE", options->path, "Checkpoint: a file, an index of files, or a folder").required();
  command.add_flag("--sha256", options->sha256,
                   "Show the SHA-256 of each tensor's elements in row-major order, as .safetensors has them");
  const auto run = [options, json = json] {
    if (options->sha256) require_isa();
    const Checkpoint model = open_checkpoint(options->path);
    const Digests digests = options->sha256 ? digests_of(model) : Digests();
    write_stdout(*json ? json_text(listing_json(model, digests)) : listing_text(options->path, model, digests));
    return kOk;
  };
  return {command, run, json};
}

}  // namespace relayout::tools
