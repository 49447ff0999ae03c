// SHA-256 of the tensors of a checkpoint.
#pragma once

#include <string>

#include "relayout/checkpoint/checkpoint.h"

namespace relayout::tools {

/// The SHA-256, in hexadecimal digits, of a tensor's elements in row-major order: that of the bytes which a
/// .safetensors file has of it, whatever kind of file it is in. Throws what Checkpoint::contents() throws, and
/// Error{unsupported} where the command is built without OpenSSL. Cost: a gigabyte or two a second.
std::string tensor_sha256(const checkpoint::Checkpoint& model, std::size_t tensor);

}  // namespace relayout::tools
