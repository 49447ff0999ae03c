// Tensors of packed matrices: see sources.h.
#include "relayout/checkpoint/packed/sources.h"

#include <algorithm>
#include <cstring>

#include "relayout/core/extents.h"
#include "relayout/core/print.h"
#include "relayout/core/view.h"

namespace relayout::checkpoint {
namespace {

/// Reads the tensors of one matrix.
class SourceReader {
 public:
  SourceReader(const Checkpoint& model, const PackedFormat& format, const PackedName& name, std::size_t at,
               const RefuseTensor& refuse)
      : model_(model), format_(format), name_(name), at_(at), refuse_(refuse) {}

  PackedSource read() {
    out_.side.tensor.format = format_.name;
    for (const std::string_view buffer : cpu::value_buffers(format_)) {
      const auto found = find_buffer(model_, format_, name_, buffer);
      if (!found) missing(buffer);
      check_plain(*found);
      out_.tensors.emplace_back(buffer, *found);
      out_.all.push_back(*found);
    }
    take_dims();
    for (const auto& [buffer, tensor] : out_.tensors) take_types(buffer, tensor);
    for (const auto& [buffer, tensor] : out_.tensors) check_shape(buffer, tensor);
    take_stated_dims();
    take_order();
    check_left_out();
    return std::move(out_);
  }

 private:
  const CheckpointTensor& tensor(std::size_t i) const { return model_.tensors()[i]; }
  std::string shown(std::size_t i) const { return "\"" + escaped(tensor(i).name, 200) + "\""; }

  [[noreturn]] void fail(std::size_t at, const std::string& why, ErrorCode code = ErrorCode::invalid_argument) const {
    refuse_(at, why, code);
    throw Error(code, why);
  }

  [[noreturn]] void missing(std::string_view buffer) const {
    std::string list;
    for (const std::string_view each : cpu::value_buffers(format_))
      list += (list.empty() ? "" : ", ") + std::string(each);
    fail(at_, "there is no \"" + escaped(name_.with(buffer), 200) + "\", and a matrix of " + std::string(format_.name) +
                  " has " + list);
  }

  void check_plain(std::size_t i) const {
    const CheckpointTensor& t = tensor(i);
    if (t.problem) throw *t.problem;
    if (t.byte_swapped) fail(i, "its elements are big-endian", ErrorCode::unsupported);
    if (!t.row_major()) fail(i, "it has strides, and packed weights are row-major", ErrorCode::unsupported);
  }

  /// A product of numbers of a file.
  int64_t times(std::size_t i, int64_t a, int64_t b) const {
    const std::optional<int64_t> out = checked_mul(a, b);
    if (!out) fail(i, "its shape " + join(tensor(i).shape, "x") + " overflows 64 bits", ErrorCode::overflow);
    return *out;
  }

  /// The dims of the matrix, from the shape of its codes.
  void take_dims() {
    const PackedField& field = *std::ranges::find_if(format_.fields, [](const PackedField& f) {
      return f.group == std::array<int64_t, 2>{1, 1};
    });
    const auto at =
        std::ranges::find(out_.tensors, std::string(field.buffer), &std::pair<std::string, std::size_t>::first);
    const CheckpointTensor& codes = tensor(at->second);
    const PackedArray two = packed_array(format_, {1024, 1024}, field.buffer, 1024);
    const int whole = two.shape.size(), dims = codes.shape.size();
    // Pieces of rows are a dim of their own, which files under other names of the buffer do not have.
    undivided_ = whole > 2 && dims >= 2 && (dims < whole || codes.shape[dims - 1] != two.shape[2]);
    const int rank = undivided_ ? 2 : whole;
    if (dims < rank)
      fail(at->second, "it is an array of " + std::to_string(codes.shape.size()) + " dims, and " +
                           std::string(format_.name) + " has " + std::to_string(whole));
    const int lead = codes.shape.size() - rank;
    int64_t row_bits = codes.item_bits;
    for (int d = lead + 1; d < codes.shape.size(); ++d) row_bits = times(at->second, row_bits, codes.shape[d]);
    const PackedItem item = item_of(format_, field);
    const int64_t item_bits = item.elements * bits(field.dtype);
    if (row_bits % item_bits != 0)
      fail(at->second, "its rows of " + std::to_string(row_bits) + " bits are no whole blocks of " +
                           std::to_string(item_bits) + " bits of " + std::string(format_.name));
    const int64_t first = times(at->second, codes.shape[lead], item.block(0));
    const int64_t second = times(at->second, row_bits / item_bits, item.block(1));
    const bool turned = format_.dims == "kn";
    for (int d = 0; d < lead; ++d) out_.dims.push_back(codes.shape[d]);
    out_.dims.push_back(turned ? second : first);
    out_.dims.push_back(turned ? first : second);
    int64_t rows = first;
    for (int d = 0; d < lead; ++d) rows = times(at->second, rows, codes.shape[d]);
    out_.side.tensor.values = {rows, second};
    if (lead > 0 && !rows_stand_alone())
      fail(at->second,
           "it is an array of " + std::to_string(codes.shape.size()) + " dims, and matrices of " +
               std::string(format_.name) + " do not stand behind each other",
           ErrorCode::unsupported);
  }

  /// Whether several matrices, one behind the other, are one with more rows.
  bool rows_stand_alone() const {
    return std::ranges::all_of(format_.fields, [&](const PackedField& field) {
      return field.group[0] == 1 && item_of(format_, field).block(0) == 1;
    });
  }

  /// Coefficients may have another type than the format's, and their shape says how many values share one.
  void take_types(const std::string& buffer, std::size_t i) {
    const CheckpointTensor& t = tensor(i);
    for (const PackedField& field : format_.fields) {
      if (field.buffer != buffer || !is_floating(field.dtype)) continue;
      if (t.dtype && is_floating(*t.dtype) && *t.dtype != field.dtype && bits(field.dtype) > 4)
        out_.side.tensor.types.emplace_back(field.name, *t.dtype);
      for (int d = 0; d < 2; ++d) {
        const int at = t.shape.size() - 2 + d;
        if (field.group[static_cast<std::size_t>(d)] == 0 && at >= 0 && t.shape[at] > 0)
          out_.side.tensor.group = out_.side.tensor.values[d] / t.shape[at];
      }
    }
  }

  void check_shape(const std::string& buffer, std::size_t i) const {
    const cpu::PackedTensor& matrix = out_.side.tensor;
    const CheckpointTensor& t = tensor(i);
    PackedArray wanted;
    try {
      wanted = packed_array(format_, matrix.values, buffer, matrix.group);
    } catch (const Error& error) {
      fail(i, error.message(), error.code());
    }
    const auto field = std::ranges::find(format_.fields, buffer, &PackedField::buffer);
    const bool codes = bits(field->dtype) < 8 || is_integer(field->dtype);
    const bool is_number = t.dtype && is_floating(*t.dtype) && bits(*t.dtype) > 4;
    const bool type = codes ? !is_number : is_number || (bits(field->dtype) == 8 && t.item_bits == 8);
    const int64_t item = codes ? bits(wanted.dtype) : t.item_bits;
    int64_t wanted_bits = item, own_bits = t.item_bits, wanted_rows = 1, own_rows = 1;
    for (const int64_t extent : wanted.shape) wanted_bits = times(i, wanted_bits, extent);
    for (const int64_t extent : t.shape) own_bits = times(i, own_bits, extent);
    // The last axes are rows, however many words or bytes these are.
    const int rank = undivided_ ? std::min(wanted.shape.size(), 2) : wanted.shape.size();
    if (rank > 0) wanted_rows = wanted.shape[0];
    for (int d = 0; d < t.shape.size() - rank + 1 && rank > 0; ++d) own_rows = times(i, own_rows, t.shape[d]);
    if (type && wanted_bits == own_bits && wanted_rows == own_rows) return;
    fail(i, "it is " + join(t.shape, "x") + " of " +
                (t.dtype ? std::string(name(*t.dtype)) : escaped(t.type_name, 60)) + ", and of " +
                std::string(format_.name) + " with dims " + join(matrix.values, "x") + " it is " +
                join(wanted.shape, "x") + " of " + std::string(name(wanted.dtype)));
  }

  /// The dims that a tensor of their own says.
  void take_stated_dims() {
    if (format_.dims_buffer.empty()) return;
    const auto found = find_buffer(model_, format_, name_, format_.dims_buffer);
    if (!found) return;
    out_.all.push_back(*found);
    const CheckpointTensor& t = tensor(*found);
    const auto width = static_cast<std::size_t>(t.item_bits / 8);
    check_plain(*found);
    const Contents contents = model_.contents(*found);
    if ((width != 8 && width != 4) || contents.bytes.size() != 2 * width) fail(*found, "it is no pair of extents");
    Dims said{0, 0};
    for (int d = 0; d < 2; ++d)
      std::memcpy(&said[d], contents.bytes.data() + static_cast<std::size_t>(d) * width, width);
    if (said != out_.side.tensor.values)
      fail(*found, "it says " + join(said, "x") + ", and the codes are " + join(out_.side.tensor.values, "x"));
  }

  /// The table of the group of each row, which counts where it is not k / group.
  void take_order() {
    const int64_t group = out_.side.tensor.group > 0 ? out_.side.tensor.group : format_.group;
    if (group == 0) return;  // groups of the format's own, in their order
    for (const std::string_view table : kGroupTables) {
      const auto found = model_.lookup(name_.with(table));
      if (!found) continue;
      out_.all.push_back(*found);
      check_plain(*found);
      const CheckpointTensor& t = tensor(*found);
      cpu::PackedTensor& matrix = out_.side.tensor;
      const int64_t k = format_.dims == "kn" ? matrix.values[0] : matrix.values[1];
      if (t.item_bits != 32 || t.shape != Dims{k})
        fail(*found, "it is " + join(t.shape, "x") + " of " + escaped(t.type_name, 60) +
                         ", and a table of the groups of " + std::to_string(k) +
                         " rows has as many numbers of 32 bits");
      const Contents contents = model_.contents(*found);
      std::vector<int64_t> groups;
      bool in_order = true, used = false;  // a table of negative numbers is not in use
      for (int64_t i = 0; i < k; ++i) {
        int32_t each = 0;
        std::memcpy(&each, contents.bytes.data() + 4 * static_cast<std::size_t>(i), 4);
        used = used || each >= 0;
        groups.push_back(each);
        in_order = in_order && each == i / group;
      }
      if (used && !in_order) matrix.group_of = std::move(groups);
    }
  }

  /// Zero points, say, that this format leaves out and another one of its name reads.
  void check_left_out() const {
    const std::vector<std::string_view> needed = cpu::value_buffers(format_);
    for (const PackedSystem& system : packed_systems()) {
      for (const PackedFormat& other : system.formats) {
        if (!other.name.starts_with(std::string(format_.name) + ":")) continue;
        for (const std::string_view buffer : cpu::value_buffers(other)) {
          if (std::ranges::find(needed, buffer) != needed.end()) continue;
          if (const auto found = find_buffer(model_, other, name_, buffer))
            fail(*found, "the rule leaves it out, and " + std::string(other.name) + " reads it");
        }
      }
    }
  }

  const Checkpoint& model_;
  const PackedFormat& format_;
  const PackedName& name_;
  std::size_t at_;
  const RefuseTensor& refuse_;
  bool undivided_ = false;  // rows of codes are not cut into pieces
  PackedSource out_;
};

}  // namespace

Dims in_order(const PackedFormat& format, int64_t n, int64_t k) {
  return format.dims == "kn" ? Dims{k, n} : Dims{n, k};
}

PackedSource packed_source(const Checkpoint& model, const PackedFormat& format, const PackedName& name, std::size_t at,
                           const RefuseTensor& refuse) {
  return SourceReader(model, format, name, at, refuse).read();
}

PackedSource single_source(const Checkpoint& model, std::size_t at, const RefuseTensor& refuse) {
  const CheckpointTensor& t = model.tensors()[at];
  if (t.problem) throw *t.problem;
  PackedSource out;
  out.tensors = {{"", at}};
  out.all = {at};
  out.dims = t.notes.packed.empty() ? t.shape : t.notes.packed_dims;
  if (t.byte_swapped) refuse(at, "its elements are big-endian", ErrorCode::unsupported);
  if (out.dims.empty()) refuse(at, "it has no dims, and packed weights have rows", ErrorCode::invalid_argument);
  const int64_t k = out.dims[out.dims.size() - 1];
  const auto rows =
      checked_product(std::span(out.dims.begin(), out.dims.end()).first(static_cast<std::size_t>(out.dims.size()) - 1));
  if (!rows) refuse(at, "its shape " + join(out.dims, "x") + " overflows 64 bits", ErrorCode::overflow);
  out.side.tensor.values = {*rows, k};
  if (!t.notes.packed.empty()) {
    if (!t.row_major()) refuse(at, "it has strides, and packed weights are row-major", ErrorCode::unsupported);
    out.side.tensor.format = t.notes.packed;
    return out;
  }
  if (!t.dtype || !is_floating(*t.dtype))
    refuse(
        at,
        "it is " + (t.dtype ? std::string(name(*t.dtype)) : escaped(t.type_name, 60)) + ", and no number to be packed",
        ErrorCode::unsupported);
  if (t.layout && !(t.layout->bind(*t.dims) == Layout::contiguous(t.shape)))
    refuse(at,
           "it is recorded as " + escaped(t.layout->text()) + " of " + join(*t.dims, "x") +
               ", and rows are packed of a matrix as PyTorch has it",
           ErrorCode::invalid_argument);
  out.side.values = t.dtype;
  if (out.dims.size() == 2) {
    out.plain = t.memory();
  } else {
    if (!t.row_major()) refuse(at, "it has strides, and is no matrix", ErrorCode::unsupported);
    out.plain = Layout::contiguous(out.side.tensor.values);
  }
  return out;
}

}  // namespace relayout::checkpoint
