// The table of a compact model: features by their hashes, with sparse rows of small numbers.
//
//   fingerprint ──high bits──▶ bucket ──low 16 bits──▶ row: (label, value) …
//
// No string is stored: a feature is found by the hashes of its template line and of its cells, so a
// feature that the model does not have is taken for one that it has about once in 10,000 times.
//
//   bucket   n, flags (1 byte each) | tags [n] of 2 bytes | ends of the rows [n] | rows
//   row      node entries (label, value) …, or in a bucket with edge weights
//            number of node entries | node entries … | edge entries (previous label, label, value) …
//
// Labels take 1 byte, or 2 where there are more than 255; so does the number of node entries. Ends
// count from the first row of the bucket and take 1 byte, or 4 in a wide bucket. Values are
//
//   int8     q · 2^s units, where s (of the bucket) is in the flags
//   float16, float32   rounded to units of 2^−k when they are read, where k is in the flags
//
// so every score is a whole number of units 2^−k: sums are exact, in any order and on any machine.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

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

// A stored value in units; `scale` is that of the bucket's flags.
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

// How labels (L) and values (V) are stored, and how rows are read.
template <class L, class V>
struct CompactFormat {
  static constexpr int label_size = sizeof(L);
  static constexpr int node_size = sizeof(L) + sizeof(V), edge_size = 2 * sizeof(L) + sizeof(V);

  static int label(const uint8_t* p) { return read_value<L>(p); }
  static int64_t value(const uint8_t* p, int scale) { return in_units(read_value<V>(p), scale); }
  // Where the node entries of a row begin and end; the edge entries follow.
  static const uint8_t* node_begin(const CompactRow& row) {
    return row.begin + (row.has_edges ? label_size : 0);
  }
  static const uint8_t* node_end(const CompactRow& row) {
    return row.has_edges ? node_begin(row) + label(row.begin) * node_size : row.end;
  }
  // Calls f(label, value in units).
  template <class F>
  static void node_entries(const CompactRow& row, F&& f) {
    const uint8_t* const end = node_end(row);
    for (const uint8_t* p = node_begin(row); p < end; p += node_size)
      f(label(p), int32_t(value(p + label_size, row.scale)));
  }
  // Calls f(previous label, label, value in units).
  template <class F>
  static void edge_entries(const CompactRow& row, F&& f) {
    if (!row.has_edges) return;
    for (const uint8_t* p = node_end(row); p < row.end; p += edge_size)
      f(label(p), label(p + label_size), int32_t(value(p + 2 * label_size, row.scale)));
  }
};

class CompactTable {
 public:
  static constexpr int padding = 32;             // bytes behind the last bucket, for wide loads
  static constexpr int most_units = 1 << 24;     // of one value: a float32 holds it exactly
  static constexpr int edge_flag = 32, wide_flag = 64, scale_mask = 31;
  static constexpr int most_in_bucket = 255;

  CompactTable(std::span<const uint32_t> buckets, std::span<const uint8_t> rows, int n_labels,
               int value_size)
      : buckets_(buckets), rows_(rows), n_labels_(n_labels), value_size_(value_size) {
    if (buckets.size() < 2 || rows.size() != size_t(buckets.back()) + padding)
      throw std::invalid_argument("compact: the buckets do not cover the rows");
    for (size_t b = 0; b + 1 < buckets.size(); ++b)
      if (buckets[b] > buckets[b + 1] || buckets[b + 1] - buckets[b] < 2)
        throw std::invalid_argument("compact: a bucket is out of order");
    with_format([&]<class Format>(Format) { check_rows<Format>(); });
  }

  size_t n_buckets() const { return buckets_.size() - 1; }
  int n_labels() const { return n_labels_; }
  bool wide_labels() const { return n_labels_ > 255; }
  size_t bucket_of(uint64_t fingerprint) const { return (fingerprint >> 32) * n_buckets() >> 32; }
  uint32_t bucket_begin(size_t bucket) const { return buckets_[bucket]; }
  const uint32_t* bucket_address(size_t bucket) const { return buckets_.data() + bucket; }
  const uint8_t* rows() const { return rows_.data(); }

  // Which row of the bucket at p has this tag; −1: none.
  static int find(const uint8_t* p, uint16_t tag) {
    typedef uint16_t Tags __attribute__((vector_size(16)));
    const int n = p[0];
    for (int i = 0; i < n; i += 8) {
      Tags tags;
      std::memcpy(&tags, p + 2 + 2 * i, sizeof tags);
      const auto equal = tags == tag;
      uint64_t half[2];
      std::memcpy(half, &equal, sizeof half);
      if (!(half[0] | half[1])) continue;
      const int k =
          i + (half[0] ? std::countr_zero(half[0]) : 64 + std::countr_zero(half[1])) / 16;
      return k < n ? k : -1;
    }
    return -1;
  }

  // Row i of the bucket at p.
  static CompactRow row(const uint8_t* p, int i) {
    const int n = p[0], flags = p[1];
    const uint8_t* ends = p + 2 + 2 * n;
    const bool wide = flags & wide_flag;
    const uint8_t* first = ends + (wide ? 4 * n : n);
    const auto end = [&](int k) -> uint32_t {
      return wide ? read_value<uint32_t>(ends + 4 * k) : ends[k];
    };
    return {first + (i ? end(i - 1) : 0), first + end(i), flags & scale_mask,
            (flags & edge_flag) != 0};
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
        return f(CompactFormat<L, int8_t>{});
      case 2:
        return f(CompactFormat<L, Half>{});
      case 4:
        return f(CompactFormat<L, float>{});
      default:
        throw std::invalid_argument("compact: a value has 1, 2 or 4 bytes");
    }
  }

  // Throws unless every row lies in its bucket, and every label and value is in range.
  template <class Format>
  void check_rows() const {
    const auto check = [](bool good) {
      if (!good) throw std::invalid_argument("compact: a row is damaged");
    };
    for (size_t b = 0; b < n_buckets(); ++b) {
      const uint8_t* p = rows_.data() + buckets_[b];
      const size_t size = buckets_[b + 1] - buckets_[b], n = p[0];
      const size_t head = 2 + 2 * n + (p[1] & wide_flag ? 4 * n : n);
      check(head <= size);
      const uint8_t* last = p + head;
      for (size_t i = 0; i < n; ++i) {
        const CompactRow r = row(p, int(i));
        check(r.begin == last && r.begin <= r.end && size_t(r.end - p) <= size);
        check_row<Format>(r, check);
        last = r.end;
      }
      check(last == p + size);
    }
  }

  template <class Format, class Check>
  void check_row(const CompactRow& r, Check&& check) const {
    if (r.has_edges) check(r.end - r.begin >= Format::label_size);
    const uint8_t* const middle = Format::node_end(r);
    check(middle <= r.end && (r.end - middle) % Format::edge_size == 0);
    check((middle - Format::node_begin(r)) % Format::node_size == 0);
    const auto check_value = [&](const uint8_t* p) {
      const int64_t units = Format::value(p, r.scale);
      check(-most_units <= units && units <= most_units);
    };
    for (const uint8_t* p = Format::node_begin(r); p < middle; p += Format::node_size) {
      check(Format::label(p) < n_labels_);
      check_value(p + Format::label_size);
    }
    for (const uint8_t* p = middle; p < r.end; p += Format::edge_size) {
      check(Format::label(p) < n_labels_ && Format::label(p + Format::label_size) < n_labels_);
      check_value(p + 2 * Format::label_size);
    }
  }

  std::span<const uint32_t> buckets_;  // [B + 1] first byte of each bucket in the rows
  std::span<const uint8_t> rows_;
  int n_labels_, value_size_;
};

}  // namespace adaptag
