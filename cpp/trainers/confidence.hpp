// Weights as a Gaussian with a diagonal covariance Σ: what CW and AROW share.
//
//   ŷ = argmax s(y | x_i) + Hamming(y_i, y),   Δ = φ(x_i, y_i) − φ(x_i, ŷ),
//   M = wᵀΔ,   V = ΔᵀΣΔ,   w ← w + αΣΔ,   Σ⁻¹ ← Σ⁻¹ + κ diag(Δ²)
//
// The rules differ in α and κ, and in whether the steps of a mini-batch add up or are averaged. The
// per-weight state is Σ⁻¹ − 1/σ₀, which starts at 0. It only grows, also where threads that train
// lock-free lose an update.
#pragma once

#include "trainer.hpp"

namespace adaptag {

template <class Rule>
class Confidence {
 public:
  static constexpr Hooks hooks{.sparse_direction = true, .step = true};
  struct RowState {};
  struct RunState {
    uint64_t step;  // t
  };

  static Declaration declaration() {
    return {Rule::name,
            Rule::objective,
            Rule::advice,
            10,
            {{"variance", 1.0, "(0, inf)", "initial variance of every weight"},
             Rule::parameter,
             batch_parameter},
            {},
            {{"step", "uint64"}},
            "precision"};
  }

  Confidence(const Values& values, const Task&, State<RowState, RunState> state)
      : initial_(float(1 / values["variance"])),
        rule_(values[Rule::parameter.name]),
        state_(state) {}

  void begin_update(size_t size) { share_ = Rule::takes_mean ? 1.0f / float(size) : 1.0f; }
  void end_update() { ++state_.run->step; }
  void prefetch(uint32_t) const {}

  template <int W>
  Margin direction(Lattice<W>& lattice, const int32_t* gold) {
    return margin_direction(lattice, gold, 1);
  }

  // V
  template <class Ops, int W>
  double squared_length(const Ops& ops, const Gathered<W>& delta) const {
    double variance = 0;
    delta.for_each([&](uint32_t, size_t i, const float* x, int n) {
      for_each_vector(ops, n, [&](int j) {
        const auto v = Ops::load(x + j);
        variance += Ops::sum(v * v / precision(ops, i + j));
      });
    });
    return variance;
  }
  Step step(const Margin& margin, double variance) const {
    if (margin.wrong == 0 || !(variance > 0)) return {};
    return rule_.step(margin.score, variance, margin.wrong);
  }

  template <class Ops>
  void update(const Ops& ops, uint32_t, size_t i, const float* delta, int n, Step step) {
    using V = typename Ops::V;
    for_each_vector(ops, n, [&](int j) {
      float* const w = state_.weights + i + j;
      float* const p = state_.per_weight_state + i + j;
      const V x = Ops::load(delta + j);
      write_shared(w, read_shared<V>(w) + x * (step.weights * share_) / precision(ops, i + j));
      write_shared(p, read_shared<V>(p) + x * x * (step.precision * share_));
    });
  }

  template <class Ops>
  void read_row(const Ops&, uint32_t, size_t i, int n, float* out) const {
    std::copy_n(state_.weights + i, n, out);
  }

 private:
  template <class Ops>
  typename Ops::V precision(const Ops&, size_t i) const {
    return read_shared<typename Ops::V>(state_.per_weight_state + i) + initial_;
  }

  const float initial_;  // 1/σ₀
  const Rule rule_;
  const State<RowState, RunState> state_;
  float share_ = 1;  // of a sentence's step in a mini-batch
};

}  // namespace adaptag
