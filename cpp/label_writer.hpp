// Labels in another scheme than the one that was trained: the states of a chain are written as the
// labels of the output, by their contexts.
#pragma once

#include <vector>

#include "lattice.hpp"

namespace adaptag {

// The label of a token is table[state, before[previous, state], after[state, next]]; S states, and
// number S is the outside of the sentence.
struct LabelWriter {
  static constexpr int befores = 4, afters = 3;

  int S;
  const uint8_t* before;  // [S + 1, S + 1] below `befores`
  const uint8_t* after;   // [S + 1, S + 1] below `afters`
  const int32_t* table;   // [S, befores, afters]

  // Replaces the states [T] of a sentence by labels.
  void write(int32_t* states, int T) const {
    int previous = S;
    for (int t = 0; t < T; ++t) {
      const int state = states[t], next = t + 1 < T ? states[t + 1] : S;
      const int context =
          before[previous * (S + 1) + state] * afters + after[state * (S + 1) + next];
      states[t] = table[state * befores * afters + context];
      previous = state;
    }
  }
};

// Copies the scores of a lattice to one whose states are copies of its states: state_of [R]. Where
// a state is copied once for each of its contexts, and transitions between copies are ruled out
// accordingly, each copy is written as one label.
template <int W, int V>
void copy_scores(const Lattice<W>& from, const std::vector<int32_t>& state_of, Lattice<V>& to) {
  const int w = from.width(), v = to.width(), R = int(state_of.size());
  to.length = from.length;
  to.runs = from.runs;
  to.node.assign(size_t(from.length) * v, forbidden);
  for (int t = 0; t < from.length; ++t)
    for (int r = 0; r < R; ++r) to.node[size_t(t) * v + r] = from.node[size_t(t) * w + state_of[r]];
  to.edge.assign(size_t(from.n_matrices()) * R * v, 0.0f);
  for (int m = 0; m < from.n_matrices(); ++m)
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < R; ++j)
        to.edge_matrix(m)[i * v + j] = from.edge_matrix(m)[state_of[i] * w + state_of[j]];
}

}  // namespace adaptag
