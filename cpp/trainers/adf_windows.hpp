// What happens to the rows of ADF while they do not fire: windows close, and weights shrink.
//
// A row untouched for m windows has γ ← α^m γ. Each update shrinks its weights by (1 − λγ), λ =
// 1/(Nσ²), so the pending shrink is exp(−Σ −log(1 − λγ_s)) over the updates s since its last touch;
// −log(1 − x) = x + x²/2 + … and Σ_{j<m} (α^j)^k = (1 − α^{km}) / (1 − α^k).
//
// Written once for two kinds of numbers: one row, in float64 where float32 would lose digits, and a
// vector of rows in float32, for sentences with many rows and little else (adf_documents.hpp).
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
  using Float = float;
  using Int = uint32_t;
  using Wide = double;  // for what adds up over windows
  using Real = double;  // constants
  using Count = uint32_t;
  static constexpr bool single = true;

  float rate;      // γ after the windows closed so far; 0: never touched, stands for c
  uint32_t count;  // v: samples of the open window in which the predicate fired
  uint32_t stamp;  // 1 + number of the sample that touched it last; 0: none
  float pending;   // shrink before that sample's update, not yet applied: a negative logarithm

  static float to_float(uint32_t x) { return float(int32_t(x)); }
  static double to_wide(uint32_t x) { return x; }
  static uint32_t to_int(double x) { return uint32_t(x); }
  static float to_narrow(double x) { return float(x); }
};

// The state of several rows, each field a vector.
struct AdfRows {
  static constexpr int lanes = native_lanes;
  using Float = VecOf<lanes>::f32;
  using Int = VecOf<lanes>::i32;
  using Wide = Float;
  using Real = float;
  using Count = int32_t;
  static constexpr bool single = false;

  Float rate;
  Int count, stamp;
  Float pending;

  static Float to_float(Int x) { return __builtin_convertvector(x, Float); }
  static Float to_wide(Int x) { return to_float(x); }
  static Int to_int(Float x) { return __builtin_convertvector(x, Int); }
  static Float to_narrow(Float x) { return x; }

  // From rows that lie one behind the other, and back.
  static AdfRows load(const AdfRow* rows) {
    static_assert(sizeof(AdfRow) == 16 && offsetof(AdfRow, count) == 4 &&
                  offsetof(AdfRow, stamp) == 8 && offsetof(AdfRow, pending) == 12);
    Float fields[4];
    std::memcpy(fields, rows, sizeof fields);
    to_columns<lanes>(fields);
    return {fields[0], (Int)fields[1], (Int)fields[2], fields[3]};
  }
  void store(AdfRow* rows) const {
    Float fields[4] = {rate, (Float)count, (Float)stamp, pending};
    to_rows<lanes>(fields);
    std::memcpy(rows, fields, sizeof fields);
  }
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
      throw std::invalid_argument("beta is " + std::to_string(beta) + "; allowed: at most alpha, " +
                                  std::to_string(alpha));
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

// Rows is AdfRow or AdfRows.
template <class Rows>
class AdfWindows {
  using Float = typename Rows::Float;
  using Int = typename Rows::Int;
  using Wide = typename Rows::Wide;
  using Real = typename Rows::Real;
  using Count = typename Rows::Count;

 public:
  explicit AdfWindows(const AdfSettings& s)
      : c_(float(s.c)),
        float_lambda_(float(s.lambda)),
        lambda_(Real(s.lambda)),
        alpha_(Real(s.alpha)),
        range_(Real(s.alpha - s.beta)),
        log_alpha_(Real(std::log(s.alpha))),
        windows_per_update_(Real(1.0 / s.q)),
        windows_per_sample_(Real(1.0 / (double(s.q) * s.b))),
        order_(s.order),
        q_(Count(s.q)) {
    std::copy_n(s.geometric, AdfSettings::max_order + 1, geometric_);
  }

  // Starts update t.
  void begin(uint32_t t) {
    t_ = Count(t);
    closed_ = t_ > 0 ? (t_ - 1) / q_ : 0;
    window_begin_ = closed_ * q_;
    if constexpr (Rows::single)
      while (alpha_powers_.size() <= closed_)
        alpha_powers_.push_back(std::pow(alpha_, double(alpha_powers_.size())));
  }
  Count t() const { return t_; }
  float lambda() const { return float_lambda_; }

  // Whether a window closes at this update, after its samples are counted.
  bool closes() const { return t_ > 0 && t_ % q_ == 0; }

  // Whether a row was touched in a later window, by another thread.
  bool is_ahead(Int touched) const
    requires(Rows::single)
  {
    return touched > t_ && touched - window_begin_ >= q_;
  }

  // Brings rows that update `touched` was the last to touch to the start of update t.
  [[gnu::always_inline]] inline void catch_up(Rows& rows, Int touched) const {
    const auto inside = touched >= window_begin_;
    const Float open = rows.rate == 0.0f ? Float{} + c_ : rows.rate;
    const Float pending_inside = Rows::to_float(t_ - touched) * log_shrink(open);
    if constexpr (Rows::single)
      if (inside) {
        rows.rate = open;
        rows.pending += pending_inside;
        return;
      }
    const Int first = Rows::to_int((Rows::to_wide(touched) + Real(0.5)) * windows_per_update_) + 1;
    const Int missed = first > closed_ ? Int{} : closed_ - first;
    const Float closed_rate = after_window(open, rows.count);
    const Wide power = alpha_power(missed);
    const Float rate = decayed(closed_rate, power);
    Float pending = Rows::to_float(first * q_ - touched) * log_shrink(open);
    pending += log_shrink_over_windows(closed_rate, power) * float(int32_t(q_));
    pending += log_shrink(rate) * float(int32_t(t_ - window_begin_));
    rows.pending += inside ? pending_inside : pending;
    rows.rate = inside ? open : rate;
    rows.count = inside ? rows.count : Int{};
  }

  // γ after a window in which a row fired so often.
  Float after_window(Float rate, Int count) const {
    const Wide u = Rows::to_wide(count) * windows_per_sample_;  // the first has q + 1 samples
    return decayed(rate, alpha_ - (u < Real(1) ? u : Wide{} + Real(1)) * range_);
  }

 private:
  // γ ← η γ, but never 0, which stands for a row not yet touched.
  static Float decayed(Float rate, Wide eta) {
    const Float product = Rows::to_narrow(rate * eta);
    return product > 1e-37f ? product : Float{} + 1e-37f;
  }

  Wide alpha_power(Int m) const {
    if constexpr (Rows::single)
      return alpha_powers_[m];
    else
      return exp_of_vector<Float, Int>(Rows::to_float(m) * log_alpha_);
  }

  // −log(1 − λγ)
  Float log_shrink(Float rate) const {
    const Float x = rate * float_lambda_;
    if constexpr (Rows::single)
      if (order_ > 3) return -std::log1p(-x);
    return x * (1.0f + x * (0.5f + x * (1.0f / 3)));
  }

  // Σ_{j<m} −log(1 − λγα^j), power = α^m
  Float log_shrink_over_windows(Float rate, Wide power) const {
    const Wide x = rate * lambda_;
    if constexpr (Rows::single) {
      double sum = 0, x_k = 1, alpha_km = 1;
      for (int k = 1; k <= order_; ++k) {
        x_k *= x;
        alpha_km *= power;
        sum += x_k * (1.0 - alpha_km) * geometric_[k];
      }
      return float(sum);
    } else {
      const Float p2 = power * power, one = Float{} + 1.0f;
      const float g1 = geometric_[1], g2 = geometric_[2], g3 = geometric_[3];
      return x * ((one - power) * g1 + x * ((one - p2) * g2 + x * (one - p2 * power) * g3));
    }
  }

  float c_, float_lambda_;
  Real lambda_, alpha_, range_, log_alpha_;
  Real windows_per_update_, windows_per_sample_;
  Real geometric_[AdfSettings::max_order + 1];
  int order_;
  Count q_, t_ = 0;
  Count closed_ = 0;                  // windows closed before the current update is counted
  Count window_begin_ = 0;            // first update of the open window
  std::vector<double> alpha_powers_;  // α^m
};

}  // namespace adaptag
