// Collects the items of a segmented corpus: characters, character bigrams, words, word bigrams.
#pragma once

#include <numeric>

#include "edge_limit.hpp"
#include "segment_index.hpp"

namespace adaptag {

struct SegmentOptions {
  uint32_t cutoff;       // characters and their bigrams that occur less often are left out
  uint32_t word_cutoff;  // as features, likewise words and their bigrams; 0: no word features
  EdgeLimit edges;       // which items have edge weights; cutoff 0: none
};

class SegmentBuilder {
 public:
  // starts [T] marks where words begin; the first character of a sentence begins one.
  SegmentBuilder(std::span<const uint32_t> symbols, std::span<const int64_t> sentences,
                 std::span<const uint8_t> starts, const SegmentOptions& options)
      : symbols_(symbols), sentences_(sentences), starts_(starts), options_(options) {
    count_characters();
    count_words();
    choose_rich();
  }

  std::vector<uint32_t> characters, bigrams, word_symbols, word_offsets{0}, word_counts,
      word_bigrams;
  uint32_t n_unigrams = 0, n_parts = 0;
  std::array<uint32_t, 5> n_rich{};

 private:
  // Numbers from most to least frequent, without those that occur less often than `least`.
  static std::vector<uint32_t> by_frequency(const std::vector<uint32_t>& counts, uint32_t least) {
    std::vector<uint32_t> order;
    for (uint32_t k = 0; k < counts.size(); ++k)
      if (counts[k] >= least) order.push_back(k);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return counts[a] > counts[b]; });
    return order;
  }

  static std::vector<uint32_t> inverse(const std::vector<uint32_t>& order, size_t n) {
    std::vector<uint32_t> out(n, PairTable::none);
    for (uint32_t k = 0; k < order.size(); ++k) out[order[k]] = k;
    return out;
  }

  // Pairs with their counts, numbered in order of appearance.
  struct Pairs {
    PairTable table;
    std::vector<uint32_t> both, counts;
    void add(uint32_t a, uint32_t b) {
      const auto next = uint32_t(counts.size());
      const uint32_t k = table.insert(a, b, next);
      if (k == next) {
        both.insert(both.end(), {a, b});
        counts.push_back(0);
      }
      ++counts[k];
    }
  };

  void count_characters() {
    std::vector<uint32_t> seen(outside_symbol + 1, 0);
    for (const uint32_t symbol : symbols_) ++seen[symbol];
    seen[outside_symbol] = uint32_t(sentences_.size());  // at least 1: it is always there
    const std::vector<uint32_t> order = by_frequency(seen, 1);
    const std::vector<uint32_t> number = inverse(order, seen.size());
    Pairs pairs;
    for (size_t i = 0; i + 1 < sentences_.size(); ++i) {
      if (sentences_[i] == sentences_[i + 1]) continue;
      uint32_t last = number[outside_symbol];
      for (int64_t t = sentences_[i]; t < sentences_[i + 1]; ++t) {
        const uint32_t c = number[symbols_[t]];
        pairs.add(last, c);
        last = c;
      }
      pairs.add(last, number[outside_symbol]);
    }
    // Rare characters are behind all others: those that are kept keep their numbers.
    for (const uint32_t symbol : order)
      if (seen[symbol] >= options_.cutoff || symbol == outside_symbol) {
        characters.push_back(symbol);
        counts_[SegmentIndex::characters].push_back(seen[symbol]);
      }
    kept_ = inverse(characters, seen.size());
    for (const uint32_t g : by_frequency(pairs.counts, options_.cutoff)) {
      const uint32_t a = kept_[order[pairs.both[2 * g]]], b = kept_[order[pairs.both[2 * g + 1]]];
      if (a == PairTable::none || b == PairTable::none) continue;
      kept_bigrams_.insert(a, b, uint32_t(bigrams.size() / 2));
      bigrams.insert(bigrams.end(), {a, b});
      counts_[SegmentIndex::bigrams].push_back(pairs.counts[g]);
    }
  }

  void count_words() {
    Lexicon lexicon;
    std::vector<uint32_t> counts, first, length;  // of each word, and where it stands
    Pairs pairs;
    for (size_t i = 0; i + 1 < sentences_.size(); ++i) {
      uint32_t last = Lexicon::none;
      for (int64_t t = sentences_[i]; t < sentences_[i + 1];) {
        int64_t end = t + 1;
        while (end < sentences_[i + 1] && !starts_[end]) ++end;
        const auto next = uint32_t(counts.size());
        const uint32_t word = lexicon.insert(symbols_.subspan(t, end - t), next);
        if (word == next) {
          counts.push_back(0);
          first.push_back(uint32_t(t));
          length.push_back(uint32_t(end - t));
        }
        ++counts[word];
        if (last != Lexicon::none) pairs.add(last, word);
        last = word;
        t = end;
      }
    }
    const uint32_t least = options_.word_cutoff;
    const auto rank = [&](uint32_t v) {  // unigrams, then single characters, then the others
      const auto word = symbols_.subspan(first[v], length[v]);
      if (least == 0 || counts[v] < least || !can_be_feature(word)) return 2;
      return word.size() == 1 ? 1 : 0;
    };
    std::vector<uint32_t> order = by_frequency(counts, 1);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return rank(a) < rank(b); });
    for (const uint32_t v : order) {
      const auto word = symbols_.subspan(first[v], length[v]);
      word_symbols.insert(word_symbols.end(), word.begin(), word.end());
      word_offsets.push_back(uint32_t(word_symbols.size()));
      word_counts.push_back(counts[v]);
      n_unigrams += rank(v) == 0;
      n_parts += rank(v) < 2;
    }
    counts_[SegmentIndex::words].assign(word_counts.begin(), word_counts.begin() + n_unigrams);
    const std::vector<uint32_t> number = inverse(order, counts.size());
    if (least == 0) return;
    for (const uint32_t h : by_frequency(pairs.counts, least)) {
      const uint32_t a = pairs.both[2 * h], b = pairs.both[2 * h + 1];
      if (rank(a) == 2 || rank(b) == 2 || length[a] + length[b] == 2) continue;  // fires nowhere
      word_bigrams.insert(word_bigrams.end(), {number[a], number[b]});
      counts_[SegmentIndex::word_bigrams].push_back(pairs.counts[h]);
    }
  }

  // Words are found by their characters and their first bigram: these must be features themselves.
  bool can_be_feature(std::span<const uint32_t> word) const {
    const auto is_kept = [&](uint32_t symbol) { return kept_[symbol] != PairTable::none; };
    return word.size() <= longest_word && std::all_of(word.begin(), word.end(), is_kept) &&
           (word.size() == 1 ||
            kept_bigrams_.find(kept_[word[0]], kept_[word[1]]) != PairTable::none);
  }

  void choose_rich() {
    if (options_.edges.cutoff == 0) return;
    counts_[SegmentIndex::repetitions] = {0xFFFFFFFEu};  // as good as always there
    std::vector<uint32_t> all;
    for (const auto& counts : counts_) all.insert(all.end(), counts.begin(), counts.end());
    const uint32_t least = options_.edges.least_count(std::move(all));
    for (int b = 0; b < 5; ++b)
      n_rich[b] = uint32_t(std::partition_point(counts_[b].begin(), counts_[b].end(),
                                                [&](uint32_t n) { return n >= least; }) -
                           counts_[b].begin());
  }

  std::span<const uint32_t> symbols_;
  std::span<const int64_t> sentences_;
  std::span<const uint8_t> starts_;
  const SegmentOptions options_;
  std::vector<uint32_t> kept_;  // symbol → number of the character, where it is a feature
  PairTable kept_bigrams_;      // likewise character bigrams
  std::array<std::vector<uint32_t>, 5> counts_;  // of each block's items, falling
};

}  // namespace adaptag
