// A user of oneDNN's memory descriptors, who includes their header first and alone.
#include <relayout/interop/onednn_desc.h>

#include <cstdio>

int main() {
  using dnnl::memory;
  const memory::desc md({2, 17, 5, 4}, memory::data_type::f32, memory::format_tag::nChw8c);
  const relayout::TensorDesc desc = relayout::onednn::from_desc(md);
  const bool good = desc.layout.offset({0, 16, 2, 3}) == 408 && relayout::onednn::to_desc(desc) == md;
  std::printf("oneDNN: %s\n", good ? "good" : "wrong");
  return good ? 0 : 1;
}
