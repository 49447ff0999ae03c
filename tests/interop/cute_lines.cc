// CuTe's algebra by this library, a call a line, for cute.py.
//
//     standard input     compose<tab>(6,2):(8,2)<tab>(4,3):(3,1)      a function and its layouts (or numbers)
//     standard output    layout<tab>((2,2),3):((24,2),8)
//
// By-mode functions have "_by_mode" behind their names, and any number of tilers. What is refused gives "error", the
// code and the message instead.
#include <map>
#include <string>
#include <vector>

#include "relayout/interop/cute.h"
#include "tests/support/answer_lines.h"

namespace {

using relayout::Layout;
namespace cute = relayout::cute;
using Arguments = std::vector<std::string>;

Layout layout(const std::string& text) { return cute::from_cute(text); }

template <Layout (*Function)(const Layout&)>
Layout one(const Arguments& words) {
  return Function(layout(words.at(0)));
}

template <Layout (*Function)(const Layout&, const Layout&)>
Layout two(const Arguments& words) {
  return Function(layout(words.at(0)), layout(words.at(1)));
}

template <Layout (*Function)(const Layout&, std::span<const Layout>)>
Layout by_mode(const Arguments& words) {
  std::vector<Layout> tiler;
  for (std::size_t k = 1; k < words.size(); ++k) tiler.push_back(layout(words[k]));
  return Function(layout(words.at(0)), tiler);
}

Layout complement(const Arguments& words) { return cute::complement(layout(words.at(0)), std::stoll(words.at(1))); }

Layout text(const Arguments& words) { return layout(words.at(0)); }

const std::map<std::string, Layout (*)(const Arguments&)> kFunctions = {
    {"text", text},
    {"coalesce", one<cute::coalesce>},
    {"right_inverse", one<cute::right_inverse>},
    {"left_inverse", one<cute::left_inverse>},
    {"complement", complement},
    {"compose", two<cute::compose>},
    {"logical_divide", two<cute::logical_divide>},
    {"zipped_divide", two<cute::zipped_divide>},
    {"tiled_divide", two<cute::tiled_divide>},
    {"flat_divide", two<cute::flat_divide>},
    {"logical_product", two<cute::logical_product>},
    {"blocked_product", two<cute::blocked_product>},
    {"raked_product", two<cute::raked_product>},
    {"compose_by_mode", by_mode<cute::compose>},
    {"logical_divide_by_mode", by_mode<cute::logical_divide>},
    {"zipped_divide_by_mode", by_mode<cute::zipped_divide>},
    {"tiled_divide_by_mode", by_mode<cute::tiled_divide>},
    {"flat_divide_by_mode", by_mode<cute::flat_divide>},
    {"logical_product_by_mode", by_mode<cute::logical_product>},
    {"zipped_product_by_mode", by_mode<cute::zipped_product>},
    {"tiled_product_by_mode", by_mode<cute::tiled_product>},
    {"flat_product_by_mode", by_mode<cute::flat_product>},
};

std::string answer(const std::string& line) {
  Arguments words(1);
  for (const char ch : line) {
    if (ch == '\t') {
      words.emplace_back();
    } else {
      words.back() += ch;
    }
  }
  const auto function = kFunctions.at(words.front());
  words.erase(words.begin());
  try {
    return "layout\t" + cute::to_cute(function(words));
  } catch (const relayout::Error& error) {
    return relayout::test::refusal_line(error);
  }
}

}  // namespace

int main() { return relayout::test::answer_lines(answer); }
