// Writes, verifies and compares what a conversion makes.
#include "relayout/checkpoint/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>
#include <unordered_map>

#include "relayout/checkpoint/parts.h"
#include "relayout/core/error.h"
#include "relayout/core/print.h"
#include "relayout/cpu/reorder.h"

namespace relayout::checkpoint {
namespace {

PartOptions part_options(const ConvertOptions& options) {
  if (options.max_memory != 0 && options.max_memory < kLeastMemory)
    throw Error(ErrorCode::invalid_argument,
                "convert: max_memory " + std::to_string(options.max_memory) + " is less than " +
                    std::to_string(kLeastMemory) + " bytes",
                "max_memory", std::to_string(options.max_memory), std::to_string(kLeastMemory));
  return {.threads = options.threads, .max_memory = options.max_memory, .go_on = options.go_on};
}

/// What says that two runs have the same work: the sources as they are on the disk now, and the rules.
std::string job_of(const Checkpoint& model, const Conversion& conversion) {
  std::string out = "relayout checkpoint convert 1\n";
  for (const CheckpointFile& file : model.files()) {
    std::error_code ignored;
    const auto time = std::filesystem::last_write_time(file.path, ignored);
    out += std::filesystem::absolute(file.path).native() + " " + std::to_string(file.byte_size) + " " +
           std::to_string(time.time_since_epoch().count()) + "\n";
  }
  for (const MetadataEntry& entry : conversion.metadata)
    if (entry.key == kRulesKey && entry.value.type() == ValueType::text) out += entry.value.text();
  constexpr std::size_t kMost = 60 << 10;
  if (out.size() > kMost) out = out.substr(0, kMost) + std::to_string(std::hash<std::string>()(out));
  return out;
}

std::vector<TensorSpec> specs_of(const Conversion& conversion) {
  std::vector<TensorSpec> out;
  for (const Target& target : conversion.targets) out.push_back(target.spec);
  return out;
}

void check_written(const Checkpoint& model, const Conversion& conversion, const std::filesystem::path& path,
                   const ConvertOptions& options) {
  const Checkpoint made = Checkpoint::open(path);
  std::vector<Contents> contents;
  std::vector<std::size_t> all(conversion.targets.size());
  std::iota(all.begin(), all.end(), 0U);
  for (const Target& target : conversion.targets)
    contents.push_back(made.contents(made.find(target.spec.name), options.go_on));
  each_part(
      model, conversion, all, part_options(options),
      [&](std::size_t t, int64_t at, std::span<const std::byte> bytes) {
        const auto begin = static_cast<std::size_t>(at);
        const std::span<const std::byte> stored = contents[t].bytes;
        if (begin <= stored.size() && bytes.size() <= stored.size() - begin &&
            std::memcmp(stored.data() + begin, bytes.data(), bytes.size()) == 0)
          return;
        throw Error(ErrorCode::corrupt,
                    "verify: tensor \"" + escaped(conversion.targets[t].spec.name, 200) + "\" of " +
                        escaped(path.native(), 200) + " is not what was written",
                    "tensor", escaped(conversion.targets[t].spec.name, 200));
      },
      [](std::size_t) {});
}

/// Elements of a part, as f64. A part of a byte of several elements never comes about.
std::vector<double> values_of(std::span<const std::byte> bytes, DType dtype) {
  const auto count = static_cast<int64_t>(bytes.size()) * 8 / bits(dtype);
  std::vector<double> out(static_cast<std::size_t>(count));
  const Layout layout = Layout::contiguous(Dims{count});
  cpu::run(cpu::cached_plan({layout, dtype}, {layout, DType::f64}), bytes.data(), out.data(), {.threads = 1});
  return out;
}

bool equal_values(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Adds what a part of both sides has.
void add_differences(Comparison& to, int64_t first, const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (equal_values(a[i], b[i])) continue;
    const int64_t at = first + static_cast<int64_t>(i);
    if (to.first < 0 || at < to.first) to.first = at;
    ++to.differ;
    if (std::isfinite(a[i]) && std::isfinite(b[i])) to.most = std::max(to.most, std::fabs(a[i] - b[i]));
  }
}

/// What differs before any value is looked at; "" for nothing.
std::string difference_of(const Target& target, const CheckpointTensor& other) {
  const TensorSpec& spec = target.spec;
  if (other.problem) return "cannot be read: " + other.problem->message();
  if (spec.shape != other.shape) return "shape " + join(spec.shape, "x") + " and " + join(other.shape, "x");
  const std::string type = spec.type_name.empty() ? std::string(name(spec.dtype)) : spec.type_name;
  const std::string others = other.dtype ? std::string(name(*other.dtype)) : other.type_name;
  if (type != others) return "type " + type + " and " + others;
  if (spec.notes.packed != other.notes.packed) return "packed " + spec.notes.packed + " and " + other.notes.packed;
  if (!other.row_major() || other.byte_swapped) return "its elements lie in another order";
  return "";
}

}  // namespace

Converted convert(const Checkpoint& model, const Conversion& conversion, const std::filesystem::path& path,
                  const ConvertOptions& options) {
  std::error_code ignored;
  if (const auto folder = path.parent_path(); !folder.empty() && !std::filesystem::is_directory(folder, ignored))
    throw Error(ErrorCode::io,
                "convert: \"" + escaped(path.native(), 200) + "\": there is no folder \"" +
                    escaped(folder.native(), 200) + "\"",
                "path", escaped(path.native(), 200));
  const PartOptions parts = part_options(options);
  WriteOptions write{.overwrite = options.overwrite, .shard_bytes = options.shard_bytes};
  write.job = job_of(model, conversion);
  if (const auto kind = kind_of_path(path); kind && keeps_metadata(*kind)) write.metadata = conversion.metadata;
  const std::vector<TensorSpec> specs = specs_of(conversion);
  CheckpointWriter out = CheckpointWriter::create(path, specs, write);
  // An index beside a single file would go on leading to the files of before.
  std::optional<std::filesystem::path> old_index(path.native() + ".index.json");
  const std::vector<std::filesystem::path> made = out.paths();
  if (std::ranges::find(made, *old_index) != made.end() || !std::filesystem::exists(*old_index, ignored)) {
    old_index.reset();
  } else if (!options.overwrite) {
    throw Error(
        ErrorCode::io,
        "convert: \"" + escaped(old_index->native(), 200) + "\" is there, and leads to other files than the new one",
        "path", escaped(old_index->native(), 200));
  }
  Converted done{.paths = out.paths(), .resumed = out.resumed()};
  std::vector<std::size_t> wanted;
  for (const std::size_t t : out.order())
    if (!out.written(t)) wanted.push_back(t);
  for (std::size_t t = 0; t < specs.size(); ++t) done.bytes += out.byte_size(t);
  each_part(
      model, conversion, wanted, parts,
      [&](std::size_t t, int64_t at, std::span<const std::byte> bytes) { out.write(t, at, bytes); },
      [&](std::size_t t) { out.set_written(t); });
  out.commit(options.go_on);
  if (old_index) std::filesystem::remove(*old_index, ignored);
  if (options.verify) check_written(model, conversion, done.paths.back(), options);
  return done;
}

std::vector<Comparison> compare(const Checkpoint& model, const Conversion& conversion, const Checkpoint& other,
                                const ConvertOptions& options) {
  std::vector<Comparison> out;
  std::vector<std::size_t> wanted;
  std::vector<Contents> contents(conversion.targets.size());
  std::vector<bool> met(other.tensors().size());
  for (std::size_t t = 0; t < conversion.targets.size(); ++t) {
    const Target& target = conversion.targets[t];
    Comparison& one = out.emplace_back(Comparison{.name = target.spec.name});
    one.elements = target.memory.layout.elements();
    const auto at = other.lookup(target.spec.name);
    if (!at) {
      one.difference = "missing";
      continue;
    }
    met[*at] = true;
    one.difference = difference_of(target, other.tensors()[*at]);
    if (!one.difference.empty()) continue;
    contents[t] = other.contents(*at, options.go_on);
    wanted.push_back(t);
  }
  std::mutex mutex;
  each_part(
      model, conversion, wanted, part_options(options),
      [&](std::size_t t, int64_t at, std::span<const std::byte> bytes) {
        const std::span<const std::byte> theirs = contents[t].bytes.subspan(static_cast<std::size_t>(at), bytes.size());
        if (std::memcmp(bytes.data(), theirs.data(), bytes.size()) == 0) return;
        const DType dtype = conversion.targets[t].memory.dtype;
        const std::vector<double> a = values_of(bytes, dtype), b = values_of(theirs, dtype);
        const std::lock_guard lock(mutex);
        add_differences(out[t], at * 8 / bits(dtype), a, b);
      },
      [](std::size_t) {});
  for (const std::size_t t : wanted)
    if (out[t].differ > 0)
      out[t].difference = std::to_string(out[t].differ) + " of " + std::to_string(out[t].elements) + " elements";
  for (std::size_t i = 0; i < met.size(); ++i)
    if (!met[i]) out.push_back({.name = other.tensors()[i].name, .difference = "left over"});
  return out;
}

}  // namespace relayout::checkpoint
