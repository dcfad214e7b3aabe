// SGD with exponential decay and an L2 prior.
// Tsuruoka, Tsujii, Ananiadou (2009), equation 6; Sun et al. (2014), equation 4.
//
//   w ← w + γ_t ∇{ log P(y_i | x_i) − ‖w‖² / (2nσ²) },    γ_t = η₀ α^{t/n}
//
// Lazy form: every weight shrinks by (1 − λγ_t), λ = 1/(nσ²), at each sample. The clock sums
// −log(1 − λγ_t) in float64; a row remembers the sum it has seen and applies the difference when it
// is next read. The shrink of the sample itself stays pending (see adf.hpp).
#pragma once

#include <cmath>

#include "trainer.hpp"

namespace adaptag {

class Sgd {
 public:
  struct Row {
    double shrunk;  // the clock's sum already applied to this row
  };
  struct Clock {
    uint64_t step;  // t
    double shrink;  // Σ_{s<t} −log(1 − λγ_s)
  };

  static Declaration declaration() {
    return {"sgd",
            "L2-regularised conditional likelihood, one learning rate that decays exponentially",
            "The baseline that the literature compares with; needs more passes than adf.",
            {{"rate", 0.1, "(0, inf)", "initial learning rate η₀"},
             {"sigma", 5.0, "(0, inf]", "standard deviation of the Gaussian prior; inf: none"},
             {"decay", 0.85, "(0, 1]", "factor α by which the rate falls in each pass"}},
            {{"shrunk", "float64"}},
            {{"step", "uint64"}, {"shrink", "float64"}}};
  }

  Sgd(Values v, size_t n_samples, Row* rows, Clock* clock)
      : eta0_(v[0]),
        decay_(v[2]),
        n_(double(n_samples)),
        lambda_(1.0 / (double(n_samples) * v[1] * v[1])),
        rows_(rows),
        clock_(clock) {
    if (lambda_ * eta0_ >= 0.5)
      throw std::invalid_argument("rate / (samples · sigma²) is " +
                                  std::to_string(lambda_ * eta0_) +
                                  "; allowed: below 0.5 (lower rate or raise sigma)");
  }

  void begin() {
    gamma_ = eta0_ * std::pow(decay_, double(clock_->step) / n_);
    step_ = float(gamma_ / (1.0 - lambda_ * gamma_));
  }
  void end() {
    ++clock_->step;
    clock_->shrink -= std::log1p(-lambda_ * gamma_);
  }
  void prefetch(uint32_t id) const { __builtin_prefetch(rows_ + id, 1); }

  template <class Ops>
  void refresh(const Ops& ops, uint32_t id, float* w, int n) {
    if (pending(id) > largest_pending) apply(ops, id, w, n);
  }
  float scale(uint32_t id) const { return pending_scale(pending(id)); }

  template <int W>
  Totals direction(Lattice<W>& lattice, const int32_t* gold) {
    return likelihood_gradient(lattice, gold);
  }

  template <class Ops>
  void update(const Ops& ops, uint32_t id, float* w, const float* delta, int n, float value) {
    add_block(ops, w, delta, n, step_ / scale(id) * value);
  }

  template <class Ops>
  void flush(const Ops& ops, uint32_t id, float* w, int n) {
    if (!is_zero(w, n)) apply(ops, id, w, n);
  }

 private:
  float pending(uint32_t id) const { return float(clock_->shrink - rows_[id].shrunk); }

  template <class Ops>
  void apply(const Ops& ops, uint32_t id, float* w, int n) {
    scale_block(ops, w, n, std::exp(-pending(id)));
    rows_[id].shrunk = clock_->shrink;
  }

  const double eta0_, decay_, n_, lambda_;
  Row* const rows_;
  Clock* const clock_;
  double gamma_ = 0;  // γ_t
  float step_ = 0;    // γ_t / (1 − λγ_t)
};

}  // namespace adaptag
