// Builds a feature index from training data, and encodes that data at the same time.
#pragma once

#include <numeric>

#include "feature_index.hpp"

namespace adaptag {

class IndexBuilder {
 public:
  explicit IndexBuilder(Program program) : program_(std::move(program)), table_(1 << 17) {
    for (int k = 1; k <= program_.reach; ++k) {
      before_.push_back(vocabulary.intern(Program::boundary(-k)));
      behind_.push_back(vocabulary.intern(Program::boundary(k)));
    }
    derived_.resize(program_.columns.size());
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
            predicates.push_back(number(*h, line.kind, line.skeleton, [&](size_t k) {
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
          const uint32_t id = vocabulary.intern(name(k));
          const uint64_t f = Program::fingerprint(mix(Program::seed(skeleton), id));
          predicates.push_back(number(
              f, 0, skeleton, [&](size_t j) { return j == 0 ? id : VocabularyView::unknown; }));
          values.push_back(item_values[k]);
        }
        for (const Line& line : program_.lines) {
          if (*h) {
            predicates.push_back(number(*h, line.kind, line.skeleton,
                                        [](size_t) { return VocabularyView::unknown; }));
            values.push_back(1.0f);
          }
          ++h;
        }
        positions.push_back(int64_t(predicates.size()));
      }
    }
  }

  // Numbers the predicates seen at least `cutoff` times by kind and falling frequency, drops the
  // others, and rewrites the encoded data. Fills n_of_kind, slots, keys and derived.
  void freeze(uint32_t cutoff) {
    const auto n = uint32_t(kinds_.size());
    std::vector<uint32_t> count(n, 0);
    for (const uint32_t id : predicates) ++count[id];
    const uint32_t top = n ? *std::max_element(count.begin(), count.end()) : 0;
    std::vector<uint32_t> final_id(n, VocabularyView::unknown), order;
    for (int kind = 0; kind < 3; ++kind) {
      std::vector<uint32_t> starts(size_t(top) + 2, 0);  // counting sort, largest counts first
      const auto kept = [&](uint32_t id) { return kinds_[id] == kind && count[id] >= cutoff; };
      for (uint32_t id = 0; id < n; ++id)
        if (kept(id)) ++starts[top - count[id] + 1];
      std::partial_sum(starts.begin(), starts.end(), starts.begin());
      const size_t first = order.size();
      n_of_kind[kind] = starts.back();
      order.resize(first + starts.back());
      for (uint32_t id = 0; id < n; ++id)
        if (kept(id)) order[first + starts[top - count[id]]++] = id;
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

  Slot& home(uint64_t fingerprint) { return table_[fingerprint >> 32 & (table_.size() - 1)]; }

  uint32_t intern(int c, std::string_view token) {
    const Column& column = program_.columns[c];
    const uint32_t raw = vocabulary.intern(token);
    if (column.transform == Transform::identity) return raw;
    std::vector<uint32_t>& known = derived_[c];
    if (known.size() <= raw) known.resize(vocabulary.size(), VocabularyView::unknown);
    if (known[raw] == VocabularyView::unknown)
      known[raw] = vocabulary.intern(apply(column.transform, column.length, token, text_));
    return known[raw];
  }

  // The number of a predicate in order of first appearance; token(k) gives its key.
  template <class Token>
  uint32_t number(uint64_t fingerprint, int kind, uint32_t skeleton, Token&& token) {
    Slot* slot = find(fingerprint);
    if (slot->fingerprint) return slot->number;
    const auto id = uint32_t(kinds_.size());
    *slot = {fingerprint, id};
    kinds_.push_back(uint8_t(kind));
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
    size_t to = 0;
    int64_t from = 0;
    for (size_t t = 1; t < positions.size(); ++t) {
      for (; from < positions[t]; ++from) {
        const uint32_t id = final_id[predicates[from]];
        if (id == VocabularyView::unknown) continue;
        if (!values.empty()) values[to] = values[from];
        predicates[to++] = id;
      }
      positions[t] = int64_t(to);
    }
    predicates.resize(to);
    if (!values.empty()) values.resize(to);
  }

  Program program_;
  std::vector<uint32_t> before_, behind_;
  std::vector<std::vector<uint32_t>> derived_;  // [columns][V]
  std::vector<Slot> table_;                     // fingerprint → number in order of first appearance
  std::vector<uint8_t> kinds_;                  // by that number, as are the keys
  std::vector<uint32_t> keys_;
  std::string text_;
};

}  // namespace adaptag
