// The bytes of one execution, read as numbers, texts and choices; and what a target must hold.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Ends the process where a property of the core does not hold.
#define HOLDS(condition)                                                                  \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)

namespace adaptag::fuzz {

class Input {
 public:
  explicit Input(std::span<const uint8_t> data) : data_(data) {}

  // All bytes behind the end are 0.
  uint8_t byte() { return at_ < data_.size() ? data_[at_++] : uint8_t{0}; }
  uint32_t below(uint32_t n) {
    return n <= 256 ? byte() % n : (byte() | uint32_t{byte()} << 8) % n;
  }
  template <class T>
  T number() {
    uint8_t bytes[sizeof(T)];
    for (uint8_t& b : bytes) b = byte();
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  size_t left() const { return data_.size() - at_; }
  std::string_view rest() {
    const auto bytes = data_.subspan(std::exchange(at_, data_.size()));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  // A score: mostly a small one, now and then an extreme one.
  float score() {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    constexpr float extremes[] = {
        0.0f,      -0.0f,  1e4f,   -1e4f,    1e30f,
        -1e30f,    3e38f,  -3e38f, 1e-30f,   infinity,
        -infinity, 1e-42f, 88.0f,  -103.97f, std::numeric_limits<float>::quiet_NaN(),
        1024.0f};
    const auto x = int8_t(byte());
    return x == 127 ? extremes[below(16)] : float(x) / 16;
  }

 private:
  std::span<const uint8_t> data_;
  size_t at_ = 0;
};

// Overwrites bytes of a table as the input says: what a damaged file may hold.
template <class Table>
void damage(Table& table, Input& in) {
  const size_t size = table.size() * sizeof(table[0]);
  if (size == 0) return;
  const size_t at = in.number<uint16_t>() % size;
  const size_t n = std::min<size_t>(1 + in.below(4), size - at);
  for (size_t k = 0; k < n; ++k) reinterpret_cast<uint8_t*>(table.data())[at + k] = in.byte();
}

// The targets.
void columns(Input in);
void attributes(Input in);
void text(Input in);
void lexicon(Input in);
void index(Input in);
void compact(Input in);
void predictor(Input in);
void lattice(Input in);
void dataset(Input in);

}  // namespace adaptag::fuzz
