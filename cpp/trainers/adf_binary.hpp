// ADF for classification with two classes: the same steps as adf.hpp, several times as fast.
//
// With two labels the gradient of one is minus that of the other, so w(0) = −w(1) all the time: one
// number v = w(1) for each predicate is enough, and P(1 | x) = 1 / (1 + exp(−2 v·x)).
//
// Documents have hundreds of features, most of them rare, and what takes the time is memory. So
// weights and rows are kept apart from Python's arrays while training goes on: small, and in an
// order in which those of a document lie together: by falling frequency, then by first occurrence.
// All arithmetic is in loops over the predicates of a document, which compilers turn into vector
// code.
#pragma once

#include <cmath>
#include <numeric>

#include "adf.hpp"

namespace adaptag {

class BinaryAdf final : public Training {
 public:
  using Row = Adf::Row;

  // Whether data of this layout can be trained on; the rest is seen in the data.
  static bool fits(const Layout& layout, size_t batch) {
    return layout.n_labels == 2 && layout.n_both == 0 && layout.n_edge == 0 && batch == 1;
  }

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
    for (size_t k = 0; k < order.size(); ++k) {
      const size_t next = order[std::min(k + 1, order.size() - 1)];
      learn(data, prepared, order[k], next, totals, best);
    }
    return totals;
  }

  void read(float* out) override {
    if (!loaded_ || !algorithm_.takes_all(Rows<4>{4})) {
      sync();
      return other_.read(out);
    }
    algorithm_.begin(0);
    const Adf::Elapsed elapsed = algorithm_.elapsed();
    for (uint32_t first = 0; first < n_; first += block) {
      const int n = int(std::min(block, n_ - first));
      Row rows[block];
      float weights[block];
      std::copy_n(rows_.begin() + first, n, rows);
      auto* const fields = reinterpret_cast<uint32_t*>(rows);
#pragma omp simd
      for (int k = 0; k < n; ++k) {
        elapsed.catch_up(fields + 4 * k);
        const float pending = std::bit_cast<float>(fields[4 * k + 3]);
        weights[k] = weights_[first + k] * Adf::Elapsed::exp(-pending);
      }
      for (int k = 0; k < n; ++k) put(out, place_[first + k], weights[k]);
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
  static constexpr uint32_t block = 256;

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

  // Numbers the predicates: by falling frequency, then by first occurrence, then those never seen.
  void number(const Dataset& data) {
    std::vector<uint32_t> count(n_, 0), seen;
    for (const uint32_t id : data.predicates)
      if (id < n_ && count[id]++ == 0) seen.push_back(id);
    for (uint32_t id = 0; id < n_; ++id)
      if (count[id] == 0) seen.push_back(id);
    const uint32_t top = n_ ? *std::max_element(count.begin(), count.end()) : 0;
    std::vector<uint32_t> starts(size_t(top) + 2, 0);  // counting sort
    for (const uint32_t id : seen) ++starts[top - count[id] + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    place_.resize(n_);
    number_.resize(n_);
    for (const uint32_t id : seen) place_[starts[top - count[id]]++] = id;
    for (uint32_t k = 0; k < n_; ++k) number_[place_[k]] = k;
  }

  Prepared prepare(const Dataset& data) const {
    Prepared out{data.predicates.data(), data.predicates.size(), data.legal.empty(), {}};
    std::vector<uint32_t> in(n_, no_predicate);  // the last sentence that a predicate was in
    out.ids.resize(data.predicates.size());
    for (size_t i = 0; i < data.size() && out.fits; ++i) {
      const Sentence s = data[i];
      out.fits = s.length <= 1;
      for (int64_t k = s.offsets[0]; out.fits && k < s.offsets[s.length]; ++k) {
        const uint32_t id = s.predicates[k];
        out.fits = id < n_ && id != s.always && in[id] != i;
        if (!out.fits) break;
        in[id] = uint32_t(i);
        out.ids[k] = number_[id];
      }
    }
    return out;
  }

  // Takes Python's arrays over, unless the weights of the labels are not each other's negatives.
  bool load() {
    weights_.resize(n_);
    rows_.resize(n_);
    for (uint32_t k = 0; k < n_; ++k) {
      const float* const w = state_.weights + place_[k] * size_t(width_);
      if (w[0] != -w[1]) return false;
      weights_[k] = w[1];
      rows_[k] = state_.rows[place_[k]];
    }
    return loaded_ = true;
  }

  void learn(const Dataset& data, const Prepared& prepared, size_t i, size_t next, Totals& totals,
             int32_t* best) {
    const Sentence s = data[i];
    if (s.length == 0) return;
    algorithm_.begin(1);
    const uint32_t* const ids = prepared.ids.data() + s.offsets[0];
    const float* const values = s.values ? s.values + s.offsets[0] : nullptr;
    const size_t listed = s.offsets[1] - s.offsets[0], always = s.always != no_predicate;
    const float margin = 2 * score(ids, values, listed, s.always);  // s(1) − s(0)
    if (best) best[data.sentences[i]] = margin > 0;
    float step = 0;
    if (s.labels[0] != no_label) {
      const float towards = s.labels[0] == 1 ? margin : -margin;  // the right class
      const double wrong = 1 / (1 + std::exp(double(towards)));
      totals += Totals{softplus(-towards), 1 - wrong, 1}.weighted(s.weight);
      step = float(s.labels[0] == 1 ? wrong : -wrong) * s.weight;
    }
    if (algorithm_.closes())
      for (size_t k = 0; k < listed + always; ++k) algorithm_.close(fired_[k]);
    update(ids, listed, s.always, step, data[next], prepared);
    algorithm_.end();
  }

  static double softplus(double x) {  // log(1 + e^x)
    return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  }

  // v·x, with the rows brought up to date, all in working memory.
  float score(const uint32_t* ids, const float* values, size_t listed, uint32_t always) {
    const size_t n = listed + (always != no_predicate);
    if (fired_.size() < n) {
      fired_.resize(n);
      for (auto* v : {&weight_, &scale_, &value_}) v->resize(n);
    }
    for (size_t k = 0; k < listed; ++k) {
      fired_[k] = rows_[ids[k]];
      weight_[k] = weights_[ids[k]];
    }
    if (values)
      std::copy_n(values, listed, value_.begin());
    else
      std::fill_n(value_.begin(), listed, 1.0f);
    if (n > listed) {
      fired_[listed] = rows_[number_[always]];
      weight_[listed] = weights_[number_[always]];
      value_[listed] = 1;
    }
    const Adf::Elapsed elapsed = algorithm_.elapsed();
    auto* const fields = reinterpret_cast<uint32_t*>(fired_.data());  // [n, 4]
    float *const weight = weight_.data(), *const scale = scale_.data(),
                 *const value = value_.data();
    float sum = 0, most = 0;
#pragma omp simd reduction(+ : sum) reduction(max : most)
    for (int k = 0; k < int(n); ++k) {
      scale[k] = elapsed.catch_up(fields + 4 * k);
      sum += weight[k] * scale[k] * value[k];
      const float pending = std::bit_cast<float>(fields[4 * k + 3]);
      most = pending > most ? pending : most;
    }
    for (size_t k = 0; k < n && most > largest_pending; ++k)
      if (fired_[k].pending > largest_pending) {
        weight_[k] *= std::exp(-fired_[k].pending);
        fired_[k].pending = 0;
        scale_[k] = 1;
      }
    return sum;
  }

  // v ← v + γ · step · x, and all goes back to where it belongs; what comes next is fetched.
  void update(const uint32_t* ids, size_t listed, uint32_t always, float step, const Sentence& next,
              const Prepared& prepared) {
    const size_t n = listed + (always != no_predicate);
    const float lambda = algorithm_.elapsed().lambda;
    const auto* const fields = reinterpret_cast<const uint32_t*>(fired_.data());
    float* const weight = weight_.data();
    const float *const scale = scale_.data(), *const value = value_.data();
#pragma omp simd
    for (int k = 0; k < int(n); ++k) {
      const float rate = std::bit_cast<float>(fields[4 * k]);
      weight[k] += step * value[k] * rate / ((1.0f - lambda * rate) * scale[k]);
    }
    const uint32_t* coming = prepared.ids.data() + next.offsets[0];
    const uint32_t* const end = prepared.ids.data() + next.offsets[next.length];
    for (size_t k = 0; k < listed; ++k) {
      if (coming != end) {
        __builtin_prefetch(rows_.data() + *coming, 1);
        __builtin_prefetch(weights_.data() + *coming++, 1);
      }
      rows_[ids[k]] = fired_[k];
      weights_[ids[k]] = weight_[k];
    }
    if (n > listed) {
      rows_[number_[always]] = fired_[listed];
      weights_[number_[always]] = weight_[listed];
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
  std::vector<float> weights_;  // [n] v, by our numbers
  std::vector<Row> rows_;
  std::vector<Row> fired_;  // the rows of a sentence, their weights, scales and values
  std::vector<float> weight_, scale_, value_;
};

}  // namespace adaptag
