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
// Lazy form, exact to float32: a row is brought up to date when it next fires (adf_windows.hpp).
// The shrink of the update itself stays pending: w (1 − λγ) + γg = (w + γ/(1 − λγ) · g)(1 − λγ).
//
// Lock-free, a row may have been touched by a later sample than that at hand. Within a window it
// goes back in time, with a negative pending shrink; once its window is closed, it stays as it is,
// and does not count the sample: no window closes twice. Counts may be lost, at most one for each
// sample that another thread trains on at the same time.
#pragma once

#include "adf_windows.hpp"
#include "trainer.hpp"

namespace adaptag {

class Adf {
 public:
  using RowState = AdfRow;
  struct RunState {
    uint64_t step;  // t
  };
  static constexpr Hooks hooks{
      .refresh = true, .scale = true, .close_window = true, .special_form = true};

  static Declaration declaration() {
    return {
        "adf",
        "L2-regularised conditional likelihood, one learning rate per feature that decays with "
        "its frequency",
        "The default: the best accuracy in few passes.",
        20,
        {rate_parameter(0.1, true),
         sigma_parameter,
         {"alpha", 0.995, "(0, 1)", "decay of the rate of a feature that does not occur"},
         {"beta", 0.6, "(0, 1)", "decay of the rate of a feature that occurs in every sentence"},
         {"window", 0, "integer [0, inf)",
          "number of sentences q between decays; 0 means a tenth of the data, at least 100"},
         batch_parameter},
        {{"rate", "float32"}, {"count", "uint32"}, {"stamp", "uint32"}, {"pending", "float32"}},
        {{"step", "uint64"}},
        ""};
  }

  Adf(const Values& values, const Task& task, State<RowState, RunState> state)
      : b_(uint32_t(task.batch)), windows_(AdfSettings(values, task)), state_(state) {}

  // Documents with few classes: defined in adf_documents.hpp.
  static std::unique_ptr<Training> special_form(const Values& values, const Task& task,
                                                State<RowState, RunState> state);

  void begin_update(size_t) {
    if ((state_.run->step + 1) * b_ >> 32)
      throw std::length_error("adf: training ends after 2^32 sentences");
    windows_.begin(uint32_t(state_.run->step));
  }
  void end_update() { ++state_.run->step; }
  void prefetch(uint32_t id) const { __builtin_prefetch(state_.rows + id, 1); }

  template <class Ops>
  void refresh(const Ops& ops, uint32_t id, size_t i, int n, size_t k) {
    SharedState row(state_.rows[id]);
    const uint32_t stamp = windows_.t() * b_ + uint32_t(k) + 1;
    if (row->stamp == stamp) return;  // fires more than once in this sentence
    if (windows_.is_ahead(touched(*row))) return;
    windows_.catch_up(*row, touched(*row));
    row->stamp = stamp;
    ++row->count;
    if (row->pending > largest_pending) {
      scale_block(ops, state_.weights + i, n, std::exp(-row->pending));
      row->pending = 0;
    }
  }
  float scale(uint32_t id) const { return pending_scale(read_shared(state_.rows[id].pending)); }

  template <int W>
  Totals direction(Lattice<W>& lattice, const int32_t* gold) {
    return likelihood_gradient(lattice, gold);
  }

  bool closes_window() const { return windows_.closes(); }
  void close_window(uint32_t id) {
    SharedState row(state_.rows[id]);
    if (row->count == 0 || touched(*row) != windows_.t()) return;  // done already, or ahead
    row->rate = windows_.after_window(row->rate, row->count);
    row->count = 0;
  }

  template <class Ops>
  void update(const Ops& ops, uint32_t id, size_t i, const float* delta, int n, float value) {
    const float rate = read_shared(state_.rows[id].rate);
    add_block(ops, state_.weights + i, delta, n,
              rate / ((1.0f - windows_.lambda() * rate) * scale(id)) * value);
  }

  template <class Ops>
  void read_row(const Ops& ops, uint32_t id, size_t i, int n, float* out) {
    std::copy_n(state_.weights + i, n, out);
    RowState row = state_.rows[id];
    if (row.rate == 0 && is_zero(out, n)) return;  // never touched, nothing to shrink
    begin_update(0);
    windows_.catch_up(row, touched(row));
    scale_block(ops, out, n, std::exp(-row.pending));
  }

 private:
  // The update that touched a row last.
  uint32_t touched(const RowState& row) const {
    return row.stamp == 0 ? 0 : b_ == 1 ? row.stamp - 1 : (row.stamp - 1) / b_;
  }

  const uint32_t b_;  // samples in an update
  AdfWindows windows_;
  const State<RowState, RunState> state_;
};

}  // namespace adaptag
