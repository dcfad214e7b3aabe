// What an online training algorithm declares and does, and the loop that runs it.
//
// clang-format off
// An algorithm is one class:
//   declaration()                its name, what it optimises, its parameters and its state
//   Row, Clock                   state per predicate and per run, fields as declared; zeros at start
//   begin(), end()               around each sample
//   prefetch(id)                 brings the row's state into the cache
//   refresh(ops, id, w, n)       makes the row's state current before it is read: lazy rates, penalties
//   scale(id)                    what the stored row must be multiplied by: 1, or a pending shrink
//   direction(lattice, gold)     inference: fills the update direction, returns the loss
//   update(ops, id, w, d, n, v)  w += step · v · d for a block of n weights
//   flush(ops, id, w, n)         applies what is pending, at the end
// clang-format on
// Python allocates the Row and Clock arrays from the declaration and owns them.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "../objective.hpp"

namespace adaptag {

struct Parameter {
  std::string_view name;
  double initial;
  std::string_view bounds;  // an interval, e.g. "(0, 1]"; "integer" in front for whole numbers
  std::string_view help;
};

struct Field {
  std::string_view name;
  std::string_view dtype;  // NumPy's name
};

struct Declaration {
  std::string_view name;
  std::string_view objective;  // what it optimises
  std::string_view advice;     // when to use it
  std::vector<Parameter> parameters;
  std::vector<Field> row;    // the fields of Row
  std::vector<Field> clock;  // the fields of Clock
};

// Values of the declared parameters, in the order of the declaration.
using Values = std::span<const double>;

// One training run as the bindings see it.
class Training {
 public:
  virtual ~Training() = default;
  virtual Totals run(const Dataset& data, std::span<const uint32_t> order) = 0;
  virtual void flush() = 0;
};

template <class Algorithm, int W>
class TrainingWith final : public Training {
 public:
  TrainingWith(const Layout& layout, float* weights, Algorithm algorithm)
      : layout_(layout),
        ops_{layout.width},
        weights_(weights),
        algorithm_(algorithm),
        lattice_(layout) {}

  Totals run(const Dataset& data, std::span<const uint32_t> order) override {
    const FlushToZero flush_to_zero;
    Totals sum;
    for (size_t i = 0; i < order.size(); ++i) {
      const Sentence s = data[order[i]];
      const Sentence next = data[order[std::min(i + 1, order.size() - 1)]];
      if (s.length == 0) continue;
      algorithm_.begin();
      refresh(s);
      lattice_.score(s, weights_, [&](uint32_t id) { return algorithm_.scale(id); });
      const Totals one = algorithm_.direction(lattice_, s.labels);
      // Rows lie far apart in memory: while these are updated, those of the next sentence come in.
      int64_t coming = next.offsets[0];
      const int64_t end = next.offsets[next.length];
      for_each_block(lattice_, s, layout_,
                     [&](uint32_t id, size_t row, const float* delta, int n, float value) {
                       if (coming < end) prefetch(next.predicates[coming++]);
                       algorithm_.update(ops_, id, weights_ + row, delta, n, value);
                     });
      while (coming < end) prefetch(next.predicates[coming++]);
      algorithm_.end();
      sum.loss += one.loss;
      sum.expected_correct += one.expected_correct;
      sum.tokens += one.tokens;
    }
    return sum;
  }

  void flush() override {
    for (uint32_t id = 0; id < layout_.n_predicates(); ++id)
      algorithm_.flush(ops_, id, weights_ + layout_.row(id), int(layout_.row_size(id)));
  }

 private:
  void refresh(const Sentence& s) {
    const int w = ops_.width();
    for (int64_t k = s.offsets[0]; k < s.offsets[s.length]; ++k) {
      const uint32_t id = s.predicates[k];
      if (id < layout_.n_node)
        algorithm_.refresh(ops_, id, weights_ + id * size_t(w), w);
      else
        algorithm_.refresh(ops_, id, weights_ + layout_.row(id), int(layout_.row_size(id)));
    }
  }

  void prefetch(uint32_t id) const {
    const float* row = weights_ + layout_.row(id);
    algorithm_.prefetch(id);
    __builtin_prefetch(row, 1);
    __builtin_prefetch(row + 16, 1);
  }

  const Layout layout_;
  const Rows<W> ops_;
  float* const weights_;
  Algorithm algorithm_;
  Lattice<W> lattice_;
};

// Scales n weights (a multiple of the row width).
template <class Ops>
void scale_block(const Ops& ops, float* w, int n, float factor) {
  for (int j = 0; j < n; j += ops.width()) ops.scale(w + j, factor);
}

// w += a · x over n weights (a multiple of the row width).
template <class Ops>
void add_block(const Ops& ops, float* w, const float* x, int n, float a) {
  for (int j = 0; j < n; j += ops.width()) ops.add(w + j, x + j, a);
}

// Whether n weights are all zero, as those of a predicate that never fired are.
inline bool is_zero(const float* w, int n) {
  return std::all_of(w, w + n, [](float x) { return x == 0; });
}

// L2 regularisation is put off: a row's pending shrink p, as a negative logarithm, is a factor in
// its scores until it exceeds this, and only then applied to the weights. Small steps add up in p
// where a float32 weight would lose them in rounding.
constexpr float largest_pending = 0.01f;

// exp(−p) for p ≤ largest_pending, exact to float32.
inline float pending_scale(float p) { return 1.0f - p * (1.0f - p * (0.5f - p * (1.0f / 6))); }

}  // namespace adaptag
