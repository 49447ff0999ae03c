// Layouts for operands that the request leaves open: they follow the layout of another operand.
#include "relayout/execute/own/layouts.h"

#include <string>

#include "relayout/core/format.h"

namespace relayout::execute {
namespace {

/// Tags of activations by rank: row-major, channels last, blocked by 16, 8 and 4.
std::vector<std::string> family_tags(int ndims) {
  if (ndims < 2) return {};
  std::string spatial;
  for (int d = 2; d < ndims; ++d) spatial += static_cast<char>('a' + d);
  std::vector<std::string> tags{"ab" + spatial, "a" + spatial + "b"};
  for (const char* block : {"16b", "8b", "4b"}) tags.push_back("aB" + spatial + block);
  return tags;
}

}  // namespace

Layout following(const Dims& dims, const Layout& lead) {
  if (dims == lead.dims()) return lead;
  if (dims.size() == lead.ndims()) {
    for (const std::string& tag : family_tags(dims.size())) {
      const Format format = Format::parse(tag);
      if (format.bind(lead.dims()) == lead) return format.bind(dims);
    }
  }
  return Layout::contiguous(dims);
}

}  // namespace relayout::execute
