// Opens checkpoints: finds the files, lets each be read by its format, and joins what they say.
#include "relayout/checkpoint/checkpoint.h"

#include <algorithm>
#include <new>
#include <unordered_map>
#include <unordered_set>

#include "relayout/checkpoint/formats/formats.h"
#include "relayout/checkpoint/shards.h"
#include "relayout/core/nearest.h"
#include "relayout/interop/files/safetensors_layouts.h"

namespace relayout::checkpoint {
namespace fs = std::filesystem;

/// What an index says, with the number of each tensor's file by the tensor's name.
struct Indexed {
  const ShardIndex& index;
  std::unordered_map<std::string_view, std::size_t> file_of{};
};

struct Checkpoint::Impl {
  FileLimits limits;
  std::vector<CheckpointFile> files;
  std::vector<FileBytes> pages;  // one a file
  std::vector<CheckpointTensor> tensors;
  std::vector<Decode> decoders;  // one a tensor
  std::vector<MetadataEntry> metadata;
  std::unordered_map<std::string_view, std::size_t> by_name;
  std::unordered_set<std::string> keys;  // of the metadata
  std::vector<std::pair<std::string, std::string>> recorded;
  std::vector<Checkpoint> parts;   // of join(): those whose tensors these are, one behind the other
  std::vector<std::size_t> first;  // of each, the number of its first tensor

  void add_file(const fs::path& path, const Indexed* indexed);
  void add_source(Source source, std::size_t file, const Indexed* indexed);
  void add_metadata(std::vector<MetadataEntry> entries);
  void add_missing(const ShardIndex& index);
  void check_names();
  void apply_recorded();
};

namespace {

std::string shown(const fs::path& path) { return escaped(path.native(), 200); }

FileKind kind_of(std::span<const std::byte> bytes, const fs::path& path) {
  std::string kinds;
  for (const KindRow& row : kind_rows()) {
    if (row.begins_as(bytes)) return row.kind;
    kinds += (kinds.empty() ? "" : ", ") + std::string(row.name);
  }
  const auto by_path = kind_of_path(path);
  if (by_path) return *by_path;  // whose reader says what is wrong
  throw Error(ErrorCode::unsupported, "it begins as no file of these kinds: " + kinds, "path", shown(path), kinds);
}

/// The file in a folder that stands for its model.
fs::path model_in(const fs::path& folder) {
  std::vector<fs::path> indices;
  std::vector<std::vector<fs::path>> files(kind_rows().size());
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    const fs::path& path = entry->path();
    const auto kind = kind_of_path(path);
    if (is_index(path)) indices.push_back(path);
    if (kind && !path.filename().native().starts_with('.')) files[static_cast<std::size_t>(*kind)].push_back(path);
  }
  if (failed) throw Error(ErrorCode::io, "open \"" + shown(folder) + "\": " + failed.message(), "path", shown(folder));
  const auto only = [&](std::vector<fs::path> found) {
    if (found.size() == 1) return found[0];
    std::ranges::sort(found);
    std::string list;
    for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), 10); ++i)
      list += (i == 0 ? "" : ", ") + escaped(found[i].filename().native());
    throw Error(ErrorCode::invalid_argument,
                "\"" + shown(folder) + "\" has " + std::to_string(found.size()) +
                    " files that may be the model; name one of them: " + list + (found.size() > 10 ? ", ..." : ""),
                "path", shown(folder), list);
  };
  if (!indices.empty()) {
    std::vector<fs::path> of_safetensors = indices;
    std::erase_if(of_safetensors, [](const fs::path& p) { return !p.native().ends_with(".safetensors.index.json"); });
    return only(of_safetensors.empty() ? indices : of_safetensors);
  }
  for (const auto& of_kind : files) {
    if (!of_kind.empty()) return only(of_kind);
  }
  throw Error(ErrorCode::invalid_argument, "\"" + shown(folder) + "\" has no file of a checkpoint", "path",
              shown(folder));
}

}  // namespace

/// Opens a file. What is wrong with it is its problem, where others may go on without it (`indexed`: the file of each
/// tensor, by the index), and otherwise an Error.
void Checkpoint::Impl::add_file(const fs::path& path, const Indexed* indexed) {
  const std::size_t file = files.size();
  files.push_back({path});
  pages.emplace_back();
  try {
    Source source{.file = FileBytes::open(path, limits.decoded_bytes), .limits = limits};
    about(path, [&] {
      files[file].byte_size = static_cast<int64_t>(source.bytes().size());
      files[file].kind = kind_of(source.bytes(), path);
      try {
        row_of(files[file].kind).open(source);
      } catch (const std::bad_alloc&) {
        throw Error(ErrorCode::limit, "there is not enough memory for what its header says", "memory");
      }
      add_source(std::move(source), file, indexed);
    });
  } catch (const Error& error) {
    if (indexed == nullptr) throw;
    files[file].problem = error;
  }
}

void Checkpoint::Impl::add_source(Source source, std::size_t file, const Indexed* indexed) {
  std::unordered_set<std::string_view> seen;
  for (const CheckpointTensor& tensor : source.tensors) {
    if (!seen.insert(tensor.name).second) {
      throw Error(ErrorCode::corrupt, "two tensors have the name \"" + escaped(tensor.name, 200) + "\"", "name",
                  escaped(tensor.name, 200));
    }
    if (indexed == nullptr) continue;
    const auto found = indexed->file_of.find(tensor.name);
    if (found == indexed->file_of.end() || found->second == file) continue;
    throw Error(ErrorCode::corrupt,
                "it has tensor \"" + escaped(tensor.name, 200) + "\", which is in \"" +
                    escaped(indexed->index.files[found->second], 200) + "\" by the index",
                "weight_map", escaped(tensor.name, 200));
  }
  for (std::size_t i = 0; i < source.tensors.size(); ++i) {
    CheckpointTensor& tensor = source.tensors[i];
    tensor.file = file;
    if (indexed != nullptr && !indexed->file_of.contains(tensor.name) && !tensor.problem)
      tensor.problem =
          Error(ErrorCode::corrupt, "the index does not list tensor \"" + escaped(tensor.name, 200) + "\" of this file",
                "weight_map", escaped(tensor.name, 200));
    tensors.push_back(std::move(tensor));
    decoders.push_back(std::move(source.decoders[i]));
  }
  for (const MetadataEntry& entry : source.metadata)
    if (entry.key == kRulesKey && entry.value.type() == ValueType::text) files[file].rules = entry.value.text();
  add_metadata(std::move(source.metadata));
  std::ranges::move(source.recorded, std::back_inserter(recorded));
  pages[file] = std::move(source.file);
}

void Checkpoint::Impl::add_metadata(std::vector<MetadataEntry> entries) {
  for (MetadataEntry& entry : entries) {
    if (keys.insert(entry.key).second) metadata.push_back(std::move(entry));
  }
}

/// The tensors that the index lists and that their files do not have.
void Checkpoint::Impl::add_missing(const ShardIndex& index) {
  std::unordered_set<std::string> seen;
  for (const CheckpointTensor& tensor : tensors) seen.insert(tensor.name);
  for (const auto& [tensor_name, file] : index.tensors) {
    if (seen.contains(tensor_name)) continue;
    CheckpointTensor& missing = tensors.emplace_back();
    decoders.emplace_back();
    missing.name = tensor_name;
    missing.file = file;
    missing.problem = files[file].problem
                          ? files[file].problem
                          : Error(ErrorCode::corrupt,
                                  "the index says that \"" + shown(files[file].path) + "\" has tensor \"" +
                                      escaped(tensor_name, 200) + "\", and it has not",
                                  "weight_map", escaped(tensor_name, 200));
  }
}

/// Names are one tensor's each, in all files together.
void Checkpoint::Impl::check_names() {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto [found, added] = by_name.emplace(tensors[i].name, i);
    if (added) continue;
    throw Error(ErrorCode::corrupt,
                "\"" + shown(files[tensors[i].file].path) + "\": tensor \"" + escaped(tensors[i].name, 200) +
                    "\" is in \"" + shown(files[tensors[found->second].file].path.filename()) + "\" too",
                "name", escaped(tensors[i].name, 200));
  }
}

/// Gives tensors what is recorded of them. A program that knows nothing of it may have taken tensors out, so what is
/// recorded of tensors that there are not are passed over.
void Checkpoint::Impl::apply_recorded() {
  for (const auto& [tensor_name, text] : recorded) {
    const auto found = by_name.find(tensor_name);
    if (found == by_name.end()) continue;
    CheckpointTensor& tensor = tensors[found->second];
    const TensorNotes by_type = tensor.notes;
    const bool had_problem = tensor.problem.has_value();
    apply_layout_entry(tensor, text, limits, kSafeTensorsTypes);
    if (tensor.problem && !had_problem) {
      const Error said = *tensor.problem;
      tensor.problem = Error(said.code(), "what is recorded: " + said.message(), said.field(), said.value());
    }
    if (tensor.notes.packed.empty()) {
      tensor.notes.packed = by_type.packed;
      tensor.notes.packed_dims = by_type.packed_dims;
    }
  }
}

Checkpoint Checkpoint::open(const fs::path& given, const FileLimits& limits) {
  auto impl = std::make_shared<Impl>();
  impl->limits = limits;
  std::error_code ignored;
  const fs::path path = fs::is_directory(given, ignored) ? model_in(given) : given;
  if (is_index(path)) {
    const FileBytes file = FileBytes::open(path, limits.safetensors_header_bytes);
    const ShardIndex index = about(path, [&] {
      if (file.bytes().size() > static_cast<std::size_t>(limits.safetensors_header_bytes))
        throw Error(ErrorCode::limit, "an index of " + std::to_string(file.bytes().size()) + " bytes", "index",
                    std::to_string(file.bytes().size()), std::to_string(limits.safetensors_header_bytes));
      return parse_index({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, limits);
    });
    Indexed indexed{index};
    for (const auto& [tensor_name, number] : index.tensors) indexed.file_of.emplace(tensor_name, number);
    for (const std::string& name_of_file : index.files) impl->add_file(path.parent_path() / name_of_file, &indexed);
    impl->add_missing(index);
  } else {
    for (const fs::path& part : split_files(path)) impl->add_file(part, nullptr);
  }
  impl->check_names();
  impl->apply_recorded();
  return Checkpoint(std::move(impl));
}

Checkpoint Checkpoint::join(std::span<const Checkpoint> parts) {
  auto impl = std::make_shared<Impl>();
  impl->parts.assign(parts.begin(), parts.end());
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::size_t files = impl->files.size();
    impl->first.push_back(impl->tensors.size());
    for (CheckpointTensor tensor : parts[k].tensors()) {
      tensor.name = std::to_string(k) + "/" + tensor.name;
      tensor.file += files;
      impl->tensors.push_back(std::move(tensor));
    }
    impl->files.insert(impl->files.end(), parts[k].files().begin(), parts[k].files().end());
  }
  if (!parts.empty()) impl->metadata.assign(parts[0].metadata().begin(), parts[0].metadata().end());
  impl->check_names();
  return Checkpoint(std::move(impl));
}

Checkpoint Checkpoint::described(const fs::path& path, FileKind kind, std::vector<CheckpointTensor> tensors,
                                 std::vector<Decoder> decoders,
                                 std::vector<std::pair<std::string, std::string>> recorded,
                                 std::vector<MetadataEntry> metadata) {
  if (decoders.size() != tensors.size())
    throw Error(ErrorCode::invalid_argument,
                std::to_string(decoders.size()) + " decoders for " + std::to_string(tensors.size()) + " tensors",
                "decoders");
  auto impl = std::make_shared<Impl>();
  Source source{.file = FileBytes::open(path, 0), .limits = {}};
  const auto size = static_cast<int64_t>(source.bytes().size());
  impl->files.push_back({path, kind, size, std::nullopt});
  impl->pages.emplace_back();
  about(path, [&] {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      CheckpointTensor& tensor = tensors[i];
      if (tensor.strides.empty()) tensor.strides = row_major_strides(tensor.shape);
      const bool inside = tensor.offset >= 0 && tensor.byte_size >= 0 && tensor.offset <= size - tensor.byte_size;
      if (!decoders[i] && !tensor.problem && !inside)
        throw Error(ErrorCode::corrupt, "tensor \"" + escaped(tensor.name, 200) + "\" reaches beyond the file",
                    "offset", std::to_string(tensor.offset), std::to_string(size));
      source.add(std::move(tensors[i]), std::move(decoders[i]));
    }
    source.metadata = std::move(metadata);
    source.recorded = std::move(recorded);
    impl->add_source(std::move(source), 0, nullptr);
    impl->check_names();
    impl->apply_recorded();
  });
  return Checkpoint(std::move(impl));
}

std::span<const CheckpointTensor> Checkpoint::tensors() const { return impl_->tensors; }
std::span<const CheckpointFile> Checkpoint::files() const { return impl_->files; }
std::span<const MetadataEntry> Checkpoint::metadata() const { return impl_->metadata; }

const MetadataValue* Checkpoint::find_metadata(std::string_view key) const {
  const auto found = std::ranges::find(impl_->metadata, key, &MetadataEntry::key);
  return found == impl_->metadata.end() ? nullptr : &found->value;
}

std::optional<std::size_t> Checkpoint::lookup(std::string_view tensor_name) const {
  const auto found = impl_->by_name.find(tensor_name);
  return found == impl_->by_name.end() ? std::nullopt : std::optional(found->second);
}

std::size_t Checkpoint::find(std::string_view tensor_name) const {
  if (const auto found = lookup(tensor_name)) return *found;
  constexpr std::size_t kCompared = 10'000, kListed = 20;
  std::vector<std::string_view> names;
  for (const CheckpointTensor& tensor : impl_->tensors) {
    if (names.size() < kCompared) names.push_back(tensor.name);
  }
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kListed); ++i)
    list += (i == 0 ? "\"" : ", \"") + escaped(names[i], 200) + "\"";
  if (impl_->tensors.size() > kListed) list += ", ... (" + std::to_string(impl_->tensors.size()) + " in all)";
  const std::string_view near = nearest_name(tensor_name, names);
  throw Error(ErrorCode::invalid_argument,
              "no tensor \"" + escaped(tensor_name, 200) + "\"" +
                  (near.empty() ? "" : "; did you mean \"" + escaped(near, 200) + "\"?") + "; there are " +
                  (list.empty() ? "none" : list),
              "tensor", escaped(tensor_name, 200), list);
}

Contents Checkpoint::contents(std::size_t number, const GoOn& go_on) const {
  const CheckpointTensor& tensor = impl_->tensors.at(number);
  if (!impl_->parts.empty()) {
    const auto part = std::ranges::upper_bound(impl_->first, number) - impl_->first.begin() - 1;
    const auto k = static_cast<std::size_t>(part);
    return impl_->parts[k].contents(number - impl_->first[k], go_on);
  }
  if (const auto& problem = impl_->files[tensor.file].problem) throw Error(*problem);  // it names the file
  return about(impl_->files[tensor.file].path, [&]() -> Contents {
    if (tensor.problem) throw Error(*tensor.problem);
    const auto size = static_cast<std::size_t>(tensor.byte_size);
    if (tensor.mapped)
      return {impl_->pages[tensor.file].bytes().subspan(static_cast<std::size_t>(tensor.offset), size), nullptr};
    try {
      std::shared_ptr<const std::byte[]> owner = impl_->decoders[number](go_on);
      return {{owner.get(), size}, owner};
    } catch (const std::bad_alloc&) {
      throw Error(ErrorCode::limit,
                  "tensor \"" + escaped(tensor.name, 200) + "\": there is not enough memory for its " +
                      std::to_string(size) + " bytes",
                  "memory", std::to_string(size));
    }
  });
}

}  // namespace relayout::checkpoint
