// Index tables out of files: a list of indices or blocks, the starts of ragged rows, or the columns of sparse rows.
#include "tools/input/index_tables.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string_view>

#include "relayout/cpu/attribute_values.h"
#include "tools/command/common.h"
#include "tools/input/tensor_input.h"

namespace relayout::tools {
namespace {

/// One --index.
class IndexArgument {
 public:
  IndexArgument(const std::string& text, const std::string& flag) : text_(text), flag_(flag) {
    std::string_view rest = text;
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos) refuse("it is DIM=FILE, such as 0=pages.npy,block=16");
    dim_ = rest.substr(0, equals);
    rest.remove_prefix(equals + 1);
    const std::size_t end = std::min(rest.find(','), rest.size());
    file_ = rest.substr(0, end);
    rest.remove_prefix(end);
    while (!rest.empty()) {
      rest.remove_prefix(1);
      const std::string_view word = rest.substr(0, rest.find(','));
      rest.remove_prefix(word.size());
      take(word);
    }
    if (columns_.has_value() != starts_.has_value()) refuse("starts=FILE and columns=N belong together");
    if ((block_ ? 1 : 0) + (longest_ ? 1 : 0) + (starts_ ? 1 : 0) > 1)
      refuse("block, longest, and starts with columns are three kinds of tables; give one");
  }

  IndexTable table(const Format& format, int ndims) const {
    const int dim = dim_of(format, ndims);
    const std::vector<int64_t> list = read(file_), starts = starts_ ? read(*starts_) : std::vector<int64_t>();
    try {
      if (longest_) return IndexTable::ragged(dim, list, *longest_);
      if (starts_) return IndexTable::sparse_rows(dim, starts, list, *columns_);
      return IndexTable(dim, list, block_.value_or(1));
    } catch (const Error& error) {
      throw Failure(exit_code(error, kUsage),
                    Error(error.code(), fmt::format("{} {}: {}", flag_, escaped(text_), error.message()), flag_,
                          error.value(), error.limit()));
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    usage_error(fmt::format("{} {}: {}", flag_, escaped(text_), what), flag_, escaped(text_));
  }

  void take(std::string_view word) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals), value = word.substr(std::min(equals + 1, word.size()));
    const auto number = [&] { return from_command_line([&] { return parse_int(value, flag_); }); };
    if (name == "block")
      block_ = number();
    else if (name == "longest")
      longest_ = number();
    else if (name == "columns")
      columns_ = number();
    else if (name == "starts")
      starts_ = value;
    else
      refuse(fmt::format("{}: behind the file are block=N, longest=N, or starts=FILE and columns=N",
                         escaped(std::string(word))));
  }

  int dim_of(const Format& format, int ndims) const {
    const std::size_t named = dim_.size() == 1 ? format.dim_names(ndims).find(dim_) : std::string::npos;
    if (named != std::string::npos) return static_cast<int>(named);
    if (!dim_.empty() && dim_.find_first_not_of("0123456789") == std::string::npos) {
      const int64_t number = from_command_line([&] { return parse_int(dim_, flag_); });
      if (number < ndims) return static_cast<int>(number);
    }
    refuse(fmt::format("no such dim; the dims are {}, or 0 to {}", format.dim_names(ndims), ndims - 1));
  }

  /// FILE, or FILE:NAME of a tensor of a file with names.
  std::vector<int64_t> read(const std::string& file) const {
    std::error_code ignored;
    const std::size_t colon = file.rfind(':');
    const bool named = colon != std::string::npos && !std::filesystem::exists(file, ignored);
    const TensorInput input = open_tensor(
        {.path = named ? file.substr(0, colon) : file, .tensor = named ? file.substr(colon + 1) : std::string()});
    std::vector<std::byte> bytes(input.bytes.begin(), input.bytes.end());
    if (input.swap_item_bytes > 1) swap_bytes(bytes, input.swap_item_bytes);
    return from_command_line(
        [&] { return cpu::indices_of_tensor(input.desc, std::span(bytes), flag_ + " " + escaped(file)); });
  }

  const std::string &text_, &flag_;
  std::string dim_, file_;
  std::optional<int64_t> block_, longest_, columns_;
  std::optional<std::string> starts_;
};

}  // namespace

void add_index_options(Command& command, IndexTableOptions& options) {
  command
      .add_option(
          "--index", options.from,
          "Gather: DIM=FILE reads index i of a dim at index FILE[i] of the input; may be given for several dims. "
          "With ,block=N an entry stands for N indices (the pages of a cache); with ,longest=N the file has the "
          "starts of ragged rows, which lie N apart in the input; with ,starts=FILE,columns=N it has the "
          "columns of sparse rows. -1 stands for padding")
      .one_value_each();
  command
      .add_option("--index-to", options.to,
                  "Scatter: the same for the output, whose extents --to-dims gives; what no entry names is 0")
      .one_value_each();
}

std::vector<IndexTable> index_tables(const std::vector<std::string>& given, const std::string& flag,
                                     const Format& format, int ndims) {
  std::vector<IndexTable> out;
  for (const std::string& text : given) out.push_back(IndexArgument(text, flag).table(format, ndims));
  return out;
}

}  // namespace relayout::tools
