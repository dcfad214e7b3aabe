// The mean of the weights after every update, lazily: a row's weights enter its sum only when they
// are about to change, as often as they have stood.
#pragma once

#include "trainer.hpp"

namespace adaptag {

class Average {
 public:
  struct RowState {
    uint32_t summed;  // updates whose weights are in the sum
  };
  struct RunState {
    uint64_t step;  // t
  };
  static std::vector<Field> row_fields() { return {{"summed", "uint32"}}; }
  static std::vector<Field> run_fields() { return {{"step", "uint64"}}; }

  Average(const Layout& layout, State<RowState, RunState> state) : layout_(layout), state_(state) {}

  void begin_update() const {
    if (state_.run->step >> 32) throw std::length_error("training ends after 2^32 updates");
  }
  void end_update() const { ++state_.run->step; }
  void prefetch(uint32_t id) const { __builtin_prefetch(state_.rows + id, 1); }

  // weights[i …] += step · delta, after what the row's weights were is in the sum.
  template <class Ops>
  void add(const Ops& ops, uint32_t id, size_t i, const float* delta, int n, float step) const {
    RowState& row = state_.rows[id];
    const auto now = uint32_t(state_.run->step);
    if (row.summed != now) {
      const size_t first = layout_.row(id);
      add_block(ops, state_.per_weight_state + first, state_.weights + first,
                int(layout_.row_size(id)), float(now - row.summed));
      row.summed = now;
    }
    add_block(ops, state_.weights + i, delta, n, step);
  }

  template <class Ops>
  void read_row(const Ops& ops, uint32_t id, size_t i, int n, float* out) const {
    std::copy_n(state_.weights + i, n, out);
    const uint64_t now = state_.run->step;
    if (now == 0) return;
    scale_block(ops, out, n, float(now - state_.rows[id].summed));
    add_block(ops, out, state_.per_weight_state + i, n, 1.0f);
    scale_block(ops, out, n, float(1.0 / double(now)));
  }

 private:
  const Layout layout_;
  const State<RowState, RunState> state_;
};

}  // namespace adaptag
