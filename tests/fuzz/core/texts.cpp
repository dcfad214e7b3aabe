// Bytes of files: columns, attributes, UTF-8 text and the words in it.
#include <bit>
#include <map>

#include "columns.hpp"
#include "extra_words.hpp"
#include "input.hpp"
#include "lexicon.hpp"
#include "spaced_text.hpp"
#include "transforms.hpp"

namespace adaptag::fuzz {
namespace {

template <class Value>
bool rises(const std::vector<Value>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end();
}

ColumnOptions column_options(uint8_t flags) {
  ColumnOptions options;
  options.separator = std::string_view("\0\t \0", 4)[flags & 3];
  if (flags & 4) options.comment = "#";
  options.skip_docstart = flags & 8;
  if (flags & 16) {  // a part of a longer text
    options.separator = flags & 1 ? '\t' : ' ';
    options.first_line = 7;
    options.n_columns = 2;
    options.data_line = 3;
  }
  return options;
}

// Attributes as a file has them.
std::string written(const Attributes& a) {
  std::string out = "\xEF\xBB\xBF";
  const auto cell = [&](Span s, bool escaped) {
    for (uint32_t k = s.begin; k < s.end; ++k) {
      if (escaped && (a.text[k] == ':' || a.text[k] == '\\')) out += '\\';
      out += a.text[k];
    }
  };
  for (size_t i = 0; i + 1 < a.sentences.size(); ++i) {
    for (int64_t t = a.sentences[i]; t < a.sentences[i + 1]; ++t) {
      cell(a.labels[t], false);
      for (int64_t k = a.positions[t]; k < a.positions[t + 1]; ++k) {
        out += '\t';
        cell(a.cells[k], true);
        char number[32];
        std::snprintf(number, sizeof number, ":%.9g", a.values[k]);
        out += number;
      }
      out += "\r\n";
    }
    out += "\n";
  }
  return out;
}

size_t n_codes(std::string_view text) {
  return size_t(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

void check_transforms(std::string_view token) {
  std::string out;
  std::vector<uint32_t> codes;
  for (const Transform transform : {Transform::lower, Transform::shape}) {
    decode_text(apply({transform, 0, {}}, token, out), codes);  // UTF-8 again
    HOLDS(transform == Transform::shape ? codes.size() <= n_codes(token)
                                        : codes.size() == n_codes(token));
  }
  for (const int length : {0, 1, 3}) {
    const size_t n = std::min<size_t>(length, n_codes(token));
    HOLDS(token.starts_with(apply({Transform::prefix, length, {}}, token, out)));
    HOLDS(n_codes(apply({Transform::prefix, length, {}}, token, out)) == n);
    HOLDS(token.ends_with(apply({Transform::suffix, length, {}}, token, out)));
    HOLDS(n_codes(apply({Transform::suffix, length, {}}, token, out)) == n);
  }
}

}  // namespace

// The result does not depend on the number of threads, and its cells lie in the text.
void columns(Input in) {
  const uint8_t flags = in.byte();
  const ColumnOptions options = column_options(flags);
  const std::string_view text = in.rest();
  try {
    const Columns found = parse_columns(text, "fuzz", options, 1);
    HOLDS(found.cells.size() == found.lines.size() * found.n_columns);
    HOLDS(size_t(found.sentences.back()) == found.lines.size() && found.sentences[0] == 0);
    HOLDS(rises(std::vector(found.sentences.begin(), found.sentences.end())));
    HOLDS(rises(std::vector(found.lines.begin(), found.lines.end())));
    for (const Span cell : found.cells) {
      HOLDS(cell.begin < cell.end && cell.end <= text.size());
      HOLDS(text.substr(cell.begin, cell.end - cell.begin).find('\n') == text.npos);
    }
    if ((flags & 0xE0) != 0) return;  // threads take time: for some inputs
    const Columns again = parse_columns(text, "fuzz", options, 3);
    HOLDS(again.sentences == found.sentences && again.lines == found.lines);
    HOLDS(again.cells.size() == found.cells.size());
    HOLDS(found.cells.empty() || std::memcmp(again.cells.data(), found.cells.data(),
                                             found.cells.size() * sizeof(Span)) == 0);
  } catch (const InputError&) {
  }
}

// What is read, written and read again is the same.
void attributes(Input in) {
  try {
    const Attributes a = parse_attributes(in.rest(), "fuzz");
    HOLDS(a.values.size() == a.cells.size() && a.labels.size() == a.lines.size());
    HOLDS(a.positions.size() == a.lines.size() + 1 && size_t(a.positions.back()) == a.cells.size());
    HOLDS(rises(a.sentences) && size_t(a.sentences.back()) == a.lines.size());
    const std::string text = written(a);
    const Attributes b = parse_attributes(text, "again");
    HOLDS(a.text == b.text && a.values == b.values && a.positions == b.positions);
    HOLDS(a.sentences == b.sentences && a.labels.size() == b.labels.size());
  } catch (const InputError&) {
  }
}

// Code points, and a text with separators between words that change nothing else.
void text(Input in) {
  const uint8_t flags = in.byte();
  const uint64_t seed = in.number<uint32_t>();
  const std::string_view text = in.rest();
  std::vector<uint32_t> codes;
  bool is_text = true;
  try {
    check_text(text, "fuzz", 1);
  } catch (const InputError&) {
    is_text = false;
  }
  try {
    decode_text(text, codes);
  } catch (const InputError&) {
    HOLDS(!is_text);
    return;
  }
  HOLDS(is_text == (text.find('\0') == text.npos));
  std::string encoded;
  for (const uint32_t code : codes) append_code(encoded, code);
  HOLDS(encoded == text && codes.size() == n_codes(text));
  check_transforms(text);
  for (size_t k = 0; k < std::min<size_t>(text.size(), 16); ++k) hash(text.substr(k));
  checksum({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, seed);
  std::vector<uint8_t> starts(codes.size(), 1);
  for (size_t t = 1; t < codes.size(); ++t) {
    const bool space = is_space(codes[t]), before = is_space(codes[t - 1]);
    starts[t] = space != before || (!space && (mix(seed, t) & 3) == 0);
  }
  const std::string_view separator = flags & 1 ? " " : "";
  write_spaced(text, separator, flags & 2, codes, starts, encoded);
  std::vector<uint32_t> spaced;
  decode_text(encoded, spaced);
  HOLDS(std::count(spaced.begin(), spaced.end(), '\n') ==
        std::count(codes.begin(), codes.end(), '\n'));
  std::erase_if(codes, is_space);
  std::erase_if(spaced, is_space);
  HOLDS(spaced == codes);
}

// Words that are added and removed, beside a map.
void lexicon(Input in) {
  ExtraWords words;
  std::map<std::vector<uint32_t>, float> expected;
  while (in.left()) {
    const uint8_t action = in.byte();
    std::vector<uint32_t> word(1 + action % 8);
    for (uint32_t& symbol : word) symbol = in.byte() % 5 ? in.byte() % 4 : in.number<uint32_t>();
    switch (action >> 6) {
      case 0:
      case 1:
        words.insert(word, float(action));
        expected[word] = float(action);
        break;
      case 2:
        HOLDS(words.erase(word) == (expected.erase(word) > 0));
        break;
      default:
        HOLDS((words.lexicon.find(word) != Lexicon::none) == (expected.count(word) > 0));
    }
    HOLDS(words.size == expected.size());
  }
  for (const auto& [word, weight] : expected)
    HOLDS(words.weights[words.lexicon.find(word)] == weight);
}

}  // namespace adaptag::fuzz
