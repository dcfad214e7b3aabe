// The compiled form of a segmenter: score by item instead of by position.
//
// All that fires is a pattern of characters, and a pattern has one row of scores: what it adds to
// the positions around it, for each of the eight transitions that may lead into a position.
//
//   pattern              adds to positions, its first character being at j       scores
//   character            j − 2 … j + 2                                           [5, 8]
//   two characters       j − 1 … j + 2                                           [4, 8]
//   n ≥ 3 characters     j … j + n − 1                                           [n, 8]
//   c_j = c_{j+1}        j − 1 … j + 2                                           [4, 8]
//   c_j = c_{j+2}        j − 1 … j + 3                                           [5, 8]
//   always               every position                                          [8]
//
// A character bigram, the word that it is and the word bigrams that it spells are one pattern:
// features of the same characters are summed when the predictor is made. Scores are integers, so
// every build finds the same words; a score of 2^exponent is a score of 1 of the model.
//
//   transition      0    1    2    3    4    5    6    7
//   from            E    S    B    I    B    I    E    S
//   to              B    B    I    I    E    E    S    S     (three tags: S is B, 6 and 7 are not
//   used)
//
// What is added to all transitions into a position changes no path, so rows are relative to
// transition 0, whose place holds the score of S relative to B where a sentence begins.
#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include "hashing.hpp"

namespace adaptag {

constexpr int n_transitions = 8;
constexpr uint32_t no_pattern = 0xFFFFFFFFu;
constexpr uint32_t n_code_points = 0x110000;

typedef int32_t Scores __attribute__((vector_size(32)));  // of the transitions into a position
static_assert(sizeof(Scores) == n_transitions * sizeof(int32_t));

// A pattern in the trie of all patterns, which is one hash table with open addressing. A pattern is
// found by its first characters and its last one. Two characters: `parent` is the first. More: it
// is n_characters + the slot of the pattern without its last character.
struct PatternSlot {
  uint32_t parent = no_pattern;  // none: the slot is empty
  uint32_t character = 0;
  uint32_t row = no_pattern;  // (where its row begins, in units of 8 values) << 4 | shift; or none
  uint32_t followers = 0;     // bit follower_bit(c): a longer pattern goes on with c
};

// The slot that the search for a pattern begins with.
inline size_t pattern_home(uint32_t parent, uint32_t character, size_t n_slots) {
  uint64_t h = (uint64_t{parent} << 32 | character) * 0x9E3779B97F4A7C15u;
  h = (h ^ (h >> 32)) * 0xD6E8FEB86659FD93u;
  return size_t(((h >> 32) * n_slots) >> 32);
}

inline uint32_t follower_bit(uint32_t character) { return (character * 0x9E3779B1u) >> 27; }

// A text's characters are numbers: 0 is one that no pattern has. Bits of a character's entry:
constexpr uint32_t character_mask = (1u << 24) - 1;  // its number
constexpr int character_shift = 24;                  // 4 bits: that of its row
constexpr uint32_t space_flag = 1u << 31;            // white space

// The tables, as Python keeps them. They may come from a damaged file.
struct PredictorTables {
  std::span<const uint32_t> pages;          // [4352] code point / 256 → block of entries
  std::span<const uint32_t> entries;        // [blocks, 256] code point → entry
  std::span<const int16_t> character_rows;  // [n_characters, 5, 8]
  std::span<const int32_t> constant_rows;   // [10, 8] always; c_j = c_{j+1}; c_j = c_{j+2}
  std::span<const PatternSlot> slots;
  std::span<const uint8_t> rows;  // of patterns: int16 or int8
  uint32_t outside;               // the entry of what stands before and behind a sentence
  int exponent;                   // a score of 2^exponent is 1
  int longest;                    // characters of the longest pattern
};

// Throws unless every number is in range: cutting checks nothing. Returns the length of the longest
// pattern.
inline int check_predictor(const PredictorTables& t, size_t value_size) {
  const auto check = [](bool good) {
    if (!good) throw std::invalid_argument("the tables of the predictor do not fit together");
  };
  const size_t C = t.character_rows.size() / (5 * n_transitions), n = t.slots.size();
  check(C > 0 && t.character_rows.size() == C * 5 * n_transitions && C < character_mask / 2);
  check(t.constant_rows.size() == 10 * n_transitions && t.pages.size() == n_code_points / 256);
  check(t.entries.size() % 256 == 0 && t.exponent > -200 && t.exponent <= 20);
  for (const uint32_t page : t.pages) check(page < t.entries.size() / 256);
  const auto good = [&](uint32_t entry) { return (entry & character_mask) < C; };
  check(good(t.outside) && std::all_of(t.entries.begin(), t.entries.end(), good));
  check(n > 0 && C + n < no_pattern);
  std::vector<uint32_t> length(n, 0);  // of each pattern in a slot, as far as known
  std::vector<uint32_t> chain;
  size_t n_empty = 0;
  uint32_t longest = 2;
  for (uint32_t k = 0; k < n; ++k) {
    if (t.slots[k].parent == no_pattern) {
      ++n_empty;
      continue;
    }
    for (uint32_t at = k; length[at] == 0;) {
      const PatternSlot& slot = t.slots[at];
      check(slot.character < C && slot.parent != no_pattern && chain.size() < n);
      if (slot.parent < C) {
        length[at] = 2;
      } else {
        chain.push_back(at);
        at = uint32_t(slot.parent - C);
        check(at < n);
      }
    }
    for (; !chain.empty(); chain.pop_back())
      length[chain.back()] = length[t.slots[chain.back()].parent - C] + 1;
    longest = std::max(longest, length[k]);
    if (t.slots[k].row == no_pattern) continue;
    const size_t positions = length[k] == 2 ? 4 : length[k];
    check(((t.slots[k].row >> 4) + positions) * n_transitions * value_size <= t.rows.size());
  }
  check(n_empty > 0 && longest < (1u << 24));
  return int(longest);
}

// Rows of one type of values.
template <class Value>
class SegmentPredictor {
 public:
  explicit SegmentPredictor(const PredictorTables& t)
      : t_(t),
        rows_(reinterpret_cast<const Value*>(t.rows.data())),
        n_characters_(uint32_t(t.character_rows.size() / (5 * n_transitions))) {}

  uint32_t entry(uint32_t code) const {
    return t_.entries[t_.pages[code >> 8] * 256 + (code & 255)];
  }
  uint32_t outside() const { return t_.outside; }
  uint32_t n_characters() const { return n_characters_; }
  int exponent() const { return t_.exponent; }
  int longest() const { return t_.longest; }

  size_t home(uint32_t parent, uint32_t character) const {
    return pattern_home(parent, character, t_.slots.size());
  }
  void prefetch_slot(uint32_t a, uint32_t b) const {
    __builtin_prefetch(t_.slots.data() + home(a, b));
  }
  // The slot of a pattern; or none.
  uint32_t find(uint32_t parent, uint32_t character) const {
    const PatternSlot* slots = t_.slots.data();
    for (size_t i = home(parent, character);; i = i + 1 == t_.slots.size() ? 0 : i + 1) {
      if (slots[i].parent == parent && slots[i].character == character) return uint32_t(i);
      if (slots[i].parent == no_pattern) return no_pattern;
    }
  }
  // Whether a pattern that goes on with this character may be there; where it would be found.
  bool may_follow(uint32_t k, uint32_t character) const {
    return t_.slots[k].followers >> follower_bit(character) & 1;
  }
  void prefetch_child(uint32_t k, uint32_t character) const {
    prefetch_slot(n_characters_ + k, character);
  }
  uint32_t find_child(uint32_t k, uint32_t character) const {
    return find(n_characters_ + k, character);
  }

  // The row of the pattern in a slot, which is fetched; or none.
  uint32_t prefetch_row(uint32_t k) const {
    const uint32_t row = t_.slots[k].row;
    if (row != no_pattern) __builtin_prefetch(values(row));
    return row;
  }

  void add_character(uint32_t entry, Scores* at) const {
    const int16_t* row =
        t_.character_rows.data() + size_t(entry & character_mask) * (5 * n_transitions);
    add_row<5>(row, entry >> character_shift & 15, at);
  }
  void add_bigram(uint32_t row, Scores* at) const { add_row<4>(values(row), row & 15, at); }
  void add_pattern(uint32_t row, int length, Scores* at) const {
    for (int k = 0; k < length; ++k)
      at[k] += widened(values(row) + k * n_transitions) << int(row & 15);
  }
  Scores constant(int k) const {
    Scores out;
    std::memcpy(&out, t_.constant_rows.data() + k * n_transitions, sizeof out);
    return out;
  }

 private:
  const Value* values(uint32_t row) const { return rows_ + size_t(row >> 4) * n_transitions; }

  template <class V>
  static Scores widened(const V* values) {
#ifdef __AVX2__
    if constexpr (sizeof(V) == 2)
      return (Scores)_mm256_cvtepi16_epi32(
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(values)));
    else
      return (Scores)_mm256_cvtepi8_epi32(
          _mm_loadl_epi64(reinterpret_cast<const __m128i*>(values)));
#endif
    typedef V Narrow __attribute__((vector_size(n_transitions * sizeof(V))));
    Narrow narrow;
    std::memcpy(&narrow, values, sizeof narrow);
    return __builtin_convertvector(narrow, Scores);
  }
  template <int N, class V>
  static void add_row(const V* values, int shift, Scores* at) {
    for (int k = 0; k < N; ++k) at[k] += widened(values + k * n_transitions) << shift;
  }

  PredictorTables t_;
  const Value* rows_;
  uint32_t n_characters_;
};

}  // namespace adaptag
