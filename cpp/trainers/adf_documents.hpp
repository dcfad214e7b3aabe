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
class AdfDocumentRows {
 public:
  using Algorithm = Adf;
  static constexpr int K = N;

  AdfDocumentRows(const Values& values, const Task& task) : windows_(AdfSettings(values, task)) {}

  // In float32, windows are told apart up to 2^22 updates.
  static bool in_range(const Adf::RunState& run, size_t updates) {
    return run.step + updates < 1u << 22;
  }
  static bool equal(const AdfRow& a, const AdfRow& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

  void reset(size_t n, const Adf::RunState& run) {
    run_ = run;
    weights_.assign(n * K, 0.0f);
    rows_.assign(n + lanes, AdfRow{});  // vectors reach beyond the end
  }
  void take(uint32_t row, const float* weights, const AdfRow& state) {
    std::copy_n(weights, K, weights_.data() + row * size_t(K));
    rows_[row] = state;
  }
  void put(AdfRow& state, uint32_t row) const { state = rows_[row]; }
  const float* weights(uint32_t row) const { return weights_.data() + row * size_t(K); }

  void begin(const Adf::RunState& run) { run_ = run; }
  Adf::RunState end() const { return run_; }
  void begin_group() { group_begin_ = uint32_t(run_.step); }

  void score(const Document& d, size_t j, float* sums) {
    const size_t first = j == 0 ? 0 : ends_[j - 1];
    ends_.resize(j + 1);
    ends_[j] = first + d.n;
    if (gains_.size() < ends_[j]) {
      gains_.resize(2 * ends_[j]);
      touched_.resize(2 * ends_[j]);
    }
    windows_.begin(uint32_t(run_.step++));
    Sums scores{};
    if (catch_up(d, first, scores)) {
      scores = Sums{};
      apply_pending(d, first, scores);
    }
    scores.add_to(sums);
  }

  // w ← w + γ · gradient · x
  void update(const Document& d, size_t j, const float* gradient, const Document& next) {
    const float* const gains = gains_.data() + (j == 0 ? 0 : ends_[j - 1]);
    float* const weights = weights_.data();
    const AdfRow* const all = rows_.data();
    const uint32_t* const rows = d.rows;
    const size_t n = d.n;
    [[maybe_unused]] const float step = gradient[0];
    size_t k = 0;
    const auto add = [&](size_t k) {
      float* const w = weights + rows[k] * size_t(K);
      if constexpr (K == 1)
        *w += step * gains[k];
      else
        Rows<K>::store(w, Rows<K>::load(w) + Rows<K>::load(gradient) * gains[k]);
    };
    for (const size_t both = std::min(n, next.n); k < both; ++k) {
      add(k);
      __builtin_prefetch(all + next.rows[k], 1);
      __builtin_prefetch(weights + next.rows[k] * size_t(K), 1);
    }
    for (; k < n; ++k) add(k);
  }

  // exp(−what is pending) of rows from the first on, brought up to date in a copy.
  void shrink(uint32_t first, float* out) {
    windows_.begin(uint32_t(run_.step));
    AdfRows block = AdfRows::load(rows_.data() + first);
    windows_.catch_up(block, touched_by(block));
    const V factor = exp_of_vector<V, Int>(-block.pending);
    std::memcpy(out, &factor, sizeof factor);
  }

 private:
  using V = AdfRows::Float;
  using Int = AdfRows::Int;
  static constexpr size_t lanes = AdfRows::lanes;

  // Sums of scores: several, as one would wait for itself.
  struct Sums {
    using One = std::conditional_t<K == 1, float, typename Rows<K == 1 ? 4 : K>::V>;
    One sums[4];

    [[gnu::always_inline]] inline void add(size_t k, const float* weights, float value) {
      if constexpr (K == 1)
        sums[k % 4] += *weights * value;
      else
        sums[k % 4] += Rows<K>::load(weights) * value;
    }
    void add_to(float* out) const {
      const One sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
      if constexpr (K == 1)
        *out += sum;
      else
        Rows<K>::store(out, Rows<K>::load(out) + sum);
    }
  };

  static Int touched_by(const AdfRows& rows) { return rows.stamp == 0 ? Int{} : rows.stamp - 1; }
  static V load(const float* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }

  // Brings the rows up to date, counts them, and adds up the scores. Whether some shrinks are so
  // large that they must be applied; the scores are then too inexact.
  bool catch_up(const Document& d, size_t first, Sums& scores) {
    V most{};
    AdfRow* const rows = rows_.data();
    const float* const weights = weights_.data();
    const bool closes = windows_.closes();
    for (size_t k = 0; k < d.n; k += lanes) {
      AdfRows block = AdfRows::gather(rows, d.rows + k);
      const Int touched = touched_by(block);
      std::memcpy(touched_.data() + first + k, &touched, sizeof touched);
      windows_.catch_up(block, touched);
      block.count += 1;
      block.stamp = Int{} + (windows_.t() + 1);
      if (closes) {
        block.rate = windows_.after_window(block.rate, block.count);
        block.count = Int{};
      }
      block.scatter(rows, d.rows + k);
      const V value = load(d.values + k), scale = pending_scale(block.pending);
      const V gain = value * (block.rate / ((1.0f - windows_.lambda() * block.rate) * scale));
      std::memcpy(gains_.data() + first + k, &gain, sizeof gain);
      most = block.pending > most ? block.pending : most;
      V scored = value * scale;
      if (k + lanes == d.n) scored[lanes - 1] = d.last * scale[lanes - 1];
      float each[lanes];
      std::memcpy(each, &scored, sizeof scored);
      for (size_t j = 0; j < lanes; ++j)
        scores.add(j, weights + d.rows[k + j] * size_t(K), each[j]);
    }
    float largest = 0;
    for (size_t j = 0; j < lanes; ++j) largest = std::max(largest, most[j]);
    return largest > largest_pending;
  }

  // Applies large pending shrinks, and adds up the scores. The gains of what fired in the group
  // before do not know of it: such a row must wait.
  void apply_pending(const Document& d, size_t first, Sums& scores) {
    for (size_t k = 0; k < d.n; ++k) {
      AdfRow& row = rows_[d.rows[k]];
      float* const weights = weights_.data() + d.rows[k] * size_t(K);
      float scale =
          row.pending > largest_pending ? std::exp(-row.pending) : pending_scale(row.pending);
      if (row.pending > largest_pending && uint32_t(touched_[first + k]) < group_begin_) {
        for (int y = 0; y < K; ++y) weights[y] *= scale;
        row.pending = 0;
        scale = 1;
      }
      gains_[first + k] =
          d.values[k] * (row.rate / ((1.0f - windows_.lambda() * row.rate) * scale));
      scores.add(k, weights, (k + 1 == d.n ? d.last : d.values[k]) * scale);
    }
  }

  AdfRowsWindows windows_;
  Adf::RunState run_{};
  uint32_t group_begin_ = 0;      // the first update of the group
  std::vector<float> weights_;    // [n, K]
  std::vector<AdfRow> rows_;      // [n and some room]
  std::vector<size_t> ends_;      // of the documents of the group in what follows
  std::vector<float> gains_;      // what to multiply a gradient by, for each row that fires
  std::vector<int32_t> touched_;  // the update that had touched it
};

inline std::unique_ptr<Training> Adf::special_form(const Values& values, const Task& task,
                                                   State<RowState, RunState> state) {
  if (AdfSettings(values, task).order > 3) return nullptr;  // what the vectors' series can do
  return document_training<AdfDocumentRows>(values, task, state);
}

}  // namespace adaptag
