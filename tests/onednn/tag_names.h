// The tag names of the installed oneDNN, read from its header when the tests run.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <string>
#include <vector>

namespace relayout {

struct TagName {
  std::string name;       // without "dnnl_", e.g. "nChw16c"
  std::string canonical;  // the name it stands for, letters a..l; its own where it is one
  dnnl_format_tag_t tag;
  int ndims;  // distinct letters; 0 for undef and any
};

/// All of enum dnnl_format_tag_t: canonical names first, then aliases, as the header has them.
/// Throws std::runtime_error where the header cannot be read.
std::vector<TagName> onednn_tag_names();

}  // namespace relayout
