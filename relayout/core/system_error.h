// Errors of the operating system: Error{io} with the number by which it refused.
//
//     try {
//       TensorFile::open("x.npy");
//     } catch (const SystemError& error) {
//       if (error.number() == ENOENT) ...    // no such file, nor folder that leads to it
//     }
#pragma once

#include "relayout/core/error.h"

namespace relayout {

class SystemError : public Error {
 public:
  /// `number`: as errno has it.
  SystemError(int number, std::string message, std::string field = {}, std::string value = {})
      : Error(ErrorCode::io, std::move(message), std::move(field), std::move(value)), number_(number) {}

  int number() const noexcept { return number_; }

 private:
  int number_;
};

}  // namespace relayout
