// checkpoint_copy IN OUT [SHARD_BYTES]: copies a checkpoint, each tensor row-major, through the library's reader and
// writer; what cannot be read is left out. The format is that of OUT's extension. For tests that let other programs
// read what this library writes.
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

/// The elements of a tensor one after the other.
std::vector<std::byte> row_major(const CheckpointTensor& tensor, std::span<const std::byte> bytes) {
  if (tensor.row_major()) return {bytes.begin(), bytes.end()};
  const TensorDesc from(tensor.memory(), tensor.dtype.value()), to(Layout::contiguous(tensor.shape), *tensor.dtype);
  std::vector<std::byte> out(static_cast<std::size_t>(tensor.array_bytes()));
  cpu::run(cpu::make_plan(from, to), bytes.data(), out.data());
  return out;
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
  if (!out.ends_with(".npz")) options.metadata.assign(model.metadata().begin(), model.metadata().end());
  CheckpointWriter writer = CheckpointWriter::create(out, specs, options);
  for (const std::size_t i : writer.order()) {
    const auto contents = model.contents(numbers[i]);
    writer.write(i, 0, row_major(model.tensors()[numbers[i]], contents.bytes));
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
