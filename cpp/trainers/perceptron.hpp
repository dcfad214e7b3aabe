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
  static constexpr bool sparse = true;
  struct Row {};
  struct Clock {
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

  Perceptron(Values, const Task&, State<Row, Clock> state) : state_(state) {}

  void begin(size_t) {}
  void end() { ++state_.clock->step; }
  void prefetch(uint32_t) const {}

  template <int W>
  Totals direction(Lattice<W>& lattice, const int32_t* gold) {
    return margin_direction(lattice, gold, 0).totals;
  }

  template <class Ops>
  void update(const Ops& ops, uint32_t, size_t i, const float* delta, int n, float value) {
    add_block(ops, state_.weights + i, delta, n, value);
  }

  template <class Ops>
  void read(const Ops&, uint32_t, size_t i, int n, float* out) const {
    std::copy_n(state_.weights + i, n, out);
  }

 private:
  const State<Row, Clock> state_;
};

class AveragedPerceptron {
 public:
  static constexpr bool sparse = true;
  using Row = Average::Row;
  using Clock = Average::Clock;

  static Declaration declaration() {
    return {"averaged-perceptron",
            "mistakes of the best path; gives the mean of all weights on the way",
            "The fastest passes, no parameter to choose; no probabilities to speak of.",
            10,
            {batch_parameter},
            Average::row_fields(),
            Average::clock_fields(),
            "sum"};
  }

  AveragedPerceptron(Values, const Task& task, State<Row, Clock> state)
      : average_(task.layout, state) {}

  void begin(size_t) { average_.begin(); }
  void end() { average_.end(); }
  void prefetch(uint32_t id) const { average_.prefetch(id); }

  template <int W>
  Totals direction(Lattice<W>& lattice, const int32_t* gold) {
    return margin_direction(lattice, gold, 0).totals;
  }

  template <class Ops>
  void update(const Ops& ops, uint32_t id, size_t i, const float* delta, int n, float value) {
    average_.add(ops, id, i, delta, n, value);
  }

  template <class Ops>
  void read(const Ops& ops, uint32_t id, size_t i, int n, float* out) const {
    average_.read(ops, id, i, n, out);
  }

 private:
  Average average_;
};

}  // namespace adaptag
