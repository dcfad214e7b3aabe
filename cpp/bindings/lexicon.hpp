// Words beside those of training, as Python holds them, and code points of Python strings.
#pragma once

#include <atomic>
#include <memory>

#include "../characters.hpp"
#include "../extra_words.hpp"
#include "python_data.hpp"

namespace adaptag {

// The folding of this name; throws where there is none.
Folding parse_folding(const std::string& name);

// Appends the code points of a string, lone surrogates included.
void append_codes(nb::handle text, std::vector<uint32_t>& out);

// Words beside those of training, by their folded form. Threads that cut work without the GIL on a
// snapshot, which never changes: words are added to a copy where a snapshot is in use.
class PyLexicon {
 public:
  explicit PyLexicon(const std::string& fold) : folding_(parse_folding(fold)) {}

  void add(nb::handle words, In<float> weights) {
    size_t k = 0;
    for (nb::handle word : words) {
      if (k >= weights.size()) throw std::invalid_argument("one weight is needed for each word");
      fold_word(word);
      own_words().insert(symbols_, weights.data()[k++]);
    }
  }
  size_t remove(nb::handle words) {
    size_t n = 0;
    for (nb::handle word : words) {
      fold_word(word);
      n += own_words().erase(symbols_);
    }
    return n;
  }
  bool contains(nb::handle word) {
    fold_word(word);
    return words_->lexicon.find(symbols_) != Lexicon::none;
  }
  // Adds words of a model, whose symbols are folded already.
  void add_symbols(In<uint32_t> symbols, In<uint32_t> offsets) {
    for (size_t v = 0; v + 1 < offsets.size(); ++v) {
      const uint32_t begin = offsets.data()[v], end = offsets.data()[v + 1];
      if (begin > end || end > symbols.size())
        throw std::invalid_argument("a word lies outside the symbols");
      if (begin < end) own_words().insert({symbols.data() + begin, end - begin}, 0.0f);
    }
  }
  // The first characters of words that the lexicon does not have, white space left out, in the
  // concatenated texts; starts [T] marks where words begin.
  auto unknown(nb::handle texts, In<uint8_t> starts) const {
    std::vector<uint32_t> codes;
    std::vector<size_t> ends;
    for (nb::handle text : texts) {
      append_codes(text, codes);
      ends.push_back(codes.size());
    }
    if (codes.size() != starts.size())
      throw std::invalid_argument("starts: one is needed for each character");
    std::vector<int64_t> begins;
    const std::shared_ptr<const ExtraWords> words = snapshot();
    {
      nb::gil_scoped_release release;
      std::vector<uint32_t> symbols(codes.size());
      for (size_t t = 0; t < codes.size(); ++t) symbols[t] = fold(codes[t], folding_);
      size_t t = 0;
      for (const size_t text_end : ends)
        while (t < text_end) {
          size_t end = t + 1;
          while (end < text_end && !starts.data()[end]) ++end;
          if (!is_space(codes[t]) &&
              words->lexicon.find({symbols.data() + t, end - t}) == Lexicon::none)
            begins.push_back(int64_t(t));
          t = end;
        }
    }
    return numpy(std::move(begins));
  }
  size_t size() const { return words_->size; }
  std::shared_ptr<const ExtraWords> snapshot() const { return words_; }

 private:
  // The words to change, with the GIL held, so that nobody takes a snapshot meanwhile.
  ExtraWords& own_words() {
    if (words_.use_count() > 1) words_ = std::make_shared<ExtraWords>(*words_);
    std::atomic_thread_fence(std::memory_order_acquire);  // after all that gave theirs back
    return *words_;
  }

  void fold_word(nb::handle word) {
    symbols_.clear();
    append_codes(word, symbols_);
    for (uint32_t& c : symbols_) c = fold(c, folding_);
  }

  Folding folding_;
  std::shared_ptr<ExtraWords> words_ = std::make_shared<ExtraWords>();
  std::vector<uint32_t> symbols_;
};

}  // namespace adaptag
