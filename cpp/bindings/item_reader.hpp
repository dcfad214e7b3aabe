// Sequences of items, as python-crfsuite takes them, turned into attributes with values.
//
// An item is a dictionary {name: value}, where a value is a string (the attribute is name:string),
// a number, or again an item (the attributes are name:attribute); or a collection of strings.
#pragma once

#include <cmath>
#include <concepts>
#include <string>
#include <vector>

#include "python_data.hpp"

namespace adaptag {

// Takes the attributes of items, one after the other.
template <class S>
concept AttributeSink = requires(S& sink, std::string_view name, double value) {
  sink.add_attribute(name, value);
  sink.end_item();
};

// A sequence of items that are turned into attributes already.
class ItemSequence {
 public:
  void add_attribute(std::string_view name, double value) {
    text_.append(name);
    ends_.push_back(text_.size());
    values_.push_back(value);
  }
  void end_item() { items_.push_back(values_.size()); }

  template <AttributeSink Sink>
  void copy_to(Sink& sink) const {
    size_t begin = 0, k = 0;
    for (const size_t end : items_) {
      for (; k < end; begin = ends_[k++])
        sink.add_attribute(std::string_view(text_).substr(begin, ends_[k] - begin), values_[k]);
      sink.end_item();
    }
  }
  size_t size() const { return items_.size(); }

 private:
  std::string text_;            // the names of all attributes, one after the other
  std::vector<size_t> ends_;    // [F] where they end
  std::vector<double> values_;  // [F]
  std::vector<size_t> items_;   // [T] where the attributes of each item end
};

// Reads the items of one sequence after the other into a sink.
template <AttributeSink Sink>
class ItemReader {
 public:
  explicit ItemReader(Sink& sink, size_t n_earlier = 0) : sink_(sink), n_sequences_(n_earlier) {}

  void read(nb::handle sequence) {
    ++n_sequences_;
    n_items_ = 0;
    name_.clear();
    if (nb::isinstance<ItemSequence>(sequence))
      return nb::cast<const ItemSequence&>(sequence).copy_to(sink_);
    if (!is_list_like(sequence))
      throw InputError("sequence " + std::to_string(n_sequences_) + " is " + described(sequence) +
                       "; allowed: a list of items, each a dictionary or a collection of strings");
    for (nb::handle item : sequence) {
      ++n_items_;
      name_.clear();
      if (is_text(item))
        refuse("a string; an item must be a dictionary or a collection of strings");
      read_item(item, 0);
      sink_.end_item();
    }
  }

 private:
  static constexpr int max_depth = 16;

  static bool is_text(nb::handle object) {
    return is_string(object) || PyBytes_Check(object.ptr());
  }

  void read_item(nb::handle item, int depth) {
    if (depth > max_depth) refuse("more than 16 items inside each other");
    const size_t prefix = name_.size();
    if (PyDict_Check(item.ptr())) {
      PyObject *key, *value;
      Py_ssize_t at = 0;
      while (PyDict_Next(item.ptr(), &at, &key, &value)) read_pair(key, value, prefix, depth);
    } else if (PyList_CheckExact(item.ptr()) || PyTuple_CheckExact(item.ptr())) {
      for_items(item, [&](nb::handle part) { read_part(part, prefix); });
    } else if (PyMapping_Check(item.ptr()) && nb::hasattr(item, "items")) {
      for (nb::handle pair : item.attr("items")())
        read_pair(nb::object(pair[0]), nb::object(pair[1]), prefix, depth);
    } else if (nb::isinstance<nb::iterable>(item) && !has_no_dimensions(item)) {
      for (nb::handle part : item) read_part(part, prefix);
    } else {
      refuse("neither a dictionary nor a collection of strings");
    }
  }

  void read_part(nb::handle part, size_t prefix) {
    if (!is_text(part)) refuse("a collection with something that is no string");
    append(part);
    push(1.0);
    name_.resize(prefix);
  }

  void read_pair(nb::handle key, nb::handle value, size_t prefix, int depth) {
    if (!is_text(key)) refuse("a name that is no string");
    append(key);
    PyObject* const v = value.ptr();
    if (PyFloat_CheckExact(v) || PyBool_Check(v) || PyLong_CheckExact(v)) {
      push(PyFloat_AsDouble(v));
    } else if (is_text(value)) {
      name_.push_back(':');
      append(value);
      push(1.0);
    } else if (PyDict_Check(v) || PyList_Check(v) || PyTuple_Check(v) || PyAnySet_Check(v)) {
      name_.push_back(':');
      read_item(value, depth + 1);
    } else if (PyNumber_Check(v)) {
      push(PyFloat_AsDouble(v));
    } else {
      refuse("a value that is no string, number, dictionary, list or set");
    }
    name_.resize(prefix);
  }

  void append(nb::handle s) {
    if (is_string(s)) {
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
    if (!(std::abs(value) < 1e30)) refuse("a value that is not finite");
    sink_.add_attribute(name_, value);
  }

  [[noreturn]] void refuse(const char* what) const {
    throw InputError("sequence " + std::to_string(n_sequences_) + ", item " +
                     std::to_string(n_items_) + (name_.empty() ? "" : ", " + name_) + ": " + what);
  }

  Sink& sink_;
  std::string name_;
  size_t n_sequences_, n_items_ = 0;  // for messages
};

}  // namespace adaptag
