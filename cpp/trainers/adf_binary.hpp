// ADF for classification with two classes: the same steps as adf.hpp, several times as fast.
//
// With two labels the gradient of one is minus that of the other, so w(0) = −w(1) all the time: one
// number v = w(1) for each predicate is enough, and P(1 | x) = 1 / (1 + exp(−2 v·x)).
//
// Documents have hundreds of features, most of them rare, and what takes the time is memory. So
// weights and rows are kept apart from Python's arrays while training goes on: small, and in the
// order they first occur in, so that those that a document alone has lie together. Those of a
// document are copied to working memory and back, and all arithmetic on them is in vectors.
#pragma once

#include <algorithm>
#include <cmath>

#include "adf.hpp"

namespace adaptag {

class BinaryAdf final : public Training {
 public:
  using Row = Adf::Row;

  // Whether data of this layout can be trained on; the rest is seen in the data.
  static bool fits(const Layout& layout, size_t batch) {
    return layout.n_labels == 2 && layout.n_both == 0 && layout.n_edge == 0 && batch == 1;
  }

  // The data of the task must stay alive: they are known by their place.
  BinaryAdf(const Task& task, State<Row, Adf::Clock> state, Adf algorithm)
      : n_(task.layout.n_node),
        width_(task.layout.width),
        state_(state),
        algorithm_(algorithm),
        other_(task, state.weights, algorithm) {
    number(task.data);
    known_ = prepare(task.data);
  }

  Totals run(const Dataset& data, std::span<const uint32_t> order, int32_t* best) override {
    const bool same = known_.source == data.predicates.data() && known_.n == data.predicates.size();
    const Prepared other = same ? Prepared{} : prepare(data);
    const Prepared& prepared = same ? known_ : other;
    if (!prepared.fits || !algorithm_.takes_all(Rows<4>{4}) || !(loaded_ || load())) {
      sync();
      return other_.run(data, order, best);
    }
    const FlushToZero flush_to_zero;
    Totals totals;
    for (const uint32_t i : order) learn(data, prepared, i, totals, best);
    return totals;
  }

  void read(float* out) override {
    if (!loaded_ || !algorithm_.takes_all(Rows<4>{4})) {
      sync();
      return other_.read(out);
    }
    algorithm_.begin(0);
    const Adf::Elapsed elapsed = algorithm_.elapsed();
    for (uint32_t first = 0; first < n_; first += lanes) {  // rows_ has room behind the last
      Block rows = Block::load(rows_.data() + first);
      elapsed.catch_up(rows);
      V weights;
      std::memcpy(&weights, weights_.data() + first, sizeof weights);
      weights *= exp_of_vector<V, Block::I>(-rows.pending);
      for (uint32_t k = 0; k < lanes && first + k < n_; ++k)
        put(out, place_[first + k], weights[k]);
    }
  }

  void sync() override {
    if (!loaded_) return;
    for (uint32_t k = 0; k < n_; ++k) {
      put(state_.weights, place_[k], weights_[k]);
      state_.rows[place_[k]] = rows_[k];
    }
    loaded_ = false;
  }

 private:
  using Block = Adf::Block;
  using V = Block::V;
  static constexpr uint32_t lanes = Block::lanes;

  void put(float* out, uint32_t id, float weight) const {
    out[id * size_t(width_)] = -weight;
    out[id * size_t(width_) + 1] = weight;
  }

  // Data with predicates under our own numbers.
  struct Prepared {
    const uint32_t* source = nullptr;
    size_t n = 0;
    bool fits = false;  // one token at most in each sentence, and no predicate twice
    std::vector<uint32_t> ids;
  };

  // Numbers the predicates in the order they first occur in: those that occur more than once, then
  // those that occur once, then the others.
  void number(const Dataset& data) {
    std::vector<uint8_t> count(n_, 0);  // 2 stands for more
    for (const uint32_t id : data.predicates)
      if (id < n_) count[id] += count[id] < 2;
    uint32_t next[3] = {0};  // by count
    next[1] = uint32_t(std::count(count.begin(), count.end(), 2));
    next[0] = next[1] + uint32_t(std::count(count.begin(), count.end(), 1));
    place_.resize(n_);
    number_.assign(n_, no_predicate);
    const auto give = [&](uint32_t id) {
      if (number_[id] != no_predicate) return;
      number_[id] = next[count[id]]++;
      place_[number_[id]] = id;
    };
    for (const uint32_t id : data.predicates)
      if (id < n_) give(id);
    for (uint32_t id = 0; id < n_; ++id) give(id);
  }

  Prepared prepare(const Dataset& data) const {
    Prepared out{data.predicates.data(), data.predicates.size(), data.legal.empty(), {}};
    std::vector<uint32_t> sorted;
    for (size_t i = 0; i < data.size() && out.fits; ++i) {
      const Sentence s = data[i];
      const uint32_t *begin = s.predicates + s.offsets[0],
                     *end = s.predicates + s.offsets[s.length];
      if (!std::is_sorted(begin, end)) {
        sorted.assign(begin, end);
        std::sort(sorted.begin(), sorted.end());
        begin = sorted.data();
        end = begin + sorted.size();
      }
      out.fits = s.length <= 1 && std::adjacent_find(begin, end) == end &&
                 !std::binary_search(begin, end, s.always);
    }
    if (!out.fits) return out;
    out.ids.resize(data.predicates.size());
    std::transform(data.predicates.begin(), data.predicates.end(), out.ids.begin(),
                   [&](uint32_t id) { return number_[id]; });
    return out;
  }

  // Takes Python's arrays over, unless the weights of the labels are not each other's negatives.
  bool load() {
    weights_.assign(n_ + lanes, 0.0f);
    rows_.assign(n_ + lanes, Row{});
    if (state_.clock->step > 0 || !is_zero(state_.weights, n_ * size_t(width_)))
      for (uint32_t k = 0; k < n_; ++k) {
        const float* const w = state_.weights + place_[k] * size_t(width_);
        if (w[0] != -w[1]) return false;
        weights_[k] = w[1];
        rows_[k] = state_.rows[place_[k]];
      }
    return loaded_ = true;
  }

  void learn(const Dataset& data, const Prepared& prepared, size_t i, Totals& totals,
             int32_t* best) {
    const Sentence s = data[i];
    if (s.length == 0) return;
    algorithm_.begin(1);
    const uint32_t* const ids = prepared.ids.data() + s.offsets[0];
    const float* const values = s.values ? s.values + s.offsets[0] : nullptr;
    const float margin = 2 * score(s, ids, values);  // s(1) − s(0)
    if (best) best[data.sentences[i]] = margin > 0;
    float step = 0;
    if (s.labels[0] != no_label) {
      const float towards = s.labels[0] == 1 ? margin : -margin;  // the right class
      const double wrong = 1 / (1 + std::exp(double(towards)));
      totals += Totals{softplus(-towards), 1 - wrong, 1}.weighted(s.weight);
      step = float(s.labels[0] == 1 ? wrong : -wrong) * s.weight;
    }
    update(s, ids, values, step);
    algorithm_.end();
  }

  static double softplus(double x) {  // log(1 + e^x)
    return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  }

  // Calls f(k, n) for each block of predicates k, k + 1, … of a sentence, then for what always
  // fires; n are in use of it.
  template <class F>
  static void for_each_block(const Sentence& s, F&& f) {
    const size_t listed = s.offsets[1] - s.offsets[0];
    for (size_t k = 0; k < listed; k += lanes) f(k, std::min<size_t>(lanes, listed - k));
    if (s.always != no_predicate) f((listed + lanes - 1) / lanes * lanes, 0);
  }

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

  // v·x, with the rows brought up to date, all in working memory.
  float score(const Sentence& s, const uint32_t* ids, const float* values) {
    const size_t listed = s.offsets[1] - s.offsets[0], room = listed + 2 * lanes;
    if (fired_.size() < room) {
      fired_.resize(room);
      weight_.resize(room);
      factor_.resize(room);
    }
    const Row* const rows = rows_.data();
    const float* const weights = weights_.data();
    Row* const fired = fired_.data();
    float* const weight = weight_.data();
    for (size_t k = 0; k < listed; ++k) {
      fired[k] = rows[ids[k]];
      weight[k] = weights[ids[k]];
    }
    if (s.always != no_predicate) {
      const size_t k = (listed + lanes - 1) / lanes * lanes;
      fired_[k] = rows_[number_[s.always]];
      weight_[k] = weights_[number_[s.always]];
    }
    const Adf::Elapsed elapsed = algorithm_.elapsed();
    V sum{}, most{};
    for_each_block(s, [&](size_t k, size_t n) {
      Block rows = Block::load(fired_.data() + k);
      elapsed.catch_up(rows);
      rows.store(fired_.data() + k);
      const V value = values_of(values, k, n), scale = pending_scale(rows.pending);
      const V factor = rows.rate / ((1.0f - elapsed.lambda * rows.rate) * scale);
      V v;
      std::memcpy(&v, weight + k, sizeof v);
      std::memcpy(factor_.data() + k, &factor, sizeof factor);
      sum += value != 0.0f ? v * scale * value : V{};
      most = rows.pending > most ? rows.pending : most;
    });
    float total = 0, largest = 0;
    for (uint32_t j = 0; j < lanes; ++j) {
      total += sum[j];
      largest = std::max(largest, most[j]);
    }
    if (largest > largest_pending) apply_pending(s);
    return total;
  }

  // What a step is multiplied by for the weight of a row: its rate, with the shrink that is put
  // off.
  float factor(const Row& row) const {
    const float lambda = algorithm_.elapsed().lambda;
    return row.rate / ((1.0f - lambda * row.rate) * pending_scale(row.pending));
  }

  void apply_pending(const Sentence& s) {
    for_each_block(s, [&](size_t k, size_t n) {
      for (size_t j = k; j < k + std::max<size_t>(n, 1); ++j)
        if (fired_[j].pending > largest_pending) {
          weight_[j] *= std::exp(-fired_[j].pending);
          fired_[j].pending = 0;
          factor_[j] = factor(fired_[j]);
        }
    });
  }

  // v ← v + γ · step · x, and all goes back to where it belongs.
  void update(const Sentence& s, const uint32_t* ids, const float* values, float step) {
    const size_t listed = s.offsets[1] - s.offsets[0];
    const size_t last = (listed + lanes - 1) / lanes * lanes;
    if (algorithm_.closes())
      for_each_block(s, [&](size_t k, size_t n) {
        for (size_t j = k; j < k + std::max<size_t>(n, 1); ++j) {
          algorithm_.close(fired_[j]);
          factor_[j] = factor(fired_[j]);
        }
      });
    for_each_block(s, [&](size_t k, size_t n) {
      V factor, v;
      std::memcpy(&factor, factor_.data() + k, sizeof factor);
      std::memcpy(&v, weight_.data() + k, sizeof v);
      v += values_of(values, k, n) * step * factor;
      std::memcpy(weight_.data() + k, &v, sizeof v);
    });
    Row* const rows = rows_.data();
    float* const weights = weights_.data();
    const Row* const fired = fired_.data();
    const float* const weight = weight_.data();
    for (size_t k = 0; k < listed; ++k) {
      rows[ids[k]] = fired[k];
      weights[ids[k]] = weight[k];
    }
    if (s.always != no_predicate) {
      rows_[number_[s.always]] = fired_[last];
      weights_[number_[s.always]] = weight_[last];
    }
  }

  const uint32_t n_;
  const int width_;
  const State<Row, Adf::Clock> state_;
  Adf algorithm_;
  TrainingWith<Adf, 4> other_;            // for what does not fit
  std::vector<uint32_t> number_, place_;  // [n] of each predicate; the predicate of each number
  Prepared known_;
  bool loaded_ = false;
  std::vector<float> weights_;  // [n and some room] v, by our numbers
  std::vector<Row> rows_;
  std::vector<Row> fired_;  // the rows of a sentence, with their weights and factors
  std::vector<float> weight_, factor_;
};

}  // namespace adaptag
