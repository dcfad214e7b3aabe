// Tables of models, built and then damaged: feature indexes, compact tables, encoded datasets.
#include "compact_builder.hpp"
#include "compact_model.hpp"
#include "input.hpp"
#include "lattice.hpp"

namespace adaptag::fuzz {
namespace {

constexpr std::string_view tokens[] = {"a", "b", "Ab", "_B-1", "_B+1", "é", "abc", "9"};

// A regular expression of %t and %m.
CellPattern pattern_of(Input& in) {
  constexpr std::string_view patterns[] = {"", "a", "^.b$", "\\l*", "\\d?x", ".*"};
  return CellPattern(patterns[in.below(std::size(patterns))]);
}

Program program_of(Input& in) {
  const bool attributes = in.below(8) == 0;
  std::vector<Column> columns;
  for (uint32_t n = attributes ? 0 : 1 + in.below(3); n > 0; --n) {
    const auto& name = transform_names[in.below(std::size(transform_names))];
    columns.push_back({int(in.below(3)), {name.transform, int(in.below(4)), pattern_of(in)}});
  }
  std::vector<Line> lines;
  for (uint32_t n = in.below(5), k = 0; k < n; ++k) {
    Line line{int(in.below(3)), attributes + in.below(4), {}, 0, {}};
    for (uint32_t m = columns.empty() ? 0 : in.below(3); m > 0; --m)
      line.macros.push_back({int(in.below(5)) - 2, int(in.below(uint32_t(columns.size())))});
    lines.push_back(std::move(line));
  }
  return Program(std::move(columns), std::move(lines), attributes ? 0 : -1, int(in.below(2)),
                 in.below(4) == 0);
}

// A sentence of three columns.
struct Cells3 {
  explicit Cells3(Input& in) : length(int(in.below(7))) {
    for (int k = 0; k < 3 * length; ++k) cells.push_back(tokens[in.below(std::size(tokens))]);
  }
  std::string_view operator()(int t, int column) const { return cells[t * 3 + column]; }

  int length;
  std::vector<std::string_view> cells;
};

std::vector<float> weights_of(const Layout& layout, Input& in) {
  std::vector<float> weights(layout.n_weights());
  for (size_t k = 0; k < std::min<size_t>(weights.size(), 64); ++k) weights[k] = in.score();
  return weights;
}

// Decodes in every way; only scores that leave no path may be refused.
template <int W>
void decode(Lattice<W>& lattice, int n) {
  if (lattice.length == 0) return;
  std::vector<int32_t> labels(size_t(lattice.length));
  try {
    lattice.viterbi(labels.data());
    for (const int32_t y : labels) HOLDS(y >= 0 && y < n);
    lattice.expectations();
  } catch (const NoPathError&) {
  }
}

void score_and_decode(const Layout& layout, const Sentence& sentence,
                      const std::vector<float>& weights) {
  with_width(layout.width, [&]<int W>() {
    Lattice<W> lattice(layout);
    lattice.score(sentence, weights.data(), unscaled);
    decode(lattice, layout.n_labels);
  });
}

// Whatever an index finds is in range, and by kind: decoding checks it, but no file may fail there.
void check_encoded(const Dataset& data, const Layout& layout) {
  try {
    data.validate(layout);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s\n", error.what());
    HOLDS(!"the encoded sentence is sound");
  }
}

// Encodes, scores and decodes a sentence.
template <class Index>
void encode(const Index& index, Input& in) {
  typename Index::Scratch s;
  const Cells3 cells(in);
  const auto [n_node, n_both, n_edge] = index.n_of_kind();
  const Layout layout(1 + int(in.below(5)), n_node, n_both, n_edge);
  if (index.program().attribute_skeleton < 0) {
    index.encode(cells.length, cells, s);
  } else {
    std::vector<int64_t> positions{0};
    for (int t = 0; t < cells.length; ++t) positions.push_back(3 * (t + 1));
    const std::vector<float> values(cells.cells.size(), 0.5f);
    index.encode_attributes(
        cells.length, positions.data(), [&](int64_t k) { return cells.cells[k]; }, values.data(),
        s);
    HOLDS(s.values.size() == s.predicates.size());
  }
  std::vector<int64_t> offsets{0};
  offsets.insert(offsets.end(), s.offsets.begin(), s.offsets.end());
  const int64_t sentences[] = {0, cells.length};
  const Dataset data{sentences, offsets, s.predicates, s.values, {}, {}, {}};
  check_encoded(data, layout);
  score_and_decode(layout, data[0], weights_of(layout, in));
}

// The arrays of a feature index, as they are in a file.
struct IndexTables {
  explicit IndexTables(const Program& program) {
    for (const std::string_view token : tokens) vocabulary.intern(token);
    std::string text;
    const auto V = uint32_t(vocabulary.size());
    for (const Column& column : program.columns)
      for (uint32_t id = 0; id < V; ++id)
        derived.push_back(vocabulary.view().find(apply(column.macro, tokens[id], text)));
    uint32_t number = 0;
    for (const Line& line : program.lines)
      for (uint32_t id = 0; id < V; ++id) {
        uint64_t h = line.seed;
        for (size_t k = 0; k < line.macros.size(); ++k) h = mix(h, (id + k) % V);
        insert(slots, Program::fingerprint(h), number++ % 12);
      }
  }
  void change(Input& in) {
    switch (in.below(6)) {
      case 0:
        return damage(vocabulary.bytes, in);
      case 1:
        return damage(vocabulary.offsets, in);
      case 2:
        return damage(vocabulary.slots, in);
      case 3:
        return damage(derived, in);
      case 4:
        return damage(slots, in);
      default:
        slots.resize(in.below(128));
    }
  }

  Vocabulary vocabulary;
  std::vector<uint32_t> derived;
  std::vector<uint64_t> slots = std::vector<uint64_t>(64);
};

// The fingerprints of features of one token that a compact model of this program may look up.
std::vector<uint64_t> compact_features(const Program& program) {
  std::vector<uint64_t> out;
  for (const Line& line : program.lines) {
    if (line.macros.empty()) out.push_back(finish_fingerprint(line.seed));
    if (line.macros.size() == 1)
      for (const std::string_view token : tokens)
        out.push_back(finish_fingerprint(mix_cell(line.seed, hash(token))));
  }
  if (program.attribute_skeleton >= 0)
    for (const std::string_view token : tokens)
      out.push_back(finish_fingerprint(
          mix_cell(Program::seed(uint32_t(program.attribute_skeleton)), hash(token))));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

struct CompactArrays {
  CompactArrays(const Program& program, int n_labels, int exponent, Input& in)
      : fingerprints(compact_features(program)) {
    for (size_t f = 0; f < fingerprints.size(); ++f) {
      const uint8_t n_node = uint8_t(in.below(4)), n_edge = uint8_t(in.below(3));
      for (int k = 0; k < n_node; ++k) add(-1, (k * 7 + int(f)) % n_labels, exponent, in);
      for (int k = 0; k < n_edge; ++k)
        add(int(in.below(uint32_t(n_labels))), (k * 5 + int(f)) % n_labels, exponent, in);
      offsets.push_back(int64_t(labels.size()));
    }
  }
  void add(int before, int label, int exponent, Input& in) {
    previous.push_back(before);
    labels.push_back(label);
    values.push_back(std::ldexp(float(in.number<int16_t>()), -exponent));
  }

  std::vector<uint64_t> fingerprints;
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> previous, labels;
  std::vector<float> values;
};

// Scores of text, and of the same text encoded.
template <int W>
void score_compact(const CompactModel& model, const Layout& layout, Input& in) {
  CompactModel::Scratch s;
  Lattice<W> lattice(layout);
  const Cells3 cells(in);
  if (cells.length == 0) return;
  model.score_columns(lattice, cells.length, cells, s);
  decode(lattice, layout.n_labels);
  model.encode(cells.length, cells, s);
  std::vector<int64_t> offsets{0};
  offsets.insert(offsets.end(), s.offsets.begin(), s.offsets.end());
  const int64_t sentences[] = {0, cells.length};
  const Dataset data{sentences, offsets, s.predicates, {}, {}, {}, {}};
  check_encoded(data, layout);
  Lattice<W> again(layout);
  model.score(again, data[0], s);
  decode(again, layout.n_labels);
}

}  // namespace

// Lookups in tables of a damaged file: any number that comes out is in range.
void index(Input in) {
  const Program program = program_of(in);
  const std::array<uint32_t, 3> n_of_kind = {in.below(6), in.below(6), in.below(6)};
  const bool hashed = in.below(4) == 0;
  IndexTables tables(program);
  for (uint32_t n = in.below(6); n > 0; --n) tables.change(in);
  try {
    const FeatureIndex found = hashed ? FeatureIndex(program, n_of_kind)
                                      : FeatureIndex(program, tables.vocabulary.view(),
                                                     tables.derived, tables.slots, n_of_kind);
    encode(found, in);
  } catch (const std::invalid_argument&) {  // of the constructor
  }
  try {
    const Vocabulary copy(tables.vocabulary.view());
    HOLDS(copy.size() == tables.vocabulary.view().size());
  } catch (const std::invalid_argument&) {
  }
}

// A compact table, sound or damaged.
void compact(Input in) {
  constexpr int few[] = {1, 2, 3, 4, 5, 9, 17, 25}, many[] = {255, 256, 300};
  const int Y = in.below(32) ? few[in.below(8)] : many[in.below(3)];  // many take time
  const int value_size = 1 << in.below(3);
  const int exponent = int(in.below(31));
  const Program program = program_of(in);
  const CompactArrays a(program, Y, exponent, in);
  CompactBuilder builder({a.fingerprints, a.offsets, a.previous, a.labels, a.values}, Y, value_size,
                         exponent);
  builder.build();
  const uint32_t n_changes = in.below(5);
  for (uint32_t n = n_changes; n > 0; --n)
    if (in.below(4) == 0)
      damage(builder.buckets, in);
    else
      damage(builder.rows, in);
  try {
    const CompactTable table(builder.buckets, builder.rows, Y, value_size);
    const CompactModel model(program, table, exponent);
    const auto [n_node, n_both, n_edge] = model.n_of_kind();
    const Layout layout(Y, n_node, n_both, n_edge);
    for (uint32_t f = 0; f < layout.n_predicates(); ++f)
      model.weights_of(f, [&](int i, int j, float w) {
        HOLDS(i >= -1 && i < Y && j >= 0 && j < Y && std::isfinite(w));
      });
    if (program.attribute_skeleton >= 0) {
      CompactModel::Scratch s;
      const int64_t positions[] = {0, 3};
      const float values[] = {1, 2, -1};
      model.encode_attributes(1, positions, [](int64_t k) { return tokens[k]; }, values, s);
    } else {
      with_width(layout.width, [&]<int W>() { score_compact<W>(model, layout, in); });
    }
  } catch (const std::invalid_argument& error) {
    if (n_changes == 0) std::fprintf(stderr, "%s\n", error.what());
    HOLDS(n_changes > 0);
  }
}

// Arrays of a dataset: all that is wrong is found by its check.
void dataset(Input in) {
  const Layout layout(1 + int(in.below(6)), in.below(4), in.below(4), in.below(4));
  const auto weights = weights_of(layout, in);
  const auto offsets = [&](size_t end) {
    std::vector<int64_t> out;
    if (in.below(16)) out.push_back(0);
    for (uint32_t n = in.below(5); n > 0; --n)
      out.push_back(in.below(16) ? int64_t((out.empty() ? 0 : uint64_t(out.back())) + in.below(4))
                                 : in.number<int64_t>());
    if (in.below(16)) out.push_back(int64_t(end));
    return out;
  };
  std::vector<uint32_t> predicates(in.below(12));
  for (uint32_t& p : predicates) p = in.below(12);
  if (in.below(2)) std::sort(predicates.begin(), predicates.end());
  const auto positions = offsets(predicates.size());
  const auto sentences = offsets(positions.empty() ? 0 : positions.size() - 1);
  std::vector<float> values(in.below(4) ? 0 : predicates.size());
  for (float& v : values) v = in.score();
  std::vector<int32_t> labels(in.below(2) || positions.empty() ? 0 : positions.size() - 1);
  for (int32_t& y : labels) y = int32_t(in.below(8)) - 1;
  Dataset data{sentences, positions, predicates, values, labels, {}, {}};
  if (in.below(4) == 0) data.always = in.below(4);
  try {
    data.validate(layout);
  } catch (const std::invalid_argument&) {
    return;
  }
  for (size_t i = 0; i < data.size(); ++i)
    if (data[i].length > 0) score_and_decode(layout, data[i], weights);
}

}  // namespace adaptag::fuzz
