// ADF for documents: sentences of one token, with hundreds of rows and few labels. The same steps
// as adf.hpp, up to twice as fast (docs/algorithms/adf.md has the figures).
//
// Most features of a document are rare, and what takes the time is memory. So weights and rows are
// kept apart from Python's arrays while training goes on, in the order they first occur in, so that
// those that a document alone has lie together. Those of a document are copied to working memory
// and back, and brought up to date several at a time (adf_fired_rows.hpp).
//
// With two labels the gradient of one is minus that of the other, so w(0) = −w(1) all the time: one
// number v = w(1) for each predicate is enough, and P(1 | x) = 1 / (1 + exp(−2 v·x)). That takes a
// quarter of the memory, and at least a fifth less time than four weights.
#pragma once

#include <algorithm>
#include <cmath>

#include "adf.hpp"
#include "adf_fired_rows.hpp"

namespace adaptag {

// K: weights kept for each predicate, 1 with two labels, else the width of a row.
template <int K>
class AdfDocuments final : public Training {
  static constexpr int W = K == 1 ? 4 : K;  // width of Python's rows
  using ArraysOfRun = State<AdfRow, Adf::RunState>;

 public:
  // The data of the task must stay alive: they are known by their place.
  AdfDocuments(const Values& values, const Task& task, ArraysOfRun state)
      : n_(task.layout.n_node),
        state_(state),
        general_(values, task, state),
        numbering_(n_, task.data),
        known_(numbering_.number(task.data)),
        fired_(AdfSettings(values, task)),
        lattice_(task.layout) {}

  Totals run(const Dataset& data, std::span<const uint32_t> order, int32_t* best) override {
    const bool same = known_.is(data);
    const NumberedDocuments other = same ? NumberedDocuments{} : numbering_.number(data);
    const NumberedDocuments& documents = same ? known_ : other;
    if (!documents.fit || !in_range(order.size()) || !(loaded_ || take_over())) {
      sync();
      return general_.run(data, order, best);
    }
    const FlushToZero flush_to_zero;
    Totals totals;
    for (size_t k = 0; k < order.size(); ++k) {
      const uint32_t i = order[k], next = order[std::min(k + 1, order.size() - 1)];
      if (data[i].length == 0) continue;
      next_ = data[next].length > 0 ? documents(data, next) : Document{};
      totals += train_on(documents(data, i), data[i], best ? best + data.sentences[i] : nullptr);
    }
    return totals;
  }

  void read(float* out) override {
    if (!loaded_ || !in_range(0)) {
      sync();
      return general_.read(out);
    }
    fired_.begin(uint32_t(state_.run->step));
    for (uint32_t first = 0; first < n_; first += lanes) {  // rows_ has room behind the last
      const V shrink = fired_.shrink(rows_.data() + first);
      for (uint32_t k = 0; k < lanes && first + k < n_; ++k)
        put(out, numbering_.predicate(first + k), weights_.data() + (first + k) * size_t(K),
            shrink[k]);
    }
  }

  void sync() override {
    if (!loaded_) return;
    for (uint32_t k = 0; k < n_; ++k) {
      put(state_.weights, numbering_.predicate(k), weights_.data() + k * size_t(K), 1.0f);
      state_.rows[numbering_.predicate(k)] = rows_[k];
    }
    loaded_ = false;
  }

 private:
  using V = AdfFiredRows::V;
  static constexpr uint32_t lanes = AdfFiredRows::lanes;

  // In float32, windows are told apart up to 2^22 updates.
  bool in_range(size_t updates) const { return state_.run->step + updates < 1u << 22; }

  // Writes the weights of a predicate to Python's row of it.
  static void put(float* out, uint32_t id, const float* weights, float scale) {
    float* const row = out + id * size_t(W);
    if constexpr (K == 1) {
      row[0] = -(weights[0] * scale);
      row[1] = weights[0] * scale;
    } else {
      Rows<K>::store(row, Rows<K>::load(weights) * scale);
    }
  }

  // Takes Python's arrays over, unless the weights of two labels are not each other's negatives.
  bool take_over() {
    weights_.assign((n_ + lanes) * size_t(K), 0.0f);
    rows_.assign(n_ + lanes, AdfRow{});
    if (state_.run->step > 0 || !is_zero(state_.weights, n_ * size_t(W)))
      for (uint32_t k = 0; k < n_; ++k) {
        const uint32_t id = numbering_.predicate(k);
        const float* const w = state_.weights + id * size_t(W);
        if (K == 1 && w[0] != -w[1]) return false;
        std::copy_n(K == 1 ? w + 1 : w, K, weights_.data() + k * size_t(K));
        rows_[k] = state_.rows[id];
      }
    return loaded_ = true;
  }

  Totals train_on(const Document& d, const Sentence& s, int32_t* best) {
    fired_.begin(uint32_t(state_.run->step));
    Totals totals;
    if constexpr (K == 1)
      totals = train_two_labels(d, s, best);
    else
      totals = train_labels(d, s, best);
    ++state_.run->step;
    return totals.weighted(s.weight);
  }

  // Brings the rows of the next document into the cache, one by one. GCC drops calls of functions
  // that only prefetch.
  struct Prefetcher {
    const Document next;
    const AdfRow* const rows;
    const float* const weights;
    [[gnu::always_inline]] inline void operator()(size_t k) const {
      if (k >= next.n) return;
      __builtin_prefetch(rows + next.ids[k], 1);
      __builtin_prefetch(weights + next.ids[k] * size_t(K), 1);
    }
  };

  // ---- two labels: one weight for each predicate, in working memory like the rows ------------

  Totals train_two_labels(const Document& d, const Sentence& s, int32_t* best) {
    if (weight_.size() < AdfFiredRows::room(d)) weight_.resize(AdfFiredRows::room(d));
    float *const weight = weight_.data(), *const weights = weights_.data();
    const Prefetcher prefetch{next_, rows_.data(), weights};
    fired_.load(d, rows_.data(), [&](size_t k, uint32_t id) { weight[k] = weights[id]; });
    V sum{};
    const auto add = [&](size_t k, size_t n) { sum += scores(d, k, n); };
    if (fired_.catch_up(d, add)) {
      fired_.apply_pending(d, [&](size_t k, uint32_t, float shrink) { weight[k] *= shrink; });
      sum = V{};
      AdfFiredRows::for_each_block(d, add);
    }
    float half = 0;  // v·x
    for (uint32_t j = 0; j < lanes; ++j) half += sum[j];
    const float margin = 2 * half;  // s(1) − s(0)
    if (best) *best = margin > 0;
    Totals totals;
    float step = 0;
    if (s.labels[0] != no_label) {
      const float towards = s.labels[0] == 1 ? margin : -margin;  // the right class
      const double wrong = 1 / (1 + std::exp(double(towards)));
      totals = {softplus(-towards), 1 - wrong, 1};
      step = float(s.labels[0] == 1 ? wrong : -wrong) * s.weight;
    }
    fired_.close_window(d);
    AdfFiredRows::for_each_block(d, [&](size_t k, size_t n) {  // v ← v + γ · step · x
      const V factor = load(fired_.factor() + k);
      const V v = load(weight + k) + AdfFiredRows::values_of(d, k, n) * step * factor;
      std::memcpy(weight + k, &v, sizeof v);
    });
    fired_.store(d, rows_.data(), [&](size_t k, uint32_t id) {
      weights[id] = weight[k];
      prefetch(k);
    });
    return totals;
  }

  // v x of each row of a block
  V scores(const Document& d, size_t k, size_t n) const {
    const V value = AdfFiredRows::values_of(d, k, n);
    return value != 0.0f ? load(weight_.data() + k) * load(fired_.scale() + k) * value : V{};
  }

  static V load(const float* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }

  static double softplus(double x) {  // log(1 + e^x)
    return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  }

  // ---- more labels ---------------------------------------------------------------------------

  Totals train_labels(const Document& d, const Sentence& s, int32_t* best) {
    float* const weights = weights_.data();
    fired_.load(d, rows_.data(), [](size_t, uint32_t) {});
    if (fired_.catch_up(d, [](size_t, size_t) {}))
      fired_.apply_pending(d, [&](size_t, uint32_t id, float shrink) {
        Rows<K>{K}.scale(weights + id * size_t(K), shrink);
      });
    score(d, lattice_.one_token());
    if (best) lattice_.viterbi(best);
    const Totals totals = likelihood_gradient(lattice_, s.labels);
    fired_.close_window(d);
    const auto delta = Rows<K>::load(lattice_.node_p.data());
    const Prefetcher prefetch{next_, rows_.data(), weights};
    const float *const values = d.values, *const factor = fired_.factor();
    const size_t listed = d.n;
    const float weight = s.weight;
    fired_.store(d, rows_.data(), [&](size_t k, uint32_t id) {  // w ← w + γ · x · delta
      float* const w = weights + id * size_t(K);
      const float value = values && k < listed ? values[k] : 1.0f;
      Rows<K>::store(w, Rows<K>::load(w) + delta * (value * weight * factor[k]));
      prefetch(k);
    });
    return totals;
  }

  // out [K] += Σ w · x
  void score(const Document& d, float* out) const {
    const auto part = [&](size_t k, uint32_t id, float value) {
      return Rows<K>::load(weights_.data() + id * size_t(K)) * (fired_.scale()[k] * value);
    };
    typename Rows<K>::V sums[4] = {Rows<K>::load(out)};  // several: one would wait for itself
    size_t k = 0;
    for (; k + 4 <= d.n; k += 4)
      for (size_t j = 0; j < 4; ++j) sums[j] += part(k + j, d.ids[k + j], d.value(k + j));
    for (; k < d.n; ++k) sums[0] += part(k, d.ids[k], d.value(k));
    if (d.always != no_predicate) sums[0] += part(AdfFiredRows::behind(d), d.always, 1.0f);
    Rows<K>::store(out, (sums[0] + sums[1]) + (sums[2] + sums[3]));
  }

  const uint32_t n_;
  const ArraysOfRun state_;
  TrainingWith<Adf, W> general_;  // for what does not fit
  DocumentNumbering numbering_;
  const NumberedDocuments known_;
  AdfFiredRows fired_;
  Document next_{};  // the document to come
  Lattice<W> lattice_;
  bool loaded_ = false;
  std::vector<float> weights_;  // [n and some room, K] by our numbers
  std::vector<AdfRow> rows_;    // [n and some room]
  std::vector<float> weight_;   // those of the rows that fire, with two labels
};

inline std::unique_ptr<Training> Adf::special_form(const Values& values, const Task& task,
                                                   State<RowState, RunState> state) {
  const Layout& layout = task.layout;
  if (layout.n_both > 0 || layout.n_edge > 0 || task.batch > 1 || !are_documents(task.data) ||
      AdfSettings(values, task).order > 3)  // what the vectors' series can do
    return nullptr;
  if (layout.n_labels == 2) return std::make_unique<AdfDocuments<1>>(values, task, state);
  if (layout.width == 4) return std::make_unique<AdfDocuments<4>>(values, task, state);
  if (layout.width == 8) return std::make_unique<AdfDocuments<8>>(values, task, state);
  return nullptr;
}

}  // namespace adaptag
