// Programs that do one reorder alone: see programs.h. Each is a text with places that are filled in.
#include "relayout/explain/programs.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "relayout/explain/readers/tensors.h"
#include "relayout/interop/names_elsewhere.h"
#include "relayout/interop/numpy.h"
#include "relayout/interop/onednn.h"
#include "relayout/interop/pytorch.h"

namespace relayout::explaining {
namespace {

[[noreturn]] void cannot(const std::string& why) { throw Error(ErrorCode::unsupported, why, "reorder"); }

/// The text with every "$NAME$" as its value.
std::string filled(std::string text, std::initializer_list<std::pair<std::string_view, std::string>> values) {
  for (const auto& [name, value] : values) {
    const std::string place = "$" + std::string(name) + "$";
    for (std::size_t at = 0; (at = text.find(place, at)) != std::string::npos; at += value.size())
      text.replace(at, place.size(), value);
  }
  return text;
}

std::string list_of(const Dims& dims) { return "[" + join(dims, ", ") + "]"; }

/// How all Python programs time the line that does it.
std::string timed(const std::string& line) {
  return "for _ in range(20):\n    start = time.perf_counter()\n    " + line +
         "\n    print(1e3 * (time.perf_counter() - start), \"ms\")\n";
}

std::string onednn_program(const Reorder& reorder) {
  const auto described = [](const TensorDesc& desc, const std::string& name) {
    std::string line = onednn::code(desc);
    line.replace(line.find(" md("), 4, " " + name + "_desc(");
    return line;
  };
  return filled(R"(// c++ -std=c++17 reorder.cc -ldnnl && ONEDNN_VERBOSE=1 ./a.out
)"
                "#include <oneapi/dnnl/dnnl.hpp>\n"
                "#include <cstring>\n"
                R"(int main() {
  dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  dnnl::stream order(cpu);
  $SRC$
  $DST$
  dnnl::memory src(src_desc, cpu), dst(dst_desc, cpu);
  std::memset(src.get_data_handle(), 0, src_desc.get_size());
  dnnl::reorder move(src, dst);
  for (int i = 0; i < 20; ++i) move.execute(order, src, dst);
  order.wait();
}
)",
                {{"SRC", described(*reorder.src.desc, "src")}, {"DST", described(*reorder.dst.desc, "dst")}});
}

/// The node of ONNX Runtime, and the dims of the tensor that it is given.
struct Node {
  std::string code;
  Dims dims;
};

Dims channels_moved_last(Dims dims) {
  const int64_t channels = dims[1];
  for (int d = 1; d + 1 < dims.size(); ++d) dims[d] = dims[d + 1];
  dims[dims.size() - 1] = channels;
  return dims;
}

Node node_of(const Reorder& reorder) {
  const Dims& dims = *reorder.src.dims;
  if (!reorder.perm.empty()) {
    std::string perm;
    for (const int d : reorder.perm) perm += (perm.empty() ? "" : ", ") + std::to_string(d);
    return {R"(helper.make_node("Transpose", ["x"], ["y"], perm=[)" + perm + "])", dims};
  }
  const bool enters = reorder.kind == "ReorderInput";
  if (!enters && reorder.kind != "ReorderOutput") cannot("a node " + reorder.kind + " is not known here");
  const Tensor &plain = enters ? reorder.src : reorder.dst, &blocked = enters ? reorder.dst : reorder.src;
  const bool last = plain.layout != plain_tag(dims.size());
  const std::string end = ", domain=\"com.microsoft.nchwc\", channels_last=" + std::to_string(last ? 1 : 0) + ")";
  if (enters)
    return {R"(helper.make_node("ReorderInput", ["x"], ["y"])" + end, last ? channels_moved_last(dims) : dims};
  Dims padded = dims;
  padded[1] = blocked.desc->layout.capacity(1);
  return {R"(helper.make_node("ReorderOutput", ["x"], ["y"], channels=)" + std::to_string(dims[1]) + end, padded};
}

std::string onnxruntime_program(const Report& report, const Reorder& reorder) {
  const Node node = node_of(reorder);
  const std::string threads =
      report.threads > 0 ? "options.intra_op_num_threads = " + std::to_string(report.threads) + "\n" : "";
  return filled(R"(# python reorder.py, with onnx and onnxruntime of PyPI
import time
import numpy
import onnxruntime
from onnx import helper
x = numpy.zeros($DIMS$, "$TYPE$")
node = $NODE$
type_of_x = helper.np_dtype_to_tensor_dtype(x.dtype)
graph = helper.make_graph([node], "reorder", [helper.make_tensor_value_info("x", type_of_x, x.shape)],
                          [helper.make_tensor_value_info("y", type_of_x, None)])
opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft.nchwc", 1)]
model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
options = onnxruntime.SessionOptions()
$THREADS$session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
)" + timed("session.run(None, {\"x\": x})"),
                {{"DIMS", list_of(node.dims)},
                 {"TYPE", std::string(numpy::dtype_name(reorder.src.desc->dtype))},
                 {"NODE", node.code},
                 {"THREADS", threads}});
}

std::string openvino_program(const Reorder& reorder) {
  if (reorder.perm.empty()) return onednn_program(reorder);
  std::string perm;
  for (const int d : reorder.perm) perm += (perm.empty() ? "" : ", ") + std::to_string(d);
  return filled(R"(# python reorder.py, with openvino of PyPI
import time
import numpy
import openvino
from openvino import opset13
data = numpy.zeros($DIMS$, "$TYPE$")
x = opset13.parameter(data.shape, openvino.Type(data.dtype))
model = openvino.Model([opset13.transpose(x, [$PERM$])], [x])
request = openvino.Core().compile_model(model, "CPU").create_infer_request()
)" + timed("request.infer({0: data})"),
                {{"DIMS", list_of(*reorder.src.dims)},
                 {"TYPE", std::string(numpy::dtype_name(reorder.src.desc->dtype))},
                 {"PERM", perm}});
}

std::string threads_of_torch(const Report& report) {
  return report.threads > 0 ? "torch.set_num_threads(" + std::to_string(report.threads) + ")\n" : "";
}

std::string torch_program(const Report& report, const Reorder& reorder) {
  return filled("# python reorder.py, with torch\nimport time\nimport torch\n$THREADS$src = $SRC$\ndst = $DST$\n" +
                    timed("dst.copy_(src)"),
                {{"THREADS", threads_of_torch(report)},
                 {"SRC", pytorch::code(*reorder.src.desc)},
                 {"DST", pytorch::code(*reorder.dst.desc)}});
}

std::string inductor_program(const Report& report, const Reorder& reorder) {
  return filled(R"(# TORCH_LOGS=output_code python reorder.py, with torch 2
import time
import torch
$THREADS$
@torch.compile
def move(src):
    return $DST$.copy_(src)

src = $SRC$
move(src)
)" + timed("move(src)"),
                {{"THREADS", threads_of_torch(report)},
                 {"SRC", pytorch::code(*reorder.src.desc)},
                 {"DST", pytorch::code(*reorder.dst.desc)}});
}

std::string executorch_program(const Reorder& reorder) {
  const Layout& dst = reorder.dst.desc->layout;
  const bool plain = dst.contiguous_in(MemoryFormat::contiguous);
  if (!plain && !dst.contiguous_in(MemoryFormat::channels_last))
    cannot("PyTorch has no memory format " + reorder.dst.layout + ", by which a dim order is asked for");
  return filled(R"(# python reorder.py, with executorch of PyPI
import time
import torch
from executorch.exir import to_edge
from executorch.runtime import Runtime

class Move(torch.nn.Module):
    def forward(self, x):
        return x.to(dtype=x.dtype, memory_format=torch.$FORMAT$, copy=True)

x = $SRC$
program = to_edge(torch.export.export(Move(), (x,))).to_executorch()
method = Runtime.get().load_program(program.buffer).load_method("forward")
)" + timed("method.execute([x])"),
                {{"FORMAT", plain ? "contiguous_format" : "channels_last"}, {"SRC", pytorch::code(*reorder.src.desc)}});
}

/// "fp16:chw32" as trtexec takes formats of inputs. Of several names for one layout, the one with the block of the
/// tensor's tag is meant.
std::string trtexec_format(const Tensor& tensor) {
  const TensorDesc& desc = *tensor.desc;
  static constexpr std::array<std::pair<DType, std::string_view>, 6> kTypes = {{{DType::f32, "fp32"},
                                                                                {DType::f16, "fp16"},
                                                                                {DType::bf16, "bf16"},
                                                                                {DType::s8, "int8"},
                                                                                {DType::s32, "int32"},
                                                                                {DType::s64, "int64"}}};
  const auto type = std::ranges::find(kTypes, desc.dtype, [](const auto& entry) { return entry.first; });
  if (type == kTypes.end()) cannot("trtexec has no inputs of " + std::string(name(desc.dtype)));
  constexpr std::string_view kSystem = "tensorrt:", kDigits = "0123456789";
  std::string best;
  const std::size_t block = tensor.layout.find_first_of(kDigits);
  for (const std::string& found : names_of(desc.layout)) {
    if (!found.starts_with(kSystem)) continue;
    const std::size_t digits = found.find_first_of(kDigits);
    const bool same_block =
        block == std::string::npos
            ? digits == std::string::npos
            : digits != std::string::npos && tensor.layout.substr(block).starts_with(found.substr(digits));
    if (best.empty() || same_block) best = found.substr(kSystem.size());
    if (same_block) break;
  }
  std::ranges::transform(best, best.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (best == "linear") best = "chw";
  if (!best.empty()) return std::string(type->second) + ":" + best;
  cannot("trtexec has no name for that layout of inputs");
}

std::string tensorrt_program(const Reorder& reorder) {
  static constexpr std::string_view kText = R"(# python model.py, with onnx of PyPI, and then
# trtexec --onnx=reorder.onnx --inputIOFormats=$SRC$ --outputIOFormats=$DST$ --dumpProfile
import numpy
import onnx
from onnx import helper
kind = helper.np_dtype_to_tensor_dtype(numpy.dtype("$TYPE$"))
graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "reorder",
                          [helper.make_tensor_value_info("x", kind, $DIMS$)],
                          [helper.make_tensor_value_info("y", kind, $DIMS$)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.save(model, "reorder.onnx")
)";
  return filled(std::string(kText), {{"SRC", trtexec_format(reorder.src)},
                                     {"DST", trtexec_format(reorder.dst)},
                                     {"TYPE", std::string(numpy::dtype_name(reorder.src.desc->dtype))},
                                     {"DIMS", list_of(*reorder.src.dims)}});
}

}  // namespace

std::string program_of(const Report& report, const Reorder& reorder) {
  if (!reorder.src.desc || !reorder.dst.desc || !reorder.src.dims) cannot("its layouts or dims are not known");
  const std::string& system = report.system;
  if (system == "oneDNN") return onednn_program(reorder);
  if (system == "ONNX Runtime" || system == "ONNX") return onnxruntime_program(report, reorder);
  if (system == "OpenVINO") return openvino_program(reorder);
  if (system == "PyTorch") return torch_program(report, reorder);
  if (system == "TorchInductor") return inductor_program(report, reorder);
  if (system == "ExecuTorch") return executorch_program(reorder);
  if (system == "TensorRT") return tensorrt_program(reorder);
  cannot("the system \"" + system + "\" is not known here");
}

}  // namespace relayout::explaining
