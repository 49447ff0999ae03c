// Attributes and options of reorders in C, the version, and the names of statuses and types.
#include "c/handles.h"

namespace relayout::c {
namespace {

PerMask values_of(const double* values, size_t count, uint32_t mask, const int64_t* groups, int32_t ndims,
                  std::string_view parameter) {
  if (values == nullptr && count != 0) refuse(parameter, "is null, but its count is " + std::to_string(count));
  if (count > (size_t{1} << 28)) refuse(parameter, "has a count of " + std::to_string(count));
  PerMask out{count == 0 ? std::vector<double>() : std::vector<double>(values, values + count), mask};
  if (groups == nullptr) return out;
  if (ndims < 0 || ndims > kMaxDims)
    refuse("ndims", "is " + std::to_string(ndims) + ", but groups have one number for each dim, of at most 12");
  out.groups = Dims(ndims, 1);
  std::copy_n(groups, ndims, &out.groups[0]);
  return out;
}

std::vector<IndexTable> tables_of(const relayout_index_table* tables, size_t count, std::string_view parameter) {
  const std::string own(parameter);
  if (tables == nullptr && count != 0) refuse(own, "is null, but its count is " + std::to_string(count));
  if (count > kMaxDims) refuse(own, "has a count of " + std::to_string(count) + "; a tensor has at most 12 dims");
  std::vector<IndexTable> out;
  for (size_t i = 0; i < count; ++i) {
    const relayout_index_table& table = tables[i];
    if (table.entries == nullptr && table.count != 0)
      refuse(own + "[" + std::to_string(i) + "].entries", "is null, but its count is " + std::to_string(table.count));
    if (table.count > (size_t{1} << 40)) refuse(own, "has a count of " + std::to_string(table.count) + " entries");
    std::vector<int64_t> entries;
    if (table.count != 0) entries.assign(table.entries, table.entries + table.count);
    out.emplace_back(table.dim, std::move(entries), table.block);
  }
  return out;
}

Padding padding_of(const relayout_attributes& given) {
  switch (given.padding) {
    case RELAYOUT_PADDING_VALUE: return Padding::of(given.padding_value);
    case RELAYOUT_PADDING_KEEP: return Padding::keep();
    case RELAYOUT_PADDING_INTEGER: return Padding::of(given.padding_integer);
    case RELAYOUT_PADDING_UNSIGNED: return Padding::of(static_cast<uint64_t>(given.padding_integer));
    default: refuse("padding", "is " + std::to_string(given.padding) + ", which is no relayout_padding");
  }
}

}  // namespace

Attributes attributes_of(const relayout_attributes* attributes) {
  const relayout_attributes given = options_from(attributes, RELAYOUT_ATTRIBUTES_INIT, "attributes");
  Attributes out;
  out.src_scale = values_of(given.src_scale, given.src_scale_count, given.src_scale_mask, given.src_scale_groups,
                            given.ndims, "src_scale");
  out.dst_scale = values_of(given.dst_scale, given.dst_scale_count, given.dst_scale_mask, given.dst_scale_groups,
                            given.ndims, "dst_scale");
  out.src_zero_point = values_of(given.src_zero_point, given.src_zero_point_count, given.src_zero_point_mask,
                                 given.src_zero_point_groups, given.ndims, "src_zero_point");
  out.dst_zero_point = values_of(given.dst_zero_point, given.dst_zero_point_count, given.dst_zero_point_mask,
                                 given.dst_zero_point_groups, given.ndims, "dst_zero_point");
  out.mean = values_of(given.mean, given.mean_count, given.mean_mask, given.mean_groups, given.ndims, "mean");
  out.beta = given.beta;
  out.padding = padding_of(given);
  out.src_index = tables_of(given.src_index, given.src_index_count, "src_index");
  out.dst_index = tables_of(given.dst_index, given.dst_index_count, "dst_index");
  return out;
}

RunHow options_of(const relayout_run_options* options) {
  const relayout_run_options given = options_from(options, RELAYOUT_RUN_OPTIONS_INIT, "options");
  return {{.threads = given.threads}, given.progress, given.context};
}

}  // namespace relayout::c

namespace c = relayout::c;

extern "C" {

uint32_t relayout_version(void) {
  return RELAYOUT_VERSION_MAJOR << 16 | RELAYOUT_VERSION_MINOR << 8 | RELAYOUT_VERSION_PATCH;
}

const char* relayout_status_name(relayout_status status) {
  if (status == RELAYOUT_OK) return "ok";
  if (status == RELAYOUT_OUT_OF_MEMORY) return "out_of_memory";
  for (int code = 0; code <= static_cast<int>(relayout::ErrorCode::interrupted); ++code) {
    const auto known = static_cast<relayout::ErrorCode>(code);
    if (c::status_of(known) == status) return relayout::name(known).data();  // a literal, which ends in a null byte
  }
  return "unknown";
}

const char* relayout_dtype_name(relayout_dtype dtype) {
  const auto number = int64_t{dtype};
  if (number < 0 || number >= static_cast<int64_t>(std::size(relayout::kDTypeRows))) return "unknown";
  return relayout::name(static_cast<relayout::DType>(number)).data();  // a literal
}

relayout_status relayout_dtype_parse(const char* name, relayout_dtype* dtype) {
  return c::guarded([&] {
    const relayout::DType parsed = relayout::parse_dtype(c::checked_text(name, "name"));
    c::result(dtype, "dtype") = static_cast<relayout_dtype>(parsed);
  });
}

relayout_status relayout_dtype_bits(relayout_dtype dtype, int32_t* bits) {
  return c::guarded([&] { c::result(bits, "bits") = relayout::bits(c::checked_dtype(dtype)); });
}

}  // extern "C"
