// Strings, numbered in the order they are first seen. Threads number those of their part of the
// data; merged part after part, they have the numbers that one thread would give.
#pragma once

#include "feature_index.hpp"

namespace adaptag {

// Tokens, and what the macros of a program make of them.
class TokenNumbering {
 public:
  explicit TokenNumbering(size_t n_columns) : derived(n_columns) {}

  // Stored strings, and what macros make of them [columns, V]. They may come from a damaged file:
  // throws unless all numbers are in range.
  TokenNumbering(size_t n_columns, const VocabularyView& strings, std::span<const uint32_t> table)
      : vocabulary(strings), derived(n_columns) {
    const size_t V = vocabulary.size();
    if (table.size() != V * n_columns)
      throw std::invalid_argument("index: the tables differ in size");
    for (const uint32_t id : table)
      if (id >= V && id != VocabularyView::unknown)
        throw std::invalid_argument("index: a derived string is out of range");
    for (size_t c = 0; c < n_columns; ++c)
      derived[c].assign(table.begin() + c * V, table.begin() + (c + 1) * V);
  }

  // The number of a token as a column of the program has it. Where `grow` is false and the string
  // is new, it is unknown.
  uint32_t number(const Column& column, size_t c, std::string_view token, bool grow) {
    const uint32_t raw = number(token, grow);
    if (column.is_plain()) return raw;
    if (raw == VocabularyView::unknown)
      return vocabulary.view().find(apply(column.macro, token, text_));
    std::vector<uint32_t>& known = derived[c];
    if (known.size() <= raw) known.resize(vocabulary.size(), VocabularyView::unknown);
    if (known[raw] == VocabularyView::unknown)
      known[raw] = number(apply(column.macro, token, text_), grow);
    return known[raw];
  }
  uint32_t number(std::string_view token, bool grow) {
    return grow ? vocabulary.intern(token) : vocabulary.view().find(token);
  }

  // Adds the strings of a later part of the data; returns their numbers here.
  std::vector<uint32_t> merge(const TokenNumbering& later) {
    std::vector<uint32_t> numbers(later.vocabulary.size());
    for (uint32_t id = 0; id < numbers.size(); ++id)
      numbers[id] = vocabulary.intern(later.vocabulary.view()[id]);
    for (size_t c = 0; c < derived.size(); ++c) {
      if (!later.derived[c].empty()) derived[c].resize(vocabulary.size(), VocabularyView::unknown);
      for (size_t raw = 0; raw < later.derived[c].size(); ++raw)
        if (later.derived[c][raw] != VocabularyView::unknown)
          derived[c][numbers[raw]] = numbers[later.derived[c][raw]];
    }
    return numbers;
  }

  // What macros make of all strings, [columns, V].
  std::vector<uint32_t> derived_table() const {
    const size_t V = vocabulary.size();
    std::vector<uint32_t> table(derived.size() * V, VocabularyView::unknown);
    for (size_t c = 0; c < derived.size(); ++c)
      std::copy(derived[c].begin(), derived[c].end(), table.begin() + c * V);
    return table;
  }

  Vocabulary vocabulary;
  std::vector<std::vector<uint32_t>> derived;  // [columns][V] numbers of transformed tokens

 private:
  std::string text_;
};

}  // namespace adaptag
