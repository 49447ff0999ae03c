// Reads the directory of zip archives, and inflates members through zlib: see zip_members.h.
#include "relayout/interop/files/zip_members.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "relayout/interop/files/formats.h"

#if RELAYOUT_HAVE_ZLIB
#include <zlib.h>
#endif

namespace relayout {
namespace {

[[noreturn]] void fail_zip(ErrorCode code, const std::string& what, std::string field = "directory",
                           std::string value = {}, std::string limit = {}) {
  throw Error(code, "zip: " + what, std::move(field), std::move(value), std::move(limit));
}
[[noreturn]] void fail_member(const ZipMember& member, ErrorCode code, const std::string& what, std::string value = {},
                              std::string limit = {}) {
  const std::string shown = escaped(member.name, 200);
  fail_zip(code, "member \"" + shown + "\": " + what, shown, std::move(value), std::move(limit));
}

template <typename T>
T number_at(std::span<const std::byte> bytes, std::size_t at) {
  T out;
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}
bool has_signature(std::span<const std::byte> bytes, std::size_t at, uint32_t signature) {
  return at <= bytes.size() && bytes.size() - at >= 4 && number_at<uint32_t>(bytes, at) == signature;
}

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50, kDescriptor = 0x08074b50, kSaturated = 0xffffffff;
constexpr std::size_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56, kCentralBytes = 46, kLocalBytes = 30;

/// Where the directory is, and how many members it lists.
struct Directory {
  uint64_t begin = 0, bytes = 0, members = 0;
};

/// The end of an archive has a comment of up to 65535 bytes behind it, which must reach the end of the file.
std::size_t find_end(std::span<const std::byte> archive) {
  constexpr std::size_t kMostComment = 65535;
  if (archive.size() >= kEndBytes) {
    const std::size_t last = archive.size() - kEndBytes, first = last - std::min(last, kMostComment);
    for (std::size_t at = last + 1; at-- > first;) {
      if (has_signature(archive, at, kEnd) && number_at<uint16_t>(archive, at + 20) == last - at) return at;
    }
  }
  fail_zip(ErrorCode::corrupt, "no end of a directory: this is no zip archive, or it was cut off");
}

Directory find_directory(std::span<const std::byte> archive) {
  const std::size_t end = find_end(archive);
  Directory out{number_at<uint32_t>(archive, end + 16), number_at<uint32_t>(archive, end + 12),
                number_at<uint16_t>(archive, end + 10)};
  uint64_t limit = end;
  if (end >= kLocatorBytes && has_signature(archive, end - kLocatorBytes, kLocator64)) {
    const auto at = number_at<uint64_t>(archive, end - kLocatorBytes + 8);
    if (at > end - kLocatorBytes || end - kLocatorBytes - at < kEnd64Bytes || !has_signature(archive, at, kEnd64))
      fail_zip(ErrorCode::corrupt, "the end of the 64-bit directory is said to be at byte " + std::to_string(at),
               "directory", std::to_string(at));
    out = {number_at<uint64_t>(archive, at + 48), number_at<uint64_t>(archive, at + 40),
           number_at<uint64_t>(archive, at + 32)};
    limit = at;
  }
  if (out.begin > limit || out.bytes > limit - out.begin)
    fail_zip(ErrorCode::corrupt,
             "a directory of " + std::to_string(out.bytes) + " bytes at byte " + std::to_string(out.begin) +
                 " goes beyond byte " + std::to_string(limit),
             "directory", std::to_string(out.begin), std::to_string(limit));
  if (out.members > out.bytes / kCentralBytes)
    fail_zip(ErrorCode::corrupt,
             std::to_string(out.members) + " members in a directory of " + std::to_string(out.bytes) + " bytes",
             "members", std::to_string(out.members), std::to_string(out.bytes / kCentralBytes));
  return out;
}

/// An entry of the directory.
struct CentralEntry {
  uint16_t flags = 0, method = 0;
  uint64_t stored = 0, size = 0, header = 0;
};

/// Sizes that 32 bits do not hold stand in an extra field, in this order, each only where it is saturated.
void take_extra(CentralEntry& entry, std::span<const std::byte> extra) {
  constexpr uint16_t kSizes64 = 1;
  while (extra.size() >= 4) {
    const auto id = number_at<uint16_t>(extra, 0);
    const std::size_t length = std::min<std::size_t>(number_at<uint16_t>(extra, 2), extra.size() - 4);
    std::span<const std::byte> values = extra.subspan(4, length);
    for (uint64_t* field : {&entry.size, &entry.stored, &entry.header}) {
      if (id != kSizes64 || *field != kSaturated || values.size() < 8) continue;
      *field = number_at<uint64_t>(values, 0);
      values = values.subspan(8);
    }
    extra = extra.subspan(4 + length);
  }
}

/// Finds a member's bytes by its own header, and checks what the directory says of it. Errors are the member's.
void locate(ZipMember& member, const CentralEntry& entry, std::span<const std::byte> archive, uint64_t directory,
            const FileLimits& limits) {
  const auto fail = [&](ErrorCode code, const std::string& what) { fail_member(member, code, what); };
  if (entry.flags & 1) fail(ErrorCode::unsupported, "it is encrypted");
  if (entry.method != 0 && entry.method != 8)
    fail(ErrorCode::unsupported,
         "compression method " + std::to_string(entry.method) + " is not supported; stored and deflate are");
  if (entry.header > directory || directory - entry.header < kLocalBytes ||
      !has_signature(archive, entry.header, kLocal))
    fail(ErrorCode::corrupt, "there is no member at byte " + std::to_string(entry.header));
  const uint64_t begin = entry.header + kLocalBytes + number_at<uint16_t>(archive, entry.header + 26) +
                         number_at<uint16_t>(archive, entry.header + 28);
  if (begin > directory || entry.stored > directory - begin)
    fail(ErrorCode::corrupt, std::to_string(entry.stored) + " bytes at byte " + std::to_string(begin) +
                                 " go beyond the directory at byte " + std::to_string(directory));
  const auto own = archive.subspan(entry.header + kLocalBytes, number_at<uint16_t>(archive, entry.header + 26));
  if (!std::ranges::equal(own, std::as_bytes(std::span(member.name))))
    fail(ErrorCode::corrupt, "the member at byte " + std::to_string(entry.header) + " has another name");
  const std::string sizes = std::to_string(entry.size) + " bytes in " + std::to_string(entry.stored);
  member.deflated = entry.method == 8;
  constexpr uint64_t kMostExpansion = 1032;
  if (!member.deflated && entry.size != entry.stored)
    fail(ErrorCode::corrupt, "it is not compressed, but has " + sizes);
  if (member.deflated && entry.size / kMostExpansion > entry.stored)
    fail(ErrorCode::corrupt, "it has " + sizes + ", which deflate cannot reach");
  if (member.deflated && entry.size > static_cast<uint64_t>(limits.decoded_bytes))
    fail_member(member, ErrorCode::limit,
                "it has " + std::to_string(entry.size) + " bytes; at most " + std::to_string(limits.decoded_bytes) +
                    " are decoded",
                std::to_string(entry.size), std::to_string(limits.decoded_bytes));
  member.offset = static_cast<int64_t>(begin);
  member.stored_bytes = static_cast<int64_t>(entry.stored);
  member.bytes = static_cast<int64_t>(entry.size);
  // Where the header was written before the bytes, the checksum follows them, with or without a signature.
  const uint64_t header = entry.header + 14, end = begin + entry.stored,
                 behind = end + (has_signature(archive, end, kDescriptor) ? 4 : 0);
  const auto has_crc = [&](uint64_t at) {
    return at + 4 <= directory && number_at<uint32_t>(archive, at) == member.crc;
  };
  if ((entry.flags & 8) == 0 || has_crc(header)) member.crc_at.push_back(static_cast<int64_t>(header));
  if ((entry.flags & 8) != 0 && (behind > end || has_crc(behind)))
    member.crc_at.push_back(static_cast<int64_t>(behind));
}

/// Members that share bytes are how a small archive becomes a large one.
void check_apart(std::span<const ZipMember> members) {
  std::vector<const ZipMember*> placed;
  for (const ZipMember& member : members) {
    if (!member.problem && member.stored_bytes > 0) placed.push_back(&member);
  }
  std::ranges::sort(placed, {}, &ZipMember::offset);
  for (std::size_t i = 1; i < placed.size(); ++i) {
    if (placed[i - 1]->offset + placed[i - 1]->stored_bytes > placed[i]->offset)
      fail_member(*placed[i], ErrorCode::corrupt,
                  "its bytes are those of member \"" + escaped(placed[i - 1]->name, 200) + "\" too");
  }
}

}  // namespace

bool begins_as_zip(std::span<const std::byte> bytes) {
  return has_signature(bytes, 0, kLocal) || has_signature(bytes, 0, kEnd);
}

std::vector<ZipMember> zip_members(std::span<const std::byte> archive, const FileLimits& limits) {
  const Directory directory = find_directory(archive);
  if (directory.members > static_cast<uint64_t>(limits.tensors))
    fail_zip(ErrorCode::limit,
             std::to_string(directory.members) + " members; at most " + std::to_string(limits.tensors) + " are read",
             "members", std::to_string(directory.members), std::to_string(limits.tensors));
  std::vector<ZipMember> out;
  std::span<const std::byte> rest = archive.subspan(directory.begin, directory.bytes);
  for (uint64_t i = 0; i < directory.members; ++i) {
    if (rest.size() < kCentralBytes || !has_signature(rest, 0, kCentral))
      fail_zip(ErrorCode::corrupt, "the directory has no entry " + std::to_string(i), "directory", std::to_string(i));
    const std::size_t name_bytes = number_at<uint16_t>(rest, 28), extra_bytes = number_at<uint16_t>(rest, 30);
    const std::size_t all = kCentralBytes + name_bytes + extra_bytes + number_at<uint16_t>(rest, 32);
    if (all > rest.size())
      fail_zip(ErrorCode::corrupt, "entry " + std::to_string(i) + " goes beyond the directory", "directory",
               std::to_string(i));
    CentralEntry entry{number_at<uint16_t>(rest, 8), number_at<uint16_t>(rest, 10), number_at<uint32_t>(rest, 20),
                       number_at<uint32_t>(rest, 24), number_at<uint32_t>(rest, 42)};
    take_extra(entry, rest.subspan(kCentralBytes + name_bytes, extra_bytes));
    ZipMember member;
    member.name.assign(reinterpret_cast<const char*>(rest.data()) + kCentralBytes, name_bytes);
    member.crc = number_at<uint32_t>(rest, 16);
    member.crc_at.push_back(rest.data() - archive.data() + 16);
    rest = rest.subspan(all);
    if (member.name.ends_with('/')) continue;
    try {
      locate(member, entry, archive, directory.begin, limits);
    } catch (const Error& error) {
      member.problem = error;
    }
    out.push_back(std::move(member));
  }
  check_apart(out);
  return out;
}

#if RELAYOUT_HAVE_ZLIB
namespace {

/// A stream of zlib, over bytes that may be more than its own counters hold.
class Inflater {
 public:
  Inflater(const ZipMember& member, std::span<const std::byte> stored) : member_(member), stored_(stored) {
    constexpr int kRawDeflate = -15;
    if (inflateInit2(&stream_, kRawDeflate) != Z_OK) fail_member(member_, ErrorCode::limit, "zlib has no memory");
  }
  Inflater(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  /// Fills `out`, or fails.
  void read(std::span<std::byte> out) {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    while (stream_.avail_out > 0) {
      if (stream_.avail_in == 0) {
        const auto part = stored_.first(std::min<std::size_t>(stored_.size(), 1 << 30));
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(part.data()));
        stream_.avail_in = static_cast<uInt>(part.size());
        stored_ = stored_.subspan(part.size());
      }
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (stream_.avail_out == 0) break;
      if (status == Z_STREAM_END)
        fail_member(member_, ErrorCode::corrupt, "it is shorter than the size in the directory");
      if (status != Z_OK)
        fail_member(
            member_, ErrorCode::corrupt,
            std::string("its compressed bytes are damaged") + (stream_.msg ? std::string(": ") + stream_.msg : ""));
    }
    crc_ = zip_crc(crc_, out);
  }
  uint32_t crc() const { return crc_; }

 private:
  const ZipMember& member_;
  std::span<const std::byte> stored_;
  z_stream stream_{};
  uint32_t crc_ = 0;
};

}  // namespace

void inflate_member(std::span<const std::byte> archive, const ZipMember& member, int64_t skip, std::span<std::byte> out,
                    const GoOn& go_on) {
  Inflater inflater(
      member, archive.subspan(static_cast<std::size_t>(member.offset), static_cast<std::size_t>(member.stored_bytes)));
  const auto end = skip + static_cast<int64_t>(out.size());
  std::vector<std::byte> passed(static_cast<std::size_t>(std::min(skip, kAskedBytes)));
  for (int64_t at = 0; at < skip; at += static_cast<int64_t>(passed.size())) {
    inflater.read(std::span(passed).first(static_cast<std::size_t>(std::min<int64_t>(skip - at, kAskedBytes))));
    ask(go_on, std::min(at + kAskedBytes, skip), end);
  }
  for (int64_t at = skip; at < end; at += kAskedBytes) {
    const auto count = static_cast<std::size_t>(std::min(kAskedBytes, end - at));
    inflater.read(out.subspan(static_cast<std::size_t>(at - skip), count));
    ask(go_on, at + static_cast<int64_t>(count), end);
  }
  if (end == member.bytes && inflater.crc() != member.crc)
    fail_member(member, ErrorCode::corrupt, "its checksum is another one than the directory's");
}

uint32_t zip_crc(uint32_t before, std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

uint32_t zip_crc_joined(uint32_t first, uint32_t second, int64_t second_bytes) {
  return static_cast<uint32_t>(crc32_combine(first, second, second_bytes));
}

#else

void inflate_member(std::span<const std::byte>, const ZipMember&, int64_t, std::span<std::byte>, const GoOn&) {
  throw_missing_library("inflate", "zlib");
}
uint32_t zip_crc(uint32_t, std::span<const std::byte>) { throw_missing_library("zip", "zlib"); }
uint32_t zip_crc_joined(uint32_t, uint32_t, int64_t) { throw_missing_library("zip", "zlib"); }

#endif

}  // namespace relayout
