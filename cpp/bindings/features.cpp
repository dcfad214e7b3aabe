// Templates, and encoding with a feature index.
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "../layout.hpp"
#include "../ranges.hpp"
#include "feature_index.hpp"

using namespace nb::literals;

namespace adaptag {
namespace {

using PyLine = std::tuple<int, uint32_t, std::vector<std::tuple<int, int>>>;
using PyColumn = std::tuple<int, std::string, int>;

Program make_program(const std::vector<PyColumn>& columns, const std::vector<PyLine>& lines,
                     int attribute_skeleton, int attribute_kind) {
  std::vector<Column> out_columns;
  for (const auto& [source, name, length] : columns) {
    const auto* macro = std::find_if(std::begin(transform_names), std::end(transform_names),
                                     [&](const TransformName& m) { return m.name == name; });
    if (macro == std::end(transform_names) || source < 0 || source > 9999 || length < 0)
      throw std::invalid_argument("template: a macro is out of range");
    out_columns.push_back({source, macro->transform, length});
  }
  std::vector<Line> out_lines;
  for (const auto& [kind, skeleton, macros] : lines) {
    Line line{kind, skeleton, {}, 0, {}};
    for (const auto& [row, column] : macros) line.macros.push_back({row, column});
    out_lines.push_back(std::move(line));
  }
  return Program(std::move(out_columns), std::move(out_lines), attribute_skeleton, attribute_kind);
}

// The macros of templates: (name, whether it takes a length).
nb::list list_macros() {
  nb::list all;
  for (const TransformName& macro : transform_names)
    all.append(nb::make_tuple(nb::str(macro.name.data(), macro.name.size()), macro.takes_length));
  return all;
}

// Encodes ranges of sentences in n threads, encode(sentence, scratch) one of them, and puts what
// they found together.
template <class Encode>
FeatureIndex::Scratch encode_ranges(std::span<const int64_t> sentences, int n, Encode&& encode) {
  std::vector<FeatureIndex::Scratch> parts(n);
  for_sentence_ranges(sentences, n, [&](int k, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) encode(i, parts[k]);
  });
  std::vector<size_t> tokens{0}, features{0};
  size_t n_values = 0;  // none for columns, else one for each feature
  for (const auto& part : parts) {
    tokens.push_back(tokens.back() + part.offsets.size());
    features.push_back(features.back() + part.predicates.size());
    n_values += part.values.size();
  }
  FeatureIndex::Scratch out;
  out.offsets.resize(tokens.back() + 1);
  out.offsets[0] = 0;
  if (n == 1) {
    out.predicates = std::move(parts[0].predicates);
    out.values = std::move(parts[0].values);
  } else {
    out.predicates.resize(features.back());
    out.values.resize(n_values);
  }
  in_parallel(n, [&](int k) {
    const auto& part = parts[k];
    std::copy(part.predicates.begin(), part.predicates.end(), out.predicates.begin() + features[k]);
    std::copy(part.values.begin(), part.values.end(), out.values.begin() + features[k]);
    for (size_t t = 0; t < part.offsets.size(); ++t)
      out.offsets[tokens[k] + t + 1] = int64_t(features[k]) + part.offsets[t];
  });
  return out;
}

nb::tuple encode_columns(const PyFeatureIndex& self, In<uint8_t> text, In<uint32_t, 3> cells,
                         In<int64_t> sentences, int threads) {
  const CellView cell(text, cells);
  check_columns(self.index.program(), cell.n_columns(), cells.shape(0));
  Dataset::check_offsets(span(sentences), cells.shape(0), "sentence");
  FeatureIndex::Scratch out;
  {
    nb::gil_scoped_release release;
    out = encode_ranges(span(sentences), threads, [&](size_t i, FeatureIndex::Scratch& s) {
      const int64_t first = sentences.data()[i];
      self.index.encode(
          int(sentences.data()[i + 1] - first),
          [&](int t, int column) { return cell(first + t, column); }, s);
    });
  }
  return nb::make_tuple(numpy(std::move(out.offsets)), numpy(std::move(out.predicates)));
}

nb::tuple encode_attributes(const PyFeatureIndex& self, In<uint8_t> text, In<uint32_t, 3> cells,
                            In<float> values, In<int64_t> positions, In<int64_t> sentences,
                            int threads) {
  const CellView cell(text, cells);
  Dataset::check_offsets(span(positions), cells.shape(0), "position");
  Dataset::check_offsets(span(sentences), positions.size() - 1, "sentence");
  if (values.size() != cells.shape(0)) throw std::invalid_argument("one value for each attribute");
  if (self.index.program().attribute_skeleton < 0)
    throw std::invalid_argument("the template is for columns, not for attributes");
  FeatureIndex::Scratch out;
  {
    nb::gil_scoped_release release;
    out = encode_ranges(span(sentences), threads, [&](size_t i, FeatureIndex::Scratch& s) {
      const int64_t first = sentences.data()[i];
      self.index.encode_attributes(
          int(sentences.data()[i + 1] - first), positions.data() + first,
          [&](int64_t k) { return cell(k, 0); }, values.data(), s);
    });
  }
  return nb::make_tuple(numpy(std::move(out.offsets)), numpy(std::move(out.predicates)),
                        numpy(std::move(out.values)));
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
             int attribute_skeleton, int attribute_kind) {
            new (self) Program(make_program(columns, lines, attribute_skeleton, attribute_kind));
          },
          "columns"_a, "lines"_a, "attribute_skeleton"_a, "attribute_kind"_a)
      .def_ro("arity", &Program::arity);

  nb::class_<PyFeatureIndex>(m, "FeatureIndex")
      .def(nb::init<const Program&, In<uint8_t>, In<uint32_t>, In<uint64_t>, In<uint32_t, 2>,
                    In<uint64_t>, std::array<uint32_t, 3>>(),
           "program"_a, "vocabulary_bytes"_a.noconvert(), "vocabulary_offsets"_a.noconvert(),
           "vocabulary_slots"_a.noconvert(), "derived"_a.noconvert(), "slots"_a.noconvert(),
           "n_of_kind"_a)
      .def(nb::init<const Program&, std::array<uint32_t, 3>>(), "program"_a, "n_of_kind"_a)
      .def("encode_columns", &encode_columns, "text"_a.noconvert(), "cells"_a.noconvert(),
           "sentences"_a.noconvert(), "threads"_a = 1)
      .def("encode_attributes", &encode_attributes, "text"_a.noconvert(), "cells"_a.noconvert(),
           "values"_a.noconvert(), "positions"_a.noconvert(), "sentences"_a.noconvert(),
           "threads"_a = 1);
}
