// The negative log-likelihood of a dataset and its gradient, for batch training.
//
//   L(w) = Σ_i −log P(y_i | x_i, w),   ∂L/∂w = Σ_i E_P[f(x_i, y)] − f(x_i, y_i)
//
// Sentences are taken in blocks, so small that what inference gives for them stays in the cache:
//
//   block b:      sentences → lattices → E_P − gold of every token      all threads, by sentence
//   block b − 1:  rows of weights ← the sums of these over the tokens   all threads, by row
//                 where the row's predicate fires
//
// A list of the rows of each block, made once, says where they fire. So a row is read and written
// once in a block, there is one gradient for all threads, and the order of additions does not
// depend on the threads: nor does the result.
#pragma once

#include <atomic>

#include "objective.hpp"
#include "parallel.hpp"

namespace adaptag {

// Which predicates fire in a block of sentences, and at which of its tokens.
struct BlockRows {
  size_t first, last;            // sentences
  std::vector<uint32_t> ids;     // [R] predicates, ascending
  std::vector<uint32_t> ends;    // [R] into tokens
  std::vector<uint32_t> tokens;  // [F] of the block, ascending for each predicate
  std::vector<float> values;     // [F], or empty: all are 1
};

class BatchObjective {
 public:
  BatchObjective(const Layout& layout, const Dataset& data) : layout_(layout), data_(data) {
    // The floats that inference gives for a token: with rich edges each has a matrix of its own.
    const bool rich = layout.n_both + layout.n_edge > 8;
    const size_t floats = layout.width + (rich ? layout.edge_size() : 0);
    const int64_t size = std::max<size_t>(1, block_bytes / (floats * sizeof(float)));
    for (size_t first = 0; first < data.size();) {
      size_t last = first + 1;
      while (last < data.size() && data.sentences[last + 1] - data.sentences[first] <= size &&
             data.positions[data.sentences[last + 1]] - data.positions[data.sentences[first]] <=
                 block_firings)
        ++last;
      blocks_.push_back({first, last, {}, {}, {}, {}});
      first = last;
    }
    size_t n_sentences = 0, n_tokens = 0;  // of the largest blocks
    for (const BlockRows& block : blocks_) {
      n_sentences = std::max(n_sentences, block.last - block.first);
      n_tokens =
          std::max<size_t>(n_tokens, data.sentences[block.last] - data.sentences[block.first]);
    }
    for (BlockDeltas& one : deltas_) {
      one.sentences.resize(n_sentences);
      one.node.resize(n_tokens);
      one.edge.resize(n_tokens);
    }
  }

  // L(w), adding ∂L/∂w to gradient [n_weights] where there is one. Calls after_block() in this
  // thread after each block; it may throw.
  template <class F>
  Totals operator()(const float* weights, float* gradient, int threads, F&& after_block) {
    if (gradient) list_rows(threads);
    return with_width(layout_.width, [&]<int W>() {
      return evaluate<W>(weights, gradient, threads, after_block);
    });
  }

 private:
  static constexpr size_t block_bytes = size_t{1} << 20;
  static constexpr int64_t block_firings = 1 << 20;  // bounds the memory for sorting
  static constexpr size_t rows_at_once = 64;

  // What inference has given for a sentence: the gradient of log P(gold | x).
  struct Deltas {
    std::vector<float> node_p, edge_p;  // [T, W], [M, Y, W]
    Totals totals;
  };
  // The same of a block, and where that of each token is; edges are null but at the first of the
  // tokens that share a matrix.
  struct BlockDeltas {
    std::vector<Deltas> sentences;
    std::vector<const float*> node, edge;  // [T]
  };
  struct Counters {
    std::atomic<size_t> sentence{0}, row{0};  // the next to be taken
  };

  template <int W, class F>
  Totals evaluate(const float* weights, float* gradient, int threads, F& after_block) {
    Totals totals;
    std::vector<Counters> counters(blocks_.size());
    in_team(threads, [&](Team& team, int member) {
      const FlushToZero flush_to_zero;
      Lattice<W> lattice(layout_);
      for (size_t b = 0; b <= blocks_.size(); ++b) {
        if (b < blocks_.size()) infer(blocks_[b], weights, counters[b], lattice, deltas_[b % 2]);
        if (b > 0) {
          const BlockDeltas& before = deltas_[(b - 1) % 2];
          if (gradient) add_rows<W>(blocks_[b - 1], counters[b - 1], before, gradient);
          if (member == 0)
            for (size_t i = 0; i < blocks_[b - 1].last - blocks_[b - 1].first; ++i)
              totals += before.sentences[i].totals;
        }
        if (member == 0) after_block();
        team.wait(member);
      }
    });
    return totals;
  }

  template <int W>
  void infer(const BlockRows& block, const float* weights, Counters& counters, Lattice<W>& lattice,
             BlockDeltas& out) const {
    const size_t w = layout_.width;
    const auto take = [&] { return block.first + counters.sentence.fetch_add(1); };
    for (size_t i = take(), next; i < block.last; i = next) {
      next = take();
      if (next < block.last) prefetch(data_[next], weights);
      const Sentence s = data_[i];
      Deltas& deltas = out.sentences[i - block.first];
      deltas.totals = {};
      if (s.length == 0) continue;
      lattice.score(s, weights, unscaled);
      if (s.legal) lattice.constrain({nullptr, s.legal});
      deltas.totals = likelihood_gradient(lattice, s.labels).weighted(s.weight);
      if (s.weight != 1) {
        for (float& p : lattice.node_p) p *= s.weight;
        for (float& p : lattice.edge_p) p *= s.weight;
      }
      deltas.node_p.swap(lattice.node_p);
      deltas.edge_p.swap(lattice.edge_p);
      const size_t token = data_.sentences[i] - data_.sentences[block.first];
      for (int t = 0; t < s.length; ++t) {
        out.node[token + t] = deltas.node_p.data() + t * w;
        out.edge[token + t] = nullptr;
      }
      for (int m = 0; m < lattice.n_matrices(); ++m)
        out.edge[token + lattice.runs[m]] = deltas.edge_p.data() + m * layout_.edge_size();
    }
  }

  // Rows lie far apart in memory: while a sentence is worked on, those of the next come in.
  void prefetch(const Sentence& s, const float* weights) const {
    for (int64_t k = s.offsets[0]; k < s.offsets[s.length]; ++k) {
      const uint32_t id = s.predicates[k];
      const float* row = weights + layout_.row(id);
      const size_t size = layout_.row_size(id);
      for (size_t j = 0; j < size; j += 16) __builtin_prefetch(row + j, 0, 2);
    }
  }

  // Subtracts from rows of the gradient what the tokens give where their predicates fire.
  template <int W>
  void add_rows(const BlockRows& block, Counters& counters, const BlockDeltas& deltas,
                float* gradient) const {
    const size_t n = block.ids.size(), w = layout_.width;
    for (size_t begin; (begin = counters.row.fetch_add(rows_at_once)) < n;) {
      const size_t end = std::min(begin + rows_at_once, n);
      for (size_t r = begin; r < end; ++r) {
        prefetch_row(gradient, block.ids[std::min(r + 2, n - 1)]);
        const uint32_t id = block.ids[r];
        const size_t from = r > 0 ? block.ends[r - 1] : 0, to = block.ends[r];
        const uint32_t* tokens = block.tokens.data();
        const float* values = block.values.empty() ? nullptr : block.values.data();
        float* out = gradient + layout_.row(id);
        if (id < layout_.node_end()) {
          if constexpr (W > 0)
            subtract<W>(out, 0, deltas.node.data(), tokens, values, from, to);
          else
            subtract_all(out, w, deltas.node.data(), tokens, values, from, to);
          out += w;
        }
        if (id >= layout_.edge_begin())
          subtract_all(out, layout_.edge_size(), deltas.edge.data(), tokens, values, from, to);
      }
    }
  }

  void prefetch_row(const float* gradient, uint32_t id) const {
    const float* row = gradient + layout_.row(id);
    const size_t size = layout_.row_size(id);
    for (size_t j = 0; j < size; j += 16) __builtin_prefetch(row + j, 1, 3);
  }

  // out[j …] −= Σ_k value[k] · delta[token[k]][j …], n floats kept in registers
  template <int n>
  static void subtract(float* out, size_t j, const float* const* deltas, const uint32_t* tokens,
                       const float* values, size_t from, size_t to) {
    constexpr int lanes = n % 16 == 0 ? 16 : n % 8 == 0 ? 8 : 4;
    using V = typename VecOf<lanes>::f32;
    V sums[n / lanes] = {};
    for (size_t k = from; k < to; ++k) {
      const float* delta = deltas[tokens[k]];
      if (!delta) continue;
      const float value = values ? values[k] : 1.0f;
      for (int b = 0; b < n / lanes; ++b) {
        V v;
        std::memcpy(&v, delta + j + b * lanes, sizeof v);
        sums[b] += v * value;
      }
    }
    for (int b = 0; b < n / lanes; ++b) {
      V v;
      std::memcpy(&v, out + j + b * lanes, sizeof v);
      v -= sums[b];
      std::memcpy(out + j + b * lanes, &v, sizeof v);
    }
  }
  static void subtract_all(float* out, size_t n, const float* const* deltas, const uint32_t* tokens,
                           const float* values, size_t from, size_t to) {
    size_t j = 0;
    for (; j + 64 <= n; j += 64) subtract<64>(out, j, deltas, tokens, values, from, to);
    for (; j + 16 <= n; j += 16) subtract<16>(out, j, deltas, tokens, values, from, to);
    for (; j < n; j += 4) subtract<4>(out, j, deltas, tokens, values, from, to);
  }

  // ---- the lists --------------------------------------------------------------------------

  struct Firing {
    uint32_t id, token;
    float value;
  };

  // Lists the rows of all blocks, the first time it is called.
  void list_rows(int threads) {
    if (listed_) return;
    std::atomic<size_t> next{0};
    in_parallel(threads, [&](int) {
      std::vector<Firing> firings, sorted;
      for (size_t b; (b = next.fetch_add(1)) < blocks_.size();)
        list_rows_of(blocks_[b], firings, sorted);
    });
    listed_ = true;
  }

  void list_rows_of(BlockRows& block, std::vector<Firing>& firings,
                    std::vector<Firing>& sorted) const {
    firings.clear();
    const int64_t begin = data_.sentences[block.first], end = data_.sentences[block.last];
    for (int64_t t = begin; t < end; ++t) {
      const uint32_t token = uint32_t(t - begin);
      if (data_.always != no_predicate) firings.push_back({data_.always, token, 1.0f});
      for (int64_t k = data_.positions[t]; k < data_.positions[t + 1]; ++k)
        firings.push_back(
            {data_.predicates[k], token, data_.values.empty() ? 1.0f : data_.values[k]});
    }
    sort_by_id(firings, sorted);
    block.tokens.reserve(firings.size());
    if (!data_.values.empty()) block.values.reserve(firings.size());
    for (size_t k = 0; k < firings.size(); ++k) {
      block.tokens.push_back(firings[k].token);
      if (!data_.values.empty()) block.values.push_back(firings[k].value);
      if (k + 1 == firings.size() || firings[k + 1].id != firings[k].id) {
        block.ids.push_back(firings[k].id);
        block.ends.push_back(uint32_t(k + 1));
      }
    }
    block.ids.shrink_to_fit();
    block.ends.shrink_to_fit();
  }

  // Stable: tokens stay in order. By digits of 11 bits, the last first.
  void sort_by_id(std::vector<Firing>& firings, std::vector<Firing>& sorted) const {
    constexpr int bits = 11;
    sorted.resize(firings.size());
    for (int shift = 0; shift < 32 && layout_.n_predicates() >> shift > 0; shift += bits) {
      size_t begins[(1 << bits) + 1] = {};
      const auto digit = [&](const Firing& f) { return f.id >> shift & ((1 << bits) - 1); };
      for (const Firing& f : firings) ++begins[digit(f) + 1];
      for (int d = 0; d < 1 << bits; ++d) begins[d + 1] += begins[d];
      for (const Firing& f : firings) sorted[begins[digit(f)]++] = f;
      firings.swap(sorted);
    }
  }

  const Layout layout_;
  const Dataset data_;
  std::vector<BlockRows> blocks_;
  BlockDeltas deltas_[2];  // of the block whose sentences are inferred, and of the one before it
  bool listed_ = false;
};

}  // namespace adaptag
