// UTF-8 text → code points, and back with separators between the words.
#pragma once

#include <string>
#include <vector>

#include "characters.hpp"
#include "text.hpp"

namespace adaptag {

// The code points of a text; throws where it is not UTF-8.
inline void decode_text(std::string_view text, std::vector<uint32_t>& codes) {
  codes.resize(text.size());
  uint32_t* out = codes.data();
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  for (const auto* const end = p + text.size(); p < end;) {
    const int length = utf8_length(p, end);
    switch (length) {
      case 1:
        *out++ = p[0];
        break;
      case 2:
        *out++ = (p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu);
        break;
      case 3:
        *out++ = (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
        break;
      case 4:
        *out++ = (p[0] & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
        break;
      default:
        throw InputError("invalid UTF-8");
    }
    p += length;
  }
  codes.resize(size_t(out - codes.data()));
}

// Line by line: the words with separators between them, then the \r and \n that the line ends with.
// codes [T] are those of the text, starts [T] marks where words and white space begin.
inline void write_spaced(std::string_view text, std::string_view separator, bool continues,
                         const std::vector<uint32_t>& codes, const std::vector<uint8_t>& starts,
                         std::string& output) {
  const size_t T = codes.size();
  const size_t n_words = size_t(std::count(starts.begin(), starts.end(), 1));
  output.resize(text.size() + n_words * separator.size() + 4);
  char* out = output.data();
  const char* p = text.data();
  const char* const text_end = text.data() + text.size();
  bool first = !continues;  // whether no word of the line has been written
  for (size_t t = 0; t < T;) {
    if (!is_space(codes[t])) {
      if (!first) out = std::copy(separator.begin(), separator.end(), out);
      first = false;
      do {
        const auto c = static_cast<unsigned char>(*p);
        const int length = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
        if (text_end - p >= 4)
          std::memcpy(out, p, 4);  // what is too much is overwritten
        else
          std::memcpy(out, p, size_t(length));
        out += length;
        p += length;
      } while (++t < T && !starts[t]);
      continue;
    }
    size_t returns = 0;  // carriage returns directly before this character
    do {
      if (codes[t] == '\n') {
        out = std::fill_n(out, returns, '\r');
        *out++ = '\n';
        first = true;
      }
      returns = codes[t] == '\r' ? returns + 1 : 0;
      p += codes[t] < 0x80 ? 1 : codes[t] < 0x800 ? 2 : 3;
    } while (++t < T && !starts[t]);
    if (t == T) out = std::fill_n(out, returns, '\r');
  }
  output.resize(size_t(out - output.data()));
}

}  // namespace adaptag
