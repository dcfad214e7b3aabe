// Passive-aggressive: the smallest change that gives the sentence its margin.
// Crammer, Dekel, Keshet, Shalev-Shwartz, Singer (2006); He, Wang (2012), equations 2 to 6.
//
//   ŷ = argmax s(y | x_i) + Hamming(y_i, y),   Δ = φ(x_i, y_i) − φ(x_i, ŷ),
//   ℓ = Hamming(y_i, ŷ) − wᵀΔ,                 w ← w + τΔ,
//   τ = min(C, ℓ / ‖Δ‖²)  (PA-I),   ℓ / ‖Δ‖²  (PA),   ℓ / (‖Δ‖² + 1/(2C))  (PA-II)
//
// Gives the mean of the weights after every update.
#pragma once

#include "average.hpp"

namespace adaptag {

class Pa {
 public:
  static constexpr Hooks hooks{.sparse_direction = true, .step = true};
  using RowState = Average::RowState;
  using RunState = Average::RunState;

  static Declaration declaration() {
    return {
        "pa",
        "the hinge loss with Hamming cost; the weights are averaged over all updates",
        "Large margins without a learning rate; fast passes. Its probabilities are not calibrated.",
        10,
        {{"aggressiveness", 0.1, "(0, inf)",
          "C: the maximum step length (pa-1); larger values damp steps less (pa-2)"},
         {"variant", 0, "pa-1 | pa | pa-2",
          "step length: limited by C (pa-1), not limited (pa), or damped by C (pa-2)"},
         batch_parameter},
        Average::row_fields(),
        Average::run_fields(),
        "sum"};
  }

  Pa(const Values& values, const Task& task, State<RowState, RunState> state)
      : c_(values["aggressiveness"]),
        variant_(values.choice<Variant>("variant")),
        average_(task.layout, state) {}

  void begin_update(size_t) { average_.begin_update(); }
  void end_update() { average_.end_update(); }
  void prefetch(uint32_t id) const { average_.prefetch(id); }

  template <int W>
  Margin direction(Lattice<W>& lattice, const int32_t* gold) {
    return margin_direction(lattice, gold, 1);
  }

  // ‖Δ‖²
  template <class Ops, int W>
  double squared_length(const Ops&, const Gathered<W>& delta) const {
    return delta.squared_norm();
  }
  Step step(const Margin& margin, double norm) const {
    const double loss = margin.loss;  // ℓ
    if (!(loss > 0 && norm > 0)) return {};
    if (variant_ == pa_2) return {float(loss / (norm + 1 / (2 * c_)))};
    return {float(variant_ == pa ? loss / norm : std::min(c_, loss / norm))};
  }

  template <class Ops>
  void update(const Ops& ops, uint32_t id, size_t i, const float* delta, int n, Step step) {
    average_.add(ops, id, i, delta, n, step.weights);
  }

  template <class Ops>
  void read_row(const Ops& ops, uint32_t id, size_t i, int n, float* out) const {
    average_.read_row(ops, id, i, n, out);
  }

 private:
  enum Variant { pa_1, pa, pa_2 };

  const double c_;
  const Variant variant_;
  Average average_;
};

}  // namespace adaptag
