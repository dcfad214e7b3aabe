// A feature index as Python holds it, with the arrays that it looks into.
#pragma once

#include <array>
#include <tuple>

#include "../feature_index.hpp"
#include "cells.hpp"

namespace adaptag {

inline void check_columns(const Program& program, size_t n_columns, size_t T) {
  if (T > 0 && n_columns < size_t(program.n_columns))
    throw InputError(std::to_string(n_columns) + " columns; the template needs " +
                     std::to_string(program.n_columns));
}

struct PyFeatureIndex {
  PyFeatureIndex(const Program& program, In<uint8_t> bytes, In<uint32_t> offsets,
                 In<uint64_t> vocabulary_slots, In<uint32_t, 2> derived, In<uint64_t> slots,
                 std::array<uint32_t, 3> n_of_kind)
      : arrays{bytes, offsets, vocabulary_slots, derived, slots},
        index(program, {span(bytes), span(offsets), span(vocabulary_slots)}, span(derived),
              span(slots), n_of_kind) {}
  PyFeatureIndex(const Program& program, std::array<uint32_t, 3> n_of_kind)
      : index(program, n_of_kind) {}

  std::tuple<In<uint8_t>, In<uint32_t>, In<uint64_t>, In<uint32_t, 2>, In<uint64_t>> arrays;
  FeatureIndex index;
};

}  // namespace adaptag
