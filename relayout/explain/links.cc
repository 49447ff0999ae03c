// Makers and readers by the keys of tensors: see links.h.
#include "relayout/explain/links.h"

#include <algorithm>
#include <map>

namespace relayout::explaining {
namespace {

/// The operand that data comes by: the first that holds no weights.
const Tensor* data_of(const Event& event) {
  for (const Tensor& tensor : event.reads) {
    if (event.reorder || !tensor.weights) return &tensor;
  }
  return nullptr;
}

}  // namespace

Links find_links(const Trace& trace, const Runs& runs) {
  const std::size_t count = trace.events.size();
  Links out;
  out.maker.resize(count);
  out.makers.resize(count);
  out.readers.resize(count);
  std::map<std::string, std::size_t> written;  // the last event of this run that wrote such a tensor
  for (std::size_t i = 0; i < count; ++i) {
    const Event& event = trace.events[i];
    if (i > 0 && runs.run_of[i] != runs.run_of[i - 1]) written.clear();
    const Tensor* data = data_of(event);
    if (event.reads.size() > 1) out.makers[i].resize(event.reads.size());
    for (const Tensor& tensor : event.reads) {
      const auto found = tensor.key.empty() ? written.end() : written.find(tensor.key);
      if (found == written.end()) continue;
      if (&tensor == data) out.maker[i] = found->second;
      if (event.reads.size() > 1)
        out.makers[i][static_cast<std::size_t>(&tensor - event.reads.begin())] = found->second;
      std::vector<std::size_t>& readers = out.readers[found->second];
      if (readers.empty() || readers.back() != i) readers.push_back(i);
    }
    for (const Tensor& tensor : event.writes) {
      if (!tensor.key.empty()) written[tensor.key] = i;
    }
  }
  return out;
}

}  // namespace relayout::explaining
