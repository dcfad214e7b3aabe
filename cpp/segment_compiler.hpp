// Weights of a segmenter → patterns of characters with their scores → tables of a predictor.
#pragma once

#include <cmath>

#include "characters.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "segment_index.hpp"
#include "segment_predictor.hpp"

namespace adaptag {

// The label of each role in a word. With three labels a word of one character has that of a
// beginning.
struct WordTags {
  int begin, inside, end, single;

  int at(size_t k, size_t length) const {
    return length == 1 ? single : k == 0 ? begin : k + 1 == length ? end : inside;
  }
};

// Words without features of their own, whose weight is added to the scores of their labels: those
// of two characters and more, from number `first` on.
struct RareWords {
  size_t first;
  float weight;
};

// The patterns of a segmenter, with scores as numbers of floating point.
class SegmentPatterns {
 public:
  struct Pattern {
    uint32_t parent;      // as in PatternSlot, with the numbers of patterns instead of slots
    uint32_t character;   // the last one
    uint32_t length;      // characters
    size_t row = no_row;  // first score of its row; none: only longer patterns have scores
  };
  static constexpr size_t no_row = size_t(-1);

  SegmentPatterns(const SegmentTables& t, const SegmentIndex& index, const Layout& layout,
                  const float* weights, const WordTags& tags, const RareWords& rare, int threads)
      : index_(index), layout_(layout), weights_(weights), tags_(tags) {
    number_characters(t, rare);
    add_constants();
    add_characters(t);
    reserve(t);
    // One thread makes the trie while the others fill the rows of character bigrams.
    const int others = std::max(1, threads - 1);
    in_parallel(threads, [&](int thread) {
      if (thread == 0) {
        add_bigrams(t);
        add_words(t);
        add_word_bigrams(t);
        add_rare_words(t, rare);
      }
      if (thread > 0 || threads == 1) fill_bigrams(std::max(0, thread - 1), others);
    });
    for (const auto& [id, row] : later_) add_predicate(id, scores.data() + row);
    for (const auto& [word, row] : later_rare_) add_rare_word(rare.weight, word, row);
  }

  // Scores of a pattern's row: [positions, 8].
  static uint32_t positions(uint32_t length) { return length == 2 ? 4 : length; }

  // The largest difference that a pattern makes between two transitions at one position.
  float strength(const Pattern& p) const {
    float most = 0;
    for (uint32_t q = 0; q < positions(p.length); ++q) {
      const float* s = scores.data() + p.row + q * n_transitions;
      float low = 0, high = 0;  // of transition 0
      for (int k = 1; k < n_transitions; ++k) {
        low = std::min(low, s[k]);
        high = std::max(high, s[k]);
      }
      most = std::max({most, high - low, std::abs(s[0])});
    }
    return most;
  }

  std::vector<uint32_t> symbols;        // [C] of characters; the first is one that is not known
  std::vector<float> constant_scores;   // [10, 8]
  std::vector<float> character_scores;  // [C, 5, 8]
  std::vector<Pattern> patterns;        // frequent bigrams first; prefixes before what they begin
  LargeVector<float> scores;            // rows of patterns

 private:
  void number_characters(const SegmentTables& t, const RareWords& rare) {
    symbols.push_back(no_pattern);
    number_.assign(outside_symbol + 1, 0);
    const auto add = [&](uint32_t symbol) {
      if (number_[symbol] != 0) return;
      number_[symbol] = uint32_t(symbols.size());
      symbols.push_back(symbol);
    };
    for (const uint32_t symbol : t.characters) add(symbol);
    for_each_rare_word(t, rare, [&](std::span<const uint32_t> word) {
      for (const uint32_t symbol : word) {
        if (symbol >= outside_symbol) throw std::invalid_argument("a character is out of range");
        add(symbol);
      }
    });
  }

  template <class F>
  static void for_each_rare_word(const SegmentTables& t, const RareWords& rare, F&& f) {
    for (size_t v = rare.first; v + 1 < t.word_offsets.size(); ++v) {
      const auto word =
          t.word_symbols.subspan(t.word_offsets[v], t.word_offsets[v + 1] - t.word_offsets[v]);
      if (word.size() >= 2) f(word);
    }
  }

  // Adds the weights of a predicate to the scores of one position. Transition k leads to role k
  // / 2.
  void add_predicate(uint32_t id, float* to) const {
    const int W = layout_.width;
    const float* node = weights_ + layout_.row(id);
    const float* edge = id >= layout_.edge_begin() ? weights_ + layout_.edge_row(id) : nullptr;
    const int B = tags_.begin, I = tags_.inside, E = tags_.end, S = tags_.single;
    const int from[n_transitions] = {E, S, B, I, B, I, E, S};
    const int into[n_transitions] = {B, B, I, I, E, E, S, S};
    float v[n_transitions];
    for (int k = 0; k < n_transitions; ++k)
      v[k] = node[into[k]] + (edge ? edge[from[k] * W + into[k]] : 0.0f);
    const int used = S == B ? 6 : 8;
    if (S != B) to[0] += node[S] - node[B];
    for (int k = 1; k < used; ++k) to[k] += v[k] - v[0];
  }

  void add_constants() {
    constant_scores.assign(10 * n_transitions, 0.0f);
    add_predicate(index_.always(), constant_scores.data());
    for (int k = 0; k < 9; ++k) {
      // Places 0 … 3: c_j = c_{j+1}, j = i − 2 + place; 4 … 8: c_j = c_{j+2}, j = i − 7 + place.
      const int position = k < 4 ? 3 - k : 4 - (k - 4);
      add_predicate(index_.predicate(SegmentIndex::repetitions, 0, k),
                    constant_scores.data() + ((k < 4 ? 1 : 5) + position) * n_transitions);
    }
  }

  void add_characters(const SegmentTables& t) {
    character_scores.assign(symbols.size() * 5 * n_transitions, 0.0f);
    for (uint32_t c = 0; c < t.characters.size(); ++c)
      for (uint32_t k = 0; k < 5; ++k)
        add_predicate(index_.predicate(SegmentIndex::characters, c, k),
                      character_scores.data() +
                          (size_t(number_[t.characters[c]]) * 5 + 4 - k) * n_transitions);
  }

  // Makes room for all that is to come: patterns and scores are added without being moved.
  void reserve(const SegmentTables& t) {
    n_bigrams_ = t.bigrams.size() / 2;
    branches_ = PairTable(n_bigrams_ + t.word_bigrams.size());
    patterns.reserve(n_bigrams_ + t.word_bigrams.size() + t.word_offsets.size());
    size_t n = n_bigrams_ * 4 + t.word_symbols.size() + t.word_offsets.size() * 2;
    for (const uint32_t v : t.word_bigrams) n += t.word_offsets[v + 1] - t.word_offsets[v];
    scores.reserve(n * n_transitions);
    scores.resize(n_bigrams_ * 4 * n_transitions);
  }

  void add_bigrams(const SegmentTables& t) {
    patterns.resize(n_bigrams_);
    for (uint32_t g = 0; g < n_bigrams_; ++g)
      patterns[g] = {number_[t.characters[t.bigrams[2 * g]]],
                     number_[t.characters[t.bigrams[2 * g + 1]]], 2, size_t(g) * 4 * n_transitions};
    for (uint32_t g = 0; g < n_bigrams_; ++g) {
      constexpr uint32_t ahead = 16;
      if (g + ahead < n_bigrams_)
        branches_.prefetch(patterns[g + ahead].parent, patterns[g + ahead].character);
      branches_.insert(patterns[g].parent, patterns[g].character, g);
    }
  }

  // Fills one of n equal shares.
  void fill_bigrams(size_t share, size_t n) {
    float* const rows = scores.data();  // which does not move
    for (size_t g = n_bigrams_ * share / n; g < n_bigrams_ * (share + 1) / n; ++g) {
      float* const row = rows + g * 4 * n_transitions;
      std::fill_n(row, 4 * n_transitions, 0.0f);
      for (uint32_t k = 0; k < 4; ++k)
        add_predicate(index_.predicate(SegmentIndex::bigrams, uint32_t(g), k),
                      row + (3 - k) * n_transitions);
    }
  }

  // The pattern of these symbols, with a row; what it begins with becomes patterns too.
  Pattern& pattern(std::span<const uint32_t> word) {
    uint32_t parent = number_[word[0]], at = 0;
    for (size_t k = 1; k < word.size(); ++k) {
      const auto next = uint32_t(patterns.size());
      at = branches_.insert(parent, number_[word[k]], next);
      if (at == next) patterns.push_back({parent, number_[word[k]], uint32_t(k + 1)});
      parent = uint32_t(symbols.size()) + at;
    }
    Pattern& p = patterns[at];
    if (p.row == no_row) {
      p.row = scores.size();
      scores.resize(scores.size() + positions(p.length) * n_transitions, 0.0f);
    }
    return p;
  }
  // Where the scores of the k-th character of a pattern are.
  static size_t place(const Pattern& p, size_t k) {
    return p.row + (k + (p.length == 2)) * n_transitions;
  }

  // Rows of bigrams may be filled by others meanwhile: what is added to them waits.
  void add_later(const Pattern& p, size_t k, uint32_t id) {
    if (p.length == 2)
      later_.emplace_back(id, place(p, k));
    else
      add_predicate(id, scores.data() + place(p, k));
  }

  static std::span<const uint32_t> word(const SegmentTables& t, uint32_t v) {
    return t.word_symbols.subspan(t.word_offsets[v], t.word_offsets[v + 1] - t.word_offsets[v]);
  }

  void add_words(const SegmentTables& t) {
    for (uint32_t v = 0; v < t.n_unigrams; ++v) {
      const Pattern& p = pattern(word(t, v));
      add_later(p, 0, index_.predicate(SegmentIndex::words, v, 1));
      add_later(p, p.length - 1, index_.predicate(SegmentIndex::words, v, 0));
    }
  }

  void add_word_bigrams(const SegmentTables& t) {
    std::vector<uint32_t> both;
    for (uint32_t h = 0; h < t.word_bigrams.size() / 2; ++h) {
      const auto a = word(t, t.word_bigrams[2 * h]), b = word(t, t.word_bigrams[2 * h + 1]);
      both.assign(a.begin(), a.end());
      both.insert(both.end(), b.begin(), b.end());
      // The word that holds the position has 2 to 6 characters, the other 1 to 5.
      const bool seen_from_b = a.size() < longest_word && b.size() > 1;
      const bool seen_from_a = b.size() < longest_word && a.size() > 1;
      if (!seen_from_a && !seen_from_b) continue;
      const Pattern& p = pattern(both);
      if (seen_from_b) add_later(p, a.size(), index_.predicate(SegmentIndex::word_bigrams, h, 0));
      if (seen_from_a)
        add_later(p, a.size() - 1, index_.predicate(SegmentIndex::word_bigrams, h, 1));
    }
  }

  void add_rare_words(const SegmentTables& t, const RareWords& rare) {
    if (rare.weight == 0) return;
    for_each_rare_word(t, rare, [&](std::span<const uint32_t> symbols_of_word) {
      const Pattern& p = pattern(symbols_of_word);
      if (p.length == 2)
        later_rare_.emplace_back(p.length, place(p, 0));
      else
        add_rare_word(rare.weight, p.length, place(p, 0));
    });
  }

  // Adds a weight to the labels of a word, whose first character's scores are given.
  void add_rare_word(float weight, uint32_t length, size_t first) {
    const int B = tags_.begin, I = tags_.inside, E = tags_.end, S = tags_.single;
    const int into[n_transitions] = {B, B, I, I, E, E, S, S};
    for (uint32_t k = 0; k < length; ++k) {
      const int y = tags_.at(k, length);
      const float base = y == B ? weight : 0.0f;
      float* to = scores.data() + first + k * n_transitions;
      if (S != B) to[0] -= base;
      for (int m = 1; m < (S == B ? 6 : 8); ++m) to[m] += (into[m] == y ? weight : 0.0f) - base;
    }
  }

  const SegmentIndex& index_;
  const Layout& layout_;
  const float* const weights_;
  const WordTags tags_;
  std::vector<uint32_t> number_;  // symbol → number of the character, 0: none
  PairTable branches_;            // parent, character → pattern
  size_t n_bigrams_ = 0;
  std::vector<std::pair<uint32_t, size_t>> later_;  // predicates, and the scores to add them to
  std::vector<std::pair<uint32_t, size_t>> later_rare_;  // lengths of rare words, likewise
};

}  // namespace adaptag
