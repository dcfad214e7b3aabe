// Vectors of floats, in the compiler's own portable notation, and a fast exp.
#pragma once

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include <cstdint>
#include <cstring>
#include <utility>

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

// The vectors that work on many independent numbers: as wide as the processor has them.
#ifdef __AVX512F__
constexpr int native_lanes = 16;
#else
constexpr int native_lanes = 4;
#endif

// e^x for x ≤ 0, relative error below 2e-7; exactly 0 below −87.
// x = n ln 2 + f; e^f by the polynomial of Cephes, 2^n by the exponent bits.
template <class V, class I>
[[gnu::always_inline]] inline V exp_of_vector(V x) {
  const I in_range = x > -87.0f;
  x = in_range ? x : V{} - 87.0f;
  const V shifted = x * 1.44269504f + 12582912.0f;  // 1.5·2^23 rounds to an integer
  const V n = shifted - 12582912.0f;
  const V f = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  V p = f * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * f + 8.3334519073e-3f;
  p = p * f + 4.1665795894e-2f;
  p = p * f + 1.6666665459e-1f;
  p = p * f + 5.0000001201e-1f;
  p = p * (f * f) + f + 1.0f;
  // Unsigned, since x may be above 0 or no number where weights are: the sum may overflow.
  typedef uint32_t U __attribute__((vector_size(sizeof(V))));
  const U bits = (U)p + ((U)shifted << 23);
  return in_range ? (V)bits : V{};
}

// A vector of elements at(0), at(1), … of two vectors, one behind the other.
template <int N, class At>
typename VecOf<N>::f32 pick(typename VecOf<N>::f32 a, typename VecOf<N>::f32 b, At) {
#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)
  return [&]<int... k>(std::integer_sequence<int, k...>) {
    return __builtin_shufflevector(a, b, At{}(k)...);
  }(std::make_integer_sequence<int, N>{});
#else
  typename VecOf<N>::f32 out{};
  for (int k = 0; k < N; ++k) out[k] = At{}(k) < N ? a[At{}(k)] : b[At{}(k)-N];
  return out;
#endif
}

// N / 4 vectors of four numbers, one behind the other.
template <int N>
typename VecOf<N>::f32 join(const VecOf<4>::f32* four) {
#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)
  if constexpr (N == 16) {
    const auto low = __builtin_shufflevector(four[0], four[1], 0, 1, 2, 3, 4, 5, 6, 7);
    const auto high = __builtin_shufflevector(four[2], four[3], 0, 1, 2, 3, 4, 5, 6, 7);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
#endif
  typename VecOf<N>::f32 out;
  std::memcpy(&out, four, sizeof out);
  return out;
}

// N rows of four numbers, which lie in four vectors one behind the other, to their four columns.
template <int N>
void to_columns(typename VecOf<N>::f32 (&v)[4]) {
  constexpr int half = N / 2, rows = N / 4;  // rows in a vector
  constexpr auto pair = []<int first>() {    // two neighbouring columns of two vectors' rows
    return [](int k) {
      const int j = k % half;
      return j / rows * N + j % rows * 4 + first + k / half;
    };
  };
  constexpr auto low = [](int k) { return k < half ? k : half + k; };
  constexpr auto high = [](int k) { return k < half ? half + k : N + k; };
  const auto ab0 = pick<N>(v[0], v[1], pair.template operator()<0>());
  const auto cd0 = pick<N>(v[0], v[1], pair.template operator()<2>());
  const auto ab1 = pick<N>(v[2], v[3], pair.template operator()<0>());
  const auto cd1 = pick<N>(v[2], v[3], pair.template operator()<2>());
  v[0] = pick<N>(ab0, ab1, low);
  v[1] = pick<N>(ab0, ab1, high);
  v[2] = pick<N>(cd0, cd1, low);
  v[3] = pick<N>(cd0, cd1, high);
}

// The way back.
template <int N>
void to_rows(typename VecOf<N>::f32 (&v)[4]) {
  constexpr int half = N / 2, rows = N / 4;
  constexpr auto low = [](int k) { return k < half ? k : half + k; };
  constexpr auto high = [](int k) { return k < half ? half + k : N + k; };
  constexpr auto part = []<int first>() {
    return [](int k) { return first + k / 4 + k % 2 * half + k % 4 / 2 * N; };
  };
  const auto ab0 = pick<N>(v[0], v[1], low), ab1 = pick<N>(v[0], v[1], high);
  const auto cd0 = pick<N>(v[2], v[3], low), cd1 = pick<N>(v[2], v[3], high);
  v[0] = pick<N>(ab0, cd0, part.template operator()<0>());
  v[1] = pick<N>(ab0, cd0, part.template operator()<rows>());
  v[2] = pick<N>(ab1, cd1, part.template operator()<0>());
  v[3] = pick<N>(ab1, cd1, part.template operator()<rows>());
}

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

  // The largest number of a vector: its halves are compared, then their halves.
  template <int half>
  static float largest(V v) {
    const V other = pick<lanes>(v, v, [](int k) { return (k + half) % lanes; });
    v = select(v > other, v, other);
    if constexpr (half == 1)
      return v[0];
    else
      return largest<half / 2>(v);
  }

  static V exp(V x) { return exp_of_vector<V, I>(x); }

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
    return largest<lanes / 2>(best);
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
