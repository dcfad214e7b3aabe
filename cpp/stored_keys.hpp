// Keys of predicates outside of a builder: a skeleton, its token numbers, and `unknown` behind
// them.
#pragma once

#include <array>
#include <utility>

#include "feature_index.hpp"
#include "memory.hpp"

namespace adaptag {

// The keys that a program's predicates can have.
class StoredKeys {
 public:
  explicit StoredKeys(const Program& program) : width_(size_t(program.arity) + 1) {
    const auto set = [&](uint32_t skeleton, Form form) {
      if (forms_.size() <= skeleton) forms_.resize(skeleton + 1);
      forms_[skeleton] = form;
    };
    for (const Line& line : program.lines) set(line.skeleton, {line.kind, line.macros.size()});
    if (program.attribute_skeleton >= 0)
      set(uint32_t(program.attribute_skeleton), {program.attribute_kind, 1});
  }

  size_t width() const { return width_; }

  // Throws unless the predicate of a key may be of this kind. One that is too rare for edge weights
  // has node weights only.
  void check_kind(std::span<const uint32_t> key, int kind) const {
    const int own = form(key).kind;
    if (own != kind && !(own == 1 && kind == 0)) throw_line();
  }

  // The fingerprint of a key over V strings; throws where it is none.
  uint64_t fingerprint(std::span<const uint32_t> key, size_t V) const {
    const size_t n_tokens = form(key).n_tokens;
    uint64_t h = Program::seed(key[0]);
    for (size_t k = 1; k < key.size(); ++k) {
      if (k <= n_tokens ? key[k] >= V : key[k] != VocabularyView::unknown)
        throw std::invalid_argument("index: a predicate's token is out of range");
      if (k <= n_tokens) h = mix(h, key[k]);
    }
    return Program::fingerprint(h);
  }

  // The fingerprints of keys [P, 1 + arity] of these kinds.
  LargeVector<uint64_t> fingerprints(std::span<const uint32_t> keys, std::span<const uint8_t> kinds,
                                     size_t V) const {
    LargeVector<uint64_t> out(kinds.size());
    for (size_t p = 0; p < out.size(); ++p) {
      const auto key = keys.subspan(p * width_, width_);
      check_kind(key, kinds[p]);
      out[p] = fingerprint(key, V);
    }
    return out;
  }

  // The keys [P, 1 + arity] with other numbers of their strings, and their fingerprints.
  std::pair<LargeVector<uint32_t>, LargeVector<uint64_t>> renumber(
      std::span<const uint32_t> keys, std::span<const uint32_t> numbers) const {
    LargeVector<uint32_t> out(keys.size());
    LargeVector<uint64_t> fingerprints(keys.size() / width_);
    for (size_t p = 0; p < fingerprints.size(); ++p) {
      const std::span<uint32_t> key(out.data() + p * width_, width_);
      for (size_t k = 0; k < width_; ++k) {
        const uint32_t id = keys[p * width_ + k];
        const bool token = k > 0 && id != VocabularyView::unknown;
        if (token && id >= numbers.size())
          throw std::invalid_argument("index: a predicate's token is out of range");
        key[k] = token ? numbers[id] : id;
      }
      fingerprints[p] = fingerprint(key, VocabularyView::unknown);
    }
    return {std::move(out), std::move(fingerprints)};
  }

  // The numbers of keys in an index with these slots and keys; unknown where it does not have them.
  // Keys are compared in full.
  LargeVector<uint32_t> find(std::span<const uint32_t> keys, std::span<const uint64_t> slots,
                             std::span<const uint32_t> stored) const {
    LargeVector<uint32_t> numbers(keys.size() / width_);
    const Slots table{slots};
    std::array<uint64_t, 64> hashes;  // those of a block are on their way to the cache together
    for (size_t begin = 0; begin < numbers.size(); begin += hashes.size()) {
      const size_t end = std::min(begin + hashes.size(), numbers.size());
      for (size_t p = begin; p < end; ++p) {
        const uint64_t h = fingerprint(keys.subspan(p * width_, width_), VocabularyView::unknown);
        table.prefetch(hashes[p - begin] = h);
      }
      for (size_t p = begin; p < end; ++p)
        numbers[p] = table.find(hashes[p - begin], [&](uint32_t id) {
          return (id + size_t{1}) * width_ <= stored.size() &&
                 std::equal(keys.begin() + p * width_, keys.begin() + (p + 1) * width_,
                            stored.begin() + id * width_);
        });
    }
    return numbers;
  }

 private:
  // What the predicates of a skeleton look like.
  struct Form {
    int kind = -1;  // −1: no line has this skeleton
    size_t n_tokens = 0;
  };

  const Form& form(std::span<const uint32_t> key) const {
    if (key[0] >= forms_.size() || forms_[key[0]].kind < 0) throw_line();
    return forms_[key[0]];
  }
  [[noreturn]] static void throw_line() {
    throw std::invalid_argument("index: a predicate's template line is out of range");
  }

  size_t width_;
  std::vector<Form> forms_;  // by skeleton
};

}  // namespace adaptag
