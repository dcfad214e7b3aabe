// The loop that runs any online training algorithm: for each update, compute the directions of its
// sentences, then apply them. What an algorithm is: contract.hpp.
#pragma once

#include <cmath>
#include <memory>

#include "../margin.hpp"
#include "blocks.hpp"
#include "contract.hpp"

namespace adaptag {

template <class Algorithm, int W>
  requires TrainingAlgorithm<Algorithm, W>
class TrainingWith final : public Training {
  static constexpr Hooks hooks = Algorithm::hooks;

 public:
  TrainingWith(const Task& task, float* weights, Algorithm algorithm)
      : layout_(task.layout),
        ops_{task.layout.width},
        batch_(task.batch),
        weights_(weights),
        algorithm_(std::move(algorithm)),
        gatherer_(task.layout) {
    if constexpr (hooks.prepare) algorithm_.prepare(task);
  }

  Totals run(const Dataset& data, std::span<const uint32_t> order, int32_t* best) override {
    const FlushToZero flush_to_zero;
    std::vector<uint32_t> wanted;
    for (const uint32_t i : order)
      if (data[i].length > 0) wanted.push_back(i);
    Totals totals;
    for (size_t first = 0; first < wanted.size(); first += batch_) {
      const size_t size = std::min(batch_, wanted.size() - first);
      algorithm_.begin_update(size);
      for (size_t k = 0; k < size; ++k) {
        const uint32_t i = wanted[first + k];
        compute_update(data[i], k, totals, best ? best + data.sentences[i] : nullptr);
      }
      if constexpr (hooks.close_window)
        if (algorithm_.closes_window())
          for (size_t k = 0; k < size; ++k) close_window(samples_[k]->sentence);
      Prefetcher prefetcher(*this, data[wanted[std::min(first + size, wanted.size() - 1)]]);
      for (size_t k = 0; k < size; ++k) apply_update(*samples_[k], prefetcher);
      prefetcher.rest();
      algorithm_.end_update();
      if constexpr (hooks.sweep)
        if (algorithm_.sweep_due()) {
          for_each_row([&](uint32_t id, size_t i, int n) { algorithm_.sweep_row(ops_, id, i, n); });
          algorithm_.end_sweep();
        }
    }
    return totals;
  }

  void read(float* out) override {
    for_each_row(
        [&](uint32_t id, size_t i, int n) { algorithm_.read_row(ops_, id, i, n, out + i); });
  }

 private:
  struct Nothing {
    explicit Nothing(const Layout&) {}
  };

  // A sentence of the update at hand.
  struct Sample {
    explicit Sample(const Layout& layout) : lattice(layout), gathered(layout) {}
    Sentence sentence{};
    Lattice<W> lattice;
    [[no_unique_address]] std::conditional_t<hooks.step, Gathered<W>, Nothing> gathered;
    Step step;
  };

  // Rows lie far apart in memory: while some are updated, those of the next sentence come in.
  class Prefetcher {
   public:
    Prefetcher(const TrainingWith& training, const Sentence& s)
        : training_(training),
          at_(s.predicates + s.offsets[0]),
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

   private:
    const TrainingWith& training_;
    const uint32_t *at_, *const end_;
  };

  // The direction of the k-th sentence of an update, and the size of its step.
  void compute_update(const Sentence& s, size_t k, Totals& totals, int32_t* best) {
    if (samples_.size() <= k) samples_.push_back(std::make_unique<Sample>(layout_));
    Sample& sample = *samples_[k];
    Lattice<W>& lattice = sample.lattice;
    sample.sentence = s;
    score(s, k, lattice);
    if (s.legal) lattice.constrain({nullptr, s.legal});
    if (best) lattice.viterbi(best);
    const auto own_totals = algorithm_.direction(lattice, s.labels);
    totals += own_totals.weighted(s.weight);
    if constexpr (hooks.step) {
      gatherer_.template gather<hooks.sparse_direction>(lattice, s, sample.gathered);
      sample.step = algorithm_.step(ops_, sample.gathered, own_totals);
      sample.step.weights *= s.weight;
      sample.step.precision *= s.weight;
    }
  }

  void score(const Sentence& s, size_t k, Lattice<W>& lattice) {
    if constexpr (hooks.refresh) {
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
    if constexpr (hooks.scale)
      lattice.score(s, weights_, [&](uint32_t id) { return algorithm_.scale(id); });
    else
      lattice.score(s, weights_, unscaled);
  }

  void close_window(const Sentence& s) {
    if (s.always != no_predicate) algorithm_.close_window(s.always);
    for (int64_t j = s.offsets[0]; j < s.offsets[s.length]; ++j)
      algorithm_.close_window(s.predicates[j]);
  }

  // The updates of the sentences of a mini-batch add up: each step is that of one sentence.
  void apply_update(const Sample& sample, Prefetcher& prefetcher) {
    if constexpr (hooks.step) {
      if (sample.step.weights == 0) return;
      sample.gathered.for_each([&](uint32_t id, size_t i, const float* delta, int n) {
        prefetcher.next();
        algorithm_.update(ops_, id, i, delta, n, sample.step);
      });
    } else {
      for_each_block<hooks.sparse_direction>(
          sample.lattice, sample.sentence, layout_,
          [&](uint32_t id, size_t i, const float* delta, int n, float value) {
            prefetcher.next();
            algorithm_.update(ops_, id, i, delta, n, value * sample.sentence.weight);
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
  [[no_unique_address]] std::conditional_t<hooks.step, Gatherer<W>, Nothing> gatherer_;
  std::vector<std::unique_ptr<Sample>> samples_;  // of one update
};

}  // namespace adaptag
