// Builds the table of a compact model from the weights that are left.
#pragma once

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "compact_table.hpp"
#include "feature_index.hpp"

namespace adaptag {

// The fingerprints of features as a compact model finds them: keys [F, 1 + arity] hold the number
// of the skeleton, then those of the tokens.
inline std::vector<uint64_t> compact_fingerprints(const VocabularyView& vocabulary,
                                                  std::span<const uint32_t> keys, size_t width) {
  std::vector<uint64_t> tokens;
  for (uint32_t id = 0; id < vocabulary.size(); ++id) tokens.push_back(hash(vocabulary[id]));
  std::vector<uint64_t> out;
  for (size_t k = 0; k + width <= keys.size(); k += width) {
    uint64_t h = Program::seed(keys[k]);
    for (size_t i = 1; i < width && keys[k + i] != VocabularyView::unknown; ++i) {
      if (keys[k + i] >= tokens.size())
        throw std::invalid_argument("compact: a token of a feature is out of range");
      h = mix_cell(h, tokens[keys[k + i]]);
    }
    out.push_back(finish_fingerprint(h));
  }
  return out;
}

// The weights that are left: those of feature f are entries [offsets[f], offsets[f + 1]).
struct CompactWeights {
  std::span<const uint64_t> fingerprints;  // [F]
  std::span<const int64_t> offsets;        // [F + 1]
  std::span<const int32_t> previous;       // [E] label before, −1 for a node weight; these first
  std::span<const int32_t> labels;         // [E]
  std::span<const float> values;           // [E]
};

class CompactBuilder {
 public:
  static constexpr size_t mean_in_bucket = 5;
  static constexpr int dense_share = 3;  // a third of the labels are stored as all of them

  CompactBuilder(const CompactWeights& weights, int n_labels, int value_size, int exponent)
      : in_(weights), n_labels_(n_labels), value_size_(value_size), exponent_(exponent) {
    const size_t F = in_.fingerprints.size();
    order_.resize(F);
    std::iota(order_.begin(), order_.end(), 0u);
    n_buckets_ = std::max<size_t>(1, F / mean_in_bucket);
    std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
      return std::tuple(bucket(a), tag(a), -strength(a), a) <
             std::tuple(bucket(b), tag(b), -strength(b), b);
    });
  }

  void build() {
    buckets.assign(1, 0);
    size_t k = 0;
    for (size_t b = 0; b < n_buckets_; ++b) {
      std::vector<uint32_t> features;  // of two with the same tag the stronger one is found
      for (; k < order_.size() && bucket(order_[k]) == b; ++k)
        if (features.empty() || tag(features.back()) != tag(order_[k]))
          features.push_back(order_[k]);
      if (features.size() > CompactTable::most_in_bucket)
        throw std::invalid_argument("compact: too many features in a bucket");
      if (n_labels_ > 255)
        write_values<uint16_t>(features);
      else
        write_values<uint8_t>(features);
      if (rows.size() > 0xFFFFFF00u) throw std::length_error("a compact model exceeds 4 GiB");
      buckets.push_back(uint32_t(rows.size()));
    }
    rows.resize(rows.size() + CompactTable::padding, 0);
  }

  std::vector<uint32_t> buckets;
  std::vector<uint8_t> rows;

 private:
  size_t bucket(uint32_t f) const { return (in_.fingerprints[f] >> 32) * n_buckets_ >> 32; }
  uint16_t tag(uint32_t f) const { return uint16_t(in_.fingerprints[f]); }
  float strength(uint32_t f) const {
    float most = 0;
    for (int64_t e = in_.offsets[f]; e < in_.offsets[f + 1]; ++e)
      most = std::max(most, std::abs(in_.values[e]));
    return most;
  }

  template <class L>
  void write_values(const std::vector<uint32_t>& features) {
    if (value_size_ == 1) {
      write_bucket<L>(
          features,
          [&](float most) {
            int shift = 0;
            while (std::round(std::ldexp(most, exponent_ - shift)) > 127) ++shift;
            return shift;
          },
          [&](float w, int shift) { return int8_t(std::round(std::ldexp(w, exponent_ - shift))); });
    } else if (value_size_ == 2) {
      write_bucket<L>(
          features, [&](float) { return exponent_; }, [](float w, int) { return to_half(w); });
    } else {
      write_bucket<L>(features, [&](float) { return exponent_; }, [](float w, int) { return w; });
    }
  }

  // The nearest 16-bit float; its subnormal numbers too.
  static uint16_t to_half(float w) {
    const uint16_t sign = w < 0 ? 0x8000 : 0;
    const float size = std::abs(w);
    int exponent;
    std::frexp(size, &exponent);  // size = m · 2^exponent, 0.5 ≤ m < 1
    exponent = std::max(exponent, -13);
    const long digits = std::lrint(std::ldexp(size, 11 - exponent));  // 1024 … 2048
    if (digits == 0) return 0;
    return uint16_t(sign | std::min<long>((exponent + 13) * 1024L + digits, 0x7BFF));
  }

  // Writes a bucket: scale(largest weight) of each row, and round(weight, scale). Weights that are
  // rounded to 0 take no space.
  template <class L, class Scale, class Round>
  void write_bucket(const std::vector<uint32_t>& features, Scale&& scale, Round&& round) {
    std::vector<uint32_t> ends{0};
    std::vector<uint16_t> tags;
    std::vector<uint8_t> body;
    for (const uint32_t f : features) {
      const int s = scale(strength(f));
      const auto rounded = [&](float w) { return round(w, s); };
      if (!write_row<L>(f, s, rounded, body)) continue;
      tags.push_back(tag(f));
      ends.push_back(uint32_t(body.size()));
    }
    const bool wide = body.size() > 255;
    rows.push_back(uint8_t(tags.size()));
    rows.push_back(wide ? 4 : 1);
    for (const uint16_t tag : tags) append(rows, tag);
    for (const uint32_t end : ends)
      if (wide)
        append(rows, end);
      else
        rows.push_back(uint8_t(end));
    rows.insert(rows.end(), body.begin(), body.end());
  }

  // Appends the row of a feature; false where nothing is left of it.
  template <class L, class Round>
  bool write_row(uint32_t f, int scale, Round&& round, std::vector<uint8_t>& out) const {
    using Value = decltype(round(0.0f));
    std::vector<Value> values(n_labels_);  // of the node weights
    std::vector<uint8_t> nodes, edges;
    int n_nodes = 0;
    for (int64_t e = in_.offsets[f]; e < in_.offsets[f + 1]; ++e) {
      const Value value = round(in_.values[e]);
      if (value == 0) continue;
      std::vector<uint8_t>& entries = in_.previous[e] >= 0 ? edges : nodes;
      if (in_.previous[e] >= 0) {
        append(entries, L(in_.previous[e]));
      } else {
        values[in_.labels[e]] = value;
        ++n_nodes;
      }
      append(entries, L(in_.labels[e]));
      append(entries, value);
    }
    if (nodes.empty() && edges.empty()) return false;
    if (n_nodes * dense_share >= n_labels_) {
      nodes.clear();
      for (const Value value : values) append(nodes, value);
      n_nodes = n_labels_;
    }
    out.push_back(uint8_t(scale | (edges.empty() ? 0 : CompactTable::edge_flag)));
    if (!edges.empty()) append(out, L(n_nodes));
    out.insert(out.end(), nodes.begin(), nodes.end());
    out.insert(out.end(), edges.begin(), edges.end());
    return true;
  }

  template <class T>
  static void append(std::vector<uint8_t>& out, T value) {
    const size_t at = out.size();
    out.resize(at + sizeof value);
    std::memcpy(out.data() + at, &value, sizeof value);
  }

  const CompactWeights in_;
  const int n_labels_, value_size_, exponent_;
  size_t n_buckets_;
  std::vector<uint32_t> order_;
};

}  // namespace adaptag
