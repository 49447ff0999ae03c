// A program of oneDNN 2 with two mistakes that people make, for tests of `relayout explain`: weights are reordered in
// every run, and pooling between two convolutions is given plain memory. Layouts are asked for by name, so that they
// are the same on every processor.
//
//     ONEDNN_VERBOSE=1 onednn_program RUNS
#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

namespace {

using namespace dnnl;
using Tag = memory::format_tag;
using Type = memory::data_type;

class Net {
 public:
  Net() : cpu_(engine::kind::cpu, 0), order_(cpu_) {}

  void run() {
    // The first convolution: its weights are brought into its layout in every run.
    auto conv1 = convolution({1, 16, 64, 64}, {32, 16, 3, 3}, {1, 32, 64, 64}, Tag::nChw8c, 1);
    memory x = moved(user({1, 16, 64, 64}, Tag::nchw), conv1.src_desc());
    memory w1 = moved(user({32, 16, 3, 3}, Tag::oihw), conv1.weights_desc());
    memory y = made(conv1.dst_desc());
    convolution_forward(conv1).execute(order_, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w1}, {DNNL_ARG_DST, y}});
    // Pooling is given plain memory, though it takes blocks.
    memory plain = moved(y, {{1, 32, 64, 64}, Type::f32, Tag::nchw});
    memory half = made({{1, 32, 32, 32}, Type::f32, Tag::nchw});
    pooling_forward::primitive_desc pool({prop_kind::forward_inference,
                                          algorithm::pooling_max,
                                          plain.get_desc(),
                                          half.get_desc(),
                                          {2, 2},
                                          {2, 2},
                                          {0, 0},
                                          {0, 0}},
                                         cpu_);
    pooling_forward(pool).execute(order_, {{DNNL_ARG_SRC, plain}, {DNNL_ARG_DST, half}});
    auto conv2 = convolution({1, 32, 32, 32}, {32, 32, 3, 3}, {1, 32, 32, 32}, Tag::nChw8c, 1);
    memory blocks = moved(half, conv2.src_desc());
    memory z = made(conv2.dst_desc());
    convolution_forward(conv2).execute(
        order_, {{DNNL_ARG_SRC, blocks}, {DNNL_ARG_WEIGHTS, kept_weights(conv2)}, {DNNL_ARG_DST, z}});
    order_.wait();
  }

 private:
  memory user(const memory::dims& dims, Tag tag) { return made({dims, Type::f32, tag}); }
  memory made(const memory::desc& desc) {
    memory out(desc, cpu_);
    auto* bytes = static_cast<char*>(out.get_data_handle());
    for (size_t i = 0; i < desc.get_size(); ++i) bytes[i] = 0;
    return out;
  }
  memory moved(memory from, const memory::desc& to) {
    if (from.get_desc() == to) return from;
    memory out = made(to);
    reorder(from, out).execute(order_, from, out);
    return out;
  }
  /// The weights of the second convolution are reordered once and kept, as they should be.
  memory kept_weights(const convolution_forward::primitive_desc& conv) {
    if (kept_.empty()) kept_.push_back(moved(user({32, 32, 3, 3}, Tag::oihw), conv.weights_desc()));
    return kept_.front();
  }
  convolution_forward::primitive_desc convolution(const memory::dims& src, const memory::dims& wei,
                                                  const memory::dims& dst, Tag tag, int64_t pad) {
    const convolution_forward::desc desc(prop_kind::forward_inference, algorithm::convolution_direct,
                                         {src, Type::f32, tag}, {wei, Type::f32, Tag::OIhw8i8o}, {dst, Type::f32, tag},
                                         {1, 1}, {pad, pad}, {pad, pad});
    return {desc, cpu_};
  }

  engine cpu_;
  stream order_;
  std::vector<memory> kept_;
};

}  // namespace

int main(int argc, char** argv) {
  Net net;
  for (int run = 0; run < (argc > 1 ? std::atoi(argv[1]) : 1); ++run) net.run();
}
