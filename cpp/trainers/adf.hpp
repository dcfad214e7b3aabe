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
#include <cstddef>
#include <cstring>
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

  // Several rows at once, each field a vector.
  struct Block {
    static constexpr int lanes = native_lanes;
    using V = VecOf<lanes>::f32;
    using I = VecOf<lanes>::i32;
    V rate;
    I count, stamp;
    V pending;

    // From rows that lie one behind the other, and back.
    static Block load(const Row* rows) {
      static_assert(sizeof(Row) == 16 && offsetof(Row, count) == 4 && offsetof(Row, pending) == 12);
      V fields[4];
      std::memcpy(fields, rows, sizeof fields);
      to_columns<lanes>(fields);
      return {fields[0], (I)fields[1], (I)fields[2], fields[3]};
    }
    void store(Row* rows) const {
      V fields[4] = {rate, (V)count, (V)stamp, pending};
      to_rows<lanes>(fields);
      std::memcpy(rows, fields, sizeof fields);
    }
  };

  // What has happened up to update t: brings many rows up to it at a time.
  struct Elapsed {
    int32_t t, q, closed, window_begin;
    float windows_per_update, windows_per_sample, c, lambda, alpha, range, log_alpha, g1, g2, g3;
    using V = Block::V;
    using I = Block::I;

    // As Adf::catch_up; also counts the rows.
    [[gnu::always_inline]] inline void catch_up(Block& rows) const {
      const I last = rows.stamp == 0 ? I{} : rows.stamp - 1;  // when they were touched
      const I inside = last >= window_begin;
      const V open = rows.rate == 0.0f ? V{} + c : rows.rate;
      const I first = to_int((to_float(last) + 0.5f) * windows_per_update) + 1;
      const I missed = first > closed ? I{} : closed - first;
      const V u = to_float(rows.count) * windows_per_sample;
      const V shut = above_zero(open * (alpha - (u < 1.0f ? u : V{} + 1.0f) * range));
      const V power = exp_of_vector<V, I>(to_float(missed) * log_alpha);  // α^missed
      const V now = above_zero(shut * power);
      const V x = shut * lambda, p2 = power * power, one = V{} + 1.0f;
      const V over = x * ((one - power) * g1 + x * ((one - p2) * g2 + x * (one - p2 * power) * g3));
      const V outside = to_float(first * q - last) * shrink(open) + over * float(q) +
                        shrink(now) * float(t - window_begin);
      rows.pending += inside ? to_float(t - last) * shrink(open) : outside;
      rows.rate = inside ? open : now;
      rows.count = (inside ? rows.count : I{}) + 1;
      rows.stamp = I{} + (t + 1);
    }

   private:
    static V to_float(I x) { return __builtin_convertvector(x, V); }
    static I to_int(V x) { return __builtin_convertvector(x, I); }
    static V above_zero(V rate) { return rate > 1e-37f ? rate : V{} + 1e-37f; }
    V shrink(V rate) const {
      const V x = rate * lambda;
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
            float(windows_per_update_),
            float(windows_per_sample_),
            float(c_),
            float(lambda_),
            float(alpha_),
            float(alpha_ - beta_),
            float(std::log(alpha_)),
            float(geometric_[1]),
            float(geometric_[2]),
            float(geometric_[3])};
  }

  // A sentence of one token and an update of its own: all its rows at once. Plain loops over
  // arrays, which compilers turn into vector code. The same as refresh, scale and update; a
  // predicate that is there twice gets the same values twice.
  template <class Ops>
  bool takes_all(const Ops& ops) const {  // in float32, windows are told apart up to 2^22 updates
    return ops.width() == Ops::lanes && b_ == 1 && order_ <= 3 && t_ < 1u << 22;
  }

  template <class Ops, class Coming>
  void score_all(const Ops& ops, const Sentence& s, float* out, Coming&& coming) {
    const Firings all(s);
    const size_t n = all.n + all.always, w = ops.width();
    if (fired_.size() < n + Block::lanes) fired_.resize(n + Block::lanes);
    if (scale_.size() < n + Block::lanes) scale_.resize(n + Block::lanes);
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
    const Elapsed elapsed = this->elapsed();
    for (size_t k = 0; k < n; k += Block::lanes) {
      Block rows = Block::load(fired_.data() + k);
      elapsed.catch_up(rows);
      const Block::V scale = pending_scale(rows.pending);
      std::memcpy(scale_.data() + k, &scale, sizeof scale);
      rows.store(fired_.data() + k);
    }
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
