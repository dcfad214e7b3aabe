// Predicates, numbered in the order they are first seen. Threads number those of their part of the
// data; merged part after part, they have the numbers that one thread would give.
#pragma once

#include <array>
#include <bit>

#include "feature_index.hpp"
#include "memory.hpp"
#include "ranges.hpp"

namespace adaptag {

// What was counted: predicates by number.
struct PredicateCounts {
  LargeVector<uint32_t> keys;  // [P, 1 + arity] skeleton and token numbers
  LargeVector<uint8_t> kinds;
  LargeVector<uint32_t> counts;
};

// Predicates by their fingerprints, with how often each was seen.
class alignas(128) PredicateNumbering {
 public:
  explicit PredicateNumbering(size_t arity) : width_(arity + 1), table_(1 << 12) {}

  size_t size() const { return kinds.size(); }
  size_t width() const { return width_; }

  // Makes room for the predicates of this many occurrences, and for those of later parts of the
  // data, as far as can be foreseen.
  void reserve(size_t n_occurrences, size_t n_later) {
    if (!kinds.empty()) return;
    constexpr size_t per_predicate = 8;
    const size_t expected = std::bit_ceil(n_occurrences / per_predicate + 1);
    if (expected > table_.size()) table_.assign(std::min(expected, size_t{1} << 20), {});
    reserve_numbers((n_occurrences + n_later) / per_predicate);
  }
  void prefetch(uint64_t fingerprint) const { __builtin_prefetch(&table_[home(fingerprint)]); }

  // Counts a predicate and returns its number; unknown where it is new and there are `limit`
  // already. token(k) gives its key.
  template <class Token>
  uint32_t count(uint64_t fingerprint, int kind, uint32_t skeleton, size_t limit, Token&& token) {
    Slot* slot = find(fingerprint);
    if (slot->fingerprint) [[likely]] {
      ++slot->count;
      return slot->number;
    }
    if (size() >= limit) return VocabularyView::unknown;
    keys.push_back(skeleton);
    for (size_t k = 0; k + 1 < width_; ++k) keys.push_back(token(k));
    return append(slot, fingerprint, kind, 1);
  }

  // Adds a predicate of an index, whose key is in `keys`; false where it is there already.
  bool add_stored(uint64_t fingerprint, int kind) {
    Slot* slot = find(fingerprint);
    if (slot->fingerprint) return false;
    append(slot, fingerprint, kind, 0);
    return true;
  }

  // Adds the predicates of a later part of the data, in n threads; returns their numbers here. Both
  // tables are read in the order of the hashes, one beside the other. What is new is stored in the
  // table by `complete_table`, before anything is counted or merged again: mostly, nothing is.
  LargeVector<uint32_t> merge(const PredicateNumbering& later, int n) {
    complete_table(n);
    LargeVector<uint32_t> numbers(later.size()), counts(later.size());
    later.for_slots(n, [&](const Slot& other) {  // each is met once: no two threads share a count
      Slot* slot = find(other.fingerprint);
      numbers[other.number] = slot->fingerprint ? slot->number : VocabularyView::unknown;
      counts[other.number] = other.count;
      if (slot->fingerprint) slot->count += other.count;
    });
    append_unknown(later, counts, numbers, n);
    return numbers;
  }
  // Adds predicates that are not here yet, with their counts; the table gets them as after `merge`.
  void append_counted(std::span<const uint64_t> added, std::span<const uint8_t> kinds_of,
                      std::span<const uint32_t> keys_of, std::span<const uint32_t> counts_of) {
    fingerprints.insert(fingerprints.end(), added.begin(), added.end());
    kinds.insert(kinds.end(), kinds_of.begin(), kinds_of.end());
    keys.insert(keys.end(), keys_of.begin(), keys_of.end());
    late_counts_.insert(late_counts_.end(), counts_of.begin(), counts_of.end());
    for (const uint8_t kind : kinds_of) ordinals.push_back(n_of_kind[kind]++);
  }
  void complete_table(int n) {
    if (late_counts_.empty()) return;
    const size_t first = size() - late_counts_.size();
    while (size() * 2 > table_.size()) grow();
    for_ranges(late_counts_.size(), n, [&](int, size_t begin, size_t end) {
      for (size_t k = begin; k < end; ++k)
        insert_shared({fingerprints[first + k], uint32_t(first + k), late_counts_[k]});
    });
    late_counts_.clear();
  }

  // How often each predicate was seen, by number.
  LargeVector<uint32_t> counts(int n_threads) const {
    LargeVector<uint32_t> out(size());
    for_slots(n_threads, [&](const Slot& slot) { out[slot.number] = slot.count; });
    std::copy(late_counts_.begin(), late_counts_.end(), out.end() - late_counts_.size());
    return out;
  }

  // Hands over what was counted, in n threads.
  PredicateCounts take_counts(int n) {
    LargeVector<uint32_t> all = counts(n);
    return {std::move(keys), std::move(kinds), std::move(all)};
  }

  LargeVector<uint64_t> fingerprints;  // by number, as are all of these
  LargeVector<uint8_t> kinds;          // 0 node, 1 node and edge, 2 edge
  LargeVector<uint32_t> ordinals;      // the predicate's number within its kind
  LargeVector<uint32_t> keys;          // [1 + arity] skeleton and token numbers
  std::array<uint32_t, 3> n_of_kind{};

 private:
  struct Slot {
    uint64_t fingerprint = 0;  // 0: empty
    uint32_t number = 0, count = 0;
  };

  size_t home(uint64_t fingerprint) const { return fingerprint >> 32 & (table_.size() - 1); }

  void reserve_numbers(size_t n) {
    fingerprints.reserve(n);
    kinds.reserve(n);
    ordinals.reserve(n);
    keys.reserve(n * width_);
  }

  uint32_t append(Slot* slot, uint64_t fingerprint, int kind, uint32_t count) {
    const auto number = uint32_t(size());
    *slot = {fingerprint, number, count};
    fingerprints.push_back(fingerprint);
    kinds.push_back(uint8_t(kind));
    ordinals.push_back(n_of_kind[kind]++);
    if (size() * 2 > table_.size()) grow();
    return number;
  }

  // Gives those of the later predicates whose number is unknown the next numbers, in their order.
  // They are not in the table yet. counts: of all later ones.
  void append_unknown(const PredicateNumbering& later, const LargeVector<uint32_t>& counts,
                      LargeVector<uint32_t>& numbers, int n) {
    std::vector<std::array<uint32_t, 3>> next(n);  // ordinals that come before those of a thread
    for_ranges(later.size(), n, [&](int k, size_t begin, size_t end) {
      std::array<uint32_t, 3> found{};
      for (size_t id = begin; id < end; ++id)
        found[later.kinds[id]] += numbers[id] == VocabularyView::unknown;
      next[k] = found;
    });
    for (auto& ordinals_of : next)
      for (int kind = 0; kind < 3; ++kind) {
        const uint32_t added = ordinals_of[kind];
        ordinals_of[kind] = n_of_kind[kind];
        n_of_kind[kind] += added;
      }
    const size_t before = kinds.size(), size = size_t{n_of_kind[0]} + n_of_kind[1] + n_of_kind[2];
    fingerprints.resize(size);
    kinds.resize(size);
    ordinals.resize(size);
    keys.resize(size * width_);
    late_counts_.resize(size - before);
    for_ranges(later.size(), n, [&](int k, size_t begin, size_t end) {
      std::array<uint32_t, 3> ordinal = next[k];
      uint32_t number = ordinal[0] + ordinal[1] + ordinal[2];
      for (size_t id = begin; id < end; ++id) {
        if (numbers[id] != VocabularyView::unknown) continue;
        fingerprints[number] = later.fingerprints[id];
        kinds[number] = later.kinds[id];
        ordinals[number] = ordinal[later.kinds[id]]++;
        late_counts_[number - before] = counts[id];
        std::copy_n(later.keys.data() + id * width_, width_, keys.data() + number * width_);
        numbers[id] = number++;
      }
    });
  }

  // Calls f(slot) for all that are not empty, in n threads.
  template <class F>
  void for_slots(int n, F&& f) const {
    for_ranges(table_.size(), n, [&](int, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i)
        if (table_[i].fingerprint) f(table_[i]);
    });
  }

  // The slot that holds the fingerprint, or the empty one where it belongs.
  Slot* find(uint64_t fingerprint) {
    Slot *slot = &table_[home(fingerprint)], *end = table_.data() + table_.size();
    while (slot->fingerprint && slot->fingerprint != fingerprint)
      if (++slot == end) slot = table_.data();
    return slot;
  }

  // Stores what the table does not hold, while other threads do so too.
  void insert_shared(const Slot& added) {
    Slot *slot = &table_[home(added.fingerprint)], *end = table_.data() + table_.size();
    uint64_t empty = 0;
    while (!__atomic_compare_exchange_n(&slot->fingerprint, &empty, added.fingerprint, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      if (++slot == end) slot = table_.data();
      empty = 0;
    }
    slot->number = added.number;
    slot->count = added.count;
  }

  void grow() {
    LargeVector<Slot> old(table_.size() * 2, Slot{});
    old.swap(table_);
    for (const Slot& slot : old)
      if (slot.fingerprint) *find(slot.fingerprint) = slot;
  }

  size_t width_;
  LargeVector<Slot> table_;            // a power of two, at most half full
  LargeVector<uint32_t> late_counts_;  // of the last predicates, which are not in the table yet
};

}  // namespace adaptag
