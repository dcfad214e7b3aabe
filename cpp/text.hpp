// Bytes → cells: column files and CRFsuite's attribute files, checked line by line.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "errors.hpp"
#include "memory.hpp"
#include "parallel.hpp"

namespace adaptag {

struct Span {
  uint32_t begin, end;
};

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

struct Attributes {
  std::string text;                // unescaped
  std::vector<Span> cells;         // [F] attribute names
  std::vector<float> values;       // [F]
  std::vector<int64_t> positions;  // [T + 1] into cells
  std::vector<Span> labels;        // [T]
  std::vector<int64_t> sentences;  // [N + 1] into positions
  std::vector<uint32_t> lines;     // [T]
};

// Length of the UTF-8 sequence at p, or 0 where it is invalid (overlong, surrogate, out of range).
inline int utf8_length(const unsigned char* p, const unsigned char* end) {
  const auto tail = [&](int k) { return p + k < end && (p[k] & 0xC0) == 0x80; };
  if (p[0] < 0x80) return 1;
  if (p[0] >= 0xC2 && p[0] <= 0xDF) return tail(1) ? 2 : 0;
  if (p[0] >= 0xE0 && p[0] <= 0xEF) {
    if (!tail(1) || !tail(2)) return 0;
    if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F)) return 0;
    return 3;
  }
  if (p[0] >= 0xF0 && p[0] <= 0xF4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if ((p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

// Throws where spans of 32 bits cannot reach all of a text.
inline void check_size(std::string_view text, std::string_view name, size_t first_line) {
  if (text.size() > 0xFFFFFFF0u)
    throw InputError(name, first_line, "the text is larger than 4 GiB; split it");
}

// Throws at the first NUL byte or invalid UTF-8.
inline void check_text(std::string_view text, std::string_view name, size_t first_line) {
  check_size(text, name, first_line);
  const auto* begin = reinterpret_cast<const unsigned char*>(text.data());
  const auto *p = begin, *end = begin + text.size();
  const auto fail = [&](const char* what) {
    const size_t line = first_line + std::count(begin, p, '\n');
    const auto* start = p;
    while (start > begin && start[-1] != '\n') --start;
    throw InputError(name, line,
                     std::string(what) + " at byte " + std::to_string(p - start + 1) +
                         " of the line; allowed: UTF-8 text");
  };
  while (p < end) {
    uint64_t word;
    if (end - p >= 8 && (std::memcpy(&word, p, 8), !(word & 0x8080808080808080u)) &&
        !((word - 0x0101010101010101u) & ~word & 0x8080808080808080u)) {
      p += 8;
      continue;
    }
    if (*p == 0) fail("a NUL byte");
    const int length = utf8_length(p, end);
    if (length == 0) fail("invalid UTF-8");
    p += length;
  }
}

// Calls done(number, begin, end) for every line, without its line end, until it returns true;
// strips a byte-order mark.
template <class F>
void for_lines_until(std::string_view text, size_t first_line, F&& done) {
  const char *p = text.data(), *end = p + text.size();
  if (first_line == 1 && text.starts_with("\xEF\xBB\xBF")) p += 3;
  for (size_t number = first_line; p < end; ++number) {
    const char* stop = static_cast<const char*>(std::memchr(p, '\n', end - p));
    const char* next = stop ? stop + 1 : end;
    if (!stop) stop = end;
    if (stop > p && stop[-1] == '\r') --stop;
    if (done(number, p, stop)) return;
    p = next;
  }
}

// Calls line(number, begin, end) for every line.
template <class F>
void for_each_line(std::string_view text, size_t first_line, F&& line) {
  for_lines_until(text, first_line, [&](size_t number, const char* begin, const char* end) {
    line(number, begin, end);
    return false;
  });
}

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

// A part of a text that begins after a line end, and the number of its first line.
struct TextPart {
  std::string_view text;
  size_t first_line;
  size_t n_lines = 0;  // line ends
};

// Cuts a text behind empty lines into n parts of about equal size; some may be empty.
inline std::vector<TextPart> cut_text(std::string_view text, size_t first_line, int n) {
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
    parts.push_back({text.substr(begin, end - begin), first_line});
    begin = end;
  }
  in_parallel(n, [&](int k) {
    parts[k].n_lines = size_t(std::count(parts[k].text.begin(), parts[k].text.end(), '\n'));
  });
  for (int k = 1; k < n; ++k) parts[k].first_line = parts[k - 1].first_line + parts[k - 1].n_lines;
  return parts;
}

// Parses lines of columns; cells are spans of the text that begins at `base`.
class ColumnParser {
 public:
  ColumnParser(const char* base, std::string_view name, const ColumnOptions& options)
      : out{options.separator, options.n_columns, options.data_line, {}, {0}, {}},
        base_(base),
        name_(name),
        options_(options) {}

  void reserve(size_t n_lines) {
    out.cells.reserve(n_lines * out.n_columns);
    out.lines.reserve(n_lines);
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
    if (!out.separator) out.separator = line.find('\t') != line.npos ? '\t' : ' ';
    const size_t n = out.separator == ' ' ? split_at_blanks(p, end) : split_at_tabs(number, p, end);
    if (!out.data_line) {
      out.data_line = number;
      out.n_columns = n;
    } else if (n != out.n_columns) {
      throw InputError(name_, number,
                       std::to_string(n) + (n == 1 ? " column" : " columns") + "; line " +
                           std::to_string(out.data_line) + " has " + std::to_string(out.n_columns));
    }
    out.lines.push_back(uint32_t(number));
  }

  void end_sentence() {
    if (out.sentences.back() != int64_t(out.lines.size()))
      out.sentences.push_back(out.lines.size());
  }

  Columns out;

 private:
  void push_cell(const char* begin, const char* end) {
    out.cells.push_back({uint32_t(begin - base_), uint32_t(end - base_)});
  }
  size_t split_at_blanks(const char* p, const char* end) {
    const size_t first = out.cells.size();
    while (p < end) {
      while (is_blank(*p)) ++p;  // the line ends with something else
      const char* cell = p;
      while (p < end && !is_blank(*p)) ++p;
      push_cell(cell, p);
    }
    return out.cells.size() - first;
  }
  size_t split_at_tabs(size_t number, const char* p, const char* end) {
    for (size_t n = 1;; ++n, ++p) {
      const char* cell = p;
      while (p < end && *p != '\t') ++p;
      if (p == cell)
        throw InputError(name_, number,
                         "column " + std::to_string(n) + " is empty; every cell needs a value");
      push_cell(cell, p);
      if (p == end) return n;
    }
  }

  const char* base_;
  std::string_view name_;
  const ColumnOptions& options_;
};

// Puts what was parsed of parts of a text together.
inline Columns joined(std::vector<Columns>&& parts) {
  if (parts.size() == 1) return std::move(parts[0]);
  std::vector<size_t> cells{0}, tokens{0}, sentences{0};
  for (const Columns& part : parts) {
    cells.push_back(cells.back() + part.cells.size());
    tokens.push_back(tokens.back() + part.lines.size());
    sentences.push_back(sentences.back() + part.sentences.size() - 1);
  }
  Columns out = std::move(parts[0]);  // which has room for all
  out.cells.resize(cells.back());
  out.lines.resize(tokens.back());
  out.sentences.resize(sentences.back() + 1);
  in_parallel(int(parts.size()) - 1, [&](int behind_first) {
    const int k = behind_first + 1;
    const Columns& part = parts[k];
    std::copy(part.cells.begin(), part.cells.end(), out.cells.begin() + cells[k]);
    std::copy(part.lines.begin(), part.lines.end(), out.lines.begin() + tokens[k]);
    for (size_t i = 0; i + 1 < part.sentences.size(); ++i)
      out.sentences[sentences[k] + i] = part.sentences[i] + int64_t(tokens[k]);
  });
  out.sentences.back() = int64_t(tokens.back());
  return out;
}

// Parses a column file in n threads; the result does not depend on their number.
inline Columns parse_columns(std::string_view text, std::string_view name,
                             const ColumnOptions& options, int n) {
  check_size(text, name, options.first_line);
  const std::vector<TextPart> parts = cut_text(text, options.first_line, n);
  in_parallel(n, [&](int k) { check_text(parts[k].text, name, parts[k].first_line); });
  ColumnOptions known = options;
  if (!known.data_line) {  // the first line of data says what the others must be like
    ColumnParser first(text.data(), name, options);
    for_lines_until(text, options.first_line, [&](size_t number, const char* p, const char* end) {
      first.parse_line(number, p, end);
      return first.out.data_line > 0;
    });
    known.separator = first.out.separator;
    known.n_columns = first.out.n_columns;
    known.data_line = first.out.data_line;
  }
  const size_t n_lines_of_all = parts.back().first_line - options.first_line + parts.back().n_lines;
  std::vector<Columns> parsed(n);
  in_parallel(n, [&](int k) {
    const auto& [part, first_line, n_lines] = parts[k];
    ColumnParser parser(text.data(), name, known);
    parser.reserve((k ? n_lines : n_lines_of_all) + 1);
    for_each_line(part, first_line, [&](size_t number, const char* p, const char* end) {
      parser.parse_line(number, p, end);
    });
    parser.end_sentence();
    parsed[k] = std::move(parser.out);
  });
  return joined(std::move(parsed));
}

// label<TAB>attribute[:value]<TAB>…, with \: for a colon and \\ for a backslash, as CRFsuite
// writes.
inline Attributes parse_attributes(std::string_view text, std::string_view name) {
  check_text(text, name, 1);
  Attributes out;
  out.text.reserve(text.size());
  out.positions.push_back(0);
  out.sentences.push_back(0);
  const auto end_sentence = [&] {
    if (out.sentences.back() != int64_t(out.lines.size()))
      out.sentences.push_back(out.lines.size());
  };
  for_each_line(text, 1, [&](size_t number, const char* p, const char* end) {
    if (std::string_view(p, end - p).find_first_not_of(" \t") == std::string_view::npos)
      return end_sentence();
    const char* stop = std::find(p, end, '\t');
    const auto append = [&](const char* from, const char* to) {
      const auto begin = uint32_t(out.text.size());
      out.text.append(from, to);
      return Span{begin, uint32_t(out.text.size())};
    };
    if (p == stop) throw InputError(name, number, "the label is empty; write label<TAB>attribute…");
    out.labels.push_back(append(p, stop));
    while (stop < end) {
      p = stop + 1;
      stop = std::find(p, end, '\t');
      if (p == stop) {
        if (stop == end) break;  // a tab at the end of the line
        throw InputError(name, number, "an attribute is empty; write label<TAB>attribute…");
      }
      const auto begin = uint32_t(out.text.size());
      const char* colon = nullptr;
      for (; p < stop && !colon; ++p) {
        if (*p == '\\' && p + 1 < stop && (p[1] == ':' || p[1] == '\\'))
          out.text.push_back(*++p);
        else if (*p == ':')
          colon = p;
        else
          out.text.push_back(*p);
      }
      float value = 1.0f;
      if (colon) {
        double parsed = 0;
        const char* from = colon + 1 < stop && colon[1] == '+' ? colon + 2 : colon + 1;
        const auto [rest, error] = std::from_chars(from, stop, parsed);
        value = float(parsed);
        if (error != std::errc() || rest != stop || !std::isfinite(value))
          throw InputError(name, number,
                           "value '" + std::string(colon + 1, stop) +
                               "' after ':'; allowed: a finite number, or \\: for a "
                               "colon in an attribute");
      }
      if (out.text.size() == begin)
        throw InputError(name, number, "an attribute is empty; write label<TAB>attribute…");
      out.cells.push_back({begin, uint32_t(out.text.size())});
      out.values.push_back(value);
    }
    out.positions.push_back(out.cells.size());
    out.lines.push_back(uint32_t(number));
  });
  end_sentence();
  return out;
}

}  // namespace adaptag
