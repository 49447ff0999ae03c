// Rules of packed weights applied to a checkpoint: see plan.h. Start reading at take().
#include "relayout/checkpoint/packed/plan.h"

#include <algorithm>

#include "relayout/checkpoint/assembly.h"
#include "relayout/checkpoint/packed/sources.h"
#include "relayout/checkpoint/rules/repacking.h"
#include "relayout/core/error.h"
#include "relayout/core/print.h"
#include "relayout/cpu/repack.h"

namespace relayout::checkpoint {
namespace {

/// A side of a rule: a packed format, any of ggml's, or values.
struct RuleSide {
  const PackedFormat* format;
  std::optional<DType> values;

  explicit RuleSide(const std::string& text) : format(find_packed(text)), values(type_of_side(text)) {}
  bool several() const { return format != nullptr && !format->one_buffer(); }
};

/// Whether a record of blocks, "ggml:q4_0", is what a rule's side says.
bool is_side(const std::string& side, const std::string& packed) {
  return !packed.empty() && (packed == side || (side == "ggml" && packed.starts_with("ggml:")));
}

/// Whether patterns and new names count what stands before the names of buffers.
bool counts_prefixes(const Repacking& repacking) {
  return RuleSide(repacking.from).several() || RuleSide(repacking.to).several();
}

/// Fields of a format over memory of their own, all bits 0.
struct Blank {
  cpu::PackedTensor tensor;
  std::vector<std::vector<std::byte>> memory;
  cpu::PackedFields fields;

  explicit Blank(const PackedFormat& format) : tensor{.format = std::string(format.name), .values = {1024, 1024}} {
    std::vector<cpu::PackedBuffer> buffers;
    for (const std::string_view buffer : cpu::value_buffers(format)) {
      memory.emplace_back(static_cast<std::size_t>(packed_record(format, tensor.values, buffer).bytes()));
      buffers.emplace_back(buffer, ConstElements(memory.back()));
    }
    fields = {tensor.format, cpu::value_fields(tensor, buffers), tensor.values};
  }
};

/// Throws where no matrix at all is made of one side in the other's format.
void check_formats(const Repacking& repacking) {
  const RuleSide from(repacking.from), to(repacking.to);
  if (to.format == nullptr) return;
  const Blank made(*to.format);
  const TensorDesc zeros(Layout::contiguous(made.tensor.values), DType::f32);
  const std::vector<float> values(from.format == nullptr ? static_cast<std::size_t>(zeros.layout.elements()) : 0);
  try {
    if (from.format == nullptr)
      (void)cpu::quantise(zeros, values, made.fields);
    else
      (void)cpu::repack(Blank(*from.format).fields, made.fields, {.requantise = repacking.requantise});
  } catch (const Error& error) {
    if (error.field() == "to") throw;  // anything else depends on the values
  }
}

/// A tensor of a buffer of the new format.
TensorSpec spec_of_buffer(const PackedFormat& format, const PackedSide& side, const Dims& dims,
                          std::string_view buffer) {
  const PackedArray array = packed_array(format, side.tensor.values, buffer, side.tensor.group);
  TensorSpec out{.dtype = array.dtype, .shape = array.shape};
  if (dims.size() != 2 || format.one_buffer()) {  // rows of several matrices, or of a vector
    out.shape = {};
    for (int d = 0; d + 1 < dims.size(); ++d) out.shape.push_back(dims[d]);
    for (int d = 1; d < array.shape.size(); ++d) out.shape.push_back(array.shape[d]);
  }
  for (const auto& [field, type] : side.tensor.types)
    if (format.field(field).buffer == buffer) out.dtype = type;
  out.notes.packed = format.name;
  out.notes.packed_dims = format.one_buffer() ? dims : side.tensor.values;
  return out;
}

PackedSide side_of(const RuleSide& to, const PackedSide& from, const Repacking& repacking) {
  PackedSide out;
  if (to.values) {
    const Dims& dims = from.tensor.values;
    out.values = to.values;
    out.tensor.values = from.rows() == 0 ? dims : Dims{dims[1], dims[0]};
    return out;
  }
  const Dims& dims = from.tensor.values;
  if (from.values)
    out.tensor = {.format = std::string(to.format->name),
                  .values = in_order(*to.format, dims[0], dims[1]),
                  .group = repacking.group};
  else
    out.tensor = cpu::packed_as(from.tensor, to.format->name, repacking.group);
  return out;
}

}  // namespace

int PackedSide::rows() const { return !values && packed_format(tensor.format).dims == "kn" ? 1 : 0; }

std::optional<PackedPlanner::Found> PackedPlanner::find(std::size_t i, const Repacking& repacking) const {
  const RuleSide from(repacking.from), to(repacking.to);
  const CheckpointTensor& t = model_.tensors()[i];
  const auto recorded = [&](const PackedFormat& format, const PackedName& name) -> std::string {
    const auto codes = find_buffer(model_, format, name, codes_buffer(format));
    return codes ? model_.tensors()[*codes].notes.packed : "";
  };
  const auto has = [&](const PackedFormat& format, const PackedName& name) {
    const auto codes = find_buffer(model_, format, name, codes_buffer(format));
    if (codes && model_.tensors()[*codes].dtype && is_floating(*model_.tensors()[*codes].dtype) &&
        bits(*model_.tensors()[*codes].dtype) > 4)
      return false;  // the weight of a layer that is not quantised
    if (codes) return true;
    const auto buffers = cpu::value_buffers(format);
    return std::ranges::count_if(buffers, [&](std::string_view buffer) {
             return find_buffer(model_, format, name, buffer).has_value();
           }) > 1;
  };
  if (to.several()) {
    const auto name = packed_name(*to.format, t.name);
    if (name && recorded(*to.format, *name) == repacking.to && repacking.from != repacking.to)
      return Found{*name, true};
  } else if (to.format != nullptr && t.notes.packed == repacking.to && repacking.from != repacking.to) {
    return Found{name_of_single(t.name), true};
  }
  if (from.several()) {
    const auto name = packed_name(*from.format, t.name);
    return name && has(*from.format, *name) ? std::optional(Found{*name, false}) : std::nullopt;
  }
  if (!from.values && !is_side(repacking.from, t.notes.packed)) return std::nullopt;
  return Found{name_of_single(t.name), false};
}

std::optional<PackedPlanner::Renamed> PackedPlanner::renamed(const Found& found, const Repacking& repacking,
                                                             const std::string& name) {
  const RuleSide side(found.already ? repacking.to : repacking.from);
  const auto matrix = side.several() ? packed_name(*side.format, name) : std::optional(name_of_single(name));
  return matrix ? std::optional(Renamed{*matrix, name}) : std::nullopt;
}

std::optional<Captures> PackedPlanner::match(std::size_t i, std::size_t r, const std::string& name) const {
  const Rule& rule = rules_.rules[r];
  const auto found = find(i, *rule.repack);
  const auto seen = found ? renamed(*found, *rule.repack, name) : std::nullopt;
  if (!seen) return std::nullopt;
  const CheckpointTensor& t = model_.tensors()[i];
  const int rank = t.notes.packed.empty() ? t.shape.size() : t.notes.packed_dims.size();
  if (rule.rank && *rule.rank != rank && !RuleSide(rule.repack->from).several()) return std::nullopt;
  return rule.match[0].match(counts_prefixes(*rule.repack) ? seen->matrix.prefix : name);
}

bool PackedPlanner::take(std::size_t i, std::size_t r, const std::string& name, const Captures& captures,
                         Conversion& out) {
  const Repacking& repacking = *rules_.rules[r].repack;
  const auto found = find(i, repacking);
  if (found->already) return false;
  if (RuleSide(repacking.from).several() && !planned_.emplace(r, found->name.prefix + found->name.separator).second)
    return true;
  plan(i, r, repacking, found->name, *renamed(*found, repacking, name), captures, out);
  return true;
}

void PackedPlanner::take_values(std::size_t i, std::size_t r, const Captures& captures, Conversion& out) {
  const Repacking repacking{.from = model_.tensors()[i].notes.packed, .to = std::string(name(*rules_.rules[r].type))};
  const std::string& name = model_.tensors()[i].name;
  plan(i, r, repacking, name_of_single(name), {name_of_single(name), name}, captures, out);
}

void PackedPlanner::check_record(const Repacking& repacking, const PackedName& name, const RefuseTensor& refuse) const {
  const PackedFormat& format = packed_format(repacking.from);
  const auto codes = find_buffer(model_, format, name, codes_buffer(format));
  const std::string packed = codes ? model_.tensors()[*codes].notes.packed : "";
  if (!packed.empty() && packed != repacking.from)
    refuse(*codes,
           "it is recorded as " + escaped(packed) + ", and the rule converts " + repacking.from + " to " + repacking.to,
           ErrorCode::invalid_argument);
}

void PackedPlanner::check_source(std::size_t i, std::size_t r, const Repacking& repacking, const PackedSource& source,
                                 const RefuseTensor& refuse) const {
  const RuleSide from(repacking.from), to(repacking.to);
  const std::size_t at = source.tensors[0].second;
  const std::string packed = model_.tensors()[at].notes.packed, converts = "the rule converts " + repacking.from;
  if (from.values && !source.side.values)
    refuse(i, "it holds blocks of " + packed + ", and " + converts, ErrorCode::invalid_argument);
  if (from.values && source.side.values != from.values)
    refuse(i, "it is " + std::string(relayout::name(*source.side.values)) + ", and " + converts + " to " + repacking.to,
           ErrorCode::invalid_argument);
  if (from.several() && packed.empty() && options_.strict)
    refuse(at, "its packed format is not recorded, and --strict asks for a record", ErrorCode::invalid_argument);
  if (!source.side.tensor.group_of.empty() && to.format != nullptr)
    refuse(at,
           "its g_idx puts the rows in groups by the order of activations, which " + repacking.to +
               " does not have; to f16 or f32 the rule gives their values",
           ErrorCode::unsupported);
  const int rank = source.dims.size();
  if (to.several() && rank != 2 && (rank < 2 || to.format->dims == "kn" || !to.format->dims_buffer.empty()))
    refuse(i,
           "it has " + std::to_string(rank) + (rank == 1 ? " dim" : " dims") + ", and a matrix of " + repacking.to +
               " has 2; rank = 2 in a rule file, or another pattern, leaves others as they are",
           ErrorCode::unsupported);
  if (rules_.rules[r].match.size() != 1) refuse(i, "several patterns go with merge alone", ErrorCode::invalid_argument);
}

std::vector<std::pair<TensorSpec, std::string>> PackedPlanner::specs_of(std::size_t r, const Repacking& repacking,
                                                                        const Renamed& renamed,
                                                                        const Captures& captures,
                                                                        const PackedGroup& group,
                                                                        const Dims& dims) const {
  const RuleSide from(repacking.from), to(repacking.to);
  const std::optional<NameTemplate>& rename = rules_.rules[r].rename;
  const bool prefixes = counts_prefixes(repacking);
  const PackedName made = rename && prefixes ? PackedName{rename->with(captures), ".", ""} : renamed.matrix;
  std::vector<std::pair<TensorSpec, std::string>> out;
  if (!to.several()) {
    TensorSpec spec{.shape = dims};
    if (to.values) spec.dtype = *to.values;
    if (to.format != nullptr) spec = spec_of_buffer(*to.format, group.to, dims, "");
    spec.name = prefixes ? single_name(made) : rename ? rename->with(captures) : renamed.tensor;
    out.emplace_back(std::move(spec), "");
    return out;
  }
  const std::vector<std::string_view> fields = buffers_of(*to.format);
  for (const std::string& buffer : stored_buffers(*to.format)) {
    TensorSpec spec{.dtype = DType::s64, .shape = {2}};
    if (buffer != to.format->dims_buffer) spec = {.dtype = DType::s32, .shape = {group.to.tensor.values[0]}};
    if (std::ranges::find(fields, buffer) != fields.end()) spec = spec_of_buffer(*to.format, group.to, dims, buffer);
    spec.name = made.with(buffer);
    out.emplace_back(std::move(spec), buffer);
  }
  return out;
}

void PackedPlanner::plan(std::size_t i, std::size_t r, const Repacking& repacking, const PackedName& name,
                         const Renamed& renamed, const Captures& captures, Conversion& out) {
  const RuleSide from(repacking.from), to(repacking.to);
  const RefuseTensor refuse = [&](std::size_t at, const std::string& why, ErrorCode code) {
    const std::string shown = escaped(model_.tensors()[at].name, 200);
    throw Error(code, "tensor \"" + shown + "\", " + rules_.rules[r].where + ": " + why, "tensor", shown);
  };
  try {
    if (checked_.emplace(repacking.from, repacking.to).second) check_formats(repacking);
    if (from.several()) check_record(repacking, name, refuse);
    const PackedSource source =
        from.several() ? packed_source(model_, *from.format, name, i, refuse) : single_source(model_, i, refuse);
    check_source(i, r, repacking, source, refuse);
    PackedGroup group{.from = source.side,
                      .to = side_of(to, source.side, repacking),
                      .sources = source.tensors,
                      .plain = source.plain,
                      .requantise = repacking.requantise,
                      .where = "tensor \"" + escaped(model_.tensors()[source.tensors[0].second].name, 200) + "\", " +
                               rules_.rules[r].where};
    std::vector<Piece> pieces;
    for (const std::size_t each : source.all)
      pieces.push_back({each, Layout::contiguous(Dims{model_.tensors()[each].byte_size}), origin(1)});
    const bool assumed = from.several() && model_.tensors()[source.tensors[0].second].notes.packed.empty();
    for (auto& [spec, buffer] : specs_of(r, repacking, renamed, captures, group, source.dims)) {
      if (!from.values && options_.record) spec.notes.from = source.side.tensor.format;
      if (!options_.record && to.several()) spec.notes = {};
      Target target{.spec = std::move(spec),
                    .memory = {},
                    .pieces = pieces,
                    .state = TargetState::converted,
                    .rule = r,
                    .assumed = assumed,
                    .src_type = DType::u8,
                    .group = out.groups.size(),
                    .buffer = std::move(buffer)};
      target.memory = TensorDesc(Layout::contiguous(target.spec.shape), target.spec.dtype);
      out.targets.push_back(std::move(target));
    }
    out.groups.push_back(std::move(group));
  } catch (const Error& error) {
    if (error.message().starts_with("tensor ")) throw;
    refuse(i, error.message(), error.code());
  }
}

}  // namespace relayout::checkpoint
