// The members of a zip archive that is in memory: where each one's bytes are, so that those which are stored are used
// in place, and those which are deflated are decoded one by one (internal to interop/files and checkpoint/).
//
//     for (const ZipMember& member : zip_members(file, limits))
//       if (!member.deflated) file.subspan(member.offset, member.bytes);
//
// Read are archives of one file, with 64-bit sizes where they have them. A member's name is never used as a path.
// Source: PKWARE's APPNOTE 6.3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relayout/core/error.h"
#include "relayout/interop/files/tensor_file.h"

namespace relayout {

struct ZipMember {
  std::string name;
  int64_t offset = 0;        // of its bytes in the archive, deflated or not
  int64_t stored_bytes = 0;  // there
  int64_t bytes = 0;         // when it is decoded
  bool deflated = false;
  uint32_t crc = 0;  // of the decoded bytes
  /// Where the archive has this checksum: in its directory, and in the member's header or behind its bytes.
  std::vector<int64_t> crc_at{};
  /// Why it cannot be read. Then only the name is certain.
  std::optional<Error> problem;
};

/// Whether bytes begin as a zip archive does.
bool begins_as_zip(std::span<const std::byte> bytes);

/// All members but folders, in the directory's order. What is wrong with one is its problem: another compression, an
/// encrypted one, more bytes than deflate can make of what is stored (1032 times) or than limits.decoded_bytes. Errors:
/// corrupt (no directory; a directory beyond the file; two members that share bytes), limit (more than limits.tensors).
/// Cost: a walk over the directory; of the members only their headers are read.
std::vector<ZipMember> zip_members(std::span<const std::byte> archive, const FileLimits& limits);

/// Decodes bytes [skip, skip + out.size()) of a deflated member. Where they reach its end, its checksum is compared.
/// Errors: corrupt, interrupted, unsupported (a build without zlib).
void inflate_member(std::span<const std::byte> archive, const ZipMember& member, int64_t skip, std::span<std::byte> out,
                    const GoOn& go_on = {});

/// The checksum of zip archives: of bytes that stand behind others, whose checksum is `before`; 0 of none.
/// Error{unsupported}: a build without zlib.
uint32_t zip_crc(uint32_t before, std::span<const std::byte> bytes);
/// That of bytes with the checksum `first` and, behind them, `second_bytes` bytes with the checksum `second`.
uint32_t zip_crc_joined(uint32_t first, uint32_t second, int64_t second_bytes);

}  // namespace relayout
