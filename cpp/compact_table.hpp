// The table of a compact model: features by their hashes, with sparse rows of small numbers.
//
//   fingerprint ──high bits──▶ bucket ──low 16 bits──▶ row: (label, value) …
//
// No string is stored: a feature is found by the hashes of its template line and of its cells, so a
// feature that the model does not have is taken for one that it has about once in 10,000 times.
//
//   bucket   n, width of ends (1 byte each) | tags [n] of 2 bytes | 0, ends of rows [n + 1] | rows
//   row      flags (1 byte) | node weights, or if it has edge weights
//            number of node weights | node weights | edge entries (previous label, label, value) …
//   node weights   entries (label, value) …, or values [Y] where that is about as short
//
// Labels take 1 byte, or 2 where there are more than 255; so does the number of node weights, which
// is Y where they are not entries. Ends count from the first row of the bucket and take 1 byte
// or 4. Values are
//
//   int8     q · 2^s units, where s (of the row) is in the flags
//   float16, float32   rounded to units of 2^−k when they are read, where k is in the flags
//
// so every score is a whole number of units 2^−k: sums are exact, in any order and on any machine.
#pragma once

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

#include "simd.hpp"

namespace adaptag {

// The bits of a 16-bit float.
struct Half {
  uint16_t bits;
};

template <class T>
T read_value(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// Mixes the hash of a cell, which is random already, into that of a feature.
inline uint64_t mix_cell(uint64_t h, uint64_t cell) {
  return (std::rotl(h, 29) ^ cell) * 0x9FB21C651E98DF25u;
}
inline uint64_t finish_fingerprint(uint64_t h) { return h ^ h >> 32; }

// A stored value in units; `scale` is that of the row's flags.
inline int64_t in_units(int8_t q, int scale) { return int64_t(q) * (int64_t{1} << scale); }
inline int64_t in_units(float x, int scale) {
  const float scaled = x * std::bit_cast<float>(uint32_t(127 + scale) << 23);  // x · 2^scale
  return std::abs(scaled) < 1e18f ? std::llrint(scaled) : std::numeric_limits<int64_t>::max();
}
inline int64_t in_units(Half x, int scale) {
  const int exponent = x.bits >> 10 & 31, fraction = x.bits & 1023;
  if (exponent == 31) return std::numeric_limits<int64_t>::max();
  const int64_t digits = exponent ? 1024 + fraction : fraction;
  const int shift = (exponent ? exponent : 1) - 25 + scale;
  const int64_t size = shift >= 0    ? digits << shift
                       : shift < -12 ? 0
                                     : (digits + (int64_t{1} << (-shift - 1))) >> -shift;
  return x.bits >> 15 ? -size : size;
}

struct CompactRow {
  const uint8_t *begin, *end;
  int scale;
  bool has_edges;
};

// How labels (L) and values (V) are stored, and how the rows of Y labels are read.
template <class L, class V>
struct CompactFormat {
  static constexpr bool is_small = sizeof(L) == 1 && sizeof(V) == 1;
  static constexpr int label_size = sizeof(L), value_size = sizeof(V);
  static constexpr int node_size = label_size + value_size, edge_size = node_size + label_size;

  int Y;

  static int label(const uint8_t* p) { return read_value<L>(p); }
  static int64_t value(const uint8_t* p, int scale) { return in_units(read_value<V>(p), scale); }

  // Where the node weights of a row begin and end; the edge entries follow.
  static const uint8_t* node_begin(const CompactRow& row) {
    return row.begin + (row.has_edges ? label_size : 0);
  }
  const uint8_t* node_end(const CompactRow& row) const {
    if (!row.has_edges) return row.end;
    const int n = label(row.begin);
    return node_begin(row) + (n == Y ? Y * value_size : n * node_size);
  }
  bool is_dense(const CompactRow& row) const {
    return node_end(row) - node_begin(row) == Y * value_size;
  }
  // Calls f(label, value in units).
  template <class F>
  void node_entries(const CompactRow& row, F&& f) const {
    const uint8_t* const end = node_end(row);
    if (is_dense(row)) {
      int y = 0;
      for (const uint8_t* p = node_begin(row); p < end; p += value_size, ++y)
        f(y, int32_t(value(p, row.scale)));
      return;
    }
    for (const uint8_t* p = node_begin(row); p < end; p += node_size)
      f(label(p), int32_t(value(p + label_size, row.scale)));
  }
  // Calls f(previous label, label, value in units).
  template <class F>
  void edge_entries(const CompactRow& row, F&& f) const {
    if (!row.has_edges) return;
    for (const uint8_t* p = node_end(row); p < row.end; p += edge_size)
      f(label(p), label(p + label_size), int32_t(value(p + 2 * label_size, row.scale)));
  }
  // Whether a row lies in its bytes, and its labels and values are in range.
  bool is_valid(const CompactRow& row, int64_t most_units) const {
    if (row.has_edges && row.end - row.begin < label_size) return false;
    const uint8_t* const middle = node_end(row);
    if (middle > row.end || (row.end - middle) % edge_size != 0) return false;
    if (!is_dense(row) && (middle - node_begin(row)) % node_size != 0) return false;
    const auto in_range = [&](const uint8_t* p) {
      const int64_t units = value(p, row.scale);
      return -most_units <= units && units <= most_units;
    };
    if (is_dense(row)) {
      for (const uint8_t* p = node_begin(row); p < middle; p += value_size)
        if (!in_range(p)) return false;
    } else {
      for (const uint8_t* p = node_begin(row); p < middle; p += node_size)
        if (label(p) >= Y || !in_range(p + label_size)) return false;
    }
    for (const uint8_t* p = middle; p < row.end; p += edge_size)
      if (label(p) >= Y || label(p + label_size) >= Y || !in_range(p + 2 * label_size))
        return false;
    return true;
  }
};

class CompactTable {
 public:
  static constexpr int padding = 64;          // bytes behind the last bucket, for wide loads
  static constexpr int most_units = 1 << 24;  // of one value: a float32 holds it exactly
  static constexpr int edge_flag = 32, scale_mask = 31;
  static constexpr int most_in_bucket = 255;

  CompactTable(std::span<const uint32_t> buckets, std::span<const uint8_t> rows, int n_labels,
               int value_size)
      : buckets_(buckets), rows_(rows), n_labels_(n_labels), value_size_(value_size) {
    if (buckets.size() < 2 || rows.size() != size_t(buckets.back()) + padding)
      throw std::invalid_argument("compact: the buckets do not cover the rows");
    for (size_t b = 0; b + 1 < buckets.size(); ++b)
      if (buckets[b] > buckets[b + 1] || buckets[b + 1] - buckets[b] < 3)
        throw std::invalid_argument("compact: a bucket is out of order");
    with_format([&](auto format) { check_rows(format); });
    for (int size = 0; size < 8; ++size) {
      masks_[size] = (uint64_t{1} << 8 * size) - 1;
      for (int k = (size + 1) / 2; k < 4; ++k)  // labels behind the last one, which do not matter
        fillers_[size] |= uint64_t(std::min(padded_width(n_labels) + k, 255)) << 16 * k;
    }
  }

  size_t n_buckets() const { return buckets_.size() - 1; }
  int n_labels() const { return n_labels_; }
  // Labels behind the last one that `add_small_row` may write to.
  static constexpr int room = 4;
  bool wide_labels() const { return n_labels_ > 255; }
  size_t bucket_of(uint64_t fingerprint) const { return (fingerprint >> 32) * n_buckets() >> 32; }
  uint32_t bucket_begin(size_t bucket) const { return buckets_[bucket]; }
  const uint32_t* bucket_address(size_t bucket) const { return buckets_.data() + bucket; }
  const uint8_t* rows() const { return rows_.data(); }

  // Which row of the bucket at p has this tag; −1: none.
  static int find(const uint8_t* p, uint16_t tag) {
    const int n = p[0];
    for (int i = 0; i < n; i += 16)
      if (const uint32_t found = equal_tags(p + 2 + 2 * i, tag, n - i))
        return i + std::countr_zero(found) / 2;
    return -1;
  }

  // Of 16 tags at p, of which the first n count: two bits for each that is this one.
  static uint32_t equal_tags(const uint8_t* p, uint16_t tag, int n) {
    typedef uint16_t Tags __attribute__((vector_size(16)));
    uint32_t bits = 0;
    for (int half = 0; half < 2; ++half) {
      Tags tags;
      std::memcpy(&tags, p + 16 * half, sizeof tags);
      const auto equal = tags == tag;
#ifdef __SSE2__
      bits |= uint32_t(_mm_movemask_epi8((__m128i)equal)) << 16 * half;
#else
      for (int k = 0; k < 8; ++k) bits |= (equal[k] ? 3u : 0u) << (16 * half + 2 * k);
#endif
    }
    return bits & uint32_t((uint64_t{1} << 2 * std::min(n, 16)) - 1);
  }

  // Where row i of the bucket at p begins and ends, from the first row on.
  static std::array<uint32_t, 2> bounds(const uint8_t* p, int i) {
    const uint8_t* const ends = p + 2 + 2 * p[0];
    if (p[1] == 1) return {ends[i], ends[i + 1]};
    return {read_value<uint32_t>(ends + 4 * i), read_value<uint32_t>(ends + 4 * i + 4)};
  }
  static size_t head_size(const uint8_t* p) { return 2 + 2 * p[0] + (p[0] + 1) * size_t{p[1]}; }

  // Row i of the bucket at p.
  static CompactRow row(const uint8_t* p, int i) {
    const auto [begin, end] = bounds(p, i);
    const uint8_t* const first = p + head_size(p);
    const int flags = first[begin];
    return {first + begin + 1, first + end, flags & scale_mask, (flags & edge_flag) != 0};
  }

  // Adds the node weights of the feature with this tag, if the bucket at p has one, to `out`, which
  // has room for four labels more than W; false where the row is an unusual one and nothing was
  // done. How many weights there are is hard to predict, so four are added at a time: bytes behind
  // the last one are taken for weights of labels behind the last one.
  template <int W>
  bool add_small_row(const uint8_t* p, uint16_t tag, uint32_t* out, int w) const {
    const int n = p[0];
    if (p[1] != 1 || n > 16) [[unlikely]]
      return false;
    const uint32_t found = equal_tags(p + 2, tag, n);
    if (!found) return true;
    const uint8_t* const ends = p + 2 + 2 * n + std::countr_zero(found) / 2;
    const uint8_t* entry = p + 3 + 3 * n + ends[0];
    int size = ends[1] - ends[0] - 1;
    const int shift = *entry++;
    if (shift & edge_flag) [[unlikely]]
      return false;
    if (size == n_labels_) {
      add_dense<W>(entry, shift, out, w);
      return true;
    }
    for (;; size -= 8, entry += 8) {
      const int used = std::min(size, 8);
      const uint64_t word = (read_value<uint64_t>(entry) & masks_[used]) | fillers_[used];
      for (int k = 0; k < 4; ++k)
        out[word >> 16 * k & 255] += uint32_t(int32_t(int8_t(word >> (16 * k + 8)))) << shift;
      if (size <= 8) return true;
    }
  }

  // Calls f(CompactFormat) with the format of this table's labels and values.
  template <class F>
  void with_format(F&& f) const {
    if (wide_labels()) return with_values<uint16_t>(f);
    return with_values<uint8_t>(f);
  }

 private:
  template <class L, class F>
  void with_values(F&& f) const {
    switch (value_size_) {
      case 1:
        return f(CompactFormat<L, int8_t>{n_labels_});
      case 2:
        return f(CompactFormat<L, Half>{n_labels_});
      case 4:
        return f(CompactFormat<L, float>{n_labels_});
      default:
        throw std::invalid_argument("compact: a value has 1, 2 or 4 bytes");
    }
  }

  // Adds values [Y] to `out`; lanes from Y on get anything.
  template <int W>
  static void add_dense(const uint8_t* values, int shift, uint32_t* out, int w) {
    int j = 0;
#ifdef __AVX2__
    for (; W != 4 && j < (W ? W : w); j += 8) {
      VecOf<8>::i32 sum;
      std::memcpy(&sum, out + j, sizeof sum);
      const auto bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(values + j));
      sum += VecOf<8>::i32(_mm256_cvtepi8_epi32(bytes)) << shift;
      std::memcpy(out + j, &sum, sizeof sum);
    }
#endif
    for (; j < (W ? W : w); ++j) out[j] += uint32_t(int32_t(int8_t(values[j]))) << shift;
  }

  // Throws unless every row lies in its bucket, and every label and value is in range.
  template <class Format>
  void check_rows(const Format& format) const {
    const auto check = [](bool good) {
      if (!good) throw std::invalid_argument("compact: a row is damaged");
    };
    for (size_t b = 0; b < n_buckets(); ++b) {
      const uint8_t* p = rows_.data() + buckets_[b];
      const size_t size = buckets_[b + 1] - buckets_[b], n = p[0];
      check((p[1] == 1 || p[1] == 4) && head_size(p) <= size);
      uint32_t last = 0;
      for (size_t i = 0; i < n; ++i) {
        const auto [begin, end] = bounds(p, int(i));
        check(begin == last && begin < end && end <= size - head_size(p));
        const CompactRow r = row(p, int(i));
        check(r.begin[-1] < 2 * edge_flag && format.is_valid(r, most_units));
        last = end;
      }
      check(last == size - head_size(p));
    }
  }

  std::span<const uint32_t> buckets_;  // [B + 1] first byte of each bucket in the rows
  std::span<const uint8_t> rows_;
  int n_labels_, value_size_;
  std::array<uint64_t, 9> masks_{0, 0, 0, 0, 0, 0, 0, 0, ~uint64_t{0}};  // of the first n bytes
  std::array<uint64_t, 9> fillers_{};  // labels that do not count, in the bytes behind n
};

}  // namespace adaptag
