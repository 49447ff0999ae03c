// A layout as the fields of oneDNN's memory descriptor and back, and oneDNN's rule about strides as an answer. No
// header of oneDNN is included: the fields are copied to a dnnl_memory_desc_t one by one, under the same names.
#include <relayout/relayout.h>

#include <cstdio>

using namespace relayout;

int main() {
  const Layout whole = Format::parse("nChw8c").bind({2, 16, 5, 4});
  const TensorDesc part(submemory(whole, {2, 8, 5, 4}, {0, 8, 0, 0}), DType::f32);  // the last 8 channels
  const onednn::BlockedDesc fields = onednn::to_onednn(part);
  std::printf("offset0 %lld, strides %lld,%lld,%lld,%lld, %lld elements of dim %lld in an inner block\n",
              static_cast<long long>(fields.offset0), static_cast<long long>(fields.strides[0]),
              static_cast<long long>(fields.strides[1]), static_cast<long long>(fields.strides[2]),
              static_cast<long long>(fields.strides[3]), static_cast<long long>(fields.inner_blks[0]),
              static_cast<long long>(fields.inner_idxs[0]));
  std::printf("get_size: %lld bytes of the whole, %lld of a part\n",
              static_cast<long long>(onednn::size({whole, DType::f32})), static_cast<long long>(onednn::size(part)));
  bool good = fields.offset0 == 160 && onednn::size(part) == 0 && onednn::from_onednn(fields) == part;

  for (const Dims& strides : {Dims{2, 3}, Dims{2, 4}, Dims{2, 6}}) {
    const onednn::StrideVerdict verdict = onednn::accepts({Layout::strided({3, 2}, strides), DType::f32});
    std::printf("dims 3,2 with strides %s: oneDNN %s it, and it is %sinjective%s%s\n", join(strides).c_str(),
                verdict.accepted ? "accepts" : "refuses", verdict.injective ? "" : "not ", verdict.accepted ? "" : "; ",
                verdict.reason.c_str());
    good = good && verdict.accepted == (strides[1] == 6) && verdict.injective == (strides[1] != 4);
  }

  onednn::BlockedDesc runtime = onednn::to_onednn({Layout::contiguous({2, 3}), DType::f32});
  runtime.dims[0] = onednn::kRuntimeDim;
  try {
    onednn::from_onednn(runtime);
    good = false;
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
  }
  return good ? 0 : 1;
}
