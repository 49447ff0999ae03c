// Readers: each makes a Trace of one documented form. read_any() tells the forms apart.
//
// clang-format off
//     read_onednn               what oneDNN 1.x to 3.x prints with ONEDNN_VERBOSE=1 or 2, profile, dispatch, all
//     read_onnxruntime_profile  the JSON of SessionOptions.enable_profiling (ONNX Runtime 1.8 to 1.32)
//     read_openvino_graph       the XML of CompiledModel.get_runtime_model() or benchmark_app -exec_graph_path
//                               (OpenVINO 2022.1 to 2026.4, opset 11 of its IR)
//     read_tensorrt_layers      trtexec --exportLayerInfo of --profilingVerbosity=detailed, and --exportProfile
//                               (TensorRT 8.2 to 10)
//     read_executorch           the text of an exported program with dim_order operators (ExecuTorch 0.4 to 1.0)
//     read_inductor             output_code.py of TorchInductor (PyTorch 2.1 to 2.9), or a trace of torch.profiler
// clang-format on
//
// Errors: parse (the text is not of that form; the message names the place), limit (nested too deeply), unsupported (a
// build without nlohmann-json, of the forms that are JSON).
#pragma once

#include <span>
#include <string_view>

#include "relayout/explain/trace.h"

namespace relayout::explaining {

/// A node of a model, by which a profile's nodes get the names of their tensors.
struct NamedNode {
  std::string name{}, kind{};
  std::vector<std::string> reads{}, writes{};
  std::vector<std::string> constants{};  // those of `reads` that are constants
  std::vector<int> perm{};               // of a Transpose
};

Trace read_onednn(std::string_view text);
/// `nodes` are those of the optimised model (SessionOptions.optimized_model_filepath), or none.
Trace read_onnxruntime_profile(std::string_view text, std::span<const NamedNode> nodes = {});
Trace read_openvino_graph(std::string_view text);
/// `profile` is the text of --exportProfile, or empty; then there are no times.
Trace read_tensorrt_layers(std::string_view text, std::string_view profile = {});
Trace read_executorch(std::string_view text);
Trace read_inductor(std::string_view text);

/// The text by its form, with a second one that says the times of the first (TensorRT's profile), and a model's nodes
/// (ONNX Runtime's). Error{parse} lists
/// the forms where it is none of them.
Trace read_any(std::string_view text, std::string_view profile = {}, std::span<const NamedNode> nodes = {});

}  // namespace relayout::explaining
