// The loop that runs an online training algorithm.
//
// clang-format off
// An algorithm is one class:
//   declaration()                 its name, what it optimises, its parameters and its state
//   Row, Clock                    state per predicate and per run, fields as declared; zeros at start
//   begin(size), end()            around each update, of so many sentences
//   direction(lattice, gold)      inference: fills the update direction, returns the loss
//   update(ops, id, i, d, n, v)   weights[i …] += step · v · d, for a block of n weights
//   read(ops, id, i, n, out)      the weights as the user gets them; changes no state
//   prefetch(id)                  brings a row's state into the cache
// and, where it has need:
//   refresh(ops, id, i, n, k)     makes a row current before sentence k of the update reads it
//   scale(id)                     what a stored row must be multiplied by: a shrink that was put off
//   closes(), close(id)           after all sentences of an update are read, before their updates
//   step(ops, gathered)           the size of the update of one sentence, from its whole direction
//   due(), settle(ops, id, i, n), settled()   when and how to change all rows between two updates
//   sparse                        its directions are zero but at some positions
//   prepare(task)                 fills the shadow from the data
//   takes_all(ops), score_all(ops, s, out, coming), update_all(ops, s, d, coming)   whether and how
//                                 to refresh, score and update all rows of a one-token sentence
// clang-format on
// Python allocates all state from the declaration and owns it.
#pragma once

#include <cmath>
#include <memory>
#include <type_traits>

#include "../margin.hpp"
#include "../training.hpp"
#include "declaration.hpp"
#include "gathered.hpp"

namespace adaptag {

template <class Algorithm, int W>
class TrainingWith final : public Training {
  static constexpr bool sparse = requires { Algorithm::sparse; };
  static constexpr bool gathers =
      requires(Algorithm& a, Rows<W> ops, Gathered<W> g) { a.step(ops, g); };
  static constexpr bool takes_all = requires(const Algorithm& a, Rows<W> ops) { a.takes_all(ops); };

 public:
  TrainingWith(const Task& task, float* weights, Algorithm algorithm)
      : layout_(task.layout),
        ops_{task.layout.width},
        batch_(task.batch),
        weights_(weights),
        algorithm_(std::move(algorithm)) {
    if constexpr (requires { algorithm_.prepare(task); }) algorithm_.prepare(task);
  }

  Totals run(const Dataset& data, std::span<const uint32_t> order, int32_t* best) override {
    const FlushToZero flush_to_zero;
    std::vector<uint32_t> wanted;
    for (const uint32_t i : order)
      if (data[i].length > 0) wanted.push_back(i);
    Totals totals;
    for (size_t first = 0; first < wanted.size(); first += batch_) {
      const size_t size = std::min(batch_, wanted.size() - first);
      algorithm_.begin(size);
      const size_t last = std::min(first + size, wanted.size() - 1);
      Prefetch coming(*this, data[wanted[last]]);
      for (size_t k = 0; k < size; ++k) {
        const uint32_t i = wanted[first + k];
        look(data[i], k, totals, coming, best ? best + data.sentences[i] : nullptr);
      }
      if constexpr (requires { algorithm_.closes(); })
        if (algorithm_.closes())
          for (size_t k = 0; k < size; ++k) close(samples_[k]->sentence);
      for (size_t k = 0; k < size; ++k) learn(*samples_[k], coming);
      coming.rest();
      algorithm_.end();
      if constexpr (requires { algorithm_.due(); })
        if (algorithm_.due()) {
          for_each_row([&](uint32_t id, size_t i, int n) { algorithm_.settle(ops_, id, i, n); });
          algorithm_.settled();
        }
    }
    return totals;
  }

  void read(float* out) override {
    for_each_row([&](uint32_t id, size_t i, int n) { algorithm_.read(ops_, id, i, n, out + i); });
  }

 private:
  struct Sample {
    explicit Sample(const Layout& layout) : lattice(layout), gathered(layout) {}
    Sentence sentence{};
    Lattice<W> lattice;
    Gathered<W> gathered;
    Step step;
  };

  // Rows lie far apart in memory: while some are updated, those of the next sentence come in.
  class Prefetch {
   public:
    Prefetch(const TrainingWith& training, const Sentence& s)
        : training_(training),
          at_(s.predicates + s.offsets[0]),
          state_(at_),
          end_(s.predicates + s.offsets[s.length]) {}
    void next() {
      if (at_ == end_) return;
      const float* row = training_.weights_ + training_.layout_.row(*at_);
      const size_t size = training_.layout_.row_size(*at_);
      training_.algorithm_.prefetch(*at_++);
      for (size_t j = 0; j < size; j += 16) __builtin_prefetch(row + j, 1);
    }
    void rest() {
      while (at_ != end_) next();
    }
    // State and weights apart, of rows with node weights only.
    void next_state() {
      if (state_ != end_) training_.algorithm_.prefetch(*state_++);
    }
    void next_weights() {
      if (at_ == end_) return;
      const float* row = training_.weights_ + *at_++ * size_t(training_.ops_.width());
      __builtin_prefetch(row, 1);
    }

   private:
    const TrainingWith& training_;
    const uint32_t *at_, *state_, *const end_;
  };

  // Computes the direction of the k-th sentence of an update.
  void look(const Sentence& s, size_t k, Totals& totals, Prefetch& coming, int32_t* best) {
    if (samples_.size() <= k) samples_.push_back(std::make_unique<Sample>(layout_));
    Sample& sample = *samples_[k];
    Lattice<W>& lattice = sample.lattice;
    sample.sentence = s;
    if constexpr (takes_all)
      if (at_once(s)) algorithm_.score_all(ops_, s, lattice.one_token(), coming);
    if (!at_once(s)) score(s, k, lattice);
    if (s.legal) lattice.constrain({nullptr, s.legal});
    if (best) lattice.viterbi(best);
    totals += algorithm_.direction(lattice, s.labels).weighted(s.weight);
    if constexpr (gathers) {
      sample.gathered.collect(lattice, s, sparse);
      sample.step = algorithm_.step(ops_, sample.gathered);
      sample.step.weights *= s.weight;
      sample.step.precision *= s.weight;
    }
  }

  void score(const Sentence& s, size_t k, Lattice<W>& lattice) {
    if constexpr (requires { algorithm_.refresh(ops_, 0, 0, 0, k); }) {
      const size_t w = ops_.width();
      if (s.always != no_predicate) algorithm_.refresh(ops_, s.always, s.always * w, int(w), k);
      for (int64_t j = s.offsets[0]; j < s.offsets[s.length]; ++j) {
        const uint32_t id = s.predicates[j];
        if (id < layout_.n_node)
          algorithm_.refresh(ops_, id, id * w, int(w), k);
        else
          algorithm_.refresh(ops_, id, layout_.row(id), int(layout_.row_size(id)), k);
      }
    }
    if constexpr (requires { algorithm_.scale(0); })
      lattice.score(s, weights_, [&](uint32_t id) { return algorithm_.scale(id); });
    else
      lattice.score(s, weights_, unscaled);
  }

  // Whether all rows of a sentence can be taken at once: one token with node weights only, as in
  // classification, where there may be hundreds of rows and hardly anything else to do.
  bool at_once(const Sentence& s) const {
    if constexpr (takes_all) {
      const int64_t n = s.offsets[s.length] - s.offsets[0];
      return s.length == 1 && algorithm_.takes_all(ops_) &&
             (n == 0 || s.predicates[s.offsets[1] - 1] < layout_.n_node);
    }
    return false;
  }

  void close(const Sentence& s) {
    if (s.always != no_predicate) algorithm_.close(s.always);
    for (int64_t j = s.offsets[0]; j < s.offsets[s.length]; ++j) algorithm_.close(s.predicates[j]);
  }

  // The updates of the sentences of a mini-batch add up: each step is that of one sentence.
  void learn(const Sample& sample, Prefetch& coming) {
    if constexpr (gathers) {
      if (sample.step.weights == 0) return;
      sample.gathered.for_each([&](uint32_t id, size_t i, const float* delta, int n) {
        coming.next();
        algorithm_.update(ops_, id, i, delta, n, sample.step);
      });
    } else if (at_once(sample.sentence)) {
      if constexpr (takes_all)
        algorithm_.update_all(ops_, sample.sentence, sample.lattice.node_p.data(), coming);
    } else {
      for_each_block<sparse>(sample.lattice, sample.sentence, layout_,
                             [&](uint32_t id, size_t i, const float* delta, int n, float value) {
                               coming.next();
                               algorithm_.update(ops_, id, i, delta, n,
                                                 value * sample.sentence.weight);
                             });
    }
  }

  template <class F>
  void for_each_row(F&& f) const {
    for (uint32_t id = 0; id < layout_.n_predicates(); ++id)
      f(id, layout_.row(id), int(layout_.row_size(id)));
  }

  const Layout layout_;
  const Rows<W> ops_;
  const size_t batch_;
  float* const weights_;
  Algorithm algorithm_;
  std::vector<std::unique_ptr<Sample>> samples_;  // of one update
};

// Scales n weights (a multiple of the row width).
template <class Ops>
void scale_block(const Ops& ops, float* w, int n, float factor) {
  for (int j = 0; j < n; j += ops.width()) ops.scale(w + j, factor);
}

// w += a · x over n weights (a multiple of the row width).
template <class Ops>
void add_block(const Ops& ops, float* w, const float* x, int n, float a) {
  int j = 0;
  if constexpr (Ops::lanes == 4)  // narrow rows: a row with edge weights is a few wide vectors
    for (; j + 16 <= n; j += 16) Ops::add_16(w + j, x + j, a);
  for (; j < n; j += ops.width()) ops.add(w + j, x + j, a);
}

// Calls f(j) for every vector of n weights.
template <class Ops, class F>
void for_each_vector(const Ops&, int n, F&& f) {
  for (int j = 0; j < n; j += Ops::lanes) f(j);
}

// Whether n weights are all zero, as those of a predicate that never fired are.
inline bool is_zero(const float* w, size_t n) {
  return std::all_of(w, w + n, [](float x) { return x == 0; });
}

// L2 regularisation is put off: a row's pending shrink p, as a negative logarithm, is a factor in
// its scores until it exceeds this, and only then applied to the weights. Small steps add up in p
// where a float32 weight would lose them in rounding.
constexpr float largest_pending = 0.05f;

// Throws where a regularisation would shrink weights by half or more, and soon turn them around.
inline void check_shrink(double x) {
  if (x >= 0.5)
    throw std::invalid_argument("rate / (updates in a pass · sigma²), times the period, is " +
                                std::to_string(x) +
                                "; allowed: below 0.5 (lower rate or period, or raise sigma)");
}

// exp(−p) for p ≤ largest_pending, exact to float32; of a number or of a vector.
template <class V>
V pending_scale(V p) {
  return 1.0f - p * (1.0f - p * (0.5f - p * (1.0f / 6 - p * (1.0f / 24))));
}

}  // namespace adaptag
