// Training on documents by rows of our own, alone or in a team of threads.
//
// Each thread has a part of the predicates: their weights and their state lie in its own memory,
// and no other thread touches them. For each group of documents, all threads compute what their
// predicates add to the scores, wait for each other, compute the same gradients from the sums, and
// apply them to their own predicates. One thread takes one document at a time. More take
// `group_size`, which saves waiting: the scores of a document then lack the gradients of those
// before it in the group. All else, learning rates and regularisation, is as with one thread, and
// so is the state: a run can go on with another number of threads. The sums are made in the order
// of the threads, so that the result is the same each time.
#pragma once

#include <algorithm>
#include <cmath>

#include "../parallel.hpp"
#include "documents.hpp"
#include "trainer.hpp"

namespace adaptag {

// What follows from the scores of a document. K: weights kept for each predicate, 1 with two
// labels, else the width of a row.
//
// With two labels the gradient of one is minus that of the other, so w(0) = −w(1) all the time: one
// number v = w(1) for each predicate is enough, and P(1 | x) = 1 / (1 + exp(−2 v·x)). That takes a
// quarter of the memory.
template <int K>
class DocumentGradient {
 public:
  static constexpr int W = K == 1 ? 4 : K;  // width of Python's rows

  explicit DocumentGradient(const Layout& layout) : lattice_(layout) {}

  // What is not yet in the totals.
  Totals rest() const { return {std::log(product_), 0, 0}; }

  // Of scores [K] to a gradient [K], and the best label where there is a place for it.
  Totals operator()(const float* scores, const Sentence& s, int32_t* best, float* gradient) {
    if constexpr (K == 1) {
      return of_two_labels(2 * scores[0], s, best, gradient);
    } else {
      float* const node = lattice_.one_token();
      Rows<K>::store(node, Rows<K>::load(node) + Rows<K>::load(scores));
      if (best) lattice_.viterbi(best);
      const Totals totals = likelihood_gradient(lattice_, s.labels);
      Rows<K>::store(gradient, Rows<K>::load(lattice_.node_p.data()) * s.weight);
      return totals.weighted(s.weight);
    }
  }

 private:
  // margin: s(1) − s(0)
  Totals of_two_labels(float margin, const Sentence& s, int32_t* best, float* gradient) {
    if (best) *best = margin > 0;
    *gradient = 0;
    if (s.labels[0] == no_label) return {};
    const double towards = s.labels[0] == 1 ? margin : -margin;  // the right class
    const double e = std::exp(-std::abs(towards));
    const double wrong = (towards > 0 ? e : 1) / (1 + e);
    *gradient = float(s.labels[0] == 1 ? wrong : -wrong) * s.weight;
    Totals totals{std::max(0.0, -towards), 1 - wrong, 1};
    if (s.weight == 1)
      add_logarithm(1 + e, totals);
    else
      totals.loss += std::log1p(e);
    return totals.weighted(s.weight);
  }

  // Logarithms take time: that of a product is taken when it gets large.
  void add_logarithm(double x, Totals& totals) {
    product_ *= x;
    if (product_ < 1e100) return;
    totals.loss += std::log(product_);
    product_ = 1;
  }

  Lattice<W> lattice_;
  double product_ = 1;
};

// Sums of the scores of rows, several at a time: one would wait for itself.
template <int K>
class ScoresOfRows {
 public:
  [[gnu::always_inline]] inline void add(size_t k, const float* weights, float value) {
    if constexpr (K == 1)
      sums_[k % 4] += *weights * value;
    else
      sums_[k % 4] += Rows<K>::load(weights) * value;
  }
  // To scores [K].
  void store(float* out, float scale) const {
    const Row sum = ((sums_[0] + sums_[1]) + (sums_[2] + sums_[3])) * scale;
    std::memcpy(out, &sum, sizeof sum);
  }

 private:
  using Row = std::conditional_t<K == 1, float, typename Rows<K == 1 ? 4 : K>::V>;
  static_assert(sizeof(Row) == K * sizeof(float));
  Row sums_[4] = {};
};

// weights [K] += gain · gradient
template <int K>
[[gnu::always_inline]] inline void add_to_row(float* weights, const float* gradient, float gain) {
  if constexpr (K == 1)
    *weights += *gradient * gain;
  else
    Rows<K>::store(weights, Rows<K>::load(weights) + Rows<K>::load(gradient) * gain);
}

// Learner: the rows of one part, with
//   Algorithm, K                          the algorithm it is a form of; weights in a row
//   Learner(values, task)
//   in_range(run, n)                      whether n more updates are within its limits
//   equal(row, row)                       whether Python's rows are equal
//   reset(n, run)                         n rows of zeros
//   take(predicates, weights, rows, width)   those of its rows as in Python's arrays
//   put(state, row)                       the state of a row for Python's arrays
//   begin(run), end()                     around a run of updates: the RunState before and after it
//   begin_group(), end_group()            around the documents of a group
//   score(document, sums)                 its part of the scores [K]
//   update(document, gradient, next)      applies the gradient [K], after all of the group were
//                                         scored, in the same order; next will be scored soon
//   weights(row)                          [K] as stored
//   shrink(first, out)                    [lanes] factors of stored weights, after the last run
template <class Learner>
class DocumentTraining final : public Training {
  using Algorithm = typename Learner::Algorithm;
  using Arrays = State<typename Algorithm::RowState, typename Algorithm::RunState>;
  static constexpr int K = Learner::K;
  static constexpr int W = DocumentGradient<K>::W;
  static constexpr size_t group_size = 16;               // with more than one thread
  static constexpr size_t stride = group_size * K + 16;  // between sums of parts

 public:
  // The data of the task must stay alive: they are known by their place.
  DocumentTraining(const Values& values, const Task& task, Arrays state)
      : layout_(task.layout),
        data_(task.data),
        state_(state),
        algorithm_(values, task, state),
        general_(values, task, state),
        learners_(size_t(task.threads), Learner(values, task)) {}

  Totals run(const Dataset& data, std::span<const uint32_t> order, int32_t* best) override {
    if (!is_own(data) || !Learner::in_range(*state_.run, order.size()) || !(loaded_ || load())) {
      sync();
      return general_.run(data, order, best);
    }
    std::vector<uint32_t> wanted;
    for (const uint32_t i : order)
      if (data[i].length > 0) wanted.push_back(i);
    sums_.assign(2 * learners_.size() * stride, 0.0f);
    Totals totals;
    if (learners_.size() == 1)
      totals = train(nullptr, 0, data, wanted, best);
    else
      in_team(int(learners_.size()), [&](Team& team, int member) {
        const Totals own = train(&team, size_t(member), data, wanted, best);
        if (member == 0) totals = own;
      });
    for (Learner& one : learners_) *state_.run = one.end();  // all say the same
    return totals;
  }

  size_t batch() const override { return 1; }

  void read(float* out) override {
    if (!loaded_) return general_.read(out);
    if (fresh_) std::fill_n(out, layout_.n_weights(), 0.0f);  // where nothing occurs
    for (uint32_t id = 0; id < layout_.n_node && !fresh_; ++id)
      if (!parts_->occurs(id))
        algorithm_.read_row(Rows<W>{W}, id, id * size_t(W), W, out + id * size_t(W));
    std::vector<std::vector<float>> shrinks(learners_.size());
    for (size_t p = 0; p < learners_.size(); ++p) {
      const size_t n = parts_->parts[p].predicates.size();
      shrinks[p].resize(n + DocumentParts::lanes);
      for (size_t first = 0; first < n; first += DocumentParts::lanes)
        learners_[p].shrink(uint32_t(first), shrinks[p].data() + first);
    }
    parts_->for_each([&](size_t p, uint32_t row, uint32_t id, float ratio) {
      put_weights(out, id, learners_[p].weights(row), shrinks[p][row] * ratio);
    });
  }

  void sync() override {
    if (!loaded_) return;
    parts_->for_each([&](size_t p, uint32_t row, uint32_t id, float ratio) {
      put_weights(state_.weights, id, learners_[p].weights(row), ratio);
      learners_[p].put(state_.rows[id], row);
    });
    loaded_ = false;
  }

 private:
  bool is_own(const Dataset& data) const {
    const auto same = [](const auto& a, const auto& b) {
      return a.data() == b.data() && a.size() == b.size();
    };
    return same(data.sentences, data_.sentences) && same(data.positions, data_.positions) &&
           same(data.predicates, data_.predicates) && same(data.values, data_.values) &&
           data.legal.empty() && data.always == data_.always;
  }

  // Writes the weights of a row to those of a predicate.
  static void put_weights(float* all, uint32_t id, const float* weights, float scale) {
    float* const row = all + id * size_t(W);
    if constexpr (K == 1) {
      row[0] = -(weights[0] * scale);
      row[1] = weights[0] * scale;
    } else {
      Rows<K>::store(row, Rows<K>::load(weights) * scale);
    }
  }

  // Takes Python's arrays over, unless the weights of two labels are not each other's negatives.
  bool load() {
    const float* const w = state_.weights;
    fresh_ = state_.run->step == 0 && is_zero(w, layout_.n_weights());
    if (K == 1 && !fresh_)
      for (size_t i = 0; i < layout_.n_node * size_t(W); i += W)
        if (w[i] != -w[i + 1]) return false;
    const auto may_share = [&](uint32_t id, float ratio, uint32_t b) {
      if (fresh_) return true;
      const float *const x = w + id * size_t(W), *const y = w + b * size_t(W);
      return std::equal(x, x + W, y, [&](float x, float y) { return x == y * ratio; }) &&
             Learner::equal(state_.rows[id], state_.rows[b]);
    };
    parts_ =
        std::make_unique<DocumentParts>(data_, layout_.n_node, int(learners_.size()), may_share);
    for (size_t p = 0; p < learners_.size(); ++p) {
      const std::vector<uint32_t>& predicates = parts_->parts[p].predicates;
      learners_[p].reset(predicates.size() + 1, *state_.run);
      if (!fresh_) learners_[p].take(predicates, w + (K == 1), state_.rows, size_t(W));
    }
    return loaded_ = true;
  }

  // What one member of a team does, or all that is to be done where there is no team.
  Totals train(Team* team, size_t member, const Dataset& data, std::span<const uint32_t> wanted,
               int32_t* best) {
    const FlushToZero flush_to_zero;
    const size_t n_parts = learners_.size(), members = team ? size_t(team->size()) : 1;
    const size_t group = n_parts == 1 ? 1 : group_size;
    const auto for_each_part = [&](auto&& f) {
      for (size_t p = member; p < n_parts; p += members) f(learners_[p], parts_->parts[p], p);
    };
    for_each_part([&](Learner& one, const DocumentPart&, size_t) { one.begin(*state_.run); });
    DocumentGradient<K> gradient_of(layout_);
    Totals totals;
    size_t buffer = 0;  // the others may still read the sums of the group before
    for (size_t first = 0; first < wanted.size(); first += group, buffer = 1 - buffer) {
      const auto documents = wanted.subspan(first, std::min(group, wanted.size() - first));
      float* const sums = sums_.data() + buffer * n_parts * stride;
      for_each_part([&](Learner& one, const DocumentPart& part, size_t p) {
        one.begin_group();
        float* const own = sums + p * stride;
        for (size_t j = 0; j < documents.size(); ++j) one.score(part[documents[j]], own + j * K);
      });
      if (team) team->wait(int(member));
      for (size_t j = 0; j < documents.size(); ++j) {
        const uint32_t i = documents[j],
                       next = wanted[std::min(first + group + j, wanted.size() - 1)];
        alignas(64) float scores[K] = {0}, gradient[K];
        for (size_t p = 0; p < n_parts; ++p)
          for (int k = 0; k < K; ++k) scores[k] += sums[p * stride + j * K + k];
        totals += gradient_of(scores, data[i],
                              best && member == 0 ? best + data.sentences[i] : nullptr, gradient);
        for_each_part([&](Learner& one, const DocumentPart& part, size_t) {
          one.update(part[i], gradient, part[next]);
        });
      }
      for_each_part([](Learner& one, const DocumentPart&, size_t) { one.end_group(); });
    }
    return totals += gradient_of.rest();
  }

  const Layout layout_;
  const Dataset data_;
  const Arrays state_;
  Algorithm algorithm_;
  TrainingWith<Algorithm, W> general_;  // for what does not fit
  std::vector<Learner> learners_;       // one for each part
  std::unique_ptr<DocumentParts> parts_;
  bool fresh_ = false;       // whether it began with weights of 0
  bool loaded_ = false;      // whether the learners have what else Python's arrays hold
  std::vector<float> sums_;  // [2, parts, stride] of the scores of groups
};

// The form for documents, or null where the task is not of their kind.
template <template <int> class Learner, class Arrays>
std::unique_ptr<Training> document_training(const Values& values, const Task& task, Arrays state) {
  const Layout& layout = task.layout;
  if (layout.n_both > 0 || layout.n_edge > 0 || task.batch > 1 || !are_documents(task.data) ||
      !DocumentParts::has_room_for(task.data, task.threads))
    return nullptr;
  if (layout.n_labels == 2)
    return std::make_unique<DocumentTraining<Learner<1>>>(values, task, state);
  if (layout.width == 4) return std::make_unique<DocumentTraining<Learner<4>>>(values, task, state);
  if (layout.width == 8) return std::make_unique<DocumentTraining<Learner<8>>>(values, task, state);
  return nullptr;
}

}  // namespace adaptag
