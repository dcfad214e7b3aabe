// What a template can ask of a token besides the token itself: %lower, %shape, %prefixN, %suffixN.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "unicode_tables.hpp"

namespace adaptag {

enum class Transform { identity, lower, shape, prefix, suffix };

// THE table of macros: what Python accepts in templates, and what the core computes.
struct TransformName {
  std::string_view name;  // in a template, after %
  Transform transform;
  bool takes_length;  // whether a number follows the name
};
constexpr TransformName transform_names[] = {{"x", Transform::identity, false},
                                             {"lower", Transform::lower, false},
                                             {"shape", Transform::shape, false},
                                             {"prefix", Transform::prefix, true},
                                             {"suffix", Transform::suffix, true}};

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

// The transformed token, in `out` (overwritten) or as a part of the token itself.
// Shapes: three or more characters alike become two.
inline std::string_view apply(Transform transform, int length, std::string_view token,
                              std::string& out) {
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  out.clear();
  const char *p = token.data(), *end = p + token.size();
  switch (transform) {
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
  }
  return token;
}

}  // namespace adaptag
