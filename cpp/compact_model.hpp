// Scores from the table of a compact model: of sentences as text, without feature numbers, and of
// encoded ones.
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "compact_table.hpp"
#include "feature_index.hpp"
#include "lattice.hpp"

namespace adaptag {

// Where features have numbers: what encoding needs, tagging does not.
struct CompactNumbers {
  std::vector<uint32_t> first;    // [B] rows before each bucket
  std::vector<uint32_t> numbers;  // [F] the number of each row, in the order of the table
  std::vector<CompactRow> rows;   // [F] by number
};

class CompactModel {
 public:
  CompactModel(Program program, const CompactTable& table, int exponent)
      : program_(std::move(program)), table_(table) {
    if (exponent < 0 || exponent > 30)
      throw std::invalid_argument("compact: the exponent of the unit is out of range");
    unit_ = std::bit_cast<float>(uint32_t(127 - exponent) << 23);  // 2^−exponent
    const auto number = [](std::string_view token) { return hash(token); };
    before_ = program_.boundaries(-1, number);
    behind_ = program_.boundaries(1, number);
    count_kinds();
    add_constant_lines();
  }

  const Program& program() const { return program_; }
  std::array<uint32_t, 3> n_of_kind() const { return n_of_kind_; }

  // A row with edge weights that fires at a position.
  struct EdgeRow {
    int position;
    float value;
    CompactRow row;
    bool same(const EdgeRow& o) const { return row.begin == o.row.begin && value == o.value; }
  };

  // Working memory of one thread.
  struct Scratch {
    std::vector<uint64_t> cells;     // [columns, reach + T + reach] hashes
    std::vector<uint64_t> hashes;    // [T] fingerprints of a line
    std::vector<uint32_t> begins;    // [T] their buckets
    std::vector<uint32_t> scores;    // [T, W] in units, modulo 2^32
    std::vector<double> sums;        // [W] or [Y, W] in units
    std::vector<EdgeRow> edge_rows;  // by line, then
    std::vector<EdgeRow> by_position;
    std::vector<int> starts;  // [T + 1] into by_position
    std::vector<uint32_t> predicates;
    std::vector<float> values;
    std::vector<int64_t> offsets;
    std::string text;
  };

  // Scores one sentence of columns; cell(t, column) gives a token.
  template <int W, class Cell>
  void score_columns(Lattice<W>& lattice, int T, Cell&& cell, Scratch& s) const {
    hash_cells(T, cell, s);
    table_.with_format([&](auto format) { score_hashed(format, lattice, T, s); });
  }

  // Scores an encoded sentence. Sums are in double precision: exact, where all values are 1.
  template <int W>
  void score(Lattice<W>& lattice, const Sentence& sentence, Scratch& s) const {
    table_.with_format([&](auto format) { score_encoded(format, lattice, sentence, s); });
  }
  // Appends the predicates of one sentence of columns; cell(t, column) gives a token.
  template <class Cell>
  void encode(int T, Cell&& cell, Scratch& s) const {
    hash_cells(T, cell, s);
    const size_t L = program_.lines.size();
    std::vector<uint64_t> all(L * T);
    for (size_t k = 0; k < L; ++k) {
      find_buckets(program_.lines[k], T, s);
      for (int t = 0; t < T; ++t) all[t * L + k] = s.hashes[t];
    }
    for (int t = 0; t < T; ++t) {
      const size_t begin = s.predicates.size();
      for (size_t k = 0; k < L; ++k)
        if (t > 0 || program_.lines[k].kind < 2) append(all[t * L + k], s);
      end_position(begin, s);
    }
  }

  // Appends the predicates of one sentence of attributes [T + 1] → names and values.
  template <class Name>
  void encode_attributes(int T, const int64_t* positions, Name&& name, const float* values,
                         Scratch& s) const {
    const uint64_t seed = Program::seed(program_.attribute_skeleton);
    for (int t = 0; t < T; ++t) {
      const size_t begin = s.predicates.size();
      for (int64_t k = positions[t]; k < positions[t + 1]; ++k)
        if (append(finish_fingerprint(mix_cell(seed, hash(name(k)))), s))
          s.values.push_back(values[k]);
      for (const Line& line : program_.lines)
        if ((t > 0 || line.kind < 2) && append(finish_fingerprint(line.seed), s))
          s.values.push_back(1.0f);
      end_position(begin, s);
    }
  }

  // The numbers of features, Slots::none where the table does not have one.
  std::vector<uint32_t> find(std::span<const uint64_t> fingerprints) const {
    std::vector<uint32_t> out;
    for (const uint64_t h : fingerprints) out.push_back(number_of(h));
    return out;
  }

  // Calls f(previous label or −1, label, weight) for all weights of a feature.
  template <class F>
  void weights_of(uint32_t number, F&& f) const {
    const CompactRow& row = numbers().rows[number];
    table_.with_format([&](auto format) {
      format.node_entries(row, [&](int y, int32_t v) {
        if (v != 0) f(-1, y, float(v) * unit_);
      });
      format.edge_entries(row, [&](int i, int j, int32_t v) { f(i, j, float(v) * unit_); });
    });
  }

  const CompactTable& table() const { return table_; }

 private:
  // The kind of a row: 0 node, 1 node and edge, 2 edge.
  template <class Format>
  static int kind_of(const Format& format, const CompactRow& row) {
    if (format.node_end(row) == row.end) return 0;
    return format.node_begin(row) < format.node_end(row) ? 1 : 2;
  }

  // Calls f(bucket, row) for all rows.
  template <class F>
  void for_rows(F&& f) const {
    for (size_t b = 0; b < table_.n_buckets(); ++b) {
      const uint8_t* const p = table_.rows() + table_.bucket_begin(b);
      for (int i = 0; i < p[0]; ++i) f(b, CompactTable::row(p, i));
    }
  }

  void count_kinds() {
    table_.with_format([&](auto format) {
      for_rows([&](size_t, const CompactRow& row) { ++n_of_kind_[kind_of(format, row)]; });
    });
  }

  const CompactNumbers& numbers() const {
    std::call_once(numbered_, [&] {
      std::array<uint32_t, 3> next = {0, n_of_kind_[0], n_of_kind_[0] + n_of_kind_[1]};
      numbers_.first.resize(table_.n_buckets());
      numbers_.rows.resize(next[2] + n_of_kind_[2]);
      size_t last = size_t(-1);
      table_.with_format([&](auto format) {
        for_rows([&](size_t b, const CompactRow& row) {
          if (b != last) numbers_.first[b] = uint32_t(numbers_.numbers.size());
          last = b;
          const uint32_t number = next[kind_of(format, row)]++;
          numbers_.numbers.push_back(number);
          numbers_.rows[number] = row;
        });
      });
    });
    return numbers_;
  }

  uint32_t number_of(uint64_t fingerprint) const {
    const size_t b = table_.bucket_of(fingerprint);
    const int i = CompactTable::find(table_.rows() + table_.bucket_begin(b), uint16_t(fingerprint));
    return i < 0 ? Slots::none : numbers().numbers[numbers().first[b] + i];
  }

  bool append(uint64_t fingerprint, Scratch& s) const {
    const uint32_t number = number_of(fingerprint);
    if (number == Slots::none) return false;
    s.predicates.push_back(number);
    return true;
  }

  void end_position(size_t begin, Scratch& s) const {
    const KindOrder order{n_of_kind_[0], n_of_kind_[0] + n_of_kind_[1]};
    order.restore(s.predicates, s.values, begin, s.predicates.size());
    s.offsets.push_back(int64_t(s.predicates.size()));
  }

  // Lines without macros fire everywhere: their weights are summed once.
  void add_constant_lines() {
    const int Y = table_.n_labels(), w = padded_width(Y);
    constant_node_.assign(w, 0);
    constant_edge_.assign(size_t(Y) * w, 0.0);
    for (const Line& line : program_.lines) {
      if (!line.macros.empty()) continue;
      const uint64_t h = finish_fingerprint(line.seed);
      const uint8_t* const bucket = table_.rows() + table_.bucket_begin(table_.bucket_of(h));
      const int i = CompactTable::find(bucket, uint16_t(h));
      if (i < 0) continue;
      const CompactRow row = CompactTable::row(bucket, i);
      table_.with_format([&](auto format) {
        if (line.kind < 2)
          format.node_entries(row, [&](int y, int32_t v) { constant_node_[y] += uint32_t(v); });
        format.edge_entries(row, [&](int a, int b, int32_t v) { constant_edge_[a * w + b] += v; });
      });
    }
  }

  template <class Cell>
  void hash_cells(int T, Cell&& cell, Scratch& s) const {
    const size_t reach = program_.reach, stride = T + 2 * reach;
    s.cells.resize(program_.columns.size() * stride);
    for (size_t c = 0; c < program_.columns.size(); ++c) {
      const Column& column = program_.columns[c];
      uint64_t* const out = s.cells.data() + c * stride;
      for (size_t k = 0; k < reach; ++k) {
        out[reach - 1 - k] = before_[k * program_.columns.size() + c];
        out[reach + T + k] = behind_[k * program_.columns.size() + c];
      }
      for (int t = 0; t < T; ++t) {
        const std::string_view token = cell(t, column.source);
        out[reach + t] = hash(column.is_plain() ? token : apply(column.macro, token, s.text));
      }
    }
  }

  // The fingerprints of a line at all positions, and their buckets, which are fetched.
  void find_buckets(const Line& line, int T, Scratch& s) const {
    const size_t reach = program_.reach, stride = T + 2 * reach;
    s.hashes.assign(T, line.seed);
    s.begins.resize(T);
    uint64_t* const h = s.hashes.data();
    for (const Macro& m : line.macros) {
      const uint64_t* const cells = s.cells.data() + m.column * stride + reach + m.row;
      for (int t = 0; t < T; ++t) h[t] = mix_cell(h[t], cells[t]);
    }
    for (int t = 0; t < T; ++t) h[t] = finish_fingerprint(h[t]);
    for (int t = 0; t < T; ++t) {
      s.begins[t] = table_.bucket_begin(table_.bucket_of(h[t]));
      __builtin_prefetch(table_.rows() + s.begins[t]);
    }
  }

  // Scores a sentence whose cells are hashed.
  template <class Format, int W>
  void score_hashed(const Format& format, Lattice<W>& lattice, int T, Scratch& s) const {
    const int w = W ? W : lattice.width(), stride = w + CompactTable::room;
    s.scores.resize(size_t(T) * stride);
    for (int t = 0; t < T; ++t)
      std::copy_n(constant_node_.data(), w, s.scores.data() + size_t(t) * stride);
    s.edge_rows.clear();
    for (const Line& line : program_.lines) {
      if (line.macros.empty()) continue;
      find_buckets(line, T, s);
      const uint8_t* const rows = table_.rows();
      const uint32_t* const begins = s.begins.data();
      const uint64_t* const hashes = s.hashes.data();
      uint32_t* out = s.scores.data();
      for (int t = 0; t < T; ++t, out += stride) {
        if (t == 0 && line.kind == 2) continue;
        const uint8_t* const bucket = rows + begins[t];
        const uint16_t tag = uint16_t(hashes[t]);
        if constexpr (Format::is_small)
          if (table_.add_small_row<W>(bucket, tag, out, w)) continue;
        const int i = CompactTable::find(bucket, tag);
        if (i < 0) continue;
        const CompactRow row = CompactTable::row(bucket, i);
        format.node_entries(row, [&](int y, int32_t value) { out[y] += uint32_t(value); });
        if (row.has_edges && t > 0) s.edge_rows.push_back({t, 1.0f, row});
      }
    }
    begin_lattice(lattice, T);
    for (int t = 0; t < T; ++t) to_floats<W>(s.scores.data() + t * size_t(stride), lattice, t);
    forbid_padding(lattice);
    set_edges(format, lattice, constant_edge_, s);
  }

  template <class Format, int W>
  void score_encoded(const Format& format, Lattice<W>& lattice, const Sentence& sentence,
                     Scratch& s) const {
    const int w = lattice.width(), T = sentence.length;
    begin_lattice(lattice, T);
    s.edge_rows.clear();
    const auto add = [&](int t, uint32_t number, float value) {
      const CompactRow& row = numbers().rows[number];
      format.node_entries(row, [&](int y, int32_t v) { s.sums[y] += double(value) * v; });
      if (row.has_edges && t > 0) s.edge_rows.push_back({t, value, row});
    };
    for (int t = 0; t < T; ++t) {
      s.sums.assign(w, 0.0);
      for (int64_t k = sentence.offsets[t]; k < sentence.offsets[t + 1]; ++k)
        add(t, sentence.predicates[k], sentence.value(k));
      if (sentence.always != no_predicate) add(t, sentence.always, 1.0f);
      for (int y = 0; y < w; ++y) lattice.node[size_t(t) * w + y] = float(s.sums[y]) * unit_;
    }
    forbid_padding(lattice);
    set_edges(format, lattice, {}, s);
  }

  // Scores in units to those of a position.
  template <int W>
  void to_floats(const uint32_t* scores, Lattice<W>& lattice, int t) const {
    const int w = W ? W : lattice.width();
    const float unit = unit_;
    float* const out = lattice.node.data() + size_t(t) * w;
    for (int y = 0; y < w; ++y) out[y] = float(int32_t(scores[y])) * unit;
  }

  template <int W>
  static void begin_lattice(Lattice<W>& lattice, int T) {
    lattice.length = T;
    lattice.node.resize(size_t(T) * lattice.width());
    lattice.runs.clear();
    lattice.edge.clear();
  }

  template <int W>
  static void forbid_padding(Lattice<W>& lattice) {
    const int w = lattice.width();
    for (int y = lattice.n_labels(); y < w; ++y)
      for (int t = 0; t < lattice.length; ++t) lattice.node[size_t(t) * w + y] = forbidden;
  }

  // One matrix [Y, W] for each run of positions with the same rows, added to what always fires.
  template <class Format, int W>
  void set_edges(const Format& format, Lattice<W>& lattice, std::span<const double> constant,
                 Scratch& s) const {
    const int T = lattice.length, w = lattice.width();
    const size_t size = size_t(lattice.n_labels()) * w;
    sort_by_position(T, s);
    for (int t = 1; t < T; ++t) {
      const auto rows = [&](int at) {
        return std::span(s.by_position).subspan(s.starts[at], s.starts[at + 1] - s.starts[at]);
      };
      const auto now = rows(t), before = rows(t - 1);
      if (t > 1 && std::equal(now.begin(), now.end(), before.begin(), before.end(),
                              [](const EdgeRow& a, const EdgeRow& b) { return a.same(b); }))
        continue;
      lattice.runs.push_back(t);
      s.sums.assign(size, 0.0);
      std::copy(constant.begin(), constant.end(), s.sums.begin());
      for (const EdgeRow& e : now)
        format.edge_entries(
            e.row, [&](int i, int j, int32_t v) { s.sums[i * w + j] += double(e.value) * v; });
      for (const double sum : s.sums) lattice.edge.push_back(float(sum) * unit_);
    }
    lattice.runs.push_back(T);
  }

  // Groups the rows with edge weights by position, in their order.
  static void sort_by_position(int T, Scratch& s) {
    s.starts.assign(T + 1, 0);
    if (s.edge_rows.empty()) return;
    for (const EdgeRow& e : s.edge_rows) ++s.starts[e.position];
    int total = 0;
    for (int& start : s.starts) total += std::exchange(start, total);
    s.by_position.resize(s.edge_rows.size());
    for (const EdgeRow& e : s.edge_rows) s.by_position[s.starts[e.position]++] = e;
    for (int t = T; t > 0; --t) s.starts[t] = s.starts[t - 1];
    s.starts[0] = 0;
  }

  Program program_;
  CompactTable table_;
  std::array<uint32_t, 3> n_of_kind_{};
  float unit_;
  std::vector<uint64_t> before_, behind_;  // hashes of cells outside, [reach, columns]
  std::vector<uint32_t> constant_node_;    // [W] what fires everywhere, in units
  std::vector<double> constant_edge_;      // [Y, W]
  mutable std::once_flag numbered_;
  mutable CompactNumbers numbers_;
};

}  // namespace adaptag
