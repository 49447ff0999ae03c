// Converts a checkpoint by rules, tensor by tensor, in bounded memory.
//
//     const Checkpoint model = Checkpoint::open("model.safetensors");
//     const Conversion plan = plan_conversion(model, Rules::from_toml(text, "rules.toml"));
//     const Converted done = convert(model, plan, "out.safetensors", {.max_memory = 256 << 20});
//
// A run that is killed leaves its files beside the new ones' paths, and the same call goes on with them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "relayout/checkpoint/conversion.h"
#include "relayout/checkpoint/writer.h"

namespace relayout::checkpoint {

struct ConvertOptions {
  int threads = 0;  // 0: all
  /// Bytes of parts and mapped pages that are in memory at once, at least 16 MiB; 0: 1 GiB. What is
  /// compressed in a file (.npz) is decoded a tensor at a time, and counts besides. Packed matrices that can only be
  /// made whole (values quantised anew, rows in the order of activations, one group for all rows) wait for each other;
  /// one that is larger than half of this is made alone, and needs the memory that it needs.
  int64_t max_memory = 0;
  bool overwrite = false;
  /// The most bytes of tensors in a file (WriteOptions::shard_bytes); 0: one file.
  int64_t shard_bytes = 0;
  /// Reads the new files once more and compares every byte with what was to be written.
  bool verify = false;
  GoOn go_on;
};

/// A matrix whose values were rounded to the grid of a packed format, by the name of the first tensor that it became,
/// and how far they are from what they were.
struct Rounded {
  std::string name;
  double largest_error = 0, rms_error = 0;
};

struct Converted {
  std::vector<std::filesystem::path> paths;
  int64_t bytes = 0;
  /// Targets that an earlier run, which was ended, had written already.
  std::size_t resumed = 0;
  /// What a user should know of what was written, a sentence each: values that a new type cannot hold, what the kind of
  /// file does not keep, and files of a replaced checkpoint that are still there.
  std::vector<std::string> notes;
  /// In the order of the targets; those that an earlier run had written are not among them.
  std::vector<Rounded> rounded;
};

/// Errors: those of CheckpointWriter and Checkpoint::contents; corrupt where verify finds another byte; interrupted.
/// What interrupts it or ends it by an error of the disk leaves what is written to the next run.
Converted convert(const Checkpoint& model, const Conversion& conversion, const std::filesystem::path& path,
                  const ConvertOptions& options = {});

/// What convert() would find before it writes the first byte; nothing is made. Returns what the kind of file does not
/// keep, which convert() says among its notes. Errors: those of CheckpointWriter.
std::vector<std::string> check_convert(const Checkpoint& model, const Conversion& conversion,
                                       const std::filesystem::path& path, const ConvertOptions& options = {});

/// Compares what a conversion makes of a checkpoint with the tensors of another one, by their names.
struct Comparison {
  std::string name;
  /// "" where the values are equal, else what differs: "missing", "left over", "shape 2x3 and 3x2", "type f32 and f16",
  /// "12 of 4096 elements".
  std::string difference;
  int64_t elements = 0, differ = 0;
  /// The largest difference of two finite values, and the first index at which elements differ.
  double most = 0;
  int64_t first = -1;
};
/// One entry for each tensor of both sides, in the order of the targets and then of `other`. Equal bits are equal; else
/// values are compared as f64, so that 0 is equal to -0, and NaN is equal to NaN. Errors: those of
/// Checkpoint::contents; interrupted.
std::vector<Comparison> compare(const Checkpoint& model, const Conversion& conversion, const Checkpoint& other,
                                const ConvertOptions& options = {});

}  // namespace relayout::checkpoint
