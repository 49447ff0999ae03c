// Writes and verifies what a conversion makes.
#include "relayout/checkpoint/convert.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <unordered_map>

#include "relayout/checkpoint/notes.h"
#include "relayout/checkpoint/parts.h"
#include "relayout/core/error.h"
#include "relayout/core/print.h"
#include "relayout/cpu/reorder.h"

namespace relayout::checkpoint {
namespace {

/// What says that two runs have the same work: the sources as they are on the disk now, and the rules.
std::string job_of(const Checkpoint& model, const Conversion& conversion) {
  std::string out = "relayout checkpoint convert 1\n";
  for (const CheckpointFile& file : model.files()) {
    // The time of the last change of the file's inode is set by nobody but the system, as by a copy that keeps times.
    struct stat now {};
    ::stat(file.path.c_str(), &now);
    out += std::filesystem::absolute(file.path).native() + " " + std::to_string(file.byte_size);
    for (const auto number : {int64_t(now.st_dev), int64_t(now.st_ino), int64_t(now.st_mtim.tv_sec),
                              int64_t(now.st_mtim.tv_nsec), int64_t(now.st_ctim.tv_sec), int64_t(now.st_ctim.tv_nsec)})
      out += " " + std::to_string(number);
    out += "\n";
  }
  out += conversion.rules;
  constexpr std::size_t kMost = 60 << 10;
  if (out.size() > kMost) out = out.substr(0, kMost) + std::to_string(std::hash<std::string>()(out));
  return out;
}

std::vector<TensorSpec> specs_of(const Conversion& conversion) {
  std::vector<TensorSpec> out;
  for (const Target& target : conversion.targets) out.push_back(target.spec);
  return out;
}

void check_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  if (const auto folder = path.parent_path(); !folder.empty() && !std::filesystem::is_directory(folder, ignored))
    throw Error(ErrorCode::io,
                "convert: \"" + escaped(path.native(), 200) + "\": there is no folder \"" +
                    escaped(folder.native(), 200) + "\"",
                "path", escaped(path.native(), 200));
}

WriteOptions write_options(const Checkpoint& model, const Conversion& conversion, const std::filesystem::path& path,
                           const ConvertOptions& options) {
  WriteOptions out{.overwrite = options.overwrite, .shard_bytes = options.shard_bytes};
  out.job = job_of(model, conversion);
  if (const auto kind = kind_of_path(path); kind && keeps_metadata(*kind)) out.metadata = conversion.metadata;
  return out;
}

/// The index beside a single new file, if there is one: it would go on leading to the files of before.
std::optional<std::filesystem::path> other_index(const std::filesystem::path& path,
                                                 const std::vector<std::filesystem::path>& made, bool overwrite) {
  std::error_code ignored;
  const std::filesystem::path index(path.native() + ".index.json");
  if (std::ranges::find(made, index) != made.end() || !std::filesystem::exists(index, ignored)) return std::nullopt;
  if (overwrite) return index;
  throw Error(ErrorCode::io,
              "convert: \"" + escaped(index.native(), 200) + "\" is there, and leads to other files than the new one",
              "path", escaped(index.native(), 200));
}

/// What parts say of values that were rounded, by groups.
class RoundingSums {
 public:
  explicit RoundingSums(const Conversion& conversion) : conversion_(conversion), sums_(conversion.groups.size()) {}

  void add(std::size_t group, int64_t rows, double largest, double rms) {
    sums_[group].largest = std::max(sums_[group].largest, largest);
    sums_[group].squares += rms * rms * static_cast<double>(rows);
  }

  std::vector<Rounded> all() const {
    std::vector<Rounded> out;
    std::vector<bool> seen(sums_.size());
    for (const Target& target : conversion_.targets) {
      if (!target.group || seen[*target.group]) continue;
      seen[*target.group] = true;
      const Sum& sum = sums_[*target.group];
      const auto rows = static_cast<double>(conversion_.groups[*target.group].to.dims()[0]);
      if (sum.largest > 0) out.push_back({target.spec.name, sum.largest, std::sqrt(sum.squares / rows)});
    }
    return out;
  }

 private:
  struct Sum {
    double largest = 0, squares = 0;
  };
  const Conversion& conversion_;
  std::vector<Sum> sums_;
};

std::string rounded_note(const std::vector<Rounded>& rounded) {
  const Rounded& worst = *std::ranges::max_element(rounded, {}, &Rounded::largest_error);
  char numbers[80];
  std::snprintf(numbers, sizeof numbers, "%.3g, and by %.3g in the root of the mean square", worst.largest_error,
                worst.rms_error);
  return "values of " + std::to_string(rounded.size()) + (rounded.size() == 1 ? " matrix were" : " matrices were") +
         " rounded, those of \"" + escaped(worst.name, 200) + "\" by up to " + numbers;
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

}  // namespace

PartOptions part_options(const ConvertOptions& options) {
  if (options.max_memory != 0 && options.max_memory < kLeastMemory)
    throw Error(ErrorCode::invalid_argument,
                "convert: max_memory " + std::to_string(options.max_memory) + " is less than " +
                    std::to_string(kLeastMemory) + " bytes",
                "max_memory", std::to_string(options.max_memory), std::to_string(kLeastMemory));
  return {.threads = options.threads, .max_memory = options.max_memory, .go_on = options.go_on};
}

Converted convert(const Checkpoint& model, const Conversion& conversion, const std::filesystem::path& path,
                  const ConvertOptions& options) {
  std::error_code ignored;
  check_folder(path);
  PartOptions parts = part_options(options);
  const std::vector<TensorSpec> specs = specs_of(conversion);
  const WriteOptions write = write_options(model, conversion, path, options);
  const auto old_index = other_index(path, CheckpointWriter::paths_of(path, specs, write), options.overwrite);
  CheckpointWriter out = CheckpointWriter::create(path, specs, write);
  Converted done{.paths = out.paths(), .resumed = out.resumed()};
  std::vector<std::size_t> wanted;
  for (const std::size_t t : out.order())
    if (!out.written(t)) wanted.push_back(t);
  for (std::size_t t = 0; t < specs.size(); ++t) done.bytes += out.byte_size(t);
  std::mutex mutex;
  std::map<std::size_t, int64_t> beyond;
  parts.beyond = [&](std::size_t t, int64_t values) {
    const std::lock_guard lock(mutex);
    beyond[t] += values;
  };
  RoundingSums rounding(conversion);
  parts.rounded = [&](std::size_t group, int64_t rows, double largest, double rms) {
    rounding.add(group, rows, largest, rms);
  };
  each_part(
      model, conversion, wanted, parts,
      [&](std::size_t t, int64_t at, std::span<const std::byte> bytes) { out.write(t, at, bytes); },
      [&](std::size_t t) { out.set_written(t); });
  const std::vector<std::filesystem::path> old_files = files_of(path);
  done.rounded = rounding.all();
  out.commit(options.go_on);
  done.notes = beyond_notes(conversion, beyond);
  if (!done.rounded.empty()) done.notes.push_back(rounded_note(done.rounded));
  if (const auto kind = kind_of_path(path))
    std::ranges::copy(lost_in(*kind, conversion), std::back_inserter(done.notes));
  std::ranges::copy(left_notes(old_files, done.paths), std::back_inserter(done.notes));
  if (old_index) std::filesystem::remove(*old_index, ignored);
  if (options.verify) check_written(model, conversion, done.paths.back(), options);
  return done;
}

std::vector<std::string> check_convert(const Checkpoint& model, const Conversion& conversion,
                                       const std::filesystem::path& path, const ConvertOptions& options) {
  check_folder(path);
  (void)part_options(options);
  const std::vector<TensorSpec> specs = specs_of(conversion);
  const WriteOptions write = write_options(model, conversion, path, options);
  (void)other_index(path, CheckpointWriter::paths_of(path, specs, write), options.overwrite);
  CheckpointWriter::check(path, specs, write);
  const auto kind = kind_of_path(path);
  return kind ? lost_in(*kind, conversion) : std::vector<std::string>();
}

}  // namespace relayout::checkpoint
