// relayout redistribute: an array that may be larger than memory in another order of axes and in other chunks. Files go
// as `relayout convert --max-memory` does it; zarr, HDF5 and clusters of Dask need packages of Python, and go by
// relayout.redistribute.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "relayout/interop/files/tensor_file.h"
#include "tools/command/common.h"
#include "tools/converting/python_program.h"

namespace relayout::tools {
namespace {

struct RedistributeOptions {
  std::string input, output;
  std::optional<std::string> from, to, order, dims, dtype;  // what convert takes, and the order
  std::optional<std::string> chunks, shards, workers, dask, scratch, journal, missing;  // of arrays in chunks
  std::optional<std::string> max_memory;
  bool rewrite = false, restart = false, verify = false, dry_run = false, force = false;
};

using Words = std::vector<std::string>;

void add_words(Words& out, const std::string& flag, const std::optional<std::string>& value) {
  if (value) out.insert(out.end(), {flag, *value});
}

void add_words(Words& out, const std::string& flag, bool given) {
  if (given) out.push_back(flag);
}

/// The flags that only arrays in chunks have, as they are given.
Words chunk_flags(const RedistributeOptions& o) {
  Words out;
  add_words(out, "--chunks", o.chunks);
  add_words(out, "--shards", o.shards);
  add_words(out, "--workers", o.workers);
  add_words(out, "--dask", o.dask);
  add_words(out, "--scratch", o.scratch);
  add_words(out, "--journal", o.journal);
  add_words(out, "--missing", o.missing);
  add_words(out, "--rewrite", o.rewrite);
  add_words(out, "--restart", o.restart);
  return out;
}

/// Whether a path is a file that the library reads by itself; a URL is none.
bool is_plain_file(const std::string& path) {
  return path.find("://") == std::string::npos && path.find("::") == std::string::npos && format_of_path(path);
}

/// Letters a, b, ... of as many axes.
std::string first_letters(std::size_t count) { return std::string("abcdefghijkl").substr(0, count); }

/// The axes that a plain tag names, each once. Failure (usage) for what is no order of axes.
std::string axes_of(const std::string& tag, const char* flag) {
  std::string sorted = tag;
  std::ranges::sort(sorted);
  const bool letters = std::ranges::all_of(tag, [](char ch) { return ch >= 'a' && ch <= 'z'; });
  if (!letters || tag.empty() || std::ranges::adjacent_find(sorted) != sorted.end())
    usage_error(fmt::format("{} {}: an array in chunks has an order of axes, such as bac, and no other layout", flag,
                            escaped(tag)),
                flag, escaped(tag), "each axis once, as a letter");
  return tag;
}

/// The axes of --order, each of the input's once. Failure (usage) for others.
Dims order_argument(const std::string& text) {
  const Dims order = dims_argument(text, "--order");
  std::vector<int64_t> sorted(order.begin(), order.end());
  std::ranges::sort(sorted);
  bool each_once = !sorted.empty();
  for (std::size_t axis = 0; axis < sorted.size(); ++axis)
    each_once = each_once && sorted[axis] == static_cast<int64_t>(axis);
  if (!each_once)
    usage_error(
        fmt::format("--order \"{}\": it has each of the input's axes once, from 0 on, such as 2,0,1", escaped(text)),
        "--order", escaped(text));
  return order;
}

/// --from and --to as an order of the input's axes: "2,0,1".
std::optional<std::string> order_of(const RedistributeOptions& o) {
  if (!o.to) {
    if (o.from) usage_error("--from says the axes of the input, and --to those of the output: give it too", "--to");
    if (o.order) (void)order_argument(*o.order);
    return o.order;
  }
  const std::string to = axes_of(*o.to, "--to");
  const std::string from = o.from ? axes_of(*o.from, "--from") : first_letters(to.size());
  std::string out;
  for (const char axis : to) {
    const std::size_t at = from.find(axis);
    if (at == std::string::npos || from.size() != to.size())
      usage_error(fmt::format("--to {}: its axes are not those of {} {}", to, o.from ? "--from" : "an array,", from),
                  "--to", to, from);
    out += (out.empty() ? "" : ",") + std::to_string(at);
  }
  return out;
}

bool names_layout(const std::string& text) {
  try {
    (void)Format::parse(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Runs a verb as if its words stood on the command line.
int run_verb(Verb (*add)(CommandLine&), Words words) {
  words.insert(words.begin(), "relayout");
  CommandLine line("", "relayout", "", "");
  const Verb verb = add(line);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  const Parsed parsed = line.parse(static_cast<int>(argv.size()), argv.data());
  if (parsed.error) throw Failure(kUsage, *parsed.error);
  return verb.run();
}

int convert_files(const RedistributeOptions& o, bool json) {
  if (const Words flags = chunk_flags(o); !flags.empty())
    usage_error(fmt::format("{} is for arrays in chunks, and {} and {} are files", flags[0], escaped(o.input),
                            escaped(o.output)),
                flags[0]);
  if (json && o.verify) usage_error("--verify: what it finds is no JSON; relayout compare --json is", "--verify");
  std::optional<std::string> from = o.from, to = o.to;
  std::optional<std::string> said = o.order;
  // Letters that no layout has, as t, y and x, are names of axes.
  if (from && to && (!names_layout(*from) || !names_layout(*to))) {
    said = order_of(o);
    from.reset();
  }
  if (said) {
    const Dims order = order_argument(*said);
    const std::string letters = from ? axes_of(*from, "--from") : first_letters(static_cast<std::size_t>(order.size()));
    std::string tag;
    for (const int64_t axis : order) {
      if (static_cast<std::size_t>(order.size()) != letters.size())
        usage_error(fmt::format("--order {}: --from {} has another number of axes", escaped(*said), letters), "--order",
                    escaped(*said));
      tag += letters[static_cast<std::size_t>(axis)];
    }
    from = letters;
    to = tag;
  }
  if (!to) usage_error("--to or --order is needed: the layout of the output, or the order of its axes", "--to");
  Words words{"convert", o.input, o.output, "--to", *to, "--max-memory", o.max_memory.value_or("256M")};
  add_words(words, "--from", from);
  add_words(words, "--dims", o.dims);
  add_words(words, "--dtype", o.dtype);
  add_words(words, "--dry-run", o.dry_run);
  add_words(words, "--force", o.force);
  add_words(words, "--json", json);
  const int done = run_verb(add_convert, std::move(words));
  if (done != kOk || !o.verify || o.dry_run) return done;
  Words compared{"compare", o.input, o.output, "--from-b", *to, "--max-memory", o.max_memory.value_or("256M")};
  add_words(compared, "--from-a", from);
  add_words(compared, "--dims", o.dims);
  add_words(compared, "--dtype-a", o.dtype);
  if (format_of_path(o.output) == FileFormat::raw) add_words(compared, "--dtype-b", o.dtype);
  return run_verb(add_compare, std::move(compared));
}

int run_redistribute(const RedistributeOptions& o, bool json) {
  if (is_plain_file(o.input) && is_plain_file(o.output) && !o.dask) return convert_files(o, json);
  for (const auto& [flag, given] : {std::pair("--dims", o.dims.has_value()), std::pair("--dtype", o.dtype.has_value()),
                                    std::pair("--force", o.force)}) {
    if (given)
      usage_error(
          fmt::format("{} goes with files alone: an array in chunks knows its dims and its type, and an output that "
                      "exists is never replaced",
                      flag),
          flag);
  }
  Words words{o.input, o.output};
  add_words(words, "--order", order_of(o));
  add_words(words, "--max-memory", o.max_memory);
  for (std::string& word : chunk_flags(o)) words.push_back(std::move(word));
  add_words(words, "--verify", o.verify);
  add_words(words, "--dry-run", o.dry_run);
  add_words(words, "--json", json);
  become_python("relayout.redistribute.__main__", words);
}

}  // namespace

Verb add_redistribute(CommandLine& line) {
  auto [command, json] = add_verb(
      line, "redistribute", "Bring an array larger than memory into other chunks and another order of axes",
      "  relayout redistribute big.npy turned.npy --order 2,0,1 --max-memory 1G\n"
      "  relayout redistribute field.zarr series.zarr --order 2,1,0 --chunks 16,12,48 --dry-run\n"
      "  relayout redistribute field.zarr file.h5::field --from tyx --to yxt --verify\n"
      "  relayout redistribute s3://bucket/field.zarr out.zarr --chunks 64,64,64 --dask tcp://scheduler:8786\n"
      "IN and OUT are files that relayout convert takes, or arrays in chunks: of zarr (a folder or a URL), or\n"
      "file.h5::dataset. These, and clusters, are moved by the Python package relayout with the packages zarr, h5py\n"
      "and distributed; RELAYOUT_PYTHON names the Python that has them, otherwise it is python3.\n"
      "An array in chunks is found by readers once it is whole; the same command goes on where one was killed.");
  auto options = std::make_shared<RedistributeOptions>();
  command.add_option("IN", options->input, "A file, an array of zarr, or file.h5::dataset").required();
  command.add_option("OUT", options->output, "What is made").required();
  command.add_option("--to", options->to, "Layout of the output; of arrays in chunks the order of axes, such as yxt");
  command.add_option("--order", options->order, "The input's axes as the output has them, for example 2,0,1")
      .excludes("--to");
  command.add_option("--from", options->from, "Layout of the input; of arrays in chunks the letters of its axes");
  command.add_option("--chunks", options->chunks,
                     "Chunks of the output, for example 512,64,64; else those of the input");
  command.add_option("--shards", options->shards, "Shards of the output, of zarr alone");
  command.add_option("--max-memory", options->max_memory,
                     "Memory of all tasks at a time, or with --dask of one; 256M unless given");
  command.add_option("--workers", options->workers, "Tasks at a time, of arrays in chunks; 1 unless given");
  command.add_option("--dask", options->dask, "Run on the cluster whose scheduler has this address");
  command.add_option("--scratch", options->scratch, "A folder or URL for an intermediate store; beside OUT by default");
  command.add_option("--journal", options->journal,
                     "A folder of this machine for the journal of an output at a URL, by which a killed run goes on");
  command.add_option("--missing", options->missing, "What a chunk is that is not there; error unless given")
      .one_of({"error", "fill"});
  command.add_flag("--rewrite", options->rewrite, "Move the elements even where metadata could say the order");
  command.add_flag("--restart", options->restart, "Drop what a run did that ended early");
  command.add_flag("--verify", options->verify, "Read both sides again and compare them");
  command.add_flag("--dry-run", options->dry_run, "Print passes, tasks, bytes and memory, and write nothing");
  command.add_option("--dims", options->dims, "Logical extents, of a file whose shape does not determine them");
  command.add_option("--dtype", options->dtype, "Element type, of a file that does not record it");
  command.add_flag("-f,--force", options->force, "Replace an output file that exists");
  return {command, [options, json = json] { return run_redistribute(*options, *json); }, json};
}

}  // namespace relayout::tools
