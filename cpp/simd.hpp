// Vectors of floats, in the compiler's own portable notation, and a fast exp.
#pragma once

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include <cstdint>
#include <cstring>

namespace adaptag {

// While it lives, this thread takes numbers below 1.2e-38 for 0: processors are very slow with
// them, and products of small probabilities and decayed rates make them all the time.
class FlushToZero {
 public:
#ifdef __SSE2__
  FlushToZero() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~FlushToZero() { _mm_setcsr(before_); }

 private:
  unsigned before_;
#else
  FlushToZero() {}
  ~FlushToZero() {}
#endif
  FlushToZero(const FlushToZero&) = delete;
};

template <int N>
struct VecOf {
  typedef float f32 __attribute__((vector_size(N * sizeof(float))));
  typedef int32_t i32 __attribute__((vector_size(N * sizeof(int32_t))));
};

// Weights of one predicate are rows of W floats: the labels, rounded up.
// Four labels or fewer share one 4-lane vector; above that rows are multiples of 8.
constexpr int padded_width(int n_labels) { return n_labels <= 4 ? 4 : (n_labels + 7) / 8 * 8; }

// Calls f.operator()<W>() with the width as a constant for common sizes, W = 0 for all others.
template <class F>
decltype(auto) with_width(int width, F&& f) {
  switch (width) {
    case 4:
      return f.template operator()<4>();
    case 8:
      return f.template operator()<8>();
    case 16:
      return f.template operator()<16>();
    case 24:
      return f.template operator()<24>();
    default:
      return f.template operator()<0>();
  }
}

// Row arithmetic over W floats; W = 0 means a width known only at run time.
template <int W>
struct Rows {
  static constexpr int lanes = W == 4 ? 4 : 8;
  using V = typename VecOf<lanes>::f32;
  using I = typename VecOf<lanes>::i32;

  int run_time_width;
  int width() const { return W ? W : run_time_width; }

  static V load(const float* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static void store(float* p, V v) { std::memcpy(p, &v, sizeof v); }
  static V broadcast(float x) { return V{} + x; }
  static V select(I mask, V yes, V no) { return mask ? yes : no; }

  static float sum(V v) {
    float s = 0;
    for (int k = 0; k < lanes; ++k) s += v[k];
    return s;
  }

  // e^x for x ≤ 0, relative error below 2e-7; exactly 0 below −87.
  // x = n ln 2 + f; e^f by the polynomial of Cephes, 2^n by the exponent bits.
  static V exp(V x) {
    const I in_range = x > -87.0f;
    x = select(in_range, x, broadcast(-87.0f));
    const V shifted = x * 1.44269504f + 12582912.0f;  // 1.5·2^23 rounds to an integer
    const V n = shifted - 12582912.0f;
    const V f = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    V p = f * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * f + 8.3334519073e-3f;
    p = p * f + 4.1665795894e-2f;
    p = p * f + 1.6666665459e-1f;
    p = p * f + 5.0000001201e-1f;
    p = p * (f * f) + f + 1.0f;
    I bits, power;
    std::memcpy(&bits, &p, sizeof bits);
    std::memcpy(&power, &shifted, sizeof power);
    bits += power << 23;
    std::memcpy(&p, &bits, sizeof p);
    return select(in_range, p, V{});
  }

  void copy(float* out, const float* x) const {
    for (int j = 0; j < width(); j += lanes) store(out + j, load(x + j));
  }
  void scale(float* row, float a) const {
    for (int j = 0; j < width(); j += lanes) store(row + j, load(row + j) * a);
  }
  // out += a · x
  void add(float* out, const float* x, float a) const {
    for (int j = 0; j < width(); j += lanes) store(out + j, load(out + j) + load(x + j) * a);
  }
  // out += a · x, 16 floats
  static void add_16(float* out, const float* x, float a) {
    typename VecOf<16>::f32 v, y;
    std::memcpy(&v, x, sizeof v);
    std::memcpy(&y, out, sizeof y);
    y += v * a;
    std::memcpy(out, &y, sizeof y);
  }
  float dot(const float* x, const float* y) const {
    V acc{};
    for (int j = 0; j < width(); j += lanes) acc += load(x + j) * load(y + j);
    return sum(acc);
  }
  float sum(const float* x) const {
    V acc{};
    for (int j = 0; j < width(); j += lanes) acc += load(x + j);
    return sum(acc);
  }
  float max(const float* x) const {
    V best = load(x);
    for (int j = lanes; j < width(); j += lanes) {
      const V v = load(x + j);
      best = select(v > best, v, best);
    }
    float m = best[0];
    for (int k = 1; k < lanes; ++k) m = best[k] > m ? best[k] : m;
    return m;
  }
  // out[j] = exp(x[j] − shift)
  void exp(float* out, const float* x, float shift) const {
    for (int j = 0; j < width(); j += lanes) store(out + j, exp(load(x + j) - shift));
  }
  // out[j] = Σ_i a[i] · matrix[i][j], i < n
  void product(float* out, const float* a, const float* matrix, int n) const {
    const int w = width();
    if constexpr (W > 0 && W <= 32) {
      V even[W / lanes] = {}, odd[W / lanes] = {};
      int i = 0;
      for (; i + 1 < n; i += 2) {
        for (int b = 0; b < W / lanes; ++b) {
          even[b] += load(matrix + i * W + b * lanes) * a[i];
          odd[b] += load(matrix + (i + 1) * W + b * lanes) * a[i + 1];
        }
      }
      if (i < n)
        for (int b = 0; b < W / lanes; ++b) even[b] += load(matrix + i * W + b * lanes) * a[i];
      for (int b = 0; b < W / lanes; ++b) store(out + b * lanes, even[b] + odd[b]);
    } else {
      for (int j = 0; j < w; j += lanes) {
        V even{}, odd{};
        int i = 0;
        for (; i + 1 < n; i += 2) {
          even += load(matrix + i * w + j) * a[i];
          odd += load(matrix + (i + 1) * w + j) * a[i + 1];
        }
        if (i < n) even += load(matrix + i * w + j) * a[i];
        store(out + j, even + odd);
      }
    }
  }
};

}  // namespace adaptag
