// A graph: its functions, parameters and state. It is made of nodes of ONNX's ops by vxb.h.
#ifndef VX_BUILDER_GRAPH_HPP
#define VX_BUILDER_GRAPH_HPP

#include "vx/builder/dim.hpp"

#include <cmath>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace vx::build {

/// A fault of a graph. The message has the line of the program and the layer, as in "lm.cpp:14: h/0/attn (...): ...".
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The first values of a parameter. Random values follow from the instance's seed and the parameter's name.
struct Init {
  vxb_init_kind kind = VXB_INIT_ZEROS;
  double a = 0, b = 0;
  bool isGiven = true;
};
inline Init zeros_init() { return {}; }
inline Init constant_init(double value) { return {VXB_INIT_CONSTANT, value, 0}; }
inline Init uniform(double low, double high) { return {VXB_INIT_UNIFORM, low, high}; }
inline Init normal(double mean, double deviation) { return {VXB_INIT_NORMAL, mean, deviation}; }
inline Init orthogonal(double gain = 1) { return {VXB_INIT_ORTHOGONAL, gain, 0}; }
/// As PyTorch's kaiming_uniform_(a = sqrt(5)), the default of its layers.
inline Init kaiming_uniform(int64_t inputs) {
  const double bound = inputs > 0 ? 1 / std::sqrt(static_cast<double>(inputs)) : 0;
  return uniform(-bound, bound);
}
inline Init xavier_uniform(int64_t inputs, int64_t outputs) {
  const double bound = std::sqrt(6.0 / static_cast<double>(inputs + outputs));
  return uniform(-bound, bound);
}

namespace detail {

/// A value of a graph. A number without a graph becomes a constant when it is read.
struct Ref {
  vxb_graph *graph = nullptr;
  vxb_value id = -2; // of no value
  double number = 0;
  bool isNumber = false;
};

struct Place {
  std::string scope;
  const char *layer = "";
  Loc where;

  vxb_place raw() const { return {scope.c_str(), layer, where.file_name(), where.line()}; }
};

/// The graph with the function that this thread builds.
inline thread_local vxb_graph *current = nullptr;

[[noreturn]] inline void raise(vxb_graph *graph) { throw Error(vxb_graph_message(graph)); }
inline void check(vxb_graph *graph, vxc_result result) {
  if (result != VXC_DONE)
    raise(graph);
}
[[noreturn]] inline void fail(vxb_graph *graph, const Place &place, const std::string &reason) {
  if (!graph)
    throw Error(std::string(place.layer) + ": " + reason);
  const vxb_place raw = place.raw();
  (void)vxb_graph_fail(graph, &raw, reason.c_str());
  raise(graph);
}

inline vxb_dim toRaw(const Dim &dim) { return {dim.size, dim.name[0] ? dim.name : nullptr}; }
inline std::string toText(const Dim &dim) {
  return dim.isAny() ? "?" : dim.isNumber() ? std::to_string(dim.size) : dim.name;
}

inline Ref constant(vxb_graph *graph, const Place &place, vxb_element_type type, const std::vector<int64_t> &dims,
                    const void *data, size_t size) {
  std::vector<vxb_dim> raw;
  for (int64_t dim : dims)
    raw.push_back({dim, nullptr});
  const vxb_type full{type, static_cast<uint32_t>(raw.size()), raw.data()};
  const vxb_place where = place.raw();
  Ref ref{graph};
  check(graph, vxb_constant(graph, &full, data, size, &where, &ref.id));
  return ref;
}

/// The bits of a number in a type of 16 bits, rounded to the nearest, ties to even.
inline uint16_t toBFloat(float value) {
  uint32_t bits = 0;
  __builtin_memcpy(&bits, &value, 4);
  if (value != value)
    return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
inline uint16_t toHalf(float value) {
  const auto half = static_cast<_Float16>(value);
  uint16_t bits = 0;
  __builtin_memcpy(&bits, &half, 2);
  return bits;
}

template <class D>
typename D::value toElement(double number) {
  if constexpr (D::type == VXB_BF16)
    return toBFloat(static_cast<float>(number));
  else if constexpr (D::type == VXB_F16)
    return toHalf(static_cast<float>(number));
  else
    return static_cast<typename D::value>(number);
}
template <class D>
Ref scalar(vxb_graph *graph, const Place &place, double number) {
  const auto element = toElement<D>(number);
  return constant(graph, place, D::type, {}, &element, sizeof(element));
}
inline Ref list(vxb_graph *graph, const Place &place, const std::vector<int64_t> &numbers) {
  return constant(graph, place, VXB_I64, {static_cast<int64_t>(numbers.size())}, numbers.data(), numbers.size() * 8);
}

/// A node under construction. It owns all of its arguments except `op` and the names of attributes, which are literals.
/// So it may outlive the expression that makes it.
class Node {
public:
  Node(const char *op, vxb_graph *graph, Place place) : op(op), graph(graph), place(std::move(place)) {}
  Node(const char *op, const Ref &first, Place place) : Node(op, first.graph, std::move(place)) { in(first); }

  Node &in(const Ref &value) {
    if (value.graph && value.graph != graph)
      fail(graph, place, "expected tensors of one graph, got one of another graph");
    inputs.push_back(value.id);
    return *this;
  }
  Node &none() {
    inputs.push_back(VXB_NONE);
    return *this;
  }
  Node &set(const char *name, int64_t value) { return set(name, std::vector<int64_t>{value}, VXB_INT); }
  Node &set(const char *name, std::vector<int64_t> values, vxb_attribute_kind kind = VXB_INTS) {
    ints.push_back(std::make_unique<std::vector<int64_t>>(std::move(values)));
    attributes.push_back({name, kind, ints.back()->size(), ints.back()->data(), nullptr, nullptr, 0});
    return *this;
  }
  Node &setFloat(const char *name, double value) {
    floats.push_back(std::make_unique<float>(static_cast<float>(value)));
    attributes.push_back({name, VXB_FLOAT, 1, nullptr, floats.back().get(), nullptr, 0});
    return *this;
  }
  Node &setText(const char *name, const std::vector<std::string> &values, bool isList) {
    texts.push_back(std::make_unique<Texts>());
    texts.back()->owned = values;
    for (const std::string &value : texts.back()->owned)
      texts.back()->raw.push_back(value.c_str());
    attributes.push_back(
        {name, isList ? VXB_STRINGS : VXB_STRING, values.size(), nullptr, nullptr, texts.back()->raw.data(), 0});
    return *this;
  }
  Node &setBody(const char *name, int32_t body) {
    attributes.push_back({name, VXB_BODY, 1, nullptr, nullptr, nullptr, body});
    return *this;
  }
  std::vector<Ref> outs(size_t count) {
    const vxb_place raw = place.raw();
    std::vector<vxb_value> ids(count, -2);
    check(graph, vxb_node(graph, op, inputs.size(), inputs.data(), attributes.size(), attributes.data(), &raw, count,
                          ids.data()));
    std::vector<Ref> refs;
    for (vxb_value id : ids)
      refs.push_back({graph, id});
    return refs;
  }
  Ref out() { return outs(1).front(); }

private:
  struct Texts {
    std::vector<std::string> owned;
    std::vector<const char *> raw;
  };

  const char *op;
  vxb_graph *graph;
  Place place;
  std::vector<vxb_value> inputs;
  std::vector<vxb_attribute> attributes;
  std::vector<std::unique_ptr<std::vector<int64_t>>> ints;
  std::vector<std::unique_ptr<float>> floats;
  std::vector<std::unique_ptr<Texts>> texts;
};

/// The sizes of a value as the graph knows them.
inline std::vector<std::string> describeDims(const Ref &value) {
  vxb_type type = {};
  check(value.graph, vxb_value_type(value.graph, value.id, &type));
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < type.rank; ++i)
    texts.push_back(type.dims[i].size >= 0 ? std::to_string(type.dims[i].size)
                    : type.dims[i].name    ? type.dims[i].name
                                           : "?");
  return texts;
}
inline Ref as(const Ref &value, const std::vector<std::string> &dims, const Place &place) {
  return Node("As", value, place).setText("dims", dims, true).out();
}

/// Makes the sizes of two values equal: the call checks the equalities that the graph cannot prove.
inline void unify(Ref &a, Ref &b, const Place &place) {
  std::vector<std::string> left = describeDims(a), right = describeDims(b);
  if (left == right)
    return;
  bool changesLeft = false, changesRight = false;
  auto isNumber = [](const std::string &text) { return text.find_first_not_of("0123456789") == std::string::npos; };
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i] == right[i])
      continue;
    if (isNumber(right[i]) && !isNumber(left[i])) {
      left[i] = right[i];
      changesLeft = true;
    } else {
      right[i] = left[i];
      changesRight = true;
    }
  }
  if (changesLeft)
    a = as(a, left, place);
  if (changesRight)
    b = as(b, right, place);
}

} // namespace detail

template <class D, Dim... S>
class Variable;

/// A position in the tree of layers: the names of parameters, messages and exports follow from it. `scope / "fc1"` is
/// the position of a layer inside; its parameters are "fc1.weight" and so on.
class Scope {
public:
  Scope operator/(std::string_view name) const {
    Scope inner = *this;
    inner.path += (path.empty() ? "" : "/") + std::string(name);
    return inner;
  }

  /// A variable that is trained.
  template <class D, Dim... S>
  Tensor<D, S...> parameter(std::string_view name, Init init = {}, Loc where = Loc::current()) const {
    static_assert(((S.isNumber()) && ...), "vx: the sizes of a parameter must be numbers, as in Tensor<f32, 10, 64>");
    return Tensor<D, S...>(variable(D::type, name, {S.size...}, VXB_PARAMETER, init, where));
  }
  /// The same, of sizes that the program computes.
  template <class D, Dim... S>
  Tensor<D, S...> parameter(std::string_view name, const std::vector<int64_t> &sizes, Init init = {},
                            Loc where = Loc::current()) const {
    return Tensor<D, S...>(variable(D::type, name, sizes, VXB_PARAMETER, init, where));
  }
  /// A variable that layers collect and that is no weight, such as the mean of a batch norm.
  template <class D, Dim... S>
  Tensor<D, S...> statistic(std::string_view name, Init init = {}, Loc where = Loc::current()) const {
    return Tensor<D, S...>(variable(D::type, name, {S.size...}, VXB_STATISTIC, init, where));
  }
  /// A variable that the program's own functions store: a cache, a counter.
  template <class D, Dim... S>
  Variable<D, S...> state(std::string_view name, Init init = {}, Loc where = Loc::current()) const {
    static_assert(((S.isNumber()) && ...), "vx: the sizes of a state must be numbers, as in state<f32, 10, 64>");
    return Variable<D, S...>(Tensor<D, S...>(variable(D::type, name, {S.size...}, VXB_STATE, init, where)));
  }

  detail::Place place(const char *layer, Loc where) const { return {path, layer, where}; }
  vxb_graph *graph() const { return owner; }

private:
  friend class Graph;
  explicit Scope(vxb_graph *graph) : owner(graph) {}

  detail::Ref variable(vxb_element_type type, std::string_view name, const std::vector<int64_t> &sizes, vxb_role role,
                       Init init, Loc where) const {
    std::string full;
    for (char letter : path)
      full += letter == '/' ? '.' : letter;
    full += (full.empty() ? "" : ".") + std::string(name);
    std::vector<vxb_dim> dims;
    for (int64_t size : sizes)
      dims.push_back({size, nullptr});
    vxb_variable_info info = {};
    info.struct_size = sizeof(info);
    info.name = full.c_str();
    info.type = {type, static_cast<uint32_t>(dims.size()), dims.data()};
    info.role = role;
    info.init = init.kind;
    info.a = init.a;
    info.b = init.b;
    const detail::Place at = place("variable", where);
    const vxb_place raw = at.raw();
    detail::Ref ref{owner};
    detail::check(owner, vxb_variable(owner, &info, &raw, &ref.id));
    return ref;
  }

  vxb_graph *owner;
  std::string path;
};

namespace detail {

template <class T>
struct IsTensor : std::false_type {};
template <class D, Dim... S>
struct IsTensor<Tensor<D, S...>> : std::true_type {};

template <class F>
struct Signature;
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> {
  using Inputs = std::tuple<std::remove_cvref_t<A>...>;
};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R (C::*)(A...) const> {};

/// The values of a tensor, or of a tuple of tensors.
template <class T>
std::vector<Ref> refsOf(const T &value) {
  if constexpr (IsTensor<T>::value)
    return {value.ref()};
  else
    return std::apply([](const auto &...each) { return std::vector<Ref>{each.ref()...}; }, value);
}
template <class T>
T fromRefs(const std::vector<Ref> &refs, size_t first = 0) {
  if constexpr (IsTensor<T>::value)
    return T(refs[first]);
  else
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return T{std::tuple_element_t<I, T>(refs[first + I])...};
    }(std::make_index_sequence<std::tuple_size_v<T>>());
}
template <class T>
constexpr size_t countOf() {
  if constexpr (IsTensor<T>::value)
    return 1;
  else
    return std::tuple_size_v<T>;
}

template <class T>
struct RawType;
template <class D, Dim... S>
struct RawType<Tensor<D, S...>> {
  static vxb_type get() {
    static const std::array<vxb_dim, sizeof...(S) + 1> dims = {vxb_dim{S.size, S.name[0] ? S.name : nullptr}...,
                                                               vxb_dim{-1, nullptr}};
    return {D::type, static_cast<uint32_t>(sizeof...(S)), dims.data()};
  }
};

} // namespace detail

class Graph {
public:
  explicit Graph(const std::string &name) : graph(create(name), vxb_graph_release) {}

  Scope root() const { return Scope(graph.get()); }
  vxb_graph *get() const { return graph.get(); }

  /// The range of a symbol, and a number that it is a multiple of. Call it before the first function with the symbol.
  void symbol(const char *name, int64_t min, int64_t max, int64_t multiple = 1) {
    detail::check(get(), vxb_symbol(get(), name, min, max, multiple));
  }

  /// A function of the module: `body` takes tensors, and returns one or a tuple of several.
  template <class F>
  void function(const std::string &name, std::initializer_list<const char *> inputs,
                std::initializer_list<const char *> outputs, F body, Loc where = Loc::current()) {
    build(name, inputs, outputs, body, where);
    if (first.empty())
      first = name;
  }

  /// The first function, by which the module predicts.
  const std::string &first_function() const { return first; }

  /// Options of the training, for compile().
  std::string precision;

  // As `function`, with the names of the results.
  template <class F>
  void build(const std::string &name, std::initializer_list<const char *> inputs,
             const std::vector<const char *> &outputs, F body, Loc where) {
    using Inputs = typename detail::Signature<decltype(&F::operator())>::Inputs;
    constexpr bool takesTensors = []<size_t... I>(std::index_sequence<I...>) {
      return (detail::IsTensor<std::tuple_element_t<I, Inputs>>::value && ...);
    }(std::make_index_sequence<std::tuple_size_v<Inputs>>());
    static_assert(takesTensors, "vx: function: the arguments must be tensors, as in [&](Tensor<f32, \"batch\", 64> x)");
    if constexpr (takesTensors)
      buildOf<Inputs>(name, inputs, outputs, body, {"", "function", where});
  }

private:
  template <class Inputs, class F>
  void buildOf(const std::string &name, std::initializer_list<const char *> inputs,
               const std::vector<const char *> &outputs, F body, const detail::Place &place) {
    constexpr size_t count = std::tuple_size_v<Inputs>;
    if (inputs.size() != count)
      detail::fail(get(), place,
                   "function '" + name + "' takes " + std::to_string(count) + " tensors, got " +
                       std::to_string(inputs.size()) + " names of inputs");
    const std::vector<const char *> names(inputs);
    std::vector<vxb_input> raw;
    [&]<size_t... I>(std::index_sequence<I...>) {
      (raw.push_back({names[I], detail::RawType<std::tuple_element_t<I, Inputs>>::get()}), ...);
    }(std::make_index_sequence<count>());
    std::vector<vxb_value> ids(count + 1, -2);
    const vxb_place at = place.raw();
    detail::check(get(), vxb_function_begin(get(), name.c_str(), count, raw.data(), &at, ids.data()));
    struct Current {
      vxb_graph *before;
      explicit Current(vxb_graph *graph) : before(detail::current) { detail::current = graph; }
      ~Current() { detail::current = before; }
    } scope(get());
    std::vector<detail::Ref> refs;
    for (vxb_value id : ids)
      refs.push_back({get(), id});
    auto results = std::apply(body, detail::fromRefs<Inputs>(refs));
    finish(name, outputs, results, place);
  }

  static vxb_graph *create(const std::string &name) {
    vxb_graph *made = nullptr;
    (void)vxb_graph_create(name.c_str(), &made);
    return made;
  }

  template <class R>
  void finish(const std::string &name, const std::vector<const char *> &outputs, const R &results,
              const detail::Place &place) {
    std::vector<vxb_value> values;
    std::vector<const char *> names = outputs;
    if constexpr (requires { results.names(); })
      for (const std::string &own : results.names())
        names.push_back(own.c_str());
    for (detail::Ref ref : [&] {
           if constexpr (requires { results.refs(); })
             return results.refs();
           else
             return detail::refsOf(results);
         }())
      values.push_back(ref.id);
    if (values.size() != names.size())
      detail::fail(get(), place,
                   "function '" + name + "' gives " + std::to_string(values.size()) + " tensors, got " +
                       std::to_string(names.size()) + " names of outputs");
    detail::check(get(), vxb_function_end(get(), values.size(), names.data(), values.data()));
  }

  std::unique_ptr<vxb_graph, decltype(&vxb_graph_release)> graph;
  std::string first;
};

} // namespace vx::build

#endif
