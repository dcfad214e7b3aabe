// Python objects as data: what is a list, what is a string, and how to show what was found instead.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "../errors.hpp"
#include "bindings.hpp"

namespace adaptag {

// Whether an object is a string. The stable ABI has no quick check but that for its very type.
inline bool is_string(nb::handle object) {
  return PyUnicode_CheckExact(object.ptr()) || PyUnicode_Check(object.ptr());
}

// Whether an object is an array without dimensions, which only says that it can be iterated.
inline bool has_no_dimensions(nb::handle object) {
  const nb::object n = nb::getattr(object, "ndim", nb::none());
  return PyLong_CheckExact(n.ptr()) && !PyObject_IsTrue(n.ptr());
}

// Whether an object is iterated in its own order: not a string, a dictionary or a set.
inline bool is_list_like(nb::handle object) {
  PyObject* const p = object.ptr();
  if (PyList_CheckExact(p) || PyTuple_CheckExact(p)) return true;
  if (is_string(object) || PyBytes_Check(p) || PyDict_Check(p) || PyAnySet_Check(p)) return false;
  if (!PyType_GetSlot(Py_TYPE(p), Py_tp_iter) && !PySequence_Check(p)) return false;
  return !has_no_dimensions(object);
}

// Calls f(item) for the items of an iterable; those of a list or tuple without an iterator. f must
// not run Python code that could change the list.
template <class F>
void for_items(nb::handle iterable, F&& f) {
  PyObject* const p = iterable.ptr();
  if (PyList_CheckExact(p))
    for (Py_ssize_t k = 0; k < PyList_Size(p); ++k) f(nb::handle(PyList_GetItem(p, k)));
  else if (PyTuple_CheckExact(p))
    for (Py_ssize_t k = 0; k < PyTuple_Size(p); ++k) f(nb::handle(PyTuple_GetItem(p, k)));
  else
    for (nb::handle item : iterable) f(item);
}

// The text of a Python string.
inline std::string_view utf8(nb::handle s) {
  Py_ssize_t n = 0;
  if (const char* p = PyUnicode_AsUTF8AndSize(s.ptr(), &n)) return {p, size_t(n)};
  PyErr_Clear();
  throw InputError("the string " + std::string(nb::repr(s).c_str()) + " has a lone surrogate");
}

// The names of labels, as a list.
inline nb::list named(std::span<const int32_t> labels, const nb::list& names) {
  nb::list out = nb::steal<nb::list>(PyList_New(Py_ssize_t(labels.size())));
  if (!out.is_valid()) throw nb::python_error();
  for (size_t t = 0; t < labels.size(); ++t) {
    PyObject* const name = PyList_GetItem(names.ptr(), labels[t]);
    Py_INCREF(name);
    PyList_SetItem(out.ptr(), Py_ssize_t(t), name);
  }
  return out;
}

// What a message says of an object: its type, and how it is written, shortened.
inline std::string described(nb::handle object) {
  if (object.is_none()) return "None";
  constexpr Py_ssize_t longest = 40;
  const nb::str shown = nb::repr(object);
  std::string text(utf8(shown));
  if (PyUnicode_GetLength(shown.ptr()) > longest) {
    const nb::object head = nb::steal(PyUnicode_Substring(shown.ptr(), 0, longest));
    text = std::string(utf8(head)) + "…";
  }
  if (is_string(object)) return "the string " + text;
  return "the " + std::string(nb::type_name(object.type()).c_str()) + " " + text;
}

}  // namespace adaptag
