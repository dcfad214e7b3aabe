// A compact model as Python holds it, with the arrays that it looks into.
#pragma once

#include "../compact_model.hpp"
#include "feature_index.hpp"

namespace adaptag {

struct PyCompactModel {
  PyCompactModel(const Program& program, In<uint32_t> buckets, In<uint8_t> rows, int n_labels,
                 int value_size, int exponent)
      : buckets(buckets),
        rows(rows),
        index(program, CompactTable(span(buckets), span(rows), n_labels, value_size), exponent) {}

  In<uint32_t> buckets;
  In<uint8_t> rows;
  CompactModel index;
};

}  // namespace adaptag
