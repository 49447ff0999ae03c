// Reads .npz archives: .npy members in a zip file, through libzip. npz_write.cc writes them.
//
// libzip reads from the mapping of the file. Opening decodes only the .npy headers of the members.
// A member's name is only the name of a tensor and never used as a path. Members that are not .npy are raw bytes.
#include "relayout/interop/files/npz.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_set>

#include "relayout/core/error.h"
#include "relayout/interop/files/formats.h"
#include "relayout/interop/files/npy.h"

namespace relayout {

#if RELAYOUT_HAVE_ZIP
namespace {

/// An archive that is read from memory; the memory must live longer.
struct Archive {
  zip_t* zip = nullptr;
  explicit Archive(std::span<const std::byte> bytes) {
    // libzip would take an empty file for an archive without members.
    if (bytes.empty()) fail_archive(ErrorCode::corrupt, "not a zip archive: the file is empty");
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    if (source) zip = zip_open_from_source(source, ZIP_RDONLY, &error);
    if (!zip) {
      zip_source_free(source);
      fail_archive(ErrorCode::corrupt, "not a zip archive: " + zip_message(&error));
    }
    zip_error_fini(&error);
  }
  Archive(const Archive&) = delete;
  ~Archive() { zip_discard(zip); }
};

/// One member of an archive, which is read from its start on.
class Member {
 public:
  Member(const Archive& archive, zip_uint64_t index, std::string shown)
      : file_(zip_fopen_index(archive.zip, index, 0)), shown_(std::move(shown)) {
    if (!file_) fail_archive(ErrorCode::corrupt, "member \"" + shown_ + "\": " + zip_strerror(archive.zip), shown_);
  }
  Member(const Member&) = delete;
  ~Member() { zip_fclose(file_); }

  /// Up to out.size() bytes; fewer only at the member's end.
  std::size_t read(std::span<std::byte> out) {
    std::size_t done = 0;
    while (done < out.size()) {
      const zip_int64_t got = zip_fread(file_, out.data() + done, out.size() - done);
      if (got < 0)
        fail_archive(ErrorCode::corrupt, "member \"" + shown_ + "\": " + zip_error_strerror(zip_file_get_error(file_)),
                     shown_);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }
  void read_exactly(std::span<std::byte> out, const GoOn& go_on = {}) {
    for (std::size_t done = 0; done < out.size();) {
      const auto part = out.subspan(done, std::min(out.size() - done, static_cast<std::size_t>(kAskedBytes)));
      if (read(part) != part.size())
        fail_archive(ErrorCode::corrupt, "member \"" + shown_ + "\" is shorter than the size in the directory", shown_);
      done += part.size();
      ask(go_on, static_cast<int64_t>(done), static_cast<int64_t>(out.size()));
    }
  }

 private:
  zip_file_t* file_;
  std::string shown_;
};

/// Checks what the archive's directory says of a member, before memory is allocated by it. Returns the member's size.
int64_t check_member(const zip_stat_t& stat, const std::string& shown, const FileLimits& limits) {
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((stat.valid & kNeeded) != kNeeded)
    fail_archive(ErrorCode::corrupt, "member \"" + shown + "\" has no size", shown);
  if ((stat.valid & ZIP_STAT_ENCRYPTION_METHOD) && stat.encryption_method != ZIP_EM_NONE) {
    fail_archive(ErrorCode::unsupported, "member \"" + shown + "\" is encrypted", shown);
  }
  const std::string sizes = std::to_string(stat.size) + " bytes in " + std::to_string(stat.comp_size);
  if (stat.comp_method == ZIP_CM_STORE) {
    if (stat.size != stat.comp_size)
      fail_archive(ErrorCode::corrupt, "member \"" + shown + "\" is not compressed, but has " + sizes, shown);
  } else if (stat.comp_method == ZIP_CM_DEFLATE) {
    // Deflate makes data at most 1032 times as small.
    constexpr zip_uint64_t kMostExpansion = 1032;
    if (stat.size / kMostExpansion > stat.comp_size) {
      fail_archive(ErrorCode::corrupt, "member \"" + shown + "\" has " + sizes + ", which deflate cannot reach", shown);
    }
  } else {
    fail_archive(ErrorCode::unsupported,
                 "member \"" + shown + "\": compression method " + std::to_string(stat.comp_method) +
                     " is not supported; stored and deflate are",
                 shown);
  }
  if (stat.size > static_cast<zip_uint64_t>(limits.decoded_bytes)) {
    throw Error(ErrorCode::limit,
                "npz: member \"" + shown + "\" has " + std::to_string(stat.size) + " bytes; at most " +
                    std::to_string(limits.decoded_bytes) + " are decoded",
                "decoded_bytes", std::to_string(stat.size), std::to_string(limits.decoded_bytes));
  }
  return static_cast<int64_t>(stat.size);
}

/// Reads a member's header.
NpyHeader member_header(const Archive& archive, zip_uint64_t index, const std::string& name, const zip_stat_t& stat,
                        const FileLimits& limits) {
  const std::string shown = escaped(name);
  const int64_t size = check_member(stat, shown, limits);
  Member member(archive, index, shown);
  std::vector<std::byte> head(static_cast<std::size_t>(std::min(size, kNpyPrefix)));
  member.read_exactly(head);
  const bool npy = head.size() >= kNpyMagic.size() && std::memcmp(head.data(), kNpyMagic.data(), kNpyMagic.size()) == 0;
  if (!npy && stat.name != name + std::string(kNpzSuffix)) {
    NpyHeader header;
    header.tensor.shape = Dims{size};
    header.tensor.byte_size = size;
    return header;
  }
  try {
    const auto offset = static_cast<std::size_t>(npy_data_offset(head, size, limits));
    // `head` may have data bytes already where the header is shorter than the prefix; the parser refuses such a header.
    const std::size_t have = head.size();
    head.resize(std::max(offset, have));
    member.read_exactly(std::span(head).subspan(have));
    return parse_npy_header(std::span(head).first(offset), size);
  } catch (const Error& error) {
    throw Error(error.code(), "npz: member \"" + shown + "\": " + error.message(), error.field(), error.value(),
                error.limit());
  }
}

/// Adds a member, whose data is decoded when it is first asked for. What is wrong with it is its problem alone.
void add_member(TensorFile::Impl& impl, const std::shared_ptr<Archive>& archive, zip_uint64_t index, std::string name,
                const zip_stat_t& stat) {
  const std::string shown = escaped(name);
  NpyHeader header;
  try {
    header = member_header(*archive, index, name, stat, impl.limits);
  } catch (const Error& error) {
    return impl.add_problem(std::move(name), error);
  }
  header.tensor.name = std::move(name);
  const int64_t skip = header.data_offset, bytes = header.tensor.byte_size;
  impl.add(std::move(header.tensor), [archive, index, shown, skip, bytes](const GoOn& go_on) {
    Member member(*archive, index, shown);
    std::vector<std::byte> head(static_cast<std::size_t>(skip));
    member.read_exactly(head);
    auto data = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    member.read_exactly({data.get(), static_cast<std::size_t>(bytes)}, go_on);
    // libzip compares the checksum when it reaches the end of the member, so one more byte is asked for.
    std::byte beyond;
    if (member.read({&beyond, 1}) != 0)
      fail_archive(ErrorCode::corrupt, "member \"" + shown + "\" is longer than the size in the directory", shown);
    return data;
  });
}

}  // namespace

void open_npz(TensorFile::Impl& impl) {
  const auto archive = std::make_shared<Archive>(impl.file.bytes());
  const zip_int64_t entries = zip_get_num_entries(archive->zip, 0);
  if (entries > impl.limits.tensors) {
    fail_archive(ErrorCode::limit,
                 std::to_string(entries) + " members; at most " + std::to_string(impl.limits.tensors) + " are read",
                 std::to_string(entries), std::to_string(impl.limits.tensors));
  }
  std::unordered_set<std::string> seen;
  for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(entries); ++i) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    if (zip_stat_index(archive->zip, i, 0, &stat) != 0 || !(stat.valid & ZIP_STAT_NAME)) {
      fail_archive(ErrorCode::corrupt, "member " + std::to_string(i) + ": " + zip_strerror(archive->zip));
    }
    std::string name = stat.name;
    if (name.ends_with('/')) continue;  // a directory
    if (name.ends_with(kNpzSuffix)) name.resize(name.size() - kNpzSuffix.size());
    if (!seen.insert(name).second)
      fail_archive(ErrorCode::corrupt, "two members have the name \"" + escaped(name) + "\"", escaped(name));
    if (!is_wanted(name, impl.wanted)) {
      impl.add_name(std::move(name));
      continue;
    }
    add_member(impl, archive, i, std::move(name), stat);
  }
}

#else

void open_npz(TensorFile::Impl&) { throw_missing_library("npz", "libzip"); }

#endif

}  // namespace relayout
