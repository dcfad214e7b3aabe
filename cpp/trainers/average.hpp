// The mean of the weights after every update, lazily: a row's weights enter its sum only when they
// are about to change, as often as they have stood.
//
// Lock-free, the row may have been summed up to a later update by another thread: then its weights
// are taken out again that often, and the sum goes back to this update, to go on from there.
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
    const uint32_t summed = read_shared(state_.rows[id].summed);
    const auto now = uint32_t(state_.run->step);
    if (summed != now) {
      const size_t first = layout_.row(id);
      add_block(ops, state_.per_weight_state + first, state_.weights + first,
                int(layout_.row_size(id)), float(int64_t{now} - summed));
      write_shared(state_.rows[id].summed, now);
    }
    add_block(ops, state_.weights + i, delta, n, step);
  }

  template <class Ops>
  void read_row(const Ops& ops, uint32_t id, size_t i, int n, float* out) const {
    std::copy_n(state_.weights + i, n, out);
    const uint64_t now = state_.run->step;
    if (now == 0) return;
    scale_block(ops, out, n, float(now - read_shared(state_.rows[id].summed)));
    add_block(ops, out, state_.per_weight_state + i, n, 1.0f);
    scale_block(ops, out, n, float(1.0 / double(now)));
  }

 private:
  const Layout layout_;
  const State<RowState, RunState> state_;
};

}  // namespace adaptag
