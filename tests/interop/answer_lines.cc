// Answers questions about layouts of PyTorch, NumPy and DLPack, one a line, for the scripts beside this file.
//
//     standard input     formats<tab>2,3<tab>3,1<tab>0       a question, then its arguments
//     standard output    100<tab>contiguous<tab>...          the answer, or "error<tab>code<tab>message"
//
// kQuestions lists all of them. Numbers are parted by commas, and "-" stands for a list that is not there.
#include "tests/support/answer_lines.h"

#include <algorithm>
#include <sstream>

#include "relayout/core/decide.h"
#include "relayout/interop/dlpack.h"
#include "relayout/interop/numpy.h"
#include "relayout/interop/pytorch.h"

namespace {

using namespace relayout;
using Words = std::vector<std::string>;
using pytorch::TensorMeta;

Words split(const std::string& text, char at) {
  Words out(1);
  for (char ch : text) {
    if (ch == at) {
      out.emplace_back();
    } else {
      out.back() += ch;
    }
  }
  return out;
}

std::optional<Dims> list_or_none(const std::string& text) {
  return text == "-" ? std::nullopt : std::optional(parse_dims(text));
}
std::string text_or_none(const std::optional<Dims>& list) { return list ? join(*list) : "-"; }

std::string tensor_text(const TensorMeta& meta, bool copies) {
  return join(meta.sizes) + "|" + join(meta.strides) + "|" + std::to_string(meta.storage_offset) + "|" +
         (copies ? "1" : "0");
}

/// One view of a tensor: "narrow:1,0,2", "as_strided:2,3/3,1/0". `storage` is how many elements the storage has.
pytorch::Result step_of(const TensorMeta& x, const std::string& step, int64_t& storage) {
  const std::size_t colon = step.find(':');
  const std::string view = step.substr(0, colon);
  std::vector<Dims> lists;
  for (const std::string& list : split(step.substr(colon + 1), '/')) lists.push_back(parse_dims(list));
  const Dims& a = lists[0];
  const auto number = [&](int k) { return static_cast<int>(a[k]); };
  std::vector<int> order(a.begin(), a.end());
  if (view == "reshape") return pytorch::reshape(x, a);
  if (view == "flatten") return pytorch::flatten(x, number(0), number(1));
  if (view == "contiguous") return pytorch::contiguous(x, static_cast<MemoryFormat>(a[0]));
  if (view == "clone") return {pytorch::preserve_format(x), true};
  const TensorMeta out = view == "view"        ? pytorch::view(x, a)
                         : view == "permute"   ? pytorch::permute(x, order)
                         : view == "transpose" ? pytorch::transpose(x, number(0), number(1))
                         : view == "narrow"    ? pytorch::narrow(x, number(0), a[1], a[2])
                         : view == "select"    ? pytorch::select(x, number(0), a[1])
                         : view == "expand"    ? pytorch::expand(x, a)
                         : view == "squeeze"   ? (a.empty() ? pytorch::squeeze(x) : pytorch::squeeze(x, number(0)))
                         : view == "unsqueeze" ? pytorch::unsqueeze(x, number(0))
                         : view == "unfold"    ? pytorch::unfold(x, number(0), a[1], a[2])
                         : view == "diagonal"  ? pytorch::diagonal(x, a[0], number(1), number(2))
                                               : pytorch::as_strided(x, a, lists[1], lists[2][0], storage);
  return {out, false};
}

/// views SIZES STRIDES OFFSET STORAGE STEP...: the tensor behind each step, up to the first that is refused.
std::string views(const Words& words) {
  TensorMeta x{parse_dims(words[1]), parse_dims(words[2]), parse_int(words[3], "offset")};
  int64_t storage = parse_int(words[4], "storage");
  std::string out;
  try {
    for (std::size_t k = 5; k < words.size(); ++k) {
      const pytorch::Result result = step_of(x, words[k], storage);
      x = result.meta;
      if (result.copies) storage = pytorch::from_pytorch(x).layout.span();
      out += tensor_text(x, result.copies) + "\t";
    }
  } catch (const Error& error) {
    out += test::refusal_line(error);
  }
  return out;
}

/// formats SIZES STRIDES OFFSET: is_contiguous in the three formats, the suggested one, contiguous() in each, clone().
std::string formats(const Words& words) {
  const TensorMeta x{parse_dims(words[1]), parse_dims(words[2]), parse_int(words[3], "offset")};
  constexpr MemoryFormat kAll[] = {MemoryFormat::contiguous, MemoryFormat::channels_last,
                                   MemoryFormat::channels_last_3d};
  std::string out;
  for (MemoryFormat format : kAll) out += pytorch::is_contiguous(x, format) ? "1" : "0";
  out += "\t" + std::string(name(pytorch::suggest_memory_format(x)));
  for (MemoryFormat format : kAll) {
    try {
      const auto result = pytorch::contiguous(x, format);
      out += "\t" + tensor_text(result.meta, result.copies);
    } catch (const Error& error) {
      out += "\t" + std::string(name(error.code()));
    }
  }
  return out + "\t" + tensor_text(pytorch::preserve_format(x), true);
}

/// code SYSTEM DTYPE DIMS STRIDES OFFSET: the line of Python.
std::string code(const Words& words) {
  const TensorDesc desc(Layout::strided(parse_dims(words[3]), parse_dims(words[4]), parse_int(words[5], "offset")),
                        parse_dtype(words[2]));
  return words[1] == "pytorch" ? pytorch::code(desc) : numpy::code(desc);
}

std::string array_text(const numpy::ArrayInterface& array) {
  return join(array.shape) + "\t" + text_or_none(array.strides) + "\t" + array.typestr + "\t" +
         std::to_string(array.byte_offset);
}

/// array SHAPE STRIDES TYPESTR NAME OFFSET: the same array back, its flags, its bounds, and code that makes it.
std::string array(const Words& words) {
  const numpy::ArrayInterface in{parse_dims(words[1]), list_or_none(words[2]), words[3], words[4],
                                 parse_int(words[5], "offset")};
  const TensorDesc desc = numpy::from_numpy(in);
  const auto [first, end] = numpy::byte_bounds(in);
  return array_text(numpy::to_numpy(desc)) + "\t" + (numpy::c_contiguous(in) ? "C" : "-") +
         (numpy::f_contiguous(in) ? "F" : "-") + "\t" + std::to_string(first) + "," + std::to_string(end) + "\t" +
         numpy::code(desc);
}

/// buffer FORMAT ITEMSIZE NDIM LEN SHAPE STRIDES OFFSET: the array that it is, and the buffer back.
std::string buffer(const Words& words) {
  const numpy::BufferInfo in{.format = words[1],
                             .itemsize = parse_int(words[2], "itemsize"),
                             .ndim = parse_int(words[3], "ndim"),
                             .len = parse_int(words[4], "len"),
                             .shape = parse_dims(words[5]),
                             .strides = list_or_none(words[6])};
  const TensorDesc desc = numpy::from_buffer(in, parse_int(words[7], "offset"));
  const numpy::BufferInfo back = numpy::to_buffer(desc);
  return array_text(numpy::to_numpy(desc)) + "\t" + back.format + "\t" + std::to_string(back.itemsize) + "\t" +
         std::to_string(back.len) + "\t" + text_or_none(back.strides);
}

/// reshape DIMS STRIDES OFFSET WANTED: the view's strides, or that a copy is needed.
std::string reshape(const Words& words) {
  const Layout layout = Layout::strided(parse_dims(words[1]), parse_dims(words[2]), parse_int(words[3], "offset"));
  const Viewable answer = viewable(layout, parse_dims(words[4]));
  return answer.view ? "view\t" + join(answer.view->outer_strides()) : "copy\t" + answer.axes;
}

/// overlap DIMS STRIDES OFFSET DIMS STRIDES OFFSET: the answer, and two indices that share an offset.
std::string overlaps(const Words& words) {
  const auto layout = [&](std::size_t at) {
    return Layout::strided(parse_dims(words[at]), parse_dims(words[at + 1]), parse_int(words[at + 2], "offset"));
  };
  const Overlap answer = overlap(layout(1), layout(4));
  if (answer.answer != Answer::yes) return answer.answer == Answer::no ? "no" : "undecided";
  return "yes\t" + join(answer.index_a) + "\t" + join(answer.index_b) + "\t" + std::to_string(answer.offset);
}

/// dlpack SHAPE STRIDES CODE,BITS,LANES OFFSET: type, layout, and where its offset 0 lies in bytes.
std::string shared(const Words& words) {
  Dims shape = parse_dims(words[1]);
  std::optional<Dims> strides = list_or_none(words[2]);
  const Dims type = parse_dims(words[3]);
  const dlpack::DLTensor tensor{
      nullptr,
      {dlpack::kDLCPU, 0},
      shape.size(),
      {static_cast<uint8_t>(type[0]), static_cast<uint8_t>(type[1]), static_cast<uint16_t>(type[2])},
      shape.begin(),
      strides ? strides->begin() : nullptr,
      static_cast<uint64_t>(parse_int(words[4], "offset"))};
  const dlpack::View view = dlpack::from_dlpack(tensor);
  const Layout& layout = view.desc.layout;
  return std::string(name(view.desc.dtype)) + "\t" + join(layout.dims()) + "\t" + join(layout.outer_strides()) + "\t" +
         std::to_string(layout.offset0()) + "\t" + std::to_string(view.byte_offset);
}

struct Question {
  std::string_view name;
  std::size_t least_words;
  std::string (*answer)(const Words&);
};
constexpr Question kQuestions[] = {{"views", 5, views},      {"formats", 4, formats}, {"code", 6, code},
                                   {"array", 6, array},      {"buffer", 8, buffer},   {"reshape", 5, reshape},
                                   {"overlap", 7, overlaps}, {"dlpack", 5, shared}};

std::string answer_of(const std::string& line) {
  const Words words = split(line, '\t');
  const auto* question = std::ranges::find(kQuestions, words[0], &Question::name);
  if (question == std::end(kQuestions) || words.size() < question->least_words) return "error\tparse\tno question";
  try {
    return question->answer(words);
  } catch (const Error& error) {
    return test::refusal_line(error);
  }
}

}  // namespace

int main() { return test::answer_lines(answer_of); }
