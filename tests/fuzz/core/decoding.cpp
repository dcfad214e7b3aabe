// Lattices of any scores beside brute force, and segmenters of any tables.
#include <algorithm>
#include <cmath>

#include "input.hpp"
#include "nbest.hpp"
#include "segmenter.hpp"

namespace adaptag::fuzz {
namespace {

struct Path {
  std::vector<int32_t> labels;
  double score;
};

// All label sequences that are allowed, best first.
template <int W>
std::vector<Path> all_paths(const Lattice<W>& lattice, const Constraints& c) {
  const int T = lattice.length, Y = lattice.n_labels();
  std::vector<Path> out;
  std::vector<int32_t> labels(size_t(T), 0);
  const auto legal = [&](int from, int to) { return !c.legal || c.legal[from * (Y + 1) + to]; };
  for (;;) {
    bool good = legal(Y, labels[0]) && legal(labels[T - 1], Y);
    for (int t = 0; t < T; ++t) {
      good = good && (!c.allowed || c.allowed[t * Y + labels[t]]);
      good = good && (t == 0 || legal(labels[t - 1], labels[t]));
    }
    if (good) out.push_back({labels, lattice.path_score(labels.data())});
    int t = T - 1;
    while (t >= 0 && ++labels[t] == Y) labels[t--] = 0;
    if (t < 0) break;
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Path& a, const Path& b) { return a.score > b.score; });
  return out;
}

bool near(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance; }

template <int W>
void compare(Lattice<W>& lattice, const std::vector<Path>& paths, double size) {
  const int T = lattice.length, Y = lattice.n_labels(), w = lattice.width();
  const double tolerance = 1e-5 * (1 + size * T);
  std::vector<int32_t> best(size_t(T), -1);
  lattice.viterbi(best.data());
  HOLDS(near(lattice.path_score(best.data()), paths[0].score, tolerance));
  std::vector<int32_t> found;
  std::vector<double> scores;
  n_best(lattice, 4, found, scores);
  HOLDS(scores.size() == std::min<size_t>(4, paths.size()));
  for (size_t k = 0; k < scores.size(); ++k) {
    HOLDS(near(scores[k], paths[k].score, tolerance));
    HOLDS(near(lattice.path_score(found.data() + k * T), scores[k], tolerance));
  }
  double log_z = 0;
  for (const Path& path : paths) log_z += std::exp(path.score - paths[0].score);
  log_z = paths[0].score + std::log(log_z);
  HOLDS(near(lattice.expectations(), log_z, tolerance));
  std::vector<double> node(size_t(T) * Y), edge(size_t(lattice.n_matrices()) * Y * Y);
  for (const Path& path : paths) {
    const double p = std::exp(path.score - log_z);
    for (int t = 0; t < T; ++t) {
      node[t * Y + path.labels[t]] += p;
      if (t > 0) edge[(lattice.run_of(t) * Y + path.labels[t - 1]) * Y + path.labels[t]] += p;
    }
  }
  for (int t = 0; t < T; ++t)
    for (int y = 0; y < Y; ++y) HOLDS(near(lattice.probability(t, y), node[t * Y + y], 1e-3));
  for (int m = 0; m < lattice.n_matrices(); ++m)
    for (int i = 0; i < Y; ++i)
      for (int j = 0; j < Y; ++j)
        HOLDS(near(lattice.edge_expectation(m)[i * w + j], edge[(m * Y + i) * Y + j], 1e-3 * T));
}

template <int W>
double fill(Lattice<W>& lattice, Input& in) {
  const int Y = lattice.n_labels(), w = lattice.width();
  lattice.length = 1 + int(in.below(6));
  lattice.node.assign(size_t(lattice.length) * w, forbidden);
  lattice.runs.clear();
  for (int t = 1; t < lattice.length; ++t)
    if (t == 1 || in.below(2)) lattice.runs.push_back(t);
  lattice.edge.assign(lattice.runs.size() * Y * w, 0.0f);
  lattice.runs.push_back(lattice.length);
  const float factor = in.below(8) == 0 ? 100.0f : 1.0f;
  double most = 0;
  const auto set = [&](std::vector<float>& rows) {
    for (size_t first = 0; first < rows.size(); first += size_t(w))
      for (int y = 0; y < Y; ++y) {
        rows[first + y] = in.score() * factor;
        const double size = std::abs(double(rows[first + y]));
        most = std::max(most, std::isfinite(size) ? size : HUGE_VAL);
      }
  };
  set(lattice.node);
  set(lattice.edge);
  return most;
}

template <class Value, int Roles>
void cut(const PredictorTables& tables, Folding folding, const ExtraWords& extra,
         const std::vector<uint32_t>& codes) {
  const SegmentPredictor<Value> predictor(tables);
  Segmenter<Value, Roles> segmenter(predictor, folding, 1.5f);
  segmenter.set_extra_words(&extra);
  std::vector<uint8_t> starts(codes.size(), 9), again(codes.size(), 9);
  std::vector<float> probabilities(codes.size(), 0.0f);
  segmenter.cut(codes, starts.data(), nullptr);
  try {
    segmenter.cut(codes, again.data(), probabilities.data());
  } catch (const NoPathError&) {
    return;
  }
  HOLDS(starts == again);
  HOLDS(codes.empty() || starts[0] == 1);
  for (const float p : probabilities) HOLDS(p >= 0 && p <= 1);
}

// Tables of a few characters and patterns.
struct SmallPredictor {
  explicit SmallPredictor(Input& in) : n_characters(1 + in.below(5)), value_size(1 + in.below(2)) {
    pages.assign(n_code_points / 256, 0);
    pages[in.below(uint32_t(pages.size()))] = 1;
    entries.assign(512, 0);
    for (uint32_t c = 1; c < n_characters; ++c)
      entries['a' + c] = c | in.below(16) << character_shift;
    entries[' '] = entries['\n'] = space_flag;
    character_rows.resize(n_characters * 5 * n_transitions);
    for (size_t k = 0; k < character_rows.size(); k += 3) character_rows[k] = int8_t(in.byte());
    constant_rows.resize(10 * n_transitions);
    for (size_t k = 0; k < constant_rows.size(); k += 5) constant_rows[k] = int8_t(in.byte());
    slots.resize(4 + in.below(12));
    rows.resize(96);
    for (uint8_t& value : rows) value = in.byte();
    uint32_t last = no_pattern;
    for (uint32_t n = in.below(6); n > 0 && n + 1 < slots.size(); --n) {
      const bool longer = last != no_pattern && in.below(2);
      last = add(longer ? n_characters + last : in.below(n_characters), in.below(n_characters),
                 in.below(8));
      if (longer && last != no_pattern)
        slots[slots[last].parent - n_characters].followers = ~uint32_t{0};
    }
  }
  uint32_t add(uint32_t parent, uint32_t character, uint32_t row) {
    size_t k = pattern_home(parent, character, slots.size());
    while (slots[k].parent != no_pattern) {
      if (slots[k].parent == parent && slots[k].character == character) return uint32_t(k);
      k = k + 1 == slots.size() ? 0 : k + 1;
    }
    slots[k] = {parent, character, row == 0 ? no_pattern : (row - 1) % 3 << 4 | row, 0};
    return uint32_t(k);
  }
  void change(Input& in) {
    switch (in.below(6)) {
      case 0:
        return damage(pages, in);
      case 1:
        return damage(entries, in);
      case 2:
        return damage(character_rows, in);
      case 3:
        return damage(constant_rows, in);
      case 4:
        return damage(rows, in);
      default:
        return damage(slots, in);
    }
  }
  PredictorTables tables(uint32_t outside, int exponent) const {
    return {pages, entries, character_rows, constant_rows, slots, rows, outside, exponent, 0};
  }

  uint32_t n_characters, value_size;
  std::vector<uint32_t> pages, entries;
  std::vector<int16_t> character_rows;
  std::vector<int32_t> constant_rows;
  std::vector<PatternSlot> slots;
  std::vector<uint8_t> rows;
};

uint32_t code_of(Input& in) {
  const uint8_t b = in.byte();
  return b < 0xF0 ? uint32_t("abcdef \n0A"[b % 10]) : in.number<uint32_t>() % n_code_points;
}

}  // namespace

// Best labels, n best and probabilities are those of brute force, where scores are finite and not
// extreme; of all others nothing is asked but an end.
void lattice(Input in) {
  const int Y = 1 + int(in.below(9));
  const Layout layout(Y, 0, 0, 0);
  with_width(layout.width, [&]<int W>() {
    Lattice<W> lattice(layout);
    const double size = fill(lattice, in);
    const int T = lattice.length;
    std::vector<uint8_t> allowed(size_t(T) * Y, 1), legal(size_t(Y + 1) * (Y + 1), 1);
    for (uint32_t n = in.below(4); n > 0; --n) allowed[in.below(uint32_t(allowed.size()))] = 0;
    for (uint32_t n = in.below(6); n > 0; --n) legal[in.below(uint32_t(legal.size()))] = 0;
    const Constraints constraints{in.below(2) ? allowed.data() : nullptr,
                                  in.below(2) ? legal.data() : nullptr};
    const Lattice<W> unconstrained = lattice;
    lattice.constrain(constraints);
    if (size <= 1e5 && std::pow(Y, T) <= 256) {
      const std::vector<Path> paths = all_paths(unconstrained, constraints);
      try {
        compare(lattice, paths, size);
        HOLDS(!paths.empty());
      } catch (const NoPathError&) {
        HOLDS(paths.empty());
      }
      return;
    }
    std::vector<int32_t> labels(size_t(T), -1), found;
    std::vector<double> scores;
    try {
      lattice.viterbi(labels.data());
      for (const int32_t y : labels) HOLDS(y >= 0 && y < Y);
      n_best(lattice, 3, found, scores);
      for (const int32_t y : found) HOLDS(y >= 0 && y < Y);
    } catch (const NoPathError&) {
    }
    try {
      lattice.divide_scores(1.5f);
      lattice.expectations();
    } catch (const NoPathError&) {
    }
  });
}

// Cutting with tables that have passed their check.
void predictor(Input in) {
  SmallPredictor small(in);
  for (uint32_t n = in.below(6); n > 0; --n) small.change(in);
  const uint32_t outside = in.below(8) ? 0 : in.number<uint32_t>();
  PredictorTables tables = small.tables(outside, int(in.below(40)) - 19);
  try {
    tables.longest = check_predictor(tables, small.value_size);
  } catch (const std::invalid_argument&) {
    return;
  }
  ExtraWords extra;
  constexpr float weights[] = {5, -5, 1000, -1000, 0, std::numeric_limits<float>::infinity()};
  for (uint32_t n = in.below(4); n > 0; --n) {
    std::vector<uint32_t> word(1 + in.below(4));
    for (uint32_t& code : word) code = 'a' + in.below(4);
    extra.insert(word, weights[in.below(6)]);
  }
  const Folding folding = Folding(in.below(3));
  const bool four = in.below(2);
  std::vector<uint32_t> codes;
  for (uint32_t n = in.below(4) ? in.below(40) : in.below(600); n > 0; --n)
    codes.push_back(code_of(in));
  if (small.value_size == 1)
    four ? cut<int8_t, 4>(tables, folding, extra, codes)
         : cut<int8_t, 3>(tables, folding, extra, codes);
  else
    four ? cut<int16_t, 4>(tables, folding, extra, codes)
         : cut<int16_t, 3>(tables, folding, extra, codes);
}

}  // namespace adaptag::fuzz
