// What a word that is no tag may mean: another spelling of a name, a name of another system, or a name a few letters
// away.
//
//     channels-last    channels_last        capitals, hyphens and the like aside, it is this word
//     KCRS             oihw, cudnn:KCRS     filters in cuDNN's letters; a name of a notation without its colon
//     NC/4HW4          nChw4c, ...          a number behind the channels, and again at the end
//     nchw16c, NCHWc   nChw16c              a letter with a block is a capital, and a block has a number
//     igo, dgoi        ldigo, ldgoi         weights of one layer, or of one layer and direction
//     nC16hw           nChw16c              a block at its letter and not at the end
//     nhcw             nhwc, nchw           letters exchanged, added or left out
//     colum-major      ba, cba, dcba        likewise of a word that others have
//     xls:{1,0}        xla:{1,0}            a notation's name, misspelt or without its colon
//     (4,2):(1,4)      cute:(4,2):(1,4)     what stands behind a notation's name, without the name
//     cute             an example           a notation's name alone
#include <algorithm>
#include <tuple>
#include <utility>

#include "relayout/core/format.h"
#include "relayout/core/letters.h"
#include "relayout/core/nearest.h"
#include "relayout/core/notations/notation.h"
#include "relayout/core/tag_names.h"

namespace relayout {
namespace {

constexpr std::size_t kLongestName = 24, kMostNames = 4;

bool is_figure(char ch) { return ch >= '0' && ch <= '9'; }
bool is_small(char ch) { return ch >= 'a' && ch <= 'z'; }

/// The letters, small, and figures alone: what two spellings of one name share.
std::string compact(std::string_view text) {
  std::string out = small_letters(text);
  std::erase_if(out, [](char ch) { return !is_small(ch) && !is_figure(ch); });
  return out;
}

/// The names that a misspelt word may mean: the tags of MACE's images where it has a row break, else words, MACE's
/// names and plain tags.
std::vector<std::string> known_names(bool image) {
  static constexpr std::string_view kWords[] = {"contiguous", "channels_last", "channels_last_3d", "undef", "any"};
  std::vector<std::string> out;
  for (const auto& [mace, tag] : mace_names()) out.emplace_back(image ? tag : mace);
  if (image) return out;
  out.insert(out.end(), std::begin(kWords), std::end(kWords));
  for (int rank = 1; rank <= 6; ++rank) {
    for (std::string& text : plain_names(rank)) out.push_back(std::move(text));
  }
  return out;
}

/// Words that others have for a layout that has another name here.
constexpr std::pair<std::string_view, std::string_view> kOtherWords[] = {
    {"channelsfirst", "contiguous"}, {"rowmajor", "contiguous"},         {"ccontiguous", "contiguous"},
    {"nc1hwc0", "nChw16c"},          {"ndc1hwc0", "nCdhw16c"},           {"nchwvectc", "cudnn:NC/4HW4"},
    {"fractalnz", "BA16a16b"},       {"contiguousformat", "contiguous"},
};

/// Words for the order in which the first index varies fastest, which has another name for each rank.
constexpr std::string_view kFirstFastest[] = {"columnmajor", "colmajor", "fortran", "fortranorder",
                                              "fcontiguous", "forder",   "f"};
constexpr std::string_view kReversed[] = {"ba", "cba", "dcba"};

/// Weights or biases of recurrent networks, which begin with layers and directions.
bool is_recurrent(const std::string& text) {
  return Format::is_expression(text) && Format::parse(text).dim_names(static_cast<int>(text.size())).starts_with("ld");
}

/// Filters in the letters of cuDNN and others, where K are the outputs, C the inputs and T, R, S the filter's extents.
std::string from_filter_letters(const std::string& word) {
  static constexpr std::string_view kTheirs = "kctrs", kOurs = "oidhw";
  std::string out;
  for (const char letter : word) {
    const std::size_t at = kTheirs.find(letter);
    if (at == std::string_view::npos) return "";
    out += kOurs[at];
  }
  return out;
}

/// The tag of outer letters and blocks: a letter with a block is a capital.
std::string with_capitals(std::string letters, const std::string& blocks) {
  for (char& letter : letters) {
    if (blocks.find(letter) != std::string::npos) letter = static_cast<char>(letter - 'a' + 'A');
  }
  return letters + blocks;
}

/// "nc4hw4": channels in groups of 4, and the groups' elements innermost.
std::string from_groups(const std::string& word) {
  const std::size_t channels = word.find('c');
  const std::size_t first = channels + 1, last = word.find_last_not_of("0123456789") + 1;
  if (channels == std::string::npos) return "";
  const std::size_t end = std::min(word.find_first_not_of("0123456789", first), word.size());
  const std::string number = word.substr(first, end - first);
  if (number.empty() || last <= end || word.substr(last) != number) return "";
  return with_capitals(word.substr(0, first) + word.substr(end, last - end), number + "c");
}

/// "nchw16c", "nchwc" and "nhwc8": outer letters, and from the first that comes again or the first number on blocks. A
/// block that lacks its number is taken to be of 16, and one that lacks its letter to be of the channels.
std::string from_blocks(const std::string& word) {
  std::size_t at = 0;
  while (at < word.size() && is_small(word[at]) && word.find(word[at]) == at) ++at;
  const std::string letters = word.substr(0, at);
  if (letters.empty() || at == word.size()) return "";
  std::string blocks;
  while (at < word.size()) {
    const std::size_t end = std::min(word.find_first_not_of("0123456789", at), word.size());
    const std::string number = end > at ? word.substr(at, end - at) : "16";
    const bool named = end < word.size() && is_small(word[end]);
    const char letter = named ? word[end] : 'c';
    if (letters.find(letter) == std::string::npos || (!named && letters.find('a') != std::string::npos)) return "";
    blocks += number + letter;
    at = end + (named ? 1 : 0);
  }
  return with_capitals(letters, blocks);
}

/// "nc16hw": a block that stands where its letter does, and not behind all letters.
std::string from_block_inside(const std::string& word) {
  const std::size_t first = word.find_first_of("0123456789");
  const std::size_t end = std::min(word.find_first_not_of("0123456789", first), word.size());
  if (first == std::string::npos || first == 0 || end == word.size()) return "";
  return with_capitals(word.substr(0, first) + word.substr(end), word.substr(first, end - first) + word[first - 1]);
}

/// Tags are oneDNN's notation, which has no name here.
constexpr std::string_view kTags = "tags";

/// The notations' names and those of the systems that they are named after, each with the notation's.
std::vector<std::pair<std::string_view, std::string_view>> names_of_notations() {
  std::vector<std::pair<std::string_view, std::string_view>> out = {
      {"strides", "strides"}, {"numpy", "strides"},         {"pytorch", "strides"}, {"directml", "dml"},
      {"cutlass", "cute"},    {"tensorflowlite", "tflite"}, {"onednn", kTags},      {"mkldnn", kTags}};
  for (const Notation& notation : all_notations()) out.emplace_back(notation.name, notation.name);
  return out;
}

/// The notation that a word begins with, by its name or one that is near; empty where there is none. Of a short name
/// that is misspelt, only what follows it tells it from a tag.
std::string_view notation_near(std::string_view head, bool alone) {
  const auto known = names_of_notations();
  std::vector<std::string_view> names;
  for (const auto& [name, notation] : known) {
    if (!alone || name.size() > 3 || name == head) names.push_back(name);
  }
  const std::string_view near = nearest_name(head, names);
  for (const auto& [name, notation] : known) {
    if (name == near) return notation;
  }
  return {};
}

std::string_view example_of(std::string_view name) {
  for (const Notation& notation : all_notations()) {
    if (notation.name == name) return notation.example;
  }
  return name == kTags ? "nChw16c" : "strides:15,1,5,1";
}

}  // namespace

std::string notation_meant(std::string_view word) {
  const std::size_t head_end = static_cast<std::size_t>(
      std::ranges::find_if_not(word, [](char ch) { return is_small(small_letter(ch)); }) - word.begin());
  std::string_view body = word.substr(head_end);
  std::vector<std::string> found;
  const auto add = [&](std::string_view name, std::string_view text) {
    std::string whole = std::string(name) + ":" + std::string(text);
    if (!text.empty() && found.size() < kMostNames && Format::is_expression(whole)) found.push_back(std::move(whole));
  };
  std::string_view name;
  if (head_end == 0) {
    if (word.size() > 2 && word.front() == '(' && word.back() == ')') add("strides", word.substr(1, word.size() - 2));
    add("strides", word);
    for (const Notation& notation : all_notations()) add(notation.name, word);
  } else if (const std::size_t extents = word.find('[');
             word.find(']') != std::string_view::npos && word.find_first_of(":({") > extents) {
    add("xla", word.substr(extents));  // HLO's f32[3,5]{1,0}
  } else {
    name = notation_near(small_letters(word.substr(0, head_end)), body.empty());
    if (body.starts_with(':')) body.remove_prefix(1);
    if (!name.empty() && name != kTags) add(name, body);
  }
  std::string out;
  for (const std::string& layout : found) out += (out.empty() ? "did you mean " : ", ") + layout;
  if (!out.empty()) return out + "?";
  return name.empty() ? "" : "such layouts are written as in " + std::string(example_of(name));
}

std::vector<std::string> names_meant(std::string_view word) {
  if (word.size() > kLongestName) return {};
  const std::string plain = compact(word);
  const auto is_notation = [&](const Notation& notation) { return notation.name == plain; };
  if (plain.empty() || std::ranges::any_of(all_notations(), is_notation)) return {};
  std::vector<std::string> out;
  const auto add = [&](const std::string& name) {
    if (name.empty() || name == word || std::ranges::find(out, name) != out.end() || !Format::is_expression(name))
      return;
    if (out.size() < kMostNames) out.push_back(name);
  };
  for (const std::string& name : known_names(false)) {
    if (compact(name) == plain) add(name);
  }
  if (!out.empty()) return out;
  for (const auto& [theirs, ours] : kOtherWords) {
    if (theirs == plain) add(std::string(ours));
  }
  if (std::ranges::find(kFirstFastest, plain) != std::end(kFirstFastest)) {
    for (const std::string_view reversed : kReversed) add(std::string(reversed));
  }
  add(from_filter_letters(plain));
  add(from_groups(plain));
  if (out.empty()) add(from_blocks(plain));
  if (out.empty()) add(from_block_inside(plain));
  for (const char* first : {"ld", "l"}) {
    if (plain.find('g') != std::string::npos && plain.find('o') != std::string::npos && is_recurrent(first + plain))
      add(first + plain);
  }
  for (const std::string& name : notation_names()) {
    if (compact(name.substr(name.find(':') + 1)) == plain) add(name);
  }
  return out;
}

namespace {

/// Words to compare a misspelt one with, in small letters, each with the layout that it means.
std::vector<std::pair<std::string, std::string>> words_with_layouts(bool image) {
  std::vector<std::pair<std::string, std::string>> out;
  for (std::string& text : known_names(image)) {
    std::string name = small_letters(text.substr(0, text.find('4')));  // an image's without its block
    out.emplace_back(std::move(name), std::move(text));
  }
  if (image) return out;
  for (const auto& [theirs, ours] : kOtherWords) out.emplace_back(theirs, ours);
  for (const std::string_view theirs : kFirstFastest) {
    for (const std::string_view ours : kReversed) {
      if (theirs.size() > 1) out.emplace_back(theirs, ours);
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> names_near(std::string_view word) {
  const std::string plain = small_letters(word.substr(0, word.find_first_of("0123456789")));
  if (plain.size() > kLongestName) return {};
  struct Near {
    std::size_t distance;
    bool other_letters;
    std::size_t prefix;
    std::string text;
  };
  std::vector<Near> near;
  for (auto& [name, text] : words_with_layouts(plain.find('|') != std::string::npos)) {
    const std::size_t d = edit_distance(plain, name);
    if (d > std::min<std::size_t>(3, name.size() / 2) || d >= plain.size()) continue;
    const auto prefix = static_cast<std::size_t>(std::ranges::mismatch(plain, name).in1 - plain.begin());
    near.push_back({d, !std::ranges::is_permutation(plain, name), prefix, std::move(text)});
  }
  std::ranges::stable_sort(near, [](const Near& a, const Near& b) {
    return std::tuple(a.distance, a.other_letters, b.prefix) < std::tuple(b.distance, b.other_letters, a.prefix);
  });
  std::vector<std::string> out;
  for (const Near& n : near) {
    if (n.distance > near[0].distance || n.other_letters != near[0].other_letters || out.size() == kMostNames) break;
    if (std::ranges::find(out, n.text) == out.end()) out.push_back(n.text);
  }
  return out;
}

}  // namespace relayout
