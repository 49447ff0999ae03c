// parse_dtype(): types of elements by the names that people type, which are those of NumPy, PyTorch, JAX and C.
//
// The rules, in this order:
//   1. a name of ours: f32, u4;
//   2. a code of NumPy behind its mark of the bytes' order, <f4 or |u1. Its number counts bytes. Without the mark
//      u4 and u8 would be two types, so that a letter with a number counts bits, and i2, i4, i8, f4 and f8 are
//      refused;
//   3. behind a module (torch., numpy., np., ml_dtypes., jnp.) and with small or capital letters: a word (half),
//      or a kind and its bits (float32, fp16, bfloat16, int4, uint8, i32, float8_e4m3fn, float4_e2m1fn_x2).
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "relayout/core/dtype.h"
#include "relayout/core/error.h"
#include "relayout/core/extents.h"
#include "relayout/core/letters.h"
#include "relayout/core/nearest.h"

namespace relayout {
namespace {

/// Why a text is no type, where more can be said than that.
struct Reading {
  std::optional<DType> dtype{};
  std::string refusal{};
};

std::string both(std::string_view ours, std::string_view why, std::string_view other, std::string_view why_other) {
  return "; " + std::string(ours) + " is " + std::string(why) + ", " + std::string(other) + " " +
         std::string(why_other);
}

/// A code of NumPy without its mark: a letter and a number of bytes.
Reading read_code(std::string_view code) {
  if (code == "b1" || code == "?") return {DType::boolean};
  const std::string kinds = "fiu";
  if (code.size() != 2 || kinds.find(code[0]) == std::string::npos || code[1] < '1' || code[1] > '8') return {};
  const char kind = code[0] == 'i' ? 's' : code[0];
  // The one type of NumPy's own with 8 bits and this letter would be a float, which it does not have.
  if (kind == 'f' && code[1] == '1') return {};
  return {find_dtype(kind + std::to_string((code[1] - '0') * 8))};
}

Reading read_marked(std::string_view text) {
  if (text[0] != '>') return read_code(text.substr(1));
  if (const Reading code = read_code(text.substr(1)); code.dtype) {
    if (bits(*code.dtype) == 8) return code;
    return {{}, "; > says that the bytes stand from the highest to the lowest, and types here are the machine's own"};
  }
  return {};
}

/// Words that are no kind with its bits.
constexpr std::pair<std::string_view, DType> kDTypeWords[] = {
    {"half", DType::f16},     {"single", DType::f32},    {"double", DType::f64},    {"short", DType::s16},
    {"ushort", DType::u16},   {"long", DType::s64},      {"ulong", DType::u64},     {"ubyte", DType::u8},
    {"bool", DType::boolean}, {"bool_", DType::boolean}, {"bool8", DType::boolean}, {"boolean", DType::boolean},
    {"bit", DType::u1}};

Reading read_word(std::string_view word, std::string_view module) {
  for (const auto& [name, dtype] : kDTypeWords) {
    if (name == word) return {dtype};
  }
  const bool torch = module == "torch.";
  if (word == "float") {
    if (torch) return {DType::f32};
    return {{}, both("f32", "the float of C and PyTorch", "f64", "that of Python and NumPy")};
  }
  if (word == "int") {
    if (torch) return {DType::s32};
    return {{}, both("s32", "the int of C and PyTorch", "s64", "that of Python and NumPy")};
  }
  if (word == "byte") {
    if (torch) return {DType::u8};
    if (module == "numpy." || module == "np.") return {DType::s8};
    return {{}, both("s8", "NumPy's byte", "u8", "that of most others")};
  }
  return {};
}

/// A floating type that is called by its bits and letters, "8_e4m3fn", or by its letters alone. Behind these others say
/// what a type has only finite values of (fn), and that it has no sign (u). PyTorch counts pairs of 4-bit floats (_x2).
std::optional<DType> small_float(std::string_view rest) {
  static constexpr std::pair<DType, std::string_view> kSmallFloats[] = {
      {DType::f8_e5m2, ""},   {DType::f8_e4m3, "fn"}, {DType::f8_e8m0, "fnu"},
      {DType::f6_e3m2, "fn"}, {DType::f6_e2m3, "fn"}, {DType::f4_e2m1, "fn"}};
  for (const auto& [dtype, suffix] : kSmallFloats) {
    const std::string ours(name(dtype)), width = ours.substr(1, 1), letters = ours.substr(3);
    for (const std::string& behind : {std::string(), std::string(suffix), std::string("fn_x2")}) {
      if (behind == "fn_x2" && dtype != DType::f4_e2m1) continue;
      const std::string whole = letters + behind;
      if (rest == whole || rest == width + whole || rest == width + "_" + whole) return dtype;
    }
  }
  return std::nullopt;
}

/// A kind and its bits, or the letters of a small float.
Reading read_kind(std::string_view word) {
  // The longest first.
  static constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"bfloat", "bf"}, {"float", "f"}, {"uint", "u"}, {"sint", "s"}, {"int", "s"}, {"bf", "bf"},
      {"fp", "f"},      {"f", "f"},     {"i", "s"},    {"u", "u"},    {"s", "s"}};
  if (word == "float8_e4m3") {
    return {{}, "; ml_dtypes calls a type with infinities so. f8_e4m3 has none: it is ml_dtypes' float8_e4m3fn"};
  }
  if (word.starts_with("e")) return {small_float(word)};
  const auto* found = std::ranges::find_if(kKinds, [&](const auto& kind) { return word.starts_with(kind.first); });
  if (found == std::end(kKinds)) return {};
  const std::string_view rest = word.substr(found->first.size());
  if (found->second == "f" && rest.find('e') != rest.npos) return {small_float(rest)};
  return {find_dtype(std::string(found->second) + std::string(rest))};
}

/// i4 and its like count bytes to users of NumPy, and bits to others.
std::string refused_code(std::string_view word) {
  const Reading code = read_code(word);
  if (!code.dtype || word.size() != 2) return {};
  const std::string numpys = std::string(name(*code.dtype));
  const auto same_bits = word[0] == 'f' ? std::nullopt : read_kind(word).dtype;
  if (!same_bits) return "; did you mean " + numpys + ", which NumPy calls " + std::string(word) + "?";
  return both(name(*same_bits), "the type of so many bits", numpys, "that of so many bytes, which NumPy writes so");
}

Reading read_dtype(std::string_view text) {
  if (const auto ours = find_dtype(text)) return {ours};
  if (text.empty()) return {};
  if (std::string_view("<>=|").find(text[0]) != std::string_view::npos) return read_marked(text);
  const std::size_t dot = text.rfind('.');
  const std::string module = small_letters(text.substr(0, dot == std::string_view::npos ? 0 : dot + 1));
  const std::string word = small_letters(text.substr(module.size()));
  static constexpr std::string_view kModules[] = {"", "torch.", "numpy.", "np.", "ml_dtypes.", "jnp.", "jax.numpy."};
  if (std::ranges::find(kModules, module) == std::end(kModules)) return {};
  if (Reading found = read_word(word, module); found.dtype || !found.refusal.empty()) return found;
  if (std::string refusal = refused_code(word); !refusal.empty() && !find_dtype(word)) return {{}, std::move(refusal)};
  return read_kind(word);
}

/// Names to suggest: ours first, then words, and kinds written out in front of the bits of our names.
std::vector<std::string> names_understood() {
  std::vector<std::string> out;
  for (DType dtype : all_dtypes()) out.emplace_back(name(dtype));
  for (const auto& [word, dtype] : kDTypeWords) out.emplace_back(word);
  for (const std::string_view kind : {"float", "bfloat", "int", "uint"}) {
    for (const std::string_view bits : {"1", "2", "4", "8", "16", "32", "64"}) {
      std::string whole = std::string(kind) + std::string(bits);
      if (read_kind(whole).dtype) out.push_back(std::move(whole));
    }
  }
  return out;
}

}  // namespace

DType parse_dtype(std::string_view text) {
  Reading found = read_dtype(text);
  if (found.dtype) return *found.dtype;
  std::string known;
  for (DType dtype : all_dtypes()) known += (known.empty() ? "" : ", ") + std::string(name(dtype));
  if (found.refusal.empty()) {
    const std::vector<std::string> all = names_understood();
    const std::vector<std::string_view> views(all.begin(), all.end());
    found.refusal = did_you_mean(text, views);
  }
  throw Error(ErrorCode::parse, "dtype: unknown type \"" + escaped(text) + "\"; known are " + known + found.refusal,
              "dtype", escaped(text), known);
}

}  // namespace relayout
