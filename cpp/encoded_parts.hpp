// Encoded data: every thread stores the predicates of a range of sentences, in its own numbers, at
// their place; at the end they are renumbered there.
#pragma once

#include "feature_index.hpp"
#include "memory.hpp"
#include "parallel.hpp"

namespace adaptag {

// A range of sentences that one thread encoded.
struct EncodedPart {
  size_t first_token, n_tokens;
  LargeVector<uint32_t> numbers = {};  // of its predicates for all data; empty: the same

  // Calls f(final) with a function that gives the final number of each of the ids.
  template <class FinalId, class F>
  void with_final_ids(FinalId&& final_id, F&& f) {
    for (uint32_t& id : numbers) id = final_id(id);
    if (numbers.empty())
      f(final_id);
    else
      f([&](uint32_t id) { return numbers[id]; });
  }
};

// All sentences, flat.
struct EncodedArrays {
  LargeVector<int64_t> positions;    // [T + 1] into predicates
  LargeVector<uint32_t> predicates;  // [F]
  LargeVector<float> values;         // [F], or empty for columns
  std::vector<EncodedPart> parts;

  size_t n_tokens() const { return positions.empty() ? 0 : positions.size() - 1; }

  // Makes room for more tokens with this many predicates, which a writer stores.
  void extend(size_t n_tokens, size_t n_predicates, bool with_values) {
    if (positions.empty()) positions.push_back(0);
    positions.resize(positions.size() + n_tokens);
    predicates.resize(predicates.size() + n_predicates);
    if (with_values) values.resize(predicates.size());
  }
  // Gives back the room behind the last token.
  void shrink() {
    predicates.resize(size_t(positions.back()));
    if (!values.empty()) values.resize(predicates.size());
  }

  // Replaces the numbers in all parts by final_id(number), a thread for each. `some_dropped`: for
  // some numbers it is unknown.
  template <class FinalId>
  void renumber(const KindOrder& order, bool some_dropped, FinalId&& final_id) {
    if (positions.empty()) positions.push_back(0);
    if (parts.empty()) return;
    std::vector<size_t> begins;  // positions of the parts in predicates
    for (const EncodedPart& part : parts) begins.push_back(size_t(positions[part.first_token]));
    in_parallel(int(parts.size()), [&](int k) {
      parts[k].with_final_ids(final_id, [&](auto&& of) {
        if (some_dropped)
          renumber_known(parts[k], begins[k], order, of);
        else
          renumber_all(parts[k], begins[k], order, of);
      });
    });
    if (some_dropped) close_gaps(begins);
    parts.clear();
  }

 private:
  template <class FinalId>
  void renumber_all(const EncodedPart& part, size_t begin, const KindOrder& order, FinalId&& of) {
    for (size_t t = part.first_token; t < part.first_token + part.n_tokens; ++t) {
      const auto end = size_t(positions[t + 1]);
      for (size_t k = begin; k < end; ++k) predicates[k] = of(predicates[k]);
      order.restore(predicates, values, begin, end);
      begin = end;
    }
  }

  // Drops the predicates that are unknown; the ends of tokens are as if the part came first.
  template <class FinalId>
  void renumber_known(const EncodedPart& part, size_t begin, const KindOrder& order, FinalId&& of) {
    size_t from = begin, to = begin;
    for (size_t t = part.first_token; t < part.first_token + part.n_tokens; ++t) {
      const size_t first = to;
      for (const auto end = size_t(positions[t + 1]); from < end; ++from) {
        const uint32_t id = of(predicates[from]);
        if (id == VocabularyView::unknown) continue;
        if (!values.empty()) values[to] = values[from];
        predicates[to++] = id;
      }
      order.restore(predicates, values, first, to);
      positions[t + 1] = int64_t(to - begin);
    }
  }

  void close_gaps(const std::vector<size_t>& begins) {
    size_t to = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto& [first, n_tokens, numbers] = parts[i];
      const size_t size = n_tokens ? size_t(positions[first + n_tokens]) : 0;
      std::copy_n(predicates.begin() + begins[i], size, predicates.begin() + to);
      if (!values.empty()) std::copy_n(values.begin() + begins[i], size, values.begin() + to);
      for (size_t t = first; t < first + n_tokens; ++t) positions[t + 1] += int64_t(to);
      to += size;
    }
    shrink();
  }
};

// Stores the predicates of one token after the other, with the working memory of a thread.
struct PartWriter {
  PartWriter(EncodedArrays& data, size_t first_token, size_t first_predicate)
      : ends(data.positions.data() + first_token + 1),
        predicates(data.predicates.data()),
        values(data.values.empty() ? nullptr : data.values.data()),
        size(first_predicate) {}

  void push(uint32_t id, float value) {
    if (id == VocabularyView::unknown) return;
    if (values) values[size] = value;
    predicates[size++] = id;
  }
  void end_token() { *ends++ = int64_t(size); }

  int64_t* ends;         // of the next token
  uint32_t* predicates;  // of all tokens
  float* values;
  size_t size;  // where the next predicate is stored
  Cells cells;
  std::vector<uint64_t> hashes;
};

}  // namespace adaptag
