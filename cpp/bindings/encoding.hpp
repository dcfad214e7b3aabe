// Encoding of texts and attributes with an index, full or compact, in threads.
#pragma once

#include "../layout.hpp"
#include "../ranges.hpp"
#include "feature_index.hpp"

namespace adaptag {

// Encodes ranges of sentences in n threads, encode(sentence, scratch) one of them, and puts what
// they found together.
template <class Scratch, class Encode>
Scratch encode_ranges(std::span<const int64_t> sentences, int n, Encode&& encode) {
  std::vector<Scratch> parts(n);
  for_sentence_ranges(sentences, n, [&](int k, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) encode(i, parts[k]);
  });
  std::vector<size_t> tokens{0}, features{0};
  size_t n_values = 0;  // none for columns, else one for each feature
  for (const auto& part : parts) {
    tokens.push_back(tokens.back() + part.offsets.size());
    features.push_back(features.back() + part.predicates.size());
    n_values += part.values.size();
  }
  Scratch out;
  out.offsets.resize(tokens.back() + 1);
  out.offsets[0] = 0;
  if (n == 1) {
    out.predicates = std::move(parts[0].predicates);
    out.values = std::move(parts[0].values);
  } else {
    out.predicates.resize(features.back());
    out.values.resize(n_values);
  }
  in_parallel(n, [&](int k) {
    const auto& part = parts[k];
    std::copy(part.predicates.begin(), part.predicates.end(), out.predicates.begin() + features[k]);
    std::copy(part.values.begin(), part.values.end(), out.values.begin() + features[k]);
    for (size_t t = 0; t < part.offsets.size(); ++t)
      out.offsets[tokens[k] + t + 1] = int64_t(features[k]) + part.offsets[t];
  });
  return out;
}

template <class PyIndex>
nb::tuple encode_columns(const PyIndex& self, In<uint8_t> text, In<uint32_t, 3> cells,
                         In<int64_t> sentences, int threads) {
  const CellView cell(text, cells);
  check_columns(self.index.program(), cell.n_columns(), cells.shape(0));
  Dataset::check_offsets(span(sentences), cells.shape(0), "sentence");
  using Scratch = typename decltype(self.index)::Scratch;
  Scratch out;
  {
    nb::gil_scoped_release release;
    out = encode_ranges<Scratch>(span(sentences), threads, [&](size_t i, Scratch& s) {
      const int64_t first = sentences.data()[i];
      self.index.encode(
          int(sentences.data()[i + 1] - first),
          [&](int t, int column) { return cell(first + t, column); }, s);
    });
  }
  return nb::make_tuple(numpy(std::move(out.offsets)), numpy(std::move(out.predicates)));
}

template <class PyIndex>
nb::tuple encode_attributes(const PyIndex& self, In<uint8_t> text, In<uint32_t, 3> cells,
                            In<float> values, In<int64_t> positions, In<int64_t> sentences,
                            int threads) {
  const CellView cell(text, cells);
  Dataset::check_offsets(span(positions), cells.shape(0), "position");
  Dataset::check_offsets(span(sentences), positions.size() - 1, "sentence");
  if (values.size() != cells.shape(0)) throw std::invalid_argument("one value for each attribute");
  if (self.index.program().attribute_skeleton < 0)
    throw std::invalid_argument("the template is for columns, not for attributes");
  using Scratch = typename decltype(self.index)::Scratch;
  Scratch out;
  {
    nb::gil_scoped_release release;
    out = encode_ranges<Scratch>(span(sentences), threads, [&](size_t i, Scratch& s) {
      const int64_t first = sentences.data()[i];
      self.index.encode_attributes(
          int(sentences.data()[i + 1] - first), positions.data() + first,
          [&](int64_t k) { return cell(k, 0); }, values.data(), s);
    });
  }
  return nb::make_tuple(numpy(std::move(out.offsets)), numpy(std::move(out.predicates)),
                        numpy(std::move(out.values)));
}

}  // namespace adaptag
