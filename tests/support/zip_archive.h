// Zip archives byte by byte, for tests of what reads them: stored and deflated members, and each number as the test
// says.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace relayout::test {

template <typename... Numbers>
std::string little_endian(Numbers... numbers) {
  std::string out;
  const auto add = [&](auto number) {
    std::string bytes(sizeof number, '\0');
    std::memcpy(bytes.data(), &number, sizeof number);
    out += bytes;
  };
  (add(numbers), ...);
  return out;
}

/// CRC-32 by its definition, a bit at a time.
inline uint32_t slow_crc(const std::string& bytes) {
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

/// Deflate without compression: blocks of at most 65535 bytes, each with its length and the complement of it.
inline std::string deflated(const std::string& bytes) {
  std::string out;
  std::size_t at = 0;
  do {
    const auto count = static_cast<uint16_t>(std::min<std::size_t>(bytes.size() - at, 65535));
    const bool last = at + count == bytes.size();
    out += little_endian(static_cast<uint8_t>(last), count, static_cast<uint16_t>(~count)) + bytes.substr(at, count);
    at += count;
  } while (at < bytes.size());
  return out;
}

struct ArchiveMember {
  std::string name, bytes;
  bool deflate = false;
  uint16_t method = 0xffff;  // in place of what `deflate` says
  uint16_t flags = 0;
  int64_t size = -1;    // in place of that of `bytes`
  int64_t stored = -1;  // in place of what is stored
  bool wrong_crc = false;
};

/// The whole archive; `zip64`: all sizes and offsets stand in the extra fields and the 64-bit end.
inline std::string zip_archive(const std::vector<ArchiveMember>& members, bool zip64 = false) {
  std::string out, directory;
  for (const ArchiveMember& member : members) {
    const std::string stored = member.deflate ? deflated(member.bytes) : member.bytes;
    const uint16_t method = member.method != 0xffff ? member.method : member.deflate ? 8 : 0;
    const auto size = static_cast<uint64_t>(member.size >= 0 ? member.size : static_cast<int64_t>(member.bytes.size()));
    const auto in_file =
        static_cast<uint64_t>(member.stored >= 0 ? member.stored : static_cast<int64_t>(stored.size()));
    const uint32_t crc = slow_crc(member.bytes) ^ (member.wrong_crc ? 1 : 0);
    const auto name_bytes = static_cast<uint16_t>(member.name.size());
    const uint64_t begin = out.size();
    const auto narrow = [&](uint64_t value) { return zip64 ? 0xffffffff : static_cast<uint32_t>(value); };
    const std::string local_extra = zip64 ? little_endian(uint16_t{1}, uint16_t{16}, size, in_file) : "";
    const std::string extra = zip64 ? little_endian(uint16_t{1}, uint16_t{24}, size, in_file, begin) : "";
    out += little_endian(uint32_t{0x04034b50}, uint16_t{45}, member.flags, method, uint32_t{0}, crc, narrow(in_file),
                         narrow(size), name_bytes, static_cast<uint16_t>(local_extra.size())) +
           member.name + local_extra + stored;
    directory += little_endian(uint32_t{0x02014b50}, uint32_t{0}, member.flags, method, uint32_t{0}, crc,
                               narrow(in_file), narrow(size), name_bytes, static_cast<uint16_t>(extra.size()),
                               uint16_t{0}, uint16_t{0}, uint16_t{0}, uint32_t{0}, narrow(begin)) +
                 member.name + extra;
  }
  const uint64_t begin = out.size(), count = members.size(), bytes = directory.size();
  out += directory;
  if (zip64) {
    const uint64_t end = out.size();
    out += little_endian(uint32_t{0x06064b50}, uint64_t{44}, uint32_t{0}, uint64_t{0}, count, count, bytes, begin) +
           little_endian(uint32_t{0x07064b50}, uint32_t{0}, end, uint32_t{1});
    return out + little_endian(uint32_t{0x06054b50}, uint32_t{0}, uint32_t{0xffffffff}, uint32_t{0xffffffff},
                               uint32_t{0xffffffff}, uint16_t{0});
  }
  const auto short_count = static_cast<uint16_t>(count);
  return out + little_endian(uint32_t{0x06054b50}, uint32_t{0}, short_count, short_count, static_cast<uint32_t>(bytes),
                             static_cast<uint32_t>(begin), uint16_t{0});
}

}  // namespace relayout::test
