// Strings ↔ numbers: a growing vocabulary, and a view of a stored one.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "hashing.hpp"

namespace adaptag {

// A stored vocabulary. It may come from a damaged file, so every number is checked when used.
struct VocabularyView {
  std::span<const uint8_t> bytes;     // all strings, one after the other
  std::span<const uint32_t> offsets;  // [V + 1] into bytes
  std::span<const uint64_t> slots;

  static constexpr uint32_t unknown = Slots::none;

  size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }

  std::string_view operator[](uint32_t id) const {
    const uint32_t begin = offsets[id], end = offsets[id + 1];
    if (begin > end || end > bytes.size()) return {};
    return {reinterpret_cast<const char*>(bytes.data()) + begin, end - begin};
  }
  uint32_t find(std::string_view s) const {
    return Slots{slots}.find(hash(s), [&](uint32_t id) { return id < size() && (*this)[id] == s; });
  }
};

class Vocabulary {
 public:
  Vocabulary() : offsets(1, 0), slots(Slots::capacity_for(1024), 0) {}

  // The strings of a stored vocabulary, with their numbers.
  explicit Vocabulary(const VocabularyView& stored) : Vocabulary() {
    const auto& ends = stored.offsets;
    if (ends.empty() || ends.front() != 0 || ends.back() != stored.bytes.size() ||
        !std::is_sorted(ends.begin(), ends.end()))
      throw std::invalid_argument("vocabulary: the offsets do not cover the strings");
    bytes.reserve(stored.bytes.size());
    for (uint32_t id = 0; id < stored.size(); ++id)
      if (intern(stored[id]) != id)
        throw std::invalid_argument("vocabulary: a string is there twice");
  }

  uint32_t intern(std::string_view s) {
    const uint64_t h = hash(s);
    const uint32_t found =
        Slots{slots}.find(h, [&](uint32_t id) { return hashes_[id] == h && view()[id] == s; });
    if (found != Slots::none) return found;
    if (bytes.size() + s.size() > 0xFFFFFFF0u)
      throw std::length_error("the distinct strings of the data exceed 4 GiB");
    const auto id = uint32_t(hashes_.size());
    bytes.insert(bytes.end(), s.begin(), s.end());
    offsets.push_back(uint32_t(bytes.size()));
    hashes_.push_back(h);
    if (Slots::capacity_for(hashes_.size()) > slots.size()) {
      slots.assign(slots.size() * 2, 0);
      for (uint32_t k = 0; k < hashes_.size(); ++k) insert(slots, hashes_[k], k);
    } else {
      insert(slots, h, id);
    }
    return id;
  }

  size_t size() const { return hashes_.size(); }
  VocabularyView view() const { return {bytes, offsets, slots}; }

  std::vector<uint8_t> bytes;
  std::vector<uint32_t> offsets;
  std::vector<uint64_t> slots;

 private:
  std::vector<uint64_t> hashes_;
};

}  // namespace adaptag
