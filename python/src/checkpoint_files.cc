// Checkpoints that Python makes: of arrays, written by CheckpointWriter, and of files that only a package of Python
// reads (relayout/_hdf5.py), whose tensors lie in the file or are read by a function of Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <tuple>

#include "python/src/arrays.h"
#include "python/src/copies.h"
#include "python/src/watch.h"
#include "relayout/checkpoint/checkpoint.h"
#include "relayout/checkpoint/writer.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

using checkpoint::Checkpoint;
using checkpoint::CheckpointTensor;
using checkpoint::CheckpointWriter;
using checkpoint::MetadataEntry;
using checkpoint::MetadataValue;

std::vector<MetadataEntry> entries_of(const std::vector<std::pair<std::string, std::string>>& texts) {
  std::vector<MetadataEntry> out;
  for (const auto& [key, value] : texts) out.push_back({key, MetadataValue::of(value)});
  return out;
}

/// A function of Python that returns an array of the tensor's bytes, called with the GIL. Its exception ends the work.
Checkpoint::Decoder decoder_of(nb::object read, int64_t byte_size) {
  // The last copy may be destroyed by a thread that has not the GIL.
  const std::shared_ptr<nb::object> kept(new nb::object(std::move(read)), [](nb::object* object) {
    const nb::gil_scoped_acquire gil;
    delete object;
  });
  return [kept, byte_size](const GoOn&) {
    const nb::gil_scoped_acquire gil;
    const nb::object made = (*kept)();
    const Array array(made);
    if (!array.row_major() || array.bytes() != byte_size)
      throw Error(
          ErrorCode::corrupt,
          "its reader gave " + std::to_string(array.bytes()) + " bytes in place of " + std::to_string(byte_size),
          "bytes", std::to_string(array.bytes()), std::to_string(byte_size));
    auto out = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(byte_size));
    std::memcpy(out.get(), array.data, static_cast<std::size_t>(byte_size));
    return out;
  };
}

/// `tensors`: (name, dtype or None, type_name, item_bits, big-endian, shape, offset or None, reader or None, problem).
Checkpoint described_checkpoint(nb::handle path, nb::handle tensors,
                                std::vector<std::pair<std::string, std::string>> recorded,
                                const std::vector<std::pair<std::string, std::string>>& metadata) {
  std::vector<CheckpointTensor> found;
  std::vector<Checkpoint::Decoder> decoders;
  for (nb::handle item : tensors) {
    const auto said = nb::cast<nb::tuple>(item);
    CheckpointTensor& tensor = found.emplace_back();
    tensor.name = nb::cast<std::string>(said[0]);
    if (!said[1].is_none()) tensor.dtype = parse_dtype(nb::cast<std::string>(said[1]));
    tensor.type_name = nb::cast<std::string>(said[2]);
    tensor.item_bits = nb::cast<int>(said[3]);
    tensor.byte_swapped = nb::cast<bool>(said[4]);
    tensor.shape = dims_of(said[5], "shape");
    tensor.byte_size = Layout::contiguous(tensor.shape).elements() * tensor.item_bits / 8;
    if (!said[8].is_none()) tensor.problem = Error(ErrorCode::unsupported, nb::cast<std::string>(said[8]), "dtype");
    if (!said[6].is_none()) tensor.offset = nb::cast<int64_t>(said[6]);
    decoders.push_back(said[7].is_none() ? Checkpoint::Decoder() : decoder_of(nb::borrow(said[7]), tensor.byte_size));
  }
  return Checkpoint::described(path_of(path), checkpoint::FileKind::hdf5, std::move(found), std::move(decoders),
                               std::move(recorded), entries_of(metadata));
}

/// `tensors`: (name, array, dtype or (type name, bits), shape, layout or None, dims or None, saved strides or None).
/// Returns the paths of the files.
nb::list save_checkpoint(nb::handle path, nb::handle tensors,
                         const std::vector<std::pair<std::string, std::string>>& metadata, bool overwrite,
                         int64_t shard_bytes, nb::handle progress) {
  std::vector<std::unique_ptr<Array>> arrays;
  std::vector<TensorSpec> specs;
  for (nb::handle item : tensors) {
    const auto said = nb::cast<nb::tuple>(item);
    arrays.push_back(std::make_unique<Array>(said[1]));
    if (!arrays.back()->row_major()) throw Error(ErrorCode::invalid_argument, "an array is not contiguous", "x");
    TensorSpec& spec = specs.emplace_back();
    spec.name = nb::cast<std::string>(said[0]);
    if (PyTuple_Check(nb::handle(said[2]).ptr())) {
      std::tie(spec.type_name, spec.item_bits) = nb::cast<std::pair<std::string, int>>(said[2]);
    } else {
      spec.dtype = parse_dtype(nb::cast<std::string>(said[2]));
    }
    spec.shape = dims_of(said[3], "shape");
    if (!said[4].is_none()) spec.layout = Format::parse(nb::cast<std::string>(said[4]));
    if (!said[5].is_none()) spec.dims = dims_of(said[5], "dims");
    if (!said[6].is_none()) spec.notes.strides = dims_of(said[6], "strides");
  }
  const std::string place = path_of(path);
  nb::list out;
  std::vector<std::filesystem::path> paths;
  watched(progress, [&](const GoOn& go_on) {
    CheckpointWriter writer = CheckpointWriter::create(
        place, specs, {.metadata = entries_of(metadata), .overwrite = overwrite, .shard_bytes = shard_bytes});
    int64_t done = 0, total = 0;
    for (std::size_t i = 0; i < specs.size(); ++i) total += writer.byte_size(i);
    constexpr int64_t kPiece = int64_t{8} << 20;
    for (const std::size_t i : writer.order()) {
      const int64_t bytes = writer.byte_size(i);
      if (arrays[i]->bytes() != bytes)
        throw Error(ErrorCode::buffer_too_small,
                    "tensor \"" + escaped(specs[i].name, 200) + "\": the array has " +
                        std::to_string(arrays[i]->bytes()) + " bytes, and the file's " + std::to_string(bytes),
                    "x", std::to_string(arrays[i]->bytes()), std::to_string(bytes));
      for (int64_t at = 0; at < bytes; at += kPiece) {
        const int64_t count = std::min(kPiece, bytes - at);
        writer.write(i, at, {arrays[i]->data + at, static_cast<std::size_t>(count)});
        done += count;
        if (!go_on(done, total)) throw Error(ErrorCode::interrupted, "save: it was ended");
      }
      writer.set_written(i);
    }
    if (total == 0) go_on(0, 0);
    writer.commit(go_on);
    paths = writer.paths();
  });
  for (const auto& each : paths) out.append(nb::str(each.c_str()));
  return out;
}

}  // namespace

void bind_checkpoint_files(nb::module_& module) {
  module.def("described_checkpoint", &described_checkpoint, nb::arg("path"), nb::arg("tensors"), nb::arg("recorded"),
             nb::arg("metadata"));
  module.def("save_checkpoint", &save_checkpoint, nb::arg("path"), nb::arg("tensors"), nb::arg("metadata"),
             nb::arg("overwrite"), nb::arg("shard_bytes"), nb::arg("progress").none());
}

}  // namespace relayout::python
