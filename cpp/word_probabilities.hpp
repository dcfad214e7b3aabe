// How probable each word of a sentence is, by the scores of a predictor.
#pragma once

#include "lattice.hpp"
#include "segment_predictor.hpp"

namespace adaptag {

// What a character is in its word. With three roles, a word of one character is a beginning.
enum Role { begin, inside, end, single };

template <int Roles>
constexpr int single_role = Roles == 4 ? single : begin;

// Of each role the two that may stand before it, as transitions are numbered.
template <int Roles>
constexpr int roles_before[4][2] = {
    {end, single_role<Roles>}, {begin, inside}, {begin, inside}, {end, single_role<Roles>}};

// Scores of a sentence.
struct KeptScores {
  std::vector<Scores> scores;      // [T]
  std::vector<uint8_t> ruled_out;  // [T] bit r: the role is impossible
  int exponent = 0;                // a score of 2^exponent is 1
};

template <int Roles>
class WordProbabilities {
 public:
  explicit WordProbabilities(float temperature) : temperature_(temperature) {}

  // The probabilities [T] of words at their first characters, which starts [T] marks.
  //   P(word) = P(its first role) Π P(role | role before) · Σ P(a role that begins a word | last)
  void fill(const KeptScores& kept, const uint8_t* starts, float* probabilities) {
    const auto T = int64_t(kept.scores.size());
    double p = 1;            // of the word so far
    int64_t word = 0;        // its first character
    int role = 0, last = 0;  // of a character and of the one before
    const auto finish = [&](double ends) {
      probabilities[word] = float(std::clamp(p * ends, 0.0, 1.0));
    };
    for (int64_t first = 0; first < T; first += window) {
      const int64_t from = std::max<int64_t>(0, first - margin);
      fill_lattice(kept, from, std::min(T, first + window + margin));
      lattice_.expectations();
      for (int64_t t = first; t < std::min(T, first + window); ++t, last = role) {
        const bool ends = t + 1 == T || starts[t + 1];
        role = starts[t] ? (ends ? single_role<Roles> : begin) : ends ? end : inside;
        const int k = int(t - from);
        if (starts[t]) {
          if (t > 0)
            finish(conditional(k, last, begin) + (Roles == 4 ? conditional(k, last, single) : 0.0));
          word = t;
          p = lattice_.probability(k, role);
        } else if (p > 0) {
          p *= conditional(k, last, role);
        }
      }
    }
    finish(1);
  }

 private:
  // A long sentence is done in windows, each with a margin on both sides that is not used.
  static constexpr int64_t window = 4096, margin = 128;

  // P(role at k | role before)
  double conditional(int k, int from, int to) const {
    const double p = lattice_.probability(k - 1, from);
    return p > 0 ? std::min(lattice_.transition(k, from, to) / p, 1.0) : 0;
  }

  // Scores of transitions are those of edges; where the window begins within the sentence, any role
  // may come first.
  void fill_lattice(const KeptScores& kept, int64_t from, int64_t to) {
    const int n = int(to - from), w = lattice_.width();
    const auto T = int64_t(kept.scores.size());
    const float unit = std::ldexp(1.0f, -kept.exponent) / temperature_;
    lattice_.length = n;
    lattice_.node.assign(size_t(n) * w, 0.0f);
    lattice_.edge.assign(size_t(n - 1) * Roles * w, forbidden);
    lattice_.runs.resize(n);
    for (int k = 0; k < n; ++k) {
      lattice_.runs[k] = k + 1;
      const Scores& s = kept.scores[from + k];
      float* node = lattice_.node.data() + size_t(k) * w;
      if (from + k == 0 && Roles == 4) node[single] = unit * float(s[6] - s[0]);
      for (int r = 0; r < w; ++r)
        if (!possible(r, from + k, T, kept.ruled_out[from + k])) node[r] = forbidden;
      for (int r = 0; k > 0 && r < Roles; ++r)
        for (int b = 0; b < 2; ++b)
          lattice_.edge_matrix(k - 1)[roles_before<Roles>[r][b] * w + r] =
              unit * float(s[2 * r + b]);
    }
  }
  static bool possible(int role, int64_t t, int64_t T, uint8_t ruled_out) {
    if (role >= Roles || (ruled_out >> role & 1)) return false;
    if (t == 0 && (role == inside || role == end)) return false;
    return t + 1 < T || role == end || role == single_role<Roles>;
  }

  const float temperature_;  // what scores are divided by
  Lattice<4> lattice_{Layout(Roles, 0, 0, 0)};
};

}  // namespace adaptag
