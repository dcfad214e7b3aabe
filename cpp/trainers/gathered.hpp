// The update direction of one sentence, summed over the positions where a predicate fires: methods
// whose step depends on its length need each weight's part once.
#pragma once

#include "../objective.hpp"

namespace adaptag {

// The size of one sentence's update.
struct Step {
  float weights = 0;    // factor of the direction in the weights; 0: no update
  float precision = 0;  // factor of its square in the inverse variances
};

template <int W>
class Gathered {
 public:
  explicit Gathered(const Layout& layout)
      : layout_(layout), ops_{layout.width}, slots_(size_t(layout.n_predicates()) * 2) {}

  void collect(const Lattice<W>& lattice, const Sentence& s, bool sparse) {
    parts_.clear();
    sums_.clear();
    const auto add = [&](uint32_t id, size_t i, const float* delta, int n, float value) {
      const size_t first = part(id, i, n).first;
      for (int j = 0; j < n; j += ops_.width())
        ops_.add(sums_.data() + first + j, delta + j, value);
    };
    if (sparse)
      for_each_block<true>(lattice, s, layout_, add);
    else
      for_each_block<false>(lattice, s, layout_, add);
  }

  // Calls f(id, first weight, direction, n) for every block.
  template <class F>
  void for_each(F&& f) const {
    for (const Part& p : parts_) f(p.id, p.weights, sums_.data() + p.first, p.n);
  }

  double squared_norm() const {
    double sum = 0;
    for_each([&](uint32_t, size_t, const float* x, int n) {
      for (int j = 0; j < n; j += ops_.width()) sum += ops_.dot(x + j, x + j);
    });
    return sum;
  }

 private:
  struct Part {
    uint32_t id;
    int n;
    size_t weights;  // first weight
    size_t first;    // first of its sums
  };

  // A slot may be left from another sentence: the part it names must be this block.
  const Part& part(uint32_t id, size_t weights, int n) {
    const bool edge = id >= layout_.edge_begin() && weights == layout_.edge_row(id);
    uint32_t& slot = slots_[size_t(id) * 2 + edge];
    if (slot < parts_.size() && parts_[slot].weights == weights) return parts_[slot];
    slot = uint32_t(parts_.size());
    parts_.push_back({id, n, weights, sums_.size()});
    sums_.resize(sums_.size() + size_t(n), 0.0f);
    return parts_.back();
  }

  const Layout layout_;
  const Rows<W> ops_;
  std::vector<uint32_t> slots_;  // node and edge block of each predicate → its part, or anything
  std::vector<Part> parts_;
  std::vector<float> sums_;
};

}  // namespace adaptag
