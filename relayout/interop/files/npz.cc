// .npz archives: .npy members in a zip file, through libzip.
//
// Reading: libzip reads from the mapping of the file. Opening decodes only the .npy headers of the members.
// A member's name is only the name of a tensor and never used as a path. Members that are not .npy are raw bytes.
//
// Writing: members are stored without compression, as numpy.savez does. Where there is one member, the caller fills its
// bytes in where they will lie in the archive; then finish() lets libzip write the archive around them, and throws
// Error{internal} should libzip want to put them anywhere else. Where there are several members, they are copied.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_set>

#include "relayout/core/error.h"
#include "relayout/interop/files/formats.h"
#include "relayout/interop/files/npy.h"

#if RELAYOUT_HAVE_ZIP
#include <zip.h>
#endif

namespace relayout {

#if RELAYOUT_HAVE_ZIP
namespace {

constexpr std::string_view kSuffix = ".npy";

[[noreturn]] void fail_archive(ErrorCode code, const std::string& what, std::string value = {},
                               std::string limit = {}) {
  throw Error(code, "npz: " + what, "member", std::move(value), std::move(limit));
}

std::string zip_message(zip_error_t* error) {
  std::string text = zip_error_strerror(error);
  zip_error_fini(error);
  return text;
}

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
  void read_exactly(std::span<std::byte> out) {
    if (read(out) != out.size())
      fail_archive(ErrorCode::corrupt, "member \"" + shown_ + "\" is shorter than the size in the directory", shown_);
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
  if (!npy && stat.name != name + std::string(kSuffix)) {
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
  impl.add(std::move(header.tensor), [archive, index, shown, skip, bytes] {
    Member member(*archive, index, shown);
    std::vector<std::byte> head(static_cast<std::size_t>(skip));
    member.read_exactly(head);
    auto data = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    member.read_exactly({data.get(), static_cast<std::size_t>(bytes)});
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
    if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
    if (!seen.insert(name).second)
      fail_archive(ErrorCode::corrupt, "two members have the name \"" + escaped(name) + "\"", escaped(name));
    if (!is_wanted(name, impl.wanted)) {
      impl.add_name(std::move(name));
      continue;
    }
    add_member(impl, archive, i, std::move(name), stat);
  }
}

namespace {

/// Where libzip writes to: the bytes of the output file. Those at [staged_begin, staged_end) are there already; what
/// libzip writes there must be the same and is only compared.
struct Sink {
  std::span<std::byte> file;
  std::size_t staged_begin = 0, staged_end = 0;
  std::size_t position = 0, size = 0;
  zip_error_t error{};

  zip_int64_t refuse(int code) {
    zip_error_set(&error, code, 0);
    return -1;
  }

  zip_int64_t write(const std::byte* data, std::size_t count) {
    if (position > file.size() || count > file.size() - position) return refuse(ZIP_ER_WRITE);
    for (std::size_t i = 0; i < count;) {
      // The next stretch of bytes that are either all staged or all not.
      const std::size_t at = position + i;
      const bool staged = at >= staged_begin && at < staged_end;
      const std::size_t border = staged ? staged_end : at < staged_begin ? staged_begin : file.size();
      const std::size_t length = std::min(count - i, border - at);
      if (!staged) {
        std::memcpy(file.data() + at, data + i, length);
      } else if (std::memcmp(file.data() + at, data + i, length) != 0) {
        return refuse(ZIP_ER_INTERNAL);
      }
      i += length;
    }
    position += count;
    size = std::max(size, position);
    return static_cast<zip_int64_t>(count);
  }

  static zip_int64_t callback(void* user, void* data, zip_uint64_t length, zip_source_cmd_t command) {
    auto& sink = *static_cast<Sink*>(user);
    switch (command) {
      case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_WRITABLE;
      case ZIP_SOURCE_STAT:
        // Tells libzip that there is no archive yet, so that it starts one.
        zip_error_set(&sink.error, ZIP_ER_READ, ENOENT);
        return -1;
      case ZIP_SOURCE_ERROR: return zip_error_to_data(&sink.error, data, length);
      case ZIP_SOURCE_WRITE: return sink.write(static_cast<const std::byte*>(data), length);
      case ZIP_SOURCE_TELL_WRITE: return static_cast<zip_int64_t>(sink.position);
      case ZIP_SOURCE_SEEK_WRITE: {
        const zip_int64_t to = zip_source_seek_compute_offset(sink.position, sink.size, data, length, &sink.error);
        if (to < 0) return -1;
        sink.position = static_cast<std::size_t>(to);
        return 0;
      }
      case ZIP_SOURCE_BEGIN_WRITE:
      case ZIP_SOURCE_COMMIT_WRITE:
      case ZIP_SOURCE_ROLLBACK_WRITE:
      case ZIP_SOURCE_FREE: return 0;
      default: return sink.refuse(ZIP_ER_OPNOTSUPP);
    }
  }
};

struct NewMember {
  std::string name;
  std::span<const std::byte> bytes;
};

/// Has libzip write an archive of these members to `file`, and returns its size. If [begin, end) is not empty, the
/// bytes of the only member are there already.
int64_t write_archive(std::span<std::byte> file, std::size_t begin, std::size_t end,
                      std::span<const NewMember> members) {
  Sink sink{.file = file, .staged_begin = begin, .staged_end = end};
  zip_error_init(&sink.error);
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* target = zip_source_function_create(Sink::callback, &sink, &error);
  zip_t* zip = target ? zip_open_from_source(target, ZIP_CREATE | ZIP_TRUNCATE, &error) : nullptr;
  if (!zip) {
    zip_source_free(target);
    fail_archive(ErrorCode::internal, "start an archive: " + zip_message(&error));
  }
  std::string member;
  const auto check = [&](bool ok) {
    if (ok) return;
    const std::string text = zip_strerror(zip);
    const int code = zip_error_code_zip(zip_get_error(zip));
    const bool name_refused = code == ZIP_ER_INVAL || code == ZIP_ER_EXISTS;
    zip_discard(zip);
    fail_archive(name_refused ? ErrorCode::invalid_argument : ErrorCode::internal,
                 "write member \"" + escaped(member) + "\": " + text, escaped(member));
  };
  for (const NewMember& next : members) {
    member = next.name;
    zip_source_t* source = zip_source_buffer(zip, next.bytes.data(), next.bytes.size(), 0);
    check(source != nullptr);
    const zip_int64_t index = zip_file_add(zip, member.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) zip_source_free(source);
    check(index >= 0);
    const auto added = static_cast<zip_uint64_t>(index);
    check(zip_set_file_compression(zip, added, ZIP_CM_STORE, 0) == 0);
    // The date is always 1980-01-01, as NumPy writes it, so that equal arrays give equal files.
    check(zip_file_set_dostime(zip, added, 0, 1 << 5 | 1, 0) == 0);
  }
  check(zip_close(zip) == 0);
  return static_cast<int64_t>(sink.size);
}

}  // namespace

namespace {

std::string member_name(const TensorSpec& spec) {
  std::string member = (spec.name.empty() ? "arr_0" : spec.name) + std::string(kSuffix);
  constexpr std::size_t kMostName = 65535;
  if (member.size() > kMostName || member.find('\0') != std::string::npos) {
    fail_archive(ErrorCode::invalid_argument, "\"" + escaped(member) + "\" cannot name a member", escaped(member),
                 "65535 bytes, none of them zero");
  }
  return member;
}

/// An upper bound for what follows the data: a member's entry in the directory and the end of the archive. They have 46
/// and 22 bytes and the name; 28 + 56 + 20 more where sizes need 64 bits; and 128 bytes to spare.
int64_t directory_bound(const std::string& member) {
  return static_cast<int64_t>(46 + 22 + 28 + 56 + 20 + member.size() + 128);
}

}  // namespace

FilePlan plan_npz(const TensorSpec& spec) {
  const std::string member = member_name(spec);
  const std::string header = npy_head(spec);
  const int64_t data = spec_bytes(spec);
  const int64_t stored = static_cast<int64_t>(header.size()) + data;
  // The header before a member: 30 bytes, the name, and 20 bytes for sizes that 32 bits do not hold.
  const std::size_t local = 30 + member.size() + (stored > 0xffffffff ? 20 : 0);
  const std::size_t end = local + static_cast<std::size_t>(stored);
  return {std::string(local, '\0') + header, data, directory_bound(member), [=](std::span<std::byte> file) {
            const NewMember staged{member, file.subspan(local, end - local)};
            return write_archive(file, local, end, {&staged, 1});
          }};
}

void write_npz(const std::filesystem::path& path, std::span<const NamedTensor> tensors, bool overwrite) {
  std::vector<std::vector<std::byte>> contents;
  std::vector<NewMember> members;
  int64_t bound = 0;
  for (const NamedTensor& tensor : tensors) {
    const std::string head = npy_head(tensor.spec);
    if (const int64_t need = spec_bytes(tensor.spec); need != static_cast<int64_t>(tensor.bytes.size())) {
      fail_archive(ErrorCode::invalid_argument,
                   "member \"" + escaped(tensor.spec.name) + "\" needs " + std::to_string(need) + " bytes, given are " +
                       std::to_string(tensor.bytes.size()),
                   std::to_string(tensor.bytes.size()), std::to_string(need));
    }
    std::vector<std::byte>& content = contents.emplace_back(head.size() + tensor.bytes.size());
    std::ranges::copy(std::as_bytes(std::span(head)), content.begin());
    std::ranges::copy(tensor.bytes, content.begin() + static_cast<std::ptrdiff_t>(head.size()));
    const std::string name = member_name(tensor.spec);
    // The header before a member has at most 50 bytes and the name (see plan_npz).
    bound += static_cast<int64_t>(content.size() + 50 + name.size()) + directory_bound(name);
    members.push_back({name, content});
  }
  OutputFile file = OutputFile::create(path, bound, overwrite);
  file.commit(write_archive(file.bytes(), 0, 0, members));
}

#else

void open_npz(TensorFile::Impl&) { throw_missing_library("npz", "libzip"); }
FilePlan plan_npz(const TensorSpec&) { throw_missing_library("npz", "libzip"); }
void write_npz(const std::filesystem::path&, std::span<const NamedTensor>, bool) {
  throw_missing_library("npz", "libzip");
}

#endif

}  // namespace relayout
