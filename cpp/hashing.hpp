// Hashes: of strings, of features, and the checksum of a file.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace adaptag {

// One-to-one in h for every x and in x for every h, well mixed: the last steps of MurmurHash3.
inline uint64_t mix(uint64_t h, uint64_t x) {
  h ^= x * 0x9E3779B97F4A7C15u;
  h = (h ^ (h >> 32)) * 0xD6E8FEB86659FD93u;
  h = (h ^ (h >> 32)) * 0xD6E8FEB86659FD93u;
  return h ^ (h >> 32);
}

// The last n < 8 bytes of a string as a number, in few loads, which overlap.
inline uint64_t last_word(const char* p, size_t n, size_t length) {
  const auto load = [](const char* from, auto word) -> uint64_t {
    std::memcpy(&word, from, sizeof word);
    return word;
  };
  if (length >= 8) return load(p + n - 8, uint64_t{}) >> (64 - 8 * n);
  if (n >= 4) return load(p, uint32_t{}) | load(p + n - 4, uint32_t{}) << 8 * (n - 4);
  if (n == 1) return uint8_t(*p);
  return load(p, uint16_t{}) | load(p + n - 2, uint16_t{}) << 8 * (n - 2);
}

inline uint64_t hash(std::string_view s) {
  uint64_t h = s.size();
  const char* p = s.data();
  size_t n = s.size();
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    h = mix(h, word);
  }
  if (n > 0) h = mix(h, last_word(p, n, s.size()));
  return h;
}

// Four interleaved streams of 8-byte words. A change within one word changes that stream, and so
// the result, always; any other change with probability 1 − 2^−64.
inline uint64_t checksum(std::span<const uint8_t> data, uint64_t seed) {
  uint64_t lanes[4] = {seed, seed + 1, seed + 2, seed + 3};
  const uint8_t* p = data.data();
  size_t n = data.size();
  for (; n >= 32; p += 32, n -= 32)
    for (int k = 0; k < 4; ++k) {
      uint64_t word;
      std::memcpy(&word, p + 8 * k, 8);
      lanes[k] = (lanes[k] ^ word) * 0x9E3779B97F4A7C15u;
      lanes[k] ^= lanes[k] >> 29;
    }
  const uint64_t tail = hash({reinterpret_cast<const char*>(p), n});
  uint64_t h = mix(data.size(), tail);
  for (const uint64_t lane : lanes) h = mix(h, lane);
  return h;
}

// Open addressing: a slot is 0 where empty, else (low 32 bits of the hash, number + 1). The table
// may come from a file: the search is bounded and the caller checks the number it gets.
struct Slots {
  std::span<const uint64_t> slots;  // a power of two

  static constexpr uint32_t none = 0xFFFFFFFFu;

  static uint64_t make(uint64_t hash, uint32_t number) { return hash << 32 | (number + 1); }
  size_t home(uint64_t hash) const { return (hash >> 32) & (slots.size() - 1); }
  void prefetch(uint64_t hash) const { __builtin_prefetch(slots.data() + home(hash)); }

  // The first number whose slot carries this hash and that accept() takes.
  template <class Accept>
  uint32_t find(uint64_t hash, Accept&& accept) const {
    size_t i = home(hash);
    for (size_t probes = slots.size(); probes > 0; --probes) {
      const uint64_t slot = slots[i];
      if (slot == 0) return none;
      if (slot >> 32 == (hash & 0xFFFFFFFFu) && accept(uint32_t(slot) - 1))
        return uint32_t(slot) - 1;
      i = (i + 1) & (slots.size() - 1);
    }
    return none;
  }

  static size_t capacity_for(size_t n) {
    size_t capacity = 16;
    while (capacity * 2 < n * 3) capacity *= 2;  // at most two thirds full
    return capacity;
  }
};

// Stores a number that the table does not hold yet.
inline void insert(std::span<uint64_t> slots, uint64_t hash, uint32_t number) {
  size_t i = Slots{slots}.home(hash);
  while (slots[i] != 0) i = (i + 1) & (slots.size() - 1);
  slots[i] = Slots::make(hash, number);
}

// Pairs of numbers → numbers; grows.
class PairTable {
 public:
  static constexpr uint32_t none = Slots::none;

  explicit PairTable(size_t n = 0) : slots_(std::bit_ceil(n * 2 + 16)) {}

  // The number of a pair, or none.
  uint32_t find(uint32_t a, uint32_t b) const { return slots_[place(key(a, b))].number; }

  // The number of a pair; a new pair gets `number`.
  uint32_t insert(uint32_t a, uint32_t b, uint32_t number) {
    Slot& slot = slots_[place(key(a, b))];
    if (slot.number != none) return slot.number;
    slot = {key(a, b), number};
    if (++size_ * 2 > slots_.size()) grow();
    return number;
  }

  void prefetch(uint32_t a, uint32_t b) const {
    __builtin_prefetch(slots_.data() + home(key(a, b)));
  }
  size_t size() const { return size_; }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t number = none;  // none: empty
  };

  static uint64_t key(uint32_t a, uint32_t b) { return uint64_t{a} << 32 | b; }
  size_t home(uint64_t key) const { return mix(0, key) & (slots_.size() - 1); }
  size_t place(uint64_t key) const {
    size_t i = home(key);
    while (slots_[i].number != none && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
    return i;
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.number != none) slots_[place(slot.key)] = slot;
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace adaptag
