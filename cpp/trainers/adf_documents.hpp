// ADF for documents: sentences of one token, with hundreds of rows and few labels. The same steps
// as adf.hpp, about twice as fast (docs/algorithms/adf.md has the figures).
//
// Most features of a document are rare, and what takes the time is memory. So weights and rows are
// kept apart from Python's arrays while training goes on, in the order they first occur in, so that
// those that a document alone has lie together. Those of a document are copied to working memory
// and back, and brought up to date several at a time (AdfRows).
//
// With two labels the gradient of one is minus that of the other, so w(0) = −w(1) all the time: one
// number v = w(1) for each predicate is enough, and P(1 | x) = 1 / (1 + exp(−2 v·x)). That takes a
// quarter of the memory, and a fifth less time than four weights.
#pragma once

#include <algorithm>
#include <cmath>

#include "adf.hpp"
#include "documents.hpp"

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
        windows_(AdfSettings(values, task)),
        closing_(AdfSettings(values, task)),
        general_(task, state.weights, Adf(values, task, state)),
        numbering_(n_, task.data),
        known_(numbering_.number(task.data)),
        lattice_(task.layout) {
    for (uint32_t k = 0; k < lanes; ++k) lane_[k] = int32_t(k);
  }

  Totals run(const Dataset& data, std::span<const uint32_t> order, int32_t* best) override {
    const bool same = known_.is(data);
    const NumberedDocuments other = same ? NumberedDocuments{} : numbering_.number(data);
    const NumberedDocuments& documents = same ? known_ : other;
    if (!documents.fit || !in_range(order.size()) || !(loaded_ || load())) {
      sync();
      return general_.run(data, order, best);
    }
    const FlushToZero flush_to_zero;
    Totals totals;
    for (const uint32_t i : order)
      if (data[i].length > 0)
        totals += train_on(documents(data, i), data[i], best ? best + data.sentences[i] : nullptr);
    return totals;
  }

  void read(float* out) override {
    if (!loaded_ || !in_range(0)) {
      sync();
      return general_.read(out);
    }
    windows_.begin(uint32_t(state_.run->step));
    for (uint32_t first = 0; first < n_; first += lanes) {  // rows_ has room behind the last
      AdfRows rows = AdfRows::load(rows_.data() + first);
      windows_.catch_up(rows, touched(rows));
      const V scale = exp_of_vector<V, AdfRows::Int>(-rows.pending);
      for (uint32_t k = 0; k < lanes && first + k < n_; ++k)
        put(out, numbering_.predicate(first + k), weights_.data() + (first + k) * size_t(K),
            scale[k]);
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
  using V = AdfRows::Float;
  static constexpr uint32_t lanes = AdfRows::lanes;

  // In float32, windows are told apart up to 2^22 updates.
  bool in_range(size_t updates) const { return state_.run->step + updates < 1u << 22; }

  static AdfRows::Int touched(const AdfRows& rows) {
    return rows.stamp == 0 ? AdfRows::Int{} : rows.stamp - 1;
  }

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
  bool load() {
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
    windows_.begin(uint32_t(state_.run->step));
    Totals totals;
    if constexpr (K == 1) {
      V sum{};
      const auto add = [&](size_t k, size_t n) { sum += scores(d, k, n); };
      if (catch_up(d, add)) {
        sum = V{};
        for_each_block(d, add);
      }
      const float margin = 2 * total(sum);  // s(1) − s(0)
      if (best) *best = margin > 0;
      float step = 0;
      if (s.labels[0] != no_label) {
        const float towards = s.labels[0] == 1 ? margin : -margin;  // the right class
        const double wrong = 1 / (1 + std::exp(double(towards)));
        totals = {softplus(-towards), 1 - wrong, 1};
        step = float(s.labels[0] == 1 ? wrong : -wrong) * s.weight;
      }
      close_window(d);
      update(d, step);
    } else {
      catch_up(d, [](size_t, size_t) {});
      score(d, lattice_.one_token());
      if (best) lattice_.viterbi(best);
      totals = likelihood_gradient(lattice_, s.labels);
      close_window(d);
      update(d, s.weight, lattice_.node_p.data());
    }
    put_back(d);
    ++state_.run->step;
    return totals.weighted(s.weight);
  }

  static double softplus(double x) {  // log(1 + e^x)
    return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  }

  // ---- working memory: the rows of a document, and behind them what always fires -------------

  // Calls f(k, n) for each block of rows k, k + 1, …; n are in use of it, 0 stands for what always
  // fires, which has a block of its own.
  template <class F>
  static void for_each_block(const Document& d, F&& f) {
    for (size_t k = 0; k < d.n; k += lanes) f(k, std::min<size_t>(lanes, d.n - k));
    if (d.always != no_predicate) f(behind(d), 0);
  }
  template <class F>
  static void for_each_row(const Document& d, F&& f) {
    for (size_t k = 0; k < d.n; ++k) f(k, d.ids[k]);
    if (d.always != no_predicate) f(behind(d), d.always);
  }
  static size_t behind(const Document& d) { return (d.n + lanes - 1) / lanes * lanes; }

  // The values of such a block: 0 for what is not in use.
  static V values_of(const float* values, size_t k, size_t n) {
    V out{};
    if (n == lanes && values)
      std::memcpy(&out, values + k, sizeof out);
    else if (n == lanes)
      out += 1.0f;
    else if (n == 0)
      out[0] = 1;  // what always fires
    else
      for (size_t j = 0; j < n; ++j) out[j] = values ? values[k + j] : 1.0f;
    return out;
  }

  // Copies the rows of a document, brings them up to date and counts them; calls f for each block.
  // Whether pending shrinks were applied afterwards, so that f has seen old weights.
  template <class F>
  bool catch_up(const Document& d, F&& f) {
    const size_t room = d.n + 2 * lanes;
    if (fired_.size() < room) {
      fired_.resize(room);
      scale_.resize(room);
      factor_.resize(room);
      weight_.resize(room);
    }
    const AdfRow* const rows = rows_.data();
    const float* const weights = weights_.data();
    AdfRow* const fired = fired_.data();
    float* const weight = weight_.data();
    for_each_row(d, [&](size_t k, uint32_t id) {
      fired[k] = rows[id];
      if constexpr (K == 1)
        weight[k] = weights[id];
      else
        __builtin_prefetch(weights + id * size_t(K), 1);
    });
    V most{};
    for_each_block(d, [&](size_t k, size_t n) {
      AdfRows block = AdfRows::load(fired + k);
      windows_.catch_up(block, touched(block));
      block.count += 1;
      block.stamp = AdfRows::Int{} + (windows_.t() + 1);
      block.store(fired + k);
      const V scale = pending_scale(block.pending);
      const V factor = block.rate / ((1.0f - windows_.lambda() * block.rate) * scale);
      std::memcpy(scale_.data() + k, &scale, sizeof scale);
      std::memcpy(factor_.data() + k, &factor, sizeof factor);
      const auto larger = (block.pending > most) & (lane_ < int32_t(std::max<size_t>(n, 1)));
      most = larger ? block.pending : most;
      f(k, n);
    });
    float largest = 0;
    for (uint32_t j = 0; j < lanes; ++j) largest = std::max(largest, most[j]);
    if (largest <= largest_pending) return false;
    apply_pending(d);
    return true;
  }

  void apply_pending(const Document& d) {
    for_each_row(d, [&](size_t k, uint32_t id) {
      if (fired_[k].pending <= largest_pending) return;
      const float shrink = std::exp(-fired_[k].pending);
      if constexpr (K == 1)
        weight_[k] *= shrink;
      else
        Rows<K>{K}.scale(weights_.data() + id * size_t(K), shrink);
      fired_[k].pending = 0;
      scale_[k] = 1;
      factor_[k] = factor(fired_[k]);
    });
  }

  // What a step is multiplied by for the weights of a row: its rate, and the shrink that is put
  // off.
  float factor(const AdfRow& row) const {
    return row.rate / ((1.0f - windows_.lambda() * row.rate) * pending_scale(row.pending));
  }

  // v x of each row of a block
  V scores(const Document& d, size_t k, size_t n) const {
    const V value = values_of(d.values, k, n);
    V v, scale;
    std::memcpy(&v, weight_.data() + k, sizeof v);
    std::memcpy(&scale, scale_.data() + k, sizeof scale);
    return value != 0.0f ? v * scale * value : V{};
  }
  static float total(V sum) {
    float out = 0;
    for (uint32_t j = 0; j < lanes; ++j) out += sum[j];
    return out;
  }

  // out [K] += Σ w · x
  void score(const Document& d, float* out) const {
    const auto part = [&](size_t k, uint32_t id, float value) {
      return Rows<K>::load(weights_.data() + id * size_t(K)) * (scale_[k] * value);
    };
    typename Rows<K>::V sums[4] = {Rows<K>::load(out)};  // several: one would wait for itself
    size_t k = 0;
    for (; k + 4 <= d.n; k += 4)
      for (size_t j = 0; j < 4; ++j) sums[j] += part(k + j, d.ids[k + j], d.value(k + j));
    for (; k < d.n; ++k) sums[0] += part(k, d.ids[k], d.value(k));
    if (d.always != no_predicate) sums[0] += part(behind(d), d.always, 1.0f);
    Rows<K>::store(out, (sums[0] + sums[1]) + (sums[2] + sums[3]));
  }

  void close_window(const Document& d) {
    if (!windows_.closes()) return;
    for_each_row(d, [&](size_t k, uint32_t) {
      AdfRow& row = fired_[k];
      row.rate = closing_.after_window(row.rate, row.count);
      row.count = 0;
      factor_[k] = factor(row);
    });
  }

  // v ← v + γ · step · x
  void update(const Document& d, float step) {
    for_each_block(d, [&](size_t k, size_t n) {
      V factor, v;
      std::memcpy(&factor, factor_.data() + k, sizeof factor);
      std::memcpy(&v, weight_.data() + k, sizeof v);
      v += values_of(d.values, k, n) * step * factor;
      std::memcpy(weight_.data() + k, &v, sizeof v);
    });
  }

  // w ← w + γ · step · x · direction
  void update(const Document& d, float step, const float* direction) {
    const auto delta = Rows<K>::load(direction);
    for_each_row(d, [&](size_t k, uint32_t id) {
      float* const w = weights_.data() + id * size_t(K);
      const float value = k < d.n ? d.value(k) : 1.0f;
      Rows<K>::store(w, Rows<K>::load(w) + delta * (value * step * factor_[k]));
    });
  }

  void put_back(const Document& d) {
    AdfRow* const rows = rows_.data();
    float* const weights = weights_.data();
    const AdfRow* const fired = fired_.data();
    const float* const weight = weight_.data();
    for_each_row(d, [&](size_t k, uint32_t id) {
      rows[id] = fired[k];
      if constexpr (K == 1) weights[id] = weight[k];
    });
  }

  const uint32_t n_;
  const ArraysOfRun state_;
  AdfWindows<AdfRows> windows_;
  const AdfWindows<AdfRow> closing_;  // the same in float64, for closing windows
  TrainingWith<Adf, W> general_;      // for what does not fit
  DocumentNumbering numbering_;
  const NumberedDocuments known_;
  Lattice<W> lattice_;
  bool loaded_ = false;
  AdfRows::Int lane_;           // 0, 1, …
  std::vector<float> weights_;  // [n and some room, K] by our numbers
  std::vector<AdfRow> rows_;    // [n and some room]
  std::vector<AdfRow> fired_;   // those of a document, with their scales, factors and weights
  std::vector<float> scale_, factor_, weight_;
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
