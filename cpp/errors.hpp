// Errors that a user can cause; Python sees them as core.InputError and core.NoPathError. All other
// exceptions of the core say that it was called wrongly.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

namespace adaptag {

// A number in a message: with six digits, however large.
inline std::string shown(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", x);
  return text;
}

// Data that is refused: the message says where, what was found, and what is allowed.
struct InputError : std::invalid_argument {
  explicit InputError(const std::string& message) : std::invalid_argument(message) {}
  InputError(std::string_view name, size_t line, const std::string& message)
      : InputError(std::string(name) + ":" + std::to_string(line) + ": " + message) {}
};

// Constraints, or weights that are not finite, leave no label sequence.
struct NoPathError : std::invalid_argument {
  NoPathError() : std::invalid_argument("no label sequence satisfies the constraints") {}
};

}  // namespace adaptag
