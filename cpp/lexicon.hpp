// A growing set of words over symbols: a trie whose branches are in one hash table.
#pragma once

#include <span>

#include "hashing.hpp"

namespace adaptag {

class Lexicon {
 public:
  static constexpr uint32_t none = PairTable::none;
  static constexpr uint32_t root = 0;

  uint32_t step(uint32_t node, uint32_t symbol) const { return branches_.find(node, symbol); }
  uint32_t word(uint32_t node) const { return words_[node]; }  // its number, or none

  // The number of a word; a new word gets `number`.
  uint32_t insert(std::span<const uint32_t> symbols, uint32_t number) {
    uint32_t node = root;
    for (const uint32_t symbol : symbols) {
      node = branches_.insert(node, symbol, uint32_t(words_.size()));
      if (node == words_.size()) words_.push_back(none);
    }
    if (words_[node] == none) words_[node] = number;
    return words_[node];
  }

  uint32_t find(std::span<const uint32_t> symbols) const {
    uint32_t node = root;
    for (const uint32_t symbol : symbols)
      if ((node = step(node, symbol)) == none) return none;
    return words_[node];
  }

  void erase(std::span<const uint32_t> symbols) {
    uint32_t node = root;
    for (const uint32_t symbol : symbols)
      if ((node = step(node, symbol)) == none) return;
    words_[node] = none;
  }

 private:
  PairTable branches_;                 // node, symbol → node
  std::vector<uint32_t> words_{none};  // of each node
};

}  // namespace adaptag
