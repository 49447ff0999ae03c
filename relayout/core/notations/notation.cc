// The list of notations, and the text that they read.
#include "relayout/core/notations/notation.h"

#include <charconv>

namespace relayout {
namespace {

constexpr Notation kNotations[] = {
    {"digits", read_digits, "digits:(5,4)|(4,1)"},
    {"dml", read_directml, "dml:{2,3},{5,1}"},
    {"mace", read_mace, "mace:in_out_channel"},
    {"cute", read_cute, "cute:((8,3),4):((1,32),8)"},
    {"xla", read_xla, "xla:{1,0:T(8,128)}"},
    {"tvm", read_tvm, "tvm:NCHW16c"},
    {"cudnn", read_cudnn, "cudnn:NC/32HW32"},
    {"mnn", read_mnn, "mnn:NC4HW4"},
    {"ncnn", read_ncnn, "ncnn:NC4HW4"},
    {"tnn", read_tnn, "tnn:NHC4W4"},
    {"tflite", read_tflite, "tflite:BHWC"},
    {"acl", read_acl, "acl:OHWIo4"},
    {"scales", read_scales, "scales:128x4"},
};

}  // namespace

std::span<const Notation> all_notations() { return kNotations; }

const Notation* notation_of(std::string_view text) {
  const std::string_view word = text.substr(0, std::min(text.find(':'), text.size()));
  if (word.size() == text.size()) return nullptr;
  for (const Notation& notation : kNotations) {
    if (notation.name == word) return &notation;
  }
  return nullptr;
}

bool NotationText::take(char ch) {
  if (peek() != ch || done()) return false;
  ++at_;
  return true;
}

bool NotationText::take(std::string_view word) {
  if (!rest().starts_with(word)) return false;
  at_ += word.size();
  return true;
}

void NotationText::expect(char ch) {
  if (!take(ch)) fail(std::string("expected '") + ch + "'");
}

int64_t NotationText::number(const std::string& what) {
  int64_t value = 0;
  const std::string_view digits = rest();
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status == std::errc::result_out_of_range) fail("the " + what + " does not fit 64 bits");
  if (status != std::errc()) fail("expected a number: " + what);
  at_ += static_cast<std::size_t>(end - digits.data());
  return value;
}

int64_t NotationText::number(const std::string& what, int64_t least) {
  const std::size_t from = at_;
  const int64_t value = number(what);
  if (value < least) fail(from, "the " + what + " is " + std::to_string(least) + " or more");
  return value;
}

std::string_view NotationText::letters() {
  const std::size_t from = at_;
  while ((peek() >= 'a' && peek() <= 'z') || (peek() >= 'A' && peek() <= 'Z')) ++at_;
  return text_.substr(from, at_ - from);
}

std::string_view NotationText::all() {
  const std::string_view out = rest();
  at_ = text_.size();
  return out;
}

void NotationText::fail(std::size_t at, const std::string& why) const {
  fail_at_(at, why);
  throw Error(ErrorCode::internal, "layout: an error was not thrown", "notation", why, "");
}

}  // namespace relayout
