// Ctrl-C while the core works without the GIL.
#pragma once

#include <atomic>
#include <chrono>

#include "bindings.hpp"

namespace adaptag {

// Shared by the threads of one piece of work. The thread that Python called looks a few times a
// second whether a signal has come, and throws what Python's handler raised; the others end early.
class Signals {
 public:
  // Whether this member, 0 in the thread that Python called, is to go on.
  bool go_on(int member) {
    if (member > 0) return !stopped_.load(std::memory_order_relaxed);
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(100)) return true;
    last_ = now;
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() == 0) return true;
    stopped_.store(true, std::memory_order_relaxed);
    throw nb::python_error();
  }

 private:
  std::atomic<bool> stopped_{false};
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace adaptag
