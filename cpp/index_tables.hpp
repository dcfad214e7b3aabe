// What an index is frozen into: predicates in the order of their final numbers, and the table that
// finds them. In any number of threads, with the same result.
#pragma once

#include <array>
#include <utility>

#include "feature_index.hpp"
#include "memory.hpp"
#include "ranges.hpp"

namespace adaptag {

// Predicates by kind: first the old ones, in the order of their numbers, then those that are
// frequent enough, by falling frequency; of those that are equally frequent, the one with the lower
// number comes first.
class FrequencyOrder {
 public:
  FrequencyOrder(std::span<const uint8_t> kinds, std::span<const uint32_t> counts, uint32_t n_old,
                 uint32_t cutoff, int n_threads)
      : final_ids(kinds.size()), kinds_(kinds), counts_(counts), n_old_(n_old), cutoff_(cutoff) {
    // How many there are in each bucket; then where the next of a thread's range goes.
    std::vector<Buckets> next(n_threads, Buckets(3 * n_buckets, 0));
    for_ranges(kinds.size(), n_threads, [&](int k, size_t begin, size_t end) {
      for (size_t id = begin; id < end; ++id)
        if (kept(id)) ++next[k][bucket(id)];
    });
    uint32_t total = 0;
    std::vector<std::pair<uint32_t, uint32_t>> sorted;  // ranges to be sorted by comparison
    for (size_t b = 0; b < 3 * n_buckets; ++b) {
      const uint32_t begin = total;
      for (Buckets& thread : next) total += std::exchange(thread[b], total);
      n_of_kind[b / n_buckets] += total - begin;
      if (b % n_buckets == 1) sorted.push_back({begin, total});
    }
    ids.resize(total);
    for_ranges(kinds.size(), n_threads, [&](int k, size_t begin, size_t end) {
      for (size_t id = begin; id < end; ++id) {
        final_ids[id] = kept(id) ? next[k][bucket(id)]++ : VocabularyView::unknown;
        if (final_ids[id] != VocabularyView::unknown) ids[final_ids[id]] = uint32_t(id);
      }
    });
    for (const auto& [begin, end] : sorted) sort(begin, end);
  }

  LargeVector<uint32_t> ids;        // by final number
  LargeVector<uint32_t> final_ids;  // by number; unknown: left out
  std::array<uint32_t, 3> n_of_kind{};

 private:
  using Buckets = std::vector<uint32_t>;

  // Of a kind: old ones, those seen this often or more, and one bucket for each lower count.
  static constexpr uint32_t often = 1 << 12;
  static constexpr size_t n_buckets = often + 2;

  bool kept(size_t id) const { return id < n_old_ || counts_[id] >= cutoff_; }
  size_t bucket(size_t id) const {
    const size_t within = id < n_old_ ? 0 : 1 + often - std::min(counts_[id], often);
    return kinds_[id] * n_buckets + within;
  }
  void sort(size_t begin, size_t end) {
    std::stable_sort(ids.begin() + begin, ids.begin() + end,
                     [&](uint32_t a, uint32_t b) { return counts_[a] > counts_[b]; });
    for (size_t k = begin; k < end; ++k) final_ids[ids[k]] = uint32_t(k);
  }

  std::span<const uint8_t> kinds_;
  std::span<const uint32_t> counts_;
  uint32_t n_old_, cutoff_;
};

// A table that finds each of these hashes by its position. It is filled part by part, always in the
// same parts; what does not fit into its part is stored behind it at the end.
inline LargeVector<uint64_t> slots_of(std::span<const uint64_t> hashes, int n_threads) {
  LargeVector<uint64_t> slots(Slots::capacity_for(hashes.size()));
  const size_t n_parts = std::clamp<size_t>(slots.size() / 4096, 1, 64);
  const size_t part_size = slots.size() / n_parts;
  const Slots table{slots};
  std::vector<std::vector<uint32_t>> left(n_parts);
  for_ranges(n_parts, n_threads, [&](int, size_t first, size_t last) {
    const size_t begin = first * part_size, size = (last - first) * part_size;
    std::fill_n(slots.begin() + begin, size, 0);
    std::array<uint32_t, 1024> own;  // those of the next hashes that belong to this thread's parts
    for (size_t k = 0; k < hashes.size();) {
      size_t n = 0;  // without branches, which would be mispredicted
      for (const size_t end = std::min(k + own.size(), hashes.size()); k < end; ++k) {
        own[n] = uint32_t(k);
        n += table.home(hashes[k]) - begin < size;
      }
      for (size_t j = 0; j < n; ++j) {
        size_t i = table.home(hashes[own[j]]);
        const size_t part = i / part_size, part_end = (part + 1) * part_size;
        while (i < part_end && slots[i] != 0) ++i;
        if (i < part_end)
          slots[i] = Slots::make(hashes[own[j]], own[j]);
        else
          left[part].push_back(own[j]);
      }
    }
  });
  for (const auto& numbers : left)
    for (const uint32_t k : numbers) insert(slots, hashes[k], k);
  return slots;
}

}  // namespace adaptag
