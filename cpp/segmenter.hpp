// Text → words: the best labels of its characters, and how probable each word is.
#pragma once

#include <optional>

#include "characters.hpp"
#include "lattice.hpp"
#include "segment_index.hpp"

namespace adaptag {

// The label of each place in a word. With three labels a word of one character has
// the label of a beginning.
struct WordTags {
  int begin, inside, end, single;

  bool starts(int y) const { return y == begin || y == single; }
  int at(int k, int length) const {
    return length == 1 ? single : k == 0 ? begin : k + 1 == length ? end : inside;
  }
  bool legal(int from, int to) const {
    return starts(to) ? from == end || from == single : from == begin || from == inside;
  }
};

// Words that training did not see. The weight of each is added to the scores of its labels at every
// character; infinity forces the word wherever it occurs.
struct ExtraWords {
  Lexicon lexicon;
  std::vector<float> weights;  // by number
  size_t size = 0;             // words that are not erased

  void insert(std::span<const uint32_t> symbols, float weight) {
    const auto next = uint32_t(weights.size());
    const uint32_t word = lexicon.insert(symbols, next);
    if (word == next) {
      weights.push_back(weight);
      ++size;
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

template <int W>
class Segmenter {
 public:
  Segmenter(const Layout& layout, const float* weights, const SegmentIndex& index,
            const WordTags& tags, Folding folding, std::span<const ExtraWords* const> extra)
      : layout_(layout),
        weights_(weights),
        index_(index),
        tags_(tags),
        folding_(folding),
        lattice_(layout) {
    for (const ExtraWords* words : extra)
      if (words->size > 0) extra_.push_back(words);
  }

  // Marks where the words of a text begin, runs of white space being words too, and where wanted
  // gives each word's probability at its first character.
  void cut(std::span<const uint32_t> text, uint8_t* starts, float* probabilities) {
    const size_t n = text.size();
    for (size_t t = 0; t < n;) {
      const bool space = is_space(text[t]);
      size_t end = t + 1;
      while (end < n && is_space(text[end]) == space) ++end;
      std::fill(starts + t, starts + end, uint8_t(0));
      if (space) {
        starts[t] = 1;
        if (probabilities) probabilities[t] = 1.0f;
      } else {
        symbols_.resize(end - t);
        for (size_t k = t; k < end; ++k) symbols_[k - t] = fold(text[k], folding_);
        cut_sentence(starts + t, probabilities ? probabilities + t : nullptr);
      }
      t = end;
    }
  }

 private:
  // A long sentence is cut in windows. Each is decoded with a margin on both sides that is not
  // used; the next one begins with the last word that began in the used part.
  static constexpr int window = 4096, margin = 128, context = 16;

  void cut_sentence(uint8_t* starts, float* probabilities) {
    const int n = int(symbols_.size());
    bool begins = true;  // whether a word begins with the window
    for (int first = 0; first < n;) {
      const int from = std::max(0, first - margin);
      const int to = n - first <= window + margin ? n : first + window + margin;
      decode(from, first, to);
      int next = to;
      if (to < n) {
        next = first + window;
        while (next > first && !tags_.starts(labels_[next - from])) --next;
      }
      const bool broken = next == first;  // one word all through the window
      if (broken) next = first + window;
      for (int t = first; t < next; ++t) starts[t] = tags_.starts(labels_[t - from]);
      starts[first] = begins;
      if (probabilities) fill_probabilities(from, first, next, starts, probabilities);
      begins = !broken;
      first = next;
    }
  }

  // Finds the best labels of the characters from `from` to `to`. Those before `decided` are cut
  // already and serve as context only.
  void decode(int from, int decided, int to) {
    const int first = std::max(0, from - context);
    const int last = int(std::min(symbols_.size(), size_t(to) + context));
    scratch_.predicates.clear();
    scratch_.offsets.assign(1, 0);
    index_.encode({symbols_.data() + first, size_t(last - first)}, scratch_);
    for (const uint32_t id : scratch_.predicates) __builtin_prefetch(weights_ + layout_.row(id));
    lattice_.score({to - from, scratch_.offsets.data() + from - first, scratch_.predicates.data(),
                    nullptr, nullptr},
                   weights_, unscaled);
    for (const ExtraWords* extra : extra_) add_extra_words(*extra, from, decided, to);
    constrain(from == 0, size_t(to) == symbols_.size());
    labels_.resize(to - from);
    lattice_.viterbi(labels_.data());
  }

  void constrain(bool begins, bool ends) {
    const int Y = layout_.n_labels, w = lattice_.width();
    for (int m = 0; m < lattice_.n_matrices(); ++m)
      for (int i = 0; i < Y; ++i)
        for (int j = 0; j < Y; ++j)
          if (!tags_.legal(i, j)) lattice_.edge_matrix(m)[i * w + j] = forbidden;
    float* last = lattice_.node.data() + size_t(lattice_.length - 1) * w;
    for (int y = 0; y < Y; ++y) {
      if (begins && !tags_.starts(y)) lattice_.node[y] = forbidden;
      if (ends && y != tags_.end && y != tags_.single) last[y] = forbidden;
    }
  }

  void add_extra_words(const ExtraWords& extra, int from, int decided, int to) {
    const int w = lattice_.width();
    int forced_end = decided;  // the end of the last word that is forced
    for (int t = from; t < to; ++t) {
      int forced = 0;
      uint32_t node = Lexicon::root;
      for (int length = 1; t + length <= to; ++length) {
        node = extra.lexicon.step(node, symbols_[t + length - 1]);
        if (node == Lexicon::none) break;
        const uint32_t word = extra.lexicon.word(node);
        if (word == Lexicon::none) continue;
        const float weight = extra.weights[word];
        if (weight == std::numeric_limits<float>::infinity())
          forced = length;
        else
          add_word_score(t - from, length, weight);
      }
      if (forced == 0 || t < forced_end) continue;
      forced_end = t + forced;
      for (int k = 0; k < forced; ++k)
        for (int y = 0; y < layout_.n_labels; ++y)
          if (y != tags_.at(k, forced)) lattice_.node[size_t(t + k - from) * w + y] = forbidden;
      // With three labels, that of a single character does not say where its word ends.
      if (forced_end < to)
        for (int y = 0; y < layout_.n_labels; ++y)
          if (!tags_.starts(y)) lattice_.node[size_t(forced_end - from) * w + y] = forbidden;
    }
  }

  // Adds a weight to the labels of a word. With three labels a word of one character has none of
  // its own: the weight is shared with a word that begins behind it.
  void add_word_score(int t, int length, float weight) {
    const auto add = [&](int at, int y, float x) {
      if (at < lattice_.length) lattice_.node[size_t(at) * lattice_.width() + y] += x;
    };
    if (length == 1 && tags_.single == tags_.begin) {
      add(t, tags_.begin, weight / 2);
      add(t + 1, tags_.begin, weight / 2);
    } else {
      for (int k = 0; k < length; ++k) add(t + k, tags_.at(k, length), weight);
    }
  }

  // P(word) = P(its first label) Π P(label | label before) · Σ P(a label that begins a word | last)
  void fill_probabilities(int from, int first, int next, const uint8_t* starts,
                          float* probabilities) {
    lattice_.expectations();
    for (int t = first; t < next; ++t) {
      if (!starts[t]) continue;
      int end = t + 1;
      while (end < next && !starts[end]) ++end;
      probabilities[t] = float(word_probability(t - from, end - from));
    }
  }

  double word_probability(int first, int end) const {
    double p = lattice_.probability(first, labels_[first]);
    for (int t = first + 1; t < end && p > 0; ++t)
      p *= lattice_.transition(t, labels_[t - 1], labels_[t]) /
           lattice_.probability(t - 1, labels_[t - 1]);
    if (end == lattice_.length || p <= 0) return std::clamp(p, 0.0, 1.0);
    double ends = lattice_.transition(end, labels_[end - 1], tags_.begin);
    if (tags_.single != tags_.begin)
      ends += lattice_.transition(end, labels_[end - 1], tags_.single);
    return std::clamp(p * ends / lattice_.probability(end - 1, labels_[end - 1]), 0.0, 1.0);
  }

  const Layout layout_;
  const float* const weights_;
  const SegmentIndex& index_;
  const WordTags tags_;
  const Folding folding_;
  std::vector<const ExtraWords*> extra_;
  Lattice<W> lattice_;
  SegmentIndex::Scratch scratch_;
  std::vector<uint32_t> symbols_;  // of the sentence
  std::vector<int32_t> labels_;    // of the window
};

}  // namespace adaptag
