// Checkpoints in .npz files: stored members are used in place, deflated ones decoded when they are asked for.
#include <algorithm>
#include <cstring>
#include <memory>

#include "relayout/checkpoint/formats/formats.h"
#include "relayout/interop/files/npy.h"
#include "relayout/interop/files/zip_members.h"

namespace relayout::checkpoint {
namespace {

constexpr std::string_view kMemberEnding = ".npy";

/// The first `count` bytes of a member.
std::vector<std::byte> front_of(std::span<const std::byte> archive, const ZipMember& member, int64_t count) {
  std::vector<std::byte> out(static_cast<std::size_t>(std::min(count, member.bytes)));
  if (member.deflated) {
    inflate_member(archive, member, 0, out);
  } else {
    std::ranges::copy(archive.subspan(static_cast<std::size_t>(member.offset), out.size()), out.begin());
  }
  return out;
}

/// `bytes` bytes of a member behind its header, inflated, and with the bytes of every item of `turned` bytes in the
/// other order; 0: as they are.
std::unique_ptr<std::byte[]> elements_of(std::span<const std::byte> archive, const ZipMember& member, int64_t header,
                                         int64_t bytes, std::size_t turned, const GoOn& go_on) {
  const auto count = static_cast<std::size_t>(bytes);
  auto out = std::make_unique_for_overwrite<std::byte[]>(count);
  if (member.deflated) {
    inflate_member(archive, member, header, {out.get(), count}, go_on);
  } else if (count > 0) {
    std::memcpy(out.get(), archive.data() + member.offset + header, count);
  }
  if (turned > 0)
    for (std::size_t at = 0; at + turned <= count; at += turned) std::reverse(out.get() + at, out.get() + at + turned);
  return out;
}

/// The array that a member holds. One that is no .npy file is bytes.
CheckpointTensor array_of(const Source& source, const ZipMember& member, int64_t& header_bytes) {
  CheckpointTensor out;
  const std::vector<std::byte> front = front_of(source.bytes(), member, kNpyPrefix);
  const std::string_view start(reinterpret_cast<const char*>(front.data()), front.size());
  header_bytes = 0;
  if (!start.starts_with(kNpyMagic) && !member.name.ends_with(kMemberEnding)) {
    out.dtype = DType::u8;
    out.item_bits = 8;
    out.shape = Dims{member.bytes};
    out.byte_size = member.bytes;
  } else {
    header_bytes = npy_data_offset(front, member.bytes, source.limits);
    static_cast<StoredTensor&>(out) =
        parse_npy_header(front_of(source.bytes(), member, header_bytes), member.bytes).tensor;
  }
  out.strides = row_major_strides(out.shape);
  if (!out.fortran_order) return out;
  out.fortran_order = false;
  Dims reversed(Dims(out.shape));
  std::ranges::reverse(reversed);
  out.strides = row_major_strides(reversed);
  std::ranges::reverse(out.strides);
  return out;
}

}  // namespace

bool begins_as_npz(std::span<const std::byte> bytes) { return begins_as_zip(bytes); }

void open_npz(Source& source) {
  const std::span<const std::byte> archive = source.bytes();
  for (const ZipMember& member : zip_members(archive, source.limits)) {
    CheckpointTensor tensor;
    int64_t header_bytes = 0;
    try {
      if (member.problem) throw Error(*member.problem);
      tensor = array_of(source, member, header_bytes);
    } catch (const Error& error) {
      tensor = {};
      tensor.problem = Error(error.code(), "member \"" + escaped(member.name, 200) + "\": " + error.message(),
                             error.field(), error.value(), error.limit());
    }
    tensor.name = member.name;
    if (tensor.name.ends_with(kMemberEnding)) tensor.name.resize(tensor.name.size() - kMemberEnding.size());
    tensor.offset = member.offset + (member.deflated ? 0 : header_bytes);
    const std::size_t turned = tensor.byte_swapped && tensor.dtype ? static_cast<std::size_t>(tensor.item_bits / 8) : 0;
    Decode decode;
    if ((member.deflated || turned > 0) && !tensor.problem) {
      if (turned > 0) tensor.byte_swapped = false;
      decode = [archive, member, header_bytes, turned, bytes = tensor.byte_size](const GoOn& go_on) {
        return elements_of(archive, member, header_bytes, bytes, turned, go_on);
      };
    }
    source.add(std::move(tensor), std::move(decode));
  }
}

}  // namespace relayout::checkpoint
