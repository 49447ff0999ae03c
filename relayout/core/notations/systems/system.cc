// What a name of a system means: see system.h.
#include "relayout/core/notations/systems/system.h"

#include <algorithm>

#include "relayout/core/nearest.h"

namespace relayout {
namespace {

/// How many elements of the type `bytes` bytes hold; the tables have no fewer bytes than an element may have.
int64_t elements_in(int bytes, DType type) { return bytes * int64_t{8} / bits(type); }

}  // namespace

Spelled spelled_name(const SystemName& name, DType type) {
  Spelled out;
  if (name.layout == "contiguous") return out;
  out.names = name.letters;
  if (constexpr std::string_view kDigits = "digits:"; name.layout.starts_with(kDigits)) {
    NotationText text(name.layout, kDigits.size(), name.layout.size(), [&](std::size_t, const std::string& why) {
      throw Error(ErrorCode::internal, "layout: the table's " + std::string(name.layout) + ": " + why);
    });
    const Spelled digits = read_digits(text);
    out.digits = digits.digits;
    out.formula = digits.formula;
    return out;
  }
  out.tag = name.layout;
  if (const std::size_t at = out.tag.find('$'); at != std::string::npos)
    out.tag.replace(at, 1, std::to_string(elements_in(name.bytes, type)));
  for (const char place : name.places) out.places.push_back(place - '0');
  out.limit = name.limit;
  return out;
}

namespace {

[[noreturn]] void refuse_name(const NotationText& text, std::size_t at, std::string_view word,
                              const NamedSystem& system) {
  std::string list;
  std::vector<std::string_view> known;
  for (const SystemName& name : system.names) {
    if (!known.empty() && known.back() == name.name) continue;
    list += (list.empty() ? "" : ", ") + std::string(name.name);
    known.push_back(name.name);
  }
  text.fail(at, std::string(system.title) + " has no such format; there are " + list + did_you_mean(word, known));
}

/// The type behind the colon, for a name that depends on it.
DType read_type(const NotationText& text, std::size_t at, std::string_view word, const SystemName& name) {
  if (name.bytes == 0) text.fail(at, std::string(name.name) + " is the same for every type; leave the type out");
  try {
    return parse_dtype(word);
  } catch (const Error& error) {
    text.fail(at, error.message());
  }
}

}  // namespace

Spelled read_name(NotationText& text, const NamedSystem& system) {
  const std::size_t at = text.at();
  // A type may stand behind a name, and some names have a colon themselves.
  const std::string_view all = text.all();
  const bool whole = std::ranges::find(system.names, all, &SystemName::name) != system.names.end();
  const std::string_view word = whole ? all : all.substr(0, all.rfind(':'));
  const auto first = std::ranges::find(system.names, word, &SystemName::name);
  if (first == system.names.end()) refuse_name(text, at, word, system);
  const bool typed = word.size() < all.size();
  const std::size_t behind = word.size() + 1;
  const DType type = typed ? read_type(text, at + behind, all.substr(behind), *first) : system.type;
  Spelled out = spelled_name(*first, type);
  for (auto other = first + 1; other != system.names.end() && other->name == word; ++other)
    out.others.push_back(spelled_name(*other, type));
  return out;
}

}  // namespace relayout
