// Sequences of items, as python-crfsuite takes them, turned into attributes with values.
#include "../vocabulary.hpp"
#include "cells.hpp"

using namespace nb::literals;

namespace adaptag {
namespace {

// Sequences of items, as python-crfsuite takes them, turned into attributes with values. An item is
// a dictionary {name: value}, where a value is a string (the attribute is name:string), a number,
// or again an item (the attributes are name:attribute); or a collection of strings.
class Items {
 public:
  void add_sequence(nb::handle sequence) {
    name_.clear();
    if (!is_list_like(sequence))
      throw InputError("sequence " + std::to_string(sentences.size()) + " is " +
                       described(sequence) +
                       "; allowed: a list of items, each a dictionary or a collection of strings");
    for (nb::handle item : sequence) {
      name_.clear();
      if (PyUnicode_Check(item.ptr()) || PyBytes_Check(item.ptr()))
        refuse("a string; an item must be a dictionary or a collection of strings");
      add_item(item, 0);
      positions.push_back(int64_t(cells_.size()));
    }
    sentences.push_back(int64_t(positions.size()) - 1);
  }

  std::vector<Span> cells() {
    std::vector<Span> out;
    out.reserve(cells_.size());
    for (const uint32_t id : cells_) out.push_back({names.offsets[id], names.offsets[id + 1]});
    return out;
  }

  Vocabulary names;
  std::vector<float> values;
  std::vector<int64_t> positions{0}, sentences{0};

 private:
  static constexpr int max_depth = 16;

  void add_item(nb::handle item, int depth) {
    if (depth > max_depth) refuse("more than 16 items inside each other");
    const size_t prefix = name_.size();
    if (PyDict_Check(item.ptr())) {
      PyObject *key, *value;
      Py_ssize_t at = 0;
      while (PyDict_Next(item.ptr(), &at, &key, &value)) add_pair(key, value, prefix, depth);
    } else if (PyMapping_Check(item.ptr()) && nb::hasattr(item, "items")) {
      for (nb::handle pair : item.attr("items")())
        add_pair(nb::object(pair[0]), nb::object(pair[1]), prefix, depth);
    } else if (PyUnicode_Check(item.ptr()) || PyBytes_Check(item.ptr())) {
      append(item);
      push(1.0);
      name_.resize(prefix);
    } else if (nb::isinstance<nb::iterable>(item)) {
      for (nb::handle part : item) {
        if (!PyUnicode_Check(part.ptr()) && !PyBytes_Check(part.ptr()))
          refuse("a collection with something that is no string");
        add_item(part, depth + 1);
      }
    } else {
      refuse("neither a dictionary nor a collection of strings");
    }
  }

  void add_pair(nb::handle key, nb::handle value, size_t prefix, int depth) {
    if (!PyUnicode_Check(key.ptr()) && !PyBytes_Check(key.ptr()))
      refuse("a name that is no string");
    append(key);
    PyObject* const v = value.ptr();
    if (PyUnicode_Check(v) || PyBytes_Check(v)) {
      name_.push_back(':');
      append(value);
      push(1.0);
    } else if (PyFloat_Check(v) || PyLong_Check(v)) {
      push(PyFloat_AsDouble(v));
    } else if (PyDict_Check(v) || PyList_Check(v) || PyTuple_Check(v) || PyAnySet_Check(v)) {
      name_.push_back(':');
      add_item(value, depth + 1);
    } else if (PyNumber_Check(v)) {
      push(PyFloat_AsDouble(v));
    } else {
      refuse("a value that is no string, number, dictionary, list or set");
    }
    name_.resize(prefix);
  }

  void append(nb::handle s) {
    if (PyUnicode_Check(s.ptr())) {
      name_ += utf8(s);
    } else {
      char* p;
      Py_ssize_t n;
      if (PyBytes_AsStringAndSize(s.ptr(), &p, &n)) throw nb::python_error();
      name_.append(p, size_t(n));
    }
  }

  void push(double value) {
    if (value == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      refuse("a value that is no number");
    }
    if (value == 0) return;  // says nothing
    if (!(std::abs(value) < 1e30)) refuse("a value that is not finite");
    cells_.push_back(names.intern(name_));
    values.push_back(float(value));
  }

  [[noreturn]] void refuse(const char* what) const {
    throw InputError("sequence " + std::to_string(sentences.size()) + ", item " +
                     std::to_string(int64_t(positions.size()) - sentences.back()) +
                     (name_.empty() ? "" : ", " + name_) + ": " + what);
  }

  std::string name_;
  std::vector<uint32_t> cells_;  // numbers of names
};

nb::tuple pack_items(nb::handle sequences) {
  Items out;
  if (!is_list_like(sequences))
    throw InputError("the data is " + described(sequences) +
                     "; allowed: a list of sequences, each a list of items");
  for (nb::handle sequence : sequences) out.add_sequence(sequence);
  auto cells = out.cells();
  const size_t F = cells.size();
  return nb::make_tuple(numpy(std::move(out.names.bytes)), numpy_cells(std::move(cells), {F, 1}),
                        numpy(std::move(out.values)), numpy(std::move(out.positions)),
                        numpy(std::move(out.sentences)));
}

}  // namespace
}  // namespace adaptag

void bind_items(nb::module_& m) { m.def("pack_items", &adaptag::pack_items, "sequences"_a.none()); }
