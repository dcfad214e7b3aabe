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
  std::vector<uint32_t> before_, behind_;
  size_t limit_ = no_limit;
  int n_threads_ = 1;   // of the last data
  uint32_t n_old_ = 0;  // the first ones are those of the index it started from
};

}  // namespace adaptag
