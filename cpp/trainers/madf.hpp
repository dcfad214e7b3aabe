// MADF: SGD with a fixed learning rate for each weight, from its feature's frequency.
// He, Wang (2012), COLING, equations 14 and 15.
//
//   w ← w + η_t B ∇ log P(y_i | x_i),    η_t = η₀ / (1 + λη₀t)
//   B_i = 1 / (1/b + (1/a − 1/b) · #φ_i / #tokens)          a ≤ B_i ≤ b
//   every k-th update  w ← (1 − kλη_t B) w                  Bordes, Bottou, Gallinari (2009)
//
// #φ_i counts the tokens at which predicate and gold label (or labels) occur together, so B has an
// entry for each weight: it is the per-weight state. All weights are regularised at once, seldom.
#pragma once

#include "schedule.hpp"
#include "trainer.hpp"

namespace adaptag {

class Madf {
 public:
  static constexpr Hooks hooks{.prepare = true, .sweep = true};
  struct RowState {};
  struct RunState {
    uint64_t step;  // t
  };

  static Declaration declaration() {
    return {
        "madf",
        "L2-regularised conditional likelihood, one fixed scaling of the learning rate per "
        "weight, from its frequency",
        "For very unequal feature frequencies and many passes: its 1/t schedule does not stop "
        "learning too early.",
        20,
        {rate_parameter(0.1),
         sigma_parameter,
         {"lower", 0.001, "(0, inf)", "scaling a of a weight whose feature occurs at every token"},
         {"upper", 1.0, "(0, inf)", "scaling b of a weight whose feature never occurs"},
         period_parameter,
         batch_parameter},
        {},
        {{"step", "uint64"}},
        "scaling"};
  }

  Madf(const Values& values, const Task& task, State<RowState, RunState> state)
      : lambda_(task.prior(values["sigma"])),
        schedule_{Schedule::bordes, values["rate"], 1, task.n_updates(), lambda_},
        alpha_(1 / values["lower"]),
        beta_(1 / values["upper"]),
        period_(task.period(values["period"], lambda_ * values["rate"] * values["upper"])),
        state_(state) {
    const double lower = values["lower"], upper = values["upper"];
    if (lower > upper)
      throw std::invalid_argument("lower is " + shown(lower) + "; allowed: at most upper, " +
                                  shown(upper));
    check_shrink(double(period_) * lambda_ * values["rate"] * upper);
  }

  void prepare(const Task& task) {
    float* const scaling = state_.per_weight_state;
    std::fill_n(scaling, task.layout.n_weights(), 0.0f);
    count_features(task.data, task.layout, scaling);
    const double tokens = double(task.data.labels.size());
    for (size_t i = 0; i < task.layout.n_weights(); ++i)
      scaling[i] = float(1 / (beta_ + (alpha_ - beta_) * scaling[i] / tokens));
  }

  void begin_update(size_t) { eta_ = schedule_(state_.run->step); }
  void end_update() { ++state_.run->step; }
  void prefetch(uint32_t) const {}

  template <int W>
  Totals direction(Lattice<W>& lattice, const int32_t* gold) {
    return likelihood_gradient(lattice, gold);
  }

  template <class Ops>
  void update(const Ops& ops, uint32_t, size_t i, const float* delta, int n, float value) {
    const float step = float(eta_) * value;
    float* const w = state_.weights + i;
    const float* const scaling = state_.per_weight_state + i;
    using V = typename Ops::V;
    for_each_vector(ops, n, [&](int j) {
      write_shared(w + j,
                   read_shared<V>(w + j) + Ops::load(scaling + j) * Ops::load(delta + j) * step);
    });
  }

  bool sweep_due() const { return state_.run->step % period_ == 0 && lambda_ > 0; }
  template <class Ops>
  void sweep_row(const Ops& ops, uint32_t, size_t i, int n) {
    const float shrink = float(double(period_) * lambda_ * eta_);
    float* const w = state_.weights + i;
    for_each_vector(ops, n, [&](int j) {
      const auto scaling = Ops::load(state_.per_weight_state + i + j);
      Ops::store(w + j, Ops::load(w + j) * (1.0f - scaling * shrink));
    });
  }
  void end_sweep() {}

  template <class Ops>
  void read_row(const Ops&, uint32_t, size_t i, int n, float* out) const {
    std::copy_n(state_.weights + i, n, out);
  }

 private:
  const double lambda_;
  const Schedule schedule_;
  const double alpha_, beta_;  // 1/a, 1/b
  const uint64_t period_;      // k
  const State<RowState, RunState> state_;
  double eta_ = 0;  // η_t
};

}  // namespace adaptag
