// Python strings: their code points, and words that are made of them.
#pragma once

#include <span>
#include <vector>

#include "python_data.hpp"

namespace adaptag {

// The code points of a Python string, where they lie. Strings never change.
struct TextView {
  explicit TextView(nb::handle text) {
    if (!PyUnicode_Check(text.ptr()))
      throw InputError("expected a string; found " + described(text));
    if (PyUnicode_READY(text.ptr()) < 0) throw nb::python_error();
    kind = PyUnicode_KIND(text.ptr());
    data = PyUnicode_DATA(text.ptr());
    size = size_t(PyUnicode_GET_LENGTH(text.ptr()));
  }
  explicit TextView(const std::vector<uint32_t>& codes)
      : kind(PyUnicode_4BYTE_KIND), data(codes.data()), size(codes.size()) {}

  template <class F>
  void visit(F&& f) const {
    if (kind == PyUnicode_1BYTE_KIND)
      f(std::span(static_cast<const Py_UCS1*>(data), size));
    else if (kind == PyUnicode_2BYTE_KIND)
      f(std::span(static_cast<const Py_UCS2*>(data), size));
    else
      f(std::span(static_cast<const Py_UCS4*>(data), size));
  }
  int kind;
  const void* data;
  size_t size;
};

// Short words that were made lately: most words of a text occur again and again, and a string is
// shared faster than made. Used with the GIL held.
class WordCache {
 public:
  WordCache() : slots_(1 << bits) {}
  WordCache(const WordCache&) = delete;
  ~WordCache() {
    for (Slot& slot : slots_) Py_XDECREF(slot.word);
  }

  // A new reference to the word of the code points [n].
  template <class Code>
  PyObject* word(const Code* codes, size_t n, int kind) {
    uint64_t key = 0;
    if (n > 4 || codes[n - 1] == 0) return made(codes, n, kind);
    for (size_t k = 0; k < n; ++k) {
      if (sizeof(Code) == 4 && codes[k] > 0xFFFF) return made(codes, n, kind);
      key |= uint64_t{codes[k]} << (16 * k);
    }
    Slot& slot = slots_[(key * 0x9E3779B97F4A7C15u) >> (64 - bits)];
    if (slot.key != key) {
      PyObject* const word = made(codes, n, kind);
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
  static PyObject* made(const void* codes, size_t n, int kind) {
    PyObject* const word = PyUnicode_FromKindAndData(kind, codes, Py_ssize_t(n));
    if (!word) throw nb::python_error();
    return word;
  }
  std::vector<Slot> slots_;
};

}  // namespace adaptag
