// Words as Python strings.
#pragma once

#include <span>
#include <vector>

#include "python_data.hpp"

namespace adaptag {

// Short words that were made lately: most words of a text occur again and again, and a string is
// shared faster than made. Used with the GIL held.
class WordCache {
 public:
  WordCache() : slots_(1 << bits) {}
  WordCache(const WordCache&) = delete;
  ~WordCache() {
    for (Slot& slot : slots_) Py_XDECREF(slot.word);
  }

  // A new reference to the word of a text that begins at `first` and has these code points.
  PyObject* word(nb::handle text, size_t first, std::span<const uint32_t> codes) {
    uint64_t key = 0;
    if (codes.size() > 4 || codes.back() == 0) return made(text, first, codes.size());
    for (size_t k = 0; k < codes.size(); ++k) {
      if (codes[k] > 0xFFFF) return made(text, first, codes.size());
      key |= uint64_t{codes[k]} << (16 * k);
    }
    Slot& slot = slots_[(key * 0x9E3779B97F4A7C15u) >> (64 - bits)];
    if (slot.key != key) {
      PyObject* const word = made(text, first, codes.size());
      Py_XDECREF(slot.word);
      slot = {key, word};
    }
    Py_INCREF(slot.word);
    return slot.word;
  }

 private:
  static constexpr int bits = 12;
  struct Slot {
    uint64_t key = 0;
    PyObject* word = nullptr;
  };
  static PyObject* made(nb::handle text, size_t first, size_t n) {
    PyObject* const word =
        PyUnicode_Substring(text.ptr(), Py_ssize_t(first), Py_ssize_t(first + n));
    if (!word) throw nb::python_error();
    return word;
  }
  std::vector<Slot> slots_;
};

}  // namespace adaptag
