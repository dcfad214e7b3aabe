// SGD for documents, without averaging: the same steps as sgd.hpp. All weights shrink alike, so one
// number stands for what is pending of all of them.
#pragma once

#include "document_training.hpp"
#include "sgd.hpp"

namespace adaptag {

// The rows of one part. N: weights kept for each predicate.
template <int N>
class SgdDocuments {
 public:
  using Algorithm = Sgd;
  static constexpr int K = N;

  SgdDocuments(const Values& values, const Task& task) : steps_(values, task) {}

  static bool in_range(const Sgd::RunState&, size_t) { return true; }
  static bool equal(const Sgd::RowState& a, const Sgd::RowState& b) {
    return a.shrunk == b.shrunk && a.summed == b.summed;
  }

  void reset(size_t n, const Sgd::RunState& run) {
    run_ = run;
    shrunk_ = run.shrink;
    weights_.assign(n * K, 0.0f);
  }
  // The state of rows that come from here is the same, so that they come back without rounding.
  void take(const std::vector<uint32_t>& predicates, const float* weights,
            const Sgd::RowState* states, size_t width) {
    if (predicates.empty()) return;
    shrunk_ = states[predicates[0]].shrunk;
    for (const uint32_t id : predicates) shrunk_ = std::max(shrunk_, states[id].shrunk);
    for (size_t row = 0; row < predicates.size(); ++row) {
      const auto shrink = float(std::exp(states[predicates[row]].shrunk - shrunk_));
      for (int y = 0; y < K; ++y)
        weights_[row * K + y] = weights[predicates[row] * width + y] * shrink;
    }
  }
  void put(Sgd::RowState& state, uint32_t) const { state = {shrunk_, run_.summed}; }
  const float* weights(uint32_t row) const { return weights_.data() + row * size_t(K); }

  void begin(const Sgd::RunState& run) {
    run_ = run;
    scale_ = std::exp(shrunk_ - run_.shrink);
  }
  Sgd::RunState end() {
    run_.shrink = shrunk_ - std::log(scale_);
    return run_;
  }
  void begin_group() { gains_.clear(); }

  void score(const Document& d, float* sums) {
    steps_.begin(run_.step++);
    const auto scale = float(scale_);
    scale_ *= 1 - steps_.shrink;
    gains_.push_back(steps_.step / scale);
    updated_ = 0;
    ScoresOfRows<K> scores;
    for (size_t k = 0; k < d.n; k += 4)
      for (size_t j = 0; j < 4; ++j) {
        const float value = k + j + 1 == d.n ? d.last : d.values[k + j];
        scores.add(j, weights(d.rows[k + j]), value);
      }
    scores.store(sums, scale);
  }

  // w ← w + γ · gradient · x, of the documents in the order they were scored in
  void update(const Document& d, const float* gradient, const Document& next) {
    const float gain = gains_[updated_++];
    float* const weights = weights_.data();
    const auto add = [&](size_t k) {
      add_to_row<K>(weights + d.rows[k] * size_t(K), gradient, d.values[k] * gain);
    };
    const size_t both = std::min(d.n, next.n);
    for (size_t k = 0; k < both; ++k) {
      add(k);
      __builtin_prefetch(weights + next.rows[k] * size_t(K), 1);
    }
    for (size_t k = both; k < d.n; ++k) add(k);
  }

  void end_group() {
    if (scale_ > 1e-4) return;  // float32 has room for more
    for (float& w : weights_) w *= float(scale_);
    shrunk_ -= std::log(scale_);
    scale_ = 1;
  }

  void shrink(uint32_t, float* out) const {
    std::fill_n(out, DocumentParts::lanes, float(std::exp(shrunk_ - run_.shrink)));
  }

 private:
  SgdSteps steps_;
  Sgd::RunState run_{};
  double shrunk_ = 0;           // the sum S that all weights have seen
  double scale_ = 1;            // of the weights, while updates go on: e^(shrunk − S)
  std::vector<float> weights_;  // [n, K]
  std::vector<float> gains_;    // what to multiply the gradients of the group by
  size_t updated_ = 0;          // documents of the group
};

inline std::unique_ptr<Training> Sgd::special_form(const Values& values, const Task& task,
                                                   State<RowState, RunState> state) {
  if (values["average"] > 0) return nullptr;
  return document_training<SgdDocuments>(values, task, state);
}

}  // namespace adaptag
