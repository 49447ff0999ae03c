// convert_file(): a tensor of one file into another file, whole or in parts that take little memory.
//
// The source is mapped where its format allows that, and the destination is a new file that appears when all is done.
// So a conversion that fails, or that somebody ends, leaves nothing behind.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/arrays.h"
#include "python/src/conversion.h"
#include "python/src/copies.h"
#include "python/src/watch.h"
#include "relayout/cpu/parts.h"
#include "relayout/interop/files/pages.h"
#include "relayout/interop/files/tensor_file.h"
#include "relayout/reorder/slabs.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

/// The strides in bytes of a file's array.
Dims file_strides(const StoredTensor& stored, int64_t item_bytes) {
  Dims out(stored.shape.size(), item_bytes);
  int64_t step = item_bytes;
  for (int i = 0; i < stored.shape.size(); ++i) {
    const int d = stored.fortran_order ? i : stored.shape.size() - 1 - i;
    out[d] = step;
    step *= std::max<int64_t>(1, stored.shape[d]);
  }
  return out;
}

/// The names of the types: the one that the caller gives, and else the file's.
std::string type_of(const StoredTensor& stored, const std::optional<std::string>& given) {
  if (given) return *given;
  if (stored.dtype) return std::string(name(*stored.dtype));
  throw Error(ErrorCode::invalid_argument, "the file does not say what its elements are: give src_dtype", "src_dtype");
}

Conversion planned(const StoredTensor& stored, nb::handle src, nb::handle dst, nb::handle dims,
                   const std::string& src_dtype, const std::string& dst_dtype, nb::handle attributes) {
  const int64_t item_bytes = std::max(1, stored.item_bits / 8);
  const Dims shape = stored.item_bits == 0 ? Dims{stored.byte_size} : stored.shape;
  nb::object said = nb::borrow(src), extents = nb::borrow(dims);
  if (said.is_none()) said = nb::str(stored.layout ? stored.layout->text().c_str() : "contiguous");
  if (extents.is_none() && stored.dims) extents = tuple_of(*stored.dims);
  return Conversion(said, dst, extents, tuple_of(shape), tuple_of(file_strides(stored, item_bytes)), item_bytes,
                    src_dtype, dst_dtype, attributes);
}

/// What the new file says of its array.
TensorSpec spec_of(const Conversion& conversion, const std::string& tensor) {
  const Side& dst = conversion.dst();
  TensorSpec out{.name = tensor, .dtype = dst.desc.dtype, .shape = dst.shape};
  if (dst.expression.empty()) return out;
  const Format format = Format::parse(dst.expression);
  if (!format.views().empty()) return out;
  const Dims& dims = dst.desc.layout.dims();
  // nchw and its like mean something only together with an order of the dims; letters a to l say all.
  const std::optional<std::string> tag = format.generic_tag(dims.size());
  out.layout = tag && Format::parse(*tag).bind(dims) == dst.desc.layout ? Format::parse(*tag) : format;
  out.dims = dims;
  out.shape = format.physical_shape(dims).value_or(Dims{format.buffer_span(dims)});
  return out;
}

class FileConversion {
 public:
  FileConversion(const Conversion& conversion, const StoredTensor& stored, std::span<const std::byte> bytes,
                 bool mapped, TensorWriter& writer, int threads)
      : plan_(conversion.plan()), bytes_(bytes), mapped_(mapped), writer_(writer), options_{.threads = threads} {
    if (stored.byte_swapped) item_bytes_ = stored.item_bits / 8;
    const int64_t need = plan_.src().span_bytes(), have = static_cast<int64_t>(bytes.size());
    if (have < need) {
      throw Error(
          ErrorCode::buffer_too_small,
          "the file's tensor has " + std::to_string(have) + " bytes, and its layout takes " + std::to_string(need),
          "src", std::to_string(have), std::to_string(need));
    }
  }

  /// Whether all was done.
  bool run(std::optional<int64_t> max_memory, Watched& work) {
    const auto go_on = [&](int64_t done, int64_t total) { return work.go_on(done, total); };
    std::byte* to = writer_.bytes().data();
    if (!max_memory && item_bytes_ <= 1) return cpu::run_in_parts(plan_, bytes_.data(), to, options_, {}, go_on);
    const SlabGrid grid = slabs(max_memory);
    if (grid.count() > 1 && mapped_) map_small_pages(bytes_, false);
    if (grid.count() > 1 && writer_.mapped()) map_small_pages(writer_.bytes(), true);
    for (int64_t i = 0; i < grid.count(); ++i) {
      convert(grid.slab(i), grid.count() > 1);
      if (!go_on(i + 1, grid.count())) return false;
    }
    return true;
  }

 private:
  SlabGrid slabs(std::optional<int64_t> max_memory) const {
    constexpr int64_t kSwapBytes = int64_t{64} << 20;
    const SlabSide sides[] = {{&plan_.src(), mapped_ ? kReadGranule : 0},
                              {&plan_.dst(), writer_.mapped() ? kWriteGranule : 0}};
    const SlabSide uncounted[] = {{&plan_.src(), 0}, {&plan_.dst(), 0}};
    const Dims& dims = plan_.dst().layout.dims();
    const int64_t scratch = item_bytes_ > 1 ? item_bytes_ : 0;
    if (!max_memory) return make_slabs(dims, uncounted, scratch, kSwapBytes);
    const int64_t held =
        (mapped_ ? 0 : static_cast<int64_t>(bytes_.size())) + (writer_.mapped() ? 0 : plan_.dst().span_bytes());
    SlabGrid grid = make_slabs(dims, sides, scratch, *max_memory - held);
    const auto need = static_cast<int64_t>(grid.part_bytes()) + held;
    if (need > *max_memory) {
      throw Error(ErrorCode::limit,
                  "max_memory: the smallest part takes " + std::to_string(need) + " bytes" +
                      (held > 0 ? " together with what is held in memory anyway" : ""),
                  "max_memory", std::to_string(*max_memory), std::to_string(need));
    }
    return grid;
  }

  void convert(const Slab& slab, bool one_of_several) {
    TensorDesc src = slab_view(plan_.src(), slab);
    const TensorDesc dst = slab_view(plan_.dst(), slab);
    const Attributes part = part_of(plan_.attributes(), plan_.dst().layout.dims(), slab.offsets, slab.dims);
    const std::byte* from = bytes_.data();
    if (item_bytes_ > 1) {  // the elements are collected in dense memory, where their bytes are turned round
      const TensorDesc packed(Layout::contiguous(slab.dims), src.dtype);
      scratch_.resize(static_cast<std::size_t>(packed.span_bytes()));
      cpu::run(cpu::make_plan(src, packed), from, scratch_.data(), options_);
      swap_bytes(scratch_, item_bytes_);
      from = scratch_.data();
      cpu::run(cpu::make_plan(packed, dst, part), from, writer_.bytes().data(), options_);
    } else {
      cpu::run(cpu::make_plan(src, dst, part), from, writer_.bytes().data(), options_);
    }
    if (one_of_several && mapped_) release_slab(src, bytes_);
    if (one_of_several && writer_.mapped()) release_slab(dst, writer_.bytes());
  }

  Plan plan_;
  std::span<const std::byte> bytes_;
  bool mapped_;
  TensorWriter& writer_;
  cpu::RunOptions options_;
  int item_bytes_ = 0;
  std::vector<std::byte> scratch_;
};

void convert_file(nb::handle src_path, nb::handle dst_path, nb::handle src, nb::handle dst, nb::handle dims,
                  const std::optional<std::string>& src_dtype, const std::optional<std::string>& dst_dtype,
                  nb::handle attributes, const std::string& tensor, bool overwrite, int threads,
                  std::optional<int64_t> max_memory, nb::handle progress) {
  const std::string from = path_of(src_path), to = path_of(dst_path);
  FileLimits limits;
  if (max_memory) limits.decoded_bytes = std::min(limits.decoded_bytes, std::max<int64_t>(1, *max_memory));
  const TensorFile file =
      watched(nb::handle(), [&](const GoOn& go_on) { return TensorFile::open(from, limits, tensor, go_on); });
  const auto tensors = file.tensors();
  // Of a file without names the name is the new file's alone.
  const std::size_t index = tensors.size() == 1 && tensors[0].name.empty() ? 0 : file.find(tensor);
  const StoredTensor& stored = tensors[index];
  const std::string own = type_of(stored, src_dtype);
  const Conversion conversion = planned(stored, src, dst, dims, own, dst_dtype.value_or(own), attributes);
  if (conversion.plan().attributes().beta != 0)
    throw Error(ErrorCode::invalid_argument, "beta adds to what a destination holds, and a new file holds nothing",
                "beta");
  const TensorSpec spec = spec_of(conversion, tensor);
  const std::span<const std::byte> bytes =
      watched(nb::handle(), [&](const GoOn& go_on) { return file.bytes(index, go_on); });
  Watched work(progress);
  TensorWriter writer = TensorWriter::create(to, spec, overwrite);
  FileConversion run(conversion, stored, bytes, file.mapped(index), writer, threads);
  if (run.run(max_memory, work)) commit(writer, work);
  work.finish();
}

}  // namespace

void bind_file_conversion(nb::module_& module) {
  module.def("convert_file", &convert_file, nb::arg("src_path"), nb::arg("dst_path"), nb::arg("src").none(),
             nb::arg("dst"), nb::arg("dims").none(), nb::arg("src_dtype").none(), nb::arg("dtype").none(),
             nb::arg("attributes").none(), nb::arg("tensor"), nb::arg("overwrite"), nb::arg("threads"),
             nb::arg("max_memory").none(), nb::arg("progress").none());
}

}  // namespace relayout::python
