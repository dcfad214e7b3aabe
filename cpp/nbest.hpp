// The n best paths, exactly: A* backwards from the end of the sentence.
//
// After Viterbi, best[t, y] is the best score of any prefix ending in y at t, so
// f = best[t, y] + (score of the suffix after t) is the exact score of the best path through a
// partial suffix, and paths leave the queue in order of their scores.
#pragma once

#include <queue>
#include <vector>

#include "lattice.hpp"

namespace adaptag {

// Appends up to n paths [T] to `paths`, best first, and their scores to `scores`.
template <int W>
void n_best(Lattice<W>& lattice, int n, std::vector<int32_t>& paths, std::vector<double>& scores) {
  struct Hypothesis {
    int position, label;
    int64_t next;   // index of the hypothesis for position + 1, or −1
    double suffix;  // score after this position: nodes and edges of positions > position
  };
  struct Entry {
    double f;
    int64_t index;
    bool operator<(const Entry& o) const { return f < o.f || (f == o.f && index > o.index); }
  };
  const int T = lattice.length, Y = lattice.n_labels(), w = lattice.width();
  std::vector<int32_t> best(T);
  lattice.viterbi(best.data());  // fills best_prefix; throws where no path is allowed
  std::vector<Hypothesis> all;
  std::priority_queue<Entry> queue;
  const auto push = [&](Hypothesis h) {
    const double f = double(lattice.best_prefix(h.position, h.label)) + h.suffix;
    if (f < forbidden / 10) return;
    all.push_back(h);
    queue.push({f, int64_t(all.size()) - 1});
  };
  for (int y = 0; y < Y; ++y) push({T - 1, y, -1, 0.0});
  while (!queue.empty() && n > 0) {
    const Entry top = queue.top();
    queue.pop();
    const Hypothesis h = all[top.index];
    if (h.position == 0) {
      for (int64_t i = top.index; i >= 0; i = all[i].next) paths.push_back(all[i].label);
      scores.push_back(lattice.path_score(paths.data() + paths.size() - T));
      --n;
      continue;
    }
    const int t = h.position;
    const float* matrix = lattice.edge_matrix(lattice.run_of(t));
    for (int i = 0; i < Y; ++i)
      push({t - 1, i, top.index,
            h.suffix + lattice.node[size_t(t) * w + h.label] + matrix[i * w + h.label]});
  }
}

}  // namespace adaptag
