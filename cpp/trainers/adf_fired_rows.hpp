// The rows of ADF that fire in a document, copied to working memory and worked on several at a
// time. What fires in every document comes behind the listed ones, in a block of its own.
#pragma once

#include "adf_windows.hpp"
#include "documents.hpp"

namespace adaptag {

class AdfFiredRows {
 public:
  using V = AdfRows::Float;
  static constexpr uint32_t lanes = AdfRows::lanes;

  explicit AdfFiredRows(const AdfSettings& settings) : windows_(settings), closing_(settings) {
    for (uint32_t k = 0; k < lanes; ++k) lane_[k] = int32_t(k);
  }

  // Calls f(k, n) for each block of rows k, k + 1, …; n are in use of it, 0 stands for what always
  // fires.
  template <class F>
  static void for_each_block(const Document& d, F&& f) {
    for (size_t k = 0; k < d.n; k += lanes) f(k, std::min<size_t>(lanes, d.n - k));
    if (d.always != no_predicate) f(behind(d), 0);
  }
  // Calls f(k, id) for each row.
  template <class F>
  static void for_each(const Document& d, F&& f) {
    const uint32_t* const ids = d.ids;
    const size_t n = d.n;
    for (size_t k = 0; k < n; ++k) f(k, ids[k]);
    if (d.always != no_predicate) f(behind(d), d.always);
  }
  // The place of what always fires.
  static size_t behind(const Document& d) { return (d.n + lanes - 1) / lanes * lanes; }
  // The places that a document takes, unused ones among them.
  static size_t room(const Document& d) { return d.n + 2 * lanes; }

  // The values of a block: 0 for what is not in use.
  static V values_of(const Document& d, size_t k, size_t n) {
    V out{};
    if (n == lanes && d.values)
      std::memcpy(&out, d.values + k, sizeof out);
    else if (n == lanes)
      out += 1.0f;
    else if (n == 0)
      out[0] = 1;  // what always fires
    else
      for (size_t j = 0; j < n; ++j) out[j] = d.value(k + j);
    return out;
  }

  // Starts update t. All rows that are brought up to date are brought to it.
  void begin(uint32_t t) { windows_.begin(t); }

  // exp(−what is pending) of rows that lie one behind the other, brought up to date in a copy.
  V shrink(const AdfRow* rows) const {
    AdfRows block = AdfRows::load(rows);
    windows_.catch_up(block, touched(block));
    return exp_of_vector<V, AdfRows::Int>(-block.pending);
  }

  // Copies the rows of a document from all rows, calling copy(k, id) for each.
  template <class F>
  void load(const Document& d, const AdfRow* rows, F&& copy) {
    if (fired_.size() < room(d)) {
      fired_.resize(room(d));
      scale_.resize(room(d));
      factor_.resize(room(d));
    }
    AdfRow* const fired = fired_.data();
    for_each(d, [&](size_t k, uint32_t id) {
      fired[k] = rows[id];
      copy(k, id);
    });
  }

  // Brings them up to date and counts them, calling f(k, n) for each block. Whether some shrinks
  // are so large that they must be applied; the scales that f sees are then too inexact.
  template <class F>
  bool catch_up(const Document& d, F&& f) {
    V most{};
    AdfRow* const fired = fired_.data();
    for_each_block(d, [&](size_t k, size_t n) {
      AdfRows block = AdfRows::load(fired + k);
      windows_.catch_up(block, touched(block));
      block.count += 1;
      block.stamp = AdfRows::Int{} + (windows_.t() + 1);
      block.store(fired + k);
      const V scale = pending_scale(block.pending);
      const V factor = block.rate / ((1.0f - windows_.lambda() * block.rate) * scale);
      std::memcpy(scale_.data() + k, &scale, sizeof scale);
      std::memcpy(factor_.data() + k, &factor, sizeof factor);
      const auto larger = (block.pending > most) & (lane_ < int32_t(std::max<size_t>(n, 1)));
      most = larger ? block.pending : most;
      f(k, n);
    });
    float largest = 0;
    for (uint32_t j = 0; j < lanes; ++j) largest = std::max(largest, most[j]);
    return largest > largest_pending;
  }

  // Calls apply(k, id, shrink) for the rows with a large pending shrink, which is no longer
  // pending.
  template <class F>
  void apply_pending(const Document& d, F&& apply) {
    for_each(d, [&](size_t k, uint32_t id) {
      if (fired_[k].pending <= largest_pending) return;
      apply(k, id, std::exp(-fired_[k].pending));
      fired_[k].pending = 0;
      scale_[k] = 1;
      factor_[k] = factor_of(fired_[k]);
    });
  }

  // Closes the window of the rows, where one closes at this update.
  void close_window(const Document& d) {
    if (!windows_.closes()) return;
    for_each(d, [&](size_t k, uint32_t) {
      AdfRow& row = fired_[k];
      row.rate = closing_.after_window(row.rate, row.count);
      row.count = 0;
      factor_[k] = factor_of(row);
    });
  }

  // Copies the rows back to all rows, calling copy(k, id) for each.
  template <class F>
  void store(const Document& d, AdfRow* rows, F&& copy) const {
    const AdfRow* const fired = fired_.data();
    for_each(d, [&](size_t k, uint32_t id) {
      rows[id] = fired[k];
      copy(k, id);
    });
  }

  const float* scale() const { return scale_.data(); }    // of the stored weights of a row
  const float* factor() const { return factor_.data(); }  // of a step for the weights of a row

 private:
  static AdfRows::Int touched(const AdfRows& rows) {
    return rows.stamp == 0 ? AdfRows::Int{} : rows.stamp - 1;
  }
  // Its rate, and the shrink that is put off.
  float factor_of(const AdfRow& row) const {
    return row.rate / ((1.0f - windows_.lambda() * row.rate) * pending_scale(row.pending));
  }

  AdfWindows<AdfRows> windows_;
  const AdfWindows<AdfRow> closing_;  // the same in float64
  AdfRows::Int lane_;                 // 0, 1, …
  std::vector<AdfRow> fired_;
  std::vector<float> scale_, factor_;
};

}  // namespace adaptag
