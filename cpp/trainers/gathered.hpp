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

// Its memory depends on what the sentence fires, not on the size of the model.
template <int W>
class Gathered {
 public:
  explicit Gathered(const Layout& layout) : ops_{layout.width} {}

  // Calls f(id, first weight, direction, n) for every block.
  template <class F>
  void for_each(F&& f) const {
    for (const Block& b : blocks_) f(b.id, b.weights, sums_.data() + b.first, b.n);
  }

  double squared_norm() const {
    double sum = 0;
    for_each([&](uint32_t, size_t, const float* x, int n) {
      for (int j = 0; j < n; j += ops_.width()) sum += ops_.dot(x + j, x + j);
    });
    return sum;
  }

 private:
  template <int>
  friend class Gatherer;

  struct Block {
    uint32_t id;
    int n;
    size_t weights;  // first weight
    size_t first;    // first of its sums
  };

  const Rows<W> ops_;
  std::vector<Block> blocks_;
  std::vector<float> sums_;
};

// Sums directions up, sentence by sentence; all sentences of a run share its table.
template <int W>
class Gatherer {
 public:
  explicit Gatherer(const Layout& layout)
      : layout_(layout),
        ops_{layout.width},
        slots_(layout.n_predicates() + size_t(layout.n_both)) {}

  template <bool sparse>
  void gather(const Lattice<W>& lattice, const Sentence& s, Gathered<W>& out) {
    out.blocks_.clear();
    out.sums_.clear();
    for_each_block<sparse>(lattice, s, layout_,
                           [&](uint32_t id, size_t i, const float* delta, int n, float value) {
                             const size_t first = block(out, id, i, n).first;
                             for (int j = 0; j < n; j += ops_.width())
                               ops_.add(out.sums_.data() + first + j, delta + j, value);
                           });
  }

 private:
  using Block = typename Gathered<W>::Block;

  // A slot may be left from another sentence: the block it names must be this one.
  const Block& block(Gathered<W>& out, uint32_t id, size_t weights, int n) {
    const bool second = id >= layout_.edge_begin() && id < layout_.node_end() &&
                        weights == layout_.edge_row(id);  // node weights have the first
    uint32_t& slot = slots_[second ? layout_.n_predicates() + (id - layout_.edge_begin()) : id];
    if (slot < out.blocks_.size() && out.blocks_[slot].weights == weights) return out.blocks_[slot];
    slot = uint32_t(out.blocks_.size());
    out.blocks_.push_back({id, n, weights, out.sums_.size()});
    out.sums_.resize(out.sums_.size() + size_t(n), 0.0f);
    return out.blocks_.back();
  }

  const Layout layout_;
  const Rows<W> ops_;
  // [n_predicates + n_both] a predicate's block in the sentence at hand, or anything; the edge
  // blocks of predicates that have both kinds come last.
  std::vector<uint32_t> slots_;
};

}  // namespace adaptag
