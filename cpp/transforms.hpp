// What a template can ask of a token besides the token itself: %lower, %shape, %prefixN, %suffixN.
#pragma once

#include <string>
#include <string_view>

#include "unicode_tables.hpp"

namespace adaptag {

enum class Transform { identity, lower, shape, prefix, suffix };

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

// The transformed token, in `out` (overwritten) or as a part of the token itself.
// Shapes: X upper case, x lower case, d digit, o other letters; three or more alike become two.
inline std::string_view apply(Transform transform, int length, std::string_view token,
                              std::string& out) {
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  out.clear();
  const char *p = token.data(), *end = p + token.size();
  switch (transform) {
    case Transform::identity:
      return token;
    case Transform::lower:
      while (p < end) {
        const char32_t code = next_code(p);
        append_code(out, code + lower_values[lower_block[code >> 8]][code & 255]);
      }
      return out;
    case Transform::shape: {
      char32_t last = ~char32_t{0}, before = last;
      while (p < end) {
        const char32_t code = next_code(p);
        const char32_t drawn = shape_values[shape_block[code >> 8]][code & 255];
        const char32_t now = drawn ? drawn : code;
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
