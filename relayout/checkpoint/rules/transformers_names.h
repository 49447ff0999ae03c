// Names in the tables of Hugging Face's transformers as patterns and templates of rules (internal to checkpoint).
//
//     SourceName s = source_name("mlp.experts.*.gate_proj.weight", "", "");
//     s.pattern == R"(/(.*?)mlp\.experts\.(\d+)\.gate_proj\.weight((?!\w).*)/)"
//     target_name("mlp.experts.gate_up_proj", s) == "{1}mlp.experts.gate_up_proj{3}"
//
// A source is looked for inside a name, and what it matches is replaced by the target. "*." is a number; a point is a
// point; groups in parentheses are \1, \2, ... of the target; ^ and $ are the ends of the name. What ends in a letter
// or a digit ends there in the name too. Source: transformers/core_model_loading.py of transformers 5.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace relayout::checkpoint {

struct SourceName {
  std::string pattern;      // of a NamePattern
  std::vector<int> groups;  // the captures of \1, \2, ...
  int numbers = 0;          // how many "*." it has
  bool prefix = false;      // whether capture 1 is what stands before it
  int rest = 0;             // the capture of what stands behind it; 0 where nothing does
};

/// `scope`: only names behind "SCOPE." or "BASE.SCOPE." match, and what is looked for is behind that; "" is none.
/// Error{unsupported} names what is not read of an expression.
SourceName source_name(std::string_view text, std::string_view scope, std::string_view base);

/// The text of a NameTemplate; "*" is the number of a part, {i}. Error{unsupported}.
std::string target_name(std::string_view text, const SourceName& source);

}  // namespace relayout::checkpoint
