// Traces of torch.profiler (internal to explain); read_inductor() takes them as well.
#pragma once

#include <string_view>

#include "relayout/explain/trace.h"

namespace relayout::explaining {

/// The JSON of export_chrome_trace() with record_shapes=True, of PyTorch 2.1 to 2.9: each aten::copy_ between two
/// layouts is a reorder. Strides are there from PyTorch 2.2 on. Errors: as the readers of JSON.
Trace read_torch_trace(std::string_view text);

}  // namespace relayout::explaining
