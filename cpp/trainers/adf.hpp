// ADF: online gradient descent with feature-frequency-adaptive learning rates.
// Sun, Li, Wang, Lu (2014), Computational Linguistics 40(3), Figure 1.
//
//   w ← w + γ ∘ ∇{ log P(y_i | x_i) − ‖w‖² / (2nσ²) }                       (equation 5)
//   every q samples:  u = v / q,   η = α − u (α − β),   γ ← η γ,   v ← 0
//
// v counts the samples of a window in which a predicate fires, the same for all labels, so γ is one
// number per row. A window closes at t = kq, after sample t is counted and before its gradient.
//
// Lazy form, exact to float32. A row untouched for m windows has γ ← α^m γ. Each sample shrinks it
// by (1 − λγ), λ = 1/(nσ²), so the pending shrink is exp(−Σ −log(1 − λγ_s)) over the samples s
// since its last touch; −log(1 − x) = x + x²/2 + … and Σ_{j<m} (α^j)^k = (1 − α^{km}) / (1 − α^k).
// The shrink of the sample itself stays pending: w (1 − λγ) + γg = (w + γ/(1 − λγ) · g)(1 − λγ).
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
    uint32_t stamp;  // 2 · (first sample whose shrink is not yet in `pending`) + touched
    float pending;   // shrink not yet applied to the weights, as a negative logarithm
  };
  struct Clock {
    uint64_t step;  // t
  };

  static Declaration declaration() {
    return {"adf",
            "L2-regularised conditional likelihood, one learning rate per feature that decays with "
            "its frequency",
            "The default: the best accuracy in few passes.",
            {{"rate", 0.1, "(0, inf)", "initial learning rate c of every feature"},
             {"sigma", 5.0, "(0, inf]", "standard deviation of the Gaussian prior; inf: none"},
             {"alpha", 0.995, "(0, 1)", "decay of the rate of a feature that does not occur"},
             {"beta", 0.6, "(0, 1)", "decay of the rate of a feature in every sample"},
             {"window", 0, "integer [0, inf)",
              "samples q between decays; 0: a tenth of the data, at least 100"}},
            {{"rate", "float32"}, {"count", "uint32"}, {"stamp", "uint32"}, {"pending", "float32"}},
            {{"step", "uint64"}}};
  }

  Adf(Values v, size_t n_samples, Row* rows, Clock* clock)
      : c_(v[0]),
        alpha_(v[2]),
        beta_(v[3]),
        q_(uint32_t(std::min(v[4] > 0 ? v[4] : std::max(100.0, double(n_samples / 10)), 1e9))),
        lambda_(1.0 / (double(n_samples) * v[1] * v[1])),
        rows_(rows),
        clock_(clock) {
    if (beta_ > alpha_)
      throw std::invalid_argument("beta is " + std::to_string(beta_) +
                                  "; allowed: at most alpha, " + std::to_string(alpha_));
    const double x = lambda_ * c_;
    if (x >= 0.5)
      throw std::invalid_argument("rate / (samples · sigma²) is " + std::to_string(x) +
                                  "; allowed: below 0.5 (lower rate or raise sigma)");
    double term = x;
    for (order_ = 1; order_ < max_order && term * x > 1e-12; ++order_) term *= x;
    for (int k = 1; k <= max_order; ++k) geometric_[k] = 1.0 / (k * (1.0 - std::pow(alpha_, k)));
  }

  void begin() {
    if (clock_->step >> 31) throw std::length_error("adf: training ends after 2^31 samples");
    t_ = uint32_t(clock_->step);
    closed_ = t_ > 0 ? (t_ - 1) / q_ : 0;
    window_begin_ = closed_ * q_;
    boundary_ = t_ > 0 && t_ % q_ == 0;
    while (alpha_powers_.size() <= closed_)
      alpha_powers_.push_back(std::pow(alpha_, double(alpha_powers_.size())));
  }
  void end() { ++clock_->step; }
  void prefetch(uint32_t id) const { __builtin_prefetch(rows_ + id, 1); }

  template <class Ops>
  void refresh(const Ops& ops, uint32_t id, float* w, int n) {
    Row& row = rows_[id];
    const uint32_t touched = 2 * t_ + 1;
    if (row.stamp == touched) return;  // fires more than once in this sample
    catch_up(row);
    row.stamp = touched;
    ++row.count;
    if (boundary_) close_window(row);
    if (row.pending > largest_pending) apply(ops, row, w, n);
  }
  float scale(uint32_t id) const { return pending_scale(rows_[id].pending); }

  template <int W>
  Totals direction(Lattice<W>& lattice, const int32_t* gold) {
    return likelihood_gradient(lattice, gold);
  }

  template <class Ops>
  void update(const Ops& ops, uint32_t id, float* w, const float* delta, int n, float value) {
    const float rate = rows_[id].rate;
    add_block(ops, w, delta, n, rate / ((1.0f - float(lambda_) * rate) * scale(id)) * value);
  }

  template <class Ops>
  void flush(const Ops& ops, uint32_t id, float* w, int n) {
    Row& row = rows_[id];
    if (row.rate == 0 && is_zero(w, n)) return;  // never touched, nothing to shrink
    if (t_ != clock_->step) begin();
    catch_up(row);
    row.stamp = 2 * t_;
    apply(ops, row, w, n);
  }

 private:
  static constexpr int max_order = 8;

  // Brings rate, count and pending from the row's last touch to the start of sample t.
  void catch_up(Row& row) {
    if (row.rate == 0) row.rate = float(c_);
    const uint32_t last = row.stamp >> 1;
    // A row touched at t = kq has closed window k; one only flushed there has not.
    const uint32_t seen = (row.stamp & 1) || last == 0 ? last : last - 1;
    if (seen >= window_begin_)
      row.pending += float(int32_t(t_ - last)) * log_shrink(row.rate);
    else
      catch_up_over_windows(row, last, seen);
  }

  void catch_up_over_windows(Row& row, uint32_t last, uint32_t seen) {
    const uint32_t closed = seen / q_ + 1, missed = closed_ - closed;
    float pending = float(int32_t(closed * q_ - last)) * log_shrink(row.rate);
    close_window(row);
    pending += float(int32_t(q_)) * log_shrink_over_windows(row.rate, missed);
    decay(row, alpha_powers_[missed]);
    pending += float(int32_t(t_ - window_begin_)) * log_shrink(row.rate);
    row.pending += pending;
  }

  void close_window(Row& row) {
    const double u = std::min(1.0, double(row.count) / double(q_));  // window 1 has q + 1 samples
    decay(row, alpha_ - u * (alpha_ - beta_));
    row.count = 0;
  }

  // γ ← η γ, but never 0, which stands for a row not yet touched.
  static void decay(Row& row, double eta) { row.rate = std::max(float(row.rate * eta), 1e-37f); }

  // −log(1 − λγ)
  float log_shrink(float rate) const {
    const float x = float(lambda_) * rate;
    return order_ == 1 ? x : -std::log1p(-x);
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

  template <class Ops>
  static void apply(const Ops& ops, Row& row, float* w, int n) {
    scale_block(ops, w, n, std::exp(-row.pending));
    row.pending = 0;
  }

  const double c_, alpha_, beta_;
  const uint32_t q_;
  const double lambda_;
  Row* const rows_;
  Clock* const clock_;
  int order_ = 1;                      // terms of the series of −log(1 − x) that float32 can see
  double geometric_[max_order + 1]{};  // 1 / (k (1 − α^k))
  std::vector<double> alpha_powers_;   // α^m
  uint32_t t_ = 0;                     // the current sample
  uint32_t closed_ = 0;                // windows closed before the current sample is counted
  uint32_t window_begin_ = 0;          // first sample of the open window
  bool boundary_ = false;
};

}  // namespace adaptag
