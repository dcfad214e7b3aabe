// Building a feature index from data, whole or part by part.
#include "../index_builder.hpp"

#include <nanobind/stl/array.h>

#include <mutex>

#include "../layout.hpp"
#include "feature_index.hpp"

using namespace nb::literals;

namespace adaptag {
namespace {

void check_width(const Program& program, const In<uint32_t, 2>& keys) {
  if (keys.shape(1) != size_t(program.arity) + 1)
    throw std::invalid_argument("index: the keys do not fit the template");
}

// Locked while it works: some of its methods run without the GIL, and all of them change it or copy
// it. The lock is released before the GIL is taken again.
struct PyIndexBuilder {
  explicit PyIndexBuilder(const Program& p) : program(p), builder(p) {}
  PyIndexBuilder(const Program& p, In<uint8_t> bytes, In<uint32_t> offsets, In<uint32_t, 2> derived,
                 In<uint32_t, 2> keys, std::array<uint32_t, 3> n_of_kind)
      : program(p),
        builder(p, {span(bytes), span(offsets), {}}, span(derived), span(keys), n_of_kind) {}

  void add_columns(In<uint8_t> text, In<uint32_t, 3> cells, In<int64_t> sentences, int threads) {
    const CellView cell(text, cells);
    check_columns(program, cell.n_columns(), cells.shape(0));
    Dataset::check_offsets(span(sentences), cells.shape(0), "sentence");
    adding([&] { builder.add(span(sentences), cell, threads); });
  }
  void add_attributes(In<uint8_t> text, In<uint32_t, 3> cells, In<float> values,
                      In<int64_t> positions, In<int64_t> sentences, int threads) {
    const CellView cell(text, cells);
    Dataset::check_offsets(span(positions), cells.shape(0), "position");
    Dataset::check_offsets(span(sentences), positions.size() - 1, "sentence");
    if (values.size() != cells.shape(0))
      throw std::invalid_argument("one value for each attribute");
    adding([&] {
      builder.add_attributes(
          span(sentences), span(positions), [&](int64_t k) { return cell(k, 0); }, span(values),
          threads);
    });
  }
  // The data added since the last call, numbered for a layout with this capacity of each kind.
  nb::tuple take(const std::array<uint32_t, 3>& capacity) {
    const std::lock_guard lock(mutex);
    const auto counts = builder.counts();
    for (int kind = 0; kind < 3; ++kind)
      if (counts[kind] > capacity[kind]) throw std::invalid_argument("capacity: too small");
    builder.number_for_capacity(capacity);
    auto out = nb::make_tuple(numpy(std::move(builder.data.positions)),
                              numpy(std::move(builder.data.predicates)),
                              numpy(std::move(builder.data.values)));
    builder.clear_data();
    return out;
  }
  // The index as it is now; the builder can grow further.
  nb::dict snapshot() {
    IndexBuilder copy = locked_copy();
    copy.clear_data();
    copy.mark_all_as_old();
    copy.freeze(1, {1, 1.0});
    return tables(copy);
  }
  nb::dict freeze(uint32_t cutoff, uint32_t edge_cutoff, double edge_share) {
    {
      nb::gil_scoped_release release;
      const std::lock_guard lock(mutex);
      builder.freeze(cutoff, {edge_cutoff, edge_share});
    }
    return with_data(tables(builder), builder);
  }

  // What was counted, and the data in the numbers of first appearance. The builder begins anew.
  nb::dict take_counts() {
    PredicateCounts counts;
    IndexBuilder taken(program);
    {
      nb::gil_scoped_release release;
      const std::lock_guard lock(mutex);
      std::swap(taken, builder);
      counts = taken.take_counts();
    }
    nb::dict out = strings(taken);
    const size_t P = counts.kinds.size();
    out["keys"] = numpy(std::move(counts.keys), {P, size_t(program.arity) + 1});
    out["kinds"] = numpy(std::move(counts.kinds));
    out["counts"] = numpy(std::move(counts.counts));
    return with_data(out, taken);
  }
  // The numbers of strings that another builder has counted, of a later part of the data.
  auto add_strings(In<uint8_t> bytes, In<uint32_t> offsets, In<uint32_t, 2> derived) {
    nb::gil_scoped_release release;
    const std::lock_guard lock(mutex);
    return builder.add_strings({span(bytes), span(offsets), {}}, span(derived));
  }
  // Adds new predicates; the first n_old of all are treated as those of an index to start from.
  void add_counted(In<uint32_t, 2> keys, In<uint8_t> kinds, In<uint32_t> counts, size_t n_old) {
    if (keys.shape(0) != kinds.size() || kinds.size() != counts.size())
      throw std::invalid_argument("one kind and one count for each key");
    check_width(program, keys);
    nb::gil_scoped_release release;
    const std::lock_guard lock(mutex);
    builder.add_counted(span(keys), span(kinds), span(counts));
    builder.mark_as_old(n_old);
  }

  // Moves the strings of a builder to Python.
  nb::dict strings(IndexBuilder& builder) const {
    nb::dict out;
    const size_t V = builder.vocabulary().size();
    out["derived"] = numpy(std::move(builder.derived), {program.columns.size(), V});
    out["vocabulary_bytes"] = numpy(std::move(builder.vocabulary().bytes));
    out["vocabulary_offsets"] = numpy(std::move(builder.vocabulary().offsets));
    out["vocabulary_slots"] = numpy(std::move(builder.vocabulary().slots));
    return out;
  }
  // Adds the encoded data of a builder, which is moved to Python.
  static nb::dict with_data(nb::dict out, IndexBuilder& builder) {
    out["positions"] = numpy(std::move(builder.data.positions));
    out["predicates"] = numpy(std::move(builder.data.predicates));
    out["values"] = numpy(std::move(builder.data.values));
    return out;
  }
  // Moves the tables of a frozen builder to Python.
  nb::dict tables(IndexBuilder& builder) const {
    nb::dict out = strings(builder);
    out["n_of_kind"] =
        nb::make_tuple(builder.n_of_kind[0], builder.n_of_kind[1], builder.n_of_kind[2]);
    const size_t P = builder.keys.size() / (size_t(program.arity) + 1);
    out["slots"] = numpy(std::move(builder.slots));
    out["keys"] = numpy(std::move(builder.keys), {P, size_t(program.arity) + 1});
    return out;
  }

  std::array<uint32_t, 3> counts() {
    const std::lock_guard lock(mutex);
    return builder.counts();
  }
  void limit(size_t n) {
    const std::lock_guard lock(mutex);
    builder.limit(n);
  }

  // Adds data; where that fails, no data is left that was encoded only in part.
  template <class F>
  void adding(F&& add) {
    nb::gil_scoped_release release;
    const std::lock_guard lock(mutex);
    try {
      add();
    } catch (...) {
      builder.clear_data();
      throw;
    }
  }

  IndexBuilder locked_copy() {
    const std::lock_guard lock(mutex);
    return builder;
  }

  Program program;
  IndexBuilder builder;
  std::mutex mutex;
};

// Keys with other numbers of their strings, and their fingerprints.
nb::tuple renumber_keys(const Program& program, In<uint32_t, 2> keys, In<uint32_t> numbers) {
  check_width(program, keys);
  std::pair<LargeVector<uint32_t>, LargeVector<uint64_t>> out;
  {
    nb::gil_scoped_release release;
    out = StoredKeys(program).renumber(span(keys), span(numbers));
  }
  return nb::make_tuple(numpy(std::move(out.first), {keys.shape(0), keys.shape(1)}),
                        numpy(std::move(out.second)));
}

// The numbers of keys in an index with these tables.
auto find_keys(const Program& program, In<uint32_t, 2> keys, In<uint64_t> slots,
               In<uint32_t, 2> stored) {
  check_width(program, keys);
  check_width(program, stored);
  if (slots.size() == 0 || (slots.size() & (slots.size() - 1)) != 0)
    throw std::invalid_argument("index: a table's size is not a power of two");
  LargeVector<uint32_t> numbers;
  {
    nb::gil_scoped_release release;
    numbers = StoredKeys(program).find(span(keys), span(slots), span(stored));
  }
  return numpy(std::move(numbers));
}

// Encoded data with other numbers of its predicates; those that are unknown are dropped.
nb::tuple renumber_data(In<int64_t> positions, In<uint32_t> predicates, In<float> values,
                        In<uint32_t> numbers, const std::array<uint32_t, 3>& n_of_kind) {
  Dataset::check_offsets(span(positions), predicates.size(), "position");
  if (values.size() != 0 && values.size() != predicates.size())
    throw std::invalid_argument("one value for each predicate");
  EncodedArrays data;
  {
    nb::gil_scoped_release release;
    data.positions.assign(positions.data(), positions.data() + positions.size());
    data.predicates.assign(predicates.data(), predicates.data() + predicates.size());
    data.values.assign(values.data(), values.data() + values.size());
    for (const uint32_t id : data.predicates)
      if (id >= numbers.size()) throw std::invalid_argument("a predicate is out of range");
    data.parts.push_back({0, data.n_tokens()});
    data.renumber({n_of_kind[0], n_of_kind[0] + n_of_kind[1]}, true,
                  [&](uint32_t id) { return numbers.data()[id]; });
  }
  return nb::make_tuple(numpy(std::move(data.positions)), numpy(std::move(data.predicates)),
                        numpy(std::move(data.values)));
}

}  // namespace
}  // namespace adaptag

void bind_index_builder(nb::module_& m) {
  using namespace adaptag;
  nb::class_<PyIndexBuilder>(m, "IndexBuilder")
      .def(nb::init<const Program&>(), "program"_a)
      .def(nb::init<const Program&, In<uint8_t>, In<uint32_t>, In<uint32_t, 2>, In<uint32_t, 2>,
                    std::array<uint32_t, 3>>(),
           "program"_a, "vocabulary_bytes"_a.noconvert(), "vocabulary_offsets"_a.noconvert(),
           "derived"_a.noconvert(), "keys"_a.noconvert(), "n_of_kind"_a)
      .def("add_columns", &PyIndexBuilder::add_columns, "text"_a.noconvert(), "cells"_a.noconvert(),
           "sentences"_a.noconvert(), "threads"_a = 1)
      .def("add_attributes", &PyIndexBuilder::add_attributes, "text"_a.noconvert(),
           "cells"_a.noconvert(), "values"_a.noconvert(), "positions"_a.noconvert(),
           "sentences"_a.noconvert(), "threads"_a = 1)
      .def("limit", &PyIndexBuilder::limit, "n"_a)
      .def_prop_ro("counts", &PyIndexBuilder::counts)
      .def("take", &PyIndexBuilder::take, "capacity"_a)
      .def("snapshot", &PyIndexBuilder::snapshot)
      .def("take_counts", &PyIndexBuilder::take_counts)
      .def(
          "add_strings",
          [](PyIndexBuilder& self, In<uint8_t> bytes, In<uint32_t> offsets,
             In<uint32_t, 2> derived) { return numpy(self.add_strings(bytes, offsets, derived)); },
          "vocabulary_bytes"_a.noconvert(), "vocabulary_offsets"_a.noconvert(),
          "derived"_a.noconvert())
      .def("add_counted", &PyIndexBuilder::add_counted, "keys"_a.noconvert(), "kinds"_a.noconvert(),
           "counts"_a.noconvert(), "n_old"_a = 0)
      .def("freeze", &PyIndexBuilder::freeze, "cutoff"_a, "edge_cutoff"_a, "edge_share"_a);
  m.def("renumber_keys", &renumber_keys, "program"_a, "keys"_a.noconvert(),
        "numbers"_a.noconvert());
  m.def("find_keys", &find_keys, "program"_a, "keys"_a.noconvert(), "slots"_a.noconvert(),
        "stored"_a.noconvert());
  m.def("renumber_data", &renumber_data, "positions"_a.noconvert(), "predicates"_a.noconvert(),
        "values"_a.noconvert(), "numbers"_a.noconvert(), "n_of_kind"_a);
}
