// Writes zip archives piece by piece: see zip_write.h.
#include "relayout/checkpoint/formats/zip_write.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "relayout/interop/files/zip_members.h"

namespace relayout::checkpoint {
namespace {

constexpr uint32_t kMost32 = 0xffffffff;
constexpr int64_t kDataAlignment = 64;
/// The date is always 1980-01-01, as NumPy writes it, so that equal arrays give equal files.
constexpr uint16_t kDate = 1 << 5 | 1;

template <typename... Numbers>
std::string little_endian(Numbers... numbers) {
  std::string out;
  const auto add = [&](auto number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    out.append(bytes, sizeof number);
  };
  (add(numbers), ...);
  return out;
}

/// A member, and where it is in the archive.
struct PlacedMember {
  std::string name, head;
  int64_t header = 0;  // its own header, of the archive
  int64_t bytes = 0;   // head and data
  int64_t data = 0;    // where the data begin
  bool large() const { return bytes >= int64_t{kMost32}; }
  uint16_t flags() const {  // the name is UTF-8 where it is not ASCII
    return std::ranges::any_of(name, [](char ch) { return static_cast<unsigned char>(ch) >= 0x80; }) ? 0x800 : 0;
  }
  uint32_t bytes32() const { return large() ? kMost32 : static_cast<uint32_t>(bytes); }
};
constexpr int64_t kCrcInHeader = 14, kCrcInDirectory = 16;

/// What stands before a member. An extra field of zeros makes the data begin at a multiple of 64 bytes.
std::string header_of(const PlacedMember& member) {
  std::string extra;
  if (member.large())
    extra = little_endian(uint16_t{1}, uint16_t{16}, static_cast<uint64_t>(member.bytes),
                          static_cast<uint64_t>(member.bytes));
  constexpr int64_t kFixed = 30, kFillerHead = 4;
  const int64_t begin =
      member.header + kFixed + static_cast<int64_t>(member.name.size() + extra.size() + member.head.size());
  const int64_t filler = (kDataAlignment - (begin + kFillerHead) % kDataAlignment) % kDataAlignment;
  constexpr uint16_t kFiller = 0x7266;  // an id that nobody has; readers pass over it
  extra += little_endian(kFiller, static_cast<uint16_t>(filler)) + std::string(static_cast<std::size_t>(filler), '\0');
  return little_endian(uint32_t{0x04034b50}, uint16_t{45}, member.flags(), uint16_t{0}, uint16_t{0}, kDate, uint32_t{0},
                       member.bytes32(), member.bytes32(), static_cast<uint16_t>(member.name.size()),
                       static_cast<uint16_t>(extra.size())) +
         member.name + extra;
}

std::string directory_entry(const PlacedMember& member) {
  std::string values;
  if (member.large()) values = little_endian(static_cast<uint64_t>(member.bytes), static_cast<uint64_t>(member.bytes));
  const bool far = member.header >= int64_t{kMost32};
  if (far) values += little_endian(static_cast<uint64_t>(member.header));
  if (!values.empty()) values = little_endian(uint16_t{1}, static_cast<uint16_t>(values.size())) + values;
  return little_endian(uint32_t{0x02014b50}, uint16_t{45}, uint16_t{45}, member.flags(), uint16_t{0}, uint16_t{0},
                       kDate, uint32_t{0}, member.bytes32(), member.bytes32(),
                       static_cast<uint16_t>(member.name.size()), static_cast<uint16_t>(values.size()), uint16_t{0},
                       uint16_t{0}, uint16_t{0}, uint32_t{0}, far ? kMost32 : static_cast<uint32_t>(member.header)) +
         member.name + values;
}

/// The end of the archive, with its 64-bit form where a number needs it.
std::string end_of(uint64_t members, uint64_t begin, uint64_t bytes) {
  constexpr uint64_t kMost16 = 0xffff;
  std::string out;
  if (members >= kMost16 || begin >= kMost32 || bytes >= kMost32) {
    out = little_endian(uint32_t{0x06064b50}, uint64_t{44}, uint16_t{45}, uint16_t{45}, uint32_t{0}, uint32_t{0},
                        members, members, bytes, begin) +
          little_endian(uint32_t{0x07064b50}, uint32_t{0}, begin + bytes, uint32_t{1});
  }
  const auto count = static_cast<uint16_t>(std::min(members, kMost16));
  return out + little_endian(uint32_t{0x06054b50}, uint16_t{0}, uint16_t{0}, count, count,
                             static_cast<uint32_t>(std::min<uint64_t>(bytes, kMost32)),
                             static_cast<uint32_t>(std::min<uint64_t>(begin, kMost32)), uint16_t{0});
}

/// Checksums of the data of members, put together from pieces that come in any order.
class PieceSums {
 public:
  explicit PieceSums(std::size_t members) : pieces_(members) {}

  void add(std::size_t member, int64_t at, std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    const Piece piece{at + static_cast<int64_t>(bytes.size()), zip_crc(0, bytes)};
    const std::lock_guard lock(mutex_);
    std::map<int64_t, Piece>& pieces = pieces_[member];
    const auto behind = pieces.lower_bound(at);
    if (behind != pieces.begin()) {
      Piece& before = std::prev(behind)->second;
      if (before.end == at) {
        before = {piece.end, zip_crc_joined(before.crc, piece.crc, piece.end - at)};
        return;
      }
    }
    pieces[at] = piece;
  }
  /// The checksum of a member's head and data; nothing where the pieces are not just these data, each byte once.
  std::optional<uint32_t> whole(std::size_t member, std::string_view head, int64_t data_bytes) const {
    uint32_t crc = zip_crc(0, std::as_bytes(std::span(head)));
    int64_t at = 0;
    const std::lock_guard lock(mutex_);
    for (const auto& [begin, piece] : pieces_[member]) {
      if (begin != at) return std::nullopt;
      crc = zip_crc_joined(crc, piece.crc, piece.end - at);
      at = piece.end;
    }
    return at == data_bytes ? std::optional(crc) : std::nullopt;
  }

 private:
  struct Piece {
    int64_t end = 0;
    uint32_t crc = 0;
  };
  mutable std::mutex mutex_;
  std::vector<std::map<int64_t, Piece>> pieces_;  // by their begin
};

/// The checksum of a member by reading it.
uint32_t read_sum(const io::NewFile& file, const PlacedMember& member, const GoOn& go_on) {
  std::vector<std::byte> part(static_cast<std::size_t>(std::min(kAskedBytes, member.bytes)));
  const int64_t begin = member.data - static_cast<int64_t>(member.head.size());
  uint32_t crc = 0;
  for (int64_t at = 0; at < member.bytes; at += kAskedBytes) {
    const auto now = std::span(part).first(static_cast<std::size_t>(std::min(kAskedBytes, member.bytes - at)));
    if (file.read_at(begin + at, now) != now.size())
      throw Error(ErrorCode::io, "write zip: the unfinished file was shortened", "path");
    crc = zip_crc(crc, now);
    ask(go_on, at + static_cast<int64_t>(now.size()), member.bytes);
  }
  return crc;
}

/// Puts the members' checksums into a file that has all else.
void put_checksums(const io::NewFile& file, std::span<const PlacedMember> members, std::span<const int64_t> entries,
                   const PieceSums& sums, const GoOn& go_on) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    const PlacedMember& member = members[i];
    const auto known = sums.whole(i, member.head, member.bytes - static_cast<int64_t>(member.head.size()));
    const uint32_t crc = known ? *known : read_sum(file, member, go_on);
    for (const int64_t at : {member.header + kCrcInHeader, entries[i] + kCrcInDirectory})
      file.write_at(at, std::as_bytes(std::span(&crc, 1)));
  }
}

}  // namespace

FileImage plan_zip(std::span<const NewZipMember> given) {
  (void)zip_crc(0, {});  // which a build without zlib refuses, before anything is written
  FileImage out;
  std::vector<PlacedMember> members;
  for (const NewZipMember& next : given) {
    PlacedMember member{.name = next.name, .head = next.head, .header = out.size};
    constexpr std::size_t kMostName = 65535;
    if (member.name.size() > kMostName || member.name.find('\0') != std::string::npos)
      throw Error(ErrorCode::invalid_argument, "write zip: \"" + escaped(member.name, 200) + "\" cannot name a member",
                  "name", escaped(member.name, 200), "65535 bytes, none of them zero");
    member.bytes = static_cast<int64_t>(member.head.size()) + next.data_bytes;
    std::string text = header_of(member) + member.head;
    member.data = out.size + static_cast<int64_t>(text.size());
    out.texts.emplace_back(out.size, std::move(text));
    out.offsets.push_back(member.data);
    out.size = member.data + next.data_bytes;
    if (out.size > INT64_MAX / 4) throw Error(ErrorCode::overflow, "write zip: the members' bytes overflow 63 bits");
    members.push_back(std::move(member));
  }
  std::string directory;
  std::vector<int64_t> entries;
  for (const PlacedMember& member : members) {
    entries.push_back(out.size + static_cast<int64_t>(directory.size()));
    directory += directory_entry(member);
  }
  directory += end_of(members.size(), static_cast<uint64_t>(out.size), directory.size());
  out.texts.emplace_back(out.size, directory);
  out.size += static_cast<int64_t>(directory.size());
  const auto sums = std::make_shared<PieceSums>(members.size());
  out.seen = [sums](std::size_t member, int64_t at, std::span<const std::byte> bytes) { sums->add(member, at, bytes); };
  out.finish = [members = std::move(members), entries = std::move(entries), sums](
                   const io::NewFile& file, const GoOn& go_on) { put_checksums(file, members, entries, *sums, go_on); };
  return out;
}

}  // namespace relayout::checkpoint
