// Zip archives that are written piece by piece: members that are stored, whose data come later and begin at multiples
// of 64 bytes, so that they can be used in place.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "relayout/checkpoint/formats/formats.h"

namespace relayout::checkpoint {

/// A member of `head` and then so many bytes of data.
struct NewZipMember {
  std::string name, head;
  int64_t data_bytes = 0;
};

/// Where the data of each member go (offsets, one a member), what stands around them, and how checksums get into the
/// file: of what was written by this process as it was written (`seen`, by the members' numbers), of all else by
/// reading it once more. `order` is left empty. Errors: invalid_argument (a name that cannot be one), overflow,
/// unsupported (a build without zlib).
FileImage plan_zip(std::span<const NewZipMember> members);

}  // namespace relayout::checkpoint
