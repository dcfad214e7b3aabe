// Python objects as data: what is a list, what is a string, and how to show what was found instead.
#pragma once

#include <string>
#include <string_view>

#include "../errors.hpp"
#include "bindings.hpp"

namespace adaptag {

// Whether an object is iterated in its own order: not a string, a dictionary or a set.
inline bool is_list_like(nb::handle object) {
  PyObject* const p = object.ptr();
  if (PyUnicode_Check(p) || PyBytes_Check(p) || PyDict_Check(p) || PyAnySet_Check(p)) return false;
  return Py_TYPE(p)->tp_iter || PySequence_Check(p);
}

// Calls f(item) for the items of an iterable; those of a list or tuple without an iterator. f must
// not run Python code that could change the list.
template <class F>
void for_items(nb::handle iterable, F&& f) {
  PyObject* const p = iterable.ptr();
  if (PyTuple_CheckExact(p) || PyList_CheckExact(p)) {
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(p); ++k)
      f(nb::handle(PySequence_Fast_GET_ITEM(p, k)));
    return;
  }
  for (nb::handle item : iterable) f(item);
}

// The text of a Python string.
inline std::string_view utf8(nb::handle s) {
  if (PyUnicode_IS_COMPACT_ASCII(s.ptr()))
    return {static_cast<const char*>(PyUnicode_DATA(s.ptr())),
            size_t(PyUnicode_GET_LENGTH(s.ptr()))};
  Py_ssize_t n = 0;
  if (const char* p = PyUnicode_AsUTF8AndSize(s.ptr(), &n)) return {p, size_t(n)};
  PyErr_Clear();
  throw InputError("the string " + std::string(nb::repr(s).c_str()) + " has a lone surrogate");
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
  if (PyUnicode_Check(object.ptr())) return "the string " + text;
  return "the " + std::string(nb::type_name(object.type()).c_str()) + " " + text;
}

}  // namespace adaptag
