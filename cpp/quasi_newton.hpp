// The vector work of L-BFGS and OWL-QN, on all cores.
//
// The memory [2m, n] holds m steps s and, m rows below each, the change y of the gradient that
// belongs to it. Padding lanes of rows of weights are left out of it: n = rows · Y, where a weight
// vector has rows · W floats.
//
// All loops go over the weights in parts that do not depend on the number of threads. Sums within a
// chunk are float32, over chunks float64, and those of parts are added in order: so the result does
// not depend on the number of threads either.
#pragma once

#include <atomic>
#include <cmath>

#include "layout.hpp"
#include "parallel.hpp"

namespace adaptag {

// A view of the memory, and of the row that the next step goes to.
struct PairMemory {
  float* data;      // [2m, n]
  size_t capacity;  // m
  size_t n;
  size_t next;  // the row of the next step s; its y is in row m + next
  size_t used;  // of the m steps: the rows of others are 0

  float* row(size_t k) const { return data + k * n; }
  float* step() const { return row(next); }
  float* change() const { return row(capacity + next); }
};

class VectorWork {
 public:
  VectorWork(const Layout& layout, int threads)
      : Y(layout.n_labels), W(layout.width), rows_(layout.n_weights() / W), threads_(threads) {}

  size_t n_packed() const { return rows_ * Y; }

  // s = x_new − x and y = g − what `aim` has kept of the last gradient. Returns the dot products of
  // y and of the pseudo-gradient at x_new with all rows of the memory, then the pseudo-gradient's
  // with itself: [2m + 1, 2].
  std::vector<double> add_pair(const float* x, const float* x_new, const float* g, float l1,
                               const PairMemory& memory) const {
    const size_t m2 = 2 * memory.capacity;
    return sum(2 * m2 + 2, [&](Chunk& chunk, double* sums) {
      float *weights = chunk.a(), *gradient = chunk.b(), *slope = chunk.c();
      float *s = memory.step() + chunk.begin, *y = memory.change() + chunk.begin;
      pack(weights, x_new, chunk);
      pack(slope, x, chunk);
      for (size_t i = 0; i < chunk.n; ++i) s[i] = weights[i] - slope[i];
      pack(gradient, g, chunk);
      for (size_t i = 0; i < chunk.n; ++i) y[i] = gradient[i] - y[i];
      pseudo_gradient(slope, weights, gradient, l1, chunk.n);
      for (size_t k = 0; k < m2; ++k) {
        if (k % memory.capacity >= memory.used) continue;
        add_dots(sums + 2 * k, memory.row(k) + chunk.begin, y, slope, chunk.n);
      }
      sums[2 * m2] += dot(y, slope, chunk.n);
      sums[2 * m2 + 1] += dot(slope, slope, chunk.n);
    });
  }

  // The direction d = Σ_k c_k · row k + c_2m · pseudo-gradient at x, without what goes up where
  // there is an L1 penalty. It takes the place of the next step, the gradient that of its y.
  // Returns the slope along d.
  double aim(const float* x, const float* g, float l1, std::span<const double> c,
             const PairMemory& memory) const {
    return sum(1, [&](Chunk& chunk, double* sums) {
      float *d = chunk.a(), *gradient = chunk.b(), *slope = chunk.c();
      pack(gradient, g, chunk);
      pack(d, x, chunk);
      pseudo_gradient(slope, d, gradient, l1, chunk.n);
      combine(d, slope, c, memory, chunk);
      if (l1 > 0)
        for (size_t i = 0; i < chunk.n; ++i) d[i] = d[i] * slope[i] < 0 ? d[i] : 0.0f;
      std::copy_n(d, chunk.n, memory.step() + chunk.begin);
      std::copy_n(gradient, chunk.n, memory.change() + chunk.begin);
      sums[0] += dot(d, slope, chunk.n);
    })[0];
  }

  // x_new = x + length · direction, 0 where that would change a sign and there is an L1 penalty;
  // g = decay · x_new. Returns Σ x_new² and Σ |x_new|.
  std::vector<double> walk(const float* x, float length, float l1, float decay, float* x_new,
                           float* g, const PairMemory& memory) const {
    return sum(2, [&](Chunk& chunk, double* sums) {
      float *old = chunk.a(), *now = chunk.b(), *scaled = chunk.c();
      const float* d = memory.step() + chunk.begin;
      pack(old, x, chunk);
      for (size_t i = 0; i < chunk.n; ++i) now[i] = old[i] + length * d[i];
      if (l1 > 0)
        for (size_t i = 0; i < chunk.n; ++i) now[i] = now[i] * old[i] < 0 ? 0.0f : now[i];
      for (size_t i = 0; i < chunk.n; ++i) scaled[i] = decay * now[i];
      unpack(x_new, now, chunk);
      unpack(g, scaled, chunk);
      sums[0] += dot(now, now, chunk.n);
      for (size_t i = 0; i < chunk.n; ++i) old[i] = std::abs(now[i]);
      sums[1] += total(old, chunk.n);
    });
  }

  // The slope of a gradient along the direction.
  double slope(const float* g, const PairMemory& memory) const {
    return sum(1, [&](Chunk& chunk, double* sums) {
      pack(chunk.a(), g, chunk);
      sums[0] += dot(chunk.a(), memory.step() + chunk.begin, chunk.n);
    })[0];
  }

 private:
  static constexpr size_t chunk_floats = 2048, parts = 64;
  static constexpr int lanes = 16;
  typedef float V __attribute__((vector_size(lanes * sizeof(float))));

  // Some rows of weights, and three buffers for what is packed from them.
  struct Chunk {
    size_t first, rows;  // rows of weights
    size_t begin, n;     // the same in packed vectors
    std::vector<float> buffer;
    size_t size;

    float* a() { return buffer.data(); }
    float* b() { return buffer.data() + size; }
    float* c() { return buffer.data() + 2 * size; }
  };

  template <class F>
  std::vector<double> sum(size_t n_sums, F&& f) const {
    std::vector<double> sums(parts * n_sums);
    const size_t step = std::max<size_t>(1, chunk_floats / W);
    std::atomic<size_t> next{0};
    in_parallel(threads_, [&](int) {
      const FlushToZero flush_to_zero;
      const size_t size = step * Y + W;
      Chunk chunk{0, 0, 0, 0, std::vector<float>(3 * size), size};
      for (size_t part; (part = next.fetch_add(1)) < parts;) {
        const size_t end = rows_ * (part + 1) / parts;
        for (size_t first = rows_ * part / parts; first < end; first += step) {
          chunk.first = first;
          chunk.rows = std::min(step, end - first);
          chunk.begin = first * Y;
          chunk.n = chunk.rows * Y;
          f(chunk, sums.data() + part * n_sums);
        }
      }
    });
    for (size_t part = 1; part < parts; ++part)
      for (size_t k = 0; k < n_sums; ++k) sums[k] += sums[part * n_sums + k];
    sums.resize(n_sums);
    return sums;
  }

  // The buffers are longer by a row, so that whole rows can be copied: the next one goes over what
  // is too much.
  void pack(float* out, const float* x, const Chunk& chunk) const {
    x += chunk.first * W;
    for (size_t r = 0; r < chunk.rows; ++r, x += W, out += Y)
      for (size_t j = 0; j < W; j += 4) std::memcpy(out + j, x + j, 4 * sizeof(float));
  }
  void unpack(float* x, const float* in, const Chunk& chunk) const {
    x += chunk.first * W;
    for (size_t r = 0; r < chunk.rows; ++r, x += W, in += Y)
      for (size_t j = 0; j < Y; ++j) x[j] = in[j];
  }

  // d = Σ_k c_k · row k + c_2m · slope, some floats of it at a time in registers
  static void combine(float* d, const float* slope, std::span<const double> c,
                      const PairMemory& memory, const Chunk& chunk) {
    const float own = float(c.back());
    constexpr size_t step = 4 * lanes;
    size_t i = 0;
    for (; i + step <= chunk.n; i += step) {
      V sums[4];
      for (int b = 0; b < 4; ++b) sums[b] = load(slope + i + b * lanes) * own;
      for (size_t k = 0; k + 1 < c.size(); ++k) {
        if (c[k] == 0) continue;
        const float *row = memory.row(k) + chunk.begin + i, factor = float(c[k]);
        for (int b = 0; b < 4; ++b) {
          prefetch(row + b * lanes);
          sums[b] += load(row + b * lanes) * factor;
        }
      }
      std::memcpy(d + i, sums, sizeof sums);
    }
    for (; i < chunk.n; ++i) {
      d[i] = own * slope[i];
      for (size_t k = 0; k + 1 < c.size(); ++k)
        if (c[k] != 0) d[i] += float(c[k]) * memory.row(k)[chunk.begin + i];
    }
  }

  // The steepest one-sided slope of loss + l1 · ‖x‖₁; 0 where both sides go up.
  static void pseudo_gradient(float* out, const float* x, const float* g, float l1, size_t n) {
    if (l1 == 0) {
      std::copy_n(g, n, out);
      return;
    }
    for (size_t i = 0; i < n; ++i) {
      const float sign = x[i] > 0 ? l1 : -l1;
      const float inside = std::min(std::max(g[i], -l1), l1);
      out[i] = x[i] == 0 ? g[i] - inside : g[i] + sign;
    }
  }

  // Fetches what the next chunk has at this place: chunks of many vectors are read in turns, which
  // the processor's own prefetching does not see through.
  static void prefetch(const float* x) { __builtin_prefetch(x + chunk_floats, 0, 2); }

  static V load(const float* x) {
    V v;
    std::memcpy(&v, x, sizeof v);
    return v;
  }
  static double add_up(V v) {
    float out = 0;
    for (int j = 0; j < lanes; ++j) out += v[j];
    return out;
  }
  // sums += a · b, a · c
  static void add_dots(double* sums, const float* a, const float* b, const float* c, size_t n) {
    V with_b[4] = {}, with_c[4] = {};
    size_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes)
      for (int k = 0; k < 4; ++k) {
        prefetch(a + i + k * lanes);
        const V v = load(a + i + k * lanes);
        with_b[k] += v * load(b + i + k * lanes);
        with_c[k] += v * load(c + i + k * lanes);
      }
    float rest_b = 0, rest_c = 0;
    for (; i < n; ++i) {
      rest_b += a[i] * b[i];
      rest_c += a[i] * c[i];
    }
    sums[0] += add_up(with_b[0] + with_b[1] + (with_b[2] + with_b[3])) + rest_b;
    sums[1] += add_up(with_c[0] + with_c[1] + (with_c[2] + with_c[3])) + rest_c;
  }
  static double dot(const float* a, const float* b, size_t n) {
    V sums[4] = {};
    size_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes)
      for (int k = 0; k < 4; ++k) sums[k] += load(a + i + k * lanes) * load(b + i + k * lanes);
    float rest = 0;
    for (; i < n; ++i) rest += a[i] * b[i];
    return add_up(sums[0] + sums[1] + (sums[2] + sums[3])) + rest;
  }
  static double total(const float* a, size_t n) {
    V sums[4] = {};
    size_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes)
      for (int k = 0; k < 4; ++k) sums[k] += load(a + i + k * lanes);
    float rest = 0;
    for (; i < n; ++i) rest += a[i];
    return add_up(sums[0] + sums[1] + (sums[2] + sums[3])) + rest;
  }

  size_t Y, W, rows_;
  int threads_;
};

}  // namespace adaptag
