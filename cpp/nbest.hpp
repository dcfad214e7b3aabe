// The n best paths, exactly.
//
// Each (position, label) keeps its n best prefixes, best first, as (label before, rank there).
// Those of the next position are merged from the sorted lists of all labels before it by a heap, so
// the cost is T · Y · (Y + n log Y), whatever the weights and however many paths tie.
#pragma once

#include <queue>
#include <vector>

#include "lattice.hpp"

namespace adaptag {

// Appends up to n paths [T] to `paths`, best first, and their scores to `scores`.
template <int W>
void n_best(const Lattice<W>& lattice, int n, std::vector<int32_t>& paths,
            std::vector<double>& scores) {
  struct Prefix {
    double score;
    int32_t label, rank;  // of the prefix that it extends
    bool operator<(const Prefix& o) const { return score < o.score; }
  };
  const int T = lattice.length, Y = lattice.n_labels(), w = lattice.width();
  if (size_t(T) * Y * size_t(n) > size_t{1} << 31)
    throw InputError("n best: sentence length × labels × n exceeds 2^31");
  std::vector<std::vector<Prefix>> prefixes(size_t(T) * Y);
  // The n best of the lists at position t, where gain(label) is added to the scores of a list.
  const auto merge = [&](int t, std::vector<Prefix>& out, auto&& gain) {
    std::priority_queue<Prefix> heap;
    const auto push = [&](int32_t label, int32_t rank) {
      const std::vector<Prefix>& from = prefixes[size_t(t) * Y + label];
      if (size_t(rank) >= from.size()) return;
      const double score = from[rank].score + gain(label);
      if (score > forbidden / 10) heap.push({score, label, rank});
    };
    for (int i = 0; i < Y; ++i) push(i, 0);
    while (!heap.empty() && int(out.size()) < n) {
      const Prefix best = heap.top();
      heap.pop();
      out.push_back(best);
      push(best.label, best.rank + 1);
    }
  };
  for (int y = 0; y < Y; ++y) prefixes[y].push_back({lattice.node[y], -1, -1});
  for (int t = 1; t < T; ++t) {
    const float* matrix = lattice.edge_matrix(lattice.run_of(t));
    for (int y = 0; y < Y; ++y)
      merge(t - 1, prefixes[size_t(t) * Y + y],
            [&](int i) { return double(matrix[i * w + y]) + lattice.node[size_t(t) * w + y]; });
  }
  std::vector<Prefix> complete;
  merge(T - 1, complete, [](int) { return 0.0; });
  if (complete.empty()) throw NoPathError();
  for (const Prefix& path : complete) {
    const size_t first = paths.size();
    paths.resize(first + T);
    Prefix at = path;
    for (int t = T - 1; t >= 0; --t) {
      paths[first + t] = at.label;
      at = prefixes[size_t(t) * Y + at.label][at.rank];
    }
    scores.push_back(path.score);
  }
}

}  // namespace adaptag
