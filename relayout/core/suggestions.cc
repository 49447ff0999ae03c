// What a word that is no tag may mean: another spelling of a name, a name of another system, or a name a few letters
// away.
//
//     channels-last    channels_last        capitals, hyphens and the like aside, it is this word
//     KCRS             oihw, cudnn:KCRS     filters in cuDNN's letters; a name of a notation without its colon
//     NC/4HW4          nChw4c, ...          a number behind the channels, and again at the end
//     nchw16c, NCHWc   nChw16c              a letter with a block is a capital, and a block has a number
//     igo, dgoi        ldigo, ldgoi         weights of one layer, or of one layer and direction
//     nhcw             nhwc, nchw           letters exchanged, added or left out
#include <algorithm>
#include <tuple>

#include "relayout/core/format.h"
#include "relayout/core/letters.h"
#include "relayout/core/nearest.h"
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
  static constexpr std::string_view kWords[] = {"contiguous", "channels_last", "channels_last_3d",
                                                "strides:",   "undef",         "any"};
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
    {"channelsfirst", "contiguous"}, {"rowmajor", "contiguous"}, {"ccontiguous", "contiguous"},
    {"nc1hwc0", "nChw16c"},          {"ndc1hwc0", "nCdhw16c"},   {"nchwvectc", "cudnn:NC/4HW4"},
    {"fractalnz", "BA16a16b"},
};

bool is_layout(const std::string& text) {
  try {
    Format::parse(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Weights or biases of recurrent networks, which begin with layers and directions. A letter stands once, which is
/// looked at first: the error of a text that is no layout asks for suggestions itself, and would add letters to it for
/// ever.
bool is_recurrent(const std::string& text) {
  for (const char letter : text) {
    if (std::ranges::count(text, letter) > 1) return false;
  }
  return is_layout(text) && Format::parse(text).dim_names(static_cast<int>(text.size())).starts_with("ld");
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

}  // namespace

std::vector<std::string> names_meant(std::string_view word) {
  if (word.size() > kLongestName) return {};
  const std::string plain = compact(word);
  if (plain.empty()) return {};
  std::vector<std::string> out;
  const auto add = [&](const std::string& name) {
    if (name.empty() || name == word || std::ranges::find(out, name) != out.end() || !is_layout(name)) return;
    if (out.size() < kMostNames) out.push_back(name);
  };
  for (const std::string& name : known_names(false)) {
    if (compact(name) == plain) add(name);
  }
  if (!out.empty()) return out;
  for (const auto& [theirs, ours] : kOtherWords) {
    if (theirs == plain) add(std::string(ours));
  }
  add(from_filter_letters(plain));
  add(from_groups(plain));
  if (out.empty()) add(from_blocks(plain));
  for (const char* first : {"ld", "l"}) {
    if (plain.find('g') != std::string::npos && plain.find('o') != std::string::npos && is_recurrent(first + plain))
      add(first + plain);
  }
  for (const std::string& name : notation_names()) {
    if (compact(name.substr(name.find(':') + 1)) == plain) add(name);
  }
  return out;
}

std::vector<std::string> names_near(std::string_view word) {
  const std::string plain = small_letters(word.substr(0, word.find_first_of("0123456789")));
  if (plain.size() > kLongestName) return {};
  std::vector<std::string> known = known_names(plain.find('|') != std::string::npos);
  struct Near {
    std::size_t distance;
    bool other_letters;
    std::size_t prefix;
    std::string text;
  };
  std::vector<Near> near;
  for (std::string& text : known) {
    const std::string name = small_letters(text.substr(0, text.find('4')));  // an image's without its block
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
    out.push_back(n.text);
  }
  return out;
}

}  // namespace relayout
