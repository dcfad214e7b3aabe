// What an index is frozen into: predicates in the order of their final numbers, and the table that
// finds them. In any number of threads, with the same result.
#pragma once

#include <array>
#include <bit>
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
// same parts, which fit the cache; what does not fit into its part is stored behind it at the end.
inline LargeVector<uint64_t> slots_of(std::span<const uint64_t> hashes, int n_threads) {
  struct Entry {
    uint64_t hash;
    uint32_t number;
  };
  LargeVector<uint64_t> slots(Slots::capacity_for(hashes.size()));
  const size_t n_parts = std::clamp<size_t>(slots.size() / 4096, 1, 64);
  const size_t part_size = slots.size() / n_parts;
  const auto part_bits = unsigned(std::countr_zero(part_size));
  const Slots table{slots};
  // The entries by part, and of each part by number: first how many each thread's range of numbers
  // has, then where the next of them goes.
  LargeVector<Entry> entries(hashes.size());
  std::vector<std::vector<size_t>> next(n_threads, std::vector<size_t>(n_parts));
  std::vector<size_t> begins;
  for_ranges(hashes.size(), n_threads, [&](int k, size_t begin, size_t end) {
    std::vector<size_t> counts(n_parts);
    for (size_t id = begin; id < end; ++id) ++counts[table.home(hashes[id]) >> part_bits];
    next[k] = counts;
  });
  size_t total = 0;
  for (size_t part = 0; part < n_parts; ++part) {
    begins.push_back(total);
    for (auto& thread : next) total += std::exchange(thread[part], total);
  }
  begins.push_back(total);
  for_ranges(hashes.size(), n_threads, [&](int k, size_t begin, size_t end) {
    std::vector<size_t> to = next[k];
    for (size_t id = begin; id < end; ++id)
      entries[to[table.home(hashes[id]) >> part_bits]++] = {hashes[id], uint32_t(id)};
  });
  std::vector<std::vector<Entry>> left(n_parts);
  for_ranges(n_parts, n_threads, [&](int, size_t first, size_t last) {
    for (size_t part = first; part < last; ++part) {
      const size_t end = (part + 1) * part_size;
      std::fill(slots.begin() + part * part_size, slots.begin() + end, 0);
      for (size_t k = begins[part]; k < begins[part + 1]; ++k) {
        size_t i = table.home(entries[k].hash);
        while (i < end && slots[i] != 0) ++i;
        if (i < end)
          slots[i] = Slots::make(entries[k].hash, entries[k].number);
        else
          left[part].push_back(entries[k]);
      }
    }
  });
  for (const auto& of_part : left)
    for (const auto& [hash, number] : of_part) insert(slots, hash, number);
  return slots;
}

}  // namespace adaptag
