// Word segmentation: reading of segmented text, the index of its features, its predictor.
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>

#include "../segment_builder.hpp"
#include "../segment_packer.hpp"
#include "../text.hpp"
#include "../transforms.hpp"
#include "lexicon.hpp"

using namespace nb::literals;

namespace adaptag {
namespace {

// Lines of words between white space → code points [T], sentences [N + 1], starts of words [T].
// Empty lines are no sentences.
nb::tuple read_segmented(In<uint8_t> bytes, std::string name) {
  const std::string_view text = as_text(bytes);
  std::vector<uint32_t> codes;
  std::vector<int64_t> sentences{0};
  std::vector<uint8_t> starts;
  {
    nb::gil_scoped_release release;
    check_text(text, name, 1);
    codes.reserve(text.size() / 3);
    starts.reserve(text.size() / 3);
    for_each_line(text, 1, [&](size_t, const char* p, const char* end) {
      bool start = true;
      while (p < end) {
        const uint32_t c = next_code(p);
        if (is_space(c)) {
          start = true;
          continue;
        }
        codes.push_back(c);
        starts.push_back(start);
        start = false;
      }
      if (int64_t(codes.size()) > sentences.back()) sentences.push_back(int64_t(codes.size()));
    });
  }
  return nb::make_tuple(numpy(std::move(codes)), numpy(std::move(sentences)),
                        numpy(std::move(starts)));
}

// Sentences of Python words, likewise.
nb::tuple pack_words(nb::handle sentences) {
  std::vector<uint32_t> codes;
  std::vector<int64_t> ends{0};
  std::vector<uint8_t> starts;
  if (!is_list_like(sentences))
    throw InputError("expected a list of sentences; found " + described(sentences));
  for (nb::handle sentence : sentences) {
    if (!is_list_like(sentence))
      throw InputError("a sentence must be a list of words; found " + described(sentence));
    for (nb::handle word : sentence) {
      const size_t first = codes.size();
      append_codes(word, codes);
      if (codes.size() == first || std::any_of(codes.begin() + first, codes.end(), is_space))
        throw InputError("sentence " + std::to_string(ends.size()) +
                         ": a word is empty or holds white space");
      starts.push_back(1);
      starts.resize(codes.size(), 0);
    }
    ends.push_back(int64_t(codes.size()));
  }
  return nb::make_tuple(numpy(std::move(codes)), numpy(std::move(ends)), numpy(std::move(starts)));
}

auto fold_codes(In<uint32_t> codes, const std::string& how) {
  const Folding f = parse_folding(how);
  std::vector<uint32_t> out(codes.size());
  std::transform(codes.data(), codes.data() + codes.size(), out.begin(),
                 [&](uint32_t c) { return fold(c, f); });
  return numpy(std::move(out));
}

void check_symbols(std::span<const uint32_t> symbols, std::span<const int64_t> sentences) {
  Dataset::check_offsets(sentences, symbols.size(), "sentence");
  for (const uint32_t c : symbols)
    if (c >= outside_symbol) throw std::invalid_argument("a character is out of range");
}

nb::dict build_segment_tables(In<uint32_t> symbols, In<int64_t> sentences, In<uint8_t> starts,
                              uint32_t cutoff, uint32_t word_cutoff, uint32_t edge_cutoff,
                              double edge_share) {
  check_symbols(span(symbols), span(sentences));
  if (starts.size() != symbols.size())
    throw std::invalid_argument("starts: one is needed for each character");
  std::optional<SegmentBuilder> b;
  {
    nb::gil_scoped_release release;
    b.emplace(span(symbols), span(sentences), span(starts),
              SegmentOptions{cutoff, word_cutoff, {edge_cutoff, edge_share}});
  }
  nb::dict out;
  const size_t G = b->bigrams.size() / 2, H = b->word_bigrams.size() / 2;
  out["characters"] = numpy(std::move(b->characters));
  out["bigrams"] = numpy(std::move(b->bigrams), {G, 2});
  out["word_symbols"] = numpy(std::move(b->word_symbols));
  out["word_offsets"] = numpy(std::move(b->word_offsets));
  out["word_counts"] = numpy(std::move(b->word_counts));
  out["word_bigrams"] = numpy(std::move(b->word_bigrams), {H, 2});
  out["n_unigrams"] = b->n_unigrams;
  out["n_parts"] = b->n_parts;
  out["n_rich"] = b->n_rich;
  return out;
}

struct PySegmentIndex {
  PySegmentIndex(In<uint32_t> characters, In<uint32_t, 2> bigrams, In<uint32_t> word_symbols,
                 In<uint32_t> word_offsets, In<uint32_t, 2> word_bigrams, uint32_t n_unigrams,
                 uint32_t n_parts, std::array<uint32_t, 5> n_rich)
      : characters(characters),
        bigrams(bigrams),
        word_symbols(word_symbols),
        word_offsets(word_offsets),
        word_bigrams(word_bigrams),
        tables{span(characters),
               span(bigrams),
               span(word_symbols),
               span(word_offsets),
               span(word_bigrams),
               n_unigrams,
               n_parts,
               n_rich},
        index(tables) {}

  nb::tuple encode(In<uint32_t> symbols, In<int64_t> sentences) const {
    check_symbols(span(symbols), span(sentences));
    SegmentIndex::Scratch s;
    {
      nb::gil_scoped_release release;
      s.offsets.reserve(symbols.size() + 1);
      s.offsets.push_back(0);
      s.predicates.reserve(symbols.size() * 13);
      for (size_t i = 0; i + 1 < sentences.size(); ++i) {
        const auto first = size_t(sentences.data()[i]);
        index.encode(span(symbols).subspan(first, size_t(sentences.data()[i + 1]) - first), s);
      }
    }
    return nb::make_tuple(numpy(std::move(s.offsets)), numpy(std::move(s.predicates)));
  }
  nb::tuple name(uint32_t id) const {
    const SegmentIndex::Name name = index.name(id);
    return nb::make_tuple(name.block, name.item, name.place);
  }

  In<uint32_t> characters;  // the arrays that the tables are views of
  In<uint32_t, 2> bigrams;
  In<uint32_t> word_symbols, word_offsets;
  In<uint32_t, 2> word_bigrams;
  SegmentTables tables;
  SegmentIndex index;
};

class PySegmentPatterns {
 public:
  PySegmentPatterns(const PySegmentIndex* index, const Layout& layout, In<float> weights,
                    std::array<int, 4> tags, size_t rare_first, float rare_weight, int threads) {
    if (weights.size() != layout.n_weights() || layout.n_node != index->index.n_node() ||
        layout.n_both != index->index.n_both() || layout.n_edge != 0)
      throw std::invalid_argument("the weights do not fit the tables of the segmenter");
    if (layout.n_labels > 4)
      throw std::invalid_argument(std::to_string(layout.n_labels) + " tags; allowed: at most 4");
    for (const int y : tags)
      if (y < 0 || y >= layout.n_labels) throw std::invalid_argument("a tag is out of range");
    if (threads < 1) throw std::invalid_argument("threads: at least 1 is needed");
    nb::gil_scoped_release release;
    patterns_.emplace(index->tables, index->index, layout, weights.data(),
                      WordTags{tags[0], tags[1], tags[2], tags[3]},
                      RareWords{rare_first, rare_weight}, threads);
  }

  nb::dict pack(const std::string& fold, float threshold, int value_bits, double load,
                int threads) const {
    if (value_bits != 8 && value_bits != 16)
      throw std::invalid_argument("value_bits: 8 or 16 is needed");
    if (!(load > 0 && load < 1)) throw std::invalid_argument("load: between 0 and 1 is needed");
    if (threads < 1) throw std::invalid_argument("threads: at least 1 is needed");
    const PackOptions options{threshold, value_bits, load, parse_folding(fold), threads};
    std::optional<PackedPredictor> packed;
    {
      nb::gil_scoped_release release;
      packed.emplace(*patterns_, options);
    }
    nb::dict out;
    const size_t n_blocks = packed->entries.size() / 256,
                 C = packed->character_rows.size() / (5 * n_transitions);
    out["pages"] = numpy(std::move(packed->pages));
    out["entries"] = numpy(std::move(packed->entries), {n_blocks, 256});
    out["character_rows"] = numpy(std::move(packed->character_rows), {C, 5, n_transitions});
    out["constant_rows"] = numpy(std::move(packed->constant_rows), {10, n_transitions});
    out["slots"] = numpy(std::move(packed->slots), {packed->n_slots, 4});
    out["rows"] = numpy(std::move(packed->rows));
    out["outside"] = packed->outside;
    out["exponent"] = packed->exponent;
    return out;
  }

 private:
  std::optional<SegmentPatterns> patterns_;
};

}  // namespace
}  // namespace adaptag

void bind_segmentation(nb::module_& m) {
  using namespace adaptag;
  m.def("read_segmented", &read_segmented, "text"_a.noconvert(), "name"_a);
  m.def("pack_words", &pack_words, "sentences"_a.none());
  m.def("fold_codes", &fold_codes, "codes"_a.noconvert(), "fold"_a);
  m.def("build_segment_tables", &build_segment_tables, "symbols"_a.noconvert(),
        "sentences"_a.noconvert(), "starts"_a.noconvert(), "cutoff"_a, "word_cutoff"_a,
        "edge_cutoff"_a, "edge_share"_a);

  nb::class_<PySegmentIndex>(m, "SegmentIndex")
      .def(nb::init<In<uint32_t>, In<uint32_t, 2>, In<uint32_t>, In<uint32_t>, In<uint32_t, 2>,
                    uint32_t, uint32_t, std::array<uint32_t, 5>>(),
           "characters"_a.noconvert(), "bigrams"_a.noconvert(), "word_symbols"_a.noconvert(),
           "word_offsets"_a.noconvert(), "word_bigrams"_a.noconvert(), "n_unigrams"_a, "n_parts"_a,
           "n_rich"_a)
      .def_prop_ro("n_of_kind",
                   [](const PySegmentIndex& self) {
                     return nb::make_tuple(self.index.n_node(), self.index.n_both(), 0);
                   })
      .def("encode", &PySegmentIndex::encode, "symbols"_a.noconvert(), "sentences"_a.noconvert())
      .def("name", &PySegmentIndex::name, "predicate"_a);

  nb::class_<PySegmentPatterns>(m, "SegmentPatterns")
      .def(nb::init<const PySegmentIndex*, const Layout&, In<float>, std::array<int, 4>, size_t,
                    float, int>(),
           "index"_a, "layout"_a, "weights"_a.noconvert(), "tags"_a, "rare_first"_a,
           "rare_weight"_a, "threads"_a)
      .def("pack", &PySegmentPatterns::pack, "fold"_a, "threshold"_a, "value_bits"_a, "load"_a,
           "threads"_a);
}
