// SGD with an L2 prior: three schedules, two ways to regularise, and averaging.
// Tsuruoka, Tsujii, Ananiadou (2009), equations 5 and 6; Bordes, Bottou, Gallinari (2009).
//
//   w ← w + γ_t ∇{ log P(y_i | x_i) − ‖w‖² / (2nσ²) }
//   w ← w + γ_t ∇ log P(y_i | x_i), and every k-th update  w ← (1 − kλγ_t) w      (bordes)
//
// Lazy form: after update t every weight has shrunk by (1 − x_t), x_t = λγ_t with λ = 1/(Nσ²), or
// kλγ_t at every k-th update. The run state sums S = Σ −log(1 − x_t) in float64; a row remembers
// the sum it has seen and applies the difference when it is next read. The shrink of the update
// itself stays pending (see adf.hpp).
//
// Averages are lazy too. A row that holds w since the sum was S₀ stands for w e^{S₀ − S_t} after
// update t, so the mean needs G = Σ e^{−S_t} from the run state and the G that the row has seen.
//
// Lock-free, a row may have seen larger sums than this thread: the differences are negative then,
// and the row goes back in time by them.
#pragma once

#include "schedule.hpp"
#include "trainer.hpp"

namespace adaptag {

// How far update t goes, and how much it shrinks weights.
struct SgdSteps {
  SgdSteps(const Values& values, const Task& task)
      : lambda(task.prior(values["sigma"])),
        schedule{values.choice<Schedule::Kind>("schedule"), values["rate"], values["decay"],
                 task.n_updates(), lambda},
        period(schedule.kind == Schedule::bordes
                   ? task.period(values["period"], lambda * schedule.rate)
                   : 1) {
    check_shrink(double(period) * lambda * schedule.rate);
  }

  void begin(uint64_t t) {
    const double gamma = schedule(t);
    shrink = (t + 1) % period == 0 ? double(period) * lambda * gamma : 0;
    step = float(schedule.kind == Schedule::bordes ? gamma : gamma / (1 - shrink));
  }

  const double lambda;
  const Schedule schedule;
  const uint64_t period;  // k
  double shrink = 0;      // x_t
  float step = 0;         // γ_t, or γ_t / (1 − x_t)
};

class Sgd {
 public:
  static constexpr Hooks hooks{.refresh = true, .scale = true, .sweep = true, .special_form = true};
  struct RowState {
    double shrunk;  // S when the row was last made current
    double summed;  // G up to which its weights are in the sum
  };
  struct RunState {
    uint64_t step;    // t
    double shrink;    // S
    double summed;    // G
    double averaged;  // updates whose weights are in the mean
  };

  static Declaration declaration() {
    return {
        "sgd",
        "L2-regularised conditional likelihood, one learning rate for all features",
        "The baseline that the literature compares with; needs more passes than adf.",
        20,
        {rate_parameter(0.1),
         sigma_parameter,
         {"schedule", 0, "exponential | harmonic | bordes", "how the rate decreases"},
         decay_parameter,
         period_parameter,
         {"average", 0, "integer [0, 1000000]",
          "average the weights from this pass on; 0 means no averaging"},
         batch_parameter},
        {{"shrunk", "float64"}, {"summed", "float64"}},
        {{"step", "uint64"}, {"shrink", "float64"}, {"summed", "float64"}, {"averaged", "float64"}},
        "sum"};
  }

  Sgd(const Values& values, const Task& task, State<RowState, RunState> state)
      : steps_(values, task),
        average_from_(values["average"] > 0 ? (values["average"] - 1) * task.n_updates()
                                            : INFINITY),
        state_(state) {}

  // Documents with few classes: defined in sgd_documents.hpp.
  static std::unique_ptr<Training> special_form(const Values& values, const Task& task,
                                                State<RowState, RunState> state);

  void begin_update(size_t) { steps_.begin(state_.run->step); }
  void end_update() {
    RunState& run = *state_.run;
    run.shrink -= std::log1p(-steps_.shrink);
    if (double(run.step++) < average_from_) return;
    run.summed += std::exp(-run.shrink);
    run.averaged += 1;
  }
  void prefetch(uint32_t id) const { __builtin_prefetch(state_.rows + id, 1); }

  template <class Ops>
  void refresh(const Ops& ops, uint32_t id, size_t i, int n, size_t) {
    if (state_.run->averaged > 0) add_to_sum(ops, id, i, n);
    if (pending(id) > largest_pending) apply(ops, id, i, n);
  }
  float scale(uint32_t id) const { return pending_scale(pending(id)); }

  template <int W>
  Totals direction(Lattice<W>& lattice, const int32_t* gold) {
    return likelihood_gradient(lattice, gold);
  }

  template <class Ops>
  void update(const Ops& ops, uint32_t id, size_t i, const float* delta, int n, float value) {
    add_block(ops, state_.weights + i, delta, n, steps_.step / scale(id) * value);
  }

  template <class Ops>
  void read_row(const Ops& ops, uint32_t id, size_t i, int n, float* out) const {
    std::copy_n(state_.weights + i, n, out);
    if (state_.run->averaged == 0) {
      if (!is_zero(out, n)) scale_block(ops, out, n, std::exp(-pending(id)));
      return;
    }
    scale_block(ops, out, n, float(unsummed(id)));
    add_block(ops, out, state_.per_weight_state + i, n, 1.0f);
    scale_block(ops, out, n, float(1 / state_.run->averaged));
  }

  // G loses its digits when S is large: all rows are made current, and the sums start anew.
  bool sweep_due() const { return state_.run->averaged > 0 && state_.run->shrink > 8; }
  template <class Ops>
  void sweep_row(const Ops& ops, uint32_t id, size_t i, int n) {
    add_to_sum(ops, id, i, n);
    apply(ops, id, i, n);
    write_shared(state_.rows[id].shrunk, 0);
    write_shared(state_.rows[id].summed, 0);
  }
  void end_sweep() { state_.run->shrink = state_.run->summed = 0; }

 private:
  double shrunk(uint32_t id) const { return read_shared(state_.rows[id].shrunk); }
  float pending(uint32_t id) const { return float(state_.run->shrink - shrunk(id)); }
  double unsummed(uint32_t id) const {
    return std::exp(shrunk(id)) * (state_.run->summed - read_shared(state_.rows[id].summed));
  }

  template <class Ops>
  void add_to_sum(const Ops& ops, uint32_t id, size_t i, int n) {
    add_block(ops, state_.per_weight_state + i, state_.weights + i, n, float(unsummed(id)));
    write_shared(state_.rows[id].summed, state_.run->summed);
  }
  template <class Ops>
  void apply(const Ops& ops, uint32_t id, size_t i, int n) {
    scale_block(ops, state_.weights + i, n, std::exp(-pending(id)));
    write_shared(state_.rows[id].shrunk, state_.run->shrink);
  }

  SgdSteps steps_;
  const double average_from_;  // first update in the mean
  const State<RowState, RunState> state_;
};

}  // namespace adaptag
