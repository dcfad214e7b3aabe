// What happens to the rows of ADF while they do not fire: windows close, and weights shrink.
//
// A row untouched for m windows has γ ← α^m γ. Each update shrinks its weights by (1 − λγ), λ =
// 1/(Nσ²), so the pending shrink is exp(−Σ −log(1 − λγ_s)) over the updates s since its last touch;
// −log(1 − x) = x + x²/2 + … and Σ_{j<m} (α^j)^k = (1 − α^{km}) / (1 − α^k).
//
// For vectors of rows, in sentences with many rows and little else: adf_document_rows.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include "blocks.hpp"
#include "declaration.hpp"

namespace adaptag {

// The state of one row.
struct AdfRow {
  float rate;      // γ after the windows closed so far; 0: never touched, stands for c
  uint32_t count;  // v: samples of the open window in which the predicate fired
  uint32_t stamp;  // 1 + number of the sample that touched it last; 0: none
  float pending;   // shrink before that sample's update, not yet applied: a negative logarithm
};

// What the parameters and the task come to.
struct AdfSettings {
  static constexpr int max_order = 8;

  double c, alpha, beta, lambda;
  uint32_t b, q;                      // samples in an update, updates in a window
  int order = 1;                      // terms of the series of −log(1 − x) that float32 can see
  double geometric[max_order + 1]{};  // 1 / (k (1 − α^k))

  AdfSettings(const Values& values, const Task& task)
      : c(values["rate"]),
        alpha(values["alpha"]),
        beta(values["beta"]),
        lambda(task.prior(values["sigma"])),
        b(uint32_t(task.batch)),
        q(uint32_t(std::max(1.0, std::floor(window(values["window"], task.n) / b)))) {
    if (beta > alpha)
      throw std::invalid_argument("beta is " + shown(beta) + "; allowed: at most alpha, " +
                                  shown(alpha));
    const double x = lambda * c;
    check_shrink(x);
    double term = x;
    for (order = 1; order < max_order && term * x > 1e-12; ++order) term *= x;
    for (int k = 1; k <= max_order; ++k) geometric[k] = 1.0 / (k * (1.0 - std::pow(alpha, k)));
  }

 private:
  static double window(double given, size_t n_samples) {
    return std::min(given > 0 ? given : std::max(100.0, double(n_samples / 10)), 1e9);
  }
};

class AdfWindows {
 public:
  explicit AdfWindows(const AdfSettings& s)
      : c_(float(s.c)),
        float_lambda_(float(s.lambda)),
        lambda_(s.lambda),
        alpha_(s.alpha),
        range_(s.alpha - s.beta),
        windows_per_update_(1.0 / s.q),
        windows_per_sample_(1.0 / (double(s.q) * s.b)),
        order_(s.order),
        q_(s.q) {
    std::copy_n(s.geometric, AdfSettings::max_order + 1, geometric_);
  }

  // Starts update t.
  void begin(uint32_t t) {
    t_ = t;
    closed_ = t_ > 0 ? (t_ - 1) / q_ : 0;
    window_begin_ = closed_ * q_;
    while (alpha_powers_.size() <= closed_)
      alpha_powers_.push_back(std::pow(alpha_, double(alpha_powers_.size())));
  }
  uint32_t t() const { return t_; }
  float lambda() const { return float_lambda_; }

  // Whether a window closes at this update, after its samples are counted.
  bool closes() const { return t_ > 0 && t_ % q_ == 0; }

  // Whether a row was touched in a later window, by another thread.
  bool is_ahead(uint32_t touched) const { return touched > t_ && touched - window_begin_ >= q_; }

  // Brings a row that update `touched` was the last to touch to the start of update t.
  [[gnu::always_inline]] inline void catch_up(AdfRow& row, uint32_t touched) const {
    const float open = row.rate == 0.0f ? c_ : row.rate;
    if (touched >= window_begin_) {
      row.rate = open;
      row.pending += float(int32_t(t_ - touched)) * log_shrink(open);
      return;
    }
    const uint32_t first = uint32_t((touched + 0.5) * windows_per_update_) + 1;
    const uint32_t missed = first > closed_ ? 0 : closed_ - first;
    const float closed_rate = after_window(open, row.count);
    const double power = alpha_powers_[missed];
    const float rate = decayed(closed_rate, power);
    float pending = float(int32_t(first * q_ - touched)) * log_shrink(open);
    pending += log_shrink_over_windows(closed_rate, power) * float(int32_t(q_));
    pending += log_shrink(rate) * float(int32_t(t_ - window_begin_));
    row.pending += pending;
    row.rate = rate;
    row.count = 0;
  }

  // γ after a window in which a row fired so often.
  float after_window(float rate, uint32_t count) const {
    const double u = count * windows_per_sample_;  // the first has q + 1 samples
    return decayed(rate, alpha_ - (u < 1 ? u : 1) * range_);
  }

 private:
  // γ ← η γ, but never 0, which stands for a row not yet touched.
  static float decayed(float rate, double eta) {
    const auto product = float(rate * eta);
    return product > 1e-37f ? product : 1e-37f;
  }

  // −log(1 − λγ)
  float log_shrink(float rate) const {
    const float x = rate * float_lambda_;
    if (order_ > 3) return -std::log1p(-x);
    return x * (1.0f + x * (0.5f + x * (1.0f / 3)));
  }

  // Σ_{j<m} −log(1 − λγα^j), power = α^m
  float log_shrink_over_windows(float rate, double power) const {
    const double x = rate * lambda_;
    double sum = 0, x_k = 1, alpha_km = 1;
    for (int k = 1; k <= order_; ++k) {
      x_k *= x;
      alpha_km *= power;
      sum += x_k * (1.0 - alpha_km) * geometric_[k];
    }
    return float(sum);
  }

  float c_, float_lambda_;
  double lambda_, alpha_, range_;
  double windows_per_update_, windows_per_sample_;
  double geometric_[AdfSettings::max_order + 1];
  int order_;
  uint32_t q_, t_ = 0;
  uint32_t closed_ = 0;               // windows closed before the current update is counted
  uint32_t window_begin_ = 0;         // first update of the open window
  std::vector<double> alpha_powers_;  // α^m
};

}  // namespace adaptag
