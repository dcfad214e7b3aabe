// Texts with cells, as the corpus reader makes them: the tokens of a column file, or those of
// Python data put into one text.
#pragma once

#include "../columns.hpp"
#include "python_data.hpp"

namespace adaptag {

// The begin and end of cells, as an array whose last dimension is 2.
template <class Spans>
auto numpy_cells(Spans&& cells, std::vector<size_t> shape) {
  auto* owned = new Spans(std::move(cells));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Spans*>(p); });
  shape.push_back(2);
  return nb::ndarray<nb::numpy, uint32_t>(reinterpret_cast<uint32_t*>(owned->data()), shape.size(),
                                          shape.data(), owner);
}

// Cells [T, C, 2] of a text. Each is checked to lie inside it when it is read: any thread does so,
// and none is read twice.
class CellView {
 public:
  CellView(const In<uint8_t>& text, const In<uint32_t, 3>& cells)
      : text_(as_text(text)), cells_(cells.data()), n_columns_(cells.shape(1)) {
    if (cells.shape(2) != 2) throw std::invalid_argument("cells: the last dimension must be 2");
  }
  std::string_view operator()(int64_t t, int column) const { return between(t, column, column); }

  // From the beginning of one cell of a token to the end of another.
  std::string_view between(int64_t t, int first, int last) const {
    const uint32_t* cells = cells_ + size_t(t) * n_columns_ * 2;
    const uint32_t begin = cells[2 * first], end = cells[2 * last + 1];
    if (begin > end || end > text_.size()) [[unlikely]]
      throw std::invalid_argument("cells: a span lies outside the text");
    return {text_.data() + begin, end - begin};
  }
  size_t n_columns() const { return n_columns_; }

 private:
  std::string_view text_;
  const uint32_t* cells_;
  size_t n_columns_;
};

// Sentences of Python tokens as one text with cells, all tokens of equal width.
struct PackedTokens {
  LargeVector<uint8_t> text;
  std::vector<Span> cells;
  std::vector<int64_t> sentences{0};
  size_t n_columns = 0;

  // Begins anew, in the same memory, behind n_earlier sentences whose tokens have `columns`
  // columns, or 0: not yet known.
  void begin(size_t n_earlier, size_t columns);
  void add_sentence(nb::handle sentence);
  void add_sentences(nb::handle sentences);

  std::string_view operator()(int64_t t, int column) const {
    const Span c = cells[size_t(t) * n_columns + column];
    return {reinterpret_cast<const char*>(text.data()) + c.begin, c.end - c.begin};
  }

 private:
  size_t append_token(nb::handle token);
  void append_cell(nb::handle cell);
  std::string place() const;  // of the token that is added, for messages

  int64_t n_tokens_ = 0;
  size_t n_earlier_ = 0;
};

}  // namespace adaptag
