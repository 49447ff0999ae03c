// Values of fields and of packed matrices: see dequantize.h. evaluate/ has the work.
#include "relayout/cpu/dequantize.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <numeric>

#include "relayout/core/view.h"
#include "relayout/cpu/evaluate/worker.h"
#include "relayout/cpu/kernels/kernels.h"
#include "relayout/cpu/reorder.h"
#include "relayout/reorder/slabs.h"

namespace relayout::cpu {

namespace {

/// Stores the values as they are computed.
void evaluate_tiles(const ValueExpression& expression, std::span<const ValueField> fields, const TensorDesc& dst,
                    const Elements& out, const RunOptions& options) {
  struct Work {
    const Job job;
    std::mutex mutex{};
    std::exception_ptr failure{};
  } work{make_job(expression, fields, dst, out)};
  if (dst.layout.empty()) return;
  const int64_t tiles = work.job.grid(0) * work.job.grid(1);
  const int64_t bytes = work.job.tile[0] * work.job.tile[1] * bits(dst.dtype) / 8;
  parallel_for(
      options, tiles, std::max<int64_t>(1, options.grain_bytes / bytes),
      [](void* state, int64_t begin, int64_t last) {
        auto& all = *static_cast<Work*>(state);
        try {
          Worker worker(all.job);
          for (int64_t n = begin; n < last; ++n) worker.run(n);
        } catch (...) {
          const std::lock_guard lock(all.mutex);
          all.failure = std::current_exception();
        }
        if (all.job.streams && kernels().flush != nullptr) kernels().flush();
      },
      &work);
  if (work.failure) std::rethrow_exception(work.failure);
}

/// The rows of some values: their fields, as views. A field of one row for all rows keeps it.
std::vector<ValueField> rows_of(std::span<const ValueField> fields, int64_t rows, int64_t begin, int64_t count) {
  std::vector<ValueField> out(fields.begin(), fields.end());
  for (ValueField& field : out) {
    const int64_t own = field.desc.layout.ndims() == 2 ? field.desc.layout.dim(0) : 0;
    if (own <= 1 || rows % own != 0) continue;
    const int64_t group = rows / own;
    field.desc.layout = narrow(field.desc.layout, 0, begin / group, count / group);
  }
  return out;
}

/// Of how many rows there are multiples where no block and no group of a field is cut.
int64_t rows_that_are_whole(std::span<const ValueField> fields, const Layout& dst) {
  int64_t out = dst.plain().block(0);
  for (const ValueField& field : fields) {
    const int64_t own = field.desc.layout.ndims() == 2 ? field.desc.layout.dim(0) : 0, all = dst.dim(0);
    if (own > 1 && all % own == 0) out = std::lcm(out, all / own * field.desc.layout.block(0));
  }
  return std::min(out, dst.dim(0));
}

/// Computes some rows at a time in f32, and reorders them to the destination.
void evaluate_rows(const ValueExpression& expression, std::span<const ValueField> fields, const TensorDesc& dst,
                   const Elements& out, const Attributes& attributes, const RunOptions& options) {
  constexpr int64_t kValues = 1 << 20;
  const Dims& dims = dst.layout.dims();
  if (dims.size() != 2)
    throw Error(ErrorCode::invalid_argument, "evaluate: the destination has " + std::to_string(dims.size()) + " dims",
                "dims", join(dims), "2 dims");
  (void)make_plan({Layout::contiguous(dims), DType::f32}, dst, attributes);  // what is wrong with all of it
  check_apart(fields, dst, checked_bytes(out, dst, "evaluate", "destination").data());
  if (dst.layout.empty()) return;
  for (const std::string& name : expression.names()) {
    const auto field = std::ranges::find(fields, name, &ValueField::name);
    if (field != fields.end()) check_dims(*field, dims);
  }
  const int64_t unit = rows_that_are_whole(fields, dst.layout);
  const int64_t step = std::max<int64_t>(2, unit * std::max<int64_t>(1, kValues / (unit * dims[1])));
  std::vector<float> values;
  for (int64_t begin = 0, count = 0; begin < dims[0]; begin += count) {
    const int64_t rest = dims[0] - begin;
    // Not one row alone, in which a coefficient for each column would be taken for a code.
    count = rest <= step + 1 ? rest : step;
    values.resize(static_cast<std::size_t>(count * dims[1]));
    const TensorDesc dense(Layout::contiguous({count, dims[1]}), DType::f32);
    evaluate_tiles(expression, rows_of(fields, dims[0], begin, count), dense, values, options);
    const Slab slab{{begin, 0}, {count, dims[1]}};
    reorder(dense, values, slab_view(dst, slab), out, part_of(attributes, dims, slab.offsets, slab.dims), options);
  }
}

bool changes_values(const Attributes& attributes) {
  return attributes.arithmetic() || attributes.padding.kind != Padding::Kind::value ||
         !(attributes.padding.value == ElementValue());
}

}  // namespace

void evaluate(const ValueExpression& expression, std::span<const ValueField> fields, const TensorDesc& dst,
              const Elements& out, const Attributes& attributes, const RunOptions& options) {
  if (stored_as_computed(dst) && !changes_values(attributes))
    return evaluate_tiles(expression, fields, dst, out, options);
  evaluate_rows(expression, fields, dst, out, attributes, options);
}

ValueExpression value_of(const PackedFormat& format) {
  const ValueExpression value = ValueExpression::parse(format.value);
  const bool is_field = std::ranges::find(format.fields, "q", &PackedField::name) != format.fields.end();
  return is_field ? value : value.with("q", ValueExpression::parse(format.code));
}

std::vector<std::string_view> value_buffers(const PackedFormat& format) {
  const std::vector<std::string> needed = value_of(format).names();
  std::vector<std::string_view> out = buffers_of(format);
  std::erase_if(out, [&](std::string_view buffer) {
    return std::ranges::none_of(needed, [&](const std::string& name) { return format.field(name).buffer == buffer; });
  });
  return out;
}

std::vector<ValueField> value_fields(const PackedTensor& tensor, std::span<const PackedBuffer> buffers) {
  const PackedFormat& format = packed_format(tensor.format);
  std::vector<ValueField> out;
  for (const std::string& name : value_of(format).names()) {
    const PackedField& field = format.field(name);
    const auto buffer = std::ranges::find_if(buffers, [&](const PackedBuffer& each) {
      const std::vector<std::string_view> names = names_of_buffer(format, field.buffer);
      return std::ranges::find(names, each.first) != names.end() ||
             (each.first.empty() && buffers.size() == 1 && buffers_of(format).size() == 1);
    });
    if (buffer == buffers.end())
      throw Error(ErrorCode::invalid_argument,
                  std::string(format.name) + ": field " + name + " lies in the tensor " + std::string(field.buffer) +
                      ", which is not given",
                  std::string(field.buffer), {}, "all tensors of the format");
    const auto type = std::ranges::find(tensor.types, name, &std::pair<std::string, DType>::first);
    const DType dtype = type == tensor.types.end() ? field.dtype : type->second;
    out.push_back({name,
                   {field_layout(format, field, field_dims(format, field, tensor.values, tensor.group)), dtype},
                   buffer->second});
  }
  return out;
}

namespace {

/// The dim whose groups are left open by the format.
int grouped_dim(const PackedFormat& format) {
  for (const PackedField& field : format.fields) {
    for (int d = 0; d < 2; ++d) {
      if (field.group[static_cast<std::size_t>(d)] == 0) return d;
    }
  }
  throw Error(
      ErrorCode::unsupported,
      "dequantize: the groups of " + std::string(format.name) + " lie in its blocks, and have no order of others",
      "group_of", std::string(format.name), "a format of several tensors");
}

/// The indices in the order of their groups, those of a group in their own order.
std::vector<int64_t> order_of_groups(const PackedTensor& tensor, int dim) {
  const auto count = static_cast<int64_t>(tensor.group_of.size()), extent = tensor.values[dim];
  const int64_t group = tensor.group > 0 ? tensor.group : packed_format(tensor.format).group;
  const auto refuse = [&](const std::string& what, int64_t value, int64_t limit) {
    throw Error(ErrorCode::invalid_argument, "dequantize: group_of " + what, "group_of", std::to_string(value),
                std::to_string(limit));
  };
  if (count != extent)
    refuse("has " + std::to_string(count) + " entries; dim " + std::to_string(dim) + " of the values has " +
               std::to_string(extent) + " indices",
           count, extent);
  const int64_t groups = ceil_div(extent, group);
  std::vector<int64_t> next(static_cast<std::size_t>(groups)), order(static_cast<std::size_t>(extent));
  for (int64_t g = 0; g < groups; ++g) next[static_cast<std::size_t>(g)] = g * group;
  for (int64_t i = 0; i < extent; ++i) {
    const int64_t g = tensor.group_of[static_cast<std::size_t>(i)];
    if (g < 0 || g >= groups)
      refuse("puts index " + std::to_string(i) + " in group " + std::to_string(g) + "; there are " +
                 std::to_string(groups),
             g, groups);
    int64_t& place = next[static_cast<std::size_t>(g)];
    if (place == std::min(extent, (g + 1) * group))
      refuse("puts more than " + std::to_string(group) + " indices in group " + std::to_string(g) +
                 ", of which each has that many",
             g, group);
    order[static_cast<std::size_t>(place++)] = i;
  }
  return order;
}

void dequantize_in_groups(const PackedTensor& tensor, std::vector<ValueField> fields, const TensorDesc& dst,
                          const Elements& out, const Attributes& attributes, const RunOptions& options) {
  const int dim = grouped_dim(packed_format(tensor.format));
  const IndexTable order(dim, order_of_groups(tensor, dim));
  std::vector<std::vector<std::byte>> codes;
  for (ValueField& field : fields) {
    if (!(field.desc.layout.dims() == tensor.values)) continue;
    auto& own = codes.emplace_back(static_cast<std::size_t>(field.desc.span_bytes()));
    Attributes gather;
    gather.src_index = {order};
    reorder(field.desc, field.buffer, field.desc, own, gather, options);
    field.buffer = ConstElements(own);
  }
  const TensorDesc dense(Layout::contiguous(tensor.values), DType::f32);
  std::vector<float> values(static_cast<std::size_t>(dense.layout.elements()));
  evaluate(value_of(packed_format(tensor.format)), fields, dense, values, {}, options);
  std::vector<int64_t> places(order.entries().size());  // in the order of groups
  for (std::size_t place = 0; place < places.size(); ++place)
    places[static_cast<std::size_t>(order.entries()[place])] = static_cast<int64_t>(place);
  Attributes gather = attributes;
  gather.src_index = {IndexTable(dim, std::move(places))};
  reorder(dense, values, dst, out, gather, options);
}

}  // namespace

void dequantize(const PackedTensor& tensor, std::span<const PackedBuffer> buffers, const TensorDesc& dst,
                const Elements& out, const Attributes& attributes, const RunOptions& options) {
  const std::vector<ValueField> fields = value_fields(tensor, buffers);
  if (!(dst.layout.dims() == tensor.values))
    throw Error(ErrorCode::invalid_argument,
                "dequantize: the destination has dims " + join(dst.layout.dims()) + ", and the packed matrix " +
                    join(tensor.values),
                "dims", join(dst.layout.dims()), join(tensor.values));
  if (!tensor.group_of.empty()) return dequantize_in_groups(tensor, fields, dst, out, attributes, options);
  evaluate(value_of(packed_format(tensor.format)), fields, dst, out, attributes, options);
}

}  // namespace relayout::cpu
