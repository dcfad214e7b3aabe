// Rows divided among threads, and a dataset divided likewise: each thread trains the rows it owns.
#pragma once

#include <vector>

#include "../lattice.hpp"
#include "../parallel.hpp"

namespace adaptag {

// Which share a predicate's row belongs to. Predicates are numbered by falling frequency: blocks of
// them are dealt out in turn, forth and back, so that all shares have about as much to do. Rows of
// one block, and their state, share cache lines, those of two blocks hardly any.
class RowOwners {
 public:
  RowOwners(const Layout& layout, int shares)
      : layout_(layout), owners_((layout.n_predicates() + block - 1) / block) {
    for (size_t b = 0; b < owners_.size(); ++b) {
      const size_t turn = b / shares, k = b % shares;
      owners_[b] = uint16_t(turn % 2 ? shares - 1 - k : k);
    }
  }

  int operator()(uint32_t id) const { return owners_[id / block]; }

  // Calls f(id, first weight, n) for every row of a share.
  template <class F>
  void for_each_row(int share, F&& f) const {
    for (size_t b = 0; b < owners_.size(); ++b) {
      if (owners_[b] != share) continue;
      const auto first = uint32_t(b * block);
      const uint32_t last = std::min(layout_.n_predicates() - first, block) + first;
      for (uint32_t id = first; id < last; ++id) f(id, layout_.row(id), int(layout_.row_size(id)));
    }
  }

 private:
  static constexpr uint32_t block = 16;
  const Layout layout_;
  std::vector<uint16_t> owners_;  // [blocks]
};

// The predicates of a dataset by the share that owns them: a dataset for each.
class SplitDataset {
 public:
  SplitDataset(const Dataset& data, const Layout& layout, const RowOwners& owners, int shares)
      : parts_(shares), arrays_(shares), starts_run_(data.positions.size() - 1) {
    in_parallel(shares, [&](int k) {
      take(data, owners, k);
      find_runs(data, layout, data.size() * k / shares, data.size() * (k + 1) / shares);
    });
  }

  // The sentences with the predicates of one share.
  const Dataset& part(int share) const { return parts_[share]; }

  // [T] whether a run of positions that share an edge matrix starts at each position of a sentence,
  // given its first token.
  const uint8_t* starts_run(int64_t first_token) const { return starts_run_.data() + first_token; }

 private:
  struct Arrays {
    std::vector<int64_t> positions;    // [T + 1]
    std::vector<uint32_t> predicates;  // [those it owns]
    std::vector<float> values;         // [those it owns], or empty
  };

  void take(const Dataset& data, const RowOwners& owners, int share) {
    Arrays& own = arrays_[share];
    const size_t n_positions = data.positions.size() - 1;
    own.positions.resize(n_positions + 1);
    int64_t n = 0;
    for (size_t t = 0; t < n_positions; ++t) {
      for (int64_t k = data.positions[t]; k < data.positions[t + 1]; ++k)
        n += owners(data.predicates[k]) == share;
      own.positions[t + 1] = n;
    }
    own.predicates.resize(n + 1);  // room for one that is not kept
    if (!data.values.empty()) own.values.resize(n + 1);
    n = 0;
    for (size_t k = 0; k < data.predicates.size(); ++k) {
      own.predicates[n] = data.predicates[k];
      if (!data.values.empty()) own.values[n] = data.values[k];
      n += owners(data.predicates[k]) == share;
    }
    Dataset& part = parts_[share] = data;
    part.positions = own.positions;
    part.predicates = own.predicates;
    part.values = own.values;
    if (data.always != no_predicate && owners(data.always) != share) part.always = no_predicate;
  }

  void find_runs(const Dataset& data, const Layout& layout, size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      const Sentence s = data[i];
      const auto edges = [&](int t) {  // kinds ascend
        return std::partition_point(s.predicates + s.offsets[t], s.predicates + s.offsets[t + 1],
                                    [&](uint32_t id) { return id < layout.edge_begin(); }) -
               s.predicates;
      };
      int64_t before = 0;
      for (int t = 1; t < s.length; ++t) {
        const int64_t now = edges(t);
        starts_run_[data.sentences[i] + t] =
            t == 1 || !same_predicates(s, before, s.offsets[t], now, s.offsets[t + 1]);
        before = now;
      }
    }
  }

  std::vector<Dataset> parts_;       // [shares]
  std::vector<Arrays> arrays_;       // [shares] what they view
  std::vector<uint8_t> starts_run_;  // [T]
};

}  // namespace adaptag
