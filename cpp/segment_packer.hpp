// Patterns with scores of floating point → the tables of a predictor: integers, packed.
#pragma once

#include "memory.hpp"
#include "segment_compiler.hpp"

namespace adaptag {

struct PackOptions {
  float threshold;  // patterns that are weaker are left out
  int value_bits;   // of the scores of patterns: 8 or 16
  double load;      // the share of the slots that are used
  Folding folding;
  int threads;
};

// Tables that own their data: see PredictorTables.
class PackedPredictor {
 public:
  PackedPredictor(const SegmentPatterns& from, const PackOptions& options) : options_(options) {
    choose_exponent(from);
    constant_rows.resize(from.constant_scores.size());
    round_to(from.constant_scores.data(), constant_rows.size(), 0, constant_rows.data());
    pack_characters(from);
    pack_patterns(from);
  }

  int exponent = 0;
  uint32_t outside = 0;
  std::vector<uint32_t> pages, entries;
  std::vector<int16_t> character_rows;
  std::vector<int32_t> constant_rows;
  LargeVector<uint32_t> slots;  // [n_slots, 4], each a PatternSlot
  LargeVector<uint8_t> rows;
  size_t n_slots = 0;

 private:
  // Rows have shifts of their own; the exponent is that of rows without one. Sums must not
  // overflow.
  void choose_exponent(const SegmentPatterns& from) {
    float most = 0;
    for (const float each : {largest_of(from.constant_scores.data(), from.constant_scores.size()),
                             largest_of(from.character_scores.data(), from.character_scores.size()),
                             largest_of(from.scores.data(), from.scores.size())}) {
      if (!(each < 1e30f)) throw std::invalid_argument("a weight is not finite or too large");
      most = std::max(most, each);
    }
    const auto largest = [&](float limit) {
      return most > 0 ? int(std::floor(std::log2(limit / most))) : 20;
    };
    exponent = std::min(std::clamp(largest(32767), 11, 20), largest(1 << 21));
  }

  // The largest absolute value. As integers, the bits of such numbers have the same order.
  static float largest_of(const float* x, size_t n) {
    uint32_t most = 0;
    for (size_t k = 0; k < n; ++k)
      most = std::max(most, std::bit_cast<uint32_t>(x[k]) & 0x7FFFFFFFu);
    return std::bit_cast<float>(most);
  }

  // The least shift that makes scores fit.
  int shift_of(const float* x, size_t n, int32_t limit) const {
    const float most = std::ldexp(largest_of(x, n), exponent);
    int shift = 0;
    while (shift < 15 && most > float(limit) * float(1 << shift)) ++shift;
    return shift;
  }

  // Writes scores as integers that must be shifted to the left.
  template <class Value>
  void round_to(const float* x, size_t n, int shift, Value* out) const {
    const float factor = std::ldexp(1.0f, exponent - shift);
    constexpr auto limit = float(std::numeric_limits<Value>::max());
    for (size_t k = 0; k < n; ++k)
      out[k] = Value(std::min(std::max(std::nearbyint(x[k] * factor), -limit), limit));
  }

  void pack_characters(const SegmentPatterns& from) {
    constexpr size_t size = 5 * n_transitions;
    const size_t C = from.symbols.size();
    std::vector<uint32_t> entry(outside_symbol + 1, 0);
    character_rows.resize(C * size, 0);
    for (size_t c = 1; c < C; ++c) {
      const float* scores = from.character_scores.data() + c * size;
      const int shift = shift_of(scores, size, 32767);
      round_to(scores, size, shift, character_rows.data() + c * size);
      entry[from.symbols[c]] = uint32_t(c) | uint32_t(shift) << character_shift;
    }
    outside = entry[outside_symbol];
    pages.assign(n_code_points / 256, 0);
    entries.assign(256, 0);  // of pages without characters
    for (uint32_t page = 0; page < pages.size(); ++page) {
      uint32_t block[256], any = 0;
      for (uint32_t k = 0; k < 256; ++k) {
        const uint32_t code = page * 256 + k;
        block[k] = is_space(code) ? space_flag : entry[fold(code, options_.folding)];
        any |= block[k];
      }
      if (any == 0) continue;
      pages[page] = uint32_t(entries.size() / 256);
      entries.insert(entries.end(), block, block + 256);
    }
  }

  void pack_patterns(const SegmentPatterns& from) {
    const auto& patterns = from.patterns;
    const auto C = uint32_t(from.symbols.size());
    const std::vector<uint8_t> fates = choose_patterns(from);
    std::vector<uint32_t> chosen;  // patterns that have a slot
    size_t n_rows = 0;             // in units of 8 values
    for (uint32_t k = 0; k < patterns.size(); ++k) {
      if (fates[k] == dropped) continue;
      chosen.push_back(k);
      if (fates[k] == kept) n_rows += SegmentPatterns::positions(patterns[k].length);
    }
    n_slots = size_t(double(chosen.size()) / options_.load) + 1;
    if (uint64_t{n_slots} + C >= no_pattern || n_rows >= (1u << 28))
      throw std::invalid_argument("too many patterns");
    static_assert(sizeof(PatternSlot) == 4 * sizeof(uint32_t));
    slots.resize(4 * n_slots);
    rows.assign(n_rows * n_transitions * size_t(options_.value_bits / 8), uint8_t(0));
    auto* const table = reinterpret_cast<PatternSlot*>(slots.data());
    std::fill(table, table + n_slots, PatternSlot{});
    std::vector<uint32_t> slot_of(patterns.size());
    uint32_t next_row = 0;
    for (size_t k = 0; k < chosen.size(); ++k) {
      constexpr size_t ahead = 16;
      if (k + ahead < chosen.size() && patterns[chosen[k + ahead]].length == 2)
        __builtin_prefetch(table + pattern_home(patterns[chosen[k + ahead]].parent,
                                                patterns[chosen[k + ahead]].character, n_slots));
      const auto& p = patterns[chosen[k]];
      uint32_t parent = p.parent;
      if (p.length > 2) {
        parent = C + slot_of[p.parent - C];
        table[parent - C].followers |= 1u << follower_bit(p.character);
      }
      size_t at = pattern_home(parent, p.character, n_slots);
      while (table[at].parent != no_pattern) at = at + 1 == n_slots ? 0 : at + 1;
      slot_of[chosen[k]] = uint32_t(at);
      table[at] = {parent, p.character, no_pattern, 0};
      if (fates[chosen[k]] == prefix) continue;
      table[at].row = next_row << 4;
      next_row += SegmentPatterns::positions(p.length);
    }
    in_parallel(options_.threads, [&](int thread) {
      const size_t n = chosen.size(), end = n * (thread + 1) / options_.threads;
      for (size_t k = n * thread / options_.threads; k < end; ++k) {
        PatternSlot& slot = table[slot_of[chosen[k]]];
        if (slot.row == no_pattern) continue;
        slot.row |= options_.value_bits == 8
                        ? pack_row<int8_t>(from, patterns[chosen[k]], slot.row)
                        : pack_row<int16_t>(from, patterns[chosen[k]], slot.row);
      }
    });
  }

  // What becomes of a pattern: one that is dropped may still lead to longer ones.
  enum : uint8_t { dropped, prefix, kept };

  std::vector<uint8_t> choose_patterns(const SegmentPatterns& from) const {
    const auto& patterns = from.patterns;
    std::vector<uint8_t> fates(patterns.size(), dropped);
    for (size_t k = patterns.size(); k-- > 0;) {
      const auto& p = patterns[k];
      if (p.row != SegmentPatterns::no_row &&
          (options_.threshold <= 0 || from.strength(p) >= options_.threshold))
        fates[k] = kept;
      if (fates[k] == dropped || p.length == 2) continue;
      uint8_t& parent = fates[p.parent - from.symbols.size()];
      parent = std::max<uint8_t>(parent, prefix);
    }
    return fates;
  }

  // Writes a row and returns its shift.
  template <class Value>
  uint32_t pack_row(const SegmentPatterns& from, const SegmentPatterns::Pattern& p, uint32_t row) {
    const float* scores = from.scores.data() + p.row;
    const size_t n = SegmentPatterns::positions(p.length) * size_t{n_transitions};
    const int shift = shift_of(scores, n, std::numeric_limits<Value>::max());
    round_to(scores, n, shift, reinterpret_cast<Value*>(rows.data()) + (row >> 4) * n_transitions);
    return uint32_t(shift);
  }

  const PackOptions options_;
};

}  // namespace adaptag
