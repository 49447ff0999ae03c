// Writes .npz archives: .npy members in a zip file, through libzip.
//
// Members are stored without compression, as numpy.savez does. Where there is one member, the caller fills its bytes in
// where they will lie in the archive; then finish() lets libzip write the archive around them, and throws
// Error{internal} should libzip want to put them anywhere else. Where there are several members, libzip copies them.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/error.h"
#include "relayout/interop/files/formats.h"
#include "relayout/interop/files/npy.h"
#include "relayout/interop/files/npz.h"

namespace relayout {

#if RELAYOUT_HAVE_ZIP
namespace {

/// Where libzip writes to: the bytes of the output file. Those at [staged_begin, staged_end) are there already; what
/// libzip writes there must be the same and is only compared.
struct Sink {
  std::span<std::byte> file;
  std::size_t staged_begin = 0, staged_end = 0;
  const GoOn& go_on;
  int64_t total = 0, asked = 0;  // bytes of all members; those that were there at the last question
  std::exception_ptr ended{};    // why no more is to be written
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
    return goes_on(static_cast<int64_t>(size)) ? static_cast<zip_int64_t>(count) : refuse(ZIP_ER_WRITE);
  }

  /// Exceptions may not pass through libzip, so they are kept.
  bool goes_on(int64_t done) noexcept {
    if (done - asked < kAskedBytes) return true;
    asked = done;
    try {
      ask(go_on, std::min(done, total - 1), total);
    } catch (...) {
      ended = std::current_exception();
    }
    return ended == nullptr;
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

/// `head` and then `bytes`.
struct NewMember {
  std::string name, head;
  std::span<const std::byte> bytes;
};

/// A member as libzip reads it, in two pieces that live as long as the archive.
zip_source_t* source_of(zip_t* zip, const NewMember& member) {
  const zip_buffer_fragment_t pieces[] = {
      {reinterpret_cast<zip_uint8_t*>(const_cast<char*>(member.head.data())), member.head.size()},
      {reinterpret_cast<zip_uint8_t*>(const_cast<std::byte*>(member.bytes.data())), member.bytes.size()}};
  // libzip takes no empty pieces.
  if (member.bytes.empty()) return zip_source_buffer(zip, member.head.data(), member.head.size(), 0);
  const bool whole = member.head.empty();
  return zip_source_buffer_fragment(zip, pieces + (whole ? 1 : 0), whole ? 1 : 2, 0);
}

/// Bytes of an archive without members: the end of the directory alone.
constexpr int64_t kEmptyArchive = 22;

/// Has libzip write an archive of these members to `file`, and returns its size. If [begin, end) is not empty, the
/// bytes of the only member are there already.
int64_t write_archive(std::span<std::byte> file, std::size_t begin, std::size_t end, std::span<const NewMember> members,
                      const GoOn& go_on) {
  if (members.empty()) {
    // libzip writes none of these; NumPy does.
    constexpr std::string_view kEnd("PK\5\6", 4);
    std::ranges::fill(file.first(static_cast<std::size_t>(kEmptyArchive)), std::byte{0});
    std::ranges::copy(std::as_bytes(std::span(kEnd)), file.begin());
    return kEmptyArchive;
  }
  Sink sink{.file = file, .staged_begin = begin, .staged_end = end, .go_on = go_on};
  for (const NewMember& next : members) sink.total += static_cast<int64_t>(next.head.size() + next.bytes.size());
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
    if (sink.ended) std::rethrow_exception(sink.ended);
    fail_archive(name_refused ? ErrorCode::invalid_argument : ErrorCode::internal,
                 "write member \"" + escaped(member) + "\": " + text, escaped(member));
  };
  for (const NewMember& next : members) {
    member = next.name;
    zip_source_t* source = source_of(zip, next);
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
  ask(go_on, sink.total, sink.total);
  return static_cast<int64_t>(sink.size);
}

std::string member_name(const TensorSpec& spec) {
  std::string member = (spec.name.empty() ? "arr_0" : spec.name) + std::string(kNpzSuffix);
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
  return {std::string(local, '\0') + header, data, directory_bound(member),
          [=](std::span<std::byte> file, const GoOn& go_on) {
            const NewMember staged{member, {}, file.subspan(local, end - local)};
            return write_archive(file, local, end, {&staged, 1}, go_on);
          }};
}

void write_npz(const std::filesystem::path& path, std::span<const NamedTensor> tensors, bool overwrite,
               const GoOn& go_on) {
  std::vector<NewMember> members;
  int64_t bound = kEmptyArchive;
  for (const NamedTensor& tensor : tensors) {
    const std::span<const std::byte> bytes = checked_content(tensor, "npz: member");
    members.push_back({member_name(tensor.spec), npy_head(tensor.spec), bytes});
    const NewMember& member = members.back();
    // The header before a member has at most 50 bytes and the name (see plan_npz).
    bound += static_cast<int64_t>(member.head.size() + member.bytes.size() + 50 + member.name.size()) +
             directory_bound(member.name);
  }
  OutputFile file = OutputFile::create(path, bound, overwrite);
  file.commit(write_archive(file.bytes(), 0, 0, members, go_on));
}

#else

FilePlan plan_npz(const TensorSpec&) { throw_missing_library("npz", "libzip"); }
void write_npz(const std::filesystem::path&, std::span<const NamedTensor>, bool, const GoOn&) {
  throw_missing_library("npz", "libzip");
}

#endif

}  // namespace relayout
