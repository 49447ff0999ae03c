// Programs that answer a question a line, for comparisons written in Python.
#pragma once

#include <algorithm>
#include <iostream>
#include <string>

#include "relayout/core/error.h"

namespace relayout::test {

/// "error", the code and the message, in one line.
inline std::string refusal_line(const Error& error) {
  std::string message = error.message();
  std::ranges::replace(message, '\n', ' ');
  return "error\t" + std::string(name(error.code())) + "\t" + message;
}

/// Answers each line of standard input; returns the program's exit code.
template <typename Answer>
int answer_lines(Answer answer) {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) std::cout << answer(line) << '\n';
  return std::cout.flush() ? 0 : 1;
}

}  // namespace relayout::test
