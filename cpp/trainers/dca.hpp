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
  using Row = Average::Row;
  using Clock = Average::Clock;

  static Declaration declaration() {
    return {"dca",
            "conditional likelihood, each step as long as the sentence's loss asks for; gives the "
            "mean of all weights on the way",
            "Robust without tuning: there is no learning rate.",
            10,
            {{"aggressiveness", 1.0, "(0, inf)", "largest step C"}, batch_parameter},
            Average::row_fields(),
            Average::clock_fields(),
            "sum"};
  }

  Dca(Values v, const Task& task, State<Row, Clock> state)
      : c_(v[0]), average_(task.layout, state) {}

  void begin(size_t) { average_.begin(); }
  void end() { average_.end(); }
  void prefetch(uint32_t id) const { average_.prefetch(id); }

  template <int W>
  Totals direction(Lattice<W>& lattice, const int32_t* gold) {
    const Totals totals = likelihood_gradient(lattice, gold);
    loss_ = totals.loss;
    return totals;
  }

  template <class Ops, int W>
  Step step(const Ops&, const Gathered<W>& gradient) const {
    const double norm = gradient.squared_norm();
    return {norm > 0 && loss_ > 0 ? float(std::min(c_, loss_ / norm)) : 0.0f};
  }

  template <class Ops>
  void update(const Ops& ops, uint32_t id, size_t i, const float* gradient, int n, Step step) {
    average_.add(ops, id, i, gradient, n, step.weights);
  }

  template <class Ops>
  void read(const Ops& ops, uint32_t id, size_t i, int n, float* out) const {
    average_.read(ops, id, i, n, out);
  }

 private:
  const double c_;
  Average average_;
  double loss_ = 0;  // L of the sentence at hand
};

}  // namespace adaptag
