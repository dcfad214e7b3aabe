// Arithmetic on the blocks of weights that algorithms update.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "../errors.hpp"
#include "../shared_rows.hpp"

namespace adaptag {

// Scales n weights (a multiple of the row width).
template <class Ops, class V = typename Ops::V>
void scale_block(const Ops& ops, float* w, int n, float factor) {
  for (int i = 0; i < n; i += ops.width())
    for (int j = i; j < i + ops.width(); j += Ops::lanes)
      write_shared(w + j, read_shared<V>(w + j) * factor);
}

// w += a · x over n weights (a multiple of the row width).
template <class Ops, class V = typename Ops::V, class Wide = typename VecOf<16>::f32>
void add_block(const Ops& ops, float* w, const float* x, int n, float a) {
  int i = 0;
  if constexpr (Ops::lanes == 4)  // narrow rows: a row with edge weights is a few wide vectors
    for (; i + 16 <= n; i += 16)
      write_shared(w + i, read_shared<Wide>(w + i) + read_shared<Wide>(x + i) * a);
  for (; i < n; i += ops.width())
    for (int j = i; j < i + ops.width(); j += Ops::lanes)
      write_shared(w + j, read_shared<V>(w + j) + read_shared<V>(x + j) * a);
}

// Calls f(j) for every vector of n weights.
template <class Ops, class F>
void for_each_vector(const Ops&, int n, F&& f) {
  for (int j = 0; j < n; j += Ops::lanes) f(j);
}

// Whether n weights are all zero, as those of a predicate that never fired are.
inline bool is_zero(const float* w, size_t n) {
  return std::all_of(w, w + n, [](float x) { return x == 0; });
}

// L2 regularisation is put off: a row's pending shrink p, as a negative logarithm, is a factor in
// its scores until it exceeds this, and only then applied to the weights. Small steps add up in p
// where a float32 weight would lose them in rounding.
constexpr float largest_pending = 0.05f;

// exp(−p) for p ≤ largest_pending, exact to float32; of a number or of a vector.
template <class V>
V pending_scale(V p) {
  return 1.0f - p * (1.0f - p * (0.5f - p * (1.0f / 6 - p * (1.0f / 24))));
}

// Throws where a regularisation would shrink weights by half or more, and soon turn them around.
inline void check_shrink(double x) {
  if (x >= 0.5)
    throw std::invalid_argument("rate / (updates in a pass · sigma²), times the period, is " +
                                shown(x) +
                                "; allowed: below 0.5 (lower rate or period, or raise sigma)");
}

}  // namespace adaptag
