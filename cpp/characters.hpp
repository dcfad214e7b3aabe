// Characters as the segmenter sees them: code points, folded to symbols. Folding is one to one in
// positions, so words found among symbols are words of the text itself.
#pragma once

#include <cstdint>
#include <span>

namespace adaptag {

// width: full-width digits, Latin letters and punctuation are their half-width forms.
// types: as width, and any digit is 0, any Latin letter a.
enum class Folding { none, width, types };

inline uint32_t fold(uint32_t c, Folding folding) {
  if (folding == Folding::none) return c;
  if (c >= 0xFF01 && c <= 0xFF5E) c -= 0xFEE0;
  if (folding == Folding::width) return c;
  if (c >= '0' && c <= '9') return '0';
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return 'a';
  return c;
}

// White space as str.isspace() has it: no word contains any.
inline bool is_space(uint32_t c) {
  if (c < 0x1680)
    return c == ' ' || (c >= 9 && c <= 13) || (c >= 28 && c <= 31) || c == 0x85 || c == 0xA0;
  return c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

}  // namespace adaptag
