// A layout as a C function: the terms of its digits, with their constants: see c_function.h.
#include "relayout/interop/c_function.h"

#include <algorithm>
#include <vector>

namespace relayout::c_function {
namespace {

[[noreturn]] void refuse(const std::string& why, const std::string& field, const std::string& value,
                         const std::string& allowed) {
  throw Error(ErrorCode::invalid_argument, "c_function: " + why, field, escaped(value), allowed);
}

std::vector<std::string> checked_names(const Layout& layout, const std::string& letters) {
  std::vector<std::string> out;
  if (letters.empty()) {
    for (int d = 0; d < layout.ndims(); ++d) out.push_back("i" + std::to_string(d));
    return out;
  }
  if (static_cast<int>(letters.size()) != layout.ndims())
    refuse(std::to_string(letters.size()) + " letters for " + std::to_string(layout.ndims()) + " dims", "letters",
           letters, "one a dim");
  for (std::size_t k = 0; k < letters.size(); ++k) {
    if (letters[k] < 'a' || letters[k] > 'z' || letters.find(letters[k]) != k)
      refuse("the letters \"" + escaped(letters) + "\" are not different small letters", "letters", letters,
             "different small letters");
    out.emplace_back(1, letters[k]);
  }
  return out;
}

/// Words that no function can be called by: the keywords of C23 and C++23, and the type that the function returns.
constexpr std::string_view kTaken =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class "
    "co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype "
    "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if "
    "inline int int64_t long mutable namespace new noexcept not not_eq nullptr operator or or_eq private "
    "protected public register reinterpret_cast requires restrict return short signed sizeof static "
    "static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename "
    "typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq _Alignas _Alignof "
    "_Atomic _BitInt _Bool _Complex _Decimal128 _Decimal32 _Decimal64 _Generic _Imaginary _Noreturn "
    "_Static_assert _Thread_local ";

void check_name(const std::string& name) {
  const auto part = [](char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_' || (ch >= '0' && ch <= '9');
  };
  if (name.empty() || (name[0] >= '0' && name[0] <= '9') || !std::ranges::all_of(name, part))
    refuse("\"" + escaped(name) + "\" is no identifier of C", "name", name, "letters, digits and _");
  if (kTaken.find(" " + name + " ") != std::string_view::npos)
    refuse("\"" + name + "\" has a meaning of its own in C or C++", "name", name, "no keyword");
}

/// What a dim adds, with signs: " + c / 8 * 160 + c % 8". Empty where it adds nothing.
std::string terms_of(std::span<const Digit> digits, const std::string& index) {
  std::string out;
  std::vector<int64_t> places{1};
  for (const Digit& digit : digits) places.push_back(places.back() * digit.extent);
  for (std::size_t k = digits.size(); k-- > 0;) {
    if (digits[k].stride == 0 || digits[k].extent == 1) continue;
    std::string term = index;
    if (places[k] != 1) term += " / " + std::to_string(places[k]);
    if (k + 1 < digits.size()) term += " % " + std::to_string(digits[k].extent);
    const int64_t stride = digits[k].stride;
    if (stride != 1 && stride != -1) term += " * " + std::to_string(stride < 0 ? -stride : stride);
    out += (stride < 0 ? " - " : " + ") + term;
  }
  return out;
}

std::string joined(const std::vector<std::string>& words, const std::string& before, const std::string& between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + before + word;
  return out;
}

/// Whether all padding is memory of its own, which may be written. False where that would take too long to decide.
bool has_own_padding(const Layout& layout) {
  try {
    return layout.padded() && layout.injective_with_padding();
  } catch (const Error&) {  // strides that are contrived
    return false;
  }
}

std::string comment(const TensorDesc& desc, const std::vector<std::string>& names) {
  const Layout& layout = desc.layout;
  const std::string type(relayout::name(desc.dtype));
  if (layout.ndims() == 0) return "/* The offset in elements of a scalar of " + type + ". */\n";
  std::string out = "/* The offset in elements of (" + joined(names, "", ", ") + ") in " + join(layout.dims(), " x ") +
                    " elements of " + type;
  const bool own_padding = has_own_padding(layout);
  for (int d = 0; d < layout.ndims() && own_padding; ++d) {
    if (layout.capacity(d) != layout.dim(d))
      out += "; " + names[static_cast<std::size_t>(d)] + " may go up to " + std::to_string(layout.capacity(d) - 1) +
             ", which is padding";
  }
  return out + ". */\n";
}

}  // namespace

std::string code(const TensorDesc& desc, const Options& options) {
  check_name(options.name);
  const std::vector<std::string> names = checked_names(desc.layout, options.letters);
  const Layout simple = desc.layout.plain().canonical();
  std::string sum, unused;
  for (int d = 0; d < simple.ndims(); ++d) {
    const std::string& name = names[static_cast<std::size_t>(d)];
    const std::string terms = terms_of(simple.digits(d), name);
    if (terms.empty()) unused += "  (void)" + name + ";\n";
    sum += terms;
  }
  if (simple.offset0() != 0) sum = " + " + std::to_string(simple.offset0()) + sum;
  if (sum.empty()) sum = " + 0";
  sum = sum.starts_with(" + ") ? sum.substr(3) : "-" + sum.substr(3);
  if (desc.layout.swizzled()) {
    const Swizzle& s = desc.layout.swizzle();
    unused += "  const int64_t sum = " + sum + ";\n";
    sum = "sum ^ (sum >> " + std::to_string(s.source()) + " & " + std::to_string((int64_t{1} << s.bits()) - 1) +
          ") << " + std::to_string(s.target());
  }
  return "#include <stdint.h>\n\n" + comment(desc, names) + "static inline int64_t " + options.name + "(" +
         (names.empty() ? "void" : joined(names, "int64_t ", ", ")) + ") {\n" + unused + "  return " + sum + ";\n}";
}

std::string code(const TensorDesc& desc) { return code(desc, {}); }

}  // namespace relayout::c_function
