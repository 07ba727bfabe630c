// Functions of tensors. Their names and formulas are PyTorch's.
#ifndef VX_BUILDER_FUNCTIONS_HPP
#define VX_BUILDER_FUNCTIONS_HPP

#include "vx/builder/tensor.hpp"

#include <limits>
#include <span>

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++26-extensions"
#endif

namespace vx::build {

//===-- Of each element -----------------------------------------------------------------------===//

#define VX_BUILDER_UNARY(name, node)                                                                                   \
  template <class D, Dim... S>                                                                                         \
  Tensor<D, S...> name(const Tensor<D, S...> &x, Loc where = Loc::current()) {                                         \
    const detail::Place place{"", #name, where};                                                                       \
    return Tensor<D, S...>(                                                                                            \
        detail::Node(node, detail::lower<D>(x.ref(), detail::graphOf(x.ref()), place), place).out());                  \
  }
VX_BUILDER_UNARY(abs, "Abs")
VX_BUILDER_UNARY(ceil, "Ceil")
VX_BUILDER_UNARY(floor, "Floor")
VX_BUILDER_UNARY(round, "Round") // ties to even
VX_BUILDER_UNARY(sign, "Sign")
VX_BUILDER_UNARY(sqrt, "Sqrt")
VX_BUILDER_UNARY(exp, "Exp")
VX_BUILDER_UNARY(log, "Log")
VX_BUILDER_UNARY(sin, "Sin")
VX_BUILDER_UNARY(cos, "Cos")
VX_BUILDER_UNARY(tan, "Tan")
VX_BUILDER_UNARY(tanh, "Tanh")
VX_BUILDER_UNARY(erf, "Erf")
VX_BUILDER_UNARY(reciprocal, "Reciprocal")
VX_BUILDER_UNARY(sigmoid, "Sigmoid")
VX_BUILDER_UNARY(softplus, "Softplus")
VX_BUILDER_UNARY(softsign, "Softsign")
VX_BUILDER_UNARY(relu, "Relu")
VX_BUILDER_UNARY(selu, "Selu")
VX_BUILDER_UNARY(mish, "Mish")
VX_BUILDER_UNARY(hard_swish, "HardSwish")
#undef VX_BUILDER_UNARY

/// 1 / sqrt(x)
template <class D, Dim... S>
Tensor<D, S...> rsqrt(const Tensor<D, S...> &x, Loc where = Loc::current()) {
  return reciprocal(sqrt(x, where), where);
}
/// x * sigmoid(x)
template <class D, Dim... S>
Tensor<D, S...> silu(const Tensor<D, S...> &x, Loc where = Loc::current()) {
  return detail::binary<Tensor<D, S...>>("Mul", x, sigmoid(x, where), {"", "silu", where});
}
enum class Gelu { exact, tanh };
template <class D, Dim... S>
Tensor<D, S...> gelu(const Tensor<D, S...> &x, Gelu form = Gelu::exact, Loc where = Loc::current()) {
  return Tensor<D, S...>(detail::Node("Gelu", x.ref(), {"", "gelu", where})
                             .setText("approximate", {form == Gelu::exact ? "none" : "tanh"}, false)
                             .out());
}
#define VX_BUILDER_UNARY_ALPHA(name, node, standard)                                                                   \
  template <class D, Dim... S>                                                                                         \
  Tensor<D, S...> name(const Tensor<D, S...> &x, double alpha = standard, Loc where = Loc::current()) {                \
    return Tensor<D, S...>(detail::Node(node, x.ref(), {"", #name, where}).setFloat("alpha", alpha).out());            \
  }
VX_BUILDER_UNARY_ALPHA(elu, "Elu", 1)
VX_BUILDER_UNARY_ALPHA(celu, "Celu", 1)
VX_BUILDER_UNARY_ALPHA(leaky_relu, "LeakyRelu", 0.01)
#undef VX_BUILDER_UNARY_ALPHA
/// max(0, min(1, x / 6 + 1 / 2))
template <class D, Dim... S>
Tensor<D, S...> hard_sigmoid(const Tensor<D, S...> &x, Loc where = Loc::current()) {
  return Tensor<D, S...>(
      detail::Node("HardSigmoid", x.ref(), {"", "hard_sigmoid", where}).setFloat("alpha", 1.0 / 6).out());
}

#define VX_BUILDER_PREDICATE(name, node)                                                                               \
  template <class D, Dim... S>                                                                                         \
  Tensor<b1, S...> name(const Tensor<D, S...> &x, Loc where = Loc::current()) {                                        \
    return Tensor<b1, S...>(detail::Node(node, x.ref(), {"", #name, where}).out());                                    \
  }
VX_BUILDER_PREDICATE(is_nan, "IsNaN")
VX_BUILDER_PREDICATE(is_inf, "IsInf")
#undef VX_BUILDER_PREDICATE
template <Dim... S>
Tensor<b1, S...> logical_not(const Tensor<b1, S...> &x, Loc where = Loc::current()) {
  return Tensor<b1, S...>(detail::Node("Not", x.ref(), {"", "logical_not", where}).out());
}

#define VX_BUILDER_BINARY(name, node, element)                                                                         \
  template <class D, Dim... S, Dim... E>                                                                               \
  auto name(const Tensor<D, S...> &a, const Tensor<D, E...> &b, Loc where = Loc::current()) {                          \
    constexpr size_t rank = sizeof...(S);                                                                              \
    static_assert(sizeof...(E) == rank || sizeof...(E) == 0 || rank == 0,                                              \
                  "vx: " #name ": the operands have different ranks; say broadcast()");                                \
    if constexpr (sizeof...(E) == rank && rank > 0)                                                                    \
      VX_BUILDER_CHECK((detail::findClash(detail::Dims<rank>{S...}, detail::Dims<rank>{E...}) == rank),                \
                       detail::differs(#name, detail::Dims<rank>{S...}, detail::Dims<rank>{E...}));                    \
    using Common = typename decltype(detail::commonShape(a, b))::type;                                                 \
    return detail::binary<typename detail::WithType<element, Common>::type>(node, a, b, {"", #name, where});           \
  }                                                                                                                    \
  template <class D, Dim... S>                                                                                         \
  auto name(const Tensor<D, S...> &a, double b, Loc where = Loc::current()) {                                          \
    return name(a, Scalar<D>(b), where);                                                                               \
  }
VX_BUILDER_BINARY(min, "Min", D)
VX_BUILDER_BINARY(max, "Max", D)
VX_BUILDER_BINARY(pow, "Pow", D)
VX_BUILDER_BINARY(equal, "Equal", b1)
VX_BUILDER_BINARY(logical_and, "And", b1)
VX_BUILDER_BINARY(logical_or, "Or", b1)
VX_BUILDER_BINARY(logical_xor, "Xor", b1)
#undef VX_BUILDER_BINARY
template <class D, Dim... S, class B>
auto not_equal(const Tensor<D, S...> &a, const B &b, Loc where = Loc::current()) {
  return logical_not(vx::build::equal(a, b, where), where);
}

/// min(max(x, low), high)
template <class D, Dim... S>
Tensor<D, S...> clamp(const Tensor<D, S...> &x, std::type_identity_t<Scalar<D>> low,
                      std::type_identity_t<Scalar<D>> high, Loc where = Loc::current()) {
  const detail::Place place{"", "clamp", where};
  vxb_graph *graph = detail::graphOf(x.ref());
  return Tensor<D, S...>(detail::Node("Clip", detail::lower<D>(x.ref(), graph, place), place)
                             .in(detail::lower<D>(low.ref(), graph, place))
                             .in(detail::lower<D>(high.ref(), graph, place))
                             .out());
}

namespace detail {
template <class D, Dim... S, Dim... C, Dim... E>
auto whereOf(const Tensor<b1, C...> &condition, const Tensor<D, S...> &a, const Tensor<D, E...> &b, Loc where) {
  constexpr size_t rank = sizeof...(C);
  static_assert((sizeof...(S) == rank || sizeof...(S) == 0) && (sizeof...(E) == rank || sizeof...(E) == 0),
                "vx: where: the operands have different ranks; say broadcast()");
  const Place place{"", "where", where};
  vxb_graph *graph = graphOf(condition.ref());
  Ref choose = lower<b1>(condition.ref(), graph, place), yes = lower<D>(a.ref(), graph, place),
      no = lower<D>(b.ref(), graph, place);
  if constexpr (sizeof...(S) == rank && rank > 0) {
    VX_BUILDER_CHECK((findClash(Dims<rank>{C...}, Dims<rank>{S...}) == rank),
                     differs("where", Dims<rank>{C...}, Dims<rank>{S...}));
    unify(choose, yes, place);
  }
  if constexpr (sizeof...(E) == rank && rank > 0) {
    VX_BUILDER_CHECK((findClash(Dims<rank>{C...}, Dims<rank>{E...}) == rank),
                     differs("where", Dims<rank>{C...}, Dims<rank>{E...}));
    unify(choose, no, place);
  }
  return Tensor<D, C...>(Node("Where", choose, place).in(yes).in(no).out());
}
} // namespace detail
/// `a` where the condition is true, else `b`.
template <class D, Dim... S, Dim... C, Dim... E>
auto where(const Tensor<b1, C...> &condition, const Tensor<D, S...> &a, const Tensor<D, E...> &b,
           Loc where = Loc::current()) {
  return detail::whereOf(condition, a, b, where);
}
template <class D, Dim... S, Dim... C>
auto where(const Tensor<b1, C...> &condition, const Tensor<D, S...> &a, double b, Loc where = Loc::current()) {
  return detail::whereOf(condition, a, Scalar<D>(b), where);
}
template <class D, Dim... C, Dim... E>
auto where(const Tensor<b1, C...> &condition, double a, const Tensor<D, E...> &b, Loc where = Loc::current()) {
  return detail::whereOf(condition, Scalar<D>(a), b, where);
}

//===-- Of rows -------------------------------------------------------------------------------===//

namespace detail {
template <int A, class D, Dim... S>
Tensor<D, S...> rows(const char *node, const char *name, const Tensor<D, S...> &x, Loc where) {
  static_assert(isAxis(A, sizeof...(S)), "vx: softmax: the tensor has no such dimension");
  return Tensor<D, S...>(
      Node(node, x.ref(), {"", name, where}).set("axis", static_cast<int64_t>(axis(A, sizeof...(S)))).out());
}
template <int A, class D, Dim... S>
auto argOf(const char *node, const char *name, const Tensor<D, S...> &x, Loc where) {
  static_assert(isAxis(A, sizeof...(S)), "vx: argmax: the tensor has no such dimension");
  constexpr auto out = withoutAxes<S...>(std::make_index_sequence<1>(), {A});
  return TensorOf<i64, out>(Node(node, x.ref(), {"", name, where})
                                .set("axis", static_cast<int64_t>(axis(A, sizeof...(S))))
                                .set("keepdims", 0)
                                .out());
}
} // namespace detail

template <int A = -1, class D, Dim... S>
Tensor<D, S...> softmax(const Tensor<D, S...> &x, Loc where = Loc::current()) {
  return detail::rows<A>("Softmax", "softmax", x, where);
}
template <int A = -1, class D, Dim... S>
Tensor<D, S...> log_softmax(const Tensor<D, S...> &x, Loc where = Loc::current()) {
  return detail::rows<A>("LogSoftmax", "log_softmax", x, where);
}
/// log(sum(exp(x))) over dimension A, which goes away.
template <int A = -1, class D, Dim... S>
auto logsumexp(const Tensor<D, S...> &x, Loc where = Loc::current()) {
  static_assert(detail::isAxis(A, sizeof...(S)), "vx: logsumexp: the tensor has no such dimension");
  constexpr auto out = detail::withoutAxes<S...>(std::make_index_sequence<1>(), {A});
  const detail::Place place{"", "logsumexp", where};
  return TensorOf<D, out>(
      detail::Node("ReduceLogSumExp", x.ref(), place)
          .in(detail::list(x.ref().graph, place, {static_cast<int64_t>(detail::axis(A, sizeof...(S)))}))
          .set("keepdims", 0)
          .out());
}
/// The position of the greatest element of dimension A, the first of several.
template <int A = -1, class D, Dim... S>
auto argmax(const Tensor<D, S...> &x, Loc where = Loc::current()) {
  return detail::argOf<A>("ArgMax", "argmax", x, where);
}
template <int A = -1, class D, Dim... S>
auto argmin(const Tensor<D, S...> &x, Loc where = Loc::current()) {
  return detail::argOf<A>("ArgMin", "argmin", x, where);
}

//===-- Products ------------------------------------------------------------------------------===//

namespace detail {
template <size_t R>
constexpr Dims<R> productDims(const Dims<R> &a, const Dims<R> &b, bool isTransposed) {
  Dims<R> out = a;
  for (size_t i = 0; i + 2 < R; ++i)
    out[i] = better(a[i], b[i]);
  out[R - 1] = isTransposed ? b[R - 2] : b[R - 1];
  return out;
}
template <size_t R>
constexpr Message productFault(const char *name, const Dims<R> &a, const Dims<R> &b, bool isTransposed) {
  const Dim inner = isTransposed ? b[R - 1] : b[R - 2];
  if (clash(a[R - 1], inner))
    return message(name, ": the left has rows of ", a[R - 1], ", the right has ",
                   isTransposed ? "rows of " : "columns of ", inner);
  for (size_t i = 0; i + 2 < R; ++i)
    if (clash(a[i], b[i]))
      return message(name, ": dimension ", static_cast<int64_t>(i), " is ", a[i], " on the left, ", b[i],
                     " on the right");
  return Message();
}
/// With the last two dimensions swapped.
inline Ref swapLast(const Ref &value, size_t rank, const Place &place) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < rank; ++i)
    order.push_back(static_cast<int64_t>(i + 2 < rank ? i : i + 2 == rank ? rank - 1 : rank - 2));
  return Node("Transpose", value, place).set("perm", order).out();
}
/// The product of matrices: each of a batch by that of the other batch. A single matrix on the right is used for all.
template <bool IsTransposed, class D, Dim... S, Dim... E>
auto product(const Tensor<D, S...> &a, const Tensor<D, E...> &b, const Place &place) {
  constexpr size_t left = sizeof...(S), right = sizeof...(E);
  static_assert(left >= 2 && right >= 2, "vx: matmul: expected tensors of 2 dimensions or more; say unsqueeze()");
  static_assert(left == right || right == 2,
                "vx: matmul: expected operands of the same rank, or a matrix on the right");
  constexpr Dims<left> first{S...};
  constexpr auto second = [] {
    constexpr Dims<right> own{E...};
    if constexpr (left == right) {
      return own;
    } else {
      auto wide = Dims<left>{S...};
      wide[left - 2] = own[0];
      wide[left - 1] = own[1];
      return wide;
    }
  }();
  constexpr Message fault = left == right || right == 2
                                ? productFault(IsTransposed ? "matmul_nt" : "matmul", first, second, IsTransposed)
                                : Message();
  VX_BUILDER_CHECK(fault.size() == 0, fault);
  constexpr auto out = productDims(first, second, IsTransposed);
  Ref other = IsTransposed ? swapLast(b.ref(), right, place) : b.ref();
  return TensorOf<D, out>(Node("MatMul", a.ref(), place).in(other).out());
}
} // namespace detail

/// a b
template <class D, Dim... S, Dim... E>
auto matmul(const Tensor<D, S...> &a, const Tensor<D, E...> &b, Loc where = Loc::current()) {
  return detail::product<false>(a, b, {"", "matmul", where});
}
/// a b^T
template <class D, Dim... S, Dim... E>
auto matmul_nt(const Tensor<D, S...> &a, const Tensor<D, E...> &b, Loc where = Loc::current()) {
  return detail::product<true>(a, b, {"", "matmul_nt", where});
}

//===-- Places --------------------------------------------------------------------------------===//

/// The positions of dimension A that `indices` name; the dimensions of `indices` replace it. Negative ones count from
/// the end.
template <int A = 0, class D, Dim... S, Dim... E>
auto gather(const Tensor<D, S...> &x, const Tensor<i64, E...> &indices, Loc where = Loc::current()) {
  constexpr size_t rank = sizeof...(S), count = sizeof...(E);
  static_assert(detail::isAxis(A, rank), "vx: gather: the tensor has no such dimension");
  constexpr size_t at = detail::axis(A, rank);
  constexpr auto out = [] {
    const detail::Dims<rank> own{S...};
    detail::Dims<rank - 1 + count> made = detail::anyDims<rank - 1 + count>();
    size_t next = 0;
    for (size_t d = 0; d < rank; ++d) {
      if (d != at) {
        made[next++] = own[d];
        continue;
      }
      if constexpr (count > 0)
        for (Dim one : detail::Dims<count>{E...})
          made[next++] = one;
    }
    return made;
  }();
  const detail::Place place{"", "gather", where};
  return TensorOf<D, out>(detail::Node("Gather", x.ref(), place)
                              .in(detail::lower<i64>(indices.ref(), x.ref().graph, place))
                              .set("axis", static_cast<int64_t>(at))
                              .out());
}

/// The element of each row that `indices` name, from 0; another index is a fault of the call.
template <class D, Dim... S, Dim... E>
auto pick(const Tensor<D, S...> &x, const Tensor<i64, E...> &indices, Loc where = Loc::current()) {
  constexpr size_t rank = sizeof...(S);
  static_assert(rank >= 1 && sizeof...(E) + 1 == rank, "vx: pick: the indices have one dimension less than the rows");
  constexpr auto out = detail::withoutAxes<S...>(std::make_index_sequence<1>(), {-1});
  constexpr auto mine = Tensor<i64, E...>::dims();
  VX_BUILDER_CHECK((detail::findClash(out, mine) == rank - 1), detail::differs("pick", out, mine));
  const detail::Place place{"", "pick", where};
  constexpr auto result = [] {
    auto made = detail::withoutAxes<S...>(std::make_index_sequence<1>(), {-1});
    for (size_t i = 0; i < made.size(); ++i)
      made[i] = better(made[i], Tensor<i64, E...>::dims()[i]);
    return made;
  }();
  return TensorOf<D, result>(
      detail::Node("Pick", x.ref(), place).in(indices.ref()).set("axis", static_cast<int64_t>(rank - 1)).out());
}

/// 1 at the position of the index, else 0; all 0 for an index out of range.
template <int64_t Classes, class D = f32, Dim... S>
Tensor<D, S..., Dim(Classes)> one_hot(const Tensor<i64, S...> &indices, Loc where = Loc::current()) {
  const detail::Place place{"", "one_hot", where};
  vxb_graph *graph = indices.ref().graph;
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < Classes; ++i)
    numbers.push_back(i);
  detail::Ref column = detail::Node("Unsqueeze", indices.ref(), place).in(detail::list(graph, place, {-1})).out();
  detail::Ref same = detail::Node("Equal", column, place).in(detail::list(graph, place, numbers)).out();
  return Tensor<D, S..., Dim(Classes)>(detail::Node("Cast", same, place).set("to", D::type).out());
}

namespace detail {
template <int A, class D, Dim... S, class... More>
auto concatOf(Loc where, const Tensor<D, S...> &first, const More &...more) {
  constexpr size_t rank = sizeof...(S);
  static_assert(detail::isAxis(A, rank), "vx: concat: the tensors have no such dimension");
  static_assert((std::is_same_v<typename More::dtype, D> && ...),
                "vx: concat: the tensors have different element types");
  static_assert(((More::rank == rank) && ...), "vx: concat: the tensors have different ranks");
  constexpr size_t at = axis(A, rank);
  constexpr auto out = [] {
    detail::Dims<rank> made{S...};
    auto join = [&](const auto &other) {
      for (size_t i = 0; i < rank && other.size() == rank; ++i)
        made[i] = i != at                                     ? better(made[i], other[i])
                  : made[i].isNumber() && other[i].isNumber() ? Dim(made[i].size + other[i].size)
                                                              : any;
    };
    (join(More::dims()), ...);
    return made;
  }();
  constexpr bool isRight = [] {
    const detail::Dims<rank> own{S...};
    auto fits = [&](const auto &other) {
      for (size_t i = 0; i < rank && other.size() == rank; ++i)
        if (i != at && clash(own[i], other[i]))
          return false;
      return true;
    };
    return (fits(More::dims()) && ...);
  }();
  static_assert(isRight, "vx: concat: the tensors differ in another dimension than the one that they are joined along");
  const Place place{"", "concat", where};
  Node node("Concat", first.ref(), place);
  (node.in(more.ref()), ...);
  return TensorOf<D, out>(node.set("axis", static_cast<int64_t>(at)).out());
}
} // namespace detail
/// The tensors side by side along dimension A, in their order.
template <int A, class D, Dim... S, Dim... E>
auto concat(const Tensor<D, S...> &a, const Tensor<D, E...> &b, Loc where = Loc::current()) {
  return detail::concatOf<A>(where, a, b);
}
template <int A, class D, Dim... S, Dim... E, Dim... F>
auto concat(const Tensor<D, S...> &a, const Tensor<D, E...> &b, const Tensor<D, F...> &c, Loc where = Loc::current()) {
  return detail::concatOf<A>(where, a, b, c);
}
/// Of a tuple of them.
template <int A, class... T>
auto concat(const std::tuple<T...> &tensors, Loc where = Loc::current()) {
  return std::apply([&](const auto &...each) { return detail::concatOf<A>(where, each...); }, tensors);
}

/// N tensors of equal sizes along dimension A.
template <int A, int64_t N, class D, Dim... S>
auto split(const Tensor<D, S...> &x, Loc where = Loc::current()) {
  constexpr size_t rank = sizeof...(S);
  static_assert(detail::isAxis(A, rank), "vx: split: the tensor has no such dimension");
  constexpr size_t at = detail::axis(A, rank);
  VX_BUILDER_CHECK((!Tensor<D, S...>::dims()[at].isNumber() || Tensor<D, S...>::dims()[at].size % N == 0),
                   message("split: dimension ", static_cast<int64_t>(A), " is ", Tensor<D, S...>::dims()[at],
                           ", which ", N, " does not divide"));
  constexpr auto out = [] {
    auto made = Tensor<D, S...>::dims();
    made[at] = made[at].isNumber() ? Dim(made[at].size / N) : any;
    return made;
  }();
  const std::vector<detail::Ref> refs = detail::Node("Split", x.ref(), {"", "split", where})
                                            .set("axis", static_cast<int64_t>(at))
                                            .set("num_outputs", N)
                                            .outs(N);
  using Part = TensorOf<D, out>;
  return [&]<size_t... I>(std::index_sequence<I...>) {
    return std::array<Part, static_cast<size_t>(N)>{Part(refs[I])...};
  }(std::make_index_sequence<static_cast<size_t>(N)>());
}

/// `low` and `high` more positions at the ends of dimension A, which hold `value`.
template <int A, int64_t Low, int64_t High, class D, Dim... S>
auto pad(const Tensor<D, S...> &x, double value = 0, Loc where = Loc::current()) {
  constexpr size_t rank = sizeof...(S);
  static_assert(detail::isAxis(A, rank), "vx: pad: the tensor has no such dimension");
  static_assert(Low >= 0 && High >= 0, "vx: pad: expected 0 or more new elements at each end");
  constexpr size_t at = detail::axis(A, rank);
  constexpr auto out = [] {
    auto made = Tensor<D, S...>::dims();
    made[at] = made[at].isNumber() ? Dim(made[at].size + Low + High) : any;
    return made;
  }();
  std::vector<int64_t> amounts(2 * rank, 0);
  amounts[at] = Low;
  amounts[rank + at] = High;
  const detail::Place place{"", "pad", where};
  vxb_graph *graph = x.ref().graph;
  return TensorOf<D, out>(detail::Node("Pad", x.ref(), place)
                              .in(detail::list(graph, place, amounts))
                              .in(detail::scalar<D>(graph, place, value))
                              .out());
}

//===-- Tensors of numbers --------------------------------------------------------------------===//

/// These elements, row-major.
template <class D, Dim... S>
Tensor<D, S...> constant(std::span<const typename D::value> elements, Loc where = Loc::current()) {
  static_assert(((S.isNumber()) && ...), "vx: constant: the sizes must be numbers, as in constant<f32, 2, 3>(...)");
  const detail::Place place{"", "constant", where};
  if (!detail::current)
    detail::fail(nullptr, place, "expected a call in Graph::function, got one outside of a function");
  constexpr int64_t count = (S.size * ... * 1);
  if (elements.size() != static_cast<size_t>(count))
    detail::fail(detail::current, place,
                 "expected " + std::to_string(count) + " elements, got " + std::to_string(elements.size()));
  return Tensor<D, S...>(
      detail::constant(detail::current, place, D::type, {S.size...}, elements.data(), elements.size_bytes()));
}
template <class D, Dim... S>
Tensor<D, S...> constant(std::initializer_list<typename D::value> elements, Loc where = Loc::current()) {
  return constant<D, S...>(std::span<const typename D::value>(elements.begin(), elements.size()), where);
}
/// One number in every element; a size may be the name of a dimension of an input.
template <class D, Dim... S>
Tensor<D, S...> full(double number, Loc where = Loc::current()) {
  return Scalar<D>(number).template broadcast<S...>(where);
}
template <class D, Dim... S>
Tensor<D, S...> zeros(Loc where = Loc::current()) {
  return full<D, S...>(0, where);
}
template <class D, Dim... S>
Tensor<D, S...> ones(Loc where = Loc::current()) {
  return full<D, S...>(1, where);
}
/// 0, 1, 2, ... up to a size: that of a dimension of `like`, by its name.
template <Dim T, Dim... S>
Tensor<i64, T> positions(const Tensor<i64, S...> &like, Loc where = Loc::current()) {
  constexpr size_t rank = sizeof...(S);
  constexpr size_t at = [] {
    const detail::Dims<rank> own{S...};
    for (size_t i = 0; i < rank; ++i)
      if (own[i] == T)
        return i;
    return rank;
  }();
  VX_BUILDER_CHECK(at < rank,
                   message("positions: expected a tensor with a dimension ", T, ", got ", Tensor<i64, S...>::dims()));
  const detail::Place place{"", "positions", where};
  vxb_graph *graph = like.ref().graph;
  detail::Ref size = detail::Node("Shape", like.ref(), place)
                         .set("start", static_cast<int64_t>(at))
                         .set("end", static_cast<int64_t>(at + 1))
                         .out();
  detail::Ref end = detail::Node("Squeeze", size, place).out();
  return Tensor<i64, T>(detail::Node("Range", detail::scalar<i64>(graph, place, 0), place)
                            .in(end)
                            .in(detail::scalar<i64>(graph, place, 1))
                            .out());
}
/// 0, 1, 2, ...
template <int64_t N>
Tensor<i64, N> iota(Loc where = Loc::current()) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < N; ++i)
    numbers.push_back(i);
  return constant<i64, N>(numbers, where);
}

/// x + b, with b a row or a matrix for each position of x's first dimensions.
template <class D, Dim... S, Dim... E>
auto add_rows(const Tensor<D, S...> &x, const Tensor<D, E...> &b, Loc where = Loc::current()) {
  constexpr size_t rank = sizeof...(S), count = sizeof...(E);
  static_assert(count <= rank, "vx: add_rows: the rows have more dimensions than the tensor");
  constexpr auto wide = [] {
    detail::Dims<rank> made{S...};
    const detail::Dims<count> own{E...};
    for (size_t i = 0; i < count && count <= rank; ++i)
      made[rank - count + i] = own[i];
    return made;
  }();
  VX_BUILDER_CHECK((detail::findClash(detail::Dims<rank>{S...}, wide) == rank),
                   detail::differs("add_rows", detail::Dims<rank>{S...}, wide));
  return Tensor<D, S...>(detail::Node("Add", x.ref(), {"", "add_rows", where}).in(b.ref()).out());
}

//===-- Gradients -----------------------------------------------------------------------------===//

/// The gradient of `y`, or of the sum of its elements if it has several, by each element of each `x`. `y` is computed
/// from these in this function. Gradients of gradients work the same way. If `y` does not depend on an `x` they are 0,
/// and the compilation prints a note.
template <class D, Dim... Y, class... X>
std::tuple<X...> gradient(const Tensor<D, Y...> &y, const std::tuple<X...> &x, Loc where = Loc::current()) {
  const detail::Place place{"", "gradient", where};
  detail::Node node("Gradient", y.ref(), place);
  std::apply([&](const auto &...each) { (node.in(each.ref()), ...); }, x);
  return detail::fromRefs<std::tuple<X...>>(node.outs(sizeof...(X)));
}
template <class D, Dim... Y, Dim... S>
Tensor<D, S...> gradient(const Tensor<D, Y...> &y, const Tensor<D, S...> &x, Loc where = Loc::current()) {
  return std::get<0>(gradient(y, std::tuple(x), where));
}
template <class D, Dim... Y, Dim... S, Dim... E>
auto gradient(const Tensor<D, Y...> &y, const Tensor<D, S...> &a, const Tensor<D, E...> &b,
              Loc where = Loc::current()) {
  return gradient(y, std::tuple(a, b), where);
}

} // namespace vx::build

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif
