// The negative log-likelihood of a sentence, its gradient, and the rows of weights it belongs to.
//
//   L(w) = −log P(y | x, w),   ∂L/∂w = E_P[f(x, y)] − f(x, y)
#pragma once

#include "lattice.hpp"

namespace adaptag {

struct Totals {
  double loss = 0;              // Σ −log P(y | x), or the method's own loss
  double expected_correct = 0;  // Σ_t P(y_t = gold): the expected number of correct labels
  int64_t tokens = 0;
  int64_t in_log_space = 0;  // sentences with weights so extreme that they took the slow way

  // The totals of a sentence whose loss has a weight.
  Totals weighted(float weight) const {
    return {loss * weight, expected_correct, tokens, in_log_space};
  }

  Totals& operator+=(const Totals& other) {
    loss += other.loss;
    expected_correct += other.expected_correct;
    tokens += other.tokens;
    in_log_space += other.in_log_space;
    return *this;
  }
};

inline bool all_known(const int32_t* labels, int length) {
  return std::find(labels, labels + length, no_label) == labels + length;
}

// The gradient where some labels are not known: that of the marginal likelihood of the others,
//   log P(known | x) = log Z(x, known) − log Z(x),    node_p[t, y] = P(y_t = y | known) − P(y_t =
//   y)
// and edge_p likewise. Z(x, known) sums over the paths that agree with what is known. Tokens count
// where their label is known.
template <int W>
Totals marginal_likelihood_gradient(Lattice<W>& lattice, const int32_t* known) {
  const int w = lattice.width();
  Totals totals;
  totals.loss = lattice.expectations();
  totals.in_log_space = lattice.in_log_space();
  for (int t = 0; t < lattice.length; ++t) {
    if (known[t] == no_label) continue;
    ++totals.tokens;
    totals.expected_correct += lattice.node_p[size_t(t) * w + known[t]];
  }
  thread_local std::vector<float> node_p, edge_p;  // over all paths
  node_p.swap(lattice.node_p);
  edge_p.swap(lattice.edge_p);
  lattice.fix(known);
  totals.loss -= lattice.expectations();
  for (size_t i = 0; i < node_p.size(); ++i) lattice.node_p[i] -= node_p[i];
  for (size_t i = 0; i < edge_p.size(); ++i) lattice.edge_p[i] -= edge_p[i];
  return totals;
}

// Turns the lattice's probabilities into the gradient of log P(gold | x), in place:
// node_p[t, y] = 1[y = gold_t] − P(y_t = y), edge_p likewise. Returns loss and expected accuracy.
template <int W>
Totals likelihood_gradient(Lattice<W>& lattice, const int32_t* gold) {
  if (!all_known(gold, lattice.length)) return marginal_likelihood_gradient(lattice, gold);
  const int w = lattice.width();
  Totals totals;
  totals.loss = lattice.expectations() - lattice.path_score(gold);
  totals.tokens = lattice.length;
  totals.in_log_space = lattice.in_log_space();
  for (float& p : lattice.node_p) p = -p;
  for (float& p : lattice.edge_p) p = -p;
  for (int t = 0; t < lattice.length; ++t) {
    float& p = lattice.node_p[size_t(t) * w + gold[t]];
    totals.expected_correct -= p;
    p += 1.0f;
  }
  for (int m = 0; m < lattice.n_matrices(); ++m)
    for (int t = lattice.runs[m]; t < lattice.runs[m + 1]; ++t)
      lattice.edge_expectation(m)[gold[t - 1] * w + gold[t]] += 1.0f;
  return totals;
}

// Calls update(id, first weight, delta, n, value) for every row block the sentence uses: node
// blocks position by position, edge blocks once for each run of positions that share a matrix.
// Where no two positions share one, a row that holds node and edge weights is one block. Where the
// direction is sparse, only positions and runs that are marked as changed have blocks.
template <bool sparse, int W, class Update>
void for_each_block(const Lattice<W>& lattice, const Sentence& s, const Layout& layout,
                    Update&& update) {
  const int w = lattice.width();
  const uint32_t node_end = layout.node_end(), edge_begin = layout.edge_begin();
  const bool joined = layout.n_both > 0 && lattice.n_matrices() == s.length - 1;
  std::vector<float> both(joined ? layout.both_size() : 0);  // node and edge part at a position
  for (int t = 0; t < s.length; ++t) {
    const bool changed = !sparse || lattice.changed[t];
    const bool changed_edge = t > 0 && joined && (!sparse || lattice.changed_runs[t - 1]);
    const float* delta = lattice.node_p.data() + size_t(t) * w;
    int64_t k = s.offsets[t];
    if (changed && s.always != no_predicate) update(s.always, s.always * size_t(w), delta, w, 1.0f);
    for (; k < s.offsets[t + 1] && s.predicates[k] < edge_begin; ++k)
      if (changed) update(s.predicates[k], s.predicates[k] * size_t(w), delta, w, s.value(k));
    if (!changed && !changed_edge) continue;
    if (joined) {
      if (changed)
        std::copy_n(delta, w, both.begin());
      else
        std::fill_n(both.begin(), w, 0.0f);
      if (changed_edge)
        std::copy_n(lattice.edge_p.begin() + (t - 1) * layout.edge_size(), layout.edge_size(),
                    both.begin() + w);
      else
        std::fill(both.begin() + w, both.end(), 0.0f);
      delta = both.data();
    }
    const int n = joined ? int(layout.both_size()) : w;
    for (; k < s.offsets[t + 1] && s.predicates[k] < node_end; ++k)
      update(s.predicates[k], layout.row(s.predicates[k]), delta, n, s.value(k));
  }
  const uint32_t first_alone = joined ? node_end : edge_begin;  // edge blocks not yet done
  for (int m = 0; m < lattice.n_matrices(); ++m) {
    if (sparse && !lattice.changed_runs[m]) continue;
    const int t = lattice.runs[m];
    const float* delta = lattice.edge_p.data() + m * layout.edge_size();
    for (int64_t k = s.offsets[t]; k < s.offsets[t + 1]; ++k)
      if (s.predicates[k] >= first_alone)
        update(s.predicates[k], layout.edge_row(s.predicates[k]), delta, int(layout.edge_size()),
               s.value(k));
  }
}

// Adds to counts [n_weights] how often each weight's predicate and gold label, or pair of labels,
// occur together.
inline void count_features(const Dataset& data, const Layout& layout, float* counts) {
  for (size_t i = 0; i < data.size(); ++i) {
    const Sentence s = data[i];
    for (int t = 0; t < s.length; ++t) {
      if (s.labels[t] == no_label) continue;
      if (s.always != no_predicate) ++counts[layout.row(s.always) + s.labels[t]];
      for (int64_t k = s.offsets[t]; k < s.offsets[t + 1]; ++k) {
        const uint32_t id = s.predicates[k];
        if (id < layout.node_end()) ++counts[layout.row(id) + s.labels[t]];
        if (id >= layout.edge_begin() && t > 0 && s.labels[t - 1] != no_label)
          ++counts[layout.edge_row(id) + size_t(s.labels[t - 1]) * layout.width + s.labels[t]];
      }
    }
  }
}

}  // namespace adaptag
