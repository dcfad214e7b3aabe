// The negative log-likelihood of a dataset and its gradient.
//
//   L(w) = Σ_i −log P(y_i | x_i, w),   ∂L/∂w = Σ_i E_P[f(x_i, y)] − f(x_i, y_i)
#pragma once

#include "lattice.hpp"

namespace adaptag {

struct Totals {
  double loss = 0;              // Σ −log P(y | x), or the method's own loss
  double expected_correct = 0;  // Σ_t P(y_t = gold): the expected number of correct labels
  int64_t tokens = 0;
};

// Turns the lattice's probabilities into the gradient of log P(gold | x), in place:
// node_p[t, y] = 1[y = gold_t] − P(y_t = y), edge_p likewise. Returns loss and expected accuracy.
template <int W>
Totals likelihood_gradient(Lattice<W>& lattice, const int32_t* gold) {
  const int w = lattice.width();
  Totals totals;
  totals.loss = lattice.expectations() - lattice.path_score(gold);
  totals.tokens = lattice.length;
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
template <int W, class Update>
void for_each_block(const Lattice<W>& lattice, const Sentence& s, const Layout& layout,
                    Update&& update) {
  const int w = lattice.width();
  const uint32_t node_end = layout.node_end(), edge_begin = layout.edge_begin();
  for (int t = 0; t < s.length; ++t) {
    const float* delta = lattice.node_p.data() + size_t(t) * w;
    int64_t k = s.offsets[t];
    for (; k < s.offsets[t + 1] && s.predicates[k] < edge_begin; ++k)
      update(s.predicates[k], s.predicates[k] * size_t(w), delta, w, s.value(k));
    for (; k < s.offsets[t + 1] && s.predicates[k] < node_end; ++k)
      update(s.predicates[k], layout.row(s.predicates[k]), delta, w, s.value(k));
  }
  for (int m = 0; m < lattice.n_matrices(); ++m) {
    const int t = lattice.runs[m];
    const float* delta = lattice.edge_p.data() + m * layout.edge_size();
    for (int64_t k = s.offsets[t]; k < s.offsets[t + 1]; ++k)
      if (s.predicates[k] >= edge_begin)
        update(s.predicates[k], layout.edge_row(s.predicates[k]), delta, int(layout.edge_size()),
               s.value(k));
  }
}

// L(w), adding ∂L/∂w to gradient [n_weights].
template <int W>
double objective(const Dataset& data, const Layout& layout, const float* weights,
                 double* gradient) {
  Lattice<W> lattice(layout);
  double loss = 0;
  for (size_t i = 0; i < data.size(); ++i) {
    const Sentence s = data[i];
    if (s.length == 0) continue;
    lattice.score(s, weights, unscaled);
    loss += likelihood_gradient(lattice, s.labels).loss;
    for_each_block(lattice, s, layout,
                   [&](uint32_t, size_t row, const float* delta, int n, float value) {
                     for (int j = 0; j < n; ++j) gradient[row + j] -= double(delta[j]) * value;
                   });
  }
  return loss;
}

}  // namespace adaptag
