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
    while (alpha_powers_.size() <= closed_) {
      const double power = std::pow(alpha_, double(alpha_powers_.size()));
      alpha_powers_.push_back(power);
      powers_.push_back(float(power));
      sums_.push_back(float((1.0 - power) * geometric_[1]));
    }
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
    fired_.resize(all.n + 1);
    for (size_t k = 0; k < all.n; ++k) fired_.load(k, state_.rows[all.ids[k]]);
    if (all.always) fired_.load(all.n, state_.rows[s.always]);
    catch_up_all(all.n + all.always);
    const float *const rate = fired_.rate.data(), *const pending = fired_.pending.data();
    const float* const scale = fired_.scale.data();
    const uint32_t *const count = fired_.count.data(), stamp = t_ + 1;
    Row* const rows = state_.rows;
    float* const weights = state_.weights;
    auto sum = Ops::load(out);
    const auto add = [&](size_t k, uint32_t id, float value) {
      float* const w = weights + id * size_t(ops.width());
      if (pending[k] > largest_pending) [[unlikely]]
        apply_pending(ops, k, id, w);
      rows[id] = {rate[k], count[k], stamp, pending[k]};
      sum += Ops::load(w) * (scale[k] * value);
    };
    for (size_t k = 0; k < all.n; ++k) {
      coming.next_state();
      add(k, all.ids[k], all.values ? all.values[k] : 1.0f);
    }
    if (all.always) add(all.n, s.always, 1.0f);
    Ops::store(out, sum);
  }

  template <class Ops, class Coming>
  void update_all(const Ops& ops, const Sentence& s, const float* delta, Coming&& coming) {
    const Firings all(s);
    if (closes()) {
      for (size_t k = 0; k < all.n; ++k) fired_.rate[k] = state_.rows[all.ids[k]].rate;
      if (all.always) fired_.rate[all.n] = state_.rows[s.always].rate;
    }
    const auto lambda = float(lambda_);
    const float* const rate = fired_.rate.data();
    float* const step = fired_.scale.data();
    for (size_t k = 0; k < all.n + all.always; ++k)
      step[k] = rate[k] / ((1.0f - lambda * rate[k]) * step[k]) * s.weight;
    if (all.values)
      for (size_t k = 0; k < all.n; ++k) step[k] *= all.values[k];
    const auto d = Ops::load(delta);
    float* const weights = state_.weights;
    const auto add = [&](size_t k, uint32_t id) {
      float* const w = weights + id * size_t(ops.width());
      Ops::store(w, Ops::load(w) + d * step[k]);
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

  // The rows of one sentence.
  struct Fired {
    std::vector<float> rate, pending, scale;
    std::vector<uint32_t> count, touched;

    void resize(size_t n) {
      if (n <= rate.size()) return;
      for (auto* v : {&rate, &pending, &scale}) v->resize(n);
      for (auto* v : {&count, &touched}) v->resize(n);
    }
    void load(size_t k, const Row& row) {
      rate[k] = row.rate;
      count[k] = row.count;
      touched[k] = row.stamp == 0 ? 0 : row.stamp - 1;
      pending[k] = row.pending;
    }
  };

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
  };

  template <class Ops>
  void apply_pending(const Ops& ops, size_t k, uint32_t id, float* weights) {
    if (state_.rows[id].stamp != t_ + 1) ops.scale(weights, std::exp(-fired_.pending[k]));
    fired_.pending[k] = 0;
    fired_.scale[k] = 1;
  }

  // As catch_up, for n rows, and counts them.
  void catch_up_all(size_t n) {
    float *rate = fired_.rate.data(), *pending = fired_.pending.data();
    float* scale = fired_.scale.data();
    uint32_t *count = fired_.count.data(), *touched = fired_.touched.data();
    const float *power_of = powers_.data(), *sum_of = sums_.data();
    const auto t = int32_t(t_), q = int32_t(q_), closed_now = int32_t(closed_);
    const auto window_begin = int32_t(window_begin_);
    const auto c = float(c_), lambda = float(lambda_), alpha = float(alpha_);
    const auto range = float(alpha_ - beta_), per_sample = float(windows_per_sample_);
    const double per_update = windows_per_update_;
    const auto g2 = float(geometric_[2]), g3 = float(geometric_[3]);
    constexpr float third = 1.0f / 3;
#pragma omp simd
    for (int k = 0; k < int(n); ++k) {
      const auto last = int32_t(touched[k]), fired = int32_t(count[k]);
      const float open = rate[k] == 0.0f ? c : rate[k];
      const float x_open = lambda * open;
      const float shrink_open = x_open * (1.0f + x_open * (0.5f + x_open * third));
      const int32_t closed = int32_t((double(last) + 0.5) * per_update) + 1;
      const int32_t behind = closed_now - closed;
      const int32_t missed = behind < 0 ? 0 : behind;
      const float u = float(fired) * per_sample;
      const float shut = open * (alpha - (u < 1.0f ? u : 1.0f) * range);
      const float after = shut > 1e-37f ? shut : 1e-37f;
      const float x = lambda * after, power = power_of[missed], sum = sum_of[missed];
      const float decayed = after * power;
      const float now = decayed > 1e-37f ? decayed : 1e-37f;
      const float x_now = lambda * now;
      const float over =
          float(closed * q - last) * shrink_open +
          float(q) * (x * sum + x * x * (1 - power * power) * g2 +
                      x * x * x * (1 - power * power * power) * g3) +
          float(t - window_begin) * (x_now * (1.0f + x_now * (0.5f + x_now * third)));
      const float within = float(t - last) * shrink_open;
      rate[k] = last >= window_begin ? open : now;
      count[k] = uint32_t((last >= window_begin ? fired : 0) + 1);
      const float p = pending[k] + (last >= window_begin ? within : over);
      pending[k] = p;
      scale[k] = pending_scale(p);
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

  void close_window(Row& row) {
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
  std::vector<float> powers_, sums_;   // the same, and (1 − α^m) / (1 − α)
  Fired fired_;
  uint32_t t_ = 0;             // the current update
  uint32_t closed_ = 0;        // windows closed before the current update is counted
  uint32_t window_begin_ = 0;  // first update of the open window
};

}  // namespace adaptag
