// Bytes → cells: column files, checked line by line, in any number of threads.
#pragma once

#include "memory.hpp"
#include "parallel.hpp"
#include "text.hpp"

namespace adaptag {

struct ColumnOptions {
  char separator = 0;   // '\t', ' ' (runs of spaces and tabs), or 0: tab if the first line has one
  std::string comment;  // lines that start with this are skipped; empty: none
  bool skip_docstart = false;
  // For a part of a longer text: the number of its first line, and what the first line of data was
  // like (0: not yet known).
  size_t first_line = 1;
  size_t n_columns = 0, data_line = 0;
};

struct Columns {
  char separator = 0;
  size_t n_columns = 0, data_line = 0;  // of the first line of data
  LargeVector<Span> cells;              // [T, n_columns] into the text
  LargeVector<int64_t> sentences;       // [N + 1] into positions
  LargeVector<uint32_t> lines;          // [T] line numbers
};

// A part of a text that begins after an empty line.
struct TextPart {
  std::string_view text;
  size_t first_line = 0;
  size_t n_lines = 0;        // line ends
  size_t n_empty_lines = 0;  // as far as lines end with \n alone

  size_t n_tokens_at_most() const {
    return n_lines - n_empty_lines + (!text.empty() && text.back() != '\n');
  }
};

// Cuts a text behind empty lines into n parts of about equal size; some may be empty.
inline std::vector<TextPart> cut_text(std::string_view text, int n) {
  const auto follows_empty_line = [&](size_t at) {
    const std::string_view before = text.substr(0, at);
    return before.ends_with("\n\n") || before.ends_with("\n\r\n");
  };
  std::vector<TextPart> parts;
  size_t begin = 0;
  for (int k = 1; k <= n; ++k) {
    size_t end = std::max(begin, text.size() / n * k);
    while (end < text.size() && !follows_empty_line(end)) ++end;
    if (k == n) end = text.size();
    parts.push_back({text.substr(begin, end - begin)});
    begin = end;
  }
  return parts;
}

// Checks the text of all parts, and counts their lines.
inline void check_parts(std::vector<TextPart>& parts, std::string_view text, std::string_view name,
                        size_t first_line) {
  in_parallel(int(parts.size()), [&](int k) {
    TextPart part = parts[k];
    const char* const first = part.text.data();
    check_part(part.text, text, name, first_line, [&](const char* begin, const char* end) {
      part.n_lines += size_t(std::count(begin, end, '\n'));
      const char* p = begin;
      if (p == first && *p++ == '\n') ++part.n_empty_lines;
      uint32_t pairs = 0;
      for (; p < end; ++p) pairs += (p[0] == '\n') & (p[-1] == '\n');
      part.n_empty_lines += pairs;
    });
    parts[k] = part;
  });
  for (TextPart& part : parts) {
    part.first_line = first_line;
    first_line += part.n_lines;
  }
}

// Parses lines of columns; cells are spans of the text that begins at `base`.
class ColumnParser {
 public:
  ColumnParser(const char* base, std::string_view name, const ColumnOptions& options)
      : separator(options.separator),
        n_columns(options.n_columns),
        data_line(options.data_line),
        base_(base),
        name_(name),
        options_(options) {}

  // Where cells and line numbers are stored from now on; there must be room for them.
  void store(Span* cells, uint32_t* lines) {
    cells_ = cells;
    lines_ = lines;
  }

  void parse_line(size_t number, const char* p, const char* end) {
    if (!options_.comment.empty() && std::string_view(p, end - p).starts_with(options_.comment))
      return;
    while (end > p && is_blank(end[-1])) --end;
    if (p == end) return end_sentence();
    const std::string_view line(p, end - p);
    if (options_.skip_docstart && line.starts_with("-DOCSTART-") &&
        (line.size() == 10 || is_blank(line[10])))
      return end_sentence();
    if (!separator) separator = line.find('\t') != line.npos ? '\t' : ' ';
    const size_t n = separator == ' ' ? split_at_blanks(p, end) : split_at_tabs(number, p, end);
    if (!data_line) {
      data_line = number;
      n_columns = n;
    } else if (n != n_columns) {
      throw InputError(name_, number,
                       std::to_string(n) + (n == 1 ? " column" : " columns") + "; line " +
                           std::to_string(data_line) + " has " + std::to_string(n_columns));
    }
    if (lines_) {
      lines_[n_tokens] = uint32_t(number);
      cells_ += n;
    }
    ++n_tokens;
  }

  void end_sentence() {
    if (sentences.back() != int64_t(n_tokens)) sentences.push_back(int64_t(n_tokens));
  }

  char separator;
  size_t n_columns, data_line;  // of the first line of data
  size_t n_tokens = 0;
  std::vector<int64_t> sentences{0};  // [N + 1] into tokens

 private:
  void set_cell(size_t n, const char* begin, const char* end) {
    if (cells_ && n < n_columns) cells_[n] = {uint32_t(begin - base_), uint32_t(end - base_)};
  }
  size_t split_at_blanks(const char* p, const char* end) {
    size_t n = 0;
    for (; p < end; ++n) {
      while (is_blank(*p)) ++p;  // the line ends with something else
      const char* cell = p;
      while (p < end && !is_blank(*p)) ++p;
      set_cell(n, cell, p);
    }
    return n;
  }
  size_t split_at_tabs(size_t number, const char* p, const char* end) {
    for (size_t n = 1;; ++n, ++p) {
      const char* cell = p;
      while (p < end && *p != '\t') ++p;
      if (p == cell)
        throw InputError(name_, number,
                         "column " + std::to_string(n) + " is empty; every cell needs a value");
      set_cell(n - 1, cell, p);
      if (p == end) return n;
    }
  }

  const char* base_;
  std::string_view name_;
  const ColumnOptions& options_;
  Span* cells_ = nullptr;      // of the next token
  uint32_t* lines_ = nullptr;  // of all tokens
};

// The options, with what the first line of data says that the others must be like.
inline ColumnOptions detected(std::string_view text, std::string_view name, ColumnOptions options) {
  if (options.data_line) return options;
  ColumnParser first(text.data(), name, options);
  for_lines_until(text, options.first_line, [&](size_t number, const char* p, const char* end) {
    first.parse_line(number, p, end);
    return first.data_line > 0;
  });
  options.separator = first.separator;
  options.n_columns = first.n_columns;
  options.data_line = first.data_line;
  return options;
}

// Parses a column file in n threads; the result does not depend on their number. All of them store
// into the same arrays: a part has room for as many tokens as it has lines that are not empty.
inline Columns parse_columns(std::string_view text, std::string_view name,
                             const ColumnOptions& given, int n) {
  check_size(text, name, given.first_line);
  std::vector<TextPart> parts = cut_text(text, n);
  check_parts(parts, text, name, given.first_line);
  const ColumnOptions options = detected(text, name, given);
  const size_t C = options.n_columns;
  std::vector<size_t> room{0};  // the tokens that there is room for before each part
  for (const TextPart& part : parts) room.push_back(room.back() + part.n_tokens_at_most());
  Columns out{options.separator, C, options.data_line, {}, {0}, {}};
  out.cells.resize(room.back() * C);
  out.lines.resize(room.back());
  std::vector<std::vector<int64_t>> sentences(n);
  in_parallel(n, [&](int k) {
    ColumnParser parser(text.data(), name, options);
    parser.store(out.cells.data() + room[k] * C, out.lines.data() + room[k]);
    for_each_line(
        parts[k].text, parts[k].first_line,
        [&](size_t number, const char* p, const char* end) { parser.parse_line(number, p, end); });
    parser.end_sentence();
    sentences[k] = std::move(parser.sentences);
  });
  size_t T = 0;
  for (int k = 0; k < n; ++k) {
    const auto n_tokens = size_t(sentences[k].back());
    if (room[k] > T) {  // closes the gap
      std::copy_n(out.cells.begin() + room[k] * C, n_tokens * C, out.cells.begin() + T * C);
      std::copy_n(out.lines.begin() + room[k], n_tokens, out.lines.begin() + T);
    }
    for (size_t i = 1; i < sentences[k].size(); ++i)
      out.sentences.push_back(int64_t(T) + sentences[k][i]);
    T += n_tokens;
  }
  out.cells.resize(T * C);
  out.lines.resize(T);
  return out;
}

}  // namespace adaptag
