// Text → words: the best labels of its characters, and how probable each word is.
#pragma once

#include "characters.hpp"
#include "extra_words.hpp"
#include "word_probabilities.hpp"

namespace adaptag {

// Roles: the number of tags, 3 or 4. The predictor's rows hold values of one type.
template <class Value, int Roles>
class Segmenter {
 public:
  // temperature: what scores are divided by where they become probabilities.
  Segmenter(const SegmentPredictor<Value>& predictor, Folding folding, float temperature)
      : predictor_(predictor),
        folding_(folding),
        overhang_(std::max(5, predictor.longest() + 1)),
        scores_(4 + block + overhang_),
        probabilities_(temperature) {}

  // Words of the user's own, which must stay while texts are cut; or null.
  void set_extra_words(const ExtraWords* extra) {
    extra_ = extra && extra->size > 0 ? extra : nullptr;
  }

  // Marks where the words of a text begin, runs of white space being words too, and where wanted
  // gives each word's probability at its first character.
  void cut(std::span<const uint32_t> text, uint8_t* starts, float* probabilities) {
    const size_t n = text.size();
    entries_.resize(n + 4);
    if (extra_) symbols_.resize(n);
    for (size_t t = 0; t < n;) {
      uint32_t entry = predictor_.entry(text[t]);
      size_t stop = t;
      if (entry & space_flag) {
        while (++stop < n && (predictor_.entry(text[stop]) & space_flag)) starts[stop] = 0;
        starts[t] = 1;
        if (probabilities) probabilities[t] = 1.0f;
      } else {
        uint32_t* out = entries_.data() + 2;
        do {
          // A character that no pattern has is told from others by its symbol.
          *out++ = entry != 0 ? entry : predictor_.n_characters() + fold(text[stop], folding_);
        } while (++stop < n && !((entry = predictor_.entry(text[stop])) & space_flag));
        if (extra_)
          for (size_t k = t; k < stop; ++k) symbols_[k - t] = fold(text[k], folding_);
        cut_sentence(int64_t(stop - t), starts + t, probabilities ? probabilities + t : nullptr);
      }
      t = stop;
    }
  }

 private:
  static constexpr int block = 256;  // positions scored at a time
  static constexpr int64_t impossible = -(int64_t{1} << 60);
  // Bit r of a position's choice says which of the two roles before r it was.
  static constexpr auto& before = roles_before<Roles>;
  static constexpr int S = single_role<Roles>;

  void cut_sentence(int64_t length, uint8_t* starts, float* probabilities) {
    T_ = length;
    entries_[0] = entries_[1] = entries_[T_ + 2] = entries_[T_ + 3] = predictor_.outside();
    choices_.resize(T_);
    keep_scores_ = probabilities != nullptr;
    if (keep_scores_) {
      kept_.scores.resize(T_);
      kept_.ruled_out.assign(T_, 0);
      kept_.exponent = predictor_.exponent();
    }
    if (extra_) extra_scores_.begin(*extra_, predictor_.exponent(), Roles, block);
    int64_t delta[4] = {impossible, impossible, 0, impossible};  // as if a word had ended
    std::fill_n(scores_.begin(), std::min<size_t>(scores_.size(), T_ + 8), predictor_.constant(0));
    int64_t next = -2;  // the first pattern that is not scored yet begins here
    for (int64_t first = 0; first < T_; first += block) {
      const int64_t last = std::min(T_, first + block);
      add_patterns(next, last + 2, first);
      next = last + 2;
      Scores* at = scores_.data() + 4;
      if (first == 0) at[0][6] = at[0][0];
      for (int64_t k = 0; k < last - first; ++k) at[k][0] = 0;
      if (extra_) {
        extra_scores_.add({symbols_.data(), size_t(T_)}, first, last);
        advance_with_extra_words(first, last, delta);
        extra_scores_.move(last - first);
      } else {
        advance(first, last, delta);
      }
      if (keep_scores_) std::copy(at, at + (last - first), kept_.scores.begin() + first);
      if (last < T_) {
        std::copy(at + block, scores_.data() + scores_.size(), at);
        std::fill(at + overhang_, scores_.data() + scores_.size(), predictor_.constant(0));
      }
    }
    mark_starts(delta[end] >= delta[S] ? end : S, starts);
    if (probabilities) probabilities_.fill(kept_, starts, probabilities);
  }

  // Adds the rows of the patterns that begin at from … to − 1; scores_[4] is position `first`. What
  // is looked up next is fetched meanwhile: first all patterns of two characters, then those of
  // three that may be there, and so on.
  void add_patterns(int64_t from, int64_t to, int64_t first) {
    const uint32_t* const entries = entries_.data() + 2;
    const uint32_t n_characters = predictor_.n_characters();
    const auto number = [&](int64_t j) { return entries[j] & character_mask; };
    const int64_t bigrams_end = std::min(to, T_ + 1);
    Scores* const scores = scores_.data() + 4 - first;
    for (int64_t j = from; j < bigrams_end; ++j) predictor_.prefetch_slot(number(j), number(j + 1));
    uint32_t rows[block + 4];
    Prefix prefixes[block + 4];
    int n_prefixes = 0;
    for (int64_t j = from; j < bigrams_end; ++j) {
      rows[j - from] = no_pattern;
      if (std::max(number(j), number(j + 1)) >= n_characters) continue;
      const uint32_t slot = predictor_.find(number(j), number(j + 1));
      if (slot == no_pattern) continue;
      rows[j - from] = predictor_.prefetch_row(slot);
      if (may_go_on(slot, j, 2)) prefixes[n_prefixes++] = {j, slot};
    }
    find_longer_patterns(prefixes, n_prefixes);
    for (int64_t j = from; j < to; ++j)
      if (number(j) < n_characters) predictor_.add_character(entries[j], scores + j - 2);
    for (int64_t j = from; j < bigrams_end; ++j)
      if (rows[j - from] != no_pattern) predictor_.add_bigram(rows[j - from], scores + j - 1);
    for (const Found& found : found_)
      predictor_.add_pattern(found.row, found.length, scores + found.position);
    add_repetitions(std::max<int64_t>(from, 0), std::min(to, T_), scores);
  }

  // Patterns that were found: where they begin, and what is known of them.
  struct Prefix {
    int64_t position;
    uint32_t slot;
  };
  struct Found {
    int64_t position;
    uint32_t row;
    int length;
  };

  // Whether a longer pattern may begin like this one, of n characters at j. If so, its slot is
  // fetched.
  bool may_go_on(uint32_t slot, int64_t j, int64_t n) const {
    if (j + n >= T_) return false;
    const uint32_t next = entries_[2 + j + n] & character_mask;
    if (!predictor_.may_follow(slot, next)) return false;
    predictor_.prefetch_child(slot, next);
    return true;
  }

  // Fills found_ with the patterns that are longer than the n_prefixes ones of two characters.
  void find_longer_patterns(Prefix* prefixes, int n_prefixes) {
    found_.clear();
    for (int length = 3; n_prefixes > 0; ++length) {
      int n_left = 0;
      for (int k = 0; k < n_prefixes; ++k) {
        const int64_t j = prefixes[k].position;
        const uint32_t slot =
            predictor_.find_child(prefixes[k].slot, entries_[j + length + 1] & character_mask);
        if (slot == no_pattern) continue;
        const uint32_t row = predictor_.prefetch_row(slot);
        if (row != no_pattern) found_.push_back({j, row, length});
        if (may_go_on(slot, j, length)) prefixes[n_left++] = {j, slot};
      }
      n_prefixes = n_left;
    }
  }

  void add_repetitions(int64_t from, int64_t to, Scores* scores) const {
    const uint32_t* const entries = entries_.data() + 2;
    for (int64_t j = from; j < to; ++j) {
      if (entries[j] == entries[j + 1])
        for (int k = 0; k < 4; ++k) scores[j - 1 + k] += predictor_.constant(1 + k);
      if (entries[j] == entries[j + 2])
        for (int k = 0; k < 5; ++k) scores[j - 1 + k] += predictor_.constant(5 + k);
    }
  }

  // Viterbi over some positions:  δ_t[r] = max over the roles q before r of δ_{t−1}[q] + score.
  void advance(int64_t first, int64_t last, int64_t* delta) {
    const Scores* s = scores_.data() + 4;
    int64_t B = delta[begin], I = delta[inside], E = delta[end], X = delta[single];
    for (int64_t t = first; t < last; ++t, ++s) {
      const int64_t one = Roles == 4 ? X : B;  // a word of one character was before
      const auto& v = *s;
      const int64_t to_b[2] = {E, one + v[1]}, to_i[2] = {B + v[2], I + v[3]},
                    to_e[2] = {B + v[4], I + v[5]};
      uint8_t choice = uint8_t(to_b[1] > to_b[0]) | uint8_t(to_i[1] > to_i[0]) << 1 |
                       uint8_t(to_e[1] > to_e[0]) << 2;
      if constexpr (Roles == 4) {
        const int64_t to_s[2] = {E + v[6], X + v[7]};
        choice |= uint8_t(to_s[1] > to_s[0]) << 3;
        X = std::max(to_s[0], to_s[1]);
      }
      B = std::max(to_b[0], to_b[1]);
      I = std::max(to_i[0], to_i[1]);
      E = std::max(to_e[0], to_e[1]);
      choices_[t] = choice;
    }
    delta[begin] = B, delta[inside] = I, delta[end] = E, delta[single] = X;
  }

  // Likewise, one position at a time, where words of the user's own may rule out roles.
  void advance_with_extra_words(int64_t first, int64_t last, int64_t* delta) {
    for (int64_t t = first; t < last; ++t) {
      Scores& s = scores_[4 + t - first];
      const ExtraScores::Position& extra = extra_scores_[t - first];
      int64_t next[4] = {impossible, impossible, impossible, impossible};
      uint8_t choice = 0;
      for (int r = 0; r < Roles; ++r) {
        s[2 * r] = saturated_sum(s[2 * r], extra.score[r]);
        s[2 * r + 1] = saturated_sum(s[2 * r + 1], extra.score[r]);
        const int64_t a = delta[before[r][0]] + s[2 * r], b = delta[before[r][1]] + s[2 * r + 1];
        choice |= uint8_t(b > a) << r;
        if (!(extra.ruled_out >> r & 1)) next[r] = std::max(a, b);
      }
      std::copy(next, next + 4, delta);
      choices_[t] = choice;
      if (keep_scores_) kept_.ruled_out[t] = extra.ruled_out;
    }
  }

  // The sum of two scores, or the nearest there is: those of a damaged file may be of any size.
  static int32_t saturated_sum(int32_t a, int32_t b) {
    using Limits = std::numeric_limits<int32_t>;
    return int32_t(std::clamp<int64_t>(int64_t{a} + b, Limits::min(), Limits::max()));
  }

  void mark_starts(int role, uint8_t* starts) const {
    static constexpr auto previous = [] {  // [role][choice] → the role before
      std::array<uint8_t, 64> out{};
      for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 16; ++c) out[r * 16 + c] = uint8_t(before[r][c >> r & 1] * 16);
      return out;
    }();
    uint32_t at = uint32_t(role) * 16;
    for (int64_t t = T_ - 1; t >= 0; --t) {
      starts[t] = at == begin * 16 || at == single * 16;
      at = previous[at + choices_[t]];
    }
  }

  const SegmentPredictor<Value>& predictor_;
  const Folding folding_;
  const ExtraWords* extra_ = nullptr;
  const int overhang_;             // positions behind a block that its patterns add to
  std::vector<Scores> scores_;     // [4 + block + overhang]: from 4 positions before the block on
  std::vector<uint32_t> entries_;  // [2 + T + 2] of the sentence's characters
  std::vector<uint32_t> symbols_;  // [T] where there are extra words
  std::vector<Found> found_;       // patterns of three characters and more of the block
  std::vector<uint8_t> choices_;   // [T] which role is the best before each role
  ExtraScores extra_scores_;
  int64_t T_ = 0;
  bool keep_scores_ = false;
  KeptScores kept_;
  WordProbabilities<Roles> probabilities_;
};

}  // namespace adaptag
