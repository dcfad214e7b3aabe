// Ranges of work for threads: of any items, or of sentences with about equally many tokens each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "parallel.hpp"

namespace adaptag {

// Calls f(k, begin, end) for each of n ranges of about equal size, at the same time.
template <class F>
void for_ranges(size_t size, int n, F&& f) {
  const auto bound = [&](int k) { return size / n * k + size % n * k / n; };
  in_parallel(n, [&](int k) { f(k, bound(k), bound(k + 1)); });
}

// The bounds [n + 1] of n ranges of sentences, some of them empty where there are few sentences.
inline std::vector<size_t> sentence_ranges(std::span<const int64_t> sentences, int n) {
  const size_t N = sentences.empty() ? 0 : sentences.size() - 1;
  std::vector<size_t> bounds{0};
  for (int k = 1; k < n; ++k) {
    const int64_t target = N ? sentences.back() / n * k : 0;
    const auto first = std::lower_bound(sentences.begin(), sentences.end(), target);
    bounds.push_back(std::min(N, size_t(first - sentences.begin())));
  }
  bounds.push_back(N);
  return bounds;
}

// Calls f(k, begin, end) for each of n ranges of sentences, at the same time.
template <class F>
void for_sentence_ranges(std::span<const int64_t> sentences, int n, F&& f) {
  const std::vector<size_t> bounds = sentence_ranges(sentences, n);
  in_parallel(n, [&](int k) { f(k, bounds[k], bounds[k + 1]); });
}

}  // namespace adaptag
