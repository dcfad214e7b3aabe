// Documents, sentences of one token, with their predicates in an order of our own.
#pragma once

#include <algorithm>
#include <vector>

#include "../layout.hpp"

namespace adaptag {

// Whether all sentences have one token, or none, with no transitions ruled out.
inline bool are_documents(const Dataset& data) {
  return data.legal.empty() && std::adjacent_find(data.sentences.begin(), data.sentences.end(),
                                                  [](int64_t begin, int64_t end) {
                                                    return end > begin + 1;
                                                  }) == data.sentences.end();
}

// What fires in a document, each predicate once.
struct Document {
  const uint32_t* ids = nullptr;  // [n]
  const float* values = nullptr;  // [n], or null: all are 1
  size_t n = 0;
  uint32_t always = no_predicate;  // fires beside them with value 1, or no_predicate

  float value(size_t k) const { return values ? values[k] : 1.0f; }
};

// The predicates of a dataset's documents under other numbers. Where some document has a predicate
// twice, the values are added up.
struct NumberedDocuments {
  std::span<const uint32_t> source;  // what was numbered
  std::span<const int64_t> positions;
  bool fit = false;  // whether they are documents, each predicate of which can be merged
  uint32_t always = no_predicate;
  std::vector<uint32_t> ids;     // [F]
  std::vector<int64_t> offsets;  // [N + 1] where values were added up, else empty
  std::vector<float> values;     // [F] likewise

  bool is(const Dataset& data) const {
    const auto same = [](const auto& a, const auto& b) {
      return a.data() == b.data() && a.size() == b.size();
    };
    return same(source, data.predicates) && same(positions, data.positions);
  }
  Document operator()(const Dataset& data, size_t i) const {
    const Sentence s = data[i];
    const int64_t first = offsets.empty() ? s.offsets[0] : offsets[i];
    const int64_t last = offsets.empty() ? s.offsets[1] : offsets[i + 1];
    const float* const all = offsets.empty() ? s.values : values.data();
    return {ids.data() + first, all ? all + first : nullptr, size_t(last - first), always};
  }
};

// Numbers predicates in the order they first occur in: those that occur more than once, then those
// that occur once, then the others.
class DocumentNumbering {
 public:
  DocumentNumbering(uint32_t n, const Dataset& data)
      : numbers_(n, no_predicate), predicates_(n), seen_(n, 0) {
    std::vector<uint8_t> count(n, 0);  // 2 stands for more
    for (const uint32_t id : data.predicates)
      if (id < n) count[id] += count[id] < 2;
    uint32_t next[3] = {0};  // by count
    next[1] = uint32_t(std::count(count.begin(), count.end(), 2));
    next[0] = next[1] + uint32_t(std::count(count.begin(), count.end(), 1));
    const auto give = [&](uint32_t id) {
      if (numbers_[id] != no_predicate) return;
      numbers_[id] = next[count[id]]++;
      predicates_[numbers_[id]] = id;
    };
    for (const uint32_t id : data.predicates)
      if (id < n) give(id);
    for (uint32_t id = 0; id < n; ++id) give(id);
  }

  uint32_t predicate(uint32_t number) const { return predicates_[number]; }

  NumberedDocuments number(const Dataset& data) {
    NumberedDocuments out;
    out.source = data.predicates;
    out.positions = data.positions;
    out.fit = are_documents(data);
    if (!out.fit) return out;
    if (data.always != no_predicate) out.always = numbers_[data.always];
    bool repeats = false;
    for (size_t i = 0; i < data.size() && out.fit; ++i) {
      const Sentence s = data[i];
      begin_document();
      for (int64_t k = s.offsets[0]; k < s.offsets[s.length]; ++k) {
        repeats |= is_seen(s.predicates[k]);
        out.fit &= s.predicates[k] != s.always;
      }
    }
    if (repeats && out.fit)
      merge(data, out);
    else if (out.fit) {
      out.ids.resize(data.predicates.size());
      std::transform(data.predicates.begin(), data.predicates.end(), out.ids.begin(),
                     [&](uint32_t id) { return numbers_[id]; });
    }
    return out;
  }

 private:
  void merge(const Dataset& data, NumberedDocuments& out) {
    std::vector<size_t> places(numbers_.size());
    out.offsets.push_back(0);
    for (size_t i = 0; i < data.size(); ++i) {
      const Sentence s = data[i];
      begin_document();
      for (int64_t k = s.offsets[0]; k < s.offsets[s.length]; ++k) {
        const uint32_t id = s.predicates[k];
        if (is_seen(id)) {
          out.values[places[id]] += s.value(k);
          continue;
        }
        places[id] = out.ids.size();
        out.ids.push_back(numbers_[id]);
        out.values.push_back(s.value(k));
      }
      out.offsets.push_back(int64_t(out.ids.size()));
    }
  }

  void begin_document() {
    if (++document_ != 0) return;
    std::fill(seen_.begin(), seen_.end(), 0);
    document_ = 1;
  }
  bool is_seen(uint32_t id) {
    const bool seen = seen_[id] == document_;
    seen_[id] = document_;
    return seen;
  }

  std::vector<uint32_t> numbers_, predicates_;  // [n] of each predicate; the predicate of each
  std::vector<uint32_t> seen_;                  // [n] the document that had a predicate last
  uint32_t document_ = 0;
};

}  // namespace adaptag
