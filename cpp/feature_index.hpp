// Tokens → predicates, without making feature strings.
//
//   cells ──vocabulary──▶ token numbers ──template line──▶ 64-bit fingerprint ──slots──▶ predicate
//
// A template line is a skeleton (its text with a hole for each macro) and the macros that fill the
// holes. A predicate is (skeleton, token numbers): lines that share a skeleton share predicates.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "memory.hpp"
#include "text.hpp"
#include "transforms.hpp"
#include "vocabulary.hpp"

namespace adaptag {

struct Macro {
  int row;     // relative position
  int column;  // index into Program::columns
};

struct Line {
  int kind;  // 0 node, 1 node and edge, or node where too rare for edge weights, 2 edge
  uint32_t skeleton;
  std::vector<Macro> macros;
  uint64_t seed = 0;         // where the fingerprint starts
  std::vector<int> offsets;  // of the macros' cells, from those of the current token
};

struct Column {
  int source;  // column of the data
  Transformation macro;

  bool is_plain() const { return macro.transform == Transform::identity; }
};

// A compiled template.
struct Program {
  std::vector<Column> columns;
  std::vector<Line> lines;  // kinds ascending
  int attribute_skeleton;   // each attribute of a position is a predicate of its own; −1: no
                            // attributes
  int attribute_kind;       // 0 or 1, as that of a line
  bool wapiti;              // whether cells outside of sentences are those of Wapiti
  int n_columns = 0;        // columns the data must have
  int reach = 0;            // largest |row|
  int arity = 0;            // largest number of macros

  Program(std::vector<Column> columns_, std::vector<Line> lines_, int attribute_skeleton_,
          int attribute_kind_, bool wapiti_)
      : columns(std::move(columns_)),
        lines(std::move(lines_)),
        attribute_skeleton(attribute_skeleton_),
        attribute_kind(attribute_kind_),
        wapiti(wapiti_),
        arity(attribute_skeleton_ >= 0) {
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line& a, const Line& b) { return a.kind < b.kind; });
    for (const Column& c : columns) n_columns = std::max(n_columns, c.source + 1);
    for (Line& line : lines) {
      line.seed = seed(line.skeleton);
      arity = std::max(arity, int(line.macros.size()));
      for (const Macro& m : line.macros) {
        if (m.column < 0 || m.column >= int(columns.size()))
          throw std::invalid_argument("template: a macro's column is out of range");
        reach = std::max(reach, std::abs(m.row));
        line.offsets.push_back(m.row * int(columns.size()) + m.column);
      }
    }
  }

  // The value of a column outside of the sentence: "_B-1", "_B-2", … before and "_B+1", … behind
  // it, as CRF++ has them. Wapiti has "_x-1" to "_x-4", then "_x-#", and applies macros to them.
  std::string boundary(const Column& column, int distance) const {
    const char sign = distance < 0 ? '-' : '+';
    const int n = std::abs(distance);
    if (!wapiti) return std::string("_B") + sign + std::to_string(n);
    const std::string cell = std::string("_x") + sign + (n <= 4 ? std::to_string(n) : "#");
    std::string scratch;
    return std::string(apply(column.macro, cell, scratch));
  }
  // Those of all columns at distances 1, 2, … in one direction, [reach, columns].
  template <class Number>
  auto boundaries(int direction, Number&& number) const {
    std::vector<decltype(number(std::string_view{}))> all;
    for (int k = 1; k <= reach; ++k)
      for (const Column& column : columns) all.push_back(number(boundary(column, direction * k)));
    return all;
  }
  static uint64_t seed(uint32_t skeleton) { return mix(0x5EED, skeleton); }
  static uint64_t fingerprint(uint64_t h) { return h ? h : 1; }  // 0 stands for "cannot match"
};

// The kernels want the predicates of a position by kind. Lines come in this order, but a predicate
// that is too rare for edge weights may stand behind others that have them.
struct KindOrder {
  uint32_t edge_begin, node_end;  // as in Layout

  template <class Ids, class Values>
  void restore(Ids& ids, Values& values, size_t begin, size_t end) const {
    const auto kind = [&](size_t k) { return int(ids[k] >= edge_begin) + int(ids[k] >= node_end); };
    for (size_t k = begin + 1; k < end; ++k)  // insertion: hardly ever is there anything to do
      for (size_t j = k; j > begin && kind(j - 1) > kind(j); --j) {
        std::swap(ids[j - 1], ids[j]);
        if (!values.empty()) std::swap(values[j - 1], values[j]);
      }
  }
};

// Token numbers of one sentence, one for each column of the program, with room for boundaries.
struct Cells {
  int length = 0, reach = 0, n_columns = 0;
  std::vector<uint32_t> ids;  // [reach + T + reach, columns]

  void resize(const Program& program, int T) {
    length = T;
    reach = program.reach;
    n_columns = int(program.columns.size());
    ids.resize((T + 2 * size_t(reach)) * n_columns);
  }
  const uint32_t* token(int t) const { return ids.data() + (t + reach) * size_t(n_columns); }
  uint32_t* first_token() { return ids.data() + reach * size_t(n_columns); }
  uint32_t& at(int column, int t) { return ids[(t + reach) * size_t(n_columns) + column]; }
  void set_boundaries(const std::vector<uint32_t>& before, const std::vector<uint32_t>& behind) {
    for (int k = 1; k <= reach; ++k)
      for (int column = 0; column < n_columns; ++column) {
        at(column, -k) = before[size_t(k - 1) * n_columns + column];
        at(column, length - 1 + k) = behind[size_t(k - 1) * n_columns + column];
      }
  }
};

// Fingerprints of all lines at all positions of a sentence [T, lines], 0 where a token is unknown.
// fetch(fingerprint) brings the place where it will be looked up into the cache.
template <class Fetch>
void fingerprints(const Program& program, const Cells& cells, std::vector<uint64_t>& out,
                  Fetch&& fetch) {
  out.resize(cells.length * program.lines.size());
  uint64_t* to = out.data();
  for (int t = 0; t < cells.length; ++t) {
    const uint32_t* token = cells.token(t);
    for (const Line& line : program.lines) {
      uint64_t h = line.seed;
      bool known = true;
      for (const int offset : line.offsets) {
        const uint32_t id = token[offset];
        known &= id != VocabularyView::unknown;
        h = mix(h, id);
      }
      h = known && (t > 0 || line.kind < 2) ? Program::fingerprint(h) : 0;
      if (h) fetch(h);
      *to++ = h;
    }
  }
}

// An index as stored in a model: looks up, never grows. Safe on damaged tables. Or a hashed one: no
// tables at all, a predicate's number is its fingerprint modulo the number of its kind.
class FeatureIndex {
 public:
  // A hashed index.
  FeatureIndex(Program program, const std::array<uint32_t, 3>& n_of_kind)
      : program_(std::move(program)),
        vocabulary_{},
        slots_{},
        order_{n_of_kind[0], n_of_kind[0] + n_of_kind[1]},
        n_predicates_(order_.node_end + n_of_kind[2]),
        hashed_(true) {
    const auto check = [&](int kind) {
      if (n_of_kind[kind] == 0) throw std::invalid_argument("index: a kind has no predicates");
    };
    for (const Line& line : program_.lines) check(line.kind);
    if (program_.attribute_skeleton >= 0) check(program_.attribute_kind);
    set_symbols();
  }

  FeatureIndex(Program program, VocabularyView vocabulary, std::span<const uint32_t> derived,
               std::span<const uint64_t> slots, const std::array<uint32_t, 3>& n_of_kind)
      : program_(std::move(program)),
        vocabulary_(vocabulary),
        derived_(derived),
        slots_{slots},
        order_{n_of_kind[0], n_of_kind[0] + n_of_kind[1]},
        n_predicates_(order_.node_end + n_of_kind[2]) {
    const auto power_of_two = [](size_t n) { return n > 0 && (n & (n - 1)) == 0; };
    if (!power_of_two(slots.size()) || !power_of_two(vocabulary.slots.size()))
      throw std::invalid_argument("index: a table's size is not a power of two");
    if (vocabulary.offsets.empty() || derived.size() != vocabulary.size() * program_.columns.size())
      throw std::invalid_argument("index: the tables differ in size");
    set_symbols();
  }

  const Program& program() const { return program_; }
  std::array<uint32_t, 3> n_of_kind() const {
    return {order_.edge_begin, order_.node_end - order_.edge_begin,
            n_predicates_ - order_.node_end};
  }

  // Working memory of one thread.
  struct Scratch {
    Cells cells;
    std::vector<uint64_t> hashes;
    LargeVector<uint32_t> predicates;
    LargeVector<float> values;
    LargeVector<int64_t> offsets;
    std::string text;
  };

  // Appends the predicates of one sentence of columns; cell(t, column) gives a token. Calls
  // found(id) for each, as soon as it is known.
  template <class Cell, class Found = decltype([](uint32_t) {})>
  void encode(int T, Cell&& cell, Scratch& s, Found&& found = {}) const {
    s.cells.resize(program_, T);
    for (const int source : sources_)
      for (int t = 0; t < T; ++t) {
        const std::string_view token = cell(t, source);
        const uint32_t raw = find(token);
        for (size_t c = 0; c < program_.columns.size(); ++c)
          if (program_.columns[c].source == source)
            s.cells.at(int(c), t) = transformed(int(c), raw, token, s.text);
      }
    s.cells.set_boundaries(before_, behind_);
    fingerprints(program_, s.cells, s.hashes, [&](uint64_t h) {
      if (!hashed_) slots_.prefetch(h);
    });
    auto h = s.hashes.begin();
    for (int t = 0; t < T; ++t) {
      const size_t begin = s.predicates.size();
      for (size_t k = 0; k < program_.lines.size(); ++k, ++h)
        if (*h) append(*h, program_.lines[k].kind, s, found);
      restore_order(s, begin);
      s.offsets.push_back(int64_t(s.predicates.size()));
    }
  }

  // Appends the predicates of one sentence of attributes [T + 1] → names and values.
  template <class Name>
  void encode_attributes(int T, const int64_t* positions, Name&& name, const float* values,
                         Scratch& s) const {
    s.cells.resize(program_, T);
    fingerprints(program_, s.cells, s.hashes, [](uint64_t) {});
    auto h = s.hashes.begin();
    for (int t = 0; t < T; ++t) {
      const size_t begin = s.predicates.size();
      for (int64_t k = positions[t]; k < positions[t + 1]; ++k) {
        const uint32_t id = find(name(k));
        if (id == VocabularyView::unknown) continue;
        const size_t before = s.predicates.size();
        append(Program::fingerprint(mix(Program::seed(program_.attribute_skeleton), id)),
               program_.attribute_kind, s, [](uint32_t) {});
        if (s.predicates.size() > before) s.values.push_back(values[k]);
      }
      for (size_t k = 0; k < program_.lines.size(); ++k, ++h)
        if (*h) {
          append(*h, program_.lines[k].kind, s, [](uint32_t) {});
          s.values.resize(s.predicates.size(), 1.0f);
        }
      restore_order(s, begin);
      s.offsets.push_back(int64_t(s.predicates.size()));
    }
  }

 private:
  void set_symbols() {
    const auto number = [&](std::string_view token) { return find(token); };
    before_ = program_.boundaries(-1, number);
    behind_ = program_.boundaries(1, number);
    for (size_t c = 0; c < program_.columns.size(); ++c)
      if (std::find_if(program_.columns.begin(), program_.columns.begin() + c,
                       [&](const Column& b) { return b.source == program_.columns[c].source; }) ==
          program_.columns.begin() + c)
        sources_.push_back(program_.columns[c].source);
  }

  // The number of a token; of a hashed one 31 bits, so that none is `unknown`.
  uint32_t find(std::string_view token) const {
    return hashed_ ? uint32_t(hash(token)) >> 1 : vocabulary_.find(token);
  }

  // A predicate that the line of a damaged index cannot have is not found.
  template <class Found>
  void append(uint64_t h, int kind, Scratch& s, Found&& found) const {
    const uint32_t first = kind < 2 ? 0 : order_.node_end;
    const uint32_t end[] = {order_.edge_begin, order_.node_end, n_predicates_};
    const uint32_t id =
        hashed_ ? hashed_id(h, kind)
                : slots_.find(h, [&](uint32_t k) { return k >= first && k < end[kind]; });
    if (id == Slots::none) return;
    s.predicates.push_back(id);
    found(id);
  }
  // Only a predicate that may have edge weights can be out of order.
  void restore_order(Scratch& s, size_t begin) const {
    if (order_.edge_begin == order_.node_end) return;
    order_.restore(s.predicates, s.values, begin, s.predicates.size());
  }
  uint32_t hashed_id(uint64_t h, int kind) const {
    const uint32_t first[] = {0, order_.edge_begin, order_.node_end, n_predicates_};
    return first[kind] + uint32_t((h >> 16) % (first[kind + 1] - first[kind]));
  }

  uint32_t transformed(int c, uint32_t raw, std::string_view token, std::string& text) const {
    const Column& column = program_.columns[c];
    if (column.is_plain()) return raw;
    if (raw != VocabularyView::unknown && !hashed_) {
      const uint32_t id = derived_[size_t(c) * vocabulary_.size() + raw];
      if (id != VocabularyView::unknown) return id;
    }
    return find(apply(column.macro, token, text));
  }

  Program program_;
  VocabularyView vocabulary_;
  std::span<const uint32_t> derived_;  // [columns, V] number of the transformed token, if known
  Slots slots_;
  KindOrder order_;
  uint32_t n_predicates_;
  bool hashed_ = false;
  std::vector<uint32_t> before_, behind_;  // cells outside at distance 1, 2, … [reach, columns]
  std::vector<int> sources_;               // distinct data columns in use
};

}  // namespace adaptag
