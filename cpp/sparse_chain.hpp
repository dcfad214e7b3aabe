// A linear chain whose attributes have weights for few labels, in float64: what a CRFsuite model
// is.
//
//   s(y | x) = Σ_t node[t, y_t] + Σ_{t>0} edge[y_{t−1}, y_t],    node[t, y] = Σ_a value_a · w(a, y)
//
// Scores are summed, and the best path is chosen, in CRFsuite's order, so that its labels are found
// bit by bit, ties included.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "vocabulary.hpp"

namespace adaptag {

class SparseChain {
 public:
  // names: the attributes; the weights of attribute a are [rows[a], rows[a + 1]) of labels and
  // weights. transitions [Y, Y]: (previous, current).
  SparseChain(const VocabularyView& names, std::span<const int64_t> rows,
              std::span<const uint32_t> labels, std::span<const double> weights,
              std::span<const double> transitions, int n_labels)
      : Y(n_labels),
        W((n_labels + lanes - 1) / lanes * lanes),
        names_(names),
        rows_(rows),
        labels_(labels),
        weights_(weights),
        edge_(size_t(Y) * W, -infinity),
        exp_edge_(edge_.size()) {
    if (rows.size() != names_.size() + 1 || rows.front() != 0 ||
        size_t(rows.back()) != labels.size() || labels.size() != weights.size() ||
        !std::is_sorted(rows.begin(), rows.end()) || transitions.size() != size_t(Y) * Y)
      throw std::invalid_argument("the parts of the model do not fit together");
    for (const uint32_t label : labels)
      if (label >= uint32_t(Y)) throw std::invalid_argument("a label is out of range");
    if (Y == 0) return;
    const auto [least, most] = std::minmax_element(transitions.begin(), transitions.end());
    edge_top_ = *most;
    in_log_space_ = !(*most - *least < max_span);
    for (int i = 0; i < Y; ++i)
      for (int j = 0; j < Y; ++j) {
        edge_[size_t(i) * W + j] = transitions[size_t(i) * Y + j];
        exp_edge_[size_t(i) * W + j] = std::exp(transitions[size_t(i) * Y + j] - edge_top_);
      }
  }

  // The scores of a sequence that is made item by item.
  class Scores {
   public:
    Scores(const SparseChain& chain, std::vector<double>&& memory)
        : chain_(chain), node_(std::move(memory)) {
      node_.assign(size_t(chain.W), 0.0);
    }
    void add_attribute(std::string_view name, double value) {
      const uint32_t id = chain_.names_.view().find(name);
      if (id == VocabularyView::unknown) return;
      double* const row = node_.data() + node_.size() - chain_.W;
      for (int64_t k = chain_.rows_[id]; k < chain_.rows_[id + 1]; ++k)
        row[chain_.labels_[k]] += chain_.weights_[k] * value;
    }
    void end_item() {
      ++n_items_;
      node_.resize(node_.size() + chain_.W, 0.0);
    }
    int n_items() const { return n_items_; }

   private:
    friend SparseChain;

    const SparseChain& chain_;
    int n_items_ = 0;
    std::vector<double> node_;  // [T + 1, W]; the last row is that of the item to come
  };

  // Begins the scores of a sequence; set() takes them, and only then forgets the earlier one.
  Scores begin() { return Scores(*this, std::move(spare_)); }
  void set(Scores&& scores) {
    length_ = scores.n_items_;
    node_.swap(scores.node_);
    spare_ = std::move(scores.node_);
    expected_ = false;
  }
  int length() const { return length_; }
  int n_labels() const { return Y; }

  // The best path; of several, the one whose labels come first, from the end.
  void viterbi(int32_t* labels) {
    if (length_ == 0) return;
    delta_.assign(2 * size_t(W), -infinity);
    back_.resize(size_t(length_) * W);
    double *from = delta_.data(), *to = from + W;
    std::copy_n(node_.data(), Y, from);
    for (int t = 1; t < length_; ++t) {
      viterbi_step(from, to, t);
      std::swap(from, to);
    }
    int y = int(std::max_element(from, from + Y) - from);
    for (int t = length_ - 1; t >= 0; --t) {
      labels[t] = y;
      if (t > 0) y = int(back_[size_t(t) * W + y]);
    }
  }

  // log P(y | x)
  double log_probability(const int32_t* labels) {
    expect();
    double score = 0;
    for (int t = 0; t < length_; ++t) {
      score += node_[size_t(t) * W + labels[t]];
      if (t > 0) score += edge_[size_t(labels[t - 1]) * W + labels[t]];
    }
    return score - log_z_;
  }
  // P(y_t = y | x)
  double marginal(int t, int y) {
    expect();
    return p_[size_t(t) * W + y];
  }

 private:
  static constexpr int lanes = 4;
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  // Below this difference of edge scores underflow takes nothing that matters: β_t[i] / β_t[j] is
  // at most e^span, so what α_t loses below 1e-308 is less than 1e-47 of Z.
  static constexpr double max_span = 600;

  typedef double V __attribute__((vector_size(lanes * sizeof(double))));
  typedef int64_t I __attribute__((vector_size(lanes * sizeof(int64_t))));

  static V load(const double* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }

  // δ_t[j] = max_i (δ_{t−1}[i] + edge[i, j]) + node[t, j], the first i of several.
  void viterbi_step(const double* from, double* to, int t) {
    for (int j = 0; j < W; j += lanes) {
      V best = load(edge_.data() + j) + from[0];
      I best_label{};
      for (int i = 1; i < Y; ++i) {
        const V score = load(edge_.data() + size_t(i) * W + j) + from[i];
        const I better = score > best;
        best = better ? score : best;
        best_label = better ? I{} + int64_t(i) : best_label;
      }
      best += load(node_.data() + size_t(t) * W + j);
      std::memcpy(to + j, &best, sizeof best);
      std::memcpy(back_.data() + size_t(t) * W + j, &best_label, sizeof best_label);
    }
  }

  // log Z and P(y_t | x), once for a sequence.
  void expect() {
    if (expected_) return;
    p_.assign(size_t(length_) * W, 0.0);
    beta_.assign(p_.size(), 0.0);
    log_z_ = 0;
    if (length_ > 0) {
      if (in_log_space_)
        expect_in_log_space();
      else
        expect_scaled();
    }
    expected_ = true;
  }

  // α_t[j] ∝ e_t[j] Σ_i α_{t−1}[i] E[i, j], β_{t−1}[i] ∝ Σ_j E[i, j] e_t[j] β_t[j], all divided by
  // their sums; e_t = exp(node_t − max node_t). log Z is the sum of the logarithms of the sums of
  // α.
  void expect_scaled() {
    exp_node_.resize(p_.size());
    for (int t = 0; t < length_; ++t) {
      const double* node = node_.data() + size_t(t) * W;
      double* e = exp_node_.data() + size_t(t) * W;
      double* alpha = p_.data() + size_t(t) * W;
      const double top = *std::max_element(node, node + Y);
      for (int y = 0; y < Y; ++y) e[y] = std::exp(node[y] - top);
      if (t == 0) {
        std::copy_n(e, Y, alpha);
      } else {
        for (int i = 0; i < Y; ++i)
          for (int j = 0; j < W; ++j) alpha[j] += alpha[i - W] * exp_edge_[size_t(i) * W + j];
        for (int y = 0; y < Y; ++y) alpha[y] *= e[y];
        log_z_ += edge_top_;
      }
      log_z_ += top + std::log(normalise(alpha));
    }
    std::fill_n(beta_.end() - W, Y, 1.0);
    std::vector<double> x(W);
    for (int t = length_ - 1; t > 0; --t) {
      double* beta = beta_.data() + size_t(t) * W;
      for (int y = 0; y < Y; ++y) x[y] = exp_node_[size_t(t) * W + y] * beta[y];
      for (int i = 0; i < Y; ++i) {
        double sum = 0;
        for (int j = 0; j < Y; ++j) sum += exp_edge_[size_t(i) * W + j] * x[j];
        beta[i - W] = sum;
      }
      normalise(beta - W);
    }
    for (int t = 0; t < length_; ++t) {
      double* p = p_.data() + size_t(t) * W;
      for (int y = 0; y < Y; ++y) p[y] *= beta_[size_t(t) * W + y];
      normalise(p);
    }
  }

  // Divides the row by its sum, which is returned.
  double normalise(double* row) const {
    double sum = 0;
    for (int y = 0; y < Y; ++y) sum += row[y];
    for (int y = 0; y < Y; ++y) row[y] /= sum;
    return sum;
  }

  // The same with logarithms, for transitions that differ more than the range of a float64.
  void expect_in_log_space() {
    const auto at = [&](std::vector<double>& table, int t, int y) -> double& {
      return table[size_t(t) * W + y];
    };
    const auto log_sum = [&](auto&& term) {
      double top = -infinity, sum = 0;
      for (int y = 0; y < Y; ++y) top = std::max(top, term(y));
      for (int y = 0; y < Y; ++y) sum += std::exp(term(y) - top);
      return top + std::log(sum);
    };
    const auto edge = [&](int i, int j) { return edge_[size_t(i) * W + j]; };
    for (int t = 0; t < length_; ++t)
      for (int j = 0; j < Y; ++j)
        at(p_, t, j) =
            at(node_, t, j) +
            (t == 0 ? 0.0 : log_sum([&](int i) { return at(p_, t - 1, i) + edge(i, j); }));
    for (int t = length_ - 1; t > 0; --t)
      for (int i = 0; i < Y; ++i)
        at(beta_, t - 1, i) =
            log_sum([&](int j) { return edge(i, j) + at(node_, t, j) + at(beta_, t, j); });
    log_z_ = log_sum([&](int y) { return at(p_, length_ - 1, y); });
    for (int t = 0; t < length_; ++t)
      for (int y = 0; y < Y; ++y) at(p_, t, y) = std::exp(at(p_, t, y) + at(beta_, t, y) - log_z_);
  }

  const int Y, W;  // labels, and rounded up
  Vocabulary names_;
  std::span<const int64_t> rows_;
  std::span<const uint32_t> labels_;
  std::span<const double> weights_;
  std::vector<double> edge_;      // [Y, W]; padding is −∞
  std::vector<double> exp_edge_;  // [Y, W] exp(edge − edge_top); padding is 0
  double edge_top_ = 0;
  bool in_log_space_ = false;

  int length_ = 0;  // T, of the sequence that is set
  bool expected_ = false;
  std::vector<double> node_, spare_;         // [T + 1, W]
  std::vector<double> delta_;                // [2, W] Viterbi: scores of the best prefixes
  std::vector<int64_t> back_;                // [T, W] Viterbi: the best previous labels
  std::vector<double> p_, beta_, exp_node_;  // [T, W] P(y_t | x), after α; β; exp(node − top)
  double log_z_ = 0;
};

}  // namespace adaptag
