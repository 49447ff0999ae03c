// What a user's program does with the headers, for the test `warnings_user`: it is compiled with -O3 and all common
// warnings as errors, where the compiler sees through what is inline.
#include <relayout/relayout.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <vector>

namespace {

using namespace relayout;

/// Dims, indices and offsets, which are vectors of a fixed capacity.
int64_t walks(const Dims& dims) {
  int64_t sum = 0;
  for (const char* text : {"nchw", "nhwc", "nChw8c", "nChw16c", "strides:1000,100,10,1", "acdb"}) {
    const Layout layout = Format::parse(text).bind(dims);
    Dims index(dims.size(), 0);
    index[1] = dims[1] - 1;
    sum += layout.offset(index) + layout.offset(Dims{0, 1, 0, 1}) + layout.span();
    for (int d = 0; d < layout.dims().size(); ++d) {
      for (const Digit& digit : layout.digits(d)) sum += digit.extent * digit.stride;
    }
    Dims reached;
    if (layout.inverse(3, &reached) == Slot::element) sum += reached[0];
  }
  Dims grown = dims;
  grown.push_back(3);
  return sum + checked_product(grown).value_or(0);
}

/// Views, each of which is a layout again.
int64_t views(const Layout& layout) {
  const Layout view = narrow(permute(layout, std::array{0, 2, 3, 1}), 3, 1, 2);
  const Layout turned = flip(squeeze(narrow(view, 0, 0, 1), 0), 1);
  int64_t sum = turned.offset(Dims{0, 0, 1});
  for_each_run(turned, [&](int64_t offset, int64_t length) { sum += offset * length; });
  return sum + inverse_layout(Format::parse("nhwc").bind(layout.dims())).offset({5});
}

/// Reorders in every form that takes elements.
double reorders(const Dims& dims) {
  const TensorDesc src(Format::parse("nchw").bind(dims), DType::f32),
      dst(Format::parse("nChw8c").bind(dims), DType::f32);
  std::vector<float> in(static_cast<std::size_t>(src.layout.span()), 1),
      out(static_cast<std::size_t>(dst.layout.span()));
  cpu::reorder(src, in, dst, out);
  Attributes attributes;
  attributes.padding = Padding::of(2);
  const Plan plan = cpu::make_plan(src, dst, attributes);
  cpu::run(plan, in.data(), out.data(), {.threads = 1});
  cpu::run(plan, in, out);
  fill_padding(dst, out);
  std::array<float, 6> matrix{1, 2, 3, 4, 5, 6};
  cpu::reorder_in_place({Format::parse("ab").bind({2, 3}), DType::f32}, {Format::parse("ba").bind({2, 3}), DType::f32},
                        matrix);
  return first_dirty_padding(dst, out) ? 0 : out[0] + matrix[1];
}

/// The values of errors and graphs, which hold strings, variants and vectors.
std::size_t graphs() {
  graph::Graph g;
  const auto x = g.input("x", {1, 3, 8, 8}, DType::f32, Format::parse("nchw"));
  const auto w = g.constant("w", {4, 3, 3, 3}, std::vector<float>(108, 0.5f));
  g.output(g.eltwise(g.convolution(x, w), {.algorithm = graph::EltwiseAlgorithm::relu}));
  try {
    Format::parse("nchw").bind({1, 2});
  } catch (const Error& error) {
    return g.nodes.size() + error.message().size();
  }
  return 0;
}

/// Functions whose options are left out or given in part, which makes temporary objects of them in the program.
bool options(const graph::Graph& g, const TensorDesc& desc, std::vector<float>& data) {
  const auto backend = execute::onednn_backend(1);
  const auto measured = execute::measured_costs(*backend);
  const auto again = execute::measured_costs(*backend, {.runs = 3});
  graph::OptimalPlan plan = optimize(g, *backend, *measured);
  plan = optimize(g, *backend, *again, {.solve = {.table_budget = 1000}, .runs = 3});
  explain_reorders(g, plan);
  const auto space = choice_space(g, *backend, *measured);
  const auto few = solve::cheapest(space.problem, 2, {.time_limit = std::chrono::milliseconds(5)});
  execute::Model model(g, propagate(g, *backend), *backend);
  model.run({{{desc, data}}}, {{{desc, data.data()}}});
  const auto tuned = cpu::tune(desc, desc, {}, data.data(), data.data());
  const auto best = cpu::measured_plan(desc, desc, {}, data, std::span(data), {.file = "tune.txt"});
  const graph::OnnxModel onnx = graph::read_onnx("net.onnx", {.batch = 2});
  TensorWriter writer = TensorWriter::create("x.npy", {.dtype = DType::f32, .shape = {2, 3}});
  std::ranges::fill(writer.elements<float>(), 1.0f);
  writer.write(data);
  writer.commit();
  const TensorFile file = TensorFile::open("x.npy");
  file.read(0, data);
  const NamedTensor named[] = {{{.name = "a", .dtype = DType::f32, .shape = {1}}, file.elements<float>(0).first(1)}};
  write_npz("x.npz", named);
  const auto in_place = InPlacePlan::make(desc, desc);
  cpu::run(in_place, data, {.threads = 1});
  cpu::reorder(desc, data, desc, data, {.src_scale = {.values = {2}}});
  cpu::reorder(desc, data, desc, data, {.dst_zero_point = {{1}}, .padding = Padding::of(1)});
  return few.size() + onnx.warnings.size() > 1 && tuned.remembered && best.explain().empty();
}

/// Descriptions of other systems, and devices.
bool systems(const TensorDesc& desc, std::vector<float>& data) {
  dlpack::Tensor tensor = dlpack::to_dlpack(desc, data.data());
  const dlpack::View view = dlpack::from_dlpack(tensor.dl_tensor());
  auto shared = dlpack::exported(desc, data.data(), [] {});
  const dlpack::Imported imported(shared.release());
  const opencl::Runtime runtime;
  const auto device = opencl::DeviceTensor::make_buffer(runtime, desc);
  opencl::upload(desc, data, device);
  opencl::download(device, desc, data);
  const onednn::BlockedDesc blocked = onednn::to_onednn(desc);
  return view.desc == imported.view().desc && onednn::from_onednn(blocked) == desc &&
         spelling("cute", desc).text.empty() && cute::from_cute(cute::to_cute(desc.layout)) == desc.layout;
}

}  // namespace

int main() {
  try {
    const Dims dims{1, 17, 5, 4};
    std::printf("%lld %lld %g %zu\n", static_cast<long long>(walks(dims)),
                static_cast<long long>(views(Format::parse("nchw").bind(dims))), reorders(dims), graphs());
    const TensorDesc desc(Format::parse("nchw").bind(dims), DType::f32);
    std::vector<float> data(static_cast<std::size_t>(desc.layout.span()));
    std::printf("%d %d %d\n", format_of_path("x.npy") == FileFormat::npy, options({}, desc, data), systems(desc, data));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
