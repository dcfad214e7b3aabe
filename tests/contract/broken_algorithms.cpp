// Algorithms that break the contract of training algorithms, each in one way. With MISSPELT, the
// first is run, which must not compile.
#include "trainers/trainer.hpp"

namespace adaptag {

struct Plain {
  static constexpr Hooks hooks{};
  struct RowState {};
  struct RunState {
    uint64_t step;
  };
  static Declaration declaration() {
    return {"plain", "", "", 1, {}, {}, {{"step", "uint64"}}, ""};
  }

  Plain(const Values&, const Task&, State<RowState, RunState>) {}
  void begin_update(size_t) {}
  void end_update() {}
  void prefetch(uint32_t) const {}
  template <int W>
  Totals direction(Lattice<W>& lattice, const int32_t* gold) {
    return likelihood_gradient(lattice, gold);
  }
  template <class Ops>
  void update(const Ops&, uint32_t, size_t, const float*, int, float) {}
  template <class Ops>
  void read_row(const Ops&, uint32_t, size_t, int, float*) {}
};
static_assert(TrainingAlgorithm<Plain, 8>);

struct Misspelt : Plain {
  using Plain::Plain;
  static constexpr Hooks hooks{.refresh = true};
  template <class Ops>
  void refersh(const Ops&, uint32_t, size_t, int, size_t) {}
};
static_assert(!TrainingAlgorithm<Misspelt, 8>);

struct Refreshing : Plain {
  using Plain::Plain;
  static constexpr Hooks hooks{.refresh = true};
  template <class Ops>
  void refresh(const Ops&, uint32_t, size_t, int, size_t) {}
};
static_assert(TrainingAlgorithm<Refreshing, 8>);

struct Undeclared : Refreshing {
  using Refreshing::Refreshing;
  static constexpr Hooks hooks{};
};
static_assert(!TrainingAlgorithm<Undeclared, 8>);

struct UndeclaredWithOtherArguments : Plain {
  using Plain::Plain;
  void refresh(uint32_t) {}
};
static_assert(!TrainingAlgorithm<UndeclaredWithOtherArguments, 8>);

struct WrongArguments : Plain {
  using Plain::Plain;
  static constexpr Hooks hooks{.refresh = true};
  template <class Ops>
  void refresh(const Ops&, uint32_t, size_t, int) {}
};
static_assert(!TrainingAlgorithm<WrongArguments, 8>);

struct WrongResult : Plain {
  using Plain::Plain;
  static constexpr Hooks hooks{.scale = true};
  double scale(uint32_t) const { return 1; }
};
static_assert(!TrainingAlgorithm<WrongResult, 8>);

struct HalfASweep : Plain {
  using Plain::Plain;
  static constexpr Hooks hooks{.sweep = true};
  bool sweep_due() const { return true; }
  template <class Ops>
  void sweep_row(const Ops&, uint32_t, size_t, int) {}
};
static_assert(!TrainingAlgorithm<HalfASweep, 8>);

struct HalfAWindow : Plain {
  using Plain::Plain;
  static constexpr Hooks hooks{.close_window = true};
  void close_window(uint32_t) {}
};
static_assert(!TrainingAlgorithm<HalfAWindow, 8>);

struct Stepping : Plain {
  using Plain::Plain;
  static constexpr Hooks hooks{.step = true};
  template <class Ops, int W>
  double squared_length(const Ops&, const Gathered<W>&) const {
    return 0;
  }
  Step step(const Totals&, double) const { return {}; }
  template <class Ops>
  void update(const Ops&, uint32_t, size_t, const float*, int, Step) {}
};
static_assert(TrainingAlgorithm<Stepping, 8>);

struct StepOfAnotherDirection : Stepping {
  using Stepping::Stepping;
  Step step(const Margin&, double) const { return {}; }
};
static_assert(!TrainingAlgorithm<StepOfAnotherDirection, 8>);

struct StepWithoutItsLength : Plain {
  using Plain::Plain;
  static constexpr Hooks hooks{.step = true};
  Step step(const Totals&, double) const { return {}; }
  template <class Ops>
  void update(const Ops&, uint32_t, size_t, const float*, int, Step) {}
};
static_assert(!TrainingAlgorithm<StepWithoutItsLength, 8>);

struct UpdateWithoutItsStep : Stepping {
  using Stepping::Stepping;
  template <class Ops>
  void update(const Ops&, uint32_t, size_t, const float*, int, float) {}
};
static_assert(!TrainingAlgorithm<UpdateWithoutItsStep, 8>);

struct PreparesNothing : Plain {
  using Plain::Plain;
  static constexpr Hooks hooks{.prepare = true};
  void prepare() {}
};
static_assert(!TrainingAlgorithm<PreparesNothing, 8>);

struct SpecialFormOfAnObject : Plain {
  using Plain::Plain;
  static constexpr Hooks hooks{.special_form = true};
  std::unique_ptr<Training> special_form(const Values&, const Task&, State<RowState, RunState>) {
    return nullptr;
  }
};
static_assert(!TrainingAlgorithm<SpecialFormOfAnObject, 8>);

struct NoHooks {
  static Declaration declaration() { return Plain::declaration(); }
};
static_assert(!TrainingAlgorithm<NoHooks, 8>);

#ifdef MISSPELT
TrainingWith<Misspelt, 8>* training;
#endif

}  // namespace adaptag
