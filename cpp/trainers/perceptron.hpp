// The structured perceptron and its average. Collins (2002).
//
//   ŷ = argmax s(y | x_i);   w ← w + φ(x_i, y_i) − φ(x_i, ŷ)
//
// The averaged form gives the mean of the weights after every update.
#pragma once

#include "average.hpp"

namespace adaptag {

class Perceptron {
 public:
  static constexpr Hooks hooks{.sparse_direction = true};
  struct RowState {};
  struct RunState {
    uint64_t step;  // t
  };

  static Declaration declaration() {
    return {"perceptron",
            "mistakes of the best path, without a margin",
            "A baseline only: averaged-perceptron is better at the same cost.",
            10,
            {batch_parameter},
            {},
            {{"step", "uint64"}},
            ""};
  }

  Perceptron(const Values&, const Task&, State<RowState, RunState> state) : state_(state) {}

  void begin_update(size_t) {}
  void end_update() { ++state_.run->step; }
  void prefetch(uint32_t) const {}

  template <int W>
  Margin direction(Lattice<W>& lattice, const int32_t* gold) {
    return margin_direction(lattice, gold, 0);
  }

  template <class Ops>
  void update(const Ops& ops, uint32_t, size_t i, const float* delta, int n, float value) {
    add_block(ops, state_.weights + i, delta, n, value);
  }

  template <class Ops>
  void read_row(const Ops&, uint32_t, size_t i, int n, float* out) const {
    std::copy_n(state_.weights + i, n, out);
  }

 private:
  const State<RowState, RunState> state_;
};

class AveragedPerceptron {
 public:
  static constexpr Hooks hooks{.sparse_direction = true};
  using RowState = Average::RowState;
  using RunState = Average::RunState;

  static Declaration declaration() {
    return {"averaged-perceptron",
            "mistakes of the best path; the weights are averaged over all updates",
            "The fastest passes, no parameter to choose; its probabilities are not calibrated.",
            10,
            {batch_parameter},
            Average::row_fields(),
            Average::run_fields(),
            "sum"};
  }

  AveragedPerceptron(const Values&, const Task& task, State<RowState, RunState> state)
      : average_(task.layout, state) {}

  void begin_update(size_t) { average_.begin_update(); }
  void end_update() { average_.end_update(); }
  void prefetch(uint32_t id) const { average_.prefetch(id); }

  template <int W>
  Margin direction(Lattice<W>& lattice, const int32_t* gold) {
    return margin_direction(lattice, gold, 0);
  }

  template <class Ops>
  void update(const Ops& ops, uint32_t id, size_t i, const float* delta, int n, float value) {
    average_.add(ops, id, i, delta, n, value);
  }

  template <class Ops>
  void read_row(const Ops& ops, uint32_t id, size_t i, int n, float* out) const {
    average_.read_row(ops, id, i, n, out);
  }

 private:
  Average average_;
};

}  // namespace adaptag
