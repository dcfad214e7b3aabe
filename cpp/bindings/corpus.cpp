// Reading and writing of column files and attribute files; Python tokens as such a text.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "../hashing.hpp"
#include "../layout.hpp"
#include "../vocabulary.hpp"
#include "cells.hpp"

using namespace nb::literals;

namespace adaptag {

std::string PackedTokens::place() const {
  return "sentence " + std::to_string(n_earlier_ + sentences.size()) + ", token " +
         std::to_string(n_tokens_ - sentences.back() + 1);
}

void PackedTokens::begin(size_t n_earlier, size_t columns) {
  text.clear();
  cells.clear();
  sentences.assign(1, 0);
  n_columns = columns;
  n_tokens_ = 0;
  n_earlier_ = n_earlier;
}

void PackedTokens::append_cell(nb::handle cell) {
  if (!is_string(cell))
    throw InputError(place() + ": a column is " + described(cell) + "; allowed: a string");
  const std::string_view bytes = utf8(cell);
  const size_t begin = text.size();
  text.resize(begin + bytes.size());
  std::memcpy(text.data() + begin, bytes.data(), bytes.size());
  cells.push_back({uint32_t(begin), uint32_t(text.size())});
}

// Appends the cells of a token, which is a string or a sequence of strings; returns how many.
size_t PackedTokens::append_token(nb::handle token) {
  if (is_string(token)) {
    append_cell(token);
    return 1;
  }
  if (!is_list_like(token))
    throw InputError(place() + " is " + described(token) +
                     "; allowed: a string, or a tuple of strings, one per column");
  size_t n = 0;
  for_items(token, [&](nb::handle cell) {
    append_cell(cell);
    ++n;
  });
  return n;
}

void PackedTokens::add_sentence(nb::handle sentence) {
  if (!is_list_like(sentence))
    throw InputError("sentence " + std::to_string(n_earlier_ + sentences.size()) + " is " +
                     described(sentence) + "; allowed: a list of tokens" +
                     (is_string(sentence) ? ", e.g. the string's .split()" : ""));
  for_items(sentence, [&](nb::handle token) {
    const size_t n = append_token(token);
    if (n_columns == 0) n_columns = n;
    if (n != n_columns || n == 0)
      throw InputError(place() + ": " + std::to_string(n) + (n == 1 ? " column" : " columns") +
                       "; the first token has " + std::to_string(n_columns));
    ++n_tokens_;
  });
  if (text.size() > 0xFFFFFFF0u) throw InputError("more than 4 GiB of tokens in one call");
  sentences.push_back(n_tokens_);
}

void PackedTokens::add_sentences(nb::handle sentences) {
  if (!is_list_like(sentences))
    throw InputError("the data is " + described(sentences) +
                     "; allowed: a list of sentences, each a list of tokens");
  for (nb::handle sentence : sentences) add_sentence(sentence);
}

namespace {

nb::tuple read_columns(In<uint8_t> text, std::string name, std::string separator,
                       std::string comment, bool skip_docstart,
                       std::tuple<size_t, size_t, size_t> part, int threads) {
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
    out = parse_columns(as_text(text), name, options, threads);
  }
  const size_t T = out.lines.size();
  return nb::make_tuple(numpy_cells(std::move(out.cells), {T, out.n_columns}),
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
  return nb::make_tuple(numpy(std::move(unescaped)), numpy_cells(std::move(out.cells), {F, 1}),
                        numpy(std::move(out.values)), numpy(std::move(out.positions)),
                        numpy_cells(std::move(out.labels), {T, 1}), numpy(std::move(out.sentences)),
                        numpy(std::move(out.lines)));
}

nb::tuple pack_columns(nb::handle sentences) {
  PackedTokens out;
  out.add_sentences(sentences);
  const auto T = size_t(out.sentences.back());
  return nb::make_tuple(numpy(std::move(out.text)),
                        numpy_cells(std::move(out.cells), {T, out.n_columns}),
                        numpy(std::move(out.sentences)));
}

CellView column_view(const In<uint8_t>& text, const In<uint32_t, 3>& cells, int column) {
  const CellView cell(text, cells);
  if (cells.shape(0) > 0 && (column < 0 || size_t(column) >= cell.n_columns()))
    throw std::invalid_argument("cells: no such column");
  return cell;
}

// Numbers of the strings in one column; names not in `known` are added behind it.
nb::tuple number_labels(In<uint8_t> text, In<uint32_t, 3> cells, int column,
                        std::vector<std::string> known, int threads) {
  const CellView cell = column_view(text, cells, column);
  Vocabulary names;
  LargeVector<int32_t> ids(cells.shape(0));
  {
    nb::gil_scoped_release release;
    for (const std::string& name : known) names.intern(name);
    std::vector<Vocabulary> later(threads - 1);
    const auto first = [&](int k) { return ids.size() * size_t(k) / threads; };
    in_parallel(threads, [&](int k) {
      Vocabulary& own = k ? later[k - 1] : names;
      for (size_t t = first(k); t < first(k + 1); ++t)
        ids[t] = int32_t(own.intern(cell(int64_t(t), column)));
    });
    std::vector<std::vector<int32_t>> numbers(threads);
    for (int k = 1; k < threads; ++k)  // in order, so that numbers follow the first appearance
      for (uint32_t id = 0; id < later[k - 1].size(); ++id)
        numbers[k].push_back(int32_t(names.intern(later[k - 1].view()[id])));
    in_parallel(threads, [&](int k) {
      if (k)
        for (size_t t = first(k); t < first(k + 1); ++t) ids[t] = numbers[k][ids[t]];
    });
  }
  nb::list all;
  for (uint32_t id = 0; id < names.size(); ++id) {
    const std::string_view s = names.view()[id];
    all.append(nb::str(s.data(), s.size()));
  }
  return nb::make_tuple(numpy(std::move(ids)), all);
}

// Whether all strings in one column are among some names.
bool holds_only(In<uint8_t> text, In<uint32_t, 3> cells, int column,
                std::vector<std::string> names) {
  const CellView cell = column_view(text, cells, column);
  nb::gil_scoped_release release;
  Vocabulary known;
  for (const std::string& name : names) known.intern(name);
  for (size_t t = 0; t < cells.shape(0); ++t)
    if (known.view().find(cell(int64_t(t), column)) == VocabularyView::unknown) return false;
  return true;
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
  std::string out;
  {
    nb::gil_scoped_release release;
    for (const int32_t y : span(labels))
      if (y < 0 || size_t(y) >= names.size())
        throw std::invalid_argument("a label is out of range");
    out.reserve(all.size() + labels.size() * 8);
    char number[32];
    for (size_t i = 0; i + 1 < sentences.size(); ++i) {
      for (int64_t t = sentences.data()[i]; t < sentences.data()[i + 1]; ++t) {
        const std::string_view line = cell.between(t, 0, int(cell.n_columns()) - 1);
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

}  // namespace
}  // namespace adaptag

void bind_corpus(nb::module_& m) {
  using namespace adaptag;
  m.def("read_columns", &read_columns, "text"_a.noconvert(), "name"_a, "separator"_a, "comment"_a,
        "skip_docstart"_a, "part"_a, "threads"_a = 1);
  m.def("read_attributes", &read_attributes, "text"_a.noconvert(), "name"_a);
  m.def("pack_columns", &pack_columns, "sentences"_a.none());
  m.def("number_labels", &number_labels, "text"_a.noconvert(), "cells"_a.noconvert(), "column"_a,
        "known"_a, "threads"_a = 1);
  m.def("holds_only", &holds_only, "text"_a.noconvert(), "cells"_a.noconvert(), "column"_a,
        "names"_a);
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
}
