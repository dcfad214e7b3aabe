// The loop that runs any online training algorithm: for each update, compute the directions of its
// sentences, then apply them. What an algorithm is: contract.hpp.
//
// With several threads, each owns a share of the rows (split.hpp):
//
//   each share    applies the last update to its rows, scores the next sentences with them
//   each sentence adds up the scores of the shares, then inference gives its direction
//
// Threads wait for each other between the two. Rows never move between cores, and no bit depends on
// which thread computes what when.
//
// Lock-free, each thread takes the next update that none has taken, and trains all its rows. The
// number of the update is its time: each thread's run state goes through all updates, of which the
// thread itself makes some. What rows do that were touched by a later update: see the algorithms.
// All threads come together where all rows change.
#pragma once

#include <atomic>

#include "share.hpp"

namespace adaptag {

template <class Algorithm, int W>
  requires TrainingAlgorithm<Algorithm, W>
class TrainingWith final : public Training {
  static constexpr Hooks hooks = Algorithm::hooks;
  using StateOfRun = contract::StateOf<Algorithm>;
  using SampleOf = Sample<Algorithm, W>;
  using ShareOf = Share<Algorithm, W>;

 public:
  TrainingWith(const Values& values, const Task& task, StateOfRun state)
      : layout_(task.layout),
        batch_(task.batch),
        n_shares_(task.threads),
        lock_free_(task.lock_free && task.threads > 1),
        state_(state),
        known_(task.data),
        owners_(task.layout, task.threads) {
    for (int k = 0; k < n_shares_; ++k)
      shares_.push_back(std::make_unique<ShareOf>(values, task, state, owners_, k));
    if constexpr (hooks.prepare) shares_[0]->algorithm().prepare(task);
  }

  Totals run(const Dataset& data, std::span<const uint32_t> order, int32_t* best) override {
    std::vector<uint32_t> wanted;
    for (const uint32_t i : order)
      if (data[i].length > 0) wanted.push_back(i);
    load_run_state();
    Totals totals;
    try {
      if (lock_free_)
        run_lock_free({data, nullptr, wanted, best}, totals);
      else
        run_by_rows({data, split(data), wanted, best}, totals);
    } catch (...) {
      *state_.run = shares_[0]->run_state();
      throw;
    }
    *state_.run = shares_[0]->run_state();
    return totals;
  }

  size_t batch() const override { return batch_; }

  void read(float* out) override {
    load_run_state();
    in_parallel(n_shares_, [&](int k) { shares_[k]->read(out); });
  }

 private:
  // What a call of `run` is to learn from.
  struct Work {
    const Dataset& data;
    const SplitDataset* split;  // null where one share has all rows
    std::span<const uint32_t> wanted;
    int32_t* best;

    // The place of a sentence's best labels.
    int32_t* best_of(uint32_t i) const { return best ? best + data.sentences[i] : nullptr; }
    // Sentences [first, first + n) of those wanted.
    SentencesOf sentences(int share, size_t first, size_t n) const {
      return {split ? split->part(share) : data, wanted.subspan(first, n)};
    }
  };

  // Each thread has a run state of its own, and Python may have changed its own.
  void load_run_state() {
    for (auto& share : shares_) share->run_state() = *state_.run;
  }

  const SplitDataset* split(const Dataset& data) {
    if (n_shares_ == 1) return nullptr;
    const auto same = [](const auto& a, const auto& b) {
      return a.data() == b.data() && a.size() == b.size();
    };
    const bool known = same(data.predicates, known_.predicates) &&
                       same(data.positions, known_.positions) && same(data.labels, known_.labels);
    if (known && known_split_) return known_split_.get();
    auto& out = known ? known_split_ : other_split_;
    out.reset();
    out = std::make_unique<SplitDataset>(data, layout_, owners_, n_shares_);
    return out.get();
  }

  void run_by_rows(const Work& work, Totals& totals) {
    for (auto& samples : samples_)
      while (samples.size() < std::min(batch_, work.wanted.size()))
        samples.push_back(
            std::make_unique<SampleOf>(layout_, n_shares_, int(samples.size()) % n_shares_));
    in_team(n_shares_, [&](Team& team, int member) {
      const FlushToZero flush_to_zero;
      run_by_rows(work, team, member, totals);
    });
  }

  void run_by_rows(const Work& work, Team& team, int member, Totals& totals) {
    const size_t n = work.wanted.size();
    const auto for_each_own_share = [&](auto&& f) {
      for (int k = member; k < n_shares_; k += team.size()) f(k);
    };
    size_t applied = 0;  // sentences
    for (size_t first = 0, turn = 0;; first += batch_, turn ^= 1) {
      first = std::min(first, n);
      const size_t size = std::min(batch_, n - first);
      const std::span samples(samples_[turn].data(), size);
      const std::span last(samples_[turn ^ 1].data(), first - applied);
      for_each_own_share([&](int k) {
        const auto next = work.sentences(k, first, size);
        if (!last.empty()) finish_update(*shares_[k], k, last, next);
        if (size > 0) begin_update(*shares_[k], work, next, samples);
      });
      if (member == 0)
        for (const auto& sample : last)
          totals += sample->totals.weighted(sample->parts[0].sentence.weight);
      if (size == 0) break;
      team.wait(member);
      for (size_t k = 0; k < size; ++k) {
        if (samples[k]->home % team.size() != member) continue;
        const uint32_t i = work.wanted[first + k];
        samples[k]->infer(shares_[member]->algorithm(), work.data[i], work.best_of(i));
      }
      team.wait(member);
      if constexpr (hooks.step) {
        for_each_own_share([&](int k) {
          for (const auto& sample : samples) shares_[k]->gather(*sample);
        });
        team.wait(member);
      }
      applied = first;
    }
  }

  void begin_update(ShareOf& share, const Work& work, const SentencesOf& sentences,
                    std::span<const std::unique_ptr<SampleOf>> samples) {
    share.begin_update(sentences.size());
    for (size_t k = 0; k < sentences.size(); ++k) {
      if (!work.split) {
        share.score(sentences[k], k, *samples[k]);
      } else {
        const uint8_t* starts = work.split->starts_run(work.data.sentences[sentences.numbers[k]]);
        share.score(sentences[k], k, *samples[k],
                    [starts](int t, int64_t, int64_t) { return starts[t] != 0; });
      }
    }
  }

  void finish_update(ShareOf& share, int k, std::span<const std::unique_ptr<SampleOf>> samples,
                     const SentencesOf& next) {
    share.apply_update(samples, next);
    share.end_update();
    if (share.sweep_due()) {
      share.sweep_rows(k);
      share.end_sweep();
    }
  }

  // ---- lock-free --------------------------------------------------------------------------

  void run_lock_free(const Work& work, Totals& totals) {
    struct alignas(64) Own {
      Totals totals;
    };
    std::vector<Own> own(n_shares_);
    own_samples_.resize(n_shares_);
    claimed_ = 0;
    in_team(n_shares_, [&](Team& team, int member) {
      const FlushToZero flush_to_zero;
      auto& samples = own_samples_[member];
      while (samples.size() < std::min(batch_, work.wanted.size()))
        samples.push_back(std::make_unique<SampleOf>(layout_, 1, 0));
      run_lock_free(work, team, member, own[member].totals);
    });
    for (const Own& one : own) totals += one.totals;
  }

  void run_lock_free(const Work& work, Team& team, int member, Totals& totals) {
    ShareOf& share = *shares_[member];
    const size_t n = work.wanted.size(), end = (n + batch_ - 1) / batch_;
    const auto claim = [&] { return claimed_.fetch_add(1, std::memory_order_relaxed); };
    const auto sentences = [&](size_t update) {
      const size_t first = std::min(update * batch_, n);
      return work.sentences(member, first, std::min(batch_, n - first));
    };
    size_t own = claim();
    for (size_t update = 0; update < end; ++update) {
      const SentencesOf these = sentences(update);
      if (update != own) {
        share.begin_update(these.size());
      } else {
        const std::span samples(own_samples_[member].data(), these.size());
        begin_update(share, work, these, samples);
        for (size_t k = 0; k < samples.size(); ++k) {
          SampleOf& sample = *samples[k];
          sample.infer(share.algorithm(), these[k], work.best_of(these.numbers[k]));
          if constexpr (hooks.step) share.gather(sample);
          totals += sample.totals.weighted(these[k].weight);
        }
        own = claim();
        share.apply_update(samples, sentences(own));
      }
      share.end_update();
      if (share.sweep_due()) {
        team.wait(member);
        for (int k = member; k < n_shares_; k += team.size()) share.sweep_rows(k);
        team.wait(member);
        share.end_sweep();
      }
    }
  }

  const Layout layout_;
  const size_t batch_;
  const int n_shares_;
  const bool lock_free_;
  const StateOfRun state_;
  const Dataset known_;  // whose split is kept
  const RowOwners owners_;
  std::vector<std::unique_ptr<ShareOf>> shares_;
  std::unique_ptr<SplitDataset> known_split_, other_split_;
  // Of the update at hand and of the last one, in turns: [2] of [batch].
  std::vector<std::unique_ptr<SampleOf>> samples_[2];
  std::vector<std::vector<std::unique_ptr<SampleOf>>> own_samples_;  // [shares] lock-free: [batch]
  alignas(64) std::atomic<size_t> claimed_{0};                       // updates of a lock-free run
};

}  // namespace adaptag
