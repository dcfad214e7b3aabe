// Characters → predicates for word segmentation (Sun, Wang and Li 2012, ACL, section 3.2).
//
//   item                   can lie, seen from position i                       predicates
//   character c            c_{i−2}, …, c_{i+2}                                          5
//   character bigram       c_j c_{j+1},  j = i−2, …, i+1                                4
//   repetition             c_j = c_{j+1}, j = i−2, …, i+1;  c_j = c_{j+2}, j = i−3, …, i+1  9
//   word of U              ends at i;  starts at i             (2 to 6 characters)      2
//   word bigram of B       meets at i−1 | i;  meets at i | i+1                          2
//
// An item's predicates are neighbours, and their numbers follow from the item's: only items are
// looked up, one character bigram for every four predicates, and rows that are read one after the
// other lie together. The first items of each block, the most frequent ones, may have edge weights:
//
//   node:           …          │ rest of characters │ of words │ of bigrams │ of word bigrams
//   node and edge:  always     │ first characters   │ words    │ bigrams    │ word bigrams
#pragma once

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "layout.hpp"
#include "lexicon.hpp"

namespace adaptag {

constexpr int longest_word = 6;                // in characters, as a feature
constexpr uint32_t outside_symbol = 0x110000;  // what lies before and behind a sentence

// The items, as Python keeps them. They may come from a damaged file.
struct SegmentTables {
  std::span<const uint32_t> characters;    // [C] symbols, by falling frequency, as all items
  std::span<const uint32_t> bigrams;       // [G, 2] numbers of characters
  std::span<const uint32_t> word_symbols;  // symbols of all words, one after the other
  std::span<const uint32_t> word_offsets;  // [V + 1] into them
  std::span<const uint32_t> word_bigrams;  // [H, 2] numbers of words
  uint32_t n_unigrams;                     // the first words: those of U with 2 to 6 characters
  uint32_t n_parts;                        // those, then those of one character: parts of bigrams
  std::array<uint32_t, 5> n_rich;          // items with edge weights: see SegmentIndex::Block
};

class SegmentIndex {
 public:
  enum Block { repetitions, characters, words, bigrams, word_bigrams };
  static constexpr std::array<uint32_t, 5> predicates_of{9, 5, 2, 4, 2};
  static constexpr uint32_t none = PairTable::none;

  explicit SegmentIndex(const SegmentTables& t)
      : bigrams_(t.bigrams.size() / 2), word_bigrams_(t.word_bigrams.size() / 2) {
    const size_t C = t.characters.size();
    check(t.bigrams.size() % 2 == 0 && t.word_bigrams.size() % 2 == 0 && !t.word_offsets.empty());
    const size_t V = t.word_offsets.size() - 1;
    check(t.n_unigrams <= t.n_parts && t.n_parts <= V);
    number({1, uint32_t(C), t.n_unigrams, uint32_t(t.bigrams.size() / 2),
            uint32_t(t.word_bigrams.size() / 2)},
           t.n_rich);
    symbols_.assign(outside_symbol + 1, none);
    for (uint32_t c = 0; c < C; ++c) {
      check(t.characters[c] <= outside_symbol && symbols_[t.characters[c]] == none);
      symbols_[t.characters[c]] = c;
    }
    outside_ = symbols_[outside_symbol];
    for (uint32_t g = 0; g < t.bigrams.size() / 2; ++g) {
      const uint32_t a = t.bigrams[2 * g], b = t.bigrams[2 * g + 1];
      check(a < C && b < C && bigrams_.insert(a, b, g) == g);
    }
    add_words(t);
    for (uint32_t h = 0; h < t.word_bigrams.size() / 2; ++h) {
      const uint32_t a = t.word_bigrams[2 * h], b = t.word_bigrams[2 * h + 1];
      check(a < t.n_parts && b < t.n_parts && word_bigrams_.insert(a, b, h) == h);
    }
  }

  uint32_t n_node() const { return n_node_; }
  uint32_t n_both() const { return n_both_; }

  // Working memory of one thread, and what the last sentence fires.
  struct Scratch {
    std::vector<uint32_t> characters;   // [2 + T + 2] numbers, those outside included
    std::vector<uint32_t> bigrams;      // [2 + T + 1] of each two neighbours
    std::vector<uint32_t> words;        // [T, 6] the word of 1 to 6 characters that starts here
    std::vector<uint8_t> starts, ends;  // [T] bit L − 1: a word of L characters starts or ends here
    std::vector<uint32_t> predicates;
    std::vector<int64_t> offsets;
  };

  // Appends the predicates of one sentence.
  void encode(std::span<const uint32_t> symbols, Scratch& s) const {
    const int T = int(symbols.size());
    look_up(symbols, s);
    match_words(T, s);
    for (int i = 0; i < T; ++i) {
      Fired fired(*this);
      fired.add(0);  // always
      for (int k = 0; k < 5; ++k) fired.add(characters, s.characters[i + k], k);
      for (int k = 0; k < 4; ++k) fired.add(bigrams, s.bigrams[i + k], k);
      add_repetitions(symbols, i, fired);
      add_words_at(i, s, fired);
      if (i > 0) add_word_bigrams(i - 1, T, s, fired, 0);
      add_word_bigrams(i, T, s, fired, 1);
      fired.append_to(s.predicates);
      s.offsets.push_back(int64_t(s.predicates.size()));
    }
  }

  // The predicate that always fires, and those of items.
  uint32_t always() const { return n_node_; }
  uint32_t predicate(Block block, uint32_t item, uint32_t place) const {
    const uint32_t size = predicates_of[block], rich = rich_[block];
    return item < rich ? both_[block] + item * size + place
                       : node_[block] + (item - rich) * size + place;
  }

  // What a predicate is: its block (5: it always fires), its item, and which of the item's it is.
  struct Name {
    int block;
    uint32_t item, place;
  };
  Name name(uint32_t id) const {
    if (id == n_node_) return {5, 0, 0};
    for (int b = 0; b < 5; ++b) {
      const uint32_t size = predicates_of[b];
      if (id >= both_[b] && id < both_[b] + rich_[b] * size)
        return {b, (id - both_[b]) / size, (id - both_[b]) % size};
      if (id >= node_[b] && id < node_[b] + (items_[b] - rich_[b]) * size)
        return {b, rich_[b] + (id - node_[b]) / size, (id - node_[b]) % size};
    }
    throw std::out_of_range("no such feature");
  }

 private:
  // The predicates that fire at a position: those with node weights only come first.
  class Fired {
   public:
    explicit Fired(const SegmentIndex& index) : index_(index) {}
    void add(uint32_t k) { both_[n_both_++] = index_.n_node_ + k; }
    void add(Block block, uint32_t item, uint32_t place) {
      if (item == none) return;
      const uint32_t size = predicates_of[block], rich = index_.rich_[block];
      if (item < rich)
        both_[n_both_++] = index_.both_[block] + item * size + place;
      else
        node_[n_node_++] = index_.node_[block] + (item - rich) * size + place;
    }
    void append_to(std::vector<uint32_t>& out) const {
      out.insert(out.end(), node_, node_ + n_node_);
      out.insert(out.end(), both_, both_ + n_both_);
    }

   private:
    static constexpr int most = 1 + 5 + 4 + 9 + 10 + 2 * 36;
    const SegmentIndex& index_;
    uint32_t node_[most], both_[most];
    int n_node_ = 0, n_both_ = 0;
  };

  static void check(bool good) {
    if (!good) throw std::invalid_argument("the tables of the segmenter do not fit together");
  }

  void number(const std::array<uint32_t, 5>& items, const std::array<uint32_t, 5>& rich) {
    uint64_t node = 0, both = 1;
    for (int b = 0; b < 5; ++b) {
      check(rich[b] <= items[b]);
      node += uint64_t{items[b] - rich[b]} * predicates_of[b];
      both += uint64_t{rich[b]} * predicates_of[b];
    }
    check(node + both < 0xFFFFFFF0u);
    items_ = items;
    rich_ = rich;
    n_node_ = uint32_t(node);
    n_both_ = uint32_t(both);
    uint32_t next_node = 0, next_both = n_node_ + 1;
    for (int b = 0; b < 5; ++b) {
      node_[b] = next_node;
      both_[b] = next_both;
      next_node += (items[b] - rich[b]) * predicates_of[b];
      next_both += rich[b] * predicates_of[b];
    }
  }

  // A trie of the words that are features. Its second level is found by character bigram.
  void add_words(const SegmentTables& t) {
    const size_t V = t.word_offsets.size() - 1;
    check(t.word_offsets[0] == 0 && t.word_offsets[V] == t.word_symbols.size());
    for (size_t v = 0; v < V; ++v) check(t.word_offsets[v] < t.word_offsets[v + 1]);
    single_.assign(t.characters.size(), none);
    second_.assign(t.bigrams.size() / 2, none);
    for (uint32_t v = 0; v < t.n_parts; ++v) {
      const auto symbols =
          t.word_symbols.subspan(t.word_offsets[v], t.word_offsets[v + 1] - t.word_offsets[v]);
      const size_t length = symbols.size();
      check(v < t.n_unigrams ? length >= 2 && length <= longest_word : length == 1);
      std::array<uint32_t, longest_word> c{};
      for (size_t k = 0; k < length; ++k) {
        check(symbols[k] <= outside_symbol);
        c[k] = symbols_[symbols[k]];
      }
      check(std::find(c.begin(), c.begin() + length, none) == c.begin() + length);
      if (length == 1) {
        single_[c[0]] = v;
        continue;
      }
      const uint32_t g = bigrams_.find(c[0], c[1]);
      check(g != none);
      if (second_[g] == none) second_[g] = new_node();
      uint32_t node = second_[g];
      for (size_t k = 2; k < length; ++k) {
        const auto next = uint32_t(word_of_.size());
        node = branches_.insert(node, c[k], next);
        if (node == next) new_node();
      }
      word_of_[node] = v;
    }
  }
  uint32_t new_node() {
    word_of_.push_back(none);
    return uint32_t(word_of_.size()) - 1;
  }

  void look_up(std::span<const uint32_t> symbols, Scratch& s) const {
    const size_t T = symbols.size();
    s.characters.assign(T + 4, outside_);
    for (size_t t = 0; t < T; ++t) s.characters[t + 2] = symbols_[symbols[t]];
    const auto pair = [&](size_t k, auto&& use) {
      const uint32_t a = s.characters[k], b = s.characters[k + 1];
      if (a != none && b != none) use(a, b);
    };
    s.bigrams.assign(T + 3, none);
    for (size_t k = 0; k < T + 3; ++k)
      pair(k, [&](uint32_t a, uint32_t b) { bigrams_.prefetch(a, b); });
    for (size_t k = 0; k < T + 3; ++k)
      pair(k, [&](uint32_t a, uint32_t b) { s.bigrams[k] = bigrams_.find(a, b); });
  }

  void match_words(int T, Scratch& s) const {
    s.words.resize(size_t(T) * longest_word);
    s.starts.assign(T, 0);
    s.ends.assign(T, 0);
    const auto match = [&](int t, int length, uint32_t word) {
      if (word == none) return;
      s.words[size_t(t) * longest_word + length - 1] = word;
      s.starts[t] |= 1 << (length - 1);
      s.ends[t + length - 1] |= 1 << (length - 1);
    };
    for (int t = 0; t < T; ++t) {
      const uint32_t c = s.characters[t + 2], g = s.bigrams[t + 2];
      if (c != none) match(t, 1, single_[c]);
      uint32_t node = t + 1 < T && g != none ? second_[g] : none;
      for (int length = 2; node != none; ++length) {
        match(t, length, word_of_[node]);
        if (length == longest_word || t + length >= T) break;
        const uint32_t next = s.characters[t + length + 2];
        node = next == none ? none : branches_.find(node, next);
      }
    }
  }

  void add_repetitions(std::span<const uint32_t> x, int i, Fired& fired) const {
    const int T = int(x.size());
    for (int j = std::max(0, i - 2); j <= std::min(T - 2, i + 1); ++j)
      if (x[j] == x[j + 1]) fired.add(repetitions, 0, j - i + 2);
    for (int j = std::max(0, i - 3); j <= std::min(T - 3, i + 1); ++j)
      if (x[j] == x[j + 2]) fired.add(repetitions, 0, 4 + j - i + 3);
  }

  static uint32_t word(const Scratch& s, int start, int length) {
    return s.words[size_t(start) * longest_word + length - 1];
  }

  // Calls f(length) for the words of at least `least` and at most `most` characters.
  template <class F>
  static void for_each_length(uint8_t lengths, int least, int most, F&& f) {
    for (int length = least; length <= most; ++length)
      if (lengths >> (length - 1) & 1) f(length);
  }

  void add_words_at(int i, const Scratch& s, Fired& fired) const {
    for_each_length(s.ends[i], 2, longest_word,
                    [&](int n) { fired.add(words, word(s, i - n + 1, n), 0); });
    for_each_length(s.starts[i], 2, longest_word,
                    [&](int n) { fired.add(words, word(s, i, n), 1); });
  }

  // The word bigrams that meet between p and p + 1, as seen from p + 1 (place 0) or from p (1).
  // With x_{j,i−1} x_{i,k} and x_{j,i} x_{i+1,k}, i − 6 < j < i < k < i + 6, the word that holds i
  // has 2 to 6 characters, the other 1 to 5.
  void add_word_bigrams(int p, int T, const Scratch& s, Fired& fired, uint32_t place) const {
    if (p + 1 >= T || !s.ends[p] || !s.starts[p + 1]) return;
    const int a_least = place == 1 ? 2 : 1, b_least = place == 1 ? 1 : 2;
    for_each_length(s.ends[p], a_least, longest_word - 2 + a_least, [&](int a) {
      for_each_length(s.starts[p + 1], b_least, longest_word - 2 + b_least, [&](int b) {
        fired.add(word_bigrams, word_bigrams_.find(word(s, p - a + 1, a), word(s, p + 1, b)),
                  place);
      });
    });
  }

  std::array<uint32_t, 5> items_{}, rich_{}, node_{}, both_{};  // [block] counts, first predicates
  uint32_t n_node_ = 0, n_both_ = 0;
  std::vector<uint32_t> symbols_;  // symbol → number of the character
  uint32_t outside_;
  PairTable bigrams_;              // characters → character bigram
  std::vector<uint32_t> single_;   // character → the word it is
  std::vector<uint32_t> second_;   // character bigram → node of the trie
  PairTable branches_;             // node, character → node
  std::vector<uint32_t> word_of_;  // node → word
  PairTable word_bigrams_;         // words → word bigram
};

}  // namespace adaptag
