// The regular expressions of Wapiti's patterns, %t[row,column,"…"] and %m[row,column,"…"].
//
// An expression is a list of items, each a set of bytes that stands once, at most once (?) or any
// number of times (*), between two optional anchors:
//
//   .  any byte     \d \a \w \l \u \p \s  ASCII digits, letters, letters and digits, lower case,
//                   upper case, punctuation, space; in upper case all other bytes
//   \x  the byte x, as any other x        ^ $  first and last, the start and the end of the cell
//
// A cell is searched from left to right; an optional item is taken where what follows it can match,
// and * takes as few bytes as possible.
//
// What %m gives is what Wapiti gives, measured on its program, not what its manual promises: the
// number of bytes counts those of attempts that failed after a byte was taken by ? as well; a
// failed attempt to end a * is not counted. `.?b` finds "b" in "bc", with a length of 2. Bytes
// behind the end of the cell are not taken.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace adaptag {

class CellPattern {
 public:
  CellPattern() = default;
  explicit CellPattern(std::string_view text) {
    size_t k = 0;
    if (!text.empty() && text[0] == '^') {
      at_start_ = true;
      ++k;
    }
    while (k < text.size()) {
      if (text[k] == '$' && k + 1 == text.size()) {
        at_end_ = true;
        break;
      }
      Item item;
      if (text[k] == '\\' && k + 1 < text.size())
        item.bytes = escaped(text[++k]);
      else if (text[k] == '.')
        item.bytes.set();
      else
        item.bytes.set(uint8_t(text[k]));
      ++k;
      if (k < text.size() && (text[k] == '?' || text[k] == '*')) item.repeat = text[k++];
      items_.push_back(item);
    }
  }

  struct Match {
    bool found;
    size_t begin, length;
  };

  // The first match in a cell. A table says for each item i and place p whether the items from i on
  // match at p, and how many bytes are counted on the way: [I + 1, n + 1], from the last item.
  Match search(std::string_view cell) const {
    const size_t n = cell.size(), I = items_.size(), width = n + 1;
    std::vector<uint32_t> table((I + 1) * width);  // 2 · count + whether it matches
    for (size_t p = 0; p <= n; ++p) table[I * width + p] = !at_end_ || p == n;
    for (size_t i = I; i-- > 0;) {
      uint32_t* const here = table.data() + i * width;
      const uint32_t* const next = here + width;
      for (size_t p = width; p-- > 0;) {
        const bool fits = p < n && items_[i].bytes[uint8_t(cell[p])];
        if (items_[i].repeat == '*')
          here[p] = matches(next[p]) ? next[p] : fits ? taken(here[p + 1], n) : 0;
        else if (items_[i].repeat == '?')
          here[p] = !fits                  ? next[p]
                    : matches(next[p + 1]) ? taken(next[p + 1], n)
                                           : sum(taken(next[p + 1], n), next[p], n);
        else
          here[p] = fits ? taken(next[p + 1], n) : 0;
      }
    }
    for (size_t p = 0; p < (at_start_ ? 1 : width); ++p)
      if (matches(table[p])) return {true, p, std::min(size_t(table[p] >> 1), n - p)};
    return {false, 0, 0};
  }

 private:
  struct Item {
    std::bitset<256> bytes;
    char repeat = 0;  // 0, '?' or '*'
  };

  static bool matches(uint32_t entry) { return entry & 1; }
  // Counts beyond the length of the cell are all the same.
  static uint32_t limited(uint64_t count, bool found, size_t n) {
    return uint32_t(std::min<uint64_t>(count, n) << 1 | uint64_t(found));
  }
  static uint32_t taken(uint32_t entry, size_t n) {
    return limited((uint64_t(entry) >> 1) + 1, matches(entry), n);
  }
  static uint32_t sum(uint32_t failed, uint32_t entry, size_t n) {
    return limited((uint64_t(failed) >> 1) + (entry >> 1), matches(entry), n);
  }

  static std::bitset<256> escaped(char name) {
    const auto between = [](int c, char first, char last) { return c >= first && c <= last; };
    const char kind = name >= 'A' && name <= 'Z' ? char(name + 32) : name;
    std::bitset<256> bytes;
    for (int c = 0; c < 128; ++c) {
      const bool digit = between(c, '0', '9'), lower = between(c, 'a', 'z'),
                 upper = between(c, 'A', 'Z'), visible = between(c, '!', '~');
      switch (kind) {
        case 'd':
          bytes[c] = digit;
          break;
        case 'a':
          bytes[c] = lower || upper;
          break;
        case 'w':
          bytes[c] = lower || upper || digit;
          break;
        case 'l':
          bytes[c] = lower;
          break;
        case 'u':
          bytes[c] = upper;
          break;
        case 'p':
          bytes[c] = visible && !lower && !upper && !digit;
          break;
        case 's':
          bytes[c] = c == ' ' || between(c, '\t', '\r');
          break;
        default:
          bytes.reset();
          return bytes.set(uint8_t(name));
      }
    }
    return name == kind ? bytes : ~bytes;
  }

  bool at_start_ = false, at_end_ = false;
  std::vector<Item> items_;
};

}  // namespace adaptag
