// Templates, and encoding with a feature index.
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "../layout.hpp"
#include "encoding.hpp"
#include "feature_index.hpp"

using namespace nb::literals;

namespace adaptag {
namespace {

using PyLine = std::tuple<int, uint32_t, std::vector<std::tuple<int, int>>>;
using PyColumn = std::tuple<int, std::string, int, std::string>;

Program make_program(const std::vector<PyColumn>& columns, const std::vector<PyLine>& lines,
                     int attribute_skeleton, int attribute_kind, bool wapiti) {
  std::vector<Column> out_columns;
  for (const auto& [source, name, length, pattern] : columns) {
    const auto named = [&name = name](const TransformName& m) { return m.name == name; };
    const auto* macro = std::find_if(std::begin(transform_names), std::end(transform_names), named);
    if (macro == std::end(transform_names) || source < 0 || source > 9999 || length < 0)
      throw std::invalid_argument("template: a macro is out of range");
    out_columns.push_back({source, {macro->transform, length, CellPattern(pattern)}});
  }
  std::vector<Line> out_lines;
  for (const auto& [kind, skeleton, macros] : lines) {
    Line line{kind, skeleton, {}, 0, {}};
    for (const auto& [row, column] : macros) line.macros.push_back({row, column});
    out_lines.push_back(std::move(line));
  }
  return Program(std::move(out_columns), std::move(out_lines), attribute_skeleton, attribute_kind,
                 wapiti);
}

// The macros of templates: (name, what it takes: nothing, a length or a pattern).
nb::list list_macros() {
  constexpr const char* arguments[] = {"", "length", "pattern"};  // by MacroArgument
  nb::list all;
  for (const TransformName& macro : transform_names)
    all.append(nb::make_tuple(nb::str(macro.name.data(), macro.name.size()),
                              arguments[size_t(macro.argument)]));
  return all;
}

}  // namespace
}  // namespace adaptag

void bind_features(nb::module_& m) {
  using namespace adaptag;
  m.def("macros", &list_macros);
  nb::class_<Program>(m, "Program")
      .def(
          "__init__",
          [](Program* self, const std::vector<PyColumn>& columns, const std::vector<PyLine>& lines,
             int attribute_skeleton, int attribute_kind, bool wapiti) {
            new (self)
                Program(make_program(columns, lines, attribute_skeleton, attribute_kind, wapiti));
          },
          "columns"_a, "lines"_a, "attribute_skeleton"_a, "attribute_kind"_a, "wapiti"_a = false)
      .def_ro("arity", &Program::arity);

  nb::class_<PyFeatureIndex>(m, "FeatureIndex")
      .def(nb::init<const Program&, In<uint8_t>, In<uint32_t>, In<uint64_t>, In<uint32_t, 2>,
                    In<uint64_t>, std::array<uint32_t, 3>>(),
           "program"_a, "vocabulary_bytes"_a.noconvert(), "vocabulary_offsets"_a.noconvert(),
           "vocabulary_slots"_a.noconvert(), "derived"_a.noconvert(), "slots"_a.noconvert(),
           "n_of_kind"_a)
      .def(nb::init<const Program&, std::array<uint32_t, 3>>(), "program"_a, "n_of_kind"_a)
      .def("encode_columns", &encode_columns<PyFeatureIndex>, "text"_a.noconvert(),
           "cells"_a.noconvert(), "sentences"_a.noconvert(), "threads"_a = 1)
      .def("encode_attributes", &encode_attributes<PyFeatureIndex>, "text"_a.noconvert(),
           "cells"_a.noconvert(), "values"_a.noconvert(), "positions"_a.noconvert(),
           "sentences"_a.noconvert(), "threads"_a = 1);
}
