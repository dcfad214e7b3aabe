// The Python face of the core; only the bindings know nanobind. Arguments are checked here, once;
// the loops below run without the GIL on arrays that Python owns.
#include "bindings.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "index_builder.hpp"
#include "nbest.hpp"
#include "training.hpp"

using namespace nb::literals;
using namespace adaptag;

namespace {

// The begin and end of cells.
auto numpy_spans(std::vector<Span>&& cells, std::vector<size_t> shape) {
  auto* kept = new std::vector<Span>(std::move(cells));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<Span>*>(p); });
  shape.push_back(2);
  return nb::ndarray<nb::numpy, uint32_t>(reinterpret_cast<uint32_t*>(kept->data()), shape.size(),
                                          shape.data(), owner);
}

std::string_view as_text(const In<uint8_t>& a) {
  return {reinterpret_cast<const char*>(a.data()), a.size()};
}

// ---- corpus ---------------------------------------------------------------------------------

// Cells [T, C, 2] of a text, checked to lie inside it.
class CellView {
 public:
  CellView(const In<uint8_t>& text, const In<uint32_t, 3>& cells)
      : text_(as_text(text)), cells_(cells.data()), n_columns_(cells.shape(1)) {
    if (cells.shape(2) != 2) throw std::invalid_argument("cells: the last dimension must be 2");
    for (size_t k = 0; k < cells.size(); k += 2)
      if (cells_[k] > cells_[k + 1] || cells_[k + 1] > text_.size())
        throw std::invalid_argument("cells: a span lies outside the text");
  }
  std::string_view operator()(int64_t t, int column) const {
    const uint32_t* cell = cells_ + (size_t(t) * n_columns_ + column) * 2;
    return text_.substr(cell[0], cell[1] - cell[0]);
  }
  size_t n_columns() const { return n_columns_; }

 private:
  std::string_view text_;
  const uint32_t* cells_;
  size_t n_columns_;
};

nb::tuple read_columns(In<uint8_t> text, std::string name, std::string separator,
                       std::string comment, bool skip_docstart,
                       std::tuple<size_t, size_t, size_t> part) {
  const auto [first_line, n_columns, data_line] = part;
  const ColumnOptions options{separator.empty() ? '\0' : separator[0],
                              comment,
                              skip_docstart,
                              first_line,
                              n_columns,
                              data_line};
  Columns out;
  {
    nb::gil_scoped_release release;
    out = parse_columns(as_text(text), name, options);
  }
  const size_t T = out.lines.size();
  return nb::make_tuple(numpy_spans(std::move(out.cells), {T, out.n_columns}),
                        numpy(std::move(out.sentences)), numpy(std::move(out.lines)),
                        out.separator ? std::string(1, out.separator) : "", out.data_line);
}

nb::tuple read_attributes(In<uint8_t> text, std::string name) {
  Attributes out;
  {
    nb::gil_scoped_release release;
    out = parse_attributes(as_text(text), name);
  }
  const size_t T = out.lines.size(), F = out.cells.size();
  std::vector<uint8_t> unescaped(out.text.begin(), out.text.end());
  return nb::make_tuple(numpy(std::move(unescaped)), numpy_spans(std::move(out.cells), {F, 1}),
                        numpy(std::move(out.values)), numpy(std::move(out.positions)),
                        numpy_spans(std::move(out.labels), {T, 1}), numpy(std::move(out.sentences)),
                        numpy(std::move(out.lines)));
}

// One token of Python data: a string, or a sequence of strings. Appends its cells; returns how
// many.
std::string_view utf8(nb::handle s) {
  Py_ssize_t n = 0;
  const char* p = PyUnicode_AsUTF8AndSize(s.ptr(), &n);
  if (!p) throw nb::python_error();
  return {p, size_t(n)};
}

size_t append_token(nb::handle token, std::vector<uint8_t>& text, std::vector<Span>& cells) {
  const auto append = [&](nb::handle s) {
    if (!PyUnicode_Check(s.ptr()))
      throw nb::type_error("a token must be a string or a sequence of strings, one per column");
    const std::string_view cell = utf8(s);
    const auto begin = uint32_t(text.size());
    text.insert(text.end(), cell.begin(), cell.end());
    cells.push_back({begin, uint32_t(text.size())});
  };
  if (PyUnicode_Check(token.ptr())) {
    append(token);
    return 1;
  }
  size_t n = 0;
  for (nb::handle s : token) {
    append(s);
    ++n;
  }
  return n;
}

// Sentences of Python tokens as one text with cells, all tokens of equal width.
struct Packed {
  std::vector<uint8_t> text;
  std::vector<Span> cells;
  std::vector<int64_t> sentences{0};
  size_t n_columns = 0;

  void add_sentence(nb::handle sentence) {
    for (nb::handle token : sentence) {
      const size_t n = append_token(token, text, cells);
      if (n_columns == 0) n_columns = n;
      if (n != n_columns || n == 0) {
        const size_t where = sentences.size(), position = count_ - sentences.back() + 1;
        throw std::invalid_argument("sentence " + std::to_string(where) + ", token " +
                                    std::to_string(position) + ": " + std::to_string(n) +
                                    " columns; the first token has " + std::to_string(n_columns));
      }
      ++count_;
    }
    if (text.size() > 0xFFFFFFF0u) throw std::length_error("more than 4 GiB of tokens in one call");
    sentences.push_back(count_);
  }
  std::string_view operator()(int64_t t, int column) const {
    const Span c = cells[size_t(t) * n_columns + column];
    return {reinterpret_cast<const char*>(text.data()) + c.begin, c.end - c.begin};
  }

 private:
  int64_t count_ = 0;
};

nb::tuple pack_columns(nb::handle sentences) {
  Packed out;
  for (nb::handle sentence : sentences) out.add_sentence(sentence);
  const auto T = size_t(out.sentences.back());
  return nb::make_tuple(numpy(std::move(out.text)),
                        numpy_spans(std::move(out.cells), {T, out.n_columns}),
                        numpy(std::move(out.sentences)));
}

// Sequences of items, as python-crfsuite takes them, turned into attributes with values. An item is
// a dictionary {name: value}, where a value is a string (the attribute is name:string), a number,
// or again an item (the attributes are name:attribute); or a collection of strings.
class Items {
 public:
  void add_sequence(nb::handle sequence) {
    for (nb::handle item : sequence) {
      name_.clear();
      if (PyUnicode_Check(item.ptr()) || PyBytes_Check(item.ptr()))
        refuse("a string; an item must be a dictionary or a collection of strings");
      add_item(item, 0);
      positions.push_back(int64_t(cells_.size()));
    }
    sentences.push_back(int64_t(positions.size()) - 1);
  }

  std::vector<Span> cells() {
    std::vector<Span> out;
    out.reserve(cells_.size());
    for (const uint32_t id : cells_) out.push_back({names.offsets[id], names.offsets[id + 1]});
    return out;
  }

  Vocabulary names;
  std::vector<float> values;
  std::vector<int64_t> positions{0}, sentences{0};

 private:
  static constexpr int max_depth = 16;

  void add_item(nb::handle item, int depth) {
    if (depth > max_depth) refuse("more than 16 items inside each other");
    const size_t prefix = name_.size();
    if (PyDict_Check(item.ptr())) {
      PyObject *key, *value;
      Py_ssize_t at = 0;
      while (PyDict_Next(item.ptr(), &at, &key, &value)) add_pair(key, value, prefix, depth);
    } else if (PyMapping_Check(item.ptr()) && nb::hasattr(item, "items")) {
      for (nb::handle pair : item.attr("items")())
        add_pair(nb::object(pair[0]), nb::object(pair[1]), prefix, depth);
    } else if (PyUnicode_Check(item.ptr()) || PyBytes_Check(item.ptr())) {
      append(item);
      push(1.0);
      name_.resize(prefix);
    } else if (nb::isinstance<nb::iterable>(item)) {
      for (nb::handle part : item) {
        if (!PyUnicode_Check(part.ptr()) && !PyBytes_Check(part.ptr()))
          refuse("a collection with something that is no string");
        add_item(part, depth + 1);
      }
    } else {
      refuse("neither a dictionary nor a collection of strings");
    }
  }

  void add_pair(nb::handle key, nb::handle value, size_t prefix, int depth) {
    if (!PyUnicode_Check(key.ptr()) && !PyBytes_Check(key.ptr()))
      refuse("a name that is no string");
    append(key);
    PyObject* const v = value.ptr();
    if (PyUnicode_Check(v) || PyBytes_Check(v)) {
      name_.push_back(':');
      append(value);
      push(1.0);
    } else if (PyFloat_Check(v) || PyLong_Check(v)) {
      push(PyFloat_AsDouble(v));
    } else if (PyDict_Check(v) || PyList_Check(v) || PyTuple_Check(v) || PyAnySet_Check(v)) {
      name_.push_back(':');
      add_item(value, depth + 1);
    } else if (PyNumber_Check(v)) {
      push(PyFloat_AsDouble(v));
    } else {
      refuse("a value that is no string, number, dictionary, list or set");
    }
    name_.resize(prefix);
  }

  void append(nb::handle s) {
    if (PyUnicode_Check(s.ptr())) {
      name_ += utf8(s);
    } else {
      char* p;
      Py_ssize_t n;
      if (PyBytes_AsStringAndSize(s.ptr(), &p, &n)) throw nb::python_error();
      name_.append(p, size_t(n));
    }
  }

  void push(double value) {
    if (value == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      refuse("a value that is no number");
    }
    if (value == 0) return;  // says nothing
    if (!(std::abs(value) < 1e30)) refuse("a value that is not finite");
    cells_.push_back(names.intern(name_));
    values.push_back(float(value));
  }

  [[noreturn]] void refuse(const char* what) const {
    throw std::invalid_argument("sequence " + std::to_string(sentences.size()) + ", item " +
                                std::to_string(int64_t(positions.size()) - sentences.back()) +
                                (name_.empty() ? "" : ", " + name_) + ": " + what);
  }

  std::string name_;
  std::vector<uint32_t> cells_;  // numbers of names
};

nb::tuple pack_items(nb::handle sequences) {
  Items out;
  for (nb::handle sequence : sequences) out.add_sequence(sequence);
  auto cells = out.cells();
  const size_t F = cells.size();
  return nb::make_tuple(numpy(std::move(out.names.bytes)), numpy_spans(std::move(cells), {F, 1}),
                        numpy(std::move(out.values)), numpy(std::move(out.positions)),
                        numpy(std::move(out.sentences)));
}

// Numbers of the strings in one column; names not in `known` are added behind it.
nb::tuple number_labels(In<uint8_t> text, In<uint32_t, 3> cells, int column,
                        std::vector<std::string> known) {
  const CellView cell(text, cells);
  const size_t T = cells.shape(0);
  if (T > 0 && (column < 0 || size_t(column) >= cell.n_columns()))
    throw std::invalid_argument("cells: no such column");
  Vocabulary names;
  for (const std::string& name : known) names.intern(name);
  std::vector<int32_t> ids(T);
  for (size_t t = 0; t < T; ++t) ids[t] = int32_t(names.intern(cell(int64_t(t), column)));
  nb::list all;
  for (uint32_t id = 0; id < names.size(); ++id) {
    const std::string_view s = names.view()[id];
    all.append(nb::str(s.data(), s.size()));
  }
  return nb::make_tuple(numpy(std::move(ids)), all);
}

// The lines of the text with one or two columns added: a number where given, then the label.
nb::bytes write_columns(In<uint8_t> text, In<uint32_t, 3> cells, In<int64_t> sentences,
                        In<int32_t> labels, std::vector<std::string> names,
                        std::optional<In<float>> numbers) {
  const CellView cell(text, cells);
  const std::string_view all = as_text(text);
  Dataset::check_offsets(span(sentences), labels.size(), "sentence");
  if (labels.size() != cells.shape(0) || (numbers && numbers->size() != labels.size()))
    throw std::invalid_argument("one label is needed for each token");
  for (const int32_t y : span(labels))
    if (y < 0 || size_t(y) >= names.size()) throw std::invalid_argument("a label is out of range");
  std::string out;
  {
    nb::gil_scoped_release release;
    out.reserve(all.size() + labels.size() * 8);
    char number[32];
    for (size_t i = 0; i + 1 < sentences.size(); ++i) {
      for (int64_t t = sentences.data()[i]; t < sentences.data()[i + 1]; ++t) {
        const std::string_view first = cell(t, 0), last = cell(t, int(cell.n_columns()) - 1);
        const std::string_view line(first.data(), last.data() + last.size() - first.data());
        const char separator = cell.n_columns() > 1 && line.find('\t') == line.npos ? ' ' : '\t';
        out.append(line);
        if (numbers) {
          out.push_back(separator);
          out.append(number, std::snprintf(number, sizeof number, "%.6f", numbers->data()[t]));
        }
        out.push_back(separator);
        out.append(names[labels.data()[t]]);
        out.push_back('\n');
      }
      out.push_back('\n');
    }
  }
  return nb::bytes(out.data(), out.size());
}

// ---- features -------------------------------------------------------------------------------

using PyLine = std::tuple<int, uint32_t, std::vector<std::tuple<int, int>>>;
using PyColumn = std::tuple<int, std::string, int>;

Program make_program(const std::vector<PyColumn>& columns, const std::vector<PyLine>& lines,
                     int attribute_skeleton, int attribute_kind) {
  static const std::pair<std::string_view, Transform> transforms[] = {
      {"x", Transform::identity},
      {"lower", Transform::lower},
      {"shape", Transform::shape},
      {"prefix", Transform::prefix},
      {"suffix", Transform::suffix}};
  std::vector<Column> out_columns;
  for (const auto& [source, name, length] : columns) {
    const auto* found = std::find_if(std::begin(transforms), std::end(transforms),
                                     [&](const auto& t) { return t.first == name; });
    if (found == std::end(transforms) || source < 0 || source > 9999 || length < 0)
      throw std::invalid_argument("template: a macro is out of range");
    out_columns.push_back({source, found->second, length});
  }
  std::vector<Line> out_lines;
  for (const auto& [kind, skeleton, macros] : lines) {
    Line line{kind, skeleton, {}, 0, {}};
    for (const auto& [row, column] : macros) line.macros.push_back({row, column});
    out_lines.push_back(std::move(line));
  }
  return Program(std::move(out_columns), std::move(out_lines), attribute_skeleton, attribute_kind);
}

void check_columns(const Program& program, size_t n_columns, size_t T) {
  if (T > 0 && n_columns < size_t(program.n_columns))
    throw std::invalid_argument(std::to_string(n_columns) + " columns; the template needs " +
                                std::to_string(program.n_columns));
}

struct PyIndexBuilder {
  explicit PyIndexBuilder(const Program& p) : program(p), builder(p) {}
  PyIndexBuilder(const Program& p, In<uint8_t> bytes, In<uint32_t> offsets, In<uint32_t, 2> derived,
                 In<uint32_t, 2> keys, std::array<uint32_t, 3> n_of_kind)
      : program(p),
        builder(p, {span(bytes), span(offsets), {}}, span(derived), span(keys), n_of_kind) {}

  void add_columns(In<uint8_t> text, In<uint32_t, 3> cells, In<int64_t> sentences) {
    const CellView cell(text, cells);
    check_columns(program, cell.n_columns(), cells.shape(0));
    Dataset::check_offsets(span(sentences), cells.shape(0), "sentence");
    nb::gil_scoped_release release;
    builder.add(span(sentences), cell);
  }
  void add_attributes(In<uint8_t> text, In<uint32_t, 3> cells, In<float> values,
                      In<int64_t> positions, In<int64_t> sentences) {
    const CellView cell(text, cells);
    Dataset::check_offsets(span(positions), cells.shape(0), "position");
    Dataset::check_offsets(span(sentences), positions.size() - 1, "sentence");
    if (values.size() != cells.shape(0))
      throw std::invalid_argument("one value for each attribute");
    nb::gil_scoped_release release;
    builder.add_attributes(
        span(sentences), span(positions), [&](int64_t k) { return cell(k, 0); }, span(values));
  }
  // The data added since the last call, in a layout with room for so many predicates of each kind.
  nb::tuple take(const std::array<uint32_t, 3>& room) {
    const auto counts = builder.counts();
    for (int kind = 0; kind < 3; ++kind)
      if (counts[kind] > room[kind]) throw std::invalid_argument("room: too small");
    builder.number_at_once(room);
    auto out =
        nb::make_tuple(numpy(std::move(builder.positions)), numpy(std::move(builder.predicates)),
                       numpy(std::move(builder.values)));
    builder.clear_data();
    return out;
  }
  // The index as it is now; the builder goes on.
  nb::dict snapshot() const {
    IndexBuilder copy(builder);
    copy.clear_data();
    copy.keep_all();
    copy.freeze(1, {1, 1.0});
    return tables(copy);
  }
  nb::dict freeze(uint32_t cutoff, uint32_t edge_cutoff, double edge_share) {
    {
      nb::gil_scoped_release release;
      builder.freeze(cutoff, {edge_cutoff, edge_share});
    }
    nb::dict out = tables(builder);
    out["positions"] = numpy(std::move(builder.positions));
    out["predicates"] = numpy(std::move(builder.predicates));
    out["values"] = numpy(std::move(builder.values));
    return out;
  }

  // Hands the tables of a frozen builder over.
  nb::dict tables(IndexBuilder& builder) const {
    nb::dict out;
    out["n_of_kind"] =
        nb::make_tuple(builder.n_of_kind[0], builder.n_of_kind[1], builder.n_of_kind[2]);
    const size_t P = builder.keys.size() / (size_t(program.arity) + 1);
    const size_t V = builder.vocabulary.size();
    out["slots"] = numpy(std::move(builder.slots));
    out["keys"] = numpy(std::move(builder.keys), {P, size_t(program.arity) + 1});
    out["derived"] = numpy(std::move(builder.derived), {program.columns.size(), V});
    out["vocabulary_bytes"] = numpy(std::move(builder.vocabulary.bytes));
    out["vocabulary_offsets"] = numpy(std::move(builder.vocabulary.offsets));
    out["vocabulary_slots"] = numpy(std::move(builder.vocabulary.slots));
    return out;
  }

  Program program;
  IndexBuilder builder;
};

// Holds the arrays that the index looks into.
struct PyFeatureIndex {
  PyFeatureIndex(const Program& program, In<uint8_t> bytes, In<uint32_t> offsets,
                 In<uint64_t> vocabulary_slots, In<uint32_t, 2> derived, In<uint64_t> slots,
                 std::array<uint32_t, 3> n_of_kind)
      : kept{bytes, offsets, vocabulary_slots, derived, slots},
        index(program, {span(bytes), span(offsets), span(vocabulary_slots)}, span(derived),
              span(slots), n_of_kind) {}
  PyFeatureIndex(const Program& program, std::array<uint32_t, 3> n_of_kind)
      : index(program, n_of_kind) {}

  nb::tuple encode_columns(In<uint8_t> text, In<uint32_t, 3> cells, In<int64_t> sentences) const {
    const CellView cell(text, cells);
    check_columns(index.program(), cell.n_columns(), cells.shape(0));
    Dataset::check_offsets(span(sentences), cells.shape(0), "sentence");
    FeatureIndex::Scratch s;
    s.offsets.push_back(0);
    {
      nb::gil_scoped_release release;
      for (size_t i = 0; i + 1 < sentences.size(); ++i) {
        const int64_t first = sentences.data()[i];
        index.encode(
            int(sentences.data()[i + 1] - first),
            [&](int t, int column) { return cell(first + t, column); }, s);
      }
    }
    return nb::make_tuple(numpy(std::move(s.offsets)), numpy(std::move(s.predicates)));
  }
  nb::tuple encode_attributes(In<uint8_t> text, In<uint32_t, 3> cells, In<float> values,
                              In<int64_t> positions, In<int64_t> sentences) const {
    const CellView cell(text, cells);
    Dataset::check_offsets(span(positions), cells.shape(0), "position");
    Dataset::check_offsets(span(sentences), positions.size() - 1, "sentence");
    if (values.size() != cells.shape(0))
      throw std::invalid_argument("one value for each attribute");
    if (index.program().attribute_skeleton < 0)
      throw std::invalid_argument("the template is for columns, not for attributes");
    FeatureIndex::Scratch s;
    s.offsets.push_back(0);
    {
      nb::gil_scoped_release release;
      for (size_t i = 0; i + 1 < sentences.size(); ++i) {
        const int64_t first = sentences.data()[i];
        index.encode_attributes(
            int(sentences.data()[i + 1] - first), positions.data() + first,
            [&](int64_t k) { return cell(k, 0); }, values.data(), s);
      }
    }
    return nb::make_tuple(numpy(std::move(s.offsets)), numpy(std::move(s.predicates)),
                          numpy(std::move(s.values)));
  }

  std::tuple<In<uint8_t>, In<uint32_t>, In<uint64_t>, In<uint32_t, 2>, In<uint64_t>> kept;
  FeatureIndex index;
};

// ---- dataset --------------------------------------------------------------------------------

struct PyDataset {
  PyDataset(const Layout& layout, In<int64_t> sentences, In<int64_t> positions,
            In<uint32_t> predicates, std::optional<In<float>> values,
            std::optional<In<int32_t>> labels, std::optional<In<uint8_t, 2>> legal,
            std::optional<In<float>> weights, std::optional<uint32_t> always)
      : kept{sentences, positions, predicates, values, labels, legal, weights},
        layout(layout),
        data{span(sentences), span(positions), span(predicates), span(values),
             span(labels),    span(legal),     span(weights),    always.value_or(no_predicate)} {
    data.validate(layout);
  }
  void check(const Layout& other) const {
    if (other.n_labels != layout.n_labels || other.n_node != layout.n_node ||
        other.n_both != layout.n_both || other.n_edge != layout.n_edge)
      throw std::invalid_argument("the dataset was encoded for another model");
  }
  void check_labelled() const {
    if (data.labels.empty() && data.positions.size() > 1)
      throw std::invalid_argument("the dataset has no labels");
  }

  std::tuple<In<int64_t>, In<int64_t>, In<uint32_t>, std::optional<In<float>>,
             std::optional<In<int32_t>>, std::optional<In<uint8_t, 2>>, std::optional<In<float>>>
      kept;
  Layout layout;
  Dataset data;
};

void check_weights(const Layout& layout, size_t n) {
  if (n != layout.n_weights())
    throw std::invalid_argument(std::to_string(n) + " weights; the model needs " +
                                std::to_string(layout.n_weights()));
}

// ---- training -------------------------------------------------------------------------------

nb::list list_algorithms() {
  nb::list all;
  const auto text = [](std::string_view s) { return nb::str(s.data(), s.size()); };
  for (const Declaration& d : declarations()) {
    nb::list parameters, row_state, run_state;
    for (const Parameter& p : d.parameters)
      parameters.append(nb::make_tuple(text(p.name), p.initial, text(p.bounds), text(p.help)));
    for (const Field& f : d.row_state)
      row_state.append(nb::make_tuple(text(f.name), text(f.dtype)));
    for (const Field& f : d.run_state)
      run_state.append(nb::make_tuple(text(f.name), text(f.dtype)));
    nb::dict one;
    one["name"] = text(d.name);
    one["objective"] = text(d.objective);
    one["advice"] = text(d.advice);
    one["passes"] = d.passes;
    one["parameters"] = parameters;
    one["row_state"] = row_state;
    one["run_state"] = run_state;
    one["per_weight_state"] = text(d.per_weight_state);
    one["looks_ahead"] = d.looks_ahead;
    all.append(one);
  }
  return all;
}

nb::tuple as_tuple(const Totals& totals) {
  return nb::make_tuple(totals.loss, totals.expected_correct, totals.tokens);
}

// One run of one algorithm on arrays that stay Python's: weights, per-weight state, row state and
// run state.
class PyTraining {
 public:
  PyTraining(std::string_view name, const Layout& layout, const PyDataset& dataset,
             const std::vector<double>& values, Out<float> weights, Out<float> per_weight_state,
             Out<uint8_t> row_state, Out<uint8_t> run_state, std::optional<size_t> n)
      : layout_(layout), kept_{weights, per_weight_state, row_state, run_state} {
    dataset.check(layout);
    dataset.check_labelled();
    training_ = make_training(name, values, layout, dataset.data, n.value_or(dataset.data.size()),
                              {{weights.data(), weights.size()},
                               {per_weight_state.data(), per_weight_state.size()},
                               {row_state.data(), row_state.size()},
                               {run_state.data(), run_state.size()}});
  }

  nb::tuple run(const PyDataset& dataset, In<uint32_t> order, std::optional<Out<int32_t>> best) {
    dataset.check(layout_);
    dataset.check_labelled();
    for (const uint32_t i : span(order))
      if (i >= dataset.data.size()) throw std::invalid_argument("order: no such sentence");
    if (best && best->size() != dataset.data.positions.size() - 1)
      throw std::invalid_argument("best: a place is needed for each token");
    Totals totals;
    {
      nb::gil_scoped_release release;
      totals = training_->run(dataset.data, span(order), best ? best->data() : nullptr);
    }
    return as_tuple(totals);
  }
  void sync() { training_->sync(); }
  void read(Out<float> out) {
    check_weights(layout_, out.size());
    nb::gil_scoped_release release;
    training_->read(out.data());
  }

 private:
  Layout layout_;
  std::tuple<Out<float>, Out<float>, Out<uint8_t>, Out<uint8_t>> kept_;
  std::unique_ptr<Training> training_;
};

// Σ −log P(y | x), Σ P(gold label) and the tokens, adding to the gradient where one is given.
nb::tuple py_objective(const Layout& layout, const PyDataset& dataset, In<float> weights,
                       std::optional<Out<double>> gradient, int threads) {
  dataset.check(layout);
  dataset.check_labelled();
  check_weights(layout, weights.size());
  if (gradient) check_weights(layout, gradient->size());
  if (threads < 1) throw std::invalid_argument("threads: at least 1 is needed");
  Totals totals;
  {
    nb::gil_scoped_release release;
    totals = with_width(layout.width, [&]<int W>() {
      return objective<W>(dataset.data, layout, weights.data(),
                          gradient ? gradient->data() : nullptr, threads);
    });
  }
  return as_tuple(totals);
}

// ---- decoding -------------------------------------------------------------------------------

// Weights ready to decode with; shared by threads, which bring their own working memory.
class PyDecoder {
 public:
  PyDecoder(const Layout& layout, In<float> weights, const PyFeatureIndex* index,
            std::vector<std::string> labels, std::optional<In<uint8_t, 2>> legal)
      : layout_(layout), weights_(weights), index_(index->index), legal_(legal) {
    checked(legal);
    check_weights(layout, weights.size());
    if (labels.size() != size_t(layout.n_labels))
      throw std::invalid_argument("labels: one name is needed for each label");
    for (const std::string& name : labels) names_.append(nb::str(name.c_str(), name.size()));
  }

  nb::list tag(nb::handle sentence) const {
    Packed packed;
    packed.add_sentence(sentence);
    return nb::borrow<nb::list>(tag_packed(packed)[0]);
  }
  nb::list tag_all(nb::handle sentences) const {
    Packed packed;
    for (nb::handle sentence : sentences) packed.add_sentence(sentence);
    return tag_packed(packed);
  }

  auto viterbi_columns(In<uint8_t> text, In<uint32_t, 3> cells, In<int64_t> sentences,
                       std::optional<In<uint8_t, 2>> legal) const {
    const CellView cell(text, cells);
    check_columns(index_.program(), cell.n_columns(), cells.shape(0));
    Dataset::check_offsets(span(sentences), cells.shape(0), "sentence");
    const Constraints constraints = checked(legal);
    std::vector<int32_t> labels(cells.shape(0));
    {
      nb::gil_scoped_release release;
      decode_columns(span(sentences), cell, constraints, labels.data());
    }
    return numpy(std::move(labels));
  }
  auto viterbi(const PyDataset& dataset, std::optional<In<uint8_t, 2>> legal,
               std::optional<In<uint8_t, 2>> allowed) const {
    std::vector<int32_t> labels(dataset.data.positions.size() - 1);
    run(dataset, legal, allowed,
        [&]<int W>(Lattice<W>& lattice, const Sentence&, size_t, int64_t first) {
          lattice.viterbi(labels.data() + first);
        });
    return numpy(std::move(labels));
  }
  // P(y_t = y | x) [T, Y] and log Z [N].
  nb::tuple marginals(const PyDataset& dataset, std::optional<In<uint8_t, 2>> legal,
                      std::optional<In<uint8_t, 2>> allowed) const {
    const size_t T = dataset.data.positions.size() - 1, Y = layout_.n_labels;
    std::vector<float> p(T * Y);
    std::vector<double> log_z(dataset.data.size());
    run(dataset, legal, allowed,
        [&]<int W>(Lattice<W>& lattice, const Sentence& s, size_t i, int64_t first) {
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
    run(dataset, legal, {}, [&]<int W>(Lattice<W>& lattice, const Sentence& s, size_t i, int64_t) {
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
                  std::optional<In<uint8_t, 2>> allowed) const {
    std::vector<std::vector<int32_t>> paths(dataset.data.size());
    std::vector<std::vector<double>> scores(dataset.data.size());
    run(dataset, legal, allowed,
        [&]<int W>(Lattice<W>& lattice, const Sentence&, size_t i, int64_t) {
          adaptag::n_best(lattice, n, paths[i], scores[i]);
          const double log_z = lattice.expectations();
          for (double& score : scores[i]) score -= log_z;
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
    run(dataset, legal, {}, [&]<int W>(Lattice<W>& lattice, const Sentence&, size_t i, int64_t) {
      if (k == S || size_t(row(k)[0]) != i) return;
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
  Constraints checked(const std::optional<In<uint8_t, 2>>& legal) const {
    const size_t n = layout_.n_labels + 1;
    if (legal && (legal->shape(0) != n || legal->shape(1) != n))
      throw std::invalid_argument("legal: the shape must be [labels + 1, labels + 1]");
    return {nullptr, legal ? legal->data() : nullptr};
  }

  // Scores every sentence and calls f(lattice, sentence, number, first position), without the GIL.
  template <class F>
  void run(const PyDataset& dataset, const std::optional<In<uint8_t, 2>>& legal,
           const std::optional<In<uint8_t, 2>>& allowed, F&& f) const {
    dataset.check(layout_);
    const Dataset& data = dataset.data;
    const size_t Y = layout_.n_labels;
    Constraints constraints = checked(legal);
    if (allowed && (allowed->shape(0) != data.positions.size() - 1 || allowed->shape(1) != Y))
      throw std::invalid_argument("allowed: the shape must be [tokens, labels]");
    nb::gil_scoped_release release;
    with_width(layout_.width, [&]<int W>() {
      Lattice<W> lattice(layout_);
      for (size_t i = 0; i < data.size(); ++i) {
        const Sentence s = data[i];
        if (s.length == 0) continue;
        lattice.score(s, weights_.data(), unscaled);
        if (allowed) constraints.allowed = allowed->data() + size_t(data.sentences[i]) * Y;
        lattice.constrain(constraints);
        f.template operator()<W>(lattice, s, i, data.sentences[i]);
      }
    });
  }

  // Encodes and decodes sentence by sentence: nothing is kept but the labels.
  template <class Cell>
  void decode_columns(std::span<const int64_t> sentences, Cell&& cell,
                      const Constraints& constraints, int32_t* labels) const {
    with_width(layout_.width, [&]<int W>() {
      Lattice<W> lattice(layout_);
      FeatureIndex::Scratch s;
      for (size_t i = 0; i + 1 < sentences.size(); ++i) {
        const int64_t first = sentences[i];
        const int T = int(sentences[i + 1] - first);
        if (T == 0) continue;
        s.predicates.clear();
        s.offsets.assign(1, 0);
        index_.encode(T, [&](int t, int column) { return cell(first + t, column); }, s);
        for (const uint32_t id : s.predicates)
          __builtin_prefetch(weights_.data() + layout_.row(id));
        lattice.score({T, s.offsets.data(), s.predicates.data(), nullptr, nullptr}, weights_.data(),
                      unscaled);
        lattice.constrain(constraints);
        lattice.viterbi(labels + first);
      }
    });
  }

  nb::list tag_packed(const Packed& packed) const {
    check_columns(index_.program(), packed.n_columns, packed.cells.size());
    std::vector<int32_t> labels(size_t(packed.sentences.back()));
    {
      nb::gil_scoped_release release;
      decode_columns(packed.sentences, packed, checked(legal_), labels.data());
    }
    nb::list out;
    for (size_t i = 0; i + 1 < packed.sentences.size(); ++i) {
      const int64_t first = packed.sentences[i], n = packed.sentences[i + 1] - first;
      nb::object one = nb::steal<nb::object>(PyList_New(n));
      if (!one.is_valid()) throw nb::python_error();
      for (int64_t t = 0; t < n; ++t)
        PyList_SET_ITEM(one.ptr(), t, nb::object(names_[labels[first + t]]).release().ptr());
      out.append(one);
    }
    return out;
  }

  Layout layout_;
  In<float> weights_;
  const FeatureIndex& index_;
  std::optional<In<uint8_t, 2>> legal_;  // transitions that `tag` and `tag_all` may take
  nb::list names_;
};

}  // namespace

NB_MODULE(ADAPTAG_MODULE, m) {
  m.doc() = "The native core; see ARCHITECTURE.md.";

  m.def("read_columns", &read_columns, "text"_a.noconvert(), "name"_a, "separator"_a, "comment"_a,
        "skip_docstart"_a, "part"_a);
  m.def("read_attributes", &read_attributes, "text"_a.noconvert(), "name"_a);
  m.def("pack_columns", &pack_columns, "sentences"_a.none());
  m.def("pack_items", &pack_items, "sequences"_a.none());
  m.def("number_labels", &number_labels, "text"_a.noconvert(), "cells"_a.noconvert(), "column"_a,
        "known"_a);
  m.def("write_columns", &write_columns, "text"_a.noconvert(), "cells"_a.noconvert(),
        "sentences"_a.noconvert(), "labels"_a.noconvert(), "names"_a,
        "numbers"_a.noconvert().none());
  m.def(
      "checksum",
      [](In<uint8_t> data, uint64_t seed) {
        nb::gil_scoped_release release;
        return checksum(span(data), seed);
      },
      "data"_a.noconvert(), "seed"_a);

  nb::class_<Program>(m, "Program")
      .def(
          "__init__",
          [](Program* self, const std::vector<PyColumn>& columns, const std::vector<PyLine>& lines,
             int attribute_skeleton, int attribute_kind) {
            new (self) Program(make_program(columns, lines, attribute_skeleton, attribute_kind));
          },
          "columns"_a, "lines"_a, "attribute_skeleton"_a, "attribute_kind"_a)
      .def_ro("arity", &Program::arity);

  nb::class_<PyIndexBuilder>(m, "IndexBuilder")
      .def(nb::init<const Program&>(), "program"_a)
      .def(nb::init<const Program&, In<uint8_t>, In<uint32_t>, In<uint32_t, 2>, In<uint32_t, 2>,
                    std::array<uint32_t, 3>>(),
           "program"_a, "vocabulary_bytes"_a.noconvert(), "vocabulary_offsets"_a.noconvert(),
           "derived"_a.noconvert(), "keys"_a.noconvert(), "n_of_kind"_a)
      .def("add_columns", &PyIndexBuilder::add_columns, "text"_a.noconvert(), "cells"_a.noconvert(),
           "sentences"_a.noconvert())
      .def("add_attributes", &PyIndexBuilder::add_attributes, "text"_a.noconvert(),
           "cells"_a.noconvert(), "values"_a.noconvert(), "positions"_a.noconvert(),
           "sentences"_a.noconvert())
      .def(
          "limit", [](PyIndexBuilder& self, size_t n) { self.builder.limit(n); }, "n"_a)
      .def_prop_ro("counts", [](const PyIndexBuilder& self) { return self.builder.counts(); })
      .def("take", &PyIndexBuilder::take, "room"_a)
      .def("snapshot", &PyIndexBuilder::snapshot)
      .def("freeze", &PyIndexBuilder::freeze, "cutoff"_a, "edge_cutoff"_a, "edge_share"_a);

  nb::class_<PyFeatureIndex>(m, "FeatureIndex")
      .def(nb::init<const Program&, In<uint8_t>, In<uint32_t>, In<uint64_t>, In<uint32_t, 2>,
                    In<uint64_t>, std::array<uint32_t, 3>>(),
           "program"_a, "vocabulary_bytes"_a.noconvert(), "vocabulary_offsets"_a.noconvert(),
           "vocabulary_slots"_a.noconvert(), "derived"_a.noconvert(), "slots"_a.noconvert(),
           "n_of_kind"_a)
      .def(nb::init<const Program&, std::array<uint32_t, 3>>(), "program"_a, "n_of_kind"_a)
      .def("encode_columns", &PyFeatureIndex::encode_columns, "text"_a.noconvert(),
           "cells"_a.noconvert(), "sentences"_a.noconvert())
      .def("encode_attributes", &PyFeatureIndex::encode_attributes, "text"_a.noconvert(),
           "cells"_a.noconvert(), "values"_a.noconvert(), "positions"_a.noconvert(),
           "sentences"_a.noconvert());

  nb::class_<Layout>(m, "Layout")
      .def(nb::init<int, uint32_t, uint32_t, uint32_t>(), "n_labels"_a, "n_node"_a, "n_both"_a,
           "n_edge"_a)
      .def_ro("n_labels", &Layout::n_labels)
      .def_ro("width", &Layout::width)
      .def_ro("n_node", &Layout::n_node)
      .def_ro("n_both", &Layout::n_both)
      .def_ro("n_edge", &Layout::n_edge)
      .def_prop_ro("n_predicates", &Layout::n_predicates)
      .def_prop_ro("n_weights", &Layout::n_weights);

  nb::class_<PyDataset>(m, "Dataset")
      .def(nb::init<const Layout&, In<int64_t>, In<int64_t>, In<uint32_t>, std::optional<In<float>>,
                    std::optional<In<int32_t>>, std::optional<In<uint8_t, 2>>,
                    std::optional<In<float>>, std::optional<uint32_t>>(),
           "layout"_a, "sentences"_a.noconvert(), "positions"_a.noconvert(),
           "predicates"_a.noconvert(), "values"_a.noconvert().none(), "labels"_a.noconvert().none(),
           "legal"_a.noconvert().none() = nb::none(), "weights"_a.noconvert().none() = nb::none(),
           "always"_a.none() = nb::none());

  m.def("algorithms", &list_algorithms);
  nb::class_<PyTraining>(m, "Training")
      .def(nb::init<std::string_view, const Layout&, const PyDataset&, const std::vector<double>&,
                    Out<float>, Out<float>, Out<uint8_t>, Out<uint8_t>, std::optional<size_t>>(),
           "algorithm"_a, "layout"_a, "dataset"_a, "values"_a, "weights"_a.noconvert(),
           "per_weight_state"_a.noconvert(), "row_state"_a.noconvert(), "run_state"_a.noconvert(),
           "n"_a.none(), nb::keep_alive<1, 4>())
      .def("run", &PyTraining::run, "dataset"_a, "order"_a.noconvert(),
           "best"_a.noconvert().none() = nb::none())
      .def("sync", &PyTraining::sync)
      .def("read", &PyTraining::read, "out"_a.noconvert());
  m.def("objective", &py_objective, "layout"_a, "dataset"_a, "weights"_a.noconvert(),
        "gradient"_a.noconvert().none(), "threads"_a);

  nb::class_<PyDecoder>(m, "Decoder")
      .def(nb::init<const Layout&, In<float>, const PyFeatureIndex*, std::vector<std::string>,
                    std::optional<In<uint8_t, 2>>>(),
           "layout"_a, "weights"_a.noconvert(), "index"_a, "labels"_a,
           "legal"_a.noconvert().none() = nb::none(), nb::keep_alive<1, 4>())
      .def("tag", &PyDecoder::tag, "sentence"_a.none())
      .def("tag_all", &PyDecoder::tag_all, "sentences"_a.none())
      .def("viterbi_columns", &PyDecoder::viterbi_columns, "text"_a.noconvert(),
           "cells"_a.noconvert(), "sentences"_a.noconvert(), "legal"_a.noconvert().none())
      .def("viterbi", &PyDecoder::viterbi, "dataset"_a, "legal"_a.noconvert().none(),
           "allowed"_a.noconvert().none())
      .def("marginals", &PyDecoder::marginals, "dataset"_a, "legal"_a.noconvert().none(),
           "allowed"_a.noconvert().none())
      .def("log_probabilities", &PyDecoder::log_probabilities, "dataset"_a,
           "legal"_a.noconvert().none())
      .def("n_best", &PyDecoder::n_best, "dataset"_a, "n"_a, "legal"_a.noconvert().none(),
           "allowed"_a.noconvert().none())
      .def("segment_probabilities", &PyDecoder::segment_probabilities, "dataset"_a,
           "segments"_a.noconvert(), "type_of"_a.noconvert(), "starts"_a.noconvert(),
           "ends"_a.noconvert(), "legal"_a.noconvert().none());

  bind_segmentation(m);
}
