// ADF for documents: the same steps as adf.hpp, several rows at a time.
//
// Most features of a document are rare, and what takes the time is memory: so weights and rows are
// kept apart from Python's arrays while training goes on (documents.hpp), and what a document
// changes in its rows beside the weights is known, and stored, before its scores are.
#pragma once

#include "adf.hpp"
#include "adf_document_rows.hpp"
#include "document_training.hpp"

namespace adaptag {

// The rows of one part. N: weights kept for each predicate.
template <int N>
class AdfDocuments {
 public:
  using Algorithm = Adf;
  static constexpr int K = N;

  AdfDocuments(const Values& values, const Task& task) : windows_(AdfSettings(values, task)) {}

  static bool in_range(const Adf::RunState& run, size_t updates) {
    return run.step + updates < AdfDocumentWindows::largest_t;
  }
  static bool equal(const AdfRow& a, const AdfRow& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

  void reset(size_t n, const Adf::RunState& run) {
    run_ = run;
    rows_.assign(n + lanes, AdfDocumentRow{});  // vectors reach beyond the end
    if (K > 1) weights_.assign(n * K, 0.0f);
  }
  void take(const std::vector<uint32_t>& predicates, const float* weights, const AdfRow* states,
            size_t width) {
    for (size_t row = 0; row < predicates.size(); ++row) {
      rows_[row] = windows_.taken(states[predicates[row]]);
      std::copy_n(weights + predicates[row] * width, K, weights_of(uint32_t(row)));
    }
  }
  void put(AdfRow& state, uint32_t row) const { state = windows_.given(rows_[row]); }
  const float* weights(uint32_t row) const {
    return K == 1 ? &rows_[row].weight : weights_.data() + row * size_t(K);
  }

  void begin(const Adf::RunState& run) { run_ = run; }
  Adf::RunState end() const { return run_; }
  void begin_group() { gains_end_ = 0; }

  void score(const Document& d, float* sums) {
    windows_.begin(uint32_t(run_.step++));
    if (gains_.size() < gains_end_ + d.n) gains_.resize(2 * (gains_end_ + d.n));
    if (pending_.size() < d.n) pending_.resize(2 * d.n);
    float* const gains = gains_.data() + gains_end_;
    gains_begin_ = 0;
    gains_end_ += d.n;
    if (catch_up(d, gains, sums))
      for (size_t k = 0; k < d.n; ++k)
        if (pending_[k] > largest) correct(d, k, gains, sums);
  }

  // w ← w + γ · gradient · x, of the documents in the order they were scored in
  void update(const Document& d, const float* gradient, const Document& next) {
    const float* const gains = gains_.data() + gains_begin_;
    gains_begin_ += d.n;
    const size_t both = std::min(d.n, next.n);
    for (size_t k = 0; k < both; ++k) {
      add_to_row<K>(weights_of(d.rows[k]), gradient, gains[k]);
      __builtin_prefetch(rows_.data() + next.rows[k], 1);
      if (K > 1) __builtin_prefetch(weights_.data() + next.rows[k] * size_t(K), 1);
    }
    for (size_t k = both; k < d.n; ++k) add_to_row<K>(weights_of(d.rows[k]), gradient, gains[k]);
  }

  // Applies the large shrinks.
  void end_group() {
    for (const Large& one : large_) {
      AdfDocumentRow& row = rows_[one.row];
      if (row.pending != one.before) continue;  // done already, or it comes with a later document
      for (int y = 0; y < K; ++y) weights_of(one.row)[y] *= one.shrink;
      row.pending -= one.pending;
    }
    large_.clear();
  }

  // exp(−what is pending) of rows from the first on, brought up to date in a copy.
  void shrink(uint32_t first, float* out) {
    windows_.begin(uint32_t(run_.step));
    AdfDocumentRows block = AdfDocumentRows::load(rows_.data() + first);
    windows_.catch_up(block);
    const V factor = exp_of_vector<V, AdfDocumentRows::Int>(-windows_.pending(block));
    std::memcpy(out, &factor, sizeof factor);
  }

 private:
  using V = AdfDocumentRows::Float;
  static constexpr size_t lanes = AdfDocumentRows::lanes;

  static constexpr float largest = 0.5f;  // what may stay pending

  // A large shrink, to be applied after the gradients of the group, which do not know of it.
  struct Large {
    uint32_t row;
    float pending, shrink;  // p and exp(−p)
    float before;           // the row's own number
  };

  // exp(−p) for 0 ≤ p ≤ largest, exact to float32.
  static V shrink_of(V p) {
    const V u = 0.25f - p;
    return 0.7788007831f *
           (1.0f +
            u * (1.0f + u * (0.5f + u * (1.0f / 6 +
                                         u * (1.0f / 24 + u * (1.0f / 120 + u * (1.0f / 720)))))));
  }

  float* weights_of(uint32_t row) { return const_cast<float*>(weights(row)); }

  // Brings the rows up to date, counts them, and computes gains, what a gradient is multiplied by
  // for each row, and the scores. Whether some shrinks are larger than it takes into account.
  bool catch_up(const Document& d, float* gains, float* sums) {
    V most{}, sum{};
    const V most_allowed = V{} + largest;
    AdfDocumentRow* const rows = rows_.data();
    const bool closes = windows_.closes();
    [[maybe_unused]] ScoresOfRows<K> scores;
    for (size_t k = 0; k < d.n; k += lanes) {
      AdfDocumentRows block = AdfDocumentRows::gather(rows, d.rows + k);
      const V pending = windows_.count(block);
      if (closes) windows_.close(block, pending);
      block.scatter(rows, d.rows + k);
      V value;
      std::memcpy(&value, d.values + k, sizeof value);
      const V scale = shrink_of(pending < most_allowed ? pending : most_allowed);
      std::memcpy(pending_.data() + k, &pending, sizeof pending);
      const V gain = value * (block.rate / ((1.0f - windows_.lambda() * block.rate) * scale));
      std::memcpy(gains + k, &gain, sizeof gain);
      most = pending > most ? pending : most;
      if (k + lanes == d.n) value[lanes - 1] = d.last;
      if constexpr (K == 1)
        sum += value * scale * block.weight;
      else
        for (size_t j = 0; j < lanes; ++j)
          scores.add(j, weights(d.rows[k + j]), (value * scale)[j]);
    }
    if constexpr (K == 1)
      *sums = sum_of(sum);
    else
      scores.store(sums, 1.0f);
    return largest_of(most) > largest;
  }

  // Takes the large shrink of a row into account. One beyond e^−40 is as good as that.
  void correct(const Document& d, size_t k, float* gains, float* sums) {
    AdfDocumentRow& row = rows_[d.rows[k]];
    const float pending = std::min(pending_[k], 40.0f), shrink = std::exp(-pending);
    row.pending -= pending_[k] - pending;
    large_.push_back({d.rows[k], pending, shrink, row.pending});
    const float assumed = shrink_of(V{} + largest)[0];
    const float value = (k + 1 == d.n ? d.last : d.values[k]) * (shrink - assumed);
    for (int y = 0; y < K; ++y) sums[y] += weights(d.rows[k])[y] * value;
    gains[k] *= assumed / shrink;
  }

  static float sum_of(V v) {
    float out = 0;
    for (size_t k = 0; k < lanes; ++k) out += v[k];
    return out;
  }
  static float largest_of(V v) {
    float out = 0;
    for (size_t k = 0; k < lanes; ++k) out = std::max(out, v[k]);
    return out;
  }

  AdfDocumentWindows windows_;
  Adf::RunState run_{};
  std::vector<AdfDocumentRow> rows_;  // [n and some room]
  std::vector<float> weights_;        // [n, K] where K > 1
  std::vector<float> gains_;          // of what fires in the documents of the group
  size_t gains_begin_ = 0, gains_end_ = 0;
  std::vector<float> pending_;  // of what fires in the document at hand
  std::vector<Large> large_;    // of the group
};

inline std::unique_ptr<Training> Adf::special_form(const Values& values, const Task& task,
                                                   State<RowState, RunState> state) {
  if (AdfSettings(values, task).order > 3) return nullptr;  // what the vectors' series can do
  return document_training<AdfDocuments>(values, task, state);
}

}  // namespace adaptag
