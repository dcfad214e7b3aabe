// Where weights lie, and the encoded sentences that refer to them. Views only: Python owns the
// data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "simd.hpp"

namespace adaptag {

// Predicates are numbered by kind, then by falling frequency:
//
//   id:      0 … n_node | … n_node + n_both | … size
//   weights: [W]        | [W] [Y, W]        | [Y, W]
//            node       | node and edge     | edge
//
// A node block holds w(y) for each label, an edge block w(y′, y) for each pair (previous, current).
struct Layout {
  int n_labels;  // Y
  int width;     // W
  uint32_t n_node, n_both, n_edge;

  Layout(int n_labels, uint32_t n_node, uint32_t n_both, uint32_t n_edge)
      : n_labels(n_labels),
        width(padded_width(n_labels)),
        n_node(n_node),
        n_both(n_both),
        n_edge(n_edge) {
    if (n_labels < 1 || n_labels > 32767)
      throw std::invalid_argument(std::to_string(n_labels) + " labels; allowed: 1 to 32767");
    if (uint64_t{n_node} + n_both + n_edge > 0xFFFFFFF0u)
      throw std::invalid_argument("too many predicates; allowed: below 2^32");
  }

  uint32_t n_predicates() const { return n_node + n_both + n_edge; }
  uint32_t edge_begin() const { return n_node; }         // first id with an edge block
  uint32_t node_end() const { return n_node + n_both; }  // first id without a node block
  size_t edge_size() const { return size_t(n_labels) * width; }
  size_t both_size() const { return width + edge_size(); }
  size_t n_weights() const {
    return n_node * size_t(width) + n_both * both_size() + n_edge * edge_size();
  }

  // First weight of predicate id's row.
  size_t row(uint32_t id) const {
    if (id < n_node) return id * size_t(width);
    const size_t both = n_node * size_t(width);
    if (id < node_end()) return both + (id - n_node) * both_size();
    return both + n_both * both_size() + (id - node_end()) * edge_size();
  }
  size_t row_size(uint32_t id) const {
    return id < n_node ? width : id < node_end() ? both_size() : edge_size();
  }
  // First weight of predicate id's edge block; id ≥ edge_begin().
  size_t edge_row(uint32_t id) const { return row(id) + (id < node_end() ? width : 0); }
};

constexpr uint32_t no_predicate = 0xFFFFFFFFu;
constexpr int32_t no_label = -1;  // of a token whose label is not known

// One sentence: T positions, each with the predicates that fire there, kinds ascending.
struct Sentence {
  int length;                      // T
  const int64_t* offsets;          // [T + 1] into predicates
  const uint32_t* predicates;      // [F]
  const float* values;             // [F], or null: all are 1
  const int32_t* labels;           // [T], or null
  const uint8_t* legal = nullptr;  // [Y + 1, Y + 1] transitions, as in Constraints, or null
  float weight = 1;                // of its loss and of its updates
  uint32_t always = no_predicate;  // fires at every position, with value 1, beside those listed

  float value(int64_t k) const { return values ? values[k] : 1.0f; }
};

// All sentences, flat.
struct Dataset {
  std::span<const int64_t> sentences;    // [N + 1] into positions
  std::span<const int64_t> positions;    // [T + 1] into predicates
  std::span<const uint32_t> predicates;  // [F]
  std::span<const float> values;         // [F] or empty
  std::span<const int32_t> labels;       // [T] or empty; no_label where it is not known
  std::span<const uint8_t> legal;        // [Y + 1, Y + 1] or empty: all transitions are allowed
  std::span<const float> weights;        // [N] of sentences, or empty: all are 1
  uint32_t always = no_predicate;        // a predicate of kind node, e.g. an intercept

  size_t size() const { return sentences.size() - 1; }

  // How many predicates fire at all positions.
  size_t n_firings() const {
    return predicates.size() + (always == no_predicate ? 0 : positions.size() - 1);
  }

  Sentence operator[](size_t i) const {
    const int64_t first = sentences[i];
    return {int(sentences[i + 1] - first),
            positions.data() + first,
            predicates.data(),
            values.empty() ? nullptr : values.data(),
            labels.empty() ? nullptr : labels.data() + first,
            legal.empty() ? nullptr : legal.data(),
            weights.empty() ? 1.0f : weights[i],
            always};
  }

  static void check_offsets(std::span<const int64_t> offsets, size_t end, const char* what) {
    if (offsets.empty() || offsets.front() != 0 || uint64_t(offsets.back()) != end)
      throw std::invalid_argument(std::string("dataset: ") + what +
                                  " offsets do not cover the data");
    for (size_t i = 1; i < offsets.size(); ++i)
      if (offsets[i] < offsets[i - 1])
        throw std::invalid_argument(std::string("dataset: ") + what + " offsets are not ascending");
  }

  // Throws unless every offset, id and label is in range: the kernels check nothing.
  void validate(const Layout& layout) const {
    if (positions.empty()) throw std::invalid_argument("dataset: no position offsets");
    check_offsets(sentences, positions.size() - 1, "sentence");
    check_offsets(positions, predicates.size(), "position");
    if (!values.empty() && values.size() != predicates.size())
      throw std::invalid_argument("dataset: values and predicates differ in length");
    if (!labels.empty() && labels.size() != positions.size() - 1)
      throw std::invalid_argument("dataset: labels and positions differ in length");
    if (!weights.empty() && weights.size() != size())
      throw std::invalid_argument("dataset: one weight is needed for each sentence");
    if (!legal.empty() && legal.size() != (layout.n_labels + 1) * size_t(layout.n_labels + 1))
      throw std::invalid_argument("legal: the shape must be [labels + 1, labels + 1]");
    for (const float weight : weights)
      if (!(weight >= 0 && weight < 1e30f))
        throw std::invalid_argument("dataset: a weight is negative or not finite");
    if (always != no_predicate && always >= layout.n_node)
      throw std::invalid_argument("dataset: what always fires must be a node predicate");
    const uint32_t n = layout.n_predicates(), edge = layout.edge_begin(), end = layout.node_end();
    const auto kind = [&](uint32_t id) { return int(id >= edge) + int(id >= end); };
    for (size_t t = 0; t + 1 < positions.size(); ++t) {
      int last = 0;
      for (int64_t k = positions[t]; k < positions[t + 1]; ++k) {
        const uint32_t id = predicates[k];
        if (id >= n || kind(id) < last)
          throw std::invalid_argument("dataset: predicate ids are out of range or out of order");
        last = kind(id);
      }
    }
    for (const int32_t y : labels)
      if (y < no_label || y >= layout.n_labels)
        throw std::invalid_argument("dataset: label ids are out of range");
  }
};

}  // namespace adaptag
