// Texts: checked to be UTF-8, cut into lines; CRFsuite's attribute files.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "errors.hpp"
#include "numbers.hpp"

namespace adaptag {

struct Span {
  uint32_t begin, end;
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

// Throws at the first NUL byte or invalid UTF-8 of `part`, which lies in the text. Calls
// checked(begin, end) for one block after the other, while it is in the cache.
template <class F>
void check_part(std::string_view part, std::string_view text, std::string_view name,
                size_t first_line, F&& checked) {
  constexpr ptrdiff_t block = 1 << 12;
  const auto* begin = reinterpret_cast<const unsigned char*>(text.data());
  const auto* p = reinterpret_cast<const unsigned char*>(part.data());
  const auto* const end = p + part.size();
  const auto fail = [&](const char* what) {
    const size_t line = first_line + std::count(begin, p, '\n');
    const auto* start = p;
    while (start > begin && start[-1] != '\n') --start;
    throw InputError(name, line,
                     std::string(what) + " at byte " + std::to_string(p - start + 1) +
                         " of the line; allowed: UTF-8 text");
  };
  while (p < end) {
    const auto *from = p, *block_end = p + std::min(block, end - p);
    uint8_t special = 0;  // no branches: many bytes at a time
    for (const auto* q = p; q < block_end; ++q) special |= (*q & 0x80) | (*q == 0);
    if (!special) p = block_end;
    while (p < block_end) {
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
    checked(reinterpret_cast<const char*>(from), reinterpret_cast<const char*>(p));
  }
}

// Throws at the first NUL byte or invalid UTF-8.
inline void check_text(std::string_view text, std::string_view name, size_t first_line) {
  check_size(text, name, first_line);
  check_part(text, text, name, first_line, [](const char*, const char*) {});
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
        const bool valid = parse_number({from, stop}, parsed);
        value = float(parsed);
        if (!valid || !std::isfinite(value))
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
