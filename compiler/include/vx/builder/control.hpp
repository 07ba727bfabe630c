// Loops and branches.
#ifndef VX_BUILDER_CONTROL_HPP
#define VX_BUILDER_CONTROL_HPP

#include "vx/builder/functions.hpp"

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++26-extensions"
#endif

namespace vx::build {

namespace detail {

/// One tensor of a tuple of one.
template <class T>
auto unwrap(const T &tuple) {
  if constexpr (std::tuple_size_v<T> == 1)
    return std::get<0>(tuple);
  else
    return tuple;
}
template <class T>
auto wrap(const T &value) {
  if constexpr (IsTensor<T>::value)
    return std::tuple(value);
  else
    return value;
}

inline int32_t endBody(vxb_graph *graph, const std::vector<Ref> &results) {
  std::vector<vxb_value> ids;
  for (const Ref &ref : results)
    ids.push_back(ref.id);
  int32_t body = -1;
  check(graph, vxb_body_end(graph, ids.size(), ids.data(), &body));
  return body;
}

/// A Loop of `count` iterations. `body` takes the number of the iteration and the carried values. It returns the next
/// carried values, then the values to stack.
template <class... S, class F>
std::vector<Ref> loopOf(const Ref &count, const std::tuple<S...> &start, const Place &place, size_t stacked, F body) {
  vxb_graph *graph = count.graph;
  const std::vector<Ref> begin = std::apply([](const auto &...each) { return std::vector<Ref>{each.ref()...}; }, start);
  std::vector<vxb_value> ids;
  for (const Ref &ref : begin)
    ids.push_back(ref.id);
  std::vector<vxb_value> inner(begin.size() + 2, -2);
  const vxb_place raw = place.raw();
  check(graph, vxb_body_begin(graph, 1, ids.size(), ids.data(), &raw, inner.data()));
  // The second value says whether the loop runs: it does.
  std::vector<Ref> values;
  for (size_t i = 0; i < inner.size() - 1; ++i)
    values.push_back({graph, inner[i]});
  const int32_t number = endBody(graph, body(values));
  Node node("Loop", count, place);
  node.none();
  for (const Ref &ref : begin)
    node.in(ref);
  return node.setBody("body", number).outs(begin.size() + stacked);
}

} // namespace detail

/// Calls `body(i, s...)` for i = 0 to count - 1. It returns the next s, as a tensor or a tuple, of the same types. The
/// result is the last s.
template <class F, class... S>
auto loop(const Scalar<i64> &count, const std::tuple<S...> &start, F body, Loc where = Loc::current()) {
  const detail::Place place{"", "loop", where};
  vxb_graph *graph = detail::graphOf(count.ref());
  const auto results = detail::loopOf(
      detail::lower<i64>(count.ref(), graph, place), start, place, 0, [&](const std::vector<detail::Ref> &values) {
        auto next = std::apply([&](const auto &...each) { return body(Scalar<i64>(values[0]), each...); },
                               detail::fromRefs<std::tuple<S...>>(values, 1));
        const std::tuple<S...> carried = detail::wrap(next);
        return detail::refsOf(carried);
      });
  return detail::unwrap(detail::fromRefs<std::tuple<S...>>(results));
}
template <class F, class D, Dim... S>
auto loop(const Scalar<i64> &count, const Tensor<D, S...> &start, F body, Loc where = Loc::current()) {
  return loop(count, std::tuple(start), body, where);
}

/// Calls `body(x[t], s...)` for each position t of the first dimension of `x`. It returns a pair of the next s, as a
/// tensor or a tuple, and a tensor y. The result is a pair of the last s, and all y with the first dimension of `x`
/// before their own.
template <class F, class D, Dim T, Dim... X, class... S>
auto scan(const Tensor<D, T, X...> &x, const std::tuple<S...> &start, F body, Loc where = Loc::current()) {
  const detail::Place place{"", "scan", where};
  detail::Ref size = detail::Node("Shape", x.ref(), place).set("start", int64_t(0)).set("end", 1).out();
  detail::Ref count = detail::Node("Squeeze", size, place).out();
  using Pair = decltype(body(std::declval<Tensor<D, X...>>(), std::declval<S>()...));
  using Y = typename Pair::second_type;
  const auto results = detail::loopOf(count, start, place, 1, [&](const std::vector<detail::Ref> &values) {
    const Tensor<D, X...> row(detail::Node("Gather", x.ref(), place).in(values[0]).set("axis", int64_t(0)).out());
    const Pair pair = std::apply([&](const auto &...each) { return body(row, each...); },
                                 detail::fromRefs<std::tuple<S...>>(values, 1));
    const std::tuple<S...> carried = detail::wrap(pair.first);
    std::vector<detail::Ref> next = detail::refsOf(carried);
    next.push_back(pair.second.ref());
    return next;
  });
  constexpr auto out = [] {
    auto made = detail::anyDims<Y::rank + 1>();
    made[0] = T;
    for (size_t i = 0; i < Y::rank; ++i)
      made[i + 1] = Y::dims()[i];
    return made;
  }();
  return std::pair(detail::unwrap(detail::fromRefs<std::tuple<S...>>(results)),
                   TensorOf<typename Y::dtype, out>(results.back()));
}
template <class F, class D, Dim T, Dim... X, class E, Dim... S>
auto scan(const Tensor<D, T, X...> &x, const Tensor<E, S...> &start, F body, Loc where = Loc::current()) {
  return scan(x, std::tuple(start), body, where);
}

/// The result of `yes` if the condition holds, else that of `no`: a tensor or a tuple, of one type. Only that one is
/// computed.
template <class Yes, class No>
auto branch(const Scalar<b1> &condition, Yes yes, No no, Loc where = Loc::current()) {
  const detail::Place place{"", "branch", where};
  vxb_graph *graph = condition.ref().graph;
  using R = decltype(yes());
  auto record = [&](auto &body) {
    const vxb_place raw = place.raw();
    detail::check(graph, vxb_body_begin(graph, 0, 0, nullptr, &raw, nullptr));
    const R result = body();
    return detail::endBody(graph, detail::refsOf(result));
  };
  const int32_t first = record(yes), second = record(no);
  return detail::fromRefs<R>(detail::Node("If", condition.ref(), place)
                                 .setBody("then_branch", first)
                                 .setBody("else_branch", second)
                                 .outs(detail::countOf<R>()));
}

} // namespace vx::build

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif
