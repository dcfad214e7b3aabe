// An encoded dataset as Python holds it, with its arrays.
#pragma once

#include <tuple>

#include "../layout.hpp"
#include "bindings.hpp"

namespace adaptag {

struct PyDataset {
  PyDataset(const Layout& layout, In<int64_t> sentences, In<int64_t> positions,
            In<uint32_t> predicates, std::optional<In<float>> values,
            std::optional<In<int32_t>> labels, std::optional<In<uint8_t, 2>> legal,
            std::optional<In<float>> weights, std::optional<uint32_t> always)
      : arrays{sentences, positions, predicates, values, labels, legal, weights},
        layout(layout),
        data{span(sentences), span(positions), span(predicates), span(values),
             span(labels),    span(legal),     span(weights),    always.value_or(no_predicate)} {
    data.validate(layout);
  }
  void check(const Layout& other) const {
    if (other.n_labels != layout.n_labels || other.n_node != layout.n_node ||
        other.n_both != layout.n_both || other.n_edge != layout.n_edge)
      throw std::invalid_argument("the dataset was encoded for another model");
  }
  void check_labelled() const {
    if (data.labels.empty() && data.positions.size() > 1)
      throw std::invalid_argument("the dataset has no labels");
  }

  std::tuple<In<int64_t>, In<int64_t>, In<uint32_t>, std::optional<In<float>>,
             std::optional<In<int32_t>>, std::optional<In<uint8_t, 2>>, std::optional<In<float>>>
      arrays;
  Layout layout;
  Dataset data;
};

inline void check_weights(const Layout& layout, size_t n) {
  if (n != layout.n_weights())
    throw std::invalid_argument(std::to_string(n) + " weights; the model needs " +
                                std::to_string(layout.n_weights()));
}

}  // namespace adaptag
