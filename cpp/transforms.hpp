// What a template can ask of a token besides the token itself: %lower, %shape, %prefixN, %suffixN,
// and Wapiti's %X, %t and %m.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "cell_pattern.hpp"
#include "unicode_tables.hpp"

namespace adaptag {

enum class Transform {
  identity,
  lower,
  shape,
  prefix,
  suffix,
  ascii_lower,
  test,
  match,
  match_lower
};

// What a macro takes besides row and column: a number after its name, or a regular expression.
enum class MacroArgument { none, length, pattern };

// THE table of macros: what Python accepts in templates, and what the core computes.
struct TransformName {
  std::string_view name;  // in a template, after %
  Transform transform;
  MacroArgument argument;
};
constexpr TransformName transform_names[] = {{"x", Transform::identity, MacroArgument::none},
                                             {"lower", Transform::lower, MacroArgument::none},
                                             {"shape", Transform::shape, MacroArgument::none},
                                             {"prefix", Transform::prefix, MacroArgument::length},
                                             {"suffix", Transform::suffix, MacroArgument::length},
                                             {"X", Transform::ascii_lower, MacroArgument::none},
                                             {"t", Transform::test, MacroArgument::pattern},
                                             {"T", Transform::test, MacroArgument::pattern},
                                             {"m", Transform::match, MacroArgument::pattern},
                                             {"M", Transform::match_lower, MacroArgument::pattern}};

// Decodes the (valid) UTF-8 character at p and moves p behind it.
inline char32_t next_code(const char*& p) {
  const auto byte = [&] { return static_cast<unsigned char>(*p++); };
  const unsigned char first = byte();
  if (first < 0x80) return first;
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  char32_t code = first & (0x3F >> more);
  for (int k = 0; k < more; ++k) code = code << 6 | (byte() & 0x3F);
  return code;
}

inline void append_code(std::string& out, char32_t code) {
  if (code < 0x80) {
    out.push_back(char(code));
  } else if (code < 0x800) {
    out.push_back(char(0xC0 | code >> 6));
    out.push_back(char(0x80 | (code & 0x3F)));
  } else if (code < 0x10000) {
    out.push_back(char(0xE0 | code >> 12));
    out.push_back(char(0x80 | (code >> 6 & 0x3F)));
    out.push_back(char(0x80 | (code & 0x3F)));
  } else {
    out.push_back(char(0xF0 | code >> 18));
    out.push_back(char(0x80 | (code >> 12 & 0x3F)));
    out.push_back(char(0x80 | (code >> 6 & 0x3F)));
    out.push_back(char(0x80 | (code & 0x3F)));
  }
}

// The lower-case letter of a character, or the character itself.
inline char32_t lower_of(char32_t code) {
  if (code < 128) return code >= 'A' && code <= 'Z' ? code + 32 : code;
  const LowerRange* range =
      std::lower_bound(std::begin(lower_ranges), std::end(lower_ranges), code,
                       [](const LowerRange& r, char32_t c) { return r.last < c; });
  if (range == std::end(lower_ranges) || code < range->first) return code;
  return (code - range->first) % range->stride ? code : code + range->offset;
}

// What stands for a character in a word shape: X upper case, x lower case, d digit, o other
// letters.
inline char32_t shape_of(char32_t code) {
  if (code >= 'a' && code <= 'z') return 'x';
  const ShapeRange* next =
      std::upper_bound(std::begin(shape_ranges), std::end(shape_ranges), code,
                       [](char32_t c, const ShapeRange& r) { return c < r.first; });
  const ShapeRange& range = next[-1];  // the first one begins with 0
  if (range.shape == '-') return code;
  if (range.shape == 'A') return (code - range.first) % 2 ? 'x' : 'X';
  return char32_t(range.shape);
}

// What a macro does with a token.
struct Transformation {
  Transform transform;
  int length;           // of a prefix or suffix
  CellPattern pattern;  // of %t and %m
};

// ASCII letters in lower case, all other bytes as they are.
inline std::string_view ascii_lower(std::string_view token, std::string& out) {
  out.assign(token);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = char(c + 32);
  return out;
}

// The transformed token, in `out` (overwritten) or as a part of the token itself.
// Shapes: three or more characters alike become two.
inline std::string_view apply(const Transformation& macro, std::string_view token,
                              std::string& out) {
  const int length = macro.length;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  out.clear();
  const char *p = token.data(), *end = p + token.size();
  switch (macro.transform) {
    case Transform::identity:
      return token;
    case Transform::lower:
      while (p < end) append_code(out, lower_of(next_code(p)));
      return out;
    case Transform::shape: {
      char32_t last = ~char32_t{0}, before = last;
      while (p < end) {
        const char32_t now = shape_of(next_code(p));
        if (now == last && now == before) continue;
        append_code(out, now);
        before = last;
        last = now;
      }
      return out;
    }
    case Transform::prefix: {
      for (int k = 0; k < length && p < end; ++k) {
        ++p;
        while (p < end && continues(*p)) ++p;
      }
      return token.substr(0, p - token.data());
    }
    case Transform::suffix: {
      const char* q = end;
      for (int k = 0; k < length && q > p; ++k) {
        --q;
        while (q > p && continues(*q)) --q;
      }
      return token.substr(q - token.data());
    }
    case Transform::ascii_lower:
      return ascii_lower(token, out);
    case Transform::test:
      return macro.pattern.search(token).found ? "true" : "false";
    case Transform::match:
    case Transform::match_lower: {
      const CellPattern::Match match = macro.pattern.search(token);
      const std::string_view part = token.substr(match.begin, match.length);
      return macro.transform == Transform::match ? part : ascii_lower(part, out);
    }
  }
  return token;
}

}  // namespace adaptag
