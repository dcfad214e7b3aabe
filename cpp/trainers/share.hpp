// A thread's share of the rows, all that an algorithm does with them, and the sentences at work.
#pragma once

#include <cmath>
#include <memory>

#include "../margin.hpp"
#include "blocks.hpp"
#include "contract.hpp"
#include "split.hpp"

namespace adaptag {

// A sentence of an update: one part for each share of the rows. The scores of all parts add up in
// the lattice of one of them, its home, which then holds the direction. The thread of that share
// does inference: what it reads most, it has written itself.
template <class Algorithm, int W>
class Sample {
  struct Nothing {
    explicit Nothing(const Layout&) {}
  };

 public:
  struct Part {
    explicit Part(const Layout& layout) : lattice(layout), gathered(layout) {}
    Sentence sentence{};  // with the predicates of the share
    Lattice<W> lattice;
    [[no_unique_address]] std::conditional_t<Algorithm::hooks.step, Gathered<W>, Nothing> gathered;
    double squared_length = 0;
  };

  Sample(const Layout& layout, int shares, int home) : home(home) {
    parts.reserve(shares);
    for (int k = 0; k < shares; ++k) parts.emplace_back(layout);
  }

  Lattice<W>& lattice() { return parts[home].lattice; }
  const Lattice<W>& lattice() const { return parts[home].lattice; }

  // From the scores of all parts to the direction.
  void infer(Algorithm& algorithm, const Sentence& s, int32_t* best) {
    if (parts.size() > 1)
      lattice().sum_scores(int(parts.size()),
                           [&](int k) -> const Lattice<W>& { return parts[k].lattice; });
    if (s.legal) lattice().constrain({nullptr, s.legal});
    if (best) lattice().viterbi(best);
    totals = algorithm.direction(lattice(), s.labels);
  }

  // Where the size of the step depends on the length of the direction.
  Step step(const Algorithm& algorithm) const
    requires(Algorithm::hooks.step)
  {
    double squared_length = 0;
    for (const Part& part : parts) squared_length += part.squared_length;
    Step step = algorithm.step(totals, squared_length);
    step.weights *= parts[0].sentence.weight;
    step.precision *= parts[0].sentence.weight;
    return step;
  }

  const int home;
  std::vector<Part> parts;  // [shares]
  contract::DirectionOf<Algorithm, W> totals;
};

// Sentences of one share, by their numbers.
struct SentencesOf {
  const Dataset& data;
  std::span<const uint32_t> numbers;

  size_t size() const { return numbers.size(); }
  Sentence operator[](size_t k) const { return data[numbers[k]]; }
};

// The loops over rows are flattened: whether an algorithm's functions become part of them must not
// depend on how many algorithms there are.
template <class Algorithm, int W>
  requires TrainingAlgorithm<Algorithm, W>
class Share {
  static constexpr Hooks hooks = Algorithm::hooks;
  using RunState = typename Algorithm::RunState;
  using StateOfRun = contract::StateOf<Algorithm>;
  using SampleOf = Sample<Algorithm, W>;
  using Samples = std::span<const std::unique_ptr<SampleOf>>;

 public:
  Share(const Values& values, const Task& task, const StateOfRun& state, const RowOwners& owners,
        int number)
      : number_(number),
        part_(task.lock_free ? 0 : number),
        layout_(task.layout),
        ops_{task.layout.width},
        owners_(owners),
        weights_(state.weights),
        run_(*state.run),
        algorithm_(values, task, {state.weights, state.per_weight_state, state.rows, &run_}),
        gatherer_(task.layout) {}
  Share(const Share&) = delete;

  Algorithm& algorithm() { return algorithm_; }
  RunState& run_state() { return run_; }

  // ---- the phases of an update --------------------------------------------------------------

  void begin_update(size_t size) { algorithm_.begin_update(size); }

  // The scores that the rows of this share give the k-th sentence of an update.
  template <class... StartsRun>
  [[gnu::flatten]] void score(const Sentence& s, size_t k, SampleOf& sample,
                              StartsRun&&... starts_run) {
    auto& part = sample.parts[part_];
    part.sentence = s;
    if constexpr (hooks.refresh) refresh(s, k);
    if constexpr (hooks.scale)
      part.lattice.score(
          s, weights_, [&](uint32_t id) { return algorithm_.scale(id); }, starts_run...);
    else
      part.lattice.score(s, weights_, unscaled, starts_run...);
  }

  // The direction's part in these rows.
  void gather(SampleOf& sample)
    requires(hooks.step)
  {
    auto& part = sample.parts[part_];
    gatherer_.template gather<hooks.sparse_direction>(sample.lattice(), part.sentence,
                                                      part.gathered);
    part.squared_length = algorithm_.squared_length(ops_, part.gathered);
  }

  // Changes the rows, while those of the next update come in from memory.
  void apply_update(Samples samples, const SentencesOf& next) {
    if constexpr (hooks.close_window)
      if (algorithm_.closes_window())
        for (const auto& sample : samples) close_window(sample->parts[part_].sentence);
    Prefetcher prefetcher(*this, next);
    for (const auto& sample : samples) apply(*sample, prefetcher);
    prefetcher.rest();
  }

  void end_update() { algorithm_.end_update(); }

  bool sweep_due() const {
    if constexpr (hooks.sweep)
      return algorithm_.sweep_due();
    else
      return false;
  }
  void sweep_rows(int share) {
    if constexpr (hooks.sweep)
      owners_.for_each_row(
          share, [&](uint32_t id, size_t i, int n) { algorithm_.sweep_row(ops_, id, i, n); });
  }
  void end_sweep() {
    if constexpr (hooks.sweep) algorithm_.end_sweep();
  }

  // The weights of these rows as the user gets them.
  void read(float* out) {
    owners_.for_each_row(number_, [&](uint32_t id, size_t i, int n) {
      algorithm_.read_row(ops_, id, i, n, out + i);
    });
  }

 private:
  struct Nothing {
    explicit Nothing(const Layout&) {}
  };

  // Rows lie far apart in memory: while some are updated, those of the next sentences come in.
  class Prefetcher {
   public:
    Prefetcher(const Share& share, const SentencesOf& next) : share_(share), sentences_(next) {}
    void next() {
      while (at_ == end_) {
        if (k_ == sentences_.size()) return;
        const Sentence s = sentences_[k_++];
        at_ = s.predicates + s.offsets[0];
        end_ = s.predicates + s.offsets[s.length];
      }
      const float* row = share_.weights_ + share_.layout_.row(*at_);
      const size_t size = share_.layout_.row_size(*at_);
      share_.algorithm_.prefetch(*at_++);
      for (size_t j = 0; j < size; j += 16) __builtin_prefetch(row + j, 1);
    }
    void rest() {
      while (at_ != end_ || k_ != sentences_.size()) next();
    }

   private:
    const Share& share_;
    const SentencesOf sentences_;
    size_t k_ = 0;
    const uint32_t *at_ = nullptr, *end_ = nullptr;
  };

  [[gnu::flatten]] void refresh(const Sentence& s, size_t k) {
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

  void close_window(const Sentence& s) {
    if (s.always != no_predicate) algorithm_.close_window(s.always);
    for (int64_t j = s.offsets[0]; j < s.offsets[s.length]; ++j)
      algorithm_.close_window(s.predicates[j]);
  }

  // The updates of the sentences of a mini-batch add up: each step is that of one sentence.
  [[gnu::flatten]] void apply(const SampleOf& sample, Prefetcher& prefetcher) {
    const auto& part = sample.parts[part_];
    if constexpr (hooks.step) {
      const Step step = sample.step(algorithm_);
      if (step.weights == 0) return;
      part.gathered.for_each([&](uint32_t id, size_t i, const float* delta, int n) {
        prefetcher.next();
        algorithm_.update(ops_, id, i, delta, n, step);
      });
    } else {
      for_each_block<hooks.sparse_direction>(
          sample.lattice(), part.sentence, layout_,
          [&](uint32_t id, size_t i, const float* delta, int n, float value) {
            prefetcher.next();
            algorithm_.update(ops_, id, i, delta, n, value * part.sentence.weight);
          });
    }
  }

  const int number_;
  const int part_;  // of samples; lock-free, each share has samples of its own
  const Layout layout_;
  const Rows<W> ops_;
  const RowOwners& owners_;
  float* const weights_;
  RunState run_;  // the same in all shares
  Algorithm algorithm_;
  [[no_unique_address]] std::conditional_t<hooks.step, Gatherer<W>, Nothing> gatherer_;
};

}  // namespace adaptag
