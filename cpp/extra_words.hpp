// Words of the user's own, with weights, and what they add to the scores of a sentence.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lexicon.hpp"

namespace adaptag {

// Words that training did not see. The weight of each is added to the scores of its labels at every
// character; infinity forces the word wherever it occurs.
struct ExtraWords {
  Lexicon lexicon;
  std::vector<float> weights;  // by number
  size_t size = 0;             // words that are not erased
  size_t longest = 0;          // characters of the longest word there has been

  void insert(std::span<const uint32_t> symbols, float weight) {
    const auto next = uint32_t(weights.size());
    const uint32_t word = lexicon.insert(symbols, next);
    if (word == next) {
      weights.push_back(weight);
      ++size;
      longest = std::max(longest, symbols.size());
    } else {
      weights[word] = weight;
    }
  }
  bool erase(std::span<const uint32_t> symbols) {
    if (lexicon.find(symbols) == Lexicon::none) return false;
    lexicon.erase(symbols);
    --size;
    return true;
  }
};

// What extra words add to the roles of some positions of a sentence, which follow one another.
class ExtraScores {
 public:
  struct Position {
    int32_t score[4] = {};  // of each role: see Role
    uint8_t ruled_out = 0;  // bit r: the role is impossible
  };

  // Begins a sentence that is scored `block` positions at a time. A score of 2^exponent is a weight
  // of 1; with three roles, a word of one character is a beginning.
  void begin(const ExtraWords& words, int exponent, int n_roles, int block) {
    words_ = &words;
    exponent_ = exponent;
    n_roles_ = n_roles;
    positions_.assign(size_t(block) + words.longest + 1, {});
    forced_end_ = 0;
  }

  // Adds the words that begin at from … to − 1; positions_[0] is `from`.
  void add(std::span<const uint32_t> symbols, int64_t from, int64_t to) {
    const auto T = int64_t(symbols.size());
    for (int64_t t = from; t < to; ++t) {
      int64_t forced = 0;  // the length of the longest word here that is forced
      uint32_t node = Lexicon::root;
      for (int64_t length = 1; t + length <= T; ++length) {
        node = words_->lexicon.step(node, symbols[t + length - 1]);
        if (node == Lexicon::none) break;
        const uint32_t word = words_->lexicon.word(node);
        if (word == Lexicon::none) continue;
        const float weight = words_->weights[word];
        if (weight == std::numeric_limits<float>::infinity())
          forced = length;
        else
          add_word(t - from, length, weight);
      }
      if (forced == 0 || t < forced_end_) continue;
      forced_end_ = t + forced;
      for (int64_t k = 0; k < forced; ++k)
        positions_[t - from + k].ruled_out |= uint8_t(15 & ~(1 << role(k, forced)));
      // With three roles, that of a single character does not say where its word ends.
      positions_[forced_end_ - from].ruled_out |= 1 << inside_role | 1 << end_role;
    }
  }

  const Position& operator[](int64_t k) const { return positions_[k]; }

  // Leaves n positions behind.
  void move(int64_t n) {
    std::copy(positions_.begin() + n, positions_.end(), positions_.begin());
    std::fill(positions_.end() - n, positions_.end(), Position{});
  }

 private:
  static constexpr int begin_role = 0, inside_role = 1, end_role = 2, single_role = 3;

  int role(int64_t k, int64_t length) const {
    if (length == 1) return n_roles_ == 4 ? single_role : begin_role;
    return k == 0 ? begin_role : k + 1 == length ? end_role : inside_role;
  }

  // Adds a weight to the roles of a word. With three roles a word of one character has none of its
  // own: the weight is shared with a word that begins behind it.
  void add_word(int64_t t, int64_t length, float weight) {
    if (length == 1 && n_roles_ == 3) {
      add_score(t, begin_role, weight / 2);
      add_score(t + 1, begin_role, weight / 2);
    } else {
      for (int64_t k = 0; k < length; ++k) add_score(t + k, role(k, length), weight);
    }
  }
  void add_score(int64_t t, int r, float weight) {
    constexpr int64_t most = 1 << 29;
    const int64_t added = std::llround(std::ldexp(double(weight), exponent_));
    int32_t& score = positions_[t].score[r];
    score = int32_t(std::clamp(score + added, -most, most));
  }

  const ExtraWords* words_ = nullptr;
  int exponent_ = 0, n_roles_ = 0;
  std::vector<Position> positions_;
  int64_t forced_end_ = 0;  // where the last word that is forced ends
};

}  // namespace adaptag
