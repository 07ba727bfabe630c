// Tensors: values of a graph with an element type and sizes in the program's types.
#ifndef VX_BUILDER_TENSOR_HPP
#define VX_BUILDER_TENSOR_HPP

#include "vx/builder/graph.hpp"

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++26-extensions"
#endif

namespace vx::build {

namespace detail {

/// An argument and its source position: operators have no arguments of their own for that.
template <class T>
struct At {
  const T &value;
  Loc where;
  At(const T &value, Loc where = Loc::current()) : value(value), where(where) {}
};

/// A value, of a number a constant of the type.
template <class D>
Ref lower(Ref ref, vxb_graph *graph, const Place &place) {
  if (!ref.isNumber)
    return ref;
  if (!graph)
    fail(nullptr, place, "expected a call in Graph::function, got one outside of a function");
  return scalar<D>(graph, place, ref.number);
}
inline vxb_graph *graphOf(const Ref &a, const Ref &b = {}, const Ref &c = {}) {
  return a.graph ? a.graph : b.graph ? b.graph : c.graph ? c.graph : current;
}

/// The result of an op of two tensors: of one shape, or one of them a scalar.
template <class D, Dim... S, Dim... E>
auto commonShape(const Tensor<D, S...> &, const Tensor<D, E...> &) {
  if constexpr (sizeof...(E) == 0)
    return std::type_identity<Tensor<D, S...>>{};
  else if constexpr (sizeof...(S) == 0)
    return std::type_identity<Tensor<D, E...>>{};
  else if constexpr (sizeof...(S) != sizeof...(E))
    return std::type_identity<Tensor<D, S...>>{};
  else
    return std::type_identity<Tensor<D, better(S, E)...>>{};
}

/// A sentence about the first dimension in which two tensors differ.
template <size_t R>
constexpr Message differs(const char *op, const Dims<R> &a, const Dims<R> &b) {
  const size_t bad = findClash(a, b);
  return bad == R ? Message()
                  : message(op, ": dimension ", static_cast<int64_t>(bad), " is ", a[bad], " on the left, ", b[bad],
                            " on the right");
}

template <size_t R>
constexpr bool needUnify(const Dims<R> &a, const Dims<R> &b) {
  for (size_t i = 0; i < R; ++i)
    if (a[i].isAny() || a[i] != b[i])
      return true;
  return false;
}

/// A node of ONNX of two tensors. If their shapes are not proved equal, the call checks that.
template <class R, class D, Dim... S, Dim... E>
R binary(const char *op, const Tensor<D, S...> &a, const Tensor<D, E...> &b, const Place &place) {
  vxb_graph *graph = graphOf(a.ref(), b.ref());
  Ref left = lower<D>(a.ref(), graph, place), right = lower<D>(b.ref(), graph, place);
  if constexpr (sizeof...(S) == sizeof...(E) && sizeof...(S) > 0)
    if constexpr (needUnify(Dims<sizeof...(S)>{S...}, Dims<sizeof...(E)>{E...}))
      unify(left, right, place);
  return R(Node(op, left, place).in(right).out());
}

template <Dim... S, size_t... I>
constexpr auto withoutAxes(std::index_sequence<I...>, const std::array<int, sizeof...(I)> &axes) {
  constexpr size_t rank = sizeof...(S), count = sizeof...(I) > rank ? rank : sizeof...(I);
  const Dims<rank> dims = [] {
    if constexpr (rank > 0)
      return Dims<rank>{S...};
    else
      return Dims<0>{};
  }();
  Dims<rank - count> kept = anyDims<rank - count>();
  size_t next = 0;
  for (size_t d = 0; d < rank; ++d) {
    bool isGone = false;
    for (int one : axes)
      isGone = isGone || axis(one, rank) == d;
    if (!isGone && next < kept.size())
      kept[next++] = dims[d];
  }
  return kept;
}

} // namespace detail

/// A value of the function that is being built. `S` are its sizes, row-major: numbers, names, or `any`. Only `as` turns
/// a tensor into one with more exact sizes, which the graph or the call checks. A tensor is two words; copies are the
/// same value.
template <class D, Dim... S>
class Tensor {
public:
  using dtype = D;
  static constexpr size_t rank = sizeof...(S);
  static constexpr std::array<Dim, rank> dims() {
    if constexpr (rank > 0)
      return {S...};
    else
      return {};
  }

  Tensor() = default;
  explicit Tensor(const detail::Ref &ref) : value(ref) {}
  /// A number as a scalar.
  Tensor(double number)
    requires(rank == 0)
  {
    value.number = number;
    value.isNumber = true;
  }
  /// The same tensor with more exact sizes.
  template <Dim... E>
    requires(sizeof...(E) == rank && rank > 0)
  Tensor(const Tensor<D, E...> &other) : value(other.ref()) {
    constexpr std::array<Dim, rank> want{S...}, have{E...};
    constexpr bool isKnown = [&] {
      for (size_t i = 0; i < rank; ++i)
        if (!want[i].isAny() && want[i] != have[i])
          return false;
      return true;
    }();
    VX_BUILDER_CHECK(isKnown,
                     message("expected ", want, ", got ", have, "; .as<...>() checks it when the graph is built"));
  }

  const detail::Ref &ref() const { return value; }

  // Views and types.
  /// The same tensor of these sizes. A size that is not known is checked when the graph is built, or by the call.
  template <Dim... E>
  Tensor<D, E...> as(Loc where = Loc::current()) const {
    VX_BUILDER_CHECK(sizeof...(E) == rank, message("as: expected ", static_cast<int64_t>(rank), " dimensions, got ",
                                                   static_cast<int64_t>(sizeof...(E))));
    return Tensor<D, E...>(detail::as(value, {detail::toText(E)...}, {"", "as", where}));
  }
  /// The elements in their order with other sizes; one of them may be `any`, which follows from the others.
  template <Dim... E>
  Tensor<D, E...> reshape(Loc where = Loc::current()) const {
    static_assert(((E.isAny() ? 1 : 0) + ... + 0) <= 1, "vx: reshape: one size at most is any");
    const detail::Place place{"", "reshape", where};
    const vxb_place raw = place.raw();
    const vxb_dim sizes[] = {detail::toRaw(E)..., {-1, nullptr}};
    detail::Ref list{value.graph};
    detail::check(value.graph, vxb_sizes(value.graph, sizeof...(E), sizes, &raw, &list.id));
    return Tensor<D, E...>(detail::Node("Reshape", value, place).in(list).set("allowzero", 1).out());
  }
  /// Dimension i of the result is dimension P[i].
  template <int... P>
  auto transpose(Loc where = Loc::current()) const {
    static_assert(sizeof...(P) == rank, "vx: transpose: expected a position for each dimension");
    static_assert((detail::isAxis(P, rank) && ...), "vx: transpose: the tensor has no such dimension");
    constexpr auto out = [] {
      constexpr std::array<int, sizeof...(P)> order{P...};
      auto made = dims();
      for (size_t i = 0; i < rank && i < order.size(); ++i)
        if (detail::isAxis(order[i], rank))
          made[i] = dims()[detail::axis(order[i], rank)];
      return made;
    }();
    const detail::Place place{"", "transpose", where};
    return TensorOf<D, out>(detail::Node("Transpose", value, place)
                                .set("perm", std::vector<int64_t>{static_cast<int64_t>(detail::axis(P, rank))...})
                                .out());
  }
  /// With a dimension of 1 at position A of the result.
  template <int A>
  auto unsqueeze(Loc where = Loc::current()) const {
    static_assert(detail::isAxis(A, rank + 1), "vx: unsqueeze: the result has no such dimension");
    constexpr size_t at = detail::axis(A, rank + 1);
    constexpr auto out = [] {
      auto made = detail::anyDims<rank + 1>();
      for (size_t i = 0; i <= rank; ++i)
        made[i] = i < at ? dims()[i] : i == at ? Dim(1) : dims()[i - 1];
      return made;
    }();
    const detail::Place place{"", "unsqueeze", where};
    return TensorOf<D, out>(
        detail::Node("Unsqueeze", value, place).in(detail::list(value.graph, place, {static_cast<int64_t>(at)})).out());
  }
  /// Without dimension A, which has the size 1.
  template <int A>
  auto squeeze(Loc where = Loc::current()) const {
    static_assert(detail::isAxis(A, rank), "vx: squeeze: the tensor has no such dimension");
    constexpr Dim gone = dims()[detail::axis(A, rank)];
    VX_BUILDER_CHECK(!clash(gone, Dim(1)),
                     message("squeeze: dimension ", static_cast<int64_t>(A), " is ", gone, ", expected 1"));
    constexpr auto out = detail::withoutAxes<S...>(std::make_index_sequence<1>(), {A});
    const detail::Place place{"", "squeeze", where};
    return TensorOf<D, out>(detail::Node("Squeeze", value, place)
                                .in(detail::list(value.graph, place, {static_cast<int64_t>(detail::axis(A, rank))}))
                                .out());
  }
  /// Repeated to these sizes: of each dimension it has the size or 1, and the last ones are its own.
  template <Dim... E>
  Tensor<D, E...> broadcast(Loc where = Loc::current()) const {
    static_assert(sizeof...(E) >= rank, "vx: broadcast: expected as many dimensions as the tensor has, or more");
    constexpr std::array<Dim, sizeof...(E)> want{E...};
    constexpr size_t bad = [&] {
      for (size_t i = 0; i < rank && sizeof...(E) >= rank; ++i)
        if (dims()[i] != Dim(1) && clash(dims()[i], want[sizeof...(E) - rank + i]))
          return i;
      return rank;
    }();
    VX_BUILDER_CHECK(bad == rank, message("broadcast: expected ", want, ", got ", dims()));
    const detail::Place place{"", "broadcast", where};
    const vxb_place raw = place.raw();
    const vxb_dim sizes[] = {detail::toRaw(E)..., {-1, nullptr}};
    detail::Ref own = detail::lower<D>(value, detail::graphOf(value), place), list{own.graph};
    detail::check(own.graph, vxb_sizes(own.graph, sizeof...(E), sizes, &raw, &list.id));
    return Tensor<D, E...>(detail::Node("Expand", own, place).in(list).out());
  }
  /// The elements as another type, as C++ converts them.
  template <class D2>
  Tensor<D2, S...> to(Loc where = Loc::current()) const {
    const detail::Place place{"", "to", where};
    return Tensor<D2, S...>(
        detail::Node("Cast", detail::lower<D>(value, detail::graphOf(value), place), place).set("to", D2::type).out());
  }
  /// Positions Start to End - 1 of dimension A, each Step-th of them.
  template <int A, int64_t Start, int64_t End, int64_t Step = 1>
  auto slice(Loc where = Loc::current()) const {
    static_assert(detail::isAxis(A, rank), "vx: slice: the tensor has no such dimension");
    static_assert(Start >= 0 && End >= Start && Step >= 1,
                  "vx: slice: expected 0 <= start <= end and a step of 1 or more");
    constexpr size_t at = detail::axis(A, rank);
    VX_BUILDER_CHECK(
        !dims()[at].isNumber() || End <= dims()[at].size,
        message("slice: dimension ", static_cast<int64_t>(A), " is ", dims()[at], ", expected positions up to ", End));
    constexpr auto out = [] {
      auto made = dims();
      made[at] = made[at].isNumber() ? Dim((End - Start + Step - 1) / Step) : any;
      return made;
    }();
    const detail::Place place{"", "slice", where};
    auto list = [&](int64_t number) { return detail::list(value.graph, place, {number}); };
    return TensorOf<D, out>(detail::Node("Slice", value, place)
                                .in(list(Start))
                                .in(list(End))
                                .in(list(static_cast<int64_t>(at)))
                                .in(list(Step))
                                .out());
  }
  /// Position `index` of dimension A, which goes away. A negative one counts from the end.
  template <int A>
  auto select(const Tensor<i64> &index, Loc where = Loc::current()) const {
    static_assert(detail::isAxis(A, rank), "vx: select: the tensor has no such dimension");
    constexpr auto out = detail::withoutAxes<S...>(std::make_index_sequence<1>(), {A});
    const detail::Place place{"", "select", where};
    return TensorOf<D, out>(detail::Node("Gather", value, place)
                                .in(detail::lower<i64>(index.ref(), value.graph, place))
                                .set("axis", static_cast<int64_t>(detail::axis(A, rank)))
                                .out());
  }

  // Reductions: of all elements, or over dimensions A, which go away.
  Scalar<D> sum(Loc where = Loc::current()) const { return all("ReduceSum", "sum", where); }
  Scalar<D> mean(Loc where = Loc::current()) const { return all("ReduceMean", "mean", where); }
  Scalar<D> max(Loc where = Loc::current()) const { return all("ReduceMax", "max", where); }
  Scalar<D> min(Loc where = Loc::current()) const { return all("ReduceMin", "min", where); }
  Scalar<D> prod(Loc where = Loc::current()) const { return all("ReduceProd", "prod", where); }
  template <int... A>
    requires(sizeof...(A) > 0)
  auto sum(Loc where = Loc::current()) const {
    return over<A...>("ReduceSum", "sum", where);
  }
  template <int... A>
    requires(sizeof...(A) > 0)
  auto mean(Loc where = Loc::current()) const {
    return over<A...>("ReduceMean", "mean", where);
  }
  template <int... A>
    requires(sizeof...(A) > 0)
  auto max(Loc where = Loc::current()) const {
    return over<A...>("ReduceMax", "max", where);
  }
  template <int... A>
    requires(sizeof...(A) > 0)
  auto min(Loc where = Loc::current()) const {
    return over<A...>("ReduceMin", "min", where);
  }
  template <int... A>
    requires(sizeof...(A) > 0)
  auto prod(Loc where = Loc::current()) const {
    return over<A...>("ReduceProd", "prod", where);
  }

  // Of each element.
  Tensor pow(double exponent, Loc where = Loc::current()) const {
    const detail::Place place{"", "pow", where};
    vxb_graph *graph = detail::graphOf(value);
    return Tensor(detail::Node("Pow", detail::lower<D>(value, graph, place), place)
                      .in(detail::scalar<D>(graph, place, exponent))
                      .out());
  }
  /// The tensor, which no gradient goes through.
  Tensor stop_gradient(Loc where = Loc::current()) const {
    return Tensor(detail::Node("StopGradient", value, {"", "stop_gradient", where}).out());
  }
  friend Tensor operator-(detail::At<Tensor> a) {
    const detail::Place place{"", "neg", a.where};
    return Tensor(
        detail::Node("Neg", detail::lower<D>(a.value.ref(), detail::graphOf(a.value.ref()), place), place).out());
  }

#define VX_BUILDER_BINARY(op, node, result)                                                                            \
  template <class D2, Dim... E>                                                                                        \
  friend auto operator op(detail::At<Tensor> a, const Tensor<D2, E...> &b) {                                           \
    static_assert(std::is_same_v<D, D2>, "vx: " #op ": the operands have different element types; say .to<type>()");   \
    if constexpr (!std::is_same_v<D, D2>) {                                                                            \
      return a.value;                                                                                                  \
    } else {                                                                                                           \
      static_assert(sizeof...(E) == rank || sizeof...(E) == 0 || rank == 0,                                            \
                    "vx: " #op ": the operands have different ranks; say broadcast()");                                \
      if constexpr (sizeof...(E) == rank && rank > 0)                                                                  \
        VX_BUILDER_CHECK((detail::findClash(detail::Dims<rank>{S...}, detail::Dims<rank>{E...}) == rank),              \
                         detail::differs(#op, detail::Dims<rank>{S...}, detail::Dims<rank>{E...}));                    \
      using Common = typename decltype(detail::commonShape(a.value, b))::type;                                         \
      return detail::binary<typename detail::WithType<result, Common>::type>(node, a.value, b, {"", #op, a.where});    \
    }                                                                                                                  \
  }                                                                                                                    \
  friend auto operator op(detail::At<Tensor> a, double b) {                                                            \
    return detail::binary<typename detail::WithType<result, Tensor>::type>(node, a.value, Scalar<D>(b),                \
                                                                           {"", #op, a.where});                        \
  }                                                                                                                    \
  friend auto operator op(double a, detail::At<Tensor> b) {                                                            \
    return detail::binary<typename detail::WithType<result, Tensor>::type>(node, Scalar<D>(a), b.value,                \
                                                                           {"", #op, b.where});                        \
  }
  VX_BUILDER_BINARY(+, "Add", D)
  VX_BUILDER_BINARY(-, "Sub", D)
  VX_BUILDER_BINARY(*, "Mul", D)
  VX_BUILDER_BINARY(/, "Div", D)
  VX_BUILDER_BINARY(<, "Less", b1)
  VX_BUILDER_BINARY(<=, "LessOrEqual", b1)
  VX_BUILDER_BINARY(>, "Greater", b1)
  VX_BUILDER_BINARY(>=, "GreaterOrEqual", b1)
#undef VX_BUILDER_BINARY

private:
  Scalar<D> all(const char *op, const char *name, Loc where) const {
    return Scalar<D>(detail::Node(op, value, {"", name, where}).set("keepdims", 0).out());
  }
  template <int... A>
  auto over(const char *op, const char *name, Loc where) const {
    static_assert((detail::isAxis(A, rank) && ...), "vx: reduction: the tensor has no such dimension");
    constexpr auto out = detail::withoutAxes<S...>(std::make_index_sequence<sizeof...(A)>(), {A...});
    const detail::Place place{"", name, where};
    return TensorOf<D, out>(detail::Node(op, value, place)
                                .in(detail::list(value.graph, place, {static_cast<int64_t>(detail::axis(A, rank))...}))
                                .set("keepdims", 0)
                                .out());
  }

  detail::Ref value;
};

/// A variable that functions store. Its value stays from one call of the instance to the next.
template <class D, Dim... S>
class Variable {
public:
  explicit Variable(const Tensor<D, S...> &variable) : variable(variable) {}
  /// Its value at this point of the function.
  Tensor<D, S...> read(Loc where = Loc::current()) const {
    return Tensor<D, S...>(detail::Node("Identity", variable.ref(), {"", "read", where}).out());
  }
  /// Sets its value from here on. It stays after the call if the call succeeds.
  void store(const Tensor<D, S...> &value, Loc where = Loc::current()) const {
    const detail::Place place{"", "store", where};
    const vxb_place raw = place.raw();
    vxb_graph *graph = variable.ref().graph;
    detail::check(graph, vxb_store(graph, variable.ref().id, detail::lower<D>(value.ref(), graph, place).id, &raw));
  }

private:
  Tensor<D, S...> variable;
};

} // namespace vx::build

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif
