// Rows of ADF for documents: adf_windows.hpp for several rows at a time, in float32 and without
// branches. Two or three terms of the series of −log(1 − x) must be enough.
//
// Here a row is known by the window in which it fired last, and what is pending is that of the
// window's first update: inside a window, the rate is the same. So a row with one weight takes 16
// bytes. The rows of Python's arrays, which say at which update they were touched, become these and
// come back as if they had been touched at the window's first update.
#pragma once

#include <bit>

#include "adf_windows.hpp"

namespace adaptag {

struct AdfDocumentRow {
  float rate;      // as of AdfRow
  uint32_t state;  // windows before that of the last firing, and how often the row fired in it
  float pending;   // at the first update of that window
  float weight;    // where there is one for each row
};

// Several rows, each field a vector.
struct AdfDocumentRows {
  static constexpr int lanes = native_lanes;
  using Float = VecOf<lanes>::f32;
  using Int = VecOf<lanes>::i32;

  Float rate;
  Int state;
  Float pending, weight;

  // From rows that lie one behind the other.
  static AdfDocumentRows load(const AdfDocumentRow* rows) {
    Float fields[4];
    std::memcpy(fields, rows, sizeof fields);
    return of(fields);
  }

  // From and to the rows of these numbers.
  static AdfDocumentRows gather(const AdfDocumentRow* rows, const uint32_t* numbers) {
    Float fields[4];
    for (int j = 0; j < 4; ++j) {
      VecOf<4>::f32 four[lanes / 4];
      for (int k = 0; k < lanes / 4; ++k)
        std::memcpy(four + k, rows + numbers[j * (lanes / 4) + k], sizeof four[k]);
      fields[j] = join<lanes>(four);
    }
    return of(fields);
  }
  void scatter(AdfDocumentRow* rows, const uint32_t* numbers) const {
    Float fields[4] = {rate, (Float)state, pending, weight};
    to_rows<lanes>(fields);
    for (int k = 0; k < lanes; ++k)
      std::memcpy(rows + numbers[k], reinterpret_cast<const char*>(fields) + k * sizeof *rows,
                  sizeof *rows);
  }

 private:
  static AdfDocumentRows of(Float (&fields)[4]) {
    static_assert(sizeof(AdfDocumentRow) == 16 && offsetof(AdfDocumentRow, state) == 4 &&
                  offsetof(AdfDocumentRow, pending) == 8 && offsetof(AdfDocumentRow, weight) == 12);
    to_columns<lanes>(fields);
    return {fields[0], (Int)fields[1], fields[2], fields[3]};
  }
};

class AdfDocumentWindows {
  using Rows = AdfDocumentRows;
  using Float = Rows::Float;
  using Int = Rows::Int;
  static constexpr int lanes = Rows::lanes;

 public:
  static constexpr uint64_t largest_t = 1u << 22;  // what fits into a row's state

  explicit AdfDocumentWindows(const AdfSettings& s)
      : c_(float(s.c)),
        lambda_(float(s.lambda)),
        alpha_(float(s.alpha)),
        range_(float(s.alpha - s.beta)),
        log_alpha_(float(std::log(s.alpha))),
        windows_per_sample_(float(1.0 / (double(s.q) * s.b))),
        float_q_(float(s.q)),
        third_(s.order > 2 ? 1.0f / 3 : 0),
        q_(s.q),
        count_bits_(int(std::bit_width(std::min<uint64_t>(s.q, largest_t) + 1))) {
    for (int k = 1; k <= 3; ++k) geometric_[k] = k <= s.order ? float(s.geometric[k]) : 0;
    for (int m = 0; m < 2 * lanes; ++m) {
      powers_[m / lanes][m % lanes] = float(std::pow(s.alpha, m));
      large_powers_[m / lanes][m % lanes] = float(std::pow(s.alpha, 2.0 * lanes * m));
    }
  }

  // Starts update t.
  void begin(uint32_t t) {
    t_ = t;
    closed_ = t_ > 0 ? (t_ - 1) / q_ : 0;
    since_ = float(t_ - closed_ * q_);
  }
  float lambda() const { return lambda_; }

  // Whether a window closes at this update, after its samples are counted.
  bool closes() const { return t_ > 0 && t_ % q_ == 0; }

  // Brings rows to the open window, and counts one firing of each; then what is pending.
  [[gnu::always_inline]] inline Float count(Rows& rows) const {
    catch_up(rows);
    rows.state += 1;
    return pending(rows);
  }
  // Closes the window of rows that are counted, of which so much is pending.
  void close(Rows& rows, Float pending) const {
    rows.rate = decayed(rows.rate, eta(rows.state & int32_t((1u << count_bits_) - 1)));
    rows.state = Int{} + int32_t((closed_ + 1) << count_bits_);
    rows.pending = pending;
  }
  // What is pending of rows brought to the open window: −log of a shrink.
  Float pending(const Rows& rows) const { return rows.pending + since_ * log_shrink(rows.rate); }

  // Brings rows to the open window.
  [[gnu::always_inline]] inline void catch_up(Rows& rows) const {
    const Int missed = int32_t(closed_) - 1 - (rows.state >> count_bits_);  // without a firing
    const Int inside = missed < 0;                                          // the open window
    const Float open = rows.rate == 0.0f ? Float{} + c_ : rows.rate, one = Float{} + 1.0f;
    const Int count = rows.state & int32_t((1u << count_bits_) - 1);
    const Float closed_rate = decayed(open, inside ? one : eta(count));
    const Float power = inside ? one : alpha_power(missed);
    rows.rate = decayed(closed_rate, power);
    const Float x = closed_rate * lambda_, p2 = power * power;
    Float windows = (one - p2) * geometric_[2];
    if (third_ > 0) windows += x * ((one - p2 * power) * geometric_[3]);
    windows = x * ((one - power) * geometric_[1] + x * windows);
    const Float pending = rows.pending + (windows + log_shrink(open)) * float_q_;
    rows.pending = inside ? rows.pending : pending;
    rows.state = inside ? rows.state : Int{} + int32_t(closed_ << count_bits_);
  }

  // From a row of Python's, and to one.
  AdfDocumentRow taken(const AdfRow& row) const {
    const uint32_t touched = row.stamp == 0 ? 0 : row.stamp - 1;
    // An update at which a window closes belongs to the next one: it is closed by then.
    AdfDocumentRow out{row.rate, (touched / q_) << count_bits_ | row.count, row.pending, 0};
    out.pending -= float(touched % q_) * own_shrink(out);
    return out;
  }
  AdfRow given(const AdfDocumentRow& row) const {
    if (row.rate == 0) return {};
    const uint32_t windows = row.state >> count_bits_;
    return {row.rate, row.state & ((1u << count_bits_) - 1), windows * q_ + 1, row.pending};
  }

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
    if (closed_ < 4 * lanes * lanes)  // one instruction looks up one of 32 numbers for each row
      return __builtin_shuffle(powers_[0], powers_[1], m) *
             __builtin_shuffle(large_powers_[0], large_powers_[1], m >> 5);
#endif
    return exp_of_vector<Float, Int>(to_float(m) * log_alpha_);
  }

  // −log(1 − λγ)
  template <class V>
  V log_shrink(V rate) const {
    const V x = rate * lambda_;
    return third_ > 0 ? x * (1.0f + x * (0.5f + x * third_)) : x * (1.0f + x * 0.5f);
  }
  float own_shrink(const AdfDocumentRow& row) const {
    return log_shrink(row.rate == 0 ? c_ : row.rate);
  }

  float c_, lambda_, alpha_, range_, log_alpha_;
  float windows_per_sample_, float_q_;
  float third_;         // 0 where two terms are enough
  float geometric_[4];  // 1 / (k (1 − α^k)), 0 beyond the terms that are needed
  uint32_t q_;
  int count_bits_;  // of a row's state
  uint32_t t_ = 0;
  uint32_t closed_ = 0;                // windows closed before the current update is counted
  float since_ = 0;                    // updates of the open window before the current one
  Float powers_[2], large_powers_[2];  // α^0, α^1, …; α^0, α^32, …
};

}  // namespace adaptag
