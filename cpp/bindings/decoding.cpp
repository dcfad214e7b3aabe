// Decoding: best labels, marginals, n best, chunks.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../label_writer.hpp"
#include "../nbest.hpp"
#include "../objective.hpp"
#include "../ranges.hpp"
#include "chunks.hpp"
#include "compact.hpp"
#include "dataset.hpp"
#include "signals.hpp"

using namespace nb::literals;

namespace adaptag {
namespace {

// Weights ready to decode with; shared by threads, which bring their own working memory.
class PyDecoder {
 public:
  PyDecoder(const Layout& layout, In<float> weights, const PyFeatureIndex* index,
            std::vector<std::string> labels, std::optional<In<uint8_t, 2>> legal, float temperature)
      : layout_(layout),
        weights_(weights),
        index_(&index->index),
        legal_(legal),
        temperature_(temperature) {
    check_weights(layout, weights.size());
    check(index_->n_of_kind(), labels);
  }
  // A compact model is features and weights in one.
  PyDecoder(const Layout& layout, const PyCompactModel* compact, std::vector<std::string> labels,
            std::optional<In<uint8_t, 2>> legal, float temperature)
      : layout_(layout), compact_(&compact->index), legal_(legal), temperature_(temperature) {
    if (compact_->table().n_labels() != layout.n_labels)
      throw std::invalid_argument("the compact model does not fit the labels");
    check(compact_->n_of_kind(), labels);
  }

  // Has labels written in another scheme: names [Z], and the tables of a LabelWriter.
  void write_as(const std::vector<std::string>& names, In<uint8_t, 2> before, In<uint8_t, 2> after,
                In<int32_t, 3> table) {
    checked(before);
    checked(after);
    const size_t S = layout_.n_labels;
    if (table.shape(0) != S || table.shape(1) != LabelWriter::befores ||
        table.shape(2) != LabelWriter::afters)
      throw std::invalid_argument("table: the shape must be [labels, 4, 3]");
    const auto below = [](const auto& array, int64_t end) {
      for (const auto value : span(array))
        if (value < 0 || value >= end) throw std::invalid_argument("a label is out of range");
    };
    below(before, LabelWriter::befores);
    below(after, LabelWriter::afters);
    below(table, int64_t(names.size()));
    before_ = before;
    after_ = after;
    table_ = table;
    writer_ = LabelWriter{int(S), before_.data(), after_.data(), table_.data()};
    set_names(names);
  }
  // Has all methods that take an encoded dataset, but for chunks, work on copies of the labels.
  void split(In<int32_t> label_of) {
    for (const int32_t label : span(label_of))
      if (label < 0 || label >= layout_.n_labels)
        throw std::invalid_argument("a label is out of range");
    copies_.emplace(int(label_of.size()), 0, 0, 0);
    copies_->width = std::max(copies_->width, Rows<0>::lanes);  // what Lattice<0> reads at a time
    label_of_.assign(label_of.data(), label_of.data() + label_of.size());
  }

  nb::list tag(nb::handle sentence) const {
    PackedTokens packed;
    packed.add_sentence(sentence);
    check_columns(program(), packed.n_columns, packed.cells.size());
    std::vector<int32_t> labels(size_t(packed.sentences.back()));
    {
      nb::gil_scoped_release release;
      decode_columns(packed.sentences, packed, checked(legal_), 1, labels.data());
    }
    return named(labels, names_);
  }
  nb::list tag_all(const nb::list& sentences, int threads) const {
    ChunkedSentences chunks(sentences, threads);
    const Constraints constraints = checked(legal_);
    nb::list out;
    with_width(layout_.width, [&]<int W>() {
      in_team(threads, [&](Team&, int member) {
        Lattice<W> lattice(layout_);
        Scratch s;
        const auto decode = [&](TokenChunk& chunk) {
          const PackedTokens& tokens = chunk.tokens;
          check_columns(program(), tokens.n_columns, tokens.cells.size());
          decode_range(lattice, tokens.sentences, tokens, constraints, s, chunk.labels.data());
        };
        if (member > 0) return chunks.help(decode);
        out = chunks.lead(decode, [&](const TokenChunk& chunk, size_t i) {
          const int64_t first = chunk.tokens.sentences[i], end = chunk.tokens.sentences[i + 1];
          return named({chunk.labels.data() + first, size_t(end - first)}, names_);
        });
      });
    });
    return out;
  }

  auto viterbi_columns(In<uint8_t> text, In<uint32_t, 3> cells, In<int64_t> sentences,
                       std::optional<In<uint8_t, 2>> legal, int threads) const {
    const CellView cell(text, cells);
    check_columns(program(), cell.n_columns(), cells.shape(0));
    Dataset::check_offsets(span(sentences), cells.shape(0), "sentence");
    const Constraints constraints = checked(legal);
    std::vector<int32_t> labels(cells.shape(0));
    {
      nb::gil_scoped_release release;
      decode_columns(span(sentences), cell, constraints, threads, labels.data());
    }
    return numpy(std::move(labels));
  }
  auto viterbi(const PyDataset& dataset, std::optional<In<uint8_t, 2>> legal,
               std::optional<In<uint8_t, 2>> allowed, int threads, bool written) const {
    std::vector<int32_t> labels(dataset.data.positions.size() - 1);
    run(dataset, legal, allowed, threads,
        [&]<int W>(Lattice<W>& lattice, const Sentence& s, size_t, int64_t first) {
          lattice.viterbi(labels.data() + first);
          if (written && writer_) writer_->write(labels.data() + first, s.length);
        });
    return numpy(std::move(labels));
  }
  // P(y_t = y | x) [T, Y] and log Z [N].
  nb::tuple marginals(const PyDataset& dataset, std::optional<In<uint8_t, 2>> legal,
                      std::optional<In<uint8_t, 2>> allowed, int threads) const {
    const size_t T = dataset.data.positions.size() - 1, Y = n_labels();
    std::vector<float> p(T * Y);
    std::vector<double> log_z(dataset.data.size());
    run(dataset, legal, allowed, threads,
        [&]<int W>(Lattice<W>& lattice, const Sentence& s, size_t i, int64_t first) {
          lattice.divide_scores(temperature_);
          log_z[i] = lattice.expectations();
          for (int t = 0; t < s.length; ++t)
            std::copy_n(lattice.node_p.begin() + size_t(t) * lattice.width(), Y,
                        p.begin() + (first + t) * Y);
        });
    return nb::make_tuple(numpy(std::move(p), {T, Y}), numpy(std::move(log_z)));
  }
  // log P(y | x) [N] of the dataset's own labels.
  auto log_probabilities(const PyDataset& dataset, std::optional<In<uint8_t, 2>> legal) const {
    dataset.check_labelled();
    std::vector<double> out(dataset.data.size());
    run(dataset, legal, {}, 1,
        [&]<int W>(Lattice<W>& lattice, const Sentence& s, size_t i, int64_t) {
          lattice.divide_scores(temperature_);
          const double log_z = lattice.expectations();
          if (all_known(s.labels, s.length)) {
            out[i] = lattice.path_score(s.labels) - log_z;
          } else {
            lattice.fix(s.labels);
            out[i] = lattice.expectations() - log_z;
          }
        });
    return numpy(std::move(out));
  }
  // For each sentence its n best paths [k, T] and their log-probabilities [k].
  nb::list n_best(const PyDataset& dataset, int n, std::optional<In<uint8_t, 2>> legal,
                  std::optional<In<uint8_t, 2>> allowed, int threads) const {
    std::vector<std::vector<int32_t>> paths(dataset.data.size());
    std::vector<std::vector<double>> scores(dataset.data.size());
    run(dataset, legal, allowed, threads,
        [&]<int W>(Lattice<W>& lattice, const Sentence& s, size_t i, int64_t) {
          adaptag::n_best(lattice, n, paths[i], scores[i]);
          for (size_t k = 0; writer_ && k < scores[i].size(); ++k)
            writer_->write(paths[i].data() + k * s.length, s.length);
          lattice.divide_scores(temperature_);
          const double log_z = lattice.expectations();
          for (double& score : scores[i]) score = score / temperature_ - log_z;
        });
    nb::list out;
    for (size_t i = 0; i < paths.size(); ++i) {
      const size_t k = scores[i].size();
      out.append(nb::make_tuple(numpy(std::move(paths[i]), {k, k ? paths[i].size() / k : 0}),
                                numpy(std::move(scores[i]))));
    }
    return out;
  }
  // P(a chunk of type c covers [first, last]) for rows (sentence, first, last, c), sentences
  // rising.
  auto segment_probabilities(const PyDataset& dataset, In<int64_t, 2> segments, In<int32_t> type_of,
                             In<uint8_t, 2> starts, In<uint8_t, 2> ends,
                             std::optional<In<uint8_t, 2>> legal) const {
    const size_t Y = layout_.n_labels, S = segments.shape(0);
    checked(starts);
    checked(ends);
    if (segments.shape(1) != 4 || type_of.size() != Y)
      throw std::invalid_argument("segments: rows are (sentence, first, last, type)");
    const auto row = [&](size_t k) { return segments.data() + 4 * k; };
    for (size_t k = 0; k < S; ++k) {
      const int64_t i = row(k)[0];
      if (i < 0 || size_t(i) >= dataset.data.size() || (k > 0 && i < row(k - 1)[0]) ||
          row(k)[1] < 0 || row(k)[2] < row(k)[1] || row(k)[2] >= dataset.data[i].length)
        throw std::invalid_argument("segments: a row lies outside its sentence or out of order");
    }
    std::vector<double> out(S);
    size_t k = 0;
    run(dataset, legal, {}, 1, [&]<int W>(Lattice<W>& lattice, const Sentence&, size_t i, int64_t) {
      if (k == S || size_t(row(k)[0]) != i) return;
      lattice.divide_scores(temperature_);
      lattice.log_forward_backward();
      std::vector<uint8_t> of_type(Y);
      for (; k < S && size_t(row(k)[0]) == i; ++k) {
        for (size_t y = 0; y < Y; ++y) of_type[y] = type_of.data()[y] == row(k)[3];
        out[k] = lattice.segment_probability(int(row(k)[1]), int(row(k)[2]), of_type.data(),
                                             starts.data(), ends.data());
      }
    });
    return numpy(std::move(out));
  }

 private:
  // Working memory of one thread.
  struct Scratch {
    FeatureIndex::Scratch full;
    CompactModel::Scratch compact;
  };

  void check(const std::array<uint32_t, 3>& n_of_kind, const std::vector<std::string>& labels) {
    checked(legal_);
    check_temperature(temperature_);
    if (n_of_kind != std::array{layout_.n_node, layout_.n_both, layout_.n_edge})
      throw std::invalid_argument("the feature index does not fit the layout of the weights");
    if (labels.size() != size_t(layout_.n_labels))
      throw std::invalid_argument("labels: one name is needed for each label");
    set_names(labels);
  }

  void set_names(const std::vector<std::string>& names) {
    names_ = nb::list();
    for (const std::string& name : names) names_.append(nb::str(name.c_str(), name.size()));
  }

  int n_labels() const { return copies_ ? copies_->n_labels : layout_.n_labels; }

  const Program& program() const { return compact_ ? compact_->program() : index_->program(); }

  // Scores an encoded sentence.
  template <int W>
  void score(Lattice<W>& lattice, const Sentence& sentence, Scratch& s) const {
    if (compact_)
      compact_->score(lattice, sentence, s.compact);
    else
      lattice.score(sentence, weights_.data(), unscaled);
  }

  // Scores a sentence of T tokens; cell(t, column) gives a token.
  template <int W, class Cell>
  void score_columns(Lattice<W>& lattice, int T, Cell&& cell, Scratch& s) const {
    if (compact_) return compact_->score_columns(lattice, T, cell, s.compact);
    FeatureIndex::Scratch& f = s.full;
    f.predicates.clear();
    f.offsets.assign(1, 0);
    index_->encode(T, cell, f, [&](uint32_t id) {
      const float* row =
          weights_.data() + (id < layout_.n_node ? id * size_t(lattice.width()) : layout_.row(id));
      for (int j = 0; j < lattice.width(); j += 16) __builtin_prefetch(row + j);
    });
    lattice.score({T, f.offsets.data(), f.predicates.data(), nullptr, nullptr}, weights_.data(),
                  unscaled);
  }

  Constraints checked(const std::optional<In<uint8_t, 2>>& legal) const {
    const size_t n = n_labels() + 1;
    if (legal && (legal->shape(0) != n || legal->shape(1) != n))
      throw std::invalid_argument("legal: the shape must be [labels + 1, labels + 1]");
    return {nullptr, legal ? legal->data() : nullptr};
  }

  // Scores every sentence and calls f(lattice, sentence, number, first position), without the GIL
  // and for several sentences at the same time.
  template <class F>
  void run(const PyDataset& dataset, const std::optional<In<uint8_t, 2>>& legal,
           const std::optional<In<uint8_t, 2>>& allowed, int threads, F&& f) const {
    dataset.check(layout_);
    const Dataset& data = dataset.data;
    const size_t Y = n_labels();
    const Constraints transitions = checked(legal);
    if (allowed && (allowed->shape(0) != data.positions.size() - 1 || allowed->shape(1) != Y))
      throw std::invalid_argument("allowed: the shape must be [tokens, labels]");
    Signals signals;
    nb::gil_scoped_release release;
    with_width(layout_.width, [&]<int W>() {
      for_sentence_ranges(data.sentences, threads, [&](int k, size_t begin, size_t end) {
        Lattice<W> lattice(layout_);
        Lattice<0> copies(copies_.value_or(layout_));
        Scratch scratch;
        Constraints constraints = transitions;
        for (size_t i = begin; i < end && signals.go_on(k); ++i) {
          const Sentence s = data[i];
          if (s.length == 0) continue;
          score(lattice, s, scratch);
          if (allowed) constraints.allowed = allowed->data() + size_t(data.sentences[i]) * Y;
          if (copies_) {
            copy_scores(lattice, label_of_, copies);
            copies.constrain(constraints);
            f.template operator()<0>(copies, s, i, data.sentences[i]);
          } else {
            lattice.constrain(constraints);
            f.template operator()<W>(lattice, s, i, data.sentences[i]);
          }
        }
      });
    });
  }

  // Encodes and decodes sentence by sentence: nothing is kept but the labels.
  template <class Cell>
  void decode_columns(std::span<const int64_t> sentences, Cell&& cell,
                      const Constraints& constraints, int threads, int32_t* labels) const {
    Signals signals;
    with_width(layout_.width, [&]<int W>() {
      for_sentence_ranges(sentences, threads, [&](int k, size_t begin, size_t end) {
        Lattice<W> lattice(layout_);
        Scratch s;
        for (size_t i = begin; i < end && signals.go_on(k); ++i)
          decode_range(lattice, sentences.subspan(i, 2), cell, constraints, s, labels);
      });
    });
  }
  template <int W, class Cell>
  void decode_range(Lattice<W>& lattice, std::span<const int64_t> sentences, Cell&& cell,
                    const Constraints& constraints, Scratch& s, int32_t* labels) const {
    for (size_t i = 0; i + 1 < sentences.size(); ++i) {
      const int64_t first = sentences[i];
      const int T = int(sentences[i + 1] - first);
      if (T == 0) continue;
      const auto token = [&](int t, int column) { return cell(first + t, column); };
      score_columns(lattice, T, token, s);
      lattice.constrain(constraints);
      lattice.viterbi(labels + first);
      if (writer_) writer_->write(labels + first, T);
    }
  }

  Layout layout_;
  In<float> weights_;                      // of a full model
  const FeatureIndex* index_ = nullptr;    // of a full model
  const CompactModel* compact_ = nullptr;  // or else this
  std::optional<In<uint8_t, 2>> legal_;    // transitions that `tag` and `tag_all` may take
  float temperature_;  // what scores are divided by where they become probabilities
  nb::list names_;
  std::optional<LabelWriter> writer_;  // where labels are written in another scheme
  In<uint8_t, 2> before_, after_;      // its tables
  In<int32_t, 3> table_;
  std::optional<Layout> copies_;   // the layout of labels that are copies of others,
  std::vector<int32_t> label_of_;  // namely of these
};

}  // namespace
}  // namespace adaptag

void bind_decoding(nb::module_& m) {
  using namespace adaptag;
  nb::class_<PyDecoder>(m, "Decoder")
      .def(nb::init<const Layout&, In<float>, const PyFeatureIndex*, std::vector<std::string>,
                    std::optional<In<uint8_t, 2>>, float>(),
           "layout"_a, "weights"_a.noconvert(), "index"_a, "labels"_a,
           "legal"_a.noconvert().none() = nb::none(), "temperature"_a = 1.0f,
           nb::keep_alive<1, 4>())
      .def(nb::init<const Layout&, const PyCompactModel*, std::vector<std::string>,
                    std::optional<In<uint8_t, 2>>, float>(),
           "layout"_a, "compact"_a, "labels"_a, "legal"_a.noconvert().none() = nb::none(),
           "temperature"_a = 1.0f, nb::keep_alive<1, 3>())
      .def("write_as", &PyDecoder::write_as, "labels"_a, "before"_a.noconvert(),
           "after"_a.noconvert(), "table"_a.noconvert())
      .def("split", &PyDecoder::split, "label_of"_a.noconvert())
      .def("tag", &PyDecoder::tag, "sentence"_a.none())
      .def("tag_all", &PyDecoder::tag_all, "sentences"_a, "threads"_a = 1)
      .def("viterbi_columns", &PyDecoder::viterbi_columns, "text"_a.noconvert(),
           "cells"_a.noconvert(), "sentences"_a.noconvert(), "legal"_a.noconvert().none(),
           "threads"_a = 1)
      .def("viterbi", &PyDecoder::viterbi, "dataset"_a, "legal"_a.noconvert().none(),
           "allowed"_a.noconvert().none(), "threads"_a = 1, "written"_a = true)
      .def("marginals", &PyDecoder::marginals, "dataset"_a, "legal"_a.noconvert().none(),
           "allowed"_a.noconvert().none(), "threads"_a = 1)
      .def("log_probabilities", &PyDecoder::log_probabilities, "dataset"_a,
           "legal"_a.noconvert().none())
      .def("n_best", &PyDecoder::n_best, "dataset"_a, "n"_a, "legal"_a.noconvert().none(),
           "allowed"_a.noconvert().none(), "threads"_a = 1)
      .def("segment_probabilities", &PyDecoder::segment_probabilities, "dataset"_a,
           "segments"_a.noconvert(), "type_of"_a.noconvert(), "starts"_a.noconvert(),
           "ends"_a.noconvert(), "legal"_a.noconvert().none());
}
