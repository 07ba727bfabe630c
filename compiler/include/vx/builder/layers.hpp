// Layers: plain structs with parameters, which are called. Names, layouts and initial values of parameters are
// PyTorch's, so its state dicts load without a change.
#ifndef VX_BUILDER_LAYERS_HPP
#define VX_BUILDER_LAYERS_HPP

#include "vx/builder/functions.hpp"

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++26-extensions"
#endif

namespace vx::build {

/// A number for each dimension of a window: one for all, as in `Conv2d<3, 8, 3>`, or one each, as in `Conv2d<3, 8,
/// Window(3, 5)>`.
struct Window {
  int sizes[3]{};
  int count = 0; // 1: one for all

  constexpr Window(int all) : sizes{all}, count(1) {}
  constexpr Window(int first, int second) : sizes{first, second}, count(2) {}
  constexpr Window(int first, int second, int third) : sizes{first, second, third}, count(3) {}

  constexpr int operator[](size_t dim) const { return sizes[count == 1 ? 0 : dim]; }
  /// Whether there is one for each of so many dimensions.
  constexpr bool fits(size_t dims) const { return count == 1 || count == static_cast<int>(dims); }
  friend constexpr Message &operator<<(Message &message, const Window &window) {
    if (window.count == 1)
      return message << int64_t(window.sizes[0]);
    message << "Window(";
    for (int i = 0; i < window.count; ++i)
      message << (i > 0 ? ", " : "") << int64_t(window.sizes[i]);
    return message << ")";
  }
  /// As an attribute for `dims` dimensions, `times` over.
  std::vector<int64_t> list(size_t dims, size_t times = 1) const {
    std::vector<int64_t> made;
    for (size_t i = 0; i < dims * times; ++i)
      made.push_back((*this)[i % dims]);
    return made;
  }
};

namespace detail {

template <class D, Dim... S>
constexpr Dim lastOf() {
  return Tensor<D, S...>::dims().back();
}
/// The sizes with another last one.
template <Dim Last, Dim... S>
constexpr auto withLast() {
  Dims<sizeof...(S)> made{S...};
  made.back() = Last;
  return made;
}
/// The number of positions of a window along a dimension.
constexpr Dim windowsOf(Dim size, int kernel, int stride, int padding, int dilation) {
  if (!size.isNumber())
    return any;
  const int64_t room = size.size + 2 * padding - dilation * (kernel - 1) - 1;
  return room < 0 ? Dim(0) : Dim(room / stride + 1);
}

/// The weight and the bias of a convolution in either direction, over N dimensions: [First, Second, Kernel...] and
/// [Out].
template <size_t N, int First, int Second, int Out, Window Kernel>
struct Filter {
  static constexpr auto dims = [] {
    auto made = anyDims<N + 2>();
    made[0] = First;
    made[1] = Second;
    for (size_t i = 0; i < N; ++i)
      made[i + 2] = Dim(Kernel[i]);
    return made;
  }();
  TensorOf<f32, dims> weight;
  Tensor<f32, Out> bias;

protected:
  // PyTorch counts Second and the window as the inputs of a position, backwards too.
  Filter(Scope scope, bool hasBias, Init init, Loc where) : scope(scope) {
    std::vector<int64_t> sizes;
    for (const Dim &dim : dims)
      sizes.push_back(dim.size);
    int64_t inputs = 1;
    for (size_t i = 1; i < sizes.size(); ++i)
      inputs *= sizes[i];
    const Init wanted = init.isGiven ? init : kaiming_uniform(inputs);
    weight = [&]<size_t... I>(std::index_sequence<I...>) {
      return scope.parameter<f32, dims[I]...>("weight", sizes, wanted, where);
    }(std::make_index_sequence<N + 2>());
    if (hasBias)
      bias = scope.parameter<f32, Out>("bias", init.isGiven ? Init{} : wanted, where);
  }

  /// The op over it, without the attributes that only one direction has.
  template <class O>
  Node begin(const char *layer, const char *op, const Ref &x, const O &options, Loc where) const {
    Node node(op, x, scope.place(layer, where));
    node.in(weight.ref());
    if (options.bias)
      node.in(bias.ref());
    node.set("kernel_shape", Kernel.list(N))
        .set("strides", options.stride.list(N))
        .set("pads", options.padding.list(N, 2));
    return std::move(node.set("dilations", options.dilation.list(N)).set("group", int64_t(options.groups)));
  }

  Scope scope;
};

/// x w^T + b, w [out, in]
template <Dim Out, Dim... S>
auto affine(const Tensor<f32, S...> &x, const Ref &weight, const Ref *bias, const Place &place) {
  constexpr auto out = withLast<Out, S...>();
  if (sizeof...(S) == 2) {
    Node node("Gemm", x.ref(), place);
    node.in(weight);
    if (bias)
      node.in(*bias);
    return TensorOf<f32, out>(node.set("transB", 1).out());
  }
  Ref product = Node("MatMul", x.ref(), place).in(swapLast(weight, 2, place)).out();
  return TensorOf<f32, out>(bias ? Node("Add", product, place).in(*bias).out() : product);
}

/// States that a tensor has the size that a layer needs, if the program's types leave that open.
template <Dim Want, Dim... S>
Tensor<f32, S...> wantLast(const Tensor<f32, S...> &x, int64_t want, const Place &place) {
  if constexpr (lastOf<f32, S...>().isNumber() && Want.isNumber())
    return x;
  std::vector<std::string> dims(sizeof...(S), "?");
  dims.back() = std::to_string(want);
  return Tensor<f32, S...>(as(x.ref(), dims, place));
}

} // namespace detail

/// y = x W^T + b over the last dimension. `Linear<any, any>` takes its sizes as arguments.
template <Dim In, Dim Out>
struct Linear {
  Tensor<f32, Out, In> weight;
  Tensor<f32, Out> bias;

  /// The weight begins as PyTorch's, or as `init` states; with `init` the bias begins with zeros.
  explicit Linear(Scope scope, bool has_bias = true, Init init = {.isGiven = false}, Loc where = Loc::current())
    requires(In.isNumber() && Out.isNumber())
      : Linear(scope, In.size, Out.size, has_bias, init, where) {}
  Linear(Scope scope, int64_t inputs, int64_t outputs, bool has_bias = true, Init init = {.isGiven = false},
         Loc where = Loc::current())
      : scope(scope), inputs(inputs), hasBias(has_bias) {
    weight = scope.parameter<f32, Out, In>("weight", {outputs, inputs}, init.isGiven ? init : kaiming_uniform(inputs),
                                           where);
    if (has_bias)
      bias = scope.parameter<f32, Out>("bias", {outputs}, init.isGiven ? Init{} : kaiming_uniform(inputs), where);
  }

  template <Dim... S>
  auto operator()(const Tensor<f32, S...> &x, Loc where = Loc::current()) const {
    constexpr Dim last = detail::lastOf<f32, S...>();
    VX_BUILDER_CHECK(!clash(last, In), message("Linear<", In, ", ", Out, ">: the input's last dimension is ", last));
    const detail::Place place = scope.place("Linear", where);
    return detail::affine<Out>(detail::wantLast<In>(x, inputs, place), weight.ref(), hasBias ? &bias.ref() : nullptr,
                               place);
  }

private:
  Scope scope;
  int64_t inputs;
  bool hasBias;
};

struct ConvOptions {
  Window stride = 1, padding = 0, dilation = 1;
  int groups = 1;
  bool bias = true;
};

/// A convolution over N dimensions: x [batch, In, ...], weight [Out, In / groups, Kernel...].
template <size_t N, int In, int Out, Window Kernel, ConvOptions O = ConvOptions{}>
struct Conv : detail::Filter<N, Out, In / std::max(O.groups, 1), Out, Kernel> {
  static_assert(N >= 1 && N <= 3, "vx: Conv: expected 1 to 3 dimensions");
  static_assert(O.groups >= 1 && In % O.groups == 0 && Out % O.groups == 0,
                "vx: Conv: the groups must divide the channels of input and output");
  static_assert(Kernel.fits(N) && O.stride.fits(N) && O.padding.fits(N) && O.dilation.fits(N),
                "vx: Conv: expected one number for all dimensions of a window, or one for each");

  explicit Conv(Scope scope, Init init = {.isGiven = false}, Loc where = Loc::current())
      : detail::Filter<N, Out, In / std::max(O.groups, 1), Out, Kernel>(scope, O.bias, init, where) {}

  template <Dim... S>
  auto operator()(const Tensor<f32, S...> &x, Loc where = Loc::current()) const {
    static_assert(sizeof...(S) == N + 2, "vx: Conv: expected a batch, channels, and N dimensions");
    constexpr auto have = Tensor<f32, S...>::dims();
    VX_BUILDER_CHECK(!clash(have[1], Dim(In)), message("Conv<", static_cast<int64_t>(N), ", ", In, ", ", Out, ", ",
                                                       Kernel, ">: the input's channels are ", have[1]));
    constexpr auto out = [] {
      auto made = Tensor<f32, S...>::dims();
      made[1] = Out;
      for (size_t i = 0; i < N; ++i)
        made[i + 2] = detail::windowsOf(made[i + 2], Kernel[i], O.stride[i], O.padding[i], O.dilation[i]);
      return made;
    }();
    return TensorOf<f32, out>(this->begin("Conv", "Conv", x.ref(), O, where).out());
  }
};
template <int In, int Out, Window Kernel, ConvOptions O = ConvOptions{}>
using Conv1d = Conv<1, In, Out, Kernel, O>;
template <int In, int Out, Window Kernel, ConvOptions O = ConvOptions{}>
using Conv2d = Conv<2, In, Out, Kernel, O>;
template <int In, int Out, Window Kernel, ConvOptions O = ConvOptions{}>
using Conv3d = Conv<3, In, Out, Kernel, O>;

struct ConvTransposeOptions {
  Window stride = 1, padding = 0, output_padding = 0, dilation = 1;
  int groups = 1;
  bool bias = true;
};

/// A convolution backwards, with weight [In, Out / groups, Kernel...].
template <size_t N, int In, int Out, Window Kernel, ConvTransposeOptions O = ConvTransposeOptions{}>
struct ConvTranspose : detail::Filter<N, In, Out / std::max(O.groups, 1), Out, Kernel> {
  static_assert(N >= 1 && N <= 3, "vx: ConvTranspose: expected 1 to 3 dimensions");
  static_assert(O.groups >= 1 && In % O.groups == 0 && Out % O.groups == 0,
                "vx: ConvTranspose: the groups must divide the channels of input and output");
  static_assert(Kernel.fits(N) && O.stride.fits(N) && O.padding.fits(N) && O.output_padding.fits(N) &&
                    O.dilation.fits(N),
                "vx: ConvTranspose: expected one number for all dimensions of a window, or one for each");

  explicit ConvTranspose(Scope scope, Init init = {.isGiven = false}, Loc where = Loc::current())
      : detail::Filter<N, In, Out / std::max(O.groups, 1), Out, Kernel>(scope, O.bias, init, where) {}

  template <Dim... S>
  auto operator()(const Tensor<f32, S...> &x, Loc where = Loc::current()) const {
    static_assert(sizeof...(S) == N + 2, "vx: ConvTranspose: expected a batch, channels, and N dimensions");
    constexpr auto have = Tensor<f32, S...>::dims();
    VX_BUILDER_CHECK(!clash(have[1], Dim(In)), message("ConvTranspose<", static_cast<int64_t>(N), ", ", In, ", ", Out,
                                                       ", ", Kernel, ">: the input's channels are ", have[1]));
    constexpr auto out = [] {
      auto made = Tensor<f32, S...>::dims();
      made[1] = Out;
      for (size_t i = 0; i < N; ++i)
        made[i + 2] = made[i + 2].isNumber() ? Dim((made[i + 2].size - 1) * O.stride[i] - 2 * O.padding[i] +
                                                   O.dilation[i] * (Kernel[i] - 1) + O.output_padding[i] + 1)
                                             : any;
      return made;
    }();
    return TensorOf<f32, out>(this->begin("ConvTranspose", "ConvTranspose", x.ref(), O, where)
                                  .set("output_padding", O.output_padding.list(N))
                                  .out());
  }
};

/// Rows of a table by their numbers.
template <int Rows, int Width>
struct Embedding {
  Tensor<f32, Rows, Width> weight;

  explicit Embedding(Scope scope, Init init = normal(0, 1), Loc where = Loc::current())
      : weight(scope.parameter<f32, Rows, Width>("weight", init, where)), scope(scope) {}

  template <Dim... S>
  Tensor<f32, S..., Dim(Width)> operator()(const Tensor<i64, S...> &numbers, Loc where = Loc::current()) const {
    const detail::Place place = scope.place("Embedding", where);
    return Tensor<f32, S..., Dim(Width)>(detail::Node("Gather", weight.ref(), place).in(numbers.ref()).out());
  }

private:
  Scope scope;
};

//===-- Norms ---------------------------------------------------------------------------------===//

/// Of the last dimension: (x - mean) / sqrt(variance + epsilon) * weight + bias
template <int Width>
struct LayerNorm {
  Tensor<f32, Width> weight, bias;

  explicit LayerNorm(Scope scope, double epsilon = 1e-5, Loc where = Loc::current())
      : weight(scope.parameter<f32, Width>("weight", constant_init(1), where)),
        bias(scope.parameter<f32, Width>("bias", {}, where)), scope(scope), epsilon(epsilon) {}

  template <Dim... S>
  Tensor<f32, S...> operator()(const Tensor<f32, S...> &x, Loc where = Loc::current()) const {
    constexpr Dim last = detail::lastOf<f32, S...>();
    VX_BUILDER_CHECK(!clash(last, Dim(Width)), message("LayerNorm<", Width, ">: the input's last dimension is ", last));
    const detail::Place place = scope.place("LayerNorm", where);
    return Tensor<f32, S...>(detail::Node("LayerNormalization", detail::wantLast<Width>(x, Width, place).ref(), place)
                                 .in(weight.ref())
                                 .in(bias.ref())
                                 .set("axis", -1)
                                 .setFloat("epsilon", epsilon)
                                 .out());
  }

private:
  Scope scope;
  double epsilon;
};

/// Of the last dimension: x / sqrt(mean(x^2) + epsilon) * weight
template <int Width>
struct RmsNorm {
  Tensor<f32, Width> weight;

  explicit RmsNorm(Scope scope, double epsilon = 1e-6, Loc where = Loc::current())
      : weight(scope.parameter<f32, Width>("weight", constant_init(1), where)), scope(scope), epsilon(epsilon) {}

  template <Dim... S>
  Tensor<f32, S...> operator()(const Tensor<f32, S...> &x, Loc where = Loc::current()) const {
    constexpr Dim last = detail::lastOf<f32, S...>();
    VX_BUILDER_CHECK(!clash(last, Dim(Width)), message("RmsNorm<", Width, ">: the input's last dimension is ", last));
    const detail::Place place = scope.place("RmsNorm", where);
    vxb_graph *graph = scope.graph();
    const detail::Ref in = detail::wantLast<Width>(x, Width, place).ref();
    detail::Ref square = detail::Node("Mul", in, place).in(in).out();
    detail::Ref mean =
        detail::Node("ReduceMean", square, place).in(detail::list(graph, place, {-1})).set("keepdims", 1).out();
    detail::Ref sum = detail::Node("Add", mean, place).in(detail::scalar<f32>(graph, place, epsilon)).out();
    detail::Ref root = detail::Node("Sqrt", sum, place).out();
    detail::Ref normal = detail::Node("Div", in, place).in(root).out();
    return Tensor<f32, S...>(detail::Node("Mul", normal, place).in(weight.ref()).out());
  }

private:
  Scope scope;
  double epsilon;
};

/// Normalises each channel over batch and positions: by the batch's statistics in a training step, else by the running
/// ones.
template <int Channels>
struct BatchNorm {
  Tensor<f32, Channels> weight, bias, running_mean, running_var;

  /// The running statistics move by the share `momentum` towards those of a batch.
  explicit BatchNorm(Scope scope, double epsilon = 1e-5, double momentum = 0.1, Loc where = Loc::current())
      : weight(scope.parameter<f32, Channels>("weight", constant_init(1), where)),
        bias(scope.parameter<f32, Channels>("bias", {}, where)),
        running_mean(scope.statistic<f32, Channels>("running_mean", {}, where)),
        running_var(scope.statistic<f32, Channels>("running_var", constant_init(1), where)), scope(scope),
        epsilon(epsilon), momentum(momentum) {}

  template <Dim... S>
  Tensor<f32, S...> operator()(const Tensor<f32, S...> &x, Loc where = Loc::current()) const {
    static_assert(sizeof...(S) >= 2, "vx: BatchNorm: expected a batch and channels");
    constexpr auto have = Tensor<f32, S...>::dims();
    VX_BUILDER_CHECK(!clash(have[1], Dim(Channels)),
                     message("BatchNorm<", Channels, ">: the input's channels are ", have[1]));
    const detail::Place place = scope.place("BatchNorm", where);
    return Tensor<f32, S...>(detail::Node("BatchNormalization", x.ref(), place)
                                 .in(weight.ref())
                                 .in(bias.ref())
                                 .in(running_mean.ref())
                                 .in(running_var.ref())
                                 .setFloat("epsilon", epsilon)
                                 .setFloat("momentum", 1 - momentum)
                                 .out());
  }

private:
  Scope scope;
  double epsilon, momentum;
};

/// Of each of `Groups` groups of channels, over their positions.
template <int Groups, int Channels>
struct GroupNorm {
  static_assert(Groups >= 1 && Channels % Groups == 0, "vx: GroupNorm: the groups must divide the channels");
  Tensor<f32, Channels> weight, bias;

  explicit GroupNorm(Scope scope, double epsilon = 1e-5, Loc where = Loc::current())
      : weight(scope.parameter<f32, Channels>("weight", constant_init(1), where)),
        bias(scope.parameter<f32, Channels>("bias", {}, where)), scope(scope), epsilon(epsilon) {}

  template <Dim... S>
  Tensor<f32, S...> operator()(const Tensor<f32, S...> &x, Loc where = Loc::current()) const {
    constexpr size_t rank = sizeof...(S);
    static_assert(rank >= 3, "vx: GroupNorm: expected a batch, channels, and one dimension or more");
    constexpr auto have = Tensor<f32, S...>::dims();
    VX_BUILDER_CHECK(!clash(have[1], Dim(Channels)),
                     message("GroupNorm<", Groups, ", ", Channels, ">: the input's channels are ", have[1]));
    const detail::Place place = scope.place("GroupNorm", where);
    vxb_graph *graph = scope.graph();
    detail::Ref rows = detail::Node("Reshape", x.ref(), place).in(detail::list(graph, place, {0, Groups, -1})).out();
    const std::vector<float> one(Groups, 1), zero(Groups, 0);
    auto vector = [&](const std::vector<float> &numbers) {
      return detail::constant(graph, place, VXB_F32, {Groups}, numbers.data(), numbers.size() * 4);
    };
    detail::Ref normal = detail::Node("InstanceNormalization", rows, place)
                             .in(vector(one))
                             .in(vector(zero))
                             .setFloat("epsilon", epsilon)
                             .out();
    detail::Ref shape = detail::Node("Shape", x.ref(), place).out();
    detail::Ref back = detail::Node("Reshape", normal, place).in(shape).out();
    std::vector<int64_t> column(rank - 1, 1);
    column[0] = Channels;
    auto spread = [&](const detail::Ref &value) {
      return detail::Node("Reshape", value, place).in(detail::list(graph, place, column)).out();
    };
    detail::Ref scaled = detail::Node("Mul", back, place).in(spread(weight.ref())).out();
    return Tensor<f32, S...>(detail::Node("Add", scaled, place).in(spread(bias.ref())).out());
  }

private:
  Scope scope;
  double epsilon;
};

//===-- Attention -----------------------------------------------------------------------------===//

/// Each position sees itself and those before it.
struct Causal {};
inline constexpr Causal causal;

struct AttentionOptions {
  bool bias = true;
  double rope_theta = 0; // of rotary positions, mostly 10000; 0: none
  int64_t window = 0;    // the most positions that one sees, itself and those before it; 0: all
};

/// Heads of attention over x [batch, positions, Width]: softmax(q k^T / sqrt(depth)) v, with an output layer.
/// `KeyHeads` heads of keys and values serve `Heads` of queries.
template <int Width, int Heads, int KeyHeads = Heads>
struct MultiHeadAttention {
  static_assert(Heads >= 1 && Width % Heads == 0, "vx: MultiHeadAttention: the heads must divide the width");
  static_assert(KeyHeads >= 1 && Heads % KeyHeads == 0,
                "vx: MultiHeadAttention: the heads of keys must divide the heads of queries");
  static constexpr int depth = Width / Heads, keys = KeyHeads * depth, all = Width + 2 * keys;
  Tensor<f32, all, Width> in_proj_weight;
  Tensor<f32, all> in_proj_bias;
  Linear<Width, Width> out_proj;

  explicit MultiHeadAttention(Scope scope, double dropout = 0, AttentionOptions options = {},
                              Loc where = Loc::current())
      : in_proj_weight(scope.parameter<f32, all, Width>("in_proj_weight", xavier_uniform(Width, all), where)),
        out_proj(scope / "out_proj", options.bias, {.isGiven = false}, where), scope(scope), dropout(dropout),
        options(options) {
    if (options.bias)
      in_proj_bias = scope.parameter<f32, all>("in_proj_bias", {}, where);
  }

  template <Dim B, Dim T, Dim W>
  Tensor<f32, B, T, Dim(Width)> operator()(const Tensor<f32, B, T, W> &x, Loc where = Loc::current()) const {
    return attend(x, false, where);
  }
  template <Dim B, Dim T, Dim W>
  Tensor<f32, B, T, Dim(Width)> operator()(const Tensor<f32, B, T, W> &x, Causal, Loc where = Loc::current()) const {
    return attend(x, true, where);
  }

private:
  template <Dim B, Dim T, Dim W>
  Tensor<f32, B, T, Dim(Width)> attend(const Tensor<f32, B, T, W> &x, bool isCausal, Loc where) const {
    VX_BUILDER_CHECK(!clash(W, Dim(Width)),
                     message("MultiHeadAttention<", Width, ", ", Heads, ">: the input's last dimension is ", W));
    const detail::Place place = scope.place("MultiHeadAttention", where);
    vxb_graph *graph = scope.graph();
    auto list = [&](std::vector<int64_t> numbers) { return detail::list(graph, place, numbers); };
    const auto joined = detail::affine<Dim(all)>(detail::wantLast<Width>(x, Width, place), in_proj_weight.ref(),
                                                 options.bias ? &in_proj_bias.ref() : nullptr, place);
    const std::vector<detail::Ref> parts =
        detail::Node("Split", joined.ref(), place).in(list({Width, keys, keys})).set("axis", -1).outs(3);
    // [batch, heads, places, depth]
    auto heads = [&](const detail::Ref &part, int64_t count) {
      detail::Ref split = detail::Node("Reshape", part, place).in(list({0, 0, count, depth})).out();
      return detail::Node("Transpose", split, place).set("perm", {0, 2, 1, 3}).out();
    };
    detail::Ref query = heads(parts[0], Heads), key = heads(parts[1], KeyHeads), value = heads(parts[2], KeyHeads);
    detail::Ref count =
        detail::Node("Squeeze", detail::Node("Shape", x.ref(), place).set("start", 1).set("end", 2).out(), place).out();
    detail::Ref places = detail::Node("Range", detail::scalar<i64>(graph, place, 0), place)
                             .in(count)
                             .in(detail::scalar<i64>(graph, place, 1))
                             .out();
    if (options.rope_theta > 0) {
      query = rotate(query, places, place);
      key = rotate(key, places, place);
    }
    if (KeyHeads != Heads) {
      key = serve(key, place);
      value = serve(value, place);
    }
    detail::Ref scale = detail::scalar<f32>(graph, place, 1 / std::sqrt(static_cast<double>(depth)));
    detail::Ref scaled = detail::Node("Mul", query, place).in(scale).out();
    detail::Ref scores = detail::Node("MatMul", scaled, place).in(detail::swapLast(key, 4, place)).out();
    if (isCausal || options.window > 0) {
      detail::Ref own = detail::Node("Unsqueeze", places, place).in(list({1})).out();
      detail::Ref seen = detail::Node("Unsqueeze", places, place).in(list({0})).out();
      detail::Ref mask = detail::Node("LessOrEqual", seen, place).in(own).out();
      detail::Ref never = detail::scalar<f32>(graph, place, -std::numeric_limits<double>::infinity());
      if (options.window > 0) {
        detail::Ref last = detail::Node("Add", seen, place)
                               .in(detail::scalar<i64>(graph, place, static_cast<double>(options.window)))
                               .out();
        detail::Ref near = detail::Node("Greater", last, place).in(own).out();
        mask = detail::Node("And", mask, place).in(near).out();
      }
      scores = detail::Node("Where", mask, place).in(scores).in(never).out();
    }
    detail::Ref weights = detail::Node("Softmax", scores, place).set("axis", -1).out();
    if (dropout > 0)
      weights = detail::Node("Dropout", weights, place).in(detail::scalar<f32>(graph, place, dropout)).out();
    detail::Ref seen = detail::Node("MatMul", weights, place).in(value).out();
    detail::Ref back = detail::Node("Transpose", seen, place).set("perm", {0, 2, 1, 3}).out();
    detail::Ref rows = detail::Node("Reshape", back, place).in(list({0, 0, Width})).out();
    return out_proj(Tensor<f32, B, T, Dim(Width)>(rows), where);
  }

  /// Each head for as many as it serves.
  detail::Ref serve(const detail::Ref &heads, const detail::Place &place) const {
    vxb_graph *graph = scope.graph();
    constexpr int64_t times = Heads / KeyHeads;
    detail::Ref wide = detail::Node("Unsqueeze", heads, place).in(detail::list(graph, place, {2})).out();
    detail::Ref repeated =
        detail::Node("Expand", wide, place).in(detail::list(graph, place, {1, 1, times, 1, 1})).out();
    // Of the sizes of `heads`, but for the heads.
    detail::Ref shape = detail::Node("Shape", heads, place).set("start", 2).out();
    detail::Ref batch = detail::Node("Shape", heads, place).set("end", 1).out();
    detail::Ref sizes = detail::Node("Concat", batch, place)
                            .in(detail::list(graph, place, {Heads}))
                            .in(shape)
                            .set("axis", int64_t(0))
                            .out();
    return detail::Node("Reshape", repeated, place).in(sizes).out();
  }

  /// Rotary positions, of the two halves of a head: (a cos - b sin, b cos + a sin) by position / theta^(2 i / depth).
  detail::Ref rotate(const detail::Ref &heads, const detail::Ref &places, const detail::Place &place) const {
    static_assert(depth % 2 == 0, "vx: MultiHeadAttention: rotary positions need heads of an even depth");
    vxb_graph *graph = scope.graph();
    std::vector<float> speeds;
    for (int i = 0; i < depth / 2; ++i)
      speeds.push_back(static_cast<float>(std::pow(options.rope_theta, -2.0 * i / depth)));
    detail::Ref speed = detail::constant(graph, place, VXB_F32, {depth / 2}, speeds.data(), speeds.size() * 4);
    detail::Ref number = detail::Node("Cast", places, place).set("to", VXB_F32).out();
    detail::Ref column = detail::Node("Unsqueeze", number, place).in(detail::list(graph, place, {1})).out();
    detail::Ref angle = detail::Node("Mul", column, place).in(speed).out();
    detail::Ref cosine = detail::Node("Cos", angle, place).out(), sine = detail::Node("Sin", angle, place).out();
    const std::vector<detail::Ref> halves =
        detail::Node("Split", heads, place).set("axis", -1).set("num_outputs", 2).outs(2);
    auto times = [&](const detail::Ref &a, const detail::Ref &b) { return detail::Node("Mul", a, place).in(b).out(); };
    detail::Ref first = detail::Node("Sub", times(halves[0], cosine), place).in(times(halves[1], sine)).out();
    detail::Ref second = detail::Node("Add", times(halves[1], cosine), place).in(times(halves[0], sine)).out();
    return detail::Node("Concat", first, place).in(second).set("axis", -1).out();
  }

  Scope scope;
  double dropout;
  AttentionOptions options;
};

//===-- Recurrent layers ----------------------------------------------------------------------===//

namespace detail {

/// The weights of a layer with `Gates` gates, as PyTorch names and orders them.
template <int Gates, int In, int Hidden>
struct Recurrent {
  Tensor<f32, Gates * Hidden, In> weight_ih_l0;
  Tensor<f32, Gates * Hidden, Hidden> weight_hh_l0;
  Tensor<f32, Gates * Hidden> bias_ih_l0, bias_hh_l0;

  Recurrent(Scope scope, Loc where) : scope(scope) {
    const Init init = kaiming_uniform(Hidden);
    weight_ih_l0 = scope.parameter<f32, Gates * Hidden, In>("weight_ih_l0", init, where);
    weight_hh_l0 = scope.parameter<f32, Gates * Hidden, Hidden>("weight_hh_l0", init, where);
    bias_ih_l0 = scope.parameter<f32, Gates * Hidden>("bias_ih_l0", init, where);
    bias_hh_l0 = scope.parameter<f32, Gates * Hidden>("bias_hh_l0", init, where);
  }

protected:
  /// The gates in ONNX's order, with a dimension of one direction before them.
  Ref order(const Ref &value, const std::vector<int> &gates, const Place &place) const {
    Ref ordered = value;
    if (Gates > 1) {
      const std::vector<Ref> parts =
          Node("Split", value, place).set("axis", int64_t(0)).set("num_outputs", Gates).outs(Gates);
      Node node("Concat", parts[static_cast<size_t>(gates[0])], place);
      for (size_t i = 1; i < gates.size(); ++i)
        node.in(parts[static_cast<size_t>(gates[i])]);
      ordered = node.set("axis", int64_t(0)).out();
    }
    return unsqueeze(ordered, 0, place);
  }
  Ref unsqueeze(const Ref &value, int64_t at, const Place &place) const {
    return Node("Unsqueeze", value, place).in(list(scope.graph(), place, {at})).out();
  }
  Ref squeeze(const Ref &value, int64_t at, const Place &place) const {
    return Node("Squeeze", value, place).in(list(scope.graph(), place, {at})).out();
  }
  Node begin(const char *op, const Ref &x, const std::vector<int> &gates, const Place &place) const {
    Node node(op, x, place);
    Ref bias = Node("Concat", order(bias_ih_l0.ref(), gates, place), place)
                   .in(order(bias_hh_l0.ref(), gates, place))
                   .set("axis", 1)
                   .out();
    node.in(order(weight_ih_l0.ref(), gates, place)).in(order(weight_hh_l0.ref(), gates, place)).in(bias).none();
    node.set("hidden_size", Hidden);
    return node;
  }

  Scope scope;
};

} // namespace detail

#define VX_BUILDER_CHECK_RECURRENT(name)                                                                               \
  VX_BUILDER_CHECK(!clash(I, Dim(In)), message(name "<", In, ", ", Hidden, ">: the input's last dimension is ", I));   \
  VX_BUILDER_CHECK(!clash(H, Dim(Hidden)),                                                                             \
                   message(name "<", In, ", ", Hidden, ">: the state's last dimension is ", H));                       \
  VX_BUILDER_CHECK(!clash(B, C), message(name ": the batch is ", B, " of the input, ", C, " of the state"))

/// h' = tanh(W_ih x + b_ih + W_hh h + b_hh) over x [positions, batch, In]: returns all h, and the last one.
template <int In, int Hidden>
struct RNN : detail::Recurrent<1, In, Hidden> {
  explicit RNN(Scope scope, Loc where = Loc::current()) : detail::Recurrent<1, In, Hidden>(scope, where) {}

  template <Dim T, Dim B, Dim I, Dim C, Dim H>
  auto operator()(const Tensor<f32, T, B, I> &x, const Tensor<f32, C, H> &h, Loc where = Loc::current()) const {
    VX_BUILDER_CHECK_RECURRENT("RNN");
    const detail::Place place = this->scope.place("RNN", where);
    const auto out = this->begin("RNN", x.ref(), {0}, place).in(this->unsqueeze(h.ref(), 0, place)).outs(2);
    return std::pair(Tensor<f32, T, B, Dim(Hidden)>(this->squeeze(out[0], 1, place)),
                     Tensor<f32, better(C, B), Dim(Hidden)>(this->squeeze(out[1], 0, place)));
  }
};

/// Gates r, z, n as PyTorch's GRU, over x [positions, batch, In]: returns all h, and the last one.
template <int In, int Hidden>
struct GRU : detail::Recurrent<3, In, Hidden> {
  explicit GRU(Scope scope, Loc where = Loc::current()) : detail::Recurrent<3, In, Hidden>(scope, where) {}

  template <Dim T, Dim B, Dim I, Dim C, Dim H>
  auto operator()(const Tensor<f32, T, B, I> &x, const Tensor<f32, C, H> &h, Loc where = Loc::current()) const {
    VX_BUILDER_CHECK_RECURRENT("GRU");
    const detail::Place place = this->scope.place("GRU", where);
    const auto out = this->begin("GRU", x.ref(), {1, 0, 2}, place)
                         .in(this->unsqueeze(h.ref(), 0, place))
                         .set("linear_before_reset", 1)
                         .outs(2);
    return std::pair(Tensor<f32, T, B, Dim(Hidden)>(this->squeeze(out[0], 1, place)),
                     Tensor<f32, better(C, B), Dim(Hidden)>(this->squeeze(out[1], 0, place)));
  }
};

/// Gates i, f, g, o as PyTorch's LSTM, over x [positions, batch, In]: returns all h, the last h, and the last cell.
template <int In, int Hidden>
struct LSTM : detail::Recurrent<4, In, Hidden> {
  explicit LSTM(Scope scope, Loc where = Loc::current()) : detail::Recurrent<4, In, Hidden>(scope, where) {}

  template <Dim T, Dim B, Dim I, Dim C, Dim H>
  auto operator()(const Tensor<f32, T, B, I> &x, const Tensor<f32, C, H> &h, const Tensor<f32, C, H> &cell,
                  Loc where = Loc::current()) const {
    VX_BUILDER_CHECK_RECURRENT("LSTM");
    const detail::Place place = this->scope.place("LSTM", where);
    const auto out = this->begin("LSTM", x.ref(), {0, 3, 1, 2}, place)
                         .in(this->unsqueeze(h.ref(), 0, place))
                         .in(this->unsqueeze(cell.ref(), 0, place))
                         .outs(3);
    using Last = Tensor<f32, better(C, B), Dim(Hidden)>;
    return std::tuple(Tensor<f32, T, B, Dim(Hidden)>(this->squeeze(out[0], 1, place)),
                      Last(this->squeeze(out[1], 0, place)), Last(this->squeeze(out[2], 0, place)));
  }
};
#undef VX_BUILDER_CHECK_RECURRENT

//===-- Windows -------------------------------------------------------------------------------===//

struct PoolOptions {
  Window stride = 0; // 0: the window's size
  Window padding = 0;
};

namespace detail {
template <size_t N, Window Kernel, PoolOptions O, Dim... S>
auto pool(const char *op, const Tensor<f32, S...> &x, const Place &place) {
  static_assert(sizeof...(S) == N + 2, "vx: pool: expected a batch, channels, and N dimensions");
  static_assert(Kernel.fits(N) && O.stride.fits(N) && O.padding.fits(N),
                "vx: pool: expected one number for all dimensions of a window, or one for each");
  static constexpr Window stride = O.stride[0] > 0 ? O.stride : Kernel;
  constexpr auto out = [] {
    auto made = Tensor<f32, S...>::dims();
    for (size_t i = 0; i < N; ++i)
      made[i + 2] = windowsOf(made[i + 2], Kernel[i], stride[i], O.padding[i], 1);
    return made;
  }();
  Node node(op, x.ref(), place);
  if (op == std::string_view("AveragePool"))
    node.set("count_include_pad", 1);
  return TensorOf<f32, out>(
      node.set("kernel_shape", Kernel.list(N)).set("strides", stride.list(N)).set("pads", O.padding.list(N, 2)).out());
}
} // namespace detail

template <size_t N, Window Kernel, PoolOptions O = PoolOptions{}>
struct MaxPool {
  MaxPool() = default;
  explicit MaxPool(Scope) {}
  template <Dim... S>
  auto operator()(const Tensor<f32, S...> &x, Loc where = Loc::current()) const {
    return detail::pool<N, Kernel, O>("MaxPool", x, {"", "MaxPool", where});
  }
};
/// Padding counts as zeros.
template <size_t N, Window Kernel, PoolOptions O = PoolOptions{}>
struct AvgPool {
  AvgPool() = default;
  explicit AvgPool(Scope) {}
  template <Dim... S>
  auto operator()(const Tensor<f32, S...> &x, Loc where = Loc::current()) const {
    return detail::pool<N, Kernel, O>("AveragePool", x, {"", "AvgPool", where});
  }
};
/// The mean of each channel's positions.
template <Dim B, Dim C, Dim... S>
Tensor<f32, B, C> global_avg_pool(const Tensor<f32, B, C, S...> &x, Loc where = Loc::current()) {
  const detail::Place place{"", "global_avg_pool", where};
  std::vector<int64_t> axes;
  for (size_t i = 0; i < sizeof...(S); ++i)
    axes.push_back(static_cast<int64_t>(i + 2));
  return Tensor<f32, B, C>(
      detail::Node("ReduceMean", x.ref(), place).in(detail::list(x.ref().graph, place, axes)).set("keepdims", 0).out());
}

//===-- Others --------------------------------------------------------------------------------===//

/// In a training step each element is 0 with this probability p, and else x / (1 - p). Elsewhere the result is x.
struct Dropout {
  explicit Dropout(Scope scope, double probability = 0.5) : scope(scope), probability(probability) {}
  template <class D, Dim... S>
  Tensor<D, S...> operator()(const Tensor<D, S...> &x, Loc where = Loc::current()) const {
    if (probability == 0)
      return x;
    const detail::Place place = scope.place("Dropout", where);
    return Tensor<D, S...>(
        detail::Node("Dropout", x.ref(), place).in(detail::scalar<f32>(scope.graph(), place, probability)).out());
  }

private:
  Scope scope;
  double probability;
};

/// All dimensions after the first become one.
struct Flatten {
  Flatten() = default;
  explicit Flatten(Scope) {}
  template <class D, Dim B, Dim... S>
  auto operator()(const Tensor<D, B, S...> &x, Loc where = Loc::current()) const {
    constexpr Dim rest = ((S.isNumber()) && ...) ? Dim((S.size * ... * 1)) : any;
    return Tensor<D, B, rest>(detail::Node("Flatten", x.ref(), {"", "Flatten", where}).set("axis", 1).out());
  }
};

#define VX_BUILDER_ACTIVATION(name, function)                                                                          \
  struct name {                                                                                                        \
    name() = default;                                                                                                  \
    explicit name(Scope) {}                                                                                            \
    template <class D, Dim... S>                                                                                       \
    Tensor<D, S...> operator()(const Tensor<D, S...> &x, Loc where = Loc::current()) const {                           \
      return function;                                                                                                 \
    }                                                                                                                  \
  };
/// Activations as layers, for Sequential.
namespace activation {
VX_BUILDER_ACTIVATION(ReLU, relu(x, where))
VX_BUILDER_ACTIVATION(GELU, gelu(x, Gelu::exact, where))
VX_BUILDER_ACTIVATION(SiLU, silu(x, where))
VX_BUILDER_ACTIVATION(Tanh, tanh(x, where))
VX_BUILDER_ACTIVATION(Sigmoid, sigmoid(x, where))
VX_BUILDER_ACTIVATION(ELU, elu(x, 1, where))
VX_BUILDER_ACTIVATION(LeakyReLU, leaky_relu(x, 0.01, where))
VX_BUILDER_ACTIVATION(Softplus, softplus(x, where))
} // namespace activation
#undef VX_BUILDER_ACTIVATION

/// Layers in sequence, in the scopes "0", "1", ...
template <class... Layers>
struct Sequential {
  std::tuple<Layers...> layers;

  explicit Sequential(Scope scope) : Sequential(scope, std::index_sequence_for<Layers...>()) {}

  template <class D, Dim... S>
  auto operator()(const Tensor<D, S...> &x, Loc where = Loc::current()) const {
    return apply<0>(x, where);
  }

private:
  template <size_t... I>
  Sequential(Scope scope, std::index_sequence<I...>) : layers(Layers(scope / std::to_string(I))...) {}
  template <size_t I, class T>
  auto apply(const T &x, Loc where) const {
    if constexpr (I == sizeof...(Layers))
      return x;
    else
      return apply<I + 1>(std::get<I>(layers)(x, where), where);
  }
};

namespace transformer {

/// down(activation(up(x))), the layers of a transformer between its attentions; gated: down(silu(gate(x)) * up(x)).
template <int Width, int Hidden = 4 * Width, bool IsGated = false>
struct FeedForward {
  Linear<Width, Hidden> up;
  Linear<Hidden, Width> down;
  std::vector<Linear<Width, Hidden>> gate; // one, or none
  Dropout drop;

  explicit FeedForward(Scope scope, double dropout = 0, bool has_bias = true, Loc where = Loc::current())
      : up(scope / "up", has_bias, {.isGiven = false}, where),
        down(scope / "down", has_bias, {.isGiven = false}, where), drop(scope / "drop", dropout) {
    if (IsGated)
      gate.emplace_back(scope / "gate", has_bias, Init{.isGiven = false}, where);
  }

  template <Dim... S>
  auto operator()(const Tensor<f32, S...> &x, Loc where = Loc::current()) const {
    const auto wide = up(x, where);
    if constexpr (IsGated)
      return drop(down(silu(gate[0](x, where), where) * wide, where), where);
    else
      return drop(down(gelu(wide, Gelu::exact, where), where), where);
  }
};

} // namespace transformer

} // namespace vx::build

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif
