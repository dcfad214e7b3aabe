// Builds a feature index from training data, or grows one, and encodes that data at the same time:
// all of it, numbered at the end by frequency, or part after part of a stream, numbered at once.
#pragma once

#include <array>
#include <bit>
#include <numeric>

#include "edge_limit.hpp"
#include "feature_index.hpp"

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

  // Counts and encodes sentences of columns; cell(t, column) gives the token at flat position t.
  template <class Cell>
  void add(std::span<const int64_t> sentences, Cell&& cell) {
    Cells cells;
    std::vector<uint64_t> hashes;
    predicates.reserve(predicates.size() + size_t(sentences.back()) * program_.lines.size());
    for (size_t i = 0; i + 1 < sentences.size(); ++i) {
      const int64_t first = sentences[i];
      const int T = int(sentences[i + 1] - first);
      cells.resize(program_, T);
      for (int t = 0; t < T; ++t)
        for (size_t c = 0; c < program_.columns.size(); ++c)
          cells.at(int(c), t) = intern(int(c), cell(first + t, program_.columns[c].source));
      cells.set_boundaries(before_, behind_);
      fingerprints(program_, cells, hashes, [&](uint64_t h) { __builtin_prefetch(&home(h)); });
      auto h = hashes.begin();
      for (int t = 0; t < T; ++t) {
        for (const Line& line : program_.lines) {
          if (*h)
            push(number(*h, line.kind, line.skeleton, [&](size_t k) {
              return k < line.offsets.size() ? cells.token(t)[line.offsets[k]]
                                             : VocabularyView::unknown;
            }));
          ++h;
        }
        positions.push_back(int64_t(predicates.size()));
      }
    }
  }

  // The same for attributes: positions [T + 1] → names and values.
  template <class Name>
  void add_attributes(std::span<const int64_t> sentences, std::span<const int64_t> items,
                      Name&& name, std::span<const float> item_values) {
    Cells cells;
    std::vector<uint64_t> hashes;
    const auto skeleton = uint32_t(program_.attribute_skeleton);
    for (size_t i = 0; i + 1 < sentences.size(); ++i) {
      const int64_t first = sentences[i];
      const int T = int(sentences[i + 1] - first);
      cells.resize(program_, T);
      fingerprints(program_, cells, hashes, [](uint64_t) {});
      auto h = hashes.begin();
      for (int t = 0; t < T; ++t) {
        for (int64_t k = items[first + t]; k < items[first + t + 1]; ++k) {
          const uint32_t id = intern(name(k));
          if (id == VocabularyView::unknown) continue;
          const uint64_t f = Program::fingerprint(mix(Program::seed(skeleton), id));
          push(number(f, program_.attribute_kind, skeleton,
                      [&](size_t j) { return j == 0 ? id : VocabularyView::unknown; }),
               item_values[k]);
        }
        for (const Line& line : program_.lines) {
          if (*h) {
            push(number(*h, line.kind, line.skeleton,
                        [](size_t) { return VocabularyView::unknown; }),
                 1.0f);
          }
          ++h;
        }
        positions.push_back(int64_t(predicates.size()));
      }
    }
  }

  // Sets the maximum number of predicates, existing ones included. New ones beyond it are left out,
  // and no string is stored for them.
  void limit(size_t n) { limit_ = n; }

  // The number of predicates of each kind.
  std::array<uint32_t, 3> counts() const { return counts_; }

  // Numbers the encoded data for a layout with this capacity of predicates of each kind: within its
  // kind, a predicate has its number in order of first appearance.
  void number_for_capacity(const std::array<uint32_t, 3>& capacity) {
    const uint32_t first[] = {0, capacity[0], capacity[0] + capacity[1]};
    for (uint32_t& id : predicates) id = first[kinds_[id]] + ordinals_[id];
    const KindOrder order{first[1], first[2]};
    for (size_t t = 1; t < positions.size(); ++t)
      order.restore(predicates, values, size_t(positions[t - 1]), size_t(positions[t]));
  }

  // Forgets the encoded data, not the predicates.
  void clear_data() {
    positions.assign(1, 0);
    predicates.clear();
    values.clear();
  }

  // Treats all predicates as old ones: freezing keeps them, in order of first appearance.
  void mark_all_as_old() { n_old_ = uint32_t(kinds_.size()); }

  // Numbers the predicates by kind: first those of the index it started from, as they were, then
  // those seen at least `cutoff` times, by falling frequency. Drops the others and rewrites the
  // encoded data. Fills n_of_kind, slots, keys and derived. Of the new predicates that may have
  // node and edge weights, those that are too rare have node weights only.
  void freeze(uint32_t cutoff, const EdgeLimit& limit) {
    const auto n = uint32_t(kinds_.size());
    std::vector<uint32_t> count(n, 0);
    for (const uint32_t id : predicates) ++count[id];
    drop_rare_edge_weights(count, cutoff, limit);
    const uint32_t top = n ? *std::max_element(count.begin(), count.end()) : 0;
    std::vector<uint32_t> final_id(n, VocabularyView::unknown), order;
    for (int kind = 0; kind < 3; ++kind) {
      const size_t begin = order.size();
      for (uint32_t id = 0; id < n_old_; ++id)
        if (kinds_[id] == kind) order.push_back(id);
      std::vector<uint32_t> starts(size_t(top) + 2, 0);  // counting sort, largest counts first
      const auto kept = [&](uint32_t id) { return kinds_[id] == kind && count[id] >= cutoff; };
      for (uint32_t id = n_old_; id < n; ++id)
        if (kept(id)) ++starts[top - count[id] + 1];
      std::partial_sum(starts.begin(), starts.end(), starts.begin());
      const size_t first = order.size();
      order.resize(first + starts.back());
      for (uint32_t id = n_old_; id < n; ++id)
        if (kept(id)) order[first + starts[top - count[id]]++] = id;
      n_of_kind[kind] = uint32_t(order.size() - begin);
    }
    for (uint32_t k = 0; k < order.size(); ++k) final_id[order[k]] = k;
    slots.assign(Slots::capacity_for(order.size()), 0);
    for (const Slot& slot : table_)
      if (slot.fingerprint && final_id[slot.number] != VocabularyView::unknown)
        insert(slots, slot.fingerprint, final_id[slot.number]);
    const size_t width = program_.arity + 1;
    keys.resize(order.size() * width);
    for (uint32_t k = 0; k < order.size(); ++k)
      std::copy_n(keys_.begin() + order[k] * width, width, keys.begin() + k * width);
    renumber(final_id);
    derived.assign(program_.columns.size() * vocabulary.size(), VocabularyView::unknown);
    for (size_t c = 0; c < program_.columns.size(); ++c)
      std::copy(derived_[c].begin(), derived_[c].end(), derived.begin() + c * vocabulary.size());
  }

  Vocabulary vocabulary;
  std::vector<int64_t> positions{0};  // [T + 1] into predicates
  std::vector<uint32_t> predicates;   // [F]
  std::vector<float> values;          // [F], or empty for columns
  uint32_t n_of_kind[3] = {0, 0, 0};
  std::vector<uint64_t> slots;    // fingerprint → predicate
  std::vector<uint32_t> keys;     // [P, 1 + arity] skeleton and token numbers
  std::vector<uint32_t> derived;  // [columns, V]

 private:
  struct Slot {
    uint64_t fingerprint = 0;  // 0: empty
    uint32_t number = 0;
  };

  IndexBuilder(Program program, Vocabulary strings)
      : vocabulary(std::move(strings)), program_(std::move(program)), table_(1 << 17) {
    for (int k = 1; k <= program_.reach; ++k) {
      before_.push_back(vocabulary.intern(Program::boundary(-k)));
      behind_.push_back(vocabulary.intern(Program::boundary(k)));
    }
    derived_.resize(program_.columns.size());
  }

  void drop_rare_edge_weights(const std::vector<uint32_t>& count, uint32_t cutoff,
                              const EdgeLimit& limit) {
    const auto rich = [&](uint32_t id) { return kinds_[id] == 1 && count[id] >= cutoff; };
    std::vector<uint32_t> counts;
    for (uint32_t id = n_old_; id < kinds_.size(); ++id)
      if (rich(id)) counts.push_back(count[id]);
    const uint32_t least = limit.least_count(std::move(counts));
    for (uint32_t id = n_old_; id < kinds_.size(); ++id)
      if (rich(id) && count[id] < least) kinds_[id] = 0;
  }

  void seed_derived(std::span<const uint32_t> table, size_t V) {
    if (table.size() != V * program_.columns.size())
      throw std::invalid_argument("index: the tables differ in size");
    for (const uint32_t id : table)
      if (id >= V && id != VocabularyView::unknown)
        throw std::invalid_argument("index: a derived string is out of range");
    for (size_t c = 0; c < program_.columns.size(); ++c)
      derived_[c].assign(table.begin() + c * V, table.begin() + (c + 1) * V);
  }

  void seed_predicates(std::span<const uint32_t> keys, const std::array<uint32_t, 3>& n_of_kind,
                       size_t V) {
    const size_t width = program_.arity + 1, n = keys.size() / width;
    if (keys.size() % width || uint64_t{n_of_kind[0]} + n_of_kind[1] + n_of_kind[2] != n)
      throw std::invalid_argument("index: keys and numbers of predicates do not fit together");
    for (uint8_t kind = 0; kind < 3; ++kind) {
      kinds_.insert(kinds_.end(), n_of_kind[kind], kind);
      for (uint32_t k = 0; k < n_of_kind[kind]; ++k) ordinals_.push_back(k);
      counts_[kind] = n_of_kind[kind];
    }
    keys_.assign(keys.begin(), keys.end());
    n_old_ = uint32_t(n);
    table_.resize(std::max(table_.size(), std::bit_ceil(n * 2)));
    const std::vector<Form> forms = skeleton_forms();
    for (uint32_t id = 0; id < n_old_; ++id) {
      const uint64_t h = stored_fingerprint(keys.subspan(id * width, width), kinds_[id], forms, V);
      Slot* slot = find(h);
      if (slot->fingerprint) throw std::invalid_argument("index: a predicate is stored twice");
      *slot = {h, id};
    }
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

  Slot& home(uint64_t fingerprint) { return table_[fingerprint >> 32 & (table_.size() - 1)]; }

  bool full() const { return kinds_.size() >= limit_; }

  void push(uint32_t id) {
    if (id != VocabularyView::unknown) predicates.push_back(id);
  }
  void push(uint32_t id, float value) {
    if (id == VocabularyView::unknown) return;
    predicates.push_back(id);
    values.push_back(value);
  }

  uint32_t intern(std::string_view token) {
    return full() ? vocabulary.view().find(token) : vocabulary.intern(token);
  }

  uint32_t intern(int c, std::string_view token) {
    const Column& column = program_.columns[c];
    const uint32_t raw = intern(token);
    if (column.transform == Transform::identity) return raw;
    if (raw == VocabularyView::unknown)
      return vocabulary.view().find(apply(column.transform, column.length, token, text_));
    std::vector<uint32_t>& known = derived_[c];
    if (known.size() <= raw) known.resize(vocabulary.size(), VocabularyView::unknown);
    if (known[raw] == VocabularyView::unknown)
      known[raw] = intern(apply(column.transform, column.length, token, text_));
    return known[raw];
  }

  // The number of a predicate in order of first appearance, unknown where it would be one too many;
  // token(k) gives its key.
  template <class Token>
  uint32_t number(uint64_t fingerprint, int kind, uint32_t skeleton, Token&& token) {
    Slot* slot = find(fingerprint);
    if (slot->fingerprint) return slot->number;
    if (full()) return VocabularyView::unknown;
    const auto id = uint32_t(kinds_.size());
    *slot = {fingerprint, id};
    kinds_.push_back(uint8_t(kind));
    ordinals_.push_back(counts_[kind]++);
    keys_.push_back(skeleton);
    for (int k = 0; k < program_.arity; ++k) keys_.push_back(token(size_t(k)));
    if (kinds_.size() * 2 > table_.size()) grow();
    return id;
  }

  // The slot that holds the fingerprint, or the empty one where it belongs.
  Slot* find(uint64_t fingerprint) {
    Slot *slot = &home(fingerprint), *end = table_.data() + table_.size();
    while (slot->fingerprint && slot->fingerprint != fingerprint)
      if (++slot == end) slot = table_.data();
    return slot;
  }

  void grow() {
    std::vector<Slot> old(table_.size() * 4);
    old.swap(table_);
    for (const Slot& slot : old)
      if (slot.fingerprint) *find(slot.fingerprint) = slot;
  }

  void renumber(const std::vector<uint32_t>& final_id) {
    const KindOrder order{n_of_kind[0], n_of_kind[0] + n_of_kind[1]};
    size_t to = 0;
    int64_t from = 0;
    for (size_t t = 1; t < positions.size(); ++t) {
      const size_t begin = to;
      for (; from < positions[t]; ++from) {
        const uint32_t id = final_id[predicates[from]];
        if (id == VocabularyView::unknown) continue;
        if (!values.empty()) values[to] = values[from];
        predicates[to++] = id;
      }
      order.restore(predicates, values, begin, to);
      positions[t] = int64_t(to);
    }
    predicates.resize(to);
    if (!values.empty()) values.resize(to);
  }

  Program program_;
  std::vector<uint32_t> before_, behind_;
  std::vector<std::vector<uint32_t>> derived_;  // [columns][V]
  std::vector<Slot> table_;                     // fingerprint → number in order of first appearance
  std::vector<uint8_t> kinds_;                  // by that number, as are the next two
  std::vector<uint32_t> ordinals_;              // the predicate's number within its kind
  std::vector<uint32_t> keys_;
  std::array<uint32_t, 3> counts_{};
  size_t limit_ = 0xFFFFFFF0u;
  uint32_t n_old_ = 0;  // the first ones are those of the index it started from
  std::string text_;
};

}  // namespace adaptag
