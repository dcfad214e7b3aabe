// The best wrong path, and the direction away from it.
#pragma once

#include "objective.hpp"

namespace adaptag {

// The loss of its totals is s(ŷ) − s(gold) + cost · Hamming, and their correct labels those of ŷ.
struct Margin : Totals {
  double score = 0;  // s(gold) − s(ŷ)
  int wrong = 0;     // Hamming distance of ŷ and gold, where it is known
};

// ŷ = argmax s(y | x) + cost · Hamming(gold, y), and φ(gold) − φ(ŷ) as the update direction: in
// node_p and edge_p of the positions and runs that are marked as changed. Where some labels are not
// known, the best path that agrees with the others is gold (the latent perceptron of Sun,
// Matsuzaki, Okanohara, Tsujii 2009), and only known labels can be wrong.
template <int W>
Margin margin_direction(Lattice<W>& lattice, const int32_t* known, float cost) {
  const int w = lattice.width(), T = lattice.length;
  thread_local std::vector<float> kept;
  thread_local std::vector<int32_t> best, completed;
  const int32_t* gold = known;
  if (!all_known(known, T)) {
    completed.resize(T);
    kept = lattice.node;
    lattice.fix(known);
    lattice.viterbi(completed.data());
    lattice.node = kept;
    gold = completed.data();
  }
  kept.resize(T);
  best.resize(T);
  const auto gold_score = [&](int t) -> float& { return lattice.node[size_t(t) * w + gold[t]]; };
  for (int t = 0; t < T; ++t) {  // what wrong labels earn, the right one loses
    kept[t] = gold_score(t);
    if (known[t] != no_label) gold_score(t) -= cost;
  }
  lattice.viterbi(best.data());
  for (int t = 0; t < T; ++t) gold_score(t) = kept[t];

  Margin margin;
  for (int t = 0; t < T; ++t) {
    if (known[t] == no_label) continue;
    ++margin.tokens;
    margin.wrong += best[t] != gold[t];
  }
  margin.expected_correct = double(margin.tokens) - margin.wrong;
  lattice.changed.assign(T, 0);
  lattice.changed_runs.assign(lattice.n_matrices(), 0);
  if (margin.wrong == 0) return margin;
  margin.score = lattice.path_score(gold) - lattice.path_score(best.data());
  margin.loss = std::max(0.0, double(cost) * margin.wrong - margin.score);

  lattice.node_p.resize(lattice.node.size());
  lattice.edge_p.resize(lattice.edge.size());
  for (int t = 0; t < T; ++t) {
    if (best[t] == gold[t]) continue;
    lattice.changed[t] = 1;
    float* delta = lattice.node_p.data() + size_t(t) * w;
    std::fill_n(delta, w, 0.0f);
    delta[gold[t]] = 1.0f;
    delta[best[t]] = -1.0f;
  }
  for (int m = 0; m < lattice.n_matrices(); ++m) {
    float* delta = lattice.edge_expectation(m);
    for (int t = lattice.runs[m]; t < lattice.runs[m + 1]; ++t) {
      if (!lattice.changed[t] && !lattice.changed[t - 1]) continue;
      if (!lattice.changed_runs[m]) std::fill_n(delta, size_t(lattice.n_labels()) * w, 0.0f);
      lattice.changed_runs[m] = 1;
      delta[gold[t - 1] * w + gold[t]] += 1.0f;
      delta[best[t - 1] * w + best[t]] -= 1.0f;
    }
  }
  return margin;
}

}  // namespace adaptag
