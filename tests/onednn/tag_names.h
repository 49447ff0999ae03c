// The tag names of the installed oneDNN, read from its header when the tests run.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <string>
#include <vector>

namespace relayout {

struct TagName {
  std::string name;       // without "dnnl_", e.g. "nChw16c"
  std::string canonical;  // the name in letters a..l of which it is an alias, or its own name
  dnnl_format_tag_t tag;
  int ndims;  // distinct letters; 0 for undef and any
};

/// All of enum dnnl_format_tag_t: canonical names first, then aliases, in the header's order. Throws std::runtime_error
/// if the header cannot be read.
std::vector<TagName> onednn_tag_names();

}  // namespace relayout
