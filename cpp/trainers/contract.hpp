// What a training algorithm must have and may have, checked by the compiler.
//
// clang-format off
// An algorithm is one class with
//   declaration()                     its name, what it optimises, its parameters and its state
//   hooks                             which of the optional hooks below it has
//   RowState, RunState                state per predicate and per run, fields as declared; zeros at start
//   A(values, task, state)            a constructor
//   begin_update(size), end_update()  around each update, of so many sentences
//   direction(lattice, gold)          inference: fills the update direction, returns the Totals of the
//                                     sentence, or a class derived from it
//   update(ops, id, i, d, n, v)       weights[i …] += step · v · d, for a block of n weights
//   read_row(ops, id, i, n, out)      the weights as the user gets them; changes no state
//   prefetch(id)                      brings a row's state into the cache
// and those of these hooks that it declares
//   prepare(task)                     fills the per-weight state from the data, before training
//   refresh(ops, id, i, n, k)         makes a row current before sentence k of the update reads it
//   scale(id)                         what a stored row must be multiplied by: a shrink that was put off
//   closes_window(), close_window(id) after all sentences of an update are read, before they are applied
//   squared_length(ops, gathered)     of some rows' part of one sentence's direction: parts add up
//   step(totals, squared_length)      the Step of one sentence, from what `direction` returned and the
//                                     sum of all parts; `update` gets it in the place of v
//   sweep_due(), sweep_row(ops, id, i, n), end_sweep()   when and how to change all rows between updates
//   special_form(values, task, state) a run of its own for data of some kind, e.g. of one token each;
//                                     null where the data are not of that kind
// `sparse_direction` is no function: its directions are zero but at the positions marked as changed.
// clang-format on
//
// A hook that is declared must be there with its signature, and one that is there must be declared:
// a declared hook that is misspelt does not compile.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>

#include "../training.hpp"
#include "declaration.hpp"
#include "gathered.hpp"

namespace adaptag {

// Declared as e.g. static constexpr Hooks hooks{.refresh = true, .scale = true};
struct Hooks {
  bool sparse_direction = false;
  bool prepare = false;
  bool refresh = false;
  bool scale = false;
  bool close_window = false;
  bool step = false;
  bool sweep = false;
  bool special_form = false;
};

namespace contract {

// A name that a class has too is ambiguous in what derives from both: so names are found whatever
// their signatures are.
struct Names {
  int prepare, refresh, scale, closes_window, close_window, squared_length, step;
  int sweep_due, sweep_row, end_sweep, special_form;
};
template <class A>
struct Probe : A, Names {};

template <class A>
using StateOf = State<typename A::RowState, typename A::RunState>;
template <class A, int W>
using DirectionOf =
    decltype(std::declval<A&>().direction(std::declval<Lattice<W>&>(), (const int32_t*)nullptr));

template <class A>
concept Declares = requires {
  { A::declaration() } -> std::same_as<Declaration>;
  { A::hooks } -> std::same_as<const Hooks&>;
  requires std::is_trivially_copyable_v<typename A::RowState>;
  requires std::is_trivially_copyable_v<typename A::RunState>;
};

template <class A, int W>
concept Updates = requires(A a, const A c, Rows<W> ops, uint32_t id, size_t i, const float* delta,
                           float* out, int n, std::conditional_t<A::hooks.step, Step, float> size) {
  requires std::constructible_from<A, const Values&, const Task&, StateOf<A>>;
  { a.begin_update(i) } -> std::same_as<void>;
  { a.end_update() } -> std::same_as<void>;
  requires std::derived_from<DirectionOf<A, W>, Totals>;
  { a.update(ops, id, i, delta, n, size) } -> std::same_as<void>;
  { a.read_row(ops, id, i, n, out) } -> std::same_as<void>;
  { c.prefetch(id) } -> std::same_as<void>;
};

template <class A>
concept PrepareAsDeclared = (!A::hooks.prepare || requires(A a, const Task& task) {
                              { a.prepare(task) } -> std::same_as<void>;
                            }) && (A::hooks.prepare || requires { &Probe<A>::prepare; });

template <class A, int W>
concept RefreshAsDeclared =
    (!A::hooks.refresh || requires(A a, Rows<W> ops, uint32_t id, size_t i, int n, size_t k) {
      { a.refresh(ops, id, i, n, k) } -> std::same_as<void>;
    }) && (A::hooks.refresh || requires { &Probe<A>::refresh; });

template <class A>
concept ScaleAsDeclared = (!A::hooks.scale || requires(const A a, uint32_t id) {
                            { a.scale(id) } -> std::same_as<float>;
                          }) && (A::hooks.scale || requires { &Probe<A>::scale; });

template <class A>
concept CloseWindowAsDeclared = (!A::hooks.close_window || requires(A a, uint32_t id) {
                                  { a.closes_window() } -> std::same_as<bool>;
                                  { a.close_window(id) } -> std::same_as<void>;
                                }) && (A::hooks.close_window || requires {
                                  &Probe<A>::closes_window;
                                  &Probe<A>::close_window;
                                });

template <class A, int W>
concept StepAsDeclared = (!A::hooks.step ||
                          requires(const A a, Rows<W> ops, const Gathered<W>& gathered,
                                   const DirectionOf<A, W>& totals, double squared_length) {
                            { a.squared_length(ops, gathered) } -> std::same_as<double>;
                            { a.step(totals, squared_length) } -> std::same_as<Step>;
                          }) &&
                         (A::hooks.step || requires {
                           &Probe<A>::squared_length;
                           &Probe<A>::step;
                         });

template <class A, int W>
concept SweepAsDeclared =
    (!A::hooks.sweep || requires(A a, Rows<W> ops, uint32_t id, size_t i, int n) {
      { a.sweep_due() } -> std::same_as<bool>;
      { a.sweep_row(ops, id, i, n) } -> std::same_as<void>;
      { a.end_sweep() } -> std::same_as<void>;
    }) && (A::hooks.sweep || requires {
      &Probe<A>::sweep_due;
      &Probe<A>::sweep_row;
      &Probe<A>::end_sweep;
    });

template <class A>
concept SpecialFormAsDeclared =
    (!A::hooks.special_form || requires(const Values& values, const Task& task, StateOf<A> state) {
      { A::special_form(values, task, state) } -> std::same_as<std::unique_ptr<Training>>;
    }) && (A::hooks.special_form || requires { &Probe<A>::special_form; });

}  // namespace contract

// W: the width of rows that it is compiled for.
template <class A, int W>
concept TrainingAlgorithm =
    contract::Declares<A> && contract::Updates<A, W> && contract::PrepareAsDeclared<A> &&
    contract::RefreshAsDeclared<A, W> && contract::ScaleAsDeclared<A> &&
    contract::CloseWindowAsDeclared<A> && contract::StepAsDeclared<A, W> &&
    contract::SweepAsDeclared<A, W> && contract::SpecialFormAsDeclared<A>;

}  // namespace adaptag
