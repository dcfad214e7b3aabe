// Compact models: how their tables are built, looked into and encoded with.
#include "compact.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/tuple.h>

#include "../compact_builder.hpp"
#include "encoding.hpp"

using namespace nb::literals;

namespace adaptag {
namespace {

auto fingerprints_of(In<uint8_t> bytes, In<uint32_t> offsets, In<uint32_t, 2> keys) {
  return numpy(compact_fingerprints({span(bytes), span(offsets), {}}, span(keys), keys.shape(1)));
}

nb::tuple build(In<uint64_t> fingerprints, In<int64_t> offsets, In<int32_t> previous,
                In<int32_t> labels, In<float> values, int n_labels, int value_size, int exponent) {
  if (offsets.size() != fingerprints.size() + 1 || previous.size() != labels.size() ||
      values.size() != labels.size())
    throw std::invalid_argument("compact: the arrays differ in length");
  Dataset::check_offsets(span(offsets), values.size(), "entry");
  for (size_t e = 0; e < labels.size(); ++e)
    if (labels.data()[e] < 0 || labels.data()[e] >= n_labels || previous.data()[e] < -1 ||
        previous.data()[e] >= n_labels)
      throw std::invalid_argument("compact: a label is out of range");
  CompactBuilder builder(
      {span(fingerprints), span(offsets), span(previous), span(labels), span(values)}, n_labels,
      value_size, exponent);
  {
    nb::gil_scoped_release release;
    builder.build();
  }
  return nb::make_tuple(numpy(std::move(builder.buckets)), numpy(std::move(builder.rows)));
}

// The weights of features first … last − 1: (feature, previous label or −1, label, weight).
nb::tuple weights(const PyCompactModel& self, uint32_t first, uint32_t last) {
  const auto n = self.index.n_of_kind();
  if (first > last || last > n[0] + n[1] + n[2])
    throw std::invalid_argument("compact: the features are out of range");
  std::vector<uint32_t> features;
  std::vector<int32_t> previous, labels;
  std::vector<float> values;
  for (uint32_t f = first; f < last; ++f)
    self.index.weights_of(f, [&](int i, int j, float value) {
      features.push_back(f);
      previous.push_back(i);
      labels.push_back(j);
      values.push_back(value);
    });
  return nb::make_tuple(numpy(std::move(features)), numpy(std::move(previous)),
                        numpy(std::move(labels)), numpy(std::move(values)));
}

}  // namespace
}  // namespace adaptag

void bind_compact(nb::module_& m) {
  using namespace adaptag;
  m.def("compact_fingerprints", &fingerprints_of, "vocabulary_bytes"_a.noconvert(),
        "vocabulary_offsets"_a.noconvert(), "keys"_a.noconvert());
  m.def("build_compact", &build, "fingerprints"_a.noconvert(), "offsets"_a.noconvert(),
        "previous"_a.noconvert(), "labels"_a.noconvert(), "values"_a.noconvert(), "n_labels"_a,
        "value_size"_a, "exponent"_a);
  nb::class_<PyCompactModel>(m, "CompactModel")
      .def(nb::init<const Program&, In<uint32_t>, In<uint8_t>, int, int, int>(), "program"_a,
           "buckets"_a.noconvert(), "rows"_a.noconvert(), "n_labels"_a, "value_size"_a,
           "exponent"_a)
      .def_prop_ro("n_of_kind", [](const PyCompactModel& self) { return self.index.n_of_kind(); })
      .def(
          "find",
          [](const PyCompactModel& self, In<uint64_t> fingerprints) {
            return numpy(self.index.find(span(fingerprints)));
          },
          "fingerprints"_a.noconvert())
      .def("weights", &weights, "first"_a, "last"_a)
      .def("encode_columns", &encode_columns<PyCompactModel>, "text"_a.noconvert(),
           "cells"_a.noconvert(), "sentences"_a.noconvert(), "threads"_a = 1)
      .def("encode_attributes", &encode_attributes<PyCompactModel>, "text"_a.noconvert(),
           "cells"_a.noconvert(), "values"_a.noconvert(), "positions"_a.noconvert(),
           "sentences"_a.noconvert(), "threads"_a = 1);
}
