// Encoded data of ranges of sentences, each in the numbers of the thread that encoded it, and how
// it is put together.
#pragma once

#include "feature_index.hpp"
#include "memory.hpp"
#include "parallel.hpp"

namespace adaptag {

// One range of sentences, with the working memory of its thread.
struct alignas(64) EncodedPart {
  LargeVector<uint32_t> ids;      // [F] numbers of predicates in the numbering of the thread
  LargeVector<float> values;      // [F], or empty for columns
  LargeVector<int64_t> ends;      // [T] of the tokens, in ids
  LargeVector<uint32_t> numbers;  // of the thread's predicates for all data; empty: the same
  Cells cells;
  std::vector<uint64_t> hashes;

  // Calls f(final) with a function that gives the final number of each of the ids.
  template <class FinalId, class F>
  void with_final_ids(FinalId&& final_id, F&& f) {
    for (uint32_t& id : numbers) id = final_id(id);
    if (numbers.empty())
      f(final_id);
    else
      f([&](uint32_t id) { return numbers[id]; });
  }

  // Replaces the ids by final ones, in place, and drops those that are unknown.
  template <class FinalId>
  void renumber(FinalId&& final_id) {
    size_t from = 0, to = 0;
    for (int64_t& end : ends) {
      for (; from < size_t(end); ++from) {
        const uint32_t id = final_id(ids[from]);
        if (id == VocabularyView::unknown) continue;
        if (!values.empty()) values[to] = values[from];
        ids[to++] = id;
      }
      end = int64_t(to);
    }
    ids.resize(to);
    if (!values.empty()) values.resize(to);
  }
};

// All sentences, flat.
struct EncodedArrays {
  LargeVector<int64_t> positions;    // [T + 1] into predicates
  LargeVector<uint32_t> predicates;  // [F]
  LargeVector<float> values;         // [F], or empty for columns

  // Puts the data of all parts together, a thread for each, renumbered by final_id(number), and
  // empties them. `some_dropped`: for some numbers it is unknown.
  template <class FinalId>
  void join(std::vector<EncodedPart>& parts, const KindOrder& order, bool some_dropped,
            FinalId&& final_id) {
    if (parts.empty()) parts.resize(1);
    const auto n = int(parts.size());
    if (some_dropped)
      in_parallel(n, [&](int k) {
        parts[k].with_final_ids(final_id, [&](auto&& of) { parts[k].renumber(of); });
      });
    std::vector<size_t> tokens{0}, features{0};
    size_t n_values = 0;
    for (const EncodedPart& part : parts) {
      tokens.push_back(tokens.back() + part.ends.size());
      features.push_back(features.back() + part.ids.size());
      n_values += part.values.size();
    }
    positions.resize(tokens.back() + 1);
    positions[0] = 0;
    predicates = std::move(parts[0].ids);  // which has room for all
    predicates.resize(features.back());
    values = std::move(parts[0].values);
    values.resize(n_values);
    in_parallel(n, [&](int k) {
      EncodedPart& part = parts[k];
      const uint32_t* from = k == 0 ? predicates.data() : part.ids.data();
      uint32_t* to = predicates.data() + features[k];
      const size_t size = features[k + 1] - features[k];
      if (!some_dropped)
        part.with_final_ids(final_id,
                            [&](auto&& of) { std::transform(from, from + size, to, of); });
      else if (from != to)
        std::copy_n(from, size, to);
      std::copy(part.values.begin(), part.values.end(), values.begin() + features[k]);
      size_t begin = features[k];
      for (size_t t = 0; t < part.ends.size(); ++t) {
        const size_t end = features[k] + size_t(part.ends[t]);
        order.restore(predicates, values, begin, end);
        positions[tokens[k] + t + 1] = int64_t(end);
        begin = end;
      }
      part = {};
    });
    parts.clear();
  }
};

}  // namespace adaptag
