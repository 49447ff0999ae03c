// Values of fields and of packed matrices: see dequantize.h. evaluate/ has the work.
#include "relayout/cpu/dequantize.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include "relayout/cpu/evaluate/worker.h"
#include "relayout/cpu/kernels/kernels.h"

namespace relayout::cpu {

void evaluate(const ValueExpression& expression, std::span<const ValueField> fields, const TensorDesc& dst,
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

ValueExpression value_of(const PackedFormat& format) {
  const ValueExpression value = ValueExpression::parse(format.value);
  const bool is_field = std::ranges::find(format.fields, "q", &PackedField::name) != format.fields.end();
  return is_field ? value : value.with("q", ValueExpression::parse(format.code));
}

std::vector<ValueField> value_fields(const PackedTensor& tensor, std::span<const PackedBuffer> buffers) {
  const PackedFormat& format = packed_format(tensor.format);
  std::vector<ValueField> out;
  for (const std::string& name : value_of(format).names()) {
    const PackedField& field = format.field(name);
    const auto buffer = std::ranges::find_if(buffers, [&](const PackedBuffer& each) {
      return each.first == field.buffer ||
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

void dequantize(const PackedTensor& tensor, std::span<const PackedBuffer> buffers, const TensorDesc& dst,
                const Elements& out, const RunOptions& options) {
  const std::vector<ValueField> fields = value_fields(tensor, buffers);
  if (!(dst.layout.dims() == tensor.values))
    throw Error(ErrorCode::invalid_argument,
                "dequantize: the destination has dims " + join(dst.layout.dims()) + ", and the packed matrix " +
                    join(tensor.values),
                "dims", join(dst.layout.dims()), join(tensor.values));
  evaluate(value_of(packed_format(tensor.format)), fields, dst, out, options);
}

}  // namespace relayout::cpu
