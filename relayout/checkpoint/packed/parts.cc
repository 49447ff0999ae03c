// Parts of packed weights: see parts.h. The fields of both sides are seen as views of the rows of a part, so
// that it is made as a whole matrix is.
#include "relayout/checkpoint/packed/parts.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>

#include "relayout/checkpoint/packed/names.h"
#include "relayout/core/error.h"
#include "relayout/core/view.h"
#include "relayout/cpu/repack.h"

namespace relayout::checkpoint {
namespace {

/// The dim of the source that counts what the new matrix' first dim counts.
int source_dim(const PackedGroup& group) { return group.from.rows() == group.to.rows() ? 0 : 1; }

int64_t bytes_of_buffer(const PackedSide& side, std::string_view buffer) {
  const PackedFormat& format = packed_format(side.tensor.format);
  const PackedArray array = packed_array(format, side.tensor.values, buffer, side.tensor.group);
  DType dtype = array.dtype;
  for (const auto& [field, type] : side.tensor.types)
    if (format.field(field).buffer == buffer) dtype = type;
  int64_t out = bits(dtype);
  for (const int64_t extent : array.shape) out *= extent;
  return out / 8;
}

/// Fields of the whole new matrix, over no memory.
cpu::PackedFields fields_of(const PackedSide& side) {
  std::vector<cpu::PackedBuffer> buffers;
  for (const std::string_view buffer : cpu::value_buffers(packed_format(side.tensor.format)))
    buffers.emplace_back(buffer, ConstElements());
  return {side.tensor.format, cpu::value_fields(side.tensor, buffers), side.tensor.values};
}

/// The fields of a part over buffers that have its bytes alone.
cpu::PackedFields writable_fields(const PackedSide& side, int64_t begin, int64_t count, std::vector<MadeBuffer>& made) {
  const PackedFormat& format = packed_format(side.tensor.format);
  const int64_t extent = side.tensor.values[0];
  for (const std::string_view buffer : cpu::value_buffers(format)) {
    const int64_t all = bytes_of_buffer(side, buffer),
                  first = extent == 0 ? 0 : all / extent * begin + all % extent * begin / extent;
    const int64_t last = extent == 0 ? 0 : all / extent * (begin + count) + all % extent * (begin + count) / extent;
    made.push_back({std::string(buffer), first, std::vector<std::byte>(static_cast<std::size_t>(last - first))});
  }
  cpu::PackedFields out = cpu::fields_of_part(fields_of(side), 0, begin, count);
  for (cpu::ValueField& field : out.fields) {
    MadeBuffer& buffer = *std::ranges::find(made, std::string(format.field(field.name).buffer), &MadeBuffer::buffer);
    const Layout& layout = field.desc.layout;
    const std::vector<Digits> digits{layout.digits_of(0), layout.digits_of(1)};
    const int64_t before = buffer.at * 8 / bits(field.desc.dtype);
    field.desc.layout = Layout::from_digits(layout.dims(), digits, layout.offset0() - before);
    field.buffer = ConstElements(buffer.bytes);
  }
  return out;
}

/// The values of a packed source as the new tensor's.
void make_values(const PackedGroup& group, std::span<const cpu::PackedBuffer> sources, int64_t begin, int64_t count,
                 MadePart& out) {
  const cpu::PackedTensor& from = group.from.tensor;
  const int64_t columns = group.to.dims()[1];
  const TensorDesc rows(Layout::contiguous({count, columns}), *group.to.values);
  out.buffers.push_back({"", begin * columns * bits(rows.dtype) / 8,
                         std::vector<std::byte>(static_cast<std::size_t>(rows.span_bytes()))});
  const bool turned = source_dim(group) == 1;
  const TensorDesc dst(turned ? transpose(rows.layout, 0, 1) : rows.layout, rows.dtype);
  if (!from.group_of.empty()) return cpu::dequantize(from, sources, dst, out.buffers[0].bytes, {}, {.threads = 1});
  const cpu::PackedFields all{from.format, cpu::value_fields(from, sources), from.values};
  const cpu::PackedFields part = cpu::fields_of_part(all, source_dim(group), begin, count);
  cpu::evaluate(cpu::value_of(packed_format(from.format)), part.fields, dst, out.buffers[0].bytes, {}, {.threads = 1});
}

/// The tensors that hold no values: the dims, and the group of each row.
void add_tables(const PackedGroup& group, MadePart& out) {
  const PackedFormat& format = packed_format(group.to.tensor.format);
  const Dims& dims = group.to.dims();
  const auto add = [&](std::string name, const void* numbers, std::size_t bytes) {
    MadeBuffer& made = out.buffers.emplace_back(MadeBuffer{std::move(name), 0, std::vector<std::byte>(bytes)});
    std::memcpy(made.bytes.data(), numbers, bytes);
  };
  const int64_t extents[] = {dims[0], dims[1]};
  if (!format.dims_buffer.empty()) add(std::string(format.dims_buffer), extents, sizeof extents);
  const std::vector<std::string> stored = stored_buffers(format);
  if (std::ranges::find(stored, kGroupTables[0]) == stored.end()) return;
  const int64_t values = group.to.tensor.group > 0 ? group.to.tensor.group : format.group;
  std::vector<int32_t> groups;
  for (int64_t k = 0; k < dims[0] && values > 0; ++k) groups.push_back(static_cast<int32_t>(k / values));
  if (!groups.empty()) add(std::string(kGroupTables[0]), groups.data(), groups.size() * sizeof groups[0]);
}

MadePart made_part(const PackedGroup& group, std::span<const cpu::PackedBuffer> sources, int64_t begin, int64_t count) {
  MadePart out;
  if (group.to.values) {
    make_values(group, sources, begin, count, out);
    return out;
  }
  const cpu::PackedFields to = writable_fields(group.to, begin, count, out.buffers);
  const int dim = source_dim(group);
  cpu::Repacked done;
  if (group.from.values) {
    Layout rows = narrow(group.plain, dim, begin, count);
    if (dim == 1) rows = transpose(rows, 0, 1);
    done = cpu::quantise({rows, *group.from.values}, sources[0].second, to, {.threads = 1});
  } else {
    const cpu::PackedTensor& from = group.from.tensor;
    const cpu::PackedFields all{from.format, cpu::value_fields(from, sources), from.values};
    done = cpu::repack(cpu::fields_of_part(all, dim, begin, count), to,
                       {.requantise = group.requantise, .run = {.threads = 1}});
  }
  out.exact = done.exact;
  out.largest_error = done.largest_error;
  out.rms_error = done.rms_error;
  if (begin == 0) add_tables(group, out);
  return out;
}

}  // namespace

PartSizes part_sizes(const PackedGroup& group) {
  const Dims& dims = group.to.dims();
  PartSizes out{.extent = dims[0], .unit = 1, .bytes = dims[1] * int64_t{4}};
  const int dim = source_dim(group);
  if (group.requantise || !group.from.tensor.group_of.empty()) out.unit = out.extent;
  // A coefficient of the new matrix that all rows share is written once, and its quantiser sees them all.
  for (const cpu::ValueField& field : group.to.values ? std::vector<cpu::ValueField>() : fields_of(group.to).fields)
    if (field.desc.layout.dim(0) == 1) out.unit = out.extent;
  if (!group.to.values) out.unit = std::lcm(out.unit, cpu::unit_of_parts(fields_of(group.to), 0));
  if (!group.from.values) out.unit = std::lcm(out.unit, cpu::unit_of_parts(fields_of(group.from), dim));
  out.unit = std::clamp<int64_t>(out.unit, 1, std::max<int64_t>(out.extent, 1));
  return out;
}

MadePart make_part(const PackedGroup& group, std::span<const cpu::PackedBuffer> sources, int64_t begin, int64_t count) {
  try {
    return made_part(group, sources, begin, count);
  } catch (const Error& error) {
    const int64_t extent = group.to.dims()[0];
    // The error of a part counts its groups and values from the part's begin, and that of the whole from the matrix'.
    // One thread at a time makes a whole matrix for that.
    if (count < extent) {
      static std::mutex whole;
      const std::lock_guard lock(whole);
      (void)make_part(group, sources, 0, extent);
    }
    throw Error(error.code(), group.where + ": " + error.message(), error.field(), error.value(), error.limit());
  }
}

}  // namespace relayout::checkpoint
