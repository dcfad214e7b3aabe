// SGD with an L1 penalty C Σ|w|. Tsuruoka, Tsujii, Ananiadou (2009), section 3.
//
//   naive       w ← w + η_t g − δ_t sign(w),                               δ_t = η_t C / N
//   clipping    w ← w + η_t g, then every weight moves by δ_t towards 0, not beyond
//   cumulative  u ← u + δ_t,  w ← w + η_t g, then every weight pays what it owes:
//                 w > 0:  w ← max(0, w − (u + q)),   w < 0:  w ← min(0, w + (u − q)),
//                 where q, its per-weight state, is all it has paid so far        (Figure 2)
//
// Lazy form: a row pays when it is next read, for all updates since, which comes to the same:
// clipped moves towards 0 add up, and so do u and q. The naive penalty oscillates around 0 and must
// be followed update by update.
//
// Lock-free, a row that has paid for later updates already pays nothing.
#pragma once

#include "schedule.hpp"
#include "trainer.hpp"

namespace adaptag {

class SgdL1 {
 public:
  static constexpr Hooks hooks{.refresh = true};
  struct RowState {
    double paid;  // u up to which the row has paid; naive: the number of updates
  };
  struct RunState {
    uint64_t step;   // t
    double penalty;  // u = Σ δ_s
  };

  static Declaration declaration() {
    return {"sgd-l1",
            "L1-regularised conditional likelihood: most weights become exactly 0",
            "A small model, in far less time than owlqn.",
            30,
            {rate_parameter(0.5),
             {"l1", 1.0, "[0, inf)", "strength C of the L1 penalty"},
             {"penalty", 0, "cumulative | clipping | naive", "how the penalty is applied"},
             {"schedule", 0, "exponential | harmonic", "how the rate decreases"},
             decay_parameter,
             batch_parameter},
            {{"paid", "float64"}},
            {{"step", "uint64"}, {"penalty", "float64"}},
            "paid"};
  }

  SgdL1(const Values& values, const Task& task, State<RowState, RunState> state)
      : layout_(task.layout),
        strength_(values["l1"] / task.n_updates()),
        penalty_(values.choice<Penalty>("penalty")),
        schedule_{values.choice<Schedule::Kind>("schedule"), values["rate"], values["decay"],
                  task.n_updates()},
        state_(state) {}

  void begin_update(size_t) {
    eta_ = schedule_(state_.run->step);
    if (penalty_ == naive)
      for (uint64_t t = deltas_.size(); t <= state_.run->step; ++t)
        deltas_.push_back(float(schedule_(t) * strength_));
  }
  void end_update() {
    ++state_.run->step;
    state_.run->penalty += eta_ * strength_;
  }
  void prefetch(uint32_t id) const { __builtin_prefetch(state_.rows + id, 1); }

  template <class Ops>
  void refresh(const Ops& ops, uint32_t id, size_t i, int n, size_t) {
    const double paid = read_shared(state_.rows[id].paid);
    if (paid >= now()) return;
    pay(ops, paid, state_.weights + i, state_.per_weight_state + i, n);
    write_shared(state_.rows[id].paid, now());
  }

  template <int W>
  Totals direction(Lattice<W>& lattice, const int32_t* gold) {
    return likelihood_gradient(lattice, gold);
  }

  template <class Ops>
  void update(const Ops& ops, uint32_t id, size_t i, const float* delta, int n, float value) {
    if (penalty_ == naive) pay_naively_now(ops, id);
    add_block(ops, state_.weights + i, delta, n, float(eta_) * value);
  }

  template <class Ops>
  void read_row(const Ops& ops, uint32_t id, size_t i, int n, float* out) {
    std::copy_n(state_.weights + i, n, out);
    if (is_zero(out, n)) return;
    if (penalty_ == naive) begin_update(0);
    std::vector<float> q(state_.per_weight_state + i, state_.per_weight_state + i + n);
    pay(ops, read_shared(state_.rows[id].paid), out, q.data(), n);
  }

 private:
  enum Penalty { cumulative, clipping, naive };

  double now() const { return penalty_ == naive ? double(state_.run->step) : state_.run->penalty; }

  // Brings n weights, of a row that has paid up to row_paid, to the start of the current update.
  template <class Ops>
  void pay(const Ops& ops, double row_paid, float* w, float* q, int n) const {
    using V = typename Ops::V;
    const auto towards_zero = [](V x, V up, V down) {  // how far a weight may go on either side
      const V above = x - down, below = x + up;
      return Ops::select(x > 0.0f, Ops::select(above > 0.0f, above, V{}),
                         Ops::select(below < 0.0f, below, V{}));
    };
    if (penalty_ == cumulative) {
      const float u = float(state_.run->penalty);
      for_each_vector(ops, n, [&](int j) {
        const V x = read_shared<V>(w + j), paid = read_shared<V>(q + j);
        const V y = Ops::select(x == 0.0f, x, towards_zero(x, u - paid, u + paid));
        write_shared(q + j, paid + (y - x));
        write_shared(w + j, y);
      });
    } else if (penalty_ == clipping) {
      const V owed = Ops::broadcast(float(state_.run->penalty - row_paid));
      for_each_vector(ops, n, [&](int j) {
        const V x = read_shared<V>(w + j);
        write_shared(w + j, Ops::select(x == 0.0f, x, towards_zero(x, owed, owed)));
      });
    } else {
      for_each_vector(ops, n, [&](int j) {
        V x = read_shared<V>(w + j);
        for (auto t = uint64_t(row_paid); t < state_.run->step; ++t) x = naive_step(ops, x, t);
        write_shared(w + j, x);
      });
    }
  }

  template <class Ops, class V = typename Ops::V>
  V naive_step(const Ops&, V x, uint64_t t) const {
    const V delta = Ops::broadcast(deltas_[t]);
    return x - Ops::select(x > 0.0f, delta, V{}) + Ops::select(x < 0.0f, delta, V{});
  }

  // The naive penalty of this update, read at the weights before it: once for each row.
  template <class Ops>
  void pay_naively_now(const Ops& ops, uint32_t id) {
    using V = typename Ops::V;
    double& paid = state_.rows[id].paid;
    if (read_shared(paid) != double(state_.run->step)) return;
    write_shared(paid, double(state_.run->step) + 1);
    float* const w = state_.weights + layout_.row(id);
    for_each_vector(ops, int(layout_.row_size(id)), [&](int j) {
      write_shared(w + j, naive_step(ops, read_shared<V>(w + j), state_.run->step));
    });
  }

  const Layout layout_;
  const double strength_;  // C / N
  const Penalty penalty_;
  const Schedule schedule_;
  const State<RowState, RunState> state_;
  double eta_ = 0;             // η_t
  std::vector<float> deltas_;  // δ_t of all updates so far, for the naive penalty
};

}  // namespace adaptag
