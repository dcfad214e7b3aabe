// Documents, sentences of one token, as the special forms of training algorithms take them.
//
// Their predicates get rows of our own, numbered in the order they first occur in. The rows are
// divided among parts, one for each thread, so that all parts have about as much to do.
//
// Predicates that only one document has fire together or not at all, so their weights stay
// proportional to their values x_k: they share one row. With v the weight of the one with the
// largest |x|, b, those of all are v x_k / b: the row's value is a = Σ x_k² / b in scores and b in
// updates. A third of what fires in a collection of reviews is of this kind, and most of the
// memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
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

// What fires in a document of the rows of one part, each row once. It fills whole vectors: behind
// the others stands a row for nothing, with value 0.
struct Document {
  const uint32_t* rows;  // [n]
  const float* values;   // [n]
  size_t n;              // a multiple of the vectors' lanes
  float last;            // in scores, the value of the last row; in updates it is as in values
};

// The rows of one part, and the documents as far as they are made of them.
struct DocumentPart {
  uint32_t nothing() const { return uint32_t(predicates.size()); }  // the row behind the others

  Document operator[](size_t i) const {
    const int64_t first = offsets[i];
    return {rows.get() + first, values.get() + first, size_t(offsets[i + 1] - first), last[i]};
  }

  std::vector<uint32_t> predicates;  // [R] of each row; of a row that several share, b's
  std::vector<int64_t> offsets;      // [N + 1] into rows
  std::unique_ptr<uint32_t[]> rows;  // [F]
  std::unique_ptr<float[]> values;   // [F]
  std::vector<float> last;           // [N]
};

class DocumentParts {
 public:
  static constexpr size_t lanes = native_lanes;

  // Whether numbers are large enough.
  static bool has_room_for(const Dataset& data, int n_parts) {
    return n_parts <= 256 && data.n_firings() * size_t(2 * n_parts) < given;
  }

  // Of n predicates, those of the data get rows. Several share one where may_share(id, ratio, b)
  // holds for each: that its weights are those of predicate b, times the ratio.
  template <class F>
  DocumentParts(const Dataset& data, uint32_t n, int n_parts, F&& may_share)
      : parts(n_parts), numbers_(n, 0), ends_(n_parts), firings_(n_parts, 0) {
    for (const uint32_t id : data.predicates) ++numbers_[id];
    if (data.always != no_predicate) numbers_[data.always] += uint32_t(data.positions.size() - 1);
    while (1 << shift_ < n_parts) ++shift_;
    const size_t room = data.n_firings() + data.size() * (lanes + 1);
    for (int p = 0; p < n_parts; ++p) {
      parts[p].rows = std::make_unique_for_overwrite<uint32_t[]>(room);
      parts[p].values = std::make_unique_for_overwrite<float[]>(room);
      parts[p].offsets.assign(data.size() + 1, 0);
      parts[p].last.assign(data.size(), 0.0f);
      ends_[p] = {parts[p].rows.get(), parts[p].values.get()};
    }
    shared_.reserve(data.predicates.size());  // memory that is not written costs nothing
    for (size_t i = 0; i < data.size(); ++i) add_document(data[i], i, may_share);
    for (DocumentPart& part : parts)
      std::replace(part.rows.get(), part.rows.get() + part.offsets.back(), no_predicate,
                   part.nothing());
  }

  bool occurs(uint32_t id) const { return numbers_[id] != 0; }

  // Calls f(part, row, id, ratio) for each predicate that occurs in the data: its weights are those
  // of the row, times the ratio.
  template <class F>
  void for_each(F&& f) const {
    for (size_t p = 0; p < parts.size(); ++p)
      for (uint32_t row = 0; row < parts[p].nothing(); ++row)
        f(p, row, parts[p].predicates[row], 1.0f);
    for (size_t i = 0, k = 0; i < shared_ends_.size(); ++i) {
      const size_t p = i % parts.size();
      const Document d = parts[p][i];
      for (; k < shared_ends_[i]; ++k) f(p, d.rows[d.n - 1], shared_[k].id, shared_[k].value);
    }
  }

  std::vector<DocumentPart> parts;

 private:
  struct Firing {
    uint32_t id;
    float value;
  };
  struct End {
    uint32_t* row;
    float* value;
  };
  static constexpr uint32_t shared = 1;
  static constexpr uint32_t given = 1u << 31;

  template <class F>
  void add_document(const Sentence& s, size_t i, F&& may_share) {
    alone_.resize(size_t(s.offsets[s.length] - s.offsets[0]) + 2);
    n_alone_ = 0;
    if (s.length > 0 && is_plain(s)) {
      for (int64_t k = s.offsets[0]; k < s.offsets[1]; ++k) add({s.predicates[k], s.value(k)});
      if (s.always != no_predicate) add({s.always, 1.0f});
    } else if (s.length > 0) {
      for (const Firing& firing : merged(s)) add(firing);
    }
    const std::span<const Firing> alone(alone_.data(), n_alone_);
    const Firing* const b = largest(alone);
    const bool share = b && std::all_of(alone.begin(), alone.end(), [&](const Firing& one) {
                         return may_share(one.id, one.value / b->value, b->id);
                       });
    double squares = 0;
    for (const Firing& one : alone) {
      squares += double(one.value) * one.value;
      if (share)
        shared_.push_back({one.id, one.value / b->value});
      else
        put(one, give(one.id, 1));
    }
    shared_ends_.push_back(shared_.size());
    for (size_t p = 0; p < parts.size(); ++p) {
      DocumentPart& part = parts[p];
      const bool shares = share && p == i % parts.size();
      while (size_t(ends_[p].row - part.rows.get() + shares) % lanes > 0) put(p, no_predicate, 0);
      if (shares) {
        put(p, part.nothing(), b->value);
        part.predicates.push_back(b->id);
      }
      part.offsets[i + 1] = ends_[p].row - part.rows.get();
      if (part.offsets[i + 1] > part.offsets[i])
        part.last[i] = shares ? float(squares / b->value) : ends_[p].value[-1];
    }
  }

  // The one with the largest |value|.
  static const Firing* largest(std::span<const Firing> firings) {
    const Firing* out = nullptr;
    for (const Firing& one : firings)
      if (!out || std::abs(one.value) > std::abs(out->value)) out = &one;
    return out;
  }

  // Whether each predicate is there once, as far as can be seen at once.
  static bool is_plain(const Sentence& s) {
    uint32_t above = 0;
    bool ascending = true;
    for (int64_t k = s.offsets[0]; k < s.offsets[1]; ++k) {
      ascending &= s.predicates[k] >= above;
      above = s.predicates[k] + 1;
    }
    return ascending && s.always >= above;
  }

  // What fires, each predicate once, with the sum of its values.
  std::vector<Firing> merged(const Sentence& s) const {
    std::vector<Firing> all, out;
    for (int64_t k = s.offsets[0]; k < s.offsets[1]; ++k)
      all.push_back({s.predicates[k], s.value(k)});
    if (s.always != no_predicate) all.push_back({s.always, 1.0f});
    std::stable_sort(all.begin(), all.end(), [](Firing x, Firing y) { return x.id < y.id; });
    for (const Firing& one : all)
      if (!out.empty() && out.back().id == one.id)
        out.back().value += one.value;
      else
        out.push_back(one);
    return out;
  }

  // Without branches that cannot be foreseen: whether other documents have the predicate is open.
  [[gnu::always_inline]] inline void add(Firing firing) {
    uint32_t number = numbers_[firing.id];
    const bool alone = (number == shared) & (firing.value != 0);
    if ((number | uint32_t(alone) << 31) < given) number = give(firing.id, number);
    alone_[n_alone_] = firing;
    n_alone_ += alone;
    End& end = ends_[number & ((1u << shift_) - 1) & (alone - 1u)];
    *end.row = (number & ~given) >> shift_;
    *end.value = firing.value;
    end.row += !alone;
    end.value += !alone;
  }

  // A number for a predicate that fires so often, in the part that has least to do.
  uint32_t give(uint32_t id, uint32_t times) {
    const auto p = size_t(std::min_element(firings_.begin(), firings_.end()) - firings_.begin());
    firings_[p] += times;
    numbers_[id] = given | parts[p].nothing() << shift_ | uint32_t(p);
    parts[p].predicates.push_back(id);
    return numbers_[id];
  }

  void put(Firing firing, uint32_t number) {
    put(number & ((1u << shift_) - 1), (number & ~given) >> shift_, firing.value);
  }
  void put(size_t p, uint32_t row, float value) {
    *ends_[p].row++ = row;
    *ends_[p].value++ = value;
  }

  std::vector<uint32_t> numbers_;  // [n] 0: does not occur; shared; else given | row | part
  std::vector<End> ends_;          // of the rows and values of each part
  std::vector<uint64_t> firings_;  // of each part
  std::vector<Firing> alone_;      // what fires in the document at hand and in no other: some room
  size_t n_alone_ = 0;
  std::vector<Firing> shared_;       // predicates that share rows, by document, and their ratios
  std::vector<size_t> shared_ends_;  // [N]
  int shift_ = 0;                    // bits of a part's number
};

}  // namespace adaptag
