// Layouts in the words of other systems, and back: the examples of docs/interop.md. Nothing of these systems is needed.
#include <relayout/relayout.h>

#include <cstdio>
#include <string>

using namespace relayout;

namespace {

bool good = true;

/// Prints what a call gives, and remembers if it is not what the documents say.
void show(const std::string& text, const std::string& expected) {
  std::printf("%s\n", text.c_str());
  good = good && text == expected;
}

void frameworks() {
  const pytorch::TensorMeta image{{1, 3, 224, 224}, {150528, 1, 672, 3}};
  const bool last = pytorch::suggest_memory_format(image) == MemoryFormat::channels_last;
  show(last ? "channels_last" : "another", "channels_last");
  show(pytorch::reshape(image, {3, 50176}).copies ? "a copy" : "a view", "a view");
  show(pytorch::reshape(image, {150528}).copies ? "a copy" : "a view", "a copy");
  for (const pytorch::Interpretation& reading : pytorch::interpretations({{8, 1, 5, 5}, {25, 1, 5, 1}}))
    std::printf("  %s: %s\n", reading.name.c_str(), reading.why.c_str());

  const TensorDesc rows(flip(Layout::contiguous({3, 4}), 0), DType::f32);  // from the last row to the first
  const numpy::ArrayInterface array = numpy::to_numpy(rows);
  show(std::to_string((*array.strides)[0]) + " at " + std::to_string(array.byte_offset), "-16 at 32");
}

void shared_tensors() {
  float numbers[12] = {};
  bool freed = false;
  const TensorDesc plain(Layout::contiguous({3, 4}), DType::f32);
  dlpack::VersionedTensor shared = dlpack::exported_versioned(plain, numbers, [&freed] { freed = true; });
  {
    const dlpack::Imported imported(shared.release());
    show(imported.view().desc == plain && !freed ? "shared" : "lost", "shared");
  }
  show(freed ? "freed" : "leaked", "freed");
}

void cute_layouts() {
  const Layout tile = cute::from_cute("((8,3),4):((1,32),8)");
  show(digits_expression(tile), "digits:(8,1)(3,32)|(4,8)");
  show(cute::to_cute(Format::parse("nChw8c").bind({2, 16, 5, 4})), "(2,(8,2),5,4):(320,(1,160),32,8)");

  const Layout a = cute::from_cute("(6,2):(8,2)"), b = cute::from_cute("(4,3):(3,1)");
  show(cute::to_cute(cute::compose(a, b)), "((2,2),3):((24,2),8)");
  const Layout vector = cute::from_cute("(4,2,3):(2,1,8)");
  show(cute::to_cute(cute::logical_divide(vector, cute::from_cute("4:2"))), "((2,2),(2,3)):((4,1),(2,8))");
  const std::vector tiler{cute::from_cute("2:1"), cute::from_cute("4:1")};
  show(cute::to_cute(cute::zipped_divide(cute::from_cute("(4,8):(8,1)"), tiler)), "((2,4),(2,2)):((8,1),(16,4))");
}

void xla_shapes() {
  const TensorDesc desc = xla::from_xla("f32[3,5]{1,0:T(2,2)}");
  show(std::to_string(desc.layout.offset({2, 3})), "17");
  const TensorDesc blocked(Format::parse("nChw8c").bind({2, 17, 5, 4}), DType::bf16);
  show(xla::to_xla(blocked), "bf16[2,17,5,4]{3,2,1,0:T(8,1,1)}");
}

void triton_layouts() {
  const Layout swapped = triton::from_triton("#ttg.shared_linear<{offset = [[0, 1], [0, 2], [1, 0], [2, 2]]}>");
  show(digits_expression(swapped), "digits:(4,4)|(4,1);swizzle=1,1,2");
  show(triton::to_triton(swapped), "#ttg.shared_linear<{offset = [[0, 1], [0, 2], [1, 0], [2, 2]]}, alignment = 16>");
}

void tvm_and_cudnn() {
  const Layout blocked = Format::parse("nChw16c").bind({2, 64, 5, 4});
  show(tvm::to_tvm(blocked), "NCHW16c");
  show(tvm::to_tvm(Format::parse("hwio").bind({8, 4, 3, 3}), "oihw"), "HWIO");

  const TensorDesc nhwc(Format::parse("nhwc").bind({2, 3, 5, 4}), DType::f16);
  show(cudnn::legacy_code(nhwc), "cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 2, 3, 5, 4);");
  const TensorDesc vectors(Format::parse("nChw32c").bind({2, 64, 5, 4}), DType::s8);
  show(std::to_string(cudnn::to_cudnn(vectors).vector_count), "32");
}

void verbose_lines() {
  const onednn::VerboseLine line = onednn::parse_verbose_line(
      "onednn_verbose,exec,cpu,convolution,jit:avx512_core,forward_training,src_f32::blocked:abcd:f0 "
      "wei_f32::blocked:Acdb16a:f0 bia_f32::blocked:a:f0 dst_f32::blocked:aBcd16b:f0,,alg:convolution_direct,"
      "mb1_ic3oc64_ih224oh112kh7sh2dh0ph3_iw224ow112kw7sw2dw0pw3,1.2");
  const TensorDesc weights = onednn::tensor_of(line.tensor("wei"));  // Acdb16a of 64 x 3 x 7 x 7
  show(onednn::to_verbose(weights, "wei", {3, 7}), "wei:f32::blocked:Acdb16a::f0");
}

void images_and_names() {
  const mace::Image image = mace::to_mace(mace::from_mace("in_out_channel", {1, 9, 4, 5}));
  show(std::string(image.name) + " " + std::to_string(image.extent.width) + " x " + std::to_string(image.extent.height),
       "in_out_channel 15 x 4");
  for (const std::string& name : names_of(Format::parse("nChw4c").bind({1, 17, 5, 4})))
    std::printf("  %s\n", name.c_str());
}

void code() {
  const TensorDesc desc(Format::parse("nChw8c").bind({2, 17, 5, 4}), DType::f32);
  std::printf("%s\n", c_function::code(desc, {.letters = "nchw"}).c_str());
  std::printf("%s\n%s\n", mdspan_code(desc).c_str(), onednn::code(desc).c_str());
}

void onednn_views() {
  const onednn::BlockedDesc fields = onednn::to_onednn({Format::parse("nChw8c").bind({2, 17, 5, 4}), DType::f32});
  const onednn::BlockedDesc part = onednn::submemory(fields, {2, 9, 5, 4}, {0, 8, 0, 0});
  show(std::to_string(part.offset0), "160");
  const onednn::BlockedDesc rows = onednn::reshape(fields, {2, 17, 20});
  show(onednn::difference(fields, rows), "ndims is 4 and 3");
  try {
    onednn::submemory(fields, {2, 8, 5, 4}, {0, 4, 0, 0});
  } catch (const Error& error) {
    show(error.message(), "submemory: the part of dim 1 begins at 4, which is no multiple of the dim's block of 8");
  }
}

void scale_factors() {
  const scales::Factors factors = scales::factors_of(scales::Kind::mxfp8, 256, 2048);
  const int64_t byte = scales::offset(factors, 130, 40);  // of row 130 and columns 32 to 63
  show(std::to_string(byte) + " of " + std::to_string(factors.bytes), "8225 of 16384");
}

void paged_cache() {
  const kv_cache::Cache cache{.blocks = 1000, .block_size = 16, .heads = 8, .dim = 128};
  const std::vector<int64_t> table{7, 3, 42};
  const kv_cache::Location where = kv_cache::locate(cache, table, 17);
  show("block " + std::to_string(where.block) + ", slot " + std::to_string(where.slot), "block 3, slot 1");
  const std::vector<kv_cache::Run> runs = kv_cache::runs_of(cache, table, 0, 40);
  const Layout first = kv_cache::view_of(cache, runs[0], kv_cache::Part::key);
  show(std::to_string(runs.size()) + " runs, the first of dims " + join(first.dims(), " x "),
       "3 runs, the first of dims 16 x 8 x 128");
}

}  // namespace

int main() {
  frameworks();
  shared_tensors();
  cute_layouts();
  xla_shapes();
  triton_layouts();
  tvm_and_cudnn();
  verbose_lines();
  images_and_names();
  code();
  onednn_views();
  scale_factors();
  paged_cache();
  return good ? 0 : 1;
}
