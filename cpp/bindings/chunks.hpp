// Python sentences in chunks: one thread turns tokens into a text and labels into lists, with the
// GIL, and decodes when there is nothing else to do; the others only decode, without the GIL.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>

#include "../parallel.hpp"
#include "cells.hpp"

namespace adaptag {

// Some sentences on their way, in memory that is used again for later ones.
struct TokenChunk {
  PackedTokens tokens;
  std::vector<int32_t> labels;    // [T]
  std::exception_ptr error;       // of decoding
  std::atomic<size_t> n_done{0};  // 1 + the number of the chunk, once it is decoded
};

class ChunkedSentences {
 public:
  // The chunks do not depend on the number of threads, nor does the error that is raised where
  // there are several: that of the first chunk.
  ChunkedSentences(const nb::list& sentences, int n)
      : sentences_(nb::steal<nb::list>(PySequence_List(sentences.ptr()))),  // no one changes it
        per_chunk_(std::clamp<size_t>(sentences.size() / 64, 16, 256)),
        n_chunks_((sentences.size() + per_chunk_ - 1) / per_chunk_),
        ring_(n == 1 ? 1 : 4 * size_t(n)) {
    if (!sentences_.is_valid()) throw nb::python_error();
  }

  // Decodes chunks until there are no more. decode(chunk) fills in the labels.
  template <class Decode>
  void help(Decode&& decode) {
    for (;;) {
      const size_t state = packed_.load(std::memory_order_acquire);
      if (decode_next(decode)) continue;
      if (state & closed) return;
      packed_.wait(state, std::memory_order_acquire);
    }
  }

  // Packs all sentences and returns the list of what list_of(chunk, sentence) makes of each, while
  // others help. Called with the GIL.
  template <class Decode, class ListOf>
  nb::list lead(Decode&& decode, ListOf&& list_of) {
    const struct Closing {
      ChunkedSentences& self;
      ~Closing() { self.close(); }
    } closing{*this};
    nb::list out;
    size_t n_listed = 0, n_packed = 0;
    std::exception_ptr error;
    for (;;) {
      TokenChunk& chunk = chunk_of(n_listed);
      if (n_listed < n_packed && is_done(n_listed)) {
        if (chunk.error) std::rethrow_exception(chunk.error);
        for (size_t i = 0; i + 1 < chunk.tokens.sentences.size(); ++i)
          out.append(list_of(chunk, i));
        ++n_listed;
      } else if (!error && n_packed < n_chunks_ && n_packed - n_listed < ring_.size()) {
        try {
          pack(n_packed);
          packed_.store(++n_packed, std::memory_order_release);
          packed_.notify_all();
        } catch (...) {
          error = std::current_exception();
        }
      } else if (n_listed < n_packed) {
        nb::gil_scoped_release release;
        if (!decode_next(decode)) wait_for(n_listed);
      } else {
        if (error) std::rethrow_exception(error);
        return out;
      }
    }
  }

 private:
  static constexpr size_t closed = ~(~size_t{0} >> 1);  // no more will be packed

  TokenChunk& chunk_of(size_t number) { return ring_[number % ring_.size()]; }
  bool is_done(size_t number) {
    return chunk_of(number).n_done.load(std::memory_order_acquire) > number;
  }
  void wait_for(size_t number) {
    std::atomic<size_t>& n_done = chunk_of(number).n_done;
    for (size_t now = n_done.load(std::memory_order_acquire); now <= number;
         now = n_done.load(std::memory_order_acquire))
      n_done.wait(now, std::memory_order_acquire);
  }
  void close() {
    packed_.fetch_or(closed, std::memory_order_release);
    packed_.notify_all();
  }

  void pack(size_t number) {
    const size_t first = number * per_chunk_;
    PackedTokens& tokens = chunk_of(number).tokens;
    tokens.begin(first, n_columns_);
    for (size_t i = first; i < std::min(first + per_chunk_, sentences_.size()); ++i)
      tokens.add_sentence(PyList_GetItem(sentences_.ptr(), Py_ssize_t(i)));
    n_columns_ = tokens.n_columns;
  }

  // Decodes the next chunk that is packed; false where there is none.
  template <class Decode>
  bool decode_next(Decode&& decode) {
    size_t number = taken_.load(std::memory_order_relaxed);
    do {
      if (number >= (packed_.load(std::memory_order_acquire) & ~closed)) return false;
    } while (!taken_.compare_exchange_weak(number, number + 1, std::memory_order_relaxed));
    TokenChunk& chunk = chunk_of(number);
    try {
      chunk.labels.resize(size_t(chunk.tokens.sentences.back()));
      decode(chunk);
    } catch (...) {
      chunk.error = std::current_exception();
    }
    chunk.n_done.store(number + 1, std::memory_order_release);
    chunk.n_done.notify_all();
    return true;
  }

  nb::list sentences_;
  size_t per_chunk_, n_chunks_;
  size_t n_columns_ = 0;  // of the tokens that were packed
  std::vector<TokenChunk> ring_;
  std::atomic<size_t> packed_{0}, taken_{0};  // numbers of chunks
};

}  // namespace adaptag
