// The linear chain over one sentence: scores, forward–backward, Viterbi, probabilities of paths.
//
//   s(y | x) = Σ_t node[t, y_t] + Σ_{t>0} edge_t[y_{t−1}, y_t],    P(y | x) = exp(s(y | x)) / Z(x)
//
// Forward–backward works on exponentials scaled to sum 1 at each position, in float32, with the
// logarithms of the scales summed in float64. What underflow takes from a sum is below 1e-37, so a
// value above `tiny` is exact to float32. Where an allowed label falls below it, what is lost may
// matter later in the sentence: if it can be more than `negligible` of Z (weights so extreme that
// they span the float range), the sentence is done again in log space in float64.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "errors.hpp"
#include "layout.hpp"
#include "shared_rows.hpp"

namespace adaptag {

constexpr float forbidden = -1e30f;  // the score of what a constraint rules out
constexpr float tiny = 1e-30f;
constexpr float negligible = 1e-15f;
constexpr float large = 1024;     // Viterbi: prefix scores from here on are relative
constexpr int viterbi_block = 8;  // positions between two looks at the size of prefix scores

inline void check_temperature(float temperature) {
  if (!(temperature > 0) || !std::isfinite(temperature))
    throw std::invalid_argument("temperature: a finite number above 0 is needed");
}

// The scale of rows that are stored as they are.
constexpr auto unscaled = [](uint32_t) { return 1.0f; };

// Whether two ranges of predicates, e.g. those with edge weights at two positions, are the same.
inline bool same_predicates(const Sentence& s, int64_t a, int64_t a_end, int64_t b, int64_t b_end) {
  return a_end - a == b_end - b &&
         std::equal(s.predicates + a, s.predicates + a_end, s.predicates + b) &&
         (!s.values || std::equal(s.values + a, s.values + a_end, s.values + b));
}

// What decoding may not choose. Null pointers: everything is allowed.
struct Constraints {
  const uint8_t* allowed = nullptr;  // [T, Y] labels allowed at each position
  const uint8_t* legal = nullptr;    // [Y + 1, Y + 1] transitions; row Y: start, column Y: end
};

template <int W>
class Lattice {
 public:
  explicit Lattice(const Layout& layout)
      : layout_(layout), rows_{layout.width}, Y(layout.n_labels), padding_(layout.width, 0.0f) {
    for (int y = Y; y < layout.width; ++y) padding_[y] = forbidden;
  }

  // ---- scores -----------------------------------------------------------------------------

  // node[t] = Σ w_node(p) · value; consecutive positions whose edge predicates are the same (all,
  // with a plain transition matrix) share one edge matrix: matrix m serves [runs[m], runs[m + 1]).
  // scale(id) is what a stored row must be multiplied by: training puts off regularisation.
  template <class Scale>
  void score(const Sentence& s, const float* weights, Scale&& scale) {
    int64_t last_begin = 0, last_end = -1;  // the previous position's edge predicates
    score(s, weights, scale, [&](int, int64_t begin, int64_t end) {
      const bool starts = last_end < 0 || !same_predicates(s, last_begin, last_end, begin, end);
      last_begin = begin;
      last_end = end;
      return starts;
    });
  }

  // The same, where starts_run(t, begin, end) tells for t > 0 whether a run starts there; the edge
  // predicates of t are [begin, end). A part of a sentence's predicates has the runs of the whole.
  template <class Scale, class StartsRun>
  void score(const Sentence& s, const float* weights, Scale&& scale, StartsRun&& starts_run) {
    length = s.length;
    const int w = width();
    node.resize(size_t(length) * w);
    runs.clear();
    edge.clear();
    const uint32_t node_end = layout_.node_end();
    for (int t = 0; t < length; ++t) {
      float* out = node.data() + size_t(t) * w;
      int64_t k = s.offsets[t];
      const int64_t end = s.offsets[t + 1];
      k = sum_node_rows(s, weights, scale, out, k, end);
      if (s.always != no_predicate)
        add_shared_row(rows_, out, weights + layout_.row(s.always), scale(s.always));
      if (t > 0 && starts_run(t, k, end)) {
        runs.push_back(t);
        const size_t first = edge.size();
        edge.resize(first + layout_.edge_size(), 0.0f);
        k = sum_rich_rows(s, weights, scale, out, edge.data() + first, k, end);
        for (; k < end; ++k)
          add_edge_row(edge.data() + first, weights + layout_.edge_row(s.predicates[k]),
                       s.value(k) * scale(s.predicates[k]));
      } else {
        for (; k < end && s.predicates[k] < node_end; ++k)
          add_shared_row(rows_, out, weights + layout_.row(s.predicates[k]),
                         s.value(k) * scale(s.predicates[k]));
      }
    }
    runs.push_back(length);
  }

  // Takes the sum of the scores of parts of the same sentence's predicates, of which this is one;
  // part(k) for k < n. They are added up in order, so that no bit depends on which one this is.
  template <class Part>
  void sum_scores(int n, Part&& part) {
    const auto sum = [&](auto array) {
      constexpr size_t block = 64;
      float sums[block];
      std::vector<float>& out = array(*this);
      for (size_t first = 0; first < out.size(); first += block) {
        const size_t size = std::min(block, out.size() - first);
        std::copy_n(array(part(0)).data() + first, size, sums);
        for (int k = 1; k < n; ++k) {
          const float* const x = array(part(k)).data() + first;
          for (size_t i = 0; i < size; ++i) sums[i] += x[i];
        }
        std::copy_n(sums, size, out.data() + first);
      }
    };
    sum([](auto& lattice) -> auto& { return lattice.node; });
    sum([](auto& lattice) -> auto& { return lattice.edge; });
  }

  // Begins a sentence of one token; the caller adds its scores to the row [W] that is returned.
  float* one_token() {
    length = 1;
    node.assign(padding_.begin(), padding_.end());
    runs.assign(1, 1);
    edge.clear();
    return node.data();
  }

  // Rules out what the constraints forbid, by score.
  void constrain(const Constraints& c) {
    const int w = width();
    if (c.allowed)
      for (int t = 0; t < length; ++t)
        for (int y = 0; y < Y; ++y)
          if (!c.allowed[size_t(t) * Y + y]) node[size_t(t) * w + y] = forbidden;
    if (!c.legal) return;
    const auto legal = [&](int from, int to) { return c.legal[size_t(from) * (Y + 1) + to] != 0; };
    for (int y = 0; y < Y; ++y) {
      if (!legal(Y, y)) node[y] = forbidden;
      if (!legal(y, Y)) node[size_t(length - 1) * w + y] = forbidden;
    }
    for (int m = 0; m + 1 < int(runs.size()); ++m)
      for (int i = 0; i < Y; ++i)
        for (int j = 0; j < Y; ++j)
          if (!legal(i, j)) edge_matrix(m)[i * w + j] = forbidden;
  }

  // Rules out all labels but those that are known, by score.
  void fix(const int32_t* known) {
    for (int t = 0; t < length; ++t)
      for (int y = 0; known[t] != no_label && y < Y; ++y)
        if (y != known[t]) node[size_t(t) * width() + y] = forbidden;
  }

  // Divides all scores by a temperature: P(y | x) ∝ exp(s(y | x) / T). What is ruled out stays so.
  void divide_scores(float temperature) {
    if (temperature == 1) return;
    const auto divide = [&](std::vector<float>& scores) {
      for (float& s : scores) s = s < forbidden / 10 ? s : s / temperature;
    };
    divide(node);
    divide(edge);
  }

  // s(y | x)
  double path_score(const int32_t* labels) const {
    const int w = width();
    double total = 0;
    for (int t = 0; t < length; ++t) total += node[size_t(t) * w + labels[t]];
    for (int m = 0; m + 1 < int(runs.size()); ++m)
      for (int t = runs[m]; t < runs[m + 1]; ++t)
        total += edge_matrix(m)[labels[t - 1] * w + labels[t]];
    return total;
  }

  // ---- forward–backward -------------------------------------------------------------------

  // log Z(x), with P(y_t) in node_p [T, W] and Σ_t P(y_{t−1}, y_t) of each run in edge_p [M, Y, W].
  double expectations() {
    double log_z;
    in_log_space_ = !(exponentiate() && forward(log_z) && backward());
    return in_log_space_ ? expectations_in_log_space() : log_z;
  }
  bool in_log_space() const { return in_log_space_; }  // whether expectations() needed it

  // P(y_t = y) and P(y_{t−1} = i, y_t = j), after expectations().
  double probability(int t, int y) const { return node_p[size_t(t) * width() + y]; }
  double transition(int t, int i, int j) const {
    const int w = width(), m = run_of(t);
    if (!in_log_space_)
      return double(alpha_[size_t(t - 1) * w + i]) *
             exp_edge_[m * layout_.edge_size() + i * w + j] * beta_[size_t(t) * w + j];
    return std::exp(log_alpha_[size_t(t - 1) * Y + i] + log_score(edge_matrix(m)[i * w + j]) +
                    log_score(node[size_t(t) * w + j]) + log_beta_[size_t(t) * Y + j] - log_z_);
  }

  // P(a chunk of one type covers exactly [first, last]) after log_forward_backward(): the paths
  // that start a chunk at first, start none inside, and end it after last. starts, ends [Y + 1, Y +
  // 1] say where chunks begin and end (index Y: outside the sentence); of_type [Y] marks the type.
  double segment_probability(int first, int last, const uint8_t* of_type, const uint8_t* starts,
                             const uint8_t* ends) {
    const int w = width();
    const auto at = [&](const uint8_t* m, int from, int to) { return m[from * (Y + 1) + to] != 0; };
    const auto step = [&](int t, int i, int j) {  // score of entering label j at t from i
      return log_score(edge_matrix(run_of(t))[i * w + j]) + log_score(node[size_t(t) * w + j]);
    };
    std::vector<double> now(Y, -infinity), next(Y);
    for (int j = 0; j < Y; ++j) {
      if (!of_type[j]) continue;
      if (first == 0) now[j] = at(starts, Y, j) ? log_alpha(0, j) : -infinity;
      for (int i = 0; first > 0 && i < Y; ++i)
        if (at(starts, i, j)) now[j] = log_add(now[j], log_alpha(first - 1, i) + step(first, i, j));
    }
    for (int t = first + 1; t <= last; ++t) {
      std::fill(next.begin(), next.end(), -infinity);
      for (int i = 0; i < Y; ++i)
        for (int j = 0; j < Y; ++j)
          if (of_type[i] && of_type[j] && !at(starts, i, j))
            next[j] = log_add(next[j], now[i] + step(t, i, j));
      now.swap(next);
    }
    double total = -infinity;
    for (int i = 0; i < Y; ++i) {
      if (last + 1 == length && at(ends, i, Y)) total = log_add(total, now[i]);
      for (int j = 0; last + 1 < length && j < Y; ++j)
        if (at(ends, i, j))
          total = log_add(total, now[i] + step(last + 1, i, j) + log_beta(last + 1, j));
    }
    return std::exp(total - log_z_);
  }

  // Fills the log-space α and β that segment_probability needs; returns log Z(x).
  double log_forward_backward() {
    const int w = width();
    log_alpha_.assign(size_t(length) * Y, -infinity);
    log_beta_.assign(size_t(length) * Y, 0.0);
    for (int y = 0; y < Y; ++y) log_alpha(0, y) = log_score(node[y]);
    for (int t = 1; t < length; ++t) {
      const float* m = edge_matrix(run_of(t));
      for (int j = 0; j < Y; ++j) {
        double sum = -infinity;
        for (int i = 0; i < Y; ++i)
          sum = log_add(sum, log_alpha(t - 1, i) + log_score(m[i * w + j]));
        log_alpha(t, j) = sum + log_score(node[size_t(t) * w + j]);
      }
    }
    for (int t = length - 1; t > 0; --t) {
      const float* m = edge_matrix(run_of(t));
      for (int i = 0; i < Y; ++i) {
        double sum = -infinity;
        for (int j = 0; j < Y; ++j)
          sum = log_add(
              sum, log_score(m[i * w + j]) + log_score(node[size_t(t) * w + j]) + log_beta(t, j));
        log_beta(t - 1, i) = sum;
      }
    }
    log_z_ = -infinity;
    for (int y = 0; y < Y; ++y) log_z_ = log_add(log_z_, log_alpha(length - 1, y));
    if (!std::isfinite(log_z_)) throw NoPathError();  // also where scores are too large to add up
    return log_z_;
  }

  // ---- Viterbi ----------------------------------------------------------------------------

  // The best path. In a long sentence, prefix scores are kept relative to the best prefix of a
  // position few steps before, so that their float32 rounding does not grow with the position:
  //   δ_t[j] = max_i (δ_{t−1}[i] + edge_t[i, j]) + (node_t[j] − m_{t−1})
  // where m_t = max_j δ_t[j] at every `viterbi_block`-th position, else 0: the maximum of a vector
  // takes time. Below `large`, where rounding is small, nothing is subtracted.
  void viterbi(int32_t* labels) {
    const int w = width();
    delta_.resize(2 * size_t(w));
    back_.resize(size_t(length) * w);
    float *from = delta_.data(), *to = from + w;
    rows_.copy(from, node.data());
    double offset = 0;  // Σ m_t: what was subtracted from the scores
    bool relative = false;
    for (int m = 0; m + 1 < int(runs.size()); ++m)
      for (int t = runs[m]; t < runs[m + 1]; ++t) {
        float subtracted = 0;
        if (t % viterbi_block == 0) {
          const float top = rows_.max(from);
          relative = relative || !(std::abs(top) < large);
          if (relative) subtracted = top;
          offset += subtracted;
        }
        viterbi_step(from, to, edge_matrix(m), t, subtracted);
        std::swap(from, to);
      }
    int y = int(std::max_element(from, from + Y) - from);
    const double score = offset + from[y];
    if (!(score > forbidden / 10) || score > -forbidden)  // also where a weight is not finite
      throw NoPathError();
    for (int t = length - 1; t >= 0; --t) {
      labels[t] = y;
      if (t > 0) y = back_[size_t(t) * w + y];
    }
  }

  int run_of(int t) const {  // which edge matrix serves position t ≥ 1
    return int(std::upper_bound(runs.begin(), runs.end(), t) - runs.begin()) - 1;
  }
  float* edge_matrix(int m) { return edge.data() + m * layout_.edge_size(); }
  const float* edge_matrix(int m) const { return edge.data() + m * layout_.edge_size(); }
  float* edge_expectation(int m) { return edge_p.data() + m * layout_.edge_size(); }
  int width() const { return rows_.width(); }
  int n_labels() const { return Y; }
  int n_matrices() const { return int(runs.size()) - 1; }

  int length = 0;                              // T
  std::vector<float> node;                     // [T, W] scores; padding lanes are forbidden
  std::vector<float> edge;                     // [M, Y, W] scores
  std::vector<int> runs;                       // [M + 1] first position of each edge matrix, then T
  std::vector<float> node_p;                   // [T, W] probabilities
  std::vector<float> edge_p;                   // [M, Y, W] expected transitions of a run
  std::vector<uint8_t> changed, changed_runs;  // [T], [M] where a sparse direction is not zero

 private:
  using I = typename Rows<W>::I;
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  // δ_t [W] in `to` from δ_{t−1} in `from`, and the best previous labels of position t.
  void viterbi_step(const float* from, float* to, const float* matrix, int t, float subtracted) {
    using V = typename Rows<W>::V;
    const int w = width();
    const float* score = node.data() + size_t(t) * w;
    int32_t* back = back_.data() + size_t(t) * w;
    for (int j = 0; j < w; j += Rows<W>::lanes) {
      V best = Rows<W>::load(matrix + j) + from[0];
      I arg{};
      for (int i = 1; i < Y; ++i) {
        const V v = Rows<W>::load(matrix + i * w + j) + from[i];
        const I better = v > best;
        best = better ? v : best;
        arg = better ? I{} + i : arg;
      }
      Rows<W>::store(to + j, best + (Rows<W>::load(score + j) - subtracted));
      std::memcpy(back + j, &arg, sizeof arg);
    }
  }

  // Sums the rows of node predicates, keeping the sum in registers; returns where they end.
  template <class Scale>
  int64_t sum_node_rows(const Sentence& s, const float* weights, Scale&& scale, float* out,
                        int64_t k, int64_t end) const {
    const uint32_t limit = layout_.edge_begin();
    const size_t w = width();
    if constexpr (W > 0) {
      using V = typename Rows<W>::V;
      constexpr int lanes = Rows<W>::lanes;
      V sum[W / lanes];
      for (int b = 0; b < W / lanes; ++b) sum[b] = Rows<W>::load(padding_.data() + b * lanes);
      for (; k < end && s.predicates[k] < limit; ++k) {
        const float* row = weights + s.predicates[k] * size_t(W);
        const float v = s.value(k) * scale(s.predicates[k]);
        for (int b = 0; b < W / lanes; ++b) sum[b] += read_shared<V>(row + b * lanes) * v;
      }
      for (int b = 0; b < W / lanes; ++b) Rows<W>::store(out + b * lanes, sum[b]);
    } else {
      rows_.copy(out, padding_.data());
      for (; k < end && s.predicates[k] < limit; ++k)
        add_shared_row(rows_, out, weights + s.predicates[k] * w,
                       s.value(k) * scale(s.predicates[k]));
    }
    return k;
  }

  // Sums the rows that hold node and edge weights; returns where they end.
  template <class Scale>
  int64_t sum_rich_rows(const Sentence& s, const float* weights, Scale&& scale, float* out,
                        float* out_edge, int64_t k, int64_t end) const {
    if constexpr (W == 4) {  // few labels, as in word segmentation: the sums stay in registers
      if (Y == 3) return sum_few_rows<3>(s, weights, scale, out, out_edge, k, end);
      if (Y == 4) return sum_few_rows<4>(s, weights, scale, out, out_edge, k, end);
    }
    for (; k < end && s.predicates[k] < layout_.node_end(); ++k) {
      const float* row = weights + layout_.row(s.predicates[k]);
      const float v = s.value(k) * scale(s.predicates[k]);
      add_shared_row(rows_, out, row, v);
      add_edge_row(out_edge, row + width(), v);
    }
    return k;
  }

  template <int labels, class Scale>
  int64_t sum_few_rows(const Sentence& s, const float* weights, Scale&& scale, float* out,
                       float* out_edge, int64_t k, int64_t end) const {
    const uint32_t first = layout_.edge_begin(), limit = layout_.node_end();
    const float* rows = weights + layout_.row(first);
    typename VecOf<16>::f32 sum{};  // node weights and those of three previous labels
    typename VecOf<4>::f32 rest{};  // of the fourth
    for (; k < end && s.predicates[k] < limit; ++k) {
      const float* row = rows + (s.predicates[k] - first) * size_t(W * (1 + labels));
      const float v = s.value(k) * scale(s.predicates[k]);
      sum += read_shared<typename VecOf<16>::f32>(row) * v;
      if constexpr (labels == 4) rest += read_shared<typename VecOf<4>::f32>(row + 16) * v;
    }
    std::memcpy(out_edge, reinterpret_cast<const float*>(&sum) + W, 3 * W * sizeof(float));
    if constexpr (labels == 4) Rows<W>::store(out_edge + 3 * W, rest);
    typename VecOf<4>::f32 node_sum;
    std::memcpy(&node_sum, &sum, sizeof node_sum);
    Rows<W>::store(out, Rows<W>::load(out) + node_sum);
    return k;
  }

  void add_edge_row(float* out, const float* row, float v) const {
    for (size_t j = 0; j < layout_.edge_size(); j += width())
      add_shared_row(rows_, out + j, row + j, v);
  }

  // exp_node_ [T, W], exp_edge_ [M, Y, W] and its transpose, each shifted by its maximum. False
  // where constraints forbid all of one.
  bool exponentiate() {
    const int w = width();
    exp_node_.resize(node.size());
    shift_ = 0;
    for (int t = 0; t < length; ++t) {
      const float top = rows_.max(node.data() + size_t(t) * w);
      if (top < forbidden / 10) return false;
      rows_.exp(exp_node_.data() + size_t(t) * w, node.data() + size_t(t) * w, top);
      shift_ += top;
    }
    exp_edge_.resize(edge.size());
    transposed_.assign(edge.size(), 0.0f);
    for (int m = 0; m < n_matrices(); ++m) {
      const float* matrix = edge_matrix(m);
      float top = forbidden;
      for (int i = 0; i < Y; ++i) top = std::max(top, rows_.max(matrix + i * w));  // padding is 0
      if (top < forbidden / 10) return false;
      float* e = exp_edge_.data() + m * layout_.edge_size();
      float* e_t = transposed_.data() + m * layout_.edge_size();
      for (int i = 0; i < Y; ++i) rows_.exp(e + i * w, matrix + i * w, top);
      for (int i = 0; i < Y; ++i)
        for (int j = 0; j < Y; ++j) e_t[j * w + i] = e[i * w + j];
      shift_ += double(top) * (runs[m + 1] - runs[m]);
    }
    return true;
  }

  // α_t[j] ∝ Σ_i α_{t−1}[i] E[i, j] e_t[j], Σ_j α_t[j] = 1. False where all of it is lost.
  bool forward(double& log_z) {
    const int w = width();
    alpha_.resize(node.size());
    scale_.resize(length);
    double log_scale = 0, product = 1;
    I lost{};
    const auto normalise = [&](float* a, int t) {
      const float s = scale_[t] = rows_.sum(a);
      if (!(s > tiny)) return false;
      rows_.scale(a, 1.0f / s);
      lost |= too_small(a, t);
      product *= s;
      if (product < 1e-200 || product > 1e200) {
        log_scale += std::log(product);
        product = 1;
      }
      return true;
    };
    rows_.copy(alpha_.data(), exp_node_.data());
    if (!normalise(alpha_.data(), 0)) return false;
    for (int m = 0; m < n_matrices(); ++m) {
      const float* e = exp_edge_.data() + m * layout_.edge_size();
      for (int t = runs[m]; t < runs[m + 1]; ++t) {
        float* a = alpha_.data() + size_t(t) * w;
        rows_.product(a, a - w, e, Y);
        multiply(a, exp_node_.data() + size_t(t) * w);
        if (!normalise(a, t)) return false;
      }
    }
    log_z = shift_ + log_scale + std::log(product);
    lost_ = any(lost);
    return true;
  }

  // β_{t−1}[i] ∝ Σ_j E[i, j] x_t[j] with x_t = e_t ∘ β_t;  P(y_t = j) = α_t[j] β_t[j] / Σ;
  // P(i, j) = α_{t−1}[i] E[i, j] x_t[j] / Σ. The outer products of a run are summed before the
  // multiplication with E. False where precision is lost: underflow takes less than Y · 1.6e-38
  // from a value of α_t or β_t before they are divided by their sums, s_t and b_t. That is less
  // than Y · 1.6e-38 / min(s_t / b_t, 1) / Σ of Z, Σ being α_t · β_t before the division by b_t.
  bool backward() {
    const int w = width();
    node_p.resize(node.size());
    edge_p.assign(edge.size(), 0.0f);
    beta_.resize(node.size());
    I lost{};
    float least = scale_[length - 1] / Y;  // of the denominators; at the end β is 1 for each label
    rows_.copy(node_p.data() + size_t(length - 1) * w, alpha_.data() + size_t(length - 1) * w);
    rows_.copy(beta_.data() + size_t(length - 1) * w, exp_node_.data() + size_t(length - 1) * w);
    for (int m = n_matrices() - 1; m >= 0; --m) {
      const float* e_t = transposed_.data() + m * layout_.edge_size();
      for (int t = runs[m + 1] - 1; t >= runs[m]; --t) {
        float* x = beta_.data() + size_t(t) * w;  // x_t
        float* b = x - w;
        const float* a = alpha_.data() + size_t(t - 1) * w;
        float* p = node_p.data() + size_t(t - 1) * w;
        rows_.product(b, x, e_t, Y);
        const float total = rows_.dot(a, b), top = rows_.sum(b);
        if (!(total > tiny) || !(top > tiny)) return false;
        rows_.copy(p, a);
        multiply(p, b);
        rows_.scale(p, 1.0f / total);
        rows_.scale(x, 1.0f / total);
        rows_.scale(b, 1.0f / top);
        least = std::min(least, total * std::min(scale_[t - 1] / top, 1.0f));
        lost |= too_small(b, t - 1);
        multiply(b, exp_node_.data() + size_t(t - 1) * w);
      }
      sum_outer_products(m);
    }
    return !(lost_ || any(lost)) || least > Y * (1.6e-38f / negligible);
  }

  // Marks the lanes of allowed labels at t whose value is so small that precision is lost.
  I too_small(const float* values, int t) const {
    I mask{};
    for (int j = 0; j < width(); j += Rows<W>::lanes)
      mask |= (Rows<W>::load(values + j) < tiny) &
              (Rows<W>::load(node.data() + size_t(t) * width() + j) > forbidden / 10);
    return mask;
  }
  static bool any(I mask) {
    int32_t bits = 0;
    for (int k = 0; k < Rows<W>::lanes; ++k) bits |= mask[k];
    return bits != 0;
  }

  // edge_p[m] = E ∘ Σ_t α_{t−1} ⊗ x_t
  void sum_outer_products(int m) {
    using V = typename Rows<W>::V;
    constexpr int lanes = Rows<W>::lanes, block = 4;
    const int w = width(), first = runs[m], last = runs[m + 1];
    const float* e = exp_edge_.data() + m * layout_.edge_size();
    float* out = edge_expectation(m);
    for (int i = 0; i < Y; i += block) {
      const int rows = std::min(block, Y - i);
      for (int j = 0; j < w; j += lanes) {
        V sum[block] = {};
        for (int t = first; t < last; ++t) {
          const V x = Rows<W>::load(beta_.data() + size_t(t) * w + j);
          const float* a = alpha_.data() + size_t(t - 1) * w + i;
          for (int r = 0; r < block; ++r) sum[r] += x * a[r];  // w ≥ Y rounded up to block
        }
        for (int r = 0; r < rows; ++r)
          Rows<W>::store(out + (i + r) * w + j, sum[r] * Rows<W>::load(e + (i + r) * w + j));
      }
    }
  }

  // Scores so large that doubles round them by more than 1 give no probability above 1, and no sum
  // above 1 of those at a token.
  double expectations_in_log_space() {
    const int w = width();
    const double log_z = log_forward_backward();
    const auto probability = [](double log_p) { return float(std::exp(std::min(log_p, 0.0))); };
    node_p.assign(node.size(), 0.0f);
    edge_p.assign(edge.size(), 0.0f);
    for (int t = 0; t < length; ++t) {
      float* const p = node_p.data() + size_t(t) * w;
      for (int y = 0; y < Y; ++y) p[y] = probability(log_alpha(t, y) + log_beta(t, y) - log_z);
      const float sum = rows_.sum(p);
      if (sum > 1.001f) rows_.scale(p, 1.0f / sum);
    }
    for (int m = 0; m < n_matrices(); ++m)
      for (int t = runs[m]; t < runs[m + 1]; ++t)
        for (int i = 0; i < Y; ++i)
          for (int j = 0; j < Y; ++j)
            edge_expectation(m)[i * w + j] +=
                probability(log_alpha(t - 1, i) + log_score(edge_matrix(m)[i * w + j]) +
                            log_score(node[size_t(t) * w + j]) + log_beta(t, j) - log_z);
    return log_z;
  }

  void multiply(float* out, const float* x) const {
    for (int j = 0; j < width(); j += Rows<W>::lanes)
      Rows<W>::store(out + j, Rows<W>::load(out + j) * Rows<W>::load(x + j));
  }

  // A score in log space, −∞ where it is forbidden.
  static double log_score(float score) { return score < forbidden / 10 ? -infinity : score; }
  static double log_add(double a, double b) {
    if (a < b) std::swap(a, b);
    return b == -infinity ? a : a + std::log1p(std::exp(b - a));
  }
  double& log_alpha(int t, int y) { return log_alpha_[size_t(t) * Y + y]; }
  double& log_beta(int t, int y) { return log_beta_[size_t(t) * Y + y]; }

  const Layout layout_;
  const Rows<W> rows_;
  const int Y;
  std::vector<float> padding_;  // [W] 0 for labels, forbidden for padding
  std::vector<float> exp_node_, exp_edge_, transposed_;
  std::vector<float> alpha_, beta_;           // [T, W] scaled forward; e ∘ scaled backward
  std::vector<double> log_alpha_, log_beta_;  // [T, Y]
  std::vector<float> delta_;                  // [2, W] Viterbi: scores of the best prefixes
  std::vector<int32_t> back_;                 // [T, W] Viterbi: the best previous labels
  double shift_ = 0, log_z_ = 0;
  bool in_log_space_ = false;
  bool lost_ = false;         // whether α has a value below `tiny`
  std::vector<float> scale_;  // [T] what α was divided by
};

}  // namespace adaptag
