// Minimal programs of other systems that do one reorder alone, for reports of bugs to them (internal to explain).
#pragma once

#include <string>

#include "relayout/explain/report.h"

namespace relayout::explaining {

/// A program of the system that the report is of, by its public interface: C++ of oneDNN (also for Reorder layers of
/// OpenVINO, which its CPU plugin runs with oneDNN), Python of ONNX Runtime, OpenVINO, PyTorch and ExecuTorch, a model
/// and a line of trtexec for TensorRT. Its first line is a comment that says what runs it. Errors: unsupported (the
/// system cannot be asked for that reorder; the message says why), and those of the exporters in interop.
std::string program_of(const Report& report, const Reorder& reorder);

}  // namespace relayout::explaining
