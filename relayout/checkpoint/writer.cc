// Writes checkpoints: plans the files, writes at offsets, and remembers what is done (see writer.h).
//
// An unfinished file of a job has, behind the bytes of the file that it will be, one byte a tensor, which is 1 where
// the tensor is written, and the job's text with the number of the machine's start. They are cut off before it gets its
// name. Where there are several files, the unfinished index has the job's text alone, from the start on until all files
// have their names; so a writer that goes on knows that files which exist already are its own.
#include "relayout/checkpoint/writer.h"

#include <sys/stat.h>

#include <algorithm>
#include <mutex>
#include <unordered_set>

#include "relayout/checkpoint/file_text.h"
#include "relayout/checkpoint/formats/formats.h"
#include "relayout/checkpoint/shards.h"
#include "relayout/io/text_file.h"

namespace relayout::checkpoint {
namespace fs = std::filesystem;
namespace {

/// One of the files; the only one where there are no others.
struct Shard {
  fs::path path;
  std::vector<std::size_t> tensors;  // by their numbers in the whole
  FileImage image;
  std::optional<io::NewFile> file;  // none where it has its name already, or is closed
  bool begun = false, has_name = false;
  std::size_t left = 0;  // tensors that are not written
};

/// Where there are more files, each is open only while it is written, as a process may have 1,024 open.
constexpr std::size_t kMostOpen = 64;

struct Place {
  std::size_t shard = 0, in_shard = 0;
  int64_t offset = 0, bytes = 0;
};

[[noreturn]] void refuse(const std::string& what, std::string field, std::string value = {}, std::string limit = {}) {
  throw Error(ErrorCode::invalid_argument, "write checkpoint: " + what, std::move(field), std::move(value),
              std::move(limit));
}

const KindRow& written_kind(const fs::path& path, const WriteOptions& options) {
  std::string kinds;
  for (const KindRow& row : kind_rows()) {
    if (row.plan != nullptr) kinds += (kinds.empty() ? "" : ", ") + std::string(row.name);
  }
  const auto kind = options.kind ? options.kind : kind_of_path(path);
  if (kind && row_of(*kind).plan != nullptr) return row_of(*kind);
  throw Error(
      ErrorCode::unsupported,
      "write checkpoint: \"" + escaped(path.native(), 200) + "\" is " +
          (kind ? "of the kind " + std::string(name(*kind)) + ", which is only read" : "of no kind by its extension") +
          "; written are " + kinds,
      "path", escaped(path.native(), 200), kinds);
}

/// The number of each tensor's file, from 0 on without a gap.
std::vector<std::size_t> dealt(std::span<const TensorSpec> specs, const WriteOptions& options) {
  if (!options.shards.empty()) {
    if (options.shards.size() != specs.size())
      refuse(
          std::to_string(options.shards.size()) + " numbers of files for " + std::to_string(specs.size()) + " tensors",
          "shards", std::to_string(options.shards.size()), std::to_string(specs.size()));
    std::vector<bool> used(options.shards.size());
    const std::size_t last = std::ranges::max(options.shards);
    for (const std::size_t shard : options.shards) {
      if (shard < used.size()) used[shard] = true;
    }
    const auto gap = static_cast<std::size_t>(std::ranges::find(used, false) - used.begin());
    if (last == 0 || gap <= last)
      refuse(last == 0 ? "all tensors are in one file, which takes no numbers"
                       : "file " + std::to_string(last) + " has tensors and file " + std::to_string(gap) + " has none",
             "shards", std::to_string(gap));
    return options.shards;
  }
  if (options.shard_bytes < 0) refuse("a file cannot have fewer than 0 bytes", "shard_bytes");
  if (options.shard_bytes == 0) return std::vector<std::size_t>(specs.size());
  std::vector<int64_t> sizes;
  for (const TensorSpec& spec : specs) sizes.push_back(spec_bytes(spec));
  return deal(sizes, options.shard_bytes);
}

/// What an unfinished file says of the job: it is another one after the machine was started anew, as the disk may lack
/// bytes then that were written.
std::string job_text(const std::string& job) {
  constexpr std::size_t kMostJob = 64 << 10;
  if (job.empty()) return "";
  if (job.size() > kMostJob)
    refuse("a job of " + std::to_string(job.size()) + " bytes", "job", std::to_string(job.size()),
           std::to_string(kMostJob));
  return io::read_text("/proc/sys/kernel/random/boot_id", 1 << 10).value_or("no boot id") + job;
}

/// Whether the file of a name has the size and the texts of this image.
bool is_already(const fs::path& path, const FileImage& image) {
  std::error_code none;
  if (!fs::is_regular_file(path, none)) return false;
  const FileBytes found = FileBytes::open(path, 0);
  const std::string_view bytes(reinterpret_cast<const char*>(found.bytes().data()), found.bytes().size());
  return bytes.size() == static_cast<std::size_t>(image.size) &&
         std::ranges::all_of(image.texts, [&](const auto& text) {
           return bytes.substr(static_cast<std::size_t>(text.first), text.second.size()) == text.second;
         });
}

}  // namespace

struct CheckpointWriter::Impl {
  WriteOptions options;
  std::string job;  // job_text()
  std::vector<Shard> shards;
  std::vector<Place> places;  // one a tensor
  std::vector<std::string> names;
  std::vector<std::size_t> order;
  std::optional<fs::path> index_path;
  std::string index_content;
  std::optional<io::NewFile> giving_names;  // of several files and with a job: has the job's text until commit() ends
  bool goes_on_naming = false;              // an earlier writer of this job had that
  mutable std::mutex mutex;                 // guards `written`, and files where many() closes them
  std::vector<bool> written;
  std::size_t resumed = 0;

  void plan(const fs::path& path, std::span<const TensorSpec> specs);
  std::vector<fs::path> paths() const;
  void refuse_existing() const;
  void open(Shard& shard, bool may_have_name);
  void start(Shard& shard);
  bool many() const { return shards.size() > kMostOpen; }
  io::NewFile* file_of(Shard& shard);
  void close(Shard& shard);
  void drop();
  ~Impl() {
    if (job.empty()) drop();
  }
};

/// The open file of a shard; null where it has its name.
io::NewFile* CheckpointWriter::Impl::file_of(Shard& shard) {
  if (shard.has_name) return nullptr;
  if (!many()) return &*shard.file;
  const std::lock_guard lock(mutex);
  if (!shard.file) shard.file = io::NewFile::resume(shard.path);
  return &*shard.file;
}

/// Of many, a file that nobody writes any more.
void CheckpointWriter::Impl::close(Shard& shard) {
  const std::lock_guard lock(mutex);
  if (many()) shard.file.reset();
}

/// Removes what a later writer would go on with.
void CheckpointWriter::Impl::drop() {
  for (Shard& shard : shards) {
    if (!shard.begun || shard.has_name) continue;
    if (shard.file) shard.file->forget();
    std::error_code ignored;
    if (many() && !shard.file) fs::remove(io::resumed_path(shard.path), ignored);
  }
  if (giving_names) giving_names->forget();
}

void CheckpointWriter::Impl::plan(const fs::path& path, std::span<const TensorSpec> specs) {
  const KindRow& kind = written_kind(path, options);
  std::unordered_set<std::string_view> seen;
  for (const TensorSpec& spec : specs) {
    if (spec.name.empty()) refuse("a tensor has no name", "name");
    if (!seen.insert(spec.name).second)
      refuse("two tensors have the name \"" + escaped(spec.name, 200) + "\"", "name", escaped(spec.name, 200));
    names.push_back(spec.name);
  }
  const std::vector<std::size_t> file_of = dealt(specs, options);
  const std::size_t files = file_of.empty() ? 1 : std::ranges::max(file_of) + 1;
  if (files > 1 && kind.kind != FileKind::safetensors)
    throw Error(ErrorCode::unsupported,
                "write checkpoint: " + std::string(kind.name) + " is written to one file, and this takes " +
                    std::to_string(files) + "; only safetensors has an index of several",
                "shard_bytes", std::to_string(files), "1");
  if (files > kMostFiles)
    refuse(std::to_string(files) + " files; at most " + std::to_string(kMostFiles) + " are written", "shard_bytes",
           std::to_string(files), std::to_string(kMostFiles));
  shards.resize(files);
  for (std::size_t i = 0; i < specs.size(); ++i) shards[file_of[i]].tensors.push_back(i);
  places.resize(specs.size());
  ShardIndex index_of;
  int64_t total = 0;
  for (std::size_t p = 0; p < files; ++p) {
    Shard& shard = shards[p];
    shard.path = files == 1 ? path : shard_path(path, p, files);
    index_of.files.push_back(shard.path.filename().native());
    std::vector<TensorSpec> own;
    for (const std::size_t i : shard.tensors) own.push_back(specs[i]);
    shard.image = kind.plan(own, options.metadata);
    for (std::size_t k = 0; k < own.size(); ++k) {
      const int64_t bytes = spec_bytes(own[k]);
      total += bytes;
      places[shard.tensors[k]] = {p, k, shard.image.offsets[k], bytes};
      index_of.tensors.emplace_back(own[k].name, p);
    }
    for (const std::size_t k : shard.image.order) order.push_back(shard.tensors[k]);
  }
  if (files == 1) return;
  index_path = path;
  *index_path += ".index.json";
  index_content = index_text(index_of, total);
}

std::vector<fs::path> CheckpointWriter::Impl::paths() const {
  std::vector<fs::path> out;
  for (const Shard& shard : shards) out.push_back(shard.path);
  if (index_path) out.push_back(*index_path);
  return out;
}

void CheckpointWriter::Impl::refuse_existing() const {
  std::error_code none;
  for (const Shard& shard : shards) {
    if (fs::exists(shard.path, none)) io::throw_exists(shard.path);
  }
  if (index_path && fs::exists(*index_path, none)) io::throw_exists(*index_path);
}

/// Writes everything but the tensors to a new file.
void CheckpointWriter::Impl::start(Shard& shard) {
  io::NewFile& file = *shard.file;
  const auto marks = job.empty() ? 0 : static_cast<int64_t>(shard.tensors.size());
  file.resize(0);
  file.reserve(shard.image.size + marks + static_cast<int64_t>(job.size()));
  for (const auto& [offset, text] : shard.image.texts) write_text(file, offset, text);
  write_text(file, shard.image.size + marks, job);  // last, as it says that all else is there
}

/// Opens the file of a shard, with what an earlier writer of the same job left. `may_have_name`: where that was giving
/// names to its files when it ended, so that a file which exists may be its own.
void CheckpointWriter::Impl::open(Shard& shard, bool may_have_name) {
  if (may_have_name && is_already(shard.path, shard.image)) {
    for (const std::size_t i : shard.tensors) written[i] = true;
    shard.has_name = true;
    return;
  }
  shard.left = shard.tensors.size();
  struct stat found {};
  const bool exists = ::stat(shard.path.c_str(), &found) == 0;
  if (exists && !S_ISREG(found.st_mode)) io::throw_io("create", shard.path, S_ISDIR(found.st_mode) ? EISDIR : EINVAL);
  shard.begun = true;
  shard.file = job.empty() && !many() ? io::NewFile::make(shard.path) : io::NewFile::resume(shard.path);
  const int64_t marks_at = shard.image.size, job_at = marks_at + static_cast<int64_t>(shard.tensors.size());
  const bool goes_on = !job.empty() && shard.file->size() == job_at + static_cast<int64_t>(job.size()) &&
                       has_bytes(*shard.file, job_at, job) &&
                       std::ranges::all_of(shard.image.texts, [&](const auto& text) {
                         return has_bytes(*shard.file, text.first, text.second);
                       });
  if (!goes_on) {
    start(shard);
    if (exists) ::fchmod(shard.file->descriptor(), found.st_mode & 07777);
    return;
  }
  std::vector<std::byte> marks(shard.tensors.size());
  shard.file->read_at(marks_at, marks);
  for (std::size_t k = 0; k < marks.size(); ++k) {
    if (marks[k] != std::byte{1}) continue;
    written[shard.tensors[k]] = true;
    --shard.left;
  }
}

CheckpointWriter CheckpointWriter::create(const fs::path& path, std::span<const TensorSpec> specs,
                                          const WriteOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->job = job_text(options.job);
  impl->plan(path, specs);
  impl->written.resize(specs.size());
  std::optional<io::NewFile>& naming = impl->giving_names;
  if (impl->index_path && !impl->job.empty()) {
    naming = io::NewFile::resume(*impl->index_path);
    impl->goes_on_naming = naming->size() == static_cast<int64_t>(impl->job.size()) && has_bytes(*naming, 0, impl->job);
  }
  if (!options.overwrite && !impl->goes_on_naming) {
    if (naming && naming->size() == 0) naming->forget();  // it was made just now
    impl->refuse_existing();
    if (naming) naming->keep();
  }
  for (Shard& shard : impl->shards) {
    impl->open(shard, impl->goes_on_naming);
    impl->close(shard);
  }
  if (naming && !impl->goes_on_naming) {
    naming->resize(0);
    write_text(*naming, 0, impl->job);
  }
  impl->resumed = static_cast<std::size_t>(std::ranges::count(impl->written, true));
  return CheckpointWriter(std::move(impl));
}

std::vector<fs::path> CheckpointWriter::paths_of(const fs::path& path, std::span<const TensorSpec> specs,
                                                 const WriteOptions& options) {
  Impl impl;
  impl.options = options;
  impl.plan(path, specs);
  return impl.paths();
}

void CheckpointWriter::check(const fs::path& path, std::span<const TensorSpec> specs, const WriteOptions& options) {
  Impl impl;
  impl.options = options;
  impl.plan(path, specs);
  if (!options.overwrite) impl.refuse_existing();
}

CheckpointWriter::CheckpointWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CheckpointWriter::CheckpointWriter(CheckpointWriter&&) noexcept = default;
CheckpointWriter& CheckpointWriter::operator=(CheckpointWriter&&) noexcept = default;
CheckpointWriter::~CheckpointWriter() = default;

std::vector<fs::path> CheckpointWriter::paths() const { return impl_->paths(); }
std::span<const std::size_t> CheckpointWriter::order() const { return impl_->order; }
int64_t CheckpointWriter::byte_size(std::size_t tensor) const { return impl_->places.at(tensor).bytes; }
std::size_t CheckpointWriter::file_of(std::size_t tensor) const { return impl_->places.at(tensor).shard; }
int64_t CheckpointWriter::offset_of(std::size_t tensor) const { return impl_->places.at(tensor).offset; }
std::size_t CheckpointWriter::resumed() const { return impl_->resumed; }

bool CheckpointWriter::written(std::size_t tensor) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->written.at(tensor);
}

void CheckpointWriter::write(std::size_t tensor, int64_t at, std::span<const std::byte> bytes) {
  const Place& place = impl_->places.at(tensor);
  const auto count = static_cast<int64_t>(bytes.size());
  if (at < 0 || count > place.bytes || at > place.bytes - count)
    refuse("bytes " + std::to_string(at) + " to " + std::to_string(at + count) + " of tensor \"" +
               escaped(impl_->names[tensor], 200) + "\", which has " + std::to_string(place.bytes),
           "at", std::to_string(at), std::to_string(place.bytes));
  Shard& shard = impl_->shards[place.shard];
  const io::NewFile* file = impl_->file_of(shard);
  if (file == nullptr) return;
  file->write_at(place.offset + at, bytes);
  if (shard.image.seen) shard.image.seen(place.in_shard, at, bytes);
}

void CheckpointWriter::set_written(std::size_t tensor) {
  const Place& place = impl_->places.at(tensor);
  Shard& shard = impl_->shards[place.shard];
  if (const io::NewFile* file = impl_->file_of(shard); file != nullptr && !impl_->job.empty()) {
    constexpr std::byte kMark{1};
    file->write_at(shard.image.size + static_cast<int64_t>(place.in_shard), {&kMark, 1});
  }
  std::unique_lock lock(impl_->mutex);
  if (!impl_->written[tensor]) --shard.left;
  impl_->written[tensor] = true;
  const bool complete = shard.left == 0;
  lock.unlock();
  if (complete) impl_->close(shard);
}

void CheckpointWriter::commit(const GoOn& go_on) {
  for (std::size_t i = 0; i < impl_->names.size(); ++i) {
    if (!written(i))
      refuse("tensor \"" + escaped(impl_->names[i], 200) + "\" was not written", "tensor",
             escaped(impl_->names[i], 200));
  }
  for (Shard& shard : impl_->shards) {
    const io::NewFile* file = impl_->file_of(shard);
    if (file == nullptr) continue;
    if (shard.image.finish) shard.image.finish(*file, go_on);
    file->sync();
    impl_->close(shard);
  }
  for (Shard& shard : impl_->shards) {
    io::NewFile* file = impl_->file_of(shard);
    if (file == nullptr) continue;
    file->resize(shard.image.size);
    file->publish(impl_->options.overwrite);
    shard.file.reset();
    shard.has_name = true;
  }
  if (!impl_->index_path) return;
  io::NewFile index = io::NewFile::make(*impl_->index_path);
  write_text(index, 0, impl_->index_content);
  index.publish(impl_->options.overwrite || impl_->goes_on_naming);
  if (impl_->giving_names) impl_->giving_names->forget();
  impl_->giving_names.reset();
}

void CheckpointWriter::discard() { impl_->drop(); }

}  // namespace relayout::checkpoint
