// checkpoint_copy IN OUT [SHARD_BYTES]: copies a checkpoint, each tensor row-major, through the library's reader and
// writer; what cannot be read is left out. The format is that of OUT's extension. For tests that let other programs
// read what this library writes.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "relayout/checkpoint/checkpoint.h"
#include "relayout/checkpoint/writer.h"
#include "relayout/cpu/reorder.h"

namespace {

using namespace relayout;
using checkpoint::Checkpoint;
using checkpoint::CheckpointTensor;
using checkpoint::CheckpointWriter;

/// The elements of a tensor one after the other, where they do not lie so.
std::vector<std::byte> row_major(const CheckpointTensor& tensor, std::span<const std::byte> bytes) {
  const TensorDesc from(tensor.memory(), tensor.dtype.value()), to(Layout::contiguous(tensor.shape), *tensor.dtype);
  std::vector<std::byte> out(static_cast<std::size_t>(tensor.array_bytes()));
  cpu::run(cpu::make_plan(from, to), bytes.data(), out.data());
  return out;
}

/// Pages of the mapping are given back as soon as they are written.
void write_in_pieces(CheckpointWriter& writer, std::size_t tensor, std::span<const std::byte> bytes) {
  constexpr std::size_t kPiece = 8 << 20;
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    const auto piece = bytes.subspan(at, std::min(kPiece, bytes.size() - at));
    writer.write(tensor, static_cast<int64_t>(at), piece);
    release_pages(piece);
  }
}

void copy(const std::string& in, const std::string& out, int64_t shard_bytes) {
  const Checkpoint model = Checkpoint::open(in);
  std::vector<TensorSpec> specs;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < model.tensors().size(); ++i) {
    if (model.tensors()[i].problem) continue;
    specs.push_back(spec_of(model.tensors()[i]));
    numbers.push_back(i);
  }
  checkpoint::WriteOptions options{.shard_bytes = shard_bytes};
  if (keeps_metadata(checkpoint::kind_of_path(out).value()))
    options.metadata.assign(model.metadata().begin(), model.metadata().end());
  CheckpointWriter writer = CheckpointWriter::create(out, specs, options);
  for (const std::size_t i : writer.order()) {
    const auto contents = model.contents(numbers[i]);
    const CheckpointTensor& tensor = model.tensors()[numbers[i]];
    if (tensor.row_major()) {
      write_in_pieces(writer, i, contents.bytes);
    } else {
      writer.write(i, 0, row_major(tensor, contents.bytes));
    }
    writer.set_written(i);
  }
  writer.commit();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  try {
    copy(argv[1], argv[2], argc > 3 ? std::stoll(argv[3]) : 0);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
