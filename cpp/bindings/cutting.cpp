// Cutting of texts into words: Python strings in, lists of Python strings out.
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <thread>

#include "../parallel.hpp"
#include "../segmenter.hpp"
#include "../spaced_text.hpp"
#include "lexicon.hpp"
#include "word_cache.hpp"

using namespace nb::literals;

namespace adaptag {
namespace {

// Cuts texts, one at a time.
struct Cutter {
  virtual ~Cutter() = default;
  virtual void cut(std::span<const uint32_t> text, const ExtraWords* extra, uint8_t* starts,
                   float* probabilities) = 0;
};

template <class Value, int Roles>
struct CutterOf : Cutter {
  CutterOf(const PredictorTables& tables, Folding folding, float temperature)
      : predictor(tables), segmenter(predictor, folding, temperature) {}
  void cut(std::span<const uint32_t> text, const ExtraWords* extra, uint8_t* starts,
           float* probabilities) override {
    segmenter.set_extra_words(extra);
    segmenter.cut(text, starts, probabilities);
  }
  SegmentPredictor<Value> predictor;
  Segmenter<Value, Roles> segmenter;
};

class PySegmenter {
 public:
  PySegmenter(In<uint32_t> pages, In<uint32_t, 2> entries, In<int16_t, 3> character_rows,
              In<int32_t, 2> constant_rows, In<uint32_t, 2> slots, In<uint8_t> rows,
              uint32_t outside, int exponent, int value_bits, int n_tags, const std::string& fold,
              float temperature)
      : pages_(pages),
        entries_(entries),
        character_rows_(character_rows),
        constant_rows_(constant_rows),
        slots_(slots),
        rows_(rows),
        value_bits_(value_bits),
        n_tags_(n_tags),
        folding_(parse_folding(fold)),
        temperature_(temperature),
        tables_{span(pages),
                span(entries),
                span(character_rows),
                span(constant_rows),
                {reinterpret_cast<const PatternSlot*>(slots.data()), slots.shape(0)},
                span(rows),
                outside,
                exponent,
                0} {
    if ((value_bits != 8 && value_bits != 16) || (n_tags != 3 && n_tags != 4) ||
        slots.shape(1) != 4)
      throw std::invalid_argument("the tables of the predictor have a wrong form");
    check_temperature(temperature);
    tables_.longest = check_predictor(tables_, size_t(value_bits / 8));
  }

  // The words of a text.
  nb::list cut_text(nb::handle text, const PyLexicon* extra) {
    const std::shared_ptr<const ExtraWords> words = snapshot(extra);
    const Borrowed borrowed(*this);
    borrowed->codes.clear();
    append_codes(text, borrowed->codes);
    borrowed->starts.resize(borrowed->codes.size());
    {
      nb::gil_scoped_release release;
      borrowed->cutter->cut(borrowed->codes, words.get(), borrowed->starts.data(), nullptr);
    }
    return listed(text, borrowed->codes, borrowed->starts.data());
  }

  // The words of each text. Threads cut some texts at a time; this one makes the lists, which needs
  // the GIL, as soon as it can, and cuts where there is none to make.
  nb::list cut(nb::handle texts, const PyLexicon* extra, int threads) {
    const nb::tuple fixed(nb::borrow(texts));  // the list may change while the GIL is released
    Job job(fixed, snapshot(extra), false);
    nb::list out = nb::steal<nb::list>(PyList_New(Py_ssize_t(fixed.size())));
    if (!out.is_valid()) throw nb::python_error();
    with_workers(job, threads, [&](size_t k) {
      const nb::handle text = PyTuple_GetItem(fixed.ptr(), Py_ssize_t(k));
      nb::list words = listed(text, job.text(k), job.starts.data() + job.offsets[k]);
      PyList_SetItem(out.ptr(), Py_ssize_t(k), words.release().ptr());
    });
    return out;
  }

  // A part of a UTF-8 text with separators between the words, instead of its white space; line ends
  // stay. Where the part goes on with a line, a separator stands before its first word.
  nb::bytes spaced(nb::bytes text, nb::bytes separator, bool continues, const PyLexicon* extra) {
    const std::shared_ptr<const ExtraWords> words = snapshot(extra);
    const Borrowed borrowed(*this);
    {
      nb::gil_scoped_release release;
      decode_text({text.c_str(), text.size()}, borrowed->codes);
      borrowed->starts.resize(borrowed->codes.size());
      borrowed->cutter->cut(borrowed->codes, words.get(), borrowed->starts.data(), nullptr);
      write_spaced({text.c_str(), text.size()}, {separator.c_str(), separator.size()}, continues,
                   borrowed->codes, borrowed->starts, borrowed->output);
    }
    return nb::bytes(borrowed->output.data(), borrowed->output.size());
  }

  // Starts of words [T] and their probabilities [T], with the offsets of the texts [N + 1].
  nb::tuple marks(nb::handle texts, const PyLexicon* extra, int threads) {
    const nb::tuple fixed(nb::borrow(texts));
    Job job(fixed, snapshot(extra), true);
    with_workers(job, threads, [](size_t) {});
    return nb::make_tuple(numpy(std::move(job.offsets)), numpy(std::move(job.starts)),
                          numpy(std::move(job.probabilities)));
  }

 private:
  struct Worker {
    std::unique_ptr<Cutter> cutter;
    std::vector<uint8_t> starts;
    std::vector<uint32_t> codes;
    std::string output;
  };

  // A worker of the pool for as long as this lives; with the GIL held.
  class Borrowed {
   public:
    explicit Borrowed(PySegmenter& owner) : owner_(owner) {
      if (owner.idle_.empty()) {
        worker_ = owner.new_worker();
      } else {
        worker_ = std::move(owner.idle_.back());
        owner.idle_.pop_back();
      }
    }
    ~Borrowed() { owner_.idle_.push_back(std::move(worker_)); }
    Worker* operator->() const { return worker_.get(); }

   private:
    PySegmenter& owner_;
    std::unique_ptr<Worker> worker_;
  };

  std::unique_ptr<Worker> new_worker() const {
    auto worker = std::make_unique<Worker>();
    if (value_bits_ == 16)
      worker->cutter = new_cutter<int16_t>();
    else
      worker->cutter = new_cutter<int8_t>();
    return worker;
  }
  template <class Value>
  std::unique_ptr<Cutter> new_cutter() const {
    if (n_tags_ == 3) return std::make_unique<CutterOf<Value, 3>>(tables_, folding_, temperature_);
    return std::make_unique<CutterOf<Value, 4>>(tables_, folding_, temperature_);
  }

  static std::shared_ptr<const ExtraWords> snapshot(const PyLexicon* extra) {
    return extra ? extra->snapshot() : nullptr;
  }

  // Texts that are cut by several threads, `chunk` texts at a time.
  struct Job {
    static constexpr size_t chunk = 16;

    Job(const nb::tuple& all, std::shared_ptr<const ExtraWords> words, bool with_probabilities)
        : words(std::move(words)) {
      offsets.reserve(all.size() + 1);
      offsets.push_back(0);
      for (nb::handle text : all) {
        append_codes(text, codes);
        offsets.push_back(int64_t(codes.size()));
      }
      starts.resize(codes.size());
      if (with_probabilities) probabilities.resize(codes.size(), 0.0f);
      done = std::vector<std::atomic<bool>>((size() + chunk - 1) / chunk);
    }

    // Cuts the texts of one chunk that nobody has taken; false: there are no more.
    bool cut_some(Cutter& cutter) {
      const size_t k = next.fetch_add(1);
      if (k >= done.size()) return false;
      try {
        for (size_t i = k * chunk; i < std::min(size(), (k + 1) * chunk); ++i)
          cutter.cut(text(i), words.get(), starts.data() + offsets[i],
                     probabilities.empty() ? nullptr : probabilities.data() + offsets[i]);
      } catch (...) {
        failed = true;
        finish(k);
        throw;
      }
      finish(k);
      return true;
    }
    size_t size() const { return offsets.size() - 1; }
    std::span<const uint32_t> text(size_t i) const {
      return {codes.data() + offsets[i], codes.data() + offsets[i + 1]};
    }
    void finish(size_t k) {
      done[k].store(true, std::memory_order_release);
      done[k].notify_one();
    }

    std::shared_ptr<const ExtraWords> words;
    std::vector<uint32_t> codes;   // [T] of all texts
    std::vector<int64_t> offsets;  // [N + 1]
    std::vector<uint8_t> starts;
    std::vector<float> probabilities;
    std::atomic<size_t> next{0};
    std::atomic<bool> failed{false};
    std::vector<std::atomic<bool>> done;  // of each chunk
  };

  // Cuts all texts and calls finish(k) for each, in order, with the GIL held.
  template <class F>
  void with_workers(Job& job, int threads, F&& finish) {
    if (threads < 1) throw std::invalid_argument("threads: at least 1 is needed");
    const auto n = int(std::clamp<size_t>(job.done.size(), 1, size_t(threads)));
    std::vector<std::unique_ptr<Borrowed>> workers;
    for (int k = 0; k < n; ++k) workers.push_back(std::make_unique<Borrowed>(*this));
    nb::gil_scoped_release release;
    in_parallel(n, [&](int thread) {
      Cutter& cutter = *(*workers[thread])->cutter;
      if (thread > 0) {
        while (job.cut_some(cutter)) {
        }
        return;
      }
      for (size_t k = 0; k < job.done.size(); ++k) {
        while (!job.done[k].load(std::memory_order_acquire))
          if (!job.cut_some(cutter)) job.done[k].wait(false);
        if (job.failed) return;  // the thread that failed says why
        nb::gil_scoped_acquire acquire;
        for (size_t i = k * Job::chunk; i < std::min(job.size(), (k + 1) * Job::chunk); ++i)
          finish(i);
      }
    });
  }

  // The words of a text as a list.
  nb::list listed(nb::handle text, std::span<const uint32_t> codes, const uint8_t* starts) {
    const size_t n = codes.size();
    nb::list out = nb::steal<nb::list>(PyList_New(std::count(starts, starts + n, 1)));
    if (!out.is_valid()) throw nb::python_error();
    for (size_t t = 0, stop = 0, k = 0; t < n; t = stop, ++k) {
      while (++stop < n && !starts[stop]) {
      }
      PyList_SetItem(out.ptr(), Py_ssize_t(k), cache_.word(text, t, codes.subspan(t, stop - t)));
    }
    return out;
  }

  In<uint32_t> pages_;  // the arrays that the tables are views of
  In<uint32_t, 2> entries_;
  In<int16_t, 3> character_rows_;
  In<int32_t, 2> constant_rows_;
  In<uint32_t, 2> slots_;
  In<uint8_t> rows_;
  const int value_bits_, n_tags_;
  const Folding folding_;
  const float temperature_;
  PredictorTables tables_;
  WordCache cache_;
  std::vector<std::unique_ptr<Worker>> idle_;  // with the GIL held
};

}  // namespace
}  // namespace adaptag

void bind_cutting(nb::module_& m) {
  using namespace adaptag;
  nb::class_<PySegmenter>(m, "Segmenter")
      .def(nb::init<In<uint32_t>, In<uint32_t, 2>, In<int16_t, 3>, In<int32_t, 2>, In<uint32_t, 2>,
                    In<uint8_t>, uint32_t, int, int, int, const std::string&, float>(),
           "pages"_a.noconvert(), "entries"_a.noconvert(), "character_rows"_a.noconvert(),
           "constant_rows"_a.noconvert(), "slots"_a.noconvert(), "rows"_a.noconvert(), "outside"_a,
           "exponent"_a, "value_bits"_a, "n_tags"_a, "fold"_a, "temperature"_a = 1.0f)
      .def("cut_text", &PySegmenter::cut_text, "text"_a.none(), "extra"_a.none())
      .def("cut", &PySegmenter::cut, "texts"_a, "extra"_a.none(), "threads"_a)
      .def("spaced", &PySegmenter::spaced, "text"_a, "separator"_a, "continues"_a, "extra"_a.none())
      .def("marks", &PySegmenter::marks, "texts"_a, "extra"_a.none(), "threads"_a);
}
