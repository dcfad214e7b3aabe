// What happens to rows of ADF while they do not fire, of several rows at a time: adf_windows.hpp in
// float32, without branches. Two or three terms of the series of −log(1 − x) must be enough.
#pragma once

#include "adf_windows.hpp"

namespace adaptag {

// The state of several rows, each field a vector.
struct AdfRows {
  static constexpr int lanes = native_lanes;
  using Float = VecOf<lanes>::f32;
  using Int = VecOf<lanes>::i32;

  Float rate;
  Int count, stamp;
  Float pending;

  // From rows that lie one behind the other.
  static AdfRows load(const AdfRow* rows) {
    Float fields[4];
    std::memcpy(fields, rows, sizeof fields);
    return of(fields);
  }

  // From and to the rows of these numbers.
  static AdfRows gather(const AdfRow* rows, const uint32_t* numbers) {
    Float fields[4];
    for (int j = 0; j < 4; ++j) {
      VecOf<4>::f32 four[lanes / 4];
      for (int k = 0; k < lanes / 4; ++k)
        std::memcpy(four + k, rows + numbers[j * (lanes / 4) + k], sizeof four[k]);
      fields[j] = join<lanes>(four);
    }
    return of(fields);
  }
  void scatter(AdfRow* rows, const uint32_t* numbers) const {
    Float fields[4] = {rate, (Float)count, (Float)stamp, pending};
    to_rows<lanes>(fields);
    for (int k = 0; k < lanes; ++k)
      std::memcpy(rows + numbers[k], reinterpret_cast<const char*>(fields) + k * sizeof(AdfRow),
                  sizeof(AdfRow));
  }

 private:
  static AdfRows of(Float (&fields)[4]) {
    static_assert(sizeof(AdfRow) == 16 && offsetof(AdfRow, count) == 4 &&
                  offsetof(AdfRow, stamp) == 8 && offsetof(AdfRow, pending) == 12);
    to_columns<lanes>(fields);
    return {fields[0], (Int)fields[1], (Int)fields[2], fields[3]};
  }
};

class AdfRowsWindows {
  using Float = AdfRows::Float;
  using Int = AdfRows::Int;

 public:
  explicit AdfRowsWindows(const AdfSettings& s)
      : c_(float(s.c)),
        lambda_(float(s.lambda)),
        alpha_(float(s.alpha)),
        range_(float(s.alpha - s.beta)),
        log_alpha_(float(std::log(s.alpha))),
        windows_per_update_(float(1.0 / s.q)),
        windows_per_sample_(float(1.0 / (double(s.q) * s.b))),
        round_down_(float(0.5 / s.q - 0.5)),
        float_q_(float(s.q)),
        third_(s.order > 2 ? 1.0f / 3 : 0),
        q_(int32_t(s.q)) {
    for (int k = 1; k <= 3; ++k) geometric_[k] = k <= s.order ? float(s.geometric[k]) : 0;
    for (int m = 0; m < 2 * AdfRows::lanes; ++m) {
      powers_[m / AdfRows::lanes][m % AdfRows::lanes] = float(std::pow(s.alpha, m));
      large_powers_[m / AdfRows::lanes][m % AdfRows::lanes] =
          float(std::pow(s.alpha, double(m) * 2 * AdfRows::lanes));
    }
  }

  // Starts update t.
  void begin(uint32_t t) {
    t_ = int32_t(t);
    closed_ = t_ > 0 ? (t_ - 1) / q_ : 0;
    window_begin_ = closed_ * q_;
  }
  int32_t t() const { return t_; }
  float lambda() const { return lambda_; }

  // Whether a window closes at this update, after its samples are counted.
  bool closes() const { return t_ > 0 && t_ % q_ == 0; }

  // Brings rows that the updates `touched` were the last to touch to the start of update t.
  [[gnu::always_inline]] inline void catch_up(AdfRows& rows, Int touched) const {
    constexpr float shift = 12582912.0f;  // 1.5·2^23 rounds to an integer, which is in the low bits
    constexpr int32_t shift_bits = 0x4B400000;
    const Float at = to_float(touched);
    const Float shifted = (at * windows_per_update_ + round_down_) + shift;
    const Int missed = (closed_ + (shift_bits - 1)) - (Int)shifted;  // windows without a firing
    const Int inside = missed < 0;                                   // the open window
    const Float end = (shifted - (shift - 1)) * float_q_;            // of the window of `touched`
    const Float open = rows.rate == 0.0f ? Float{} + c_ : rows.rate;
    const Float one = Float{} + 1.0f;
    const Float closed_rate = decayed(open, inside ? one : eta(rows.count));
    const Float power = inside ? one : alpha_power(missed);
    rows.rate = decayed(closed_rate, power);
    const Float x = closed_rate * lambda_, p2 = power * power;
    Float windows = (one - p2) * geometric_[2];
    if (third_ > 0) windows += x * ((one - p2 * power) * geometric_[3]);
    windows = x * ((one - power) * geometric_[1] + x * windows);
    const Float before = (inside ? Float{} + float(t_) : end) - at;
    const Float after = inside ? Float{} : Float{} + float(t_ - window_begin_);
    rows.pending +=
        before * log_shrink(open) + (windows * float_q_ + after * log_shrink(rows.rate));
    rows.count = inside ? rows.count : Int{};
  }

  // γ after a window in which rows fired so often.
  Float after_window(Float rate, Int count) const { return decayed(rate, eta(count)); }

 private:
  static Float to_float(Int x) { return __builtin_convertvector(x, Float); }

  Float eta(Int count) const {
    const Float u = to_float(count) * windows_per_sample_, one = Float{} + 1.0f;
    return alpha_ - (u < one ? u : one) * range_;
  }

  // γ ← η γ, but never 0, which stands for a row not yet touched.
  static Float decayed(Float rate, Float eta) {
    const Float product = rate * eta, least = Float{} + 1e-37f;
    return product > least ? product : least;
  }

  // α^m
  Float alpha_power(Int m) const {
#if defined(__AVX512F__) && !defined(__clang__)
    if (closed_ < 4 * AdfRows::lanes * AdfRows::lanes)  // one instruction looks up 32 numbers
      return __builtin_shuffle(powers_[0], powers_[1], m) *
             __builtin_shuffle(large_powers_[0], large_powers_[1], m >> 5);
#endif
    return exp_of_vector<Float, Int>(to_float(m) * log_alpha_);
  }

  // −log(1 − λγ)
  Float log_shrink(Float rate) const {
    const Float x = rate * lambda_;
    return third_ > 0 ? x * (1.0f + x * (0.5f + x * third_)) : x * (1.0f + x * 0.5f);
  }

  float c_, lambda_, alpha_, range_, log_alpha_;
  float windows_per_update_, windows_per_sample_, round_down_, float_q_;
  float third_;         // 0 where two terms are enough
  float geometric_[4];  // 1 / (k (1 − α^k)), 0 beyond the terms that are needed
  int32_t q_, t_ = 0;
  int32_t closed_ = 0;                 // windows closed before the current update is counted
  int32_t window_begin_ = 0;           // first update of the open window
  Float powers_[2], large_powers_[2];  // α^0, α^1, …; α^0, α^32, …
};

}  // namespace adaptag
