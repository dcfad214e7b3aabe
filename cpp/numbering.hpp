// Strings and predicates, numbered in the order they are first seen. Threads number those of their
// part of the data; merged part after part, they have the numbers that one thread would give.
#pragma once

#include <bit>

#include "feature_index.hpp"
#include "memory.hpp"

namespace adaptag {

// Tokens, and what the macros of a program make of them.
class TokenNumbering {
 public:
  explicit TokenNumbering(size_t n_columns, Vocabulary strings = {})
      : vocabulary(std::move(strings)), derived(n_columns) {}

  // The number of a token as a column of the program has it. Where `grow` is false and the string
  // is new, it is unknown.
  uint32_t number(const Column& column, size_t c, std::string_view token, bool grow) {
    const uint32_t raw = number(token, grow);
    if (column.transform == Transform::identity) return raw;
    if (raw == VocabularyView::unknown)
      return vocabulary.view().find(apply(column.transform, column.length, token, text_));
    std::vector<uint32_t>& known = derived[c];
    if (known.size() <= raw) known.resize(vocabulary.size(), VocabularyView::unknown);
    if (known[raw] == VocabularyView::unknown)
      known[raw] = number(apply(column.transform, column.length, token, text_), grow);
    return known[raw];
  }
  uint32_t number(std::string_view token, bool grow) {
    return grow ? vocabulary.intern(token) : vocabulary.view().find(token);
  }

  // Adds the strings of a later part of the data; returns their numbers here.
  std::vector<uint32_t> merge(const TokenNumbering& later) {
    std::vector<uint32_t> numbers(later.vocabulary.size());
    for (uint32_t id = 0; id < numbers.size(); ++id)
      numbers[id] = vocabulary.intern(later.vocabulary.view()[id]);
    for (size_t c = 0; c < derived.size(); ++c) {
      if (!later.derived[c].empty()) derived[c].resize(vocabulary.size(), VocabularyView::unknown);
      for (size_t raw = 0; raw < later.derived[c].size(); ++raw)
        if (later.derived[c][raw] != VocabularyView::unknown)
          derived[c][numbers[raw]] = numbers[later.derived[c][raw]];
    }
    return numbers;
  }

  Vocabulary vocabulary;
  std::vector<std::vector<uint32_t>> derived;  // [columns][V] numbers of transformed tokens

 private:
  std::string text_;
};

// Predicates by their fingerprints, compared in full, with how often each was seen.
class PredicateNumbering {
 public:
  explicit PredicateNumbering(size_t arity) : width_(arity + 1), table_(1 << 12) {}

  size_t size() const { return kinds.size(); }
  size_t width() const { return width_; }

  // Makes room for the predicates of this many occurrences, as far as can be foreseen.
  void reserve(size_t n_occurrences) {
    const size_t expected = std::min(std::bit_ceil(n_occurrences / 4 + 1), size_t{1} << 22);
    if (expected > table_.size() && kinds.empty()) table_.assign(expected, {});
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

  // Adds the predicates of a later part of the data; returns their numbers here.
  std::vector<uint32_t> merge(const PredicateNumbering& later) {
    constexpr size_t ahead = 16;
    const std::vector<uint32_t> counts = later.counts();
    const size_t most = size() + later.size();
    fingerprints.reserve(most);
    kinds.reserve(most);
    ordinals.reserve(most);
    keys.reserve(most * width_);
    std::vector<uint32_t> numbers(later.size());
    for (size_t id = 0; id < numbers.size(); ++id) {
      if (id + ahead < numbers.size()) prefetch(later.fingerprints[id + ahead]);
      const uint64_t fingerprint = later.fingerprints[id];
      Slot* slot = find(fingerprint);
      if (slot->fingerprint) {
        slot->count += counts[id];
        numbers[id] = slot->number;
      } else {
        const uint32_t* key = later.keys.data() + id * width_;
        keys.insert(keys.end(), key, key + width_);
        numbers[id] = append(slot, fingerprint, later.kinds[id], counts[id]);
      }
    }
    return numbers;
  }

  // How often each predicate was seen, by number.
  std::vector<uint32_t> counts() const {
    std::vector<uint32_t> out(size());
    for (const Slot& slot : table_)
      if (slot.fingerprint) out[slot.number] = slot.count;
    return out;
  }

  std::vector<uint64_t> fingerprints;  // by number, as are all of these
  std::vector<uint8_t> kinds;          // 0 node, 1 node and edge, 2 edge
  std::vector<uint32_t> ordinals;      // the predicate's number within its kind
  std::vector<uint32_t> keys;          // [1 + arity] skeleton and token numbers
  std::array<uint32_t, 3> n_of_kind{};

 private:
  struct Slot {
    uint64_t fingerprint = 0;  // 0: empty
    uint32_t number = 0, count = 0;
  };

  size_t home(uint64_t fingerprint) const { return fingerprint >> 32 & (table_.size() - 1); }

  uint32_t append(Slot* slot, uint64_t fingerprint, int kind, uint32_t count) {
    const auto number = uint32_t(size());
    *slot = {fingerprint, number, count};
    fingerprints.push_back(fingerprint);
    kinds.push_back(uint8_t(kind));
    ordinals.push_back(n_of_kind[kind]++);
    if (size() * 2 > table_.size()) grow();
    return number;
  }

  // The slot that holds the fingerprint, or the empty one where it belongs.
  Slot* find(uint64_t fingerprint) {
    Slot *slot = &table_[home(fingerprint)], *end = table_.data() + table_.size();
    while (slot->fingerprint && slot->fingerprint != fingerprint)
      if (++slot == end) slot = table_.data();
    return slot;
  }

  void grow() {
    LargeVector<Slot> old(table_.size() * 2, Slot{});
    old.swap(table_);
    for (const Slot& slot : old)
      if (slot.fingerprint) *find(slot.fingerprint) = slot;
  }

  size_t width_;
  LargeVector<Slot> table_;  // a power of two, at most half full
};

}  // namespace adaptag
