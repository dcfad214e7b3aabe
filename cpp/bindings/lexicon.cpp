#include "lexicon.hpp"

#include <nanobind/stl/string.h>

using namespace nb::literals;

namespace adaptag {

Folding parse_folding(const std::string& name) {
  if (name == "none") return Folding::none;
  if (name == "width") return Folding::width;
  if (name == "types") return Folding::types;
  throw std::invalid_argument("fold is '" + name + "'; allowed: none, width, types");
}

void append_codes(nb::handle text, std::vector<uint32_t>& out) {
  if (!is_string(text)) throw InputError("expected a string; found " + described(text));
  const Py_ssize_t n = PyUnicode_GetLength(text.ptr());
  const size_t first = out.size();
  out.resize(first + size_t(n) + 1);
  if (!PyUnicode_AsUCS4(text.ptr(), out.data() + first, n + 1, 1)) throw nb::python_error();
  out.resize(first + size_t(n));
}

}  // namespace adaptag

void bind_lexicon(nb::module_& m) {
  using namespace adaptag;
  nb::class_<PyLexicon>(m, "Lexicon")
      .def(nb::init<const std::string&>(), "fold"_a)
      .def("add", &PyLexicon::add, "words"_a.none(), "weights"_a.noconvert())
      .def("add_symbols", &PyLexicon::add_symbols, "symbols"_a.noconvert(), "offsets"_a.noconvert())
      .def("remove", &PyLexicon::remove, "words"_a.none())
      .def("unknown", &PyLexicon::unknown, "texts"_a, "starts"_a.noconvert())
      .def("__contains__", &PyLexicon::contains, "word"_a)
      .def("__len__", &PyLexicon::size);
}
