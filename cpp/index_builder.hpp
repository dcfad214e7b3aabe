// Builds a feature index from training data, or grows one, and encodes that data at the same time:
// all of it, numbered at the end by frequency, or part after part of a stream, numbered at once.
//
// In several threads, each has a range of sentences: it numbers their tokens, these numbers are
// merged, then it numbers their predicates, these are merged. The index that comes out does not
// depend on the number of threads.
#pragma once

#include <array>

#include "edge_limit.hpp"
#include "encoded_parts.hpp"
#include "index_tables.hpp"
#include "predicate_numbering.hpp"
#include "token_numbering.hpp"

namespace adaptag {

class IndexBuilder {
 public:
  explicit IndexBuilder(Program program) : IndexBuilder(std::move(program), Vocabulary()) {}

  // Starts from the tables of an index, whose strings and predicates are known from now on, under
  // their old numbers. The tables may come from a damaged file: throws unless all numbers are in
  // range.
  IndexBuilder(Program program, const VocabularyView& stored, std::span<const uint32_t> derived,
               std::span<const uint32_t> keys, const std::array<uint32_t, 3>& n_of_kind)
      : IndexBuilder(std::move(program), Vocabulary(stored)) {
    seed_derived(derived, stored.size());
    seed_predicates(keys, n_of_kind, stored.size());
  }

  // Counts and encodes sentences of columns in n threads; cell(t, column) gives the token at flat
  // position t.
  template <class Cell>
  void add(std::span<const int64_t> sentences, Cell&& cell, int n) {
    const size_t C = program_.columns.size();
    add_ranges(
        sentences, n, program_.lines.size(),
        [&](TokenNumbering& numbering, int64_t t, std::vector<uint32_t>& tokens) {
          for (size_t c = 0; c < C; ++c)
            tokens.push_back(numbering.number(program_.columns[c], c,
                                              cell(t, program_.columns[c].source), !full()));
        },
        [&](PredicateNumbering& numbering, int64_t, int T, const uint32_t* tokens,
            EncodedPart& part) {
          part.cells.resize(program_, T);
          std::copy_n(tokens, size_t(T) * C, part.cells.first_token());
          part.cells.set_boundaries(before_, behind_);
          number_lines(numbering, part, [](int) {});
          return size_t(T) * C;
        });
  }

  // The same for attributes: positions [T + 1] → names and values.
  template <class Name>
  void add_attributes(std::span<const int64_t> sentences, std::span<const int64_t> items,
                      Name&& name, std::span<const float> item_values, int n) {
    const auto skeleton = uint32_t(program_.attribute_skeleton);
    add_ranges(
        sentences, n, 16,
        [&](TokenNumbering& numbering, int64_t t, std::vector<uint32_t>& tokens) {
          for (int64_t k = items[t]; k < items[t + 1]; ++k)
            tokens.push_back(numbering.number(name(k), !full()));
        },
        [&](PredicateNumbering& numbering, int64_t first, int T, const uint32_t* tokens,
            EncodedPart& part) {
          part.cells.resize(program_, T);
          number_lines(numbering, part, [&](int t) {
            for (int64_t k = items[first + t]; k < items[first + t + 1]; ++k) {
              const uint32_t id = tokens[k - items[first]];
              if (id == VocabularyView::unknown) continue;
              const uint64_t f = Program::fingerprint(mix(Program::seed(skeleton), id));
              push(part,
                   numbering.count(f, program_.attribute_kind, skeleton, limit_,
                                   [&](size_t j) { return j ? VocabularyView::unknown : id; }),
                   item_values[k]);
            }
          });
          return size_t(items[first + T] - items[first]);
        });
  }

  // Sets the maximum number of predicates, existing ones included. New ones beyond it are left out,
  // and no string is stored for them. Data is added in one thread then.
  void limit(size_t n) { limit_ = n; }

  // The number of predicates of each kind.
  std::array<uint32_t, 3> counts() const { return predicates_.n_of_kind; }

  // Numbers the encoded data for a layout with this capacity of predicates of each kind: within its
  // kind, a predicate has its number in order of first appearance.
  void number_for_capacity(const std::array<uint32_t, 3>& capacity) {
    const uint32_t first[] = {0, capacity[0], capacity[0] + capacity[1]};
    data.join(parts_, {first[1], first[2]}, false,
              [&](uint32_t id) { return first[predicates_.kinds[id]] + predicates_.ordinals[id]; });
  }

  // Forgets the encoded data, not the predicates, which still count as often as they were seen.
  void clear_data() { parts_.clear(); }

  // Treats all predicates as old ones: freezing keeps them, in order of first appearance.
  void mark_all_as_old() { n_old_ = uint32_t(predicates_.size()); }

  // Numbers the predicates by kind: first those of the index it started from, as they were, then
  // those seen at least `cutoff` times, by falling frequency. Drops the others and rewrites the
  // encoded data. Fills n_of_kind, slots, keys and derived. Of the new predicates that may have
  // node and edge weights, those that are too rare have node weights only.
  void freeze(uint32_t cutoff, const EdgeLimit& limit) {
    const LargeVector<uint32_t> counts = predicates_.counts(n_threads_);
    drop_rare_edge_weights(counts, cutoff, limit);
    const FrequencyOrder order(predicates_.kinds, counts, n_old_, cutoff, n_threads_);
    n_of_kind = order.n_of_kind;
    write_tables(order.ids);
    data.join(parts_, {n_of_kind[0], n_of_kind[0] + n_of_kind[1]},
              order.ids.size() < predicates_.size(),
              [&](uint32_t id) { return order.final_ids[id]; });
  }

  Vocabulary& vocabulary() { return tokens_.vocabulary; }
  EncodedArrays data;
  std::array<uint32_t, 3> n_of_kind{};
  LargeVector<uint64_t> slots;    // fingerprint → predicate
  LargeVector<uint32_t> keys;     // [P, 1 + arity] skeleton and token numbers
  std::vector<uint32_t> derived;  // [columns, V]

 private:
  IndexBuilder(Program program, Vocabulary strings)
      : program_(std::move(program)),
        tokens_(program_.columns.size(), std::move(strings)),
        predicates_(size_t(program_.arity)) {
    for (int k = 1; k <= program_.reach; ++k) {
      before_.push_back(vocabulary().intern(Program::boundary(-k)));
      behind_.push_back(vocabulary().intern(Program::boundary(k)));
    }
  }

  bool full() const { return predicates_.size() >= limit_; }

  // Counts and encodes ranges of sentences. number_tokens(numbering, t, tokens) appends the numbers
  // of the tokens of position t; encode(numbering, first, T, tokens, part) the predicates of the T
  // positions from `first` on, and returns how many tokens it took.
  template <class NumberTokens, class Encode>
  void add_ranges(std::span<const int64_t> sentences, int n, size_t per_position,
                  NumberTokens&& number_tokens, Encode&& encode) {
    if (limit_ < no_limit) n = 1;
    n_threads_ = n;
    const size_t earlier = parts_.size();
    parts_.resize(earlier + n);
    const auto part_of = [&](int k) -> EncodedPart& { return parts_[earlier + k]; };
    const auto occurrences = [&](size_t begin, size_t end) {
      return size_t(sentences[end] - sentences[begin]) * per_position;
    };
    const auto encode_range = [&](PredicateNumbering& numbering, size_t begin, size_t end,
                                  const uint32_t* tokens, EncodedPart& part) {
      for (size_t i = begin; i < end; ++i)
        tokens +=
            encode(numbering, sentences[i], int(sentences[i + 1] - sentences[i]), tokens, part);
    };
    if (n == 1) {
      std::vector<uint32_t> tokens;
      const size_t N = sentences.size() - 1;
      predicates_.reserve(occurrences(0, N));
      part_of(0).ids.reserve(occurrences(0, N));
      for (size_t i = 0; i < N; ++i) {
        tokens.clear();
        for (int64_t t = sentences[i]; t < sentences[i + 1]; ++t) number_tokens(tokens_, t, tokens);
        encode_range(predicates_, i, i + 1, tokens.data(), part_of(0));
      }
      return;
    }
    // The first thread works on the numbering of all data: what is new there comes first anyway.
    std::vector<std::vector<uint32_t>> tokens(n), token_numbers(n);
    std::vector<TokenNumbering> token_numberings(n - 1, TokenNumbering(program_.columns.size()));
    for_sentence_ranges(sentences, n, [&](int k, size_t begin, size_t end) {
      TokenNumbering& numbering = k ? token_numberings[k - 1] : tokens_;
      std::vector<uint32_t> own;  // not beside those of other threads while it grows
      own.reserve(occurrences(begin, end));
      for (int64_t t = sentences[begin]; t < sentences[end]; ++t) number_tokens(numbering, t, own);
      tokens[k] = std::move(own);
    });
    for (int k = 1; k < n; ++k) token_numbers[k] = tokens_.merge(token_numberings[k - 1]);
    std::vector<PredicateNumbering> numberings(n - 1, PredicateNumbering(size_t(program_.arity)));
    for_sentence_ranges(sentences, n, [&](int k, size_t begin, size_t end) {
      if (k)
        for (uint32_t& id : tokens[k]) id = token_numbers[k][id];
      PredicateNumbering& numbering = k ? numberings[k - 1] : predicates_;
      numbering.reserve(occurrences(k ? begin : 0, k ? end : sentences.size() - 1));
      part_of(k).ids.reserve(occurrences(begin, k ? end : sentences.size() - 1));
      encode_range(numbering, begin, end, tokens[k].data(), part_of(k));
    });
    for (int k = 1; k < n; ++k) part_of(k).numbers = predicates_.merge(numberings[k - 1], n);
  }

  // Appends the predicates of the lines at every position of a sentence, after others(position).
  template <class Others>
  void number_lines(PredicateNumbering& numbering, EncodedPart& part, Others&& others) {
    fingerprints(program_, part.cells, part.hashes, [&](uint64_t h) { numbering.prefetch(h); });
    auto h = part.hashes.begin();
    for (int t = 0; t < part.cells.length; ++t) {
      others(t);
      for (const Line& line : program_.lines) {
        if (*h) {
          const uint32_t id = numbering.count(*h, line.kind, line.skeleton, limit_, [&](size_t k) {
            return k < line.offsets.size() ? part.cells.token(t)[line.offsets[k]]
                                           : VocabularyView::unknown;
          });
          if (program_.attribute_skeleton >= 0)
            push(part, id, 1.0f);
          else if (id != VocabularyView::unknown)
            part.ids.push_back(id);
        }
        ++h;
      }
      part.ends.push_back(int64_t(part.ids.size()));
    }
  }

  static void push(EncodedPart& part, uint32_t id, float value) {
    if (id == VocabularyView::unknown) return;
    part.ids.push_back(id);
    part.values.push_back(value);
  }

  void write_tables(std::span<const uint32_t> order) {
    const size_t width = predicates_.width(), V = vocabulary().size();
    LargeVector<uint64_t> fingerprints(order.size());
    keys.resize(order.size() * width);
    for_ranges(order.size(), n_threads_, [&](int, size_t begin, size_t end) {
      for (size_t k = begin; k < end; ++k) {
        fingerprints[k] = predicates_.fingerprints[order[k]];
        std::copy_n(predicates_.keys.data() + order[k] * width, width, keys.data() + k * width);
      }
    });
    slots = slots_of(fingerprints, n_threads_);
    derived.assign(program_.columns.size() * V, VocabularyView::unknown);
    for (size_t c = 0; c < program_.columns.size(); ++c)
      std::copy(tokens_.derived[c].begin(), tokens_.derived[c].end(), derived.begin() + c * V);
  }

  void drop_rare_edge_weights(std::span<const uint32_t> count, uint32_t cutoff,
                              const EdgeLimit& limit) {
    if (predicates_.n_of_kind[1] == 0) return;
    const auto rich = [&](uint32_t id) {
      return predicates_.kinds[id] == 1 && count[id] >= cutoff;
    };
    std::vector<uint32_t> counts;
    for (uint32_t id = n_old_; id < predicates_.kinds.size(); ++id)
      if (rich(id)) counts.push_back(count[id]);
    const uint32_t least = limit.least_count(std::move(counts));
    for (uint32_t id = n_old_; id < predicates_.kinds.size(); ++id)
      if (rich(id) && count[id] < least) predicates_.kinds[id] = 0;
  }

  void seed_derived(std::span<const uint32_t> table, size_t V) {
    if (table.size() != V * program_.columns.size())
      throw std::invalid_argument("index: the tables differ in size");
    for (const uint32_t id : table)
      if (id >= V && id != VocabularyView::unknown)
        throw std::invalid_argument("index: a derived string is out of range");
    for (size_t c = 0; c < program_.columns.size(); ++c)
      tokens_.derived[c].assign(table.begin() + c * V, table.begin() + (c + 1) * V);
  }

  void seed_predicates(std::span<const uint32_t> keys, const std::array<uint32_t, 3>& n_of_kind,
                       size_t V) {
    const size_t width = predicates_.width(), n = keys.size() / width;
    if (keys.size() % width || uint64_t{n_of_kind[0]} + n_of_kind[1] + n_of_kind[2] != n)
      throw std::invalid_argument("index: keys and numbers of predicates do not fit together");
    predicates_.keys.assign(keys.begin(), keys.end());
    const std::vector<Form> forms = skeleton_forms();
    size_t id = 0;
    for (int kind = 0; kind < 3; ++kind)
      for (uint32_t k = 0; k < n_of_kind[kind]; ++k, ++id) {
        const auto key = keys.subspan(id * width, width);
        if (!predicates_.add_stored(stored_fingerprint(key, kind, forms, V), kind))
          throw std::invalid_argument("index: a predicate is stored twice");
      }
    mark_all_as_old();
  }

  // What a skeleton's predicates look like.
  struct Form {
    int kind = -1;  // −1: no line has this skeleton
    size_t n_tokens = 0;
  };

  std::vector<Form> skeleton_forms() const {
    std::vector<Form> forms;
    const auto set = [&](uint32_t skeleton, Form form) {
      if (forms.size() <= skeleton) forms.resize(skeleton + 1);
      forms[skeleton] = form;
    };
    for (const Line& line : program_.lines) set(line.skeleton, {line.kind, line.macros.size()});
    if (program_.attribute_skeleton >= 0)
      set(uint32_t(program_.attribute_skeleton), {program_.attribute_kind, 1});
    return forms;
  }

  // The fingerprint of a stored key: a skeleton, its tokens, and `unknown` behind them.
  static uint64_t stored_fingerprint(std::span<const uint32_t> key, int kind,
                                     const std::vector<Form>& forms, size_t V) {
    // A predicate that is too rare for edge weights has node weights only.
    if (key[0] >= forms.size() ||
        (forms[key[0]].kind != kind && !(forms[key[0]].kind == 1 && kind == 0)))
      throw std::invalid_argument("index: a predicate's template line is out of range");
    const size_t n_tokens = forms[key[0]].n_tokens;
    uint64_t h = Program::seed(key[0]);
    for (size_t k = 1; k < key.size(); ++k) {
      if (k <= n_tokens ? key[k] >= V : key[k] != VocabularyView::unknown)
        throw std::invalid_argument("index: a predicate's token is out of range");
      if (k <= n_tokens) h = mix(h, key[k]);
    }
    return Program::fingerprint(h);
  }

  static constexpr size_t no_limit = 0xFFFFFFF0u;

  Program program_;
  TokenNumbering tokens_;
  PredicateNumbering predicates_;
  std::vector<EncodedPart> parts_;
  std::vector<uint32_t> before_, behind_;
  size_t limit_ = no_limit;
  int n_threads_ = 1;   // of the last data
  uint32_t n_old_ = 0;  // the first ones are those of the index it started from
};

}  // namespace adaptag
