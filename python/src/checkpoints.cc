// Checkpoints: what relayout/checkpoint.py makes its mapping of names to arrays of. Nothing is copied where a file is
// mapped.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <functional>

#include "python/src/arrays.h"
#include "python/src/buffer.h"
#include "python/src/watch.h"
#include "relayout/checkpoint/checkpoint.h"
#include "relayout/checkpoint/convert.h"
#include "relayout/checkpoint/which/which.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

using checkpoint::Checkpoint;
using checkpoint::CheckpointFile;
using checkpoint::CheckpointTensor;

/// A text of a file, which need not be UTF-8.
nb::object file_text(std::string_view bytes) {
  PyObject* out = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
  if (out == nullptr) throw nb::python_error();
  return nb::steal(out);
}
nb::object text_or_none(std::string_view text) { return text.empty() ? nb::none() : file_text(text); }

/// What relayout.Tensor is made with, and what only checkpoints say.
nb::dict said_of(const CheckpointTensor& tensor) {
  nb::dict out;
  out["name"] = file_text(tensor.name);
  out["dtype"] = tensor.dtype ? nb::object(nb::str(std::string(name(*tensor.dtype)).c_str())) : nb::none();
  out["byte_size"] = tensor.byte_size;
  out["item_bits"] = tensor.item_bits;
  out["shape"] = tuple_of(tensor.shape);
  out["strides"] = tuple_of(tensor.strides);
  out["row_major"] = tensor.problem || tensor.row_major();
  out["fortran_order"] = false;
  out["byte_swapped"] = tensor.byte_swapped;
  out["layout"] = tensor.layout ? nb::object(nb::str(tensor.layout->text().c_str())) : nb::none();
  out["dims"] = tensor.dims ? nb::object(tuple_of(*tensor.dims)) : nb::none();
  out["type_name"] = file_text(tensor.type_name);
  out["dtype_assumed"] = tensor.dtype_assumed;
  out["problem"] = tensor.problem ? file_text(tensor.problem->message()) : nb::none();
  out["packed"] = text_or_none(tensor.notes.packed);
  out["packed_dims"] = tensor.notes.packed.empty() ? nb::none() : nb::object(tuple_of(tensor.notes.packed_dims));
  out["from_layout"] = text_or_none(tensor.notes.from);
  out["saved_strides"] = tensor.notes.strides ? nb::object(tuple_of(*tensor.notes.strides)) : nb::none();
  out["file"] = tensor.file;
  return out;
}

/// The bytes of one tensor, which live as long as the Buffer.
Buffer contents_of(const Checkpoint& model, std::size_t index, nb::handle progress) {
  struct Kept {
    Checkpoint model;
    checkpoint::Contents contents;
  };
  auto kept = std::make_shared<Kept>(Kept{model, {}});
  kept->contents = watched(progress, [&](const GoOn& go_on) { return model.contents(index, go_on); });
  const std::span<const std::byte> bytes = kept->contents.bytes;
  // The pages are read-only; nothing writes to what is marked so.
  return Buffer({Layout::contiguous({static_cast<int64_t>(bytes.size())}), DType::u8},
                const_cast<std::byte*>(bytes.data()), true, std::move(kept));
}

/// Keys, and values as JSON or, of texts, as they are: (key, value, whether it is a text).
nb::list metadata_of(const Checkpoint& model) {
  nb::list out;
  for (const auto& [key, value] : model.metadata()) {
    const bool text = value.type() == checkpoint::ValueType::text;
    out.append(nb::make_tuple(file_text(key), file_text(text ? value.text() : value.json()), text));
  }
  return out;
}

nb::list texts_of(const std::vector<std::string>& texts) {
  nb::list out;
  for (const std::string& text : texts) out.append(file_text(text));
  return out;
}

/// What opens a checkpoint without the GIL: of a path, or one that is open already.
std::function<Checkpoint()> opener_of(nb::handle model) {
  if (nb::isinstance<Checkpoint>(model)) return [open = nb::cast<Checkpoint>(model)] { return open; };
  return [path = path_of(model)] { return Checkpoint::open(path); };
}

/// Converts a checkpoint; (tensors as (name, state), notes, files, resumed).
nb::tuple convert_checkpoint(nb::handle src, nb::handle dst, const std::string& rules_text,
                             const std::vector<std::string>& maps, bool invert, bool strict, bool record, bool dry_run,
                             bool overwrite, int64_t shard_bytes, int64_t max_memory, int threads, bool verify,
                             nb::handle progress) {
  const std::string to = path_of(dst);
  const auto open = opener_of(src);
  checkpoint::Conversion plan;
  checkpoint::Converted done;
  std::vector<std::string> notes;
  watched(progress, [&](const GoOn& go_on) {
    const checkpoint::Rules rules = checkpoint::Rules::given(maps, rules_text, invert);
    const Checkpoint model = open();
    plan = checkpoint::plan_conversion(model, rules, {.strict = strict, .record = record});
    notes = checkpoint::notes_of(model, rules, plan);
    const checkpoint::ConvertOptions options{.threads = threads,
                                             .max_memory = max_memory,
                                             .overwrite = overwrite,
                                             .shard_bytes = shard_bytes,
                                             .verify = verify,
                                             .go_on = go_on};
    if (dry_run) {
      done.notes = checkpoint::check_convert(model, plan, to, options);
    } else {
      done = checkpoint::convert(model, plan, to, options);
    }
    notes.insert(notes.end(), done.notes.begin(), done.notes.end());
  });
  nb::list tensors, files;
  for (const checkpoint::Target& target : plan.targets)
    tensors.append(nb::make_tuple(file_text(target.spec.name), file_text(checkpoint::name(target.state))));
  for (const auto& path : done.paths) files.append(file_text(path.native()));
  return nb::make_tuple(tensors, texts_of(notes), files, done.resumed);
}

/// What differs between two checkpoints: (name, difference, elements that differ, most).
nb::list compare_checkpoints(nb::handle a, nb::handle b, const std::string& rules_text,
                             const std::vector<std::string>& maps, bool invert, int64_t max_memory, int threads,
                             nb::handle progress) {
  const auto left = opener_of(a), right = opener_of(b);
  const auto all = watched(progress, [&](const GoOn& go_on) {
    const checkpoint::Rules rules = checkpoint::Rules::given(maps, rules_text, invert);
    const Checkpoint model = left(), other = right();
    return checkpoint::compare(model, checkpoint::plan_conversion(model, rules), other,
                               {.threads = threads, .max_memory = max_memory, .go_on = go_on});
  });
  nb::list out;
  for (const checkpoint::Comparison& one : all) {
    if (one.difference.empty()) continue;
    out.append(nb::make_tuple(file_text(one.name), file_text(one.difference), one.differ, one.most));
  }
  return out;
}

/// Findings as (name, certainty, layouts, evidence as (kind, text, layouts)).
nb::list which_layouts(nb::handle path, nb::handle against, nb::handle progress) {
  const auto open = opener_of(path), other = against.is_none() ? open : opener_of(against);
  const bool alone = against.is_none();
  const std::vector<checkpoint::Finding> all = watched(progress, [&](const GoOn& go_on) {
    return alone ? checkpoint::which(open(), go_on) : checkpoint::which(open(), other(), go_on);
  });
  nb::list out;
  for (const checkpoint::Finding& finding : all) {
    nb::list evidence;
    for (const checkpoint::Evidence& one : finding.evidence)
      evidence.append(nb::make_tuple(one.kind, file_text(one.text), texts_of(one.layouts)));
    out.append(nb::make_tuple(file_text(finding.name), std::string(checkpoint::name(finding.certainty)),
                              texts_of(finding.layouts), evidence));
  }
  return out;
}

}  // namespace

void bind_checkpoints(nb::module_& module) {
  nb::class_<Checkpoint>(module, "Checkpoint", "An open checkpoint; made by relayout.checkpoint.open().")
      .def(nb::new_([](nb::handle path) {
             const std::string place = path_of(path);
             return watched(nb::handle(), [&](const GoOn&) { return Checkpoint::open(place); });
           }),
           nb::arg("path"))
      .def("tensors",
           [](const Checkpoint& model) {
             nb::list out;
             for (const CheckpointTensor& tensor : model.tensors()) out.append(said_of(tensor));
             return out;
           })
      .def("files",
           [](const Checkpoint& model) {
             nb::list out;
             for (const CheckpointFile& file : model.files())
               out.append(nb::make_tuple(file_text(file.path.native()), std::string(name(file.kind)),
                                         file.problem ? file_text(file.problem->message()) : nb::none()));
             return out;
           })
      .def("metadata", &metadata_of)
      .def(
          "find", [](const Checkpoint& model, std::string_view name) { return model.find(name); }, nb::arg("name"))
      .def("bytes", &contents_of, nb::arg("index"), nb::arg("progress") = nb::none());
  module.def("convert_checkpoint", &convert_checkpoint, nb::arg("src"), nb::arg("dst"), nb::arg("rules"),
             nb::arg("maps"), nb::arg("invert"), nb::arg("strict"), nb::arg("record"), nb::arg("dry_run"),
             nb::arg("overwrite"), nb::arg("shard_bytes"), nb::arg("max_memory"), nb::arg("threads"), nb::arg("verify"),
             nb::arg("progress").none());
  module.def("which_layouts", &which_layouts, nb::arg("path"), nb::arg("against").none(), nb::arg("progress").none());
  module.def("compare_checkpoints", &compare_checkpoints, nb::arg("a"), nb::arg("b"), nb::arg("rules"), nb::arg("maps"),
             nb::arg("invert"), nb::arg("max_memory"), nb::arg("threads"), nb::arg("progress").none());
}

}  // namespace relayout::python
