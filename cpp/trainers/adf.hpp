// ADF: online gradient descent with feature-frequency-adaptive learning rates.
// Sun, Li, Wang, Lu (2014), Computational Linguistics 40(3), Figure 1.
//
//   w ← w + γ ∘ ∇{ log P(y_i | x_i) − ‖w‖² / (2nσ²) }                       (equation 5)
//   every q samples:  u = v / q,   η = α − u (α − β),   γ ← η γ,   v ← 0
//
// v counts the samples of a window in which a predicate fires, the same for all labels, so γ is one
// number per row. A window closes at t = kq, after sample t is counted and before its gradient.
// With mini-batches of b samples, t counts updates, a window is ⌊q / b⌋ of them, u = v / (b⌊q /
// b⌋).
//
// Lazy form, exact to float32. A row untouched for m windows has γ ← α^m γ. Each update shrinks it
// by (1 − λγ), λ = 1/(Nσ²), so the pending shrink is exp(−Σ −log(1 − λγ_s)) over the updates s
// since its last touch; −log(1 − x) = x + x²/2 + … and Σ_{j<m} (α^j)^k = (1 − α^{km}) / (1 − α^k).
// The shrink of the update itself stays pending: w (1 − λγ) + γg = (w + γ/(1 − λγ) · g)(1 − λγ).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "trainer.hpp"

namespace adaptag {

class Adf {
 public:
  struct Row {
    float rate;      // γ after the windows closed so far; 0: never touched, stands for c
    uint32_t count;  // v: samples of the open window in which the predicate fired
    uint32_t stamp;  // 1 + number of the sample that touched it last; 0: none
    float pending;   // shrink before that sample's update, not yet applied: a negative logarithm
  };
  struct Clock {
    uint64_t step;  // t
  };

  static Declaration declaration() {
    return {"adf",
            "L2-regularised conditional likelihood, one learning rate per feature that decays with "
            "its frequency",
            "The default: the best accuracy in few passes.",
            10,
            {rate_parameter(0.1),
             sigma_parameter,
             {"alpha", 0.995, "(0, 1)", "decay of the rate of a feature that does not occur"},
             {"beta", 0.6, "(0, 1)", "decay of the rate of a feature in every sentence"},
             {"window", 0, "integer [0, inf)",
              "sentences q between decays; 0: a tenth of the data, at least 100"},
             batch_parameter},
            {{"rate", "float32"}, {"count", "uint32"}, {"stamp", "uint32"}, {"pending", "float32"}},
            {{"step", "uint64"}},
            ""};
  }

  Adf(Values v, const Task& task, State<Row, Clock> state)
      : c_(v[0]),
        alpha_(v[2]),
        beta_(v[3]),
        b_(uint32_t(task.batch)),
        q_(uint32_t(std::max(1.0, std::floor(window(v[4], task.data.size()) / b_)))),
        lambda_(task.prior(v[1])),
        state_(state) {
    if (beta_ > alpha_)
      throw std::invalid_argument("beta is " + std::to_string(beta_) +
                                  "; allowed: at most alpha, " + std::to_string(alpha_));
    const double x = lambda_ * c_;
    check_shrink(x);
    double term = x;
    for (order_ = 1; order_ < max_order && term * x > 1e-12; ++order_) term *= x;
    for (int k = 1; k <= max_order; ++k) geometric_[k] = 1.0 / (k * (1.0 - std::pow(alpha_, k)));
  }

  void begin(size_t) {
    if ((state_.clock->step + 1) * b_ >> 32)
      throw std::length_error("adf: training ends after 2^32 sentences");
    t_ = uint32_t(state_.clock->step);
    closed_ = t_ > 0 ? (t_ - 1) / q_ : 0;
    window_begin_ = closed_ * q_;
    while (alpha_powers_.size() <= closed_)
      alpha_powers_.push_back(std::pow(alpha_, double(alpha_powers_.size())));
  }
  void end() { ++state_.clock->step; }
  void prefetch(uint32_t id) const { __builtin_prefetch(state_.rows + id, 1); }

  template <class Ops>
  void refresh(const Ops& ops, uint32_t id, size_t i, int n, size_t k) {
    Row& row = state_.rows[id];
    const uint32_t stamp = t_ * b_ + uint32_t(k) + 1;
    if (row.stamp == stamp) return;  // fires more than once in this sentence
    catch_up(row);
    row.stamp = stamp;
    ++row.count;
    if (row.pending > largest_pending) {
      scale_block(ops, state_.weights + i, n, std::exp(-row.pending));
      row.pending = 0;
    }
  }
  float scale(uint32_t id) const { return pending_scale(state_.rows[id].pending); }

  template <int W>
  Totals direction(Lattice<W>& lattice, const int32_t* gold) {
    return likelihood_gradient(lattice, gold);
  }

  bool closes() const { return t_ > 0 && t_ % q_ == 0; }
  void close(uint32_t id) {
    if (state_.rows[id].count > 0) close_window(state_.rows[id]);  // 0: done already
  }

  template <class Ops>
  void update(const Ops& ops, uint32_t id, size_t i, const float* delta, int n, float value) {
    const float rate = state_.rows[id].rate;
    add_block(ops, state_.weights + i, delta, n,
              rate / ((1.0f - float(lambda_) * rate) * scale(id)) * value);
  }

  template <class Ops>
  void read(const Ops& ops, uint32_t id, size_t i, int n, float* out) {
    std::copy_n(state_.weights + i, n, out);
    Row row = state_.rows[id];
    if (row.rate == 0 && is_zero(out, n)) return;  // never touched, nothing to shrink
    begin(0);
    catch_up(row);
    scale_block(ops, out, n, std::exp(-row.pending));
  }

 private:
  static constexpr int max_order = 8;

  static double window(double given, size_t n_samples) {
    return std::min(given > 0 ? given : std::max(100.0, double(n_samples / 10)), 1e9);
  }

  // Brings rate, count and pending from the row's last touch to the start of update t.
  void catch_up(Row& row) {
    if (row.rate == 0) row.rate = float(c_);
    const uint32_t touched = row.stamp == 0 ? 0 : b_ == 1 ? row.stamp - 1 : (row.stamp - 1) / b_;
    if (touched >= window_begin_)
      row.pending += float(int32_t(t_ - touched)) * log_shrink(row.rate);
    else
      catch_up_over_windows(row, touched);
  }

  void catch_up_over_windows(Row& row, uint32_t touched) {
    const uint32_t closed = touched / q_ + 1, missed = closed_ - closed;
    float pending = float(int32_t(closed * q_ - touched)) * log_shrink(row.rate);
    close_window(row);
    pending += float(int32_t(q_)) * log_shrink_over_windows(row.rate, missed);
    decay(row, alpha_powers_[missed]);
    pending += float(int32_t(t_ - window_begin_)) * log_shrink(row.rate);
    row.pending += pending;
  }

  void close_window(Row& row) {
    const double u = double(row.count) / (double(q_) * b_);
    decay(row, alpha_ - std::min(1.0, u) * (alpha_ - beta_));  // the first window has q + 1 samples
    row.count = 0;
  }

  // γ ← η γ, but never 0, which stands for a row not yet touched.
  static void decay(Row& row, double eta) { row.rate = std::max(float(row.rate * eta), 1e-37f); }

  // −log(1 − λγ)
  float log_shrink(float rate) const {
    const float x = float(lambda_) * rate;
    return order_ <= 3 ? x * (1.0f + x * (0.5f + x * (1.0f / 3))) : -std::log1p(-x);
  }

  // Σ_{j<m} −log(1 − λγα^j)
  float log_shrink_over_windows(double rate, uint32_t m) const {
    const double x = lambda_ * rate;
    double sum = 0, x_k = 1, alpha_km = 1;
    for (int k = 1; k <= order_; ++k) {
      x_k *= x;
      alpha_km *= alpha_powers_[m];
      sum += x_k * (1.0 - alpha_km) * geometric_[k];
    }
    return float(sum);
  }

  const double c_, alpha_, beta_;
  const uint32_t b_, q_;  // samples in an update, updates in a window
  const double lambda_;
  const State<Row, Clock> state_;
  int order_ = 1;                      // terms of the series of −log(1 − x) that float32 can see
  double geometric_[max_order + 1]{};  // 1 / (k (1 − α^k))
  std::vector<double> alpha_powers_;   // α^m
  uint32_t t_ = 0;                     // the current update
  uint32_t closed_ = 0;                // windows closed before the current update is counted
  uint32_t window_begin_ = 0;          // first update of the open window
};

}  // namespace adaptag
