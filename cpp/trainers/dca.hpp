// Dual coordinate ascent with the loss of the CRF.
// Martins et al. (2010); He, Wang (2012), equations 8 and 9.
//
//   L = −log P(y_i | x_i),   w ← w − η ∇L,   η = min(C, L / ‖∇L‖²)
//
// Gives the mean of the weights after every update.
#pragma once

#include "average.hpp"

namespace adaptag {

class Dca {
 public:
  static constexpr Hooks hooks{.step = true};
  using RowState = Average::RowState;
  using RunState = Average::RunState;

  static Declaration declaration() {
    return {
        "dca",
        "conditional likelihood, with a step length computed from the loss of each sentence; the "
        "weights are averaged over all updates",
        "Robust without tuning: there is no learning rate.",
        10,
        {{"aggressiveness", 1.0, "(0, inf)", "maximum step length C"}, batch_parameter},
        Average::row_fields(),
        Average::run_fields(),
        "sum"};
  }

  Dca(const Values& values, const Task& task, State<RowState, RunState> state)
      : c_(values["aggressiveness"]), average_(task.layout, state) {}

  void begin_update(size_t) { average_.begin_update(); }
  void end_update() { average_.end_update(); }
  void prefetch(uint32_t id) const { average_.prefetch(id); }

  template <int W>
  Totals direction(Lattice<W>& lattice, const int32_t* gold) {
    return likelihood_gradient(lattice, gold);
  }

  // ‖∇L‖²
  template <class Ops, int W>
  double squared_length(const Ops&, const Gathered<W>& gradient) const {
    return gradient.squared_norm();
  }
  Step step(const Totals& totals, double norm) const {
    const double loss = totals.loss;  // L
    return {norm > 0 && loss > 0 ? float(std::min(c_, loss / norm)) : 0.0f};
  }

  template <class Ops>
  void update(const Ops& ops, uint32_t id, size_t i, const float* gradient, int n, Step step) {
    average_.add(ops, id, i, gradient, n, step.weights);
  }

  template <class Ops>
  void read_row(const Ops& ops, uint32_t id, size_t i, int n, float* out) const {
    average_.read_row(ops, id, i, n, out);
  }

 private:
  const double c_;
  Average average_;
};

}  // namespace adaptag
