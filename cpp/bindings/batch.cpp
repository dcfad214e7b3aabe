// Batch training: the objective, and the vector work of L-BFGS and OWL-QN.
#include <nanobind/stl/optional.h>

#include <mutex>

#include "../batch_objective.hpp"
#include "../quasi_newton.hpp"
#include "dataset.hpp"
#include "signals.hpp"

using namespace nb::literals;

namespace adaptag {
namespace {

void check_threads(int threads) {
  if (threads < 1) throw std::invalid_argument("threads: at least 1 is needed");
}

class PyObjective {
 public:
  PyObjective(const Layout& layout, const PyDataset& dataset)
      : layout_(layout), objective_(checked(layout, dataset), dataset.data) {}

  // Σ −log P(y | x), Σ P(gold label), the tokens and how many sentences were done in log space; the
  // gradient is added to, where one is given.
  nb::tuple evaluate(In<float> weights, std::optional<Out<float>> gradient, int threads) {
    check_weights(layout_, weights.size());
    if (gradient) check_weights(layout_, gradient->size());
    check_threads(threads);
    Totals totals;
    Signals signals;
    {
      nb::gil_scoped_release release;
      const std::lock_guard lock(mutex_);
      totals = objective_(weights.data(), gradient ? gradient->data() : nullptr, threads,
                          [&] { signals.go_on(0); });
    }
    return nb::make_tuple(totals.loss, totals.expected_correct, totals.tokens, totals.in_log_space);
  }

 private:
  static const Layout& checked(const Layout& layout, const PyDataset& dataset) {
    dataset.check(layout);
    dataset.check_labelled();
    return layout;
  }

  Layout layout_;
  BatchObjective objective_;
  std::mutex mutex_;  // the first evaluation lists the rows of blocks
};

// The vector work on pairs [2m, n] of steps and changes of the gradient, which stay Python's.
class PyQuasiNewton {
 public:
  PyQuasiNewton(const Layout& layout, Out<float, 2> pairs, int threads)
      : layout_(layout), pairs_(pairs), work_(layout, threads) {
    check_threads(threads);
    if (pairs.shape(0) < 2 || pairs.shape(0) % 2 != 0 || pairs.shape(1) != work_.n_packed())
      throw std::invalid_argument("pairs: the shape must be 2 · memory, weights without padding");
  }

  auto add_pair(In<float> x, In<float> x_new, In<float> gradient, float l1) {
    check(x, x_new, gradient);
    std::vector<double> dots;
    {
      nb::gil_scoped_release release;
      dots = work_.add_pair(x.data(), x_new.data(), gradient.data(), l1, memory());
    }
    return numpy(std::move(dots), {pairs_.shape(0) + 1, 2});
  }

  double aim(In<float> x, In<float> gradient, float l1, In<double> coefficients) {
    check(x, gradient);
    if (coefficients.size() != pairs_.shape(0) + 1)
      throw std::invalid_argument("coefficients: one is needed for each vector and the gradient");
    nb::gil_scoped_release release;
    return work_.aim(x.data(), gradient.data(), l1, span(coefficients), memory());
  }

  nb::tuple walk(In<float> x, float length, float l1, float decay, Out<float> x_new,
                 Out<float> gradient) {
    check(x, x_new, gradient);
    std::vector<double> sums;
    {
      nb::gil_scoped_release release;
      sums = work_.walk(x.data(), length, l1, decay, x_new.data(), gradient.data(), memory());
    }
    return nb::make_tuple(sums[0], sums[1]);
  }

  double slope(In<float> gradient) {
    check(gradient);
    nb::gil_scoped_release release;
    return work_.slope(gradient.data(), memory());
  }

  size_t next() const { return next_; }
  void set_next(size_t next) {
    if (next >= pairs_.shape(0) / 2) throw std::invalid_argument("next: no such pair");
    next_ = next;
    used_ = std::max(used_, next + 1);
  }

 private:
  template <class... A>
  void check(const A&... vectors) const {
    (check_weights(layout_, vectors.size()), ...);
  }
  PairMemory memory() const {
    return {pairs_.data(), pairs_.shape(0) / 2, pairs_.shape(1), next_, used_};
  }

  Layout layout_;
  Out<float, 2> pairs_;
  VectorWork work_;
  size_t next_ = 0, used_ = 1;
};

}  // namespace
}  // namespace adaptag

void bind_batch(nb::module_& m) {
  using namespace adaptag;
  nb::class_<PyObjective>(m, "Objective")
      .def(nb::init<const Layout&, const PyDataset&>(), "layout"_a, "dataset"_a,
           nb::keep_alive<1, 3>())
      .def("__call__", &PyObjective::evaluate, "weights"_a.noconvert(),
           "gradient"_a.noconvert().none(), "threads"_a);

  nb::class_<PyQuasiNewton>(m, "QuasiNewton")
      .def(nb::init<const Layout&, Out<float, 2>, int>(), "layout"_a, "pairs"_a.noconvert(),
           "threads"_a)
      .def_prop_rw("next", &PyQuasiNewton::next, &PyQuasiNewton::set_next)
      .def("add_pair", &PyQuasiNewton::add_pair, "x"_a.noconvert(), "x_new"_a.noconvert(),
           "gradient"_a.noconvert(), "l1"_a)
      .def("aim", &PyQuasiNewton::aim, "x"_a.noconvert(), "gradient"_a.noconvert(), "l1"_a,
           "coefficients"_a.noconvert())
      .def("walk", &PyQuasiNewton::walk, "x"_a.noconvert(), "length"_a, "l1"_a, "decay"_a,
           "x_new"_a.noconvert(), "gradient"_a.noconvert())
      .def("slope", &PyQuasiNewton::slope, "gradient"_a.noconvert());
}
