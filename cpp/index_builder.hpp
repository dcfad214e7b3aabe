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
#include "stored_keys.hpp"
#include "token_numbering.hpp"

namespace adaptag {

class IndexBuilder {
 public:
  explicit IndexBuilder(const Program& program)
      : IndexBuilder(program, TokenNumbering(program.columns.size())) {}

  // Starts from the tables of an index, whose strings and predicates are known from now on, under
  // their old numbers. The tables may come from a damaged file: throws unless all numbers are in
  // range.
  IndexBuilder(const Program& program, const VocabularyView& stored,
               std::span<const uint32_t> derived, std::span<const uint32_t> keys,
               const std::array<uint32_t, 3>& n_of_kind)
      : IndexBuilder(program, TokenNumbering(program.columns.size(), stored, derived)) {
    seed_predicates(keys, n_of_kind, stored.size());
  }

  // Counts and encodes sentences of columns in n threads; cell(t, column) gives the token at flat
  // position t.
  template <class Cell>
  void add(std::span<const int64_t> sentences, Cell&& cell, int n) {
    const size_t C = program_.columns.size();
    add_ranges(
        sentences, n, false, [&](int64_t, int T) { return n_of_lines(T); },
        [&](TokenNumbering& numbering, int64_t t, Tokens& tokens) {
          for (size_t c = 0; c < C; ++c)
            tokens.push_back(numbering.number(program_.columns[c], c,
                                              cell(t, program_.columns[c].source), !full()));
        },
        [&](PredicateNumbering& numbering, int64_t, int T, const uint32_t* tokens,
            PartWriter& out) {
          out.cells.resize(program_, T);
          std::copy_n(tokens, size_t(T) * C, out.cells.first_token());
          out.cells.set_boundaries(before_, behind_);
          number_lines(numbering, out, [](int) {});
          return size_t(T) * C;
        });
  }

  // The same for attributes: positions [T + 1] → names and values.
  template <class Name>
  void add_attributes(std::span<const int64_t> sentences, std::span<const int64_t> items,
                      Name&& name, std::span<const float> item_values, int n) {
    const auto skeleton = uint32_t(program_.attribute_skeleton);
    add_ranges(
        sentences, n, true,
        [&](int64_t first, int T) {
          return size_t(items[first + T] - items[first]) + n_of_lines(T);
        },
        [&](TokenNumbering& numbering, int64_t t, Tokens& tokens) {
          for (int64_t k = items[t]; k < items[t + 1]; ++k)
            tokens.push_back(numbering.number(name(k), !full()));
        },
        [&](PredicateNumbering& numbering, int64_t first, int T, const uint32_t* tokens,
            PartWriter& out) {
          out.cells.resize(program_, T);
          number_lines(numbering, out, [&](int t) {
            for (int64_t k = items[first + t]; k < items[first + t + 1]; ++k) {
              const uint32_t id = tokens[k - items[first]];
              if (id == VocabularyView::unknown) continue;
              const uint64_t f = Program::fingerprint(mix(Program::seed(skeleton), id));
              out.push(numbering.count(f, program_.attribute_kind, skeleton, limit_,
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
    data.renumber({first[1], first[2]}, false, [&](uint32_t id) {
      return first[predicates_.kinds[id]] + predicates_.ordinals[id];
    });
  }

  // Forgets the encoded data, not the predicates, which still count as often as they were seen.
  void clear_data() { data = {}; }

  // Treats the first n predicates as old ones: freezing keeps them, in order of first appearance.
  void mark_as_old(size_t n) { n_old_ = uint32_t(std::min(n, predicates_.size())); }
  void mark_all_as_old() { mark_as_old(predicates_.size()); }

  // Adds the strings of a builder of a later part of the data, and what macros make of them;
  // returns their numbers here.
  std::vector<uint32_t> add_strings(const VocabularyView& strings,
                                    std::span<const uint32_t> derived_of) {
    return tokens_.merge(TokenNumbering(program_.columns.size(), strings, derived_of));
  }
  // Adds new predicates, none of them twice, with how often other builders have counted them.
  void add_counted(std::span<const uint32_t> keys_of, std::span<const uint8_t> kinds,
                   std::span<const uint32_t> counts) {
    const StoredKeys stored(program_);
    predicates_.append_counted(stored.fingerprints(keys_of, kinds, vocabulary().size()), kinds,
                               keys_of, counts);
  }

  // Hands over the predicates as they were counted, in order of first appearance, which are the
  // numbers of the encoded data too, and fills `derived`. Nothing can be added afterwards.
  PredicateCounts take_counts() {
    data.renumber({0, 0}, false, [](uint32_t id) { return id; });
    derived = tokens_.derived_table();
    return predicates_.take_counts(n_threads_);
  }

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
    data.renumber({n_of_kind[0], n_of_kind[0] + n_of_kind[1]},
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
  IndexBuilder(const Program& program, TokenNumbering tokens)
      : program_(program), tokens_(std::move(tokens)), predicates_(size_t(program.arity)) {
    const auto number = [&](std::string_view token) { return vocabulary().intern(token); };
    before_ = program_.boundaries(-1, number);
    behind_ = program_.boundaries(1, number);
  }

  bool full() const { return predicates_.size() >= limit_; }

  using Tokens = LargeVector<uint32_t>;

  // How many predicates the lines give for T positions; edges enter all but the first.
  size_t n_of_lines(int T) const {
    const auto n_edges = size_t(std::count_if(program_.lines.begin(), program_.lines.end(),
                                              [](const Line& line) { return line.kind == 2; }));
    return T ? size_t(T) * program_.lines.size() - n_edges : 0;
  }

  // Counts and encodes ranges of sentences. The T positions from `first` on have
  // n_predicates(first, T) predicates, or fewer where their number is limited.
  // number_tokens(numbering, t, tokens) appends the numbers of the tokens of position t;
  // encode(numbering, first, T, tokens, writer) stores the predicates of the T positions from
  // `first` on, and returns how many tokens it took.
  template <class NPredicates, class NumberTokens, class Encode>
  void add_ranges(std::span<const int64_t> sentences, int n, bool with_values,
                  NPredicates&& n_predicates, NumberTokens&& number_tokens, Encode&& encode) {
    if (limit_ < no_limit) n = 1;
    n_threads_ = n;
    predicates_.complete_table(n);
    const size_t N = sentences.size() - 1, earlier = data.n_tokens();
    const std::vector<size_t> bounds = sentence_ranges(sentences, n);
    std::vector<size_t> begins{data.predicates.size()};  // of the ranges, in data.predicates
    for (int k = 0; k < n; ++k) {
      size_t size = 0;
      for (size_t i = bounds[k]; i < bounds[k + 1]; ++i)
        size += n_predicates(sentences[i], int(sentences[i + 1] - sentences[i]));
      begins.push_back(begins.back() + size);
    }
    data.extend(size_t(sentences[N]), begins[n] - begins[0], with_values);
    const auto encode_range = [&](PredicateNumbering& numbering, size_t begin, size_t end,
                                  const uint32_t* tokens, PartWriter& writer) {
      for (size_t i = begin; i < end; ++i)
        tokens +=
            encode(numbering, sentences[i], int(sentences[i + 1] - sentences[i]), tokens, writer);
    };
    if (n == 1) {
      Tokens tokens;
      predicates_.reserve(begins[1] - begins[0], 0);
      PartWriter writer(data, earlier, begins[0]);
      for (size_t i = 0; i < N; ++i) {
        tokens.clear();
        for (int64_t t = sentences[i]; t < sentences[i + 1]; ++t) number_tokens(tokens_, t, tokens);
        encode_range(predicates_, i, i + 1, tokens.data(), writer);
      }
      data.parts.push_back({earlier, size_t(sentences[N])});
      return data.shrink();
    }
    // The first thread works on the numbering of all data: what is new there comes first anyway.
    std::vector<Tokens> tokens(n);
    std::vector<std::vector<uint32_t>> token_numbers(n);
    std::vector<TokenNumbering> token_numberings(n - 1, TokenNumbering(program_.columns.size()));
    in_parallel(n, [&](int k) {
      TokenNumbering& numbering = k ? token_numberings[k - 1] : tokens_;
      Tokens own;  // not beside those of other threads while it grows
      const int64_t begin = sentences[bounds[k]], end = sentences[bounds[k + 1]];
      own.reserve(size_t(end - begin) * program_.columns.size());
      for (int64_t t = begin; t < end; ++t) number_tokens(numbering, t, own);
      tokens[k] = std::move(own);
    });
    for (int k = 1; k < n; ++k) token_numbers[k] = tokens_.merge(token_numberings[k - 1]);
    std::vector<PredicateNumbering> numberings(n - 1, PredicateNumbering(size_t(program_.arity)));
    in_parallel(n, [&](int k) {
      if (k)
        for (uint32_t& id : tokens[k]) id = token_numbers[k][id];
      PredicateNumbering& numbering = k ? numberings[k - 1] : predicates_;
      numbering.reserve(begins[k + 1] - begins[k], k ? 0 : begins[n] - begins[1]);
      PartWriter writer(data, earlier + size_t(sentences[bounds[k]]), begins[k]);
      encode_range(numbering, bounds[k], bounds[k + 1], tokens[k].data(), writer);
    });
    for (int k = 0; k < n; ++k) {
      const int64_t begin = sentences[bounds[k]], end = sentences[bounds[k + 1]];
      data.parts.push_back({earlier + size_t(begin), size_t(end - begin)});
      if (k) data.parts.back().numbers = predicates_.merge(numberings[k - 1], n);
    }
  }

  // Stores the predicates of the lines at every position of a sentence, after others(position).
  template <class Others>
  void number_lines(PredicateNumbering& numbering, PartWriter& out, Others&& others) {
    fingerprints(program_, out.cells, out.hashes, [&](uint64_t h) { numbering.prefetch(h); });
    auto h = out.hashes.begin();
    for (int t = 0; t < out.cells.length; ++t) {
      others(t);
      for (const Line& line : program_.lines) {
        if (*h)
          out.push(numbering.count(*h, line.kind, line.skeleton, limit_,
                                   [&](size_t k) {
                                     return k < line.offsets.size()
                                                ? out.cells.token(t)[line.offsets[k]]
                                                : VocabularyView::unknown;
                                   }),
                   1.0f);
        ++h;
      }
      out.end_token();
    }
  }

  void write_tables(std::span<const uint32_t> order) {
    const size_t width = predicates_.width();
    LargeVector<uint64_t> fingerprints(order.size());
    keys.resize(order.size() * width);
    for_ranges(order.size(), n_threads_, [&](int, size_t begin, size_t end) {
      for (size_t k = begin; k < end; ++k) {
        fingerprints[k] = predicates_.fingerprints[order[k]];
        std::copy_n(predicates_.keys.data() + order[k] * width, width, keys.data() + k * width);
      }
    });
    slots = slots_of(fingerprints, n_threads_);
    derived = tokens_.derived_table();
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

  void seed_predicates(std::span<const uint32_t> keys, const std::array<uint32_t, 3>& n_of_kind,
                       size_t V) {
    const size_t width = predicates_.width(), n = keys.size() / width;
    if (keys.size() % width || uint64_t{n_of_kind[0]} + n_of_kind[1] + n_of_kind[2] != n)
      throw std::invalid_argument("index: keys and numbers of predicates do not fit together");
    predicates_.keys.assign(keys.begin(), keys.end());
    const StoredKeys stored(program_);
    size_t id = 0;
    for (int kind = 0; kind < 3; ++kind)
      for (uint32_t k = 0; k < n_of_kind[kind]; ++k, ++id) {
        const auto key = keys.subspan(id * width, width);
        stored.check_kind(key, kind);
        if (!predicates_.add_stored(stored.fingerprint(key, V), kind))
          throw std::invalid_argument("index: a predicate is stored twice");
      }
    mark_all_as_old();
  }

  static constexpr size_t no_limit = 0xFFFFFFF0u;

  Program program_;
  TokenNumbering tokens_;
  PredicateNumbering predicates_;
  std::vector<uint32_t> before_, behind_;
  size_t limit_ = no_limit;
  int n_threads_ = 1;   // of the last data
  uint32_t n_old_ = 0;  // the first ones are those of the index it started from
};

}  // namespace adaptag
