// The output of a conversion: a file that appears whole or not at all, or a stream that carries .npy.
//
//     Output out = Output::create("-", spec, false);       // standard output
//     std::ranges::fill(out.bytes(), std::byte{0});
//     out.commit();
#pragma once

#include <span>
#include <string>

#include "relayout/interop/files/tensor_file.h"

namespace relayout::tools {

/// Whether a path is this process's standard output: "-", /dev/stdout, /dev/fd/1.
bool is_stdout(const std::string& path);

/// Usage error where no format is known for the path.
void check_output_path(const std::string& path);

class Output {
 public:
  /// "-", /dev/stdout and /dev/fd/1 are this process's standard output, whatever it is connected to. commit() writes to
  /// it from its present position. TensorWriter handles all other paths.
  static Output create(const std::string& path, const TensorSpec& spec, bool overwrite);

  Output(Output&&) noexcept = default;
  ~Output();

  std::span<std::byte> bytes() { return writer_.bytes(); }
  bool mapped() const { return writer_.mapped(); }
  int descriptor() const { return writer_.descriptor(); }
  int64_t file_offset() const { return writer_.file_offset(); }
  /// Whether the tensor goes where write_stdout() writes.
  bool takes_stdout() const { return takes_stdout_; }
  const std::string& temporary_path() const { return writer_.temporary_path(); }
  void commit();

 private:
  explicit Output(TensorWriter writer) : writer_(std::move(writer)) {}

  struct Pipe {
    int reader = -1, writer = -1;
    Pipe() = default;
    Pipe(Pipe&& other) noexcept;
    ~Pipe();
  };

  Pipe pipe_;  // standard output: the writer's bytes come through here
  TensorWriter writer_;
  bool takes_stdout_ = false;
};

}  // namespace relayout::tools
