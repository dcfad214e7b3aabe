// Online training.
#include "../training.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <mutex>

#include "dataset.hpp"

using namespace nb::literals;

namespace adaptag {
namespace {

nb::list list_algorithms() {
  nb::list all;
  const auto text = [](std::string_view s) { return nb::str(s.data(), s.size()); };
  for (const Declaration& d : declarations()) {
    nb::list parameters, row_state, run_state;
    for (const Parameter& p : d.parameters)
      parameters.append(
          nb::make_tuple(text(p.name), p.initial, text(p.bounds), text(p.help), p.automatic));
    for (const Field& f : d.row_state)
      row_state.append(nb::make_tuple(text(f.name), text(f.dtype)));
    for (const Field& f : d.run_state)
      run_state.append(nb::make_tuple(text(f.name), text(f.dtype)));
    nb::dict declaration;
    declaration["name"] = text(d.name);
    declaration["objective"] = text(d.objective);
    declaration["advice"] = text(d.advice);
    declaration["passes"] = d.passes;
    declaration["parameters"] = parameters;
    declaration["row_state"] = row_state;
    declaration["run_state"] = run_state;
    declaration["per_weight_state"] = text(d.per_weight_state);
    declaration["looks_ahead"] = d.looks_ahead;
    all.append(declaration);
  }
  return all;
}

nb::tuple as_tuple(const Totals& totals) {
  return nb::make_tuple(totals.loss, totals.expected_correct, totals.tokens);
}

// One run of one algorithm on arrays that stay Python's: weights, per-weight state, row state and
// run state.
class PyTraining {
 public:
  PyTraining(std::string_view name, const Layout& layout, const PyDataset& dataset,
             const std::vector<double>& values, Out<float> weights, Out<float> per_weight_state,
             Out<uint8_t> row_state, Out<uint8_t> run_state, std::optional<size_t> n, int threads,
             bool lock_free)
      : layout_(layout), arrays_{weights, per_weight_state, row_state, run_state} {
    dataset.check(layout);
    dataset.check_labelled();
    if (threads < 1 || threads > 4096) throw std::invalid_argument("threads: allowed: 1 to 4096");
    training_ = make_training(name, values, layout, dataset.data, n.value_or(dataset.data.size()),
                              {{weights.data(), weights.size()},
                               {per_weight_state.data(), per_weight_state.size()},
                               {row_state.data(), row_state.size()},
                               {run_state.data(), run_state.size()}},
                              threads, lock_free);
  }

  nb::tuple run(const PyDataset& dataset, In<uint32_t> order, std::optional<Out<int32_t>> best) {
    dataset.check(layout_);
    dataset.check_labelled();
    for (const uint32_t i : span(order))
      if (i >= dataset.data.size()) throw std::invalid_argument("order: no such sentence");
    if (best && best->size() != dataset.data.positions.size() - 1)
      throw std::invalid_argument("best: a place is needed for each token");
    Totals totals;
    {
      nb::gil_scoped_release release;
      const std::lock_guard lock(mutex_);
      totals = training_->run(dataset.data, span(order), best ? best->data() : nullptr);
    }
    return as_tuple(totals);
  }
  size_t batch() const { return training_->batch(); }
  void sync() {
    nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    training_->sync();
  }
  void read(Out<float> out) {
    check_weights(layout_, out.size());
    nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    training_->read(out.data());
  }

 private:
  Layout layout_;
  std::tuple<Out<float>, Out<float>, Out<uint8_t>, Out<uint8_t>> arrays_;
  std::unique_ptr<Training> training_;
  std::mutex mutex_;  // a run keeps working memory, so it serves one thread at a time
};

}  // namespace
}  // namespace adaptag

void bind_training(nb::module_& m) {
  using namespace adaptag;
  m.def("algorithms", &list_algorithms);

  nb::class_<PyTraining>(m, "Training")
      .def(nb::init<std::string_view, const Layout&, const PyDataset&, const std::vector<double>&,
                    Out<float>, Out<float>, Out<uint8_t>, Out<uint8_t>, std::optional<size_t>, int,
                    bool>(),
           "algorithm"_a, "layout"_a, "dataset"_a, "values"_a, "weights"_a.noconvert(),
           "per_weight_state"_a.noconvert(), "row_state"_a.noconvert(), "run_state"_a.noconvert(),
           "n"_a.none(), "threads"_a, "lock_free"_a, nb::keep_alive<1, 4>())
      .def("run", &PyTraining::run, "dataset"_a, "order"_a.noconvert(),
           "best"_a.noconvert().none() = nb::none())
      .def_prop_ro("batch", &PyTraining::batch)
      .def("sync", &PyTraining::sync)
      .def("read", &PyTraining::read, "out"_a.noconvert());
}
