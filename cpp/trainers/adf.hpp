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
#include <bit>
#include <cmath>
#include <cstddef>
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

  // What has happened up to update t, as plain numbers: a loop that brings rows up to it is one
  // that compilers turn into vector code.
  struct Elapsed {
    int32_t t, q, closed, window_begin;
    double windows_per_update;
    float c, lambda, alpha, range, windows_per_sample, log_alpha, g1, g2, g3;

    // Brings a row up to update t and counts it there; returns the scale of its weights.
    [[gnu::always_inline]] inline float catch_up(uint32_t* row) const {
      static_assert(sizeof(Row) == 16 && offsetof(Row, count) == 4 && offsetof(Row, pending) == 12);
      const float rate = std::bit_cast<float>(row[0]), pending = std::bit_cast<float>(row[3]);
      const auto count = int32_t(row[1]), stamp = int32_t(row[2]);
      const int32_t last = stamp == 0 ? 0 : stamp - 1;  // when it was touched
      const bool inside = last >= window_begin;
      const float open = rate == 0.0f ? c : rate;
      const int32_t first = int32_t((double(last) + 0.5) * windows_per_update) + 1;
      const int32_t missed = closed - first < 0 ? 0 : closed - first;
      const float u = float(count) * windows_per_sample;
      const float shut = above_zero(open * (alpha - (u < 1.0f ? u : 1.0f) * range));
      const float power = exp(float(missed) * log_alpha);  // tables are slow in vector code
      const float now = above_zero(shut * power);
      const float x = lambda * shut;
      const float over = x * ((1 - power) * g1 + x * ((1 - power * power) * g2 +
                                                      x * (1 - power * power * power) * g3));
      const float outside = float(first * q - last) * shrink(open) + float(q) * over +
                            float(t - window_begin) * shrink(now);
      const float p = pending + (inside ? float(t - last) * shrink(open) : outside);
      row[0] = std::bit_cast<uint32_t>(inside ? open : now);
      row[1] = uint32_t((inside ? count : 0) + 1);
      row[2] = uint32_t(t + 1);
      row[3] = std::bit_cast<uint32_t>(p);
      return pending_scale(p);
    }

    // e^x for x ≤ 0, as in simd.hpp.
    [[gnu::always_inline]] static inline float exp(float x) {
      x = x > -87.0f ? x : -87.0f;
      const float shifted = x * 1.44269504f + 12582912.0f;
      const float n = shifted - 12582912.0f;
      const float f = (x - n * 0.693359375f) + n * 2.12194440e-4f;
      float p = f * 1.9875691500e-4f + 1.3981999507e-3f;
      p = p * f + 8.3334519073e-3f;
      p = p * f + 4.1665795894e-2f;
      p = p * f + 1.6666665459e-1f;
      p = p * f + 5.0000001201e-1f;
      p = p * (f * f) + f + 1.0f;
      return std::bit_cast<float>(std::bit_cast<int32_t>(p) +
                                  (std::bit_cast<int32_t>(shifted) << 23));
    }

   private:
    [[gnu::always_inline]] static inline float above_zero(float rate) {
      return rate > 1e-37f ? rate : 1e-37f;
    }
    [[gnu::always_inline]] inline float shrink(float rate) const {
      const float x = lambda * rate;
      return x * (1.0f + x * (0.5f + x * (1.0f / 3)));
    }
  };

  Adf(Values v, const Task& task, State<Row, Clock> state)
      : c_(v[0]),
        alpha_(v[2]),
        beta_(v[3]),
        b_(uint32_t(task.batch)),
        q_(uint32_t(std::max(1.0, std::floor(window(v[4], task.n) / b_)))),
        windows_per_update_(1.0 / q_),
        windows_per_sample_(1.0 / (double(q_) * b_)),
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
  void close(uint32_t id) { close(state_.rows[id]); }
  void close(Row& row) const {
    if (row.count > 0) close_window(row);  // 0: done already
  }

  template <class Ops>
  void update(const Ops& ops, uint32_t id, size_t i, const float* delta, int n, float value) {
    const float rate = state_.rows[id].rate;
    add_block(ops, state_.weights + i, delta, n,
              rate / ((1.0f - float(lambda_) * rate) * scale(id)) * value);
  }

  Elapsed elapsed() const {
    return {int32_t(t_),
            int32_t(q_),
            int32_t(closed_),
            int32_t(window_begin_),
            windows_per_update_,
            float(c_),
            float(lambda_),
            float(alpha_),
            float(alpha_ - beta_),
            float(windows_per_sample_),
            float(std::log(alpha_)),
            float(geometric_[1]),
            float(geometric_[2]),
            float(geometric_[3])};
  }

  // A sentence of one token and an update of its own: all its rows at once. Plain loops over
  // arrays, which compilers turn into vector code. The same as refresh, scale and update; a
  // predicate that is there twice gets the same values twice.
  template <class Ops>
  bool takes_all(const Ops& ops) const {
    return ops.width() == Ops::lanes && b_ == 1 && order_ <= 3 && t_ < 1u << 31;
  }

  template <class Ops, class Coming>
  void score_all(const Ops& ops, const Sentence& s, float* out, Coming&& coming) {
    const Firings all(s);
    const size_t n = all.n + all.always, w = ops.width();
    if (fired_.size() < n) fired_.resize(n);
    if (scale_.size() < n) scale_.resize(n);
    for (size_t k = 0; k < all.n; ++k) fired_[k] = state_.rows[all.ids[k]];
    if (all.always) fired_[all.n] = state_.rows[s.always];
    catch_up_all(n);
    const auto add = [&](size_t k, uint32_t id, float value, auto& sum) {
      float* const weights = state_.weights + id * w;
      if (fired_[k].pending > largest_pending) [[unlikely]]
        apply_pending(ops, k, id, weights);
      state_.rows[id] = fired_[k];
      sum += Ops::load(weights) * (scale_[k] * value);
    };
    typename Ops::V sums[4] = {Ops::load(out)};  // several: one would wait for itself
    size_t k = 0;
    for (; k + 4 <= all.n; k += 4)
      for (size_t j = 0; j < 4; ++j) {
        coming.next_state();
        add(k + j, all.ids[k + j], all.value(k + j), sums[j]);
      }
    for (; k < all.n; ++k) add(k, all.ids[k], all.value(k), sums[0]);
    if (all.always) add(all.n, s.always, 1.0f, sums[0]);
    Ops::store(out, (sums[0] + sums[1]) + (sums[2] + sums[3]));
  }

  template <class Ops, class Coming>
  void update_all(const Ops& ops, const Sentence& s, const float* delta, Coming&& coming) {
    const Firings all(s);
    const size_t n = all.n + all.always, w = ops.width();
    if (closes()) {
      for (size_t k = 0; k < all.n; ++k) fired_[k].rate = state_.rows[all.ids[k]].rate;
      if (all.always) fired_[all.n].rate = state_.rows[s.always].rate;
    }
    const auto lambda = float(lambda_);
    float* const step = scale_.data();
    for (size_t k = 0; k < n; ++k)
      step[k] = fired_[k].rate / ((1.0f - lambda * fired_[k].rate) * step[k]) * s.weight;
    if (all.values)
      for (size_t k = 0; k < all.n; ++k) step[k] *= all.values[k];
    const auto d = Ops::load(delta);
    const auto add = [&](size_t k, uint32_t id) {
      float* const weights = state_.weights + id * w;
      Ops::store(weights, Ops::load(weights) + d * step[k]);
    };
    for (size_t k = 0; k < all.n; ++k) {
      coming.next_weights();
      add(k, all.ids[k]);
    }
    if (all.always) add(all.n, s.always);
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

  // What fires in a sentence of one token.
  struct Firings {
    const uint32_t* ids;
    const float* values;  // or null: all are 1
    size_t n;
    bool always;  // whether s.always fires beside them

    explicit Firings(const Sentence& s)
        : ids(s.predicates + s.offsets[0]),
          values(s.values ? s.values + s.offsets[0] : nullptr),
          n(s.offsets[1] - s.offsets[0]),
          always(s.always != no_predicate) {}
    float value(size_t k) const { return values ? values[k] : 1.0f; }
  };

  template <class Ops>
  void apply_pending(const Ops& ops, size_t k, uint32_t id, float* weights) {
    if (state_.rows[id].stamp != t_ + 1) ops.scale(weights, std::exp(-fired_[k].pending));
    fired_[k].pending = 0;
    scale_[k] = 1;
  }

  // As catch_up, for the first n of fired_, which it also counts; and their scales.
  void catch_up_all(size_t n) {
    auto* const fields = reinterpret_cast<uint32_t*>(fired_.data());  // [n, 4]
    float* const scale = scale_.data();
    const Elapsed elapsed = this->elapsed();
#pragma omp simd
    for (int k = 0; k < int(n); ++k) scale[k] = elapsed.catch_up(fields + 4 * k);
  }

  static double window(double given, size_t n_samples) {
    return std::min(given > 0 ? given : std::max(100.0, double(n_samples / 10)), 1e9);
  }

  // Brings rate, count and pending from the row's last touch to the start of update t.
  void catch_up(Row& row) {
    row.rate = row.rate == 0 ? float(c_) : row.rate;
    const uint32_t touched = row.stamp == 0 ? 0 : b_ == 1 ? row.stamp - 1 : (row.stamp - 1) / b_;
    if (touched >= window_begin_)
      row.pending += float(int32_t(t_ - touched)) * log_shrink(row.rate);
    else
      catch_up_over_windows(row, touched);
  }

  void catch_up_over_windows(Row& row, uint32_t touched) {
    const auto closed = uint32_t((touched + 0.5) * windows_per_update_) + 1;
    const uint32_t missed = closed_ - closed;
    float pending = float(int32_t(closed * q_ - touched)) * log_shrink(row.rate);
    close_window(row);
    pending += float(int32_t(q_)) * log_shrink_over_windows(row.rate, missed);
    decay(row, alpha_powers_[missed]);
    pending += float(int32_t(t_ - window_begin_)) * log_shrink(row.rate);
    row.pending += pending;
  }

  void close_window(Row& row) const {
    const double u = row.count * windows_per_sample_;
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
  const double windows_per_update_, windows_per_sample_;
  const double lambda_;
  const State<Row, Clock> state_;
  int order_ = 1;                      // terms of the series of −log(1 − x) that float32 can see
  double geometric_[max_order + 1]{};  // 1 / (k (1 − α^k))
  std::vector<double> alpha_powers_;   // α^m
  std::vector<Row> fired_;             // the rows of a sentence of one token
  std::vector<float> scale_;           // theirs, then the sizes of their steps
  uint32_t t_ = 0;                     // the current update
  uint32_t closed_ = 0;                // windows closed before the current update is counted
  uint32_t window_begin_ = 0;          // first update of the open window
};

}  // namespace adaptag
