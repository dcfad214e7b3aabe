// Rich edges: predicates with a weight for every pair of labels, where they are frequent enough.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace adaptag {

// Which of the predicates that may have edge weights get them.
struct EdgeLimit {
  uint32_t cutoff;  // those that occur less often have none
  double share;     // of them all, the most frequent

  // The count from which on they have edge weights.
  uint32_t least_count(std::vector<uint32_t> counts) const {
    const auto n = std::min(size_t(share * double(counts.size())), counts.size());
    if (n == 0) return 0xFFFFFFFFu;
    if (n == counts.size()) return cutoff;
    std::nth_element(counts.begin(), counts.begin() + (n - 1), counts.end(), std::greater<>());
    return std::max(cutoff, counts[n - 1]);
  }
};

}  // namespace adaptag
