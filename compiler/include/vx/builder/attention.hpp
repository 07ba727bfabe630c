// The layers of an encoder and a decoder: attention to another sequence, padding masks, sinusoidal positions.
#ifndef VX_BUILDER_ATTENTION_HPP
#define VX_BUILDER_ATTENTION_HPP

#include "vx/builder/layers.hpp"

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++26-extensions"
#endif

namespace vx::build::transformer {

/// x [batch, positions, Width] plus a table by position: of each pair of columns, i, the sine and the cosine of
/// position / theta^(2 i / Width).
template <Dim B, Dim T, Dim W>
Tensor<f32, B, T, W> sinusoidal_positions(const Tensor<f32, B, T, W> &x, double theta = 10000,
                                          Loc where = Loc::current()) {
  static_assert(W.isNumber() && W.size % 2 == 0, "vx: sinusoidal_positions: expected an even number of columns");
  constexpr int64_t width = W.size;
  const detail::Place place{"", "sinusoidal_positions", where};
  vxb_graph *graph = detail::current;
  std::vector<float> speeds;
  for (int64_t i = 0; i < width / 2; ++i)
    speeds.push_back(static_cast<float>(std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(width))));
  detail::Ref speed = detail::constant(graph, place, VXB_F32, {width / 2}, speeds.data(), speeds.size() * 4);
  detail::Ref count =
      detail::Node("Squeeze", detail::Node("Shape", x.ref(), place).set("start", 1).set("end", 2).out(), place).out();
  detail::Ref places = detail::Node("Range", detail::scalar<i64>(graph, place, 0), place)
                           .in(count)
                           .in(detail::scalar<i64>(graph, place, 1))
                           .out();
  detail::Ref number = detail::Node("Cast", places, place).set("to", VXB_F32).out();
  detail::Ref column = detail::Node("Unsqueeze", number, place).in(detail::list(graph, place, {1})).out();
  detail::Ref angle = detail::Node("Mul", column, place).in(speed).out();
  auto wave = [&](const char *op) {
    detail::Ref values = detail::Node(op, angle, place).out();
    return detail::Node("Unsqueeze", values, place).in(detail::list(graph, place, {2})).out();
  };
  detail::Ref pairs = detail::Node("Concat", wave("Sin"), place).in(wave("Cos")).set("axis", -1).out();
  detail::Ref table = detail::Node("Reshape", pairs, place).in(detail::list(graph, place, {0, width})).out();
  return Tensor<f32, B, T, W>(detail::Node("Add", x.ref(), place).in(table).out());
}

/// Attention of x [batch, positions, Width] to another sequence, `memory` [batch, places, Width]:
/// softmax(q k^T / sqrt(depth)) v, with an output layer. Its parameters are those of PyTorch's MultiheadAttention.
/// `is_pad` [batch, places] is true at places that nothing sees; a row that is all padding gives NaN, as in PyTorch.
template <int Width, int Heads>
struct CrossAttention {
  static_assert(Heads >= 1 && Width % Heads == 0, "vx: CrossAttention: the heads must divide the width");
  static constexpr int depth = Width / Heads;
  Tensor<f32, 3 * Width, Width> in_proj_weight;
  Tensor<f32, 3 * Width> in_proj_bias;
  Linear<Width, Width> out_proj;

  explicit CrossAttention(Scope scope, double dropout = 0, Loc where = Loc::current())
      : in_proj_weight(
            scope.parameter<f32, 3 * Width, Width>("in_proj_weight", xavier_uniform(Width, 3 * Width), where)),
        in_proj_bias(scope.parameter<f32, 3 * Width>("in_proj_bias", {}, where)),
        out_proj(scope / "out_proj", true, {.isGiven = false}, where), scope(scope), dropout(dropout) {}

  template <Dim B, Dim T, Dim M, Dim W>
  Tensor<f32, B, T, Dim(Width)> operator()(const Tensor<f32, B, T, W> &x, const Tensor<f32, B, M, W> &memory,
                                           Loc where = Loc::current()) const {
    return attend(x, memory, nullptr, where);
  }
  template <Dim B, Dim T, Dim M, Dim W>
  Tensor<f32, B, T, Dim(Width)> operator()(const Tensor<f32, B, T, W> &x, const Tensor<f32, B, M, W> &memory,
                                           const Tensor<b1, B, M> &is_pad, Loc where = Loc::current()) const {
    return attend(x, memory, &is_pad.ref(), where);
  }

private:
  template <Dim B, Dim T, Dim M, Dim W>
  Tensor<f32, B, T, Dim(Width)> attend(const Tensor<f32, B, T, W> &x, const Tensor<f32, B, M, W> &memory,
                                       const detail::Ref *isPad, Loc where) const {
    VX_BUILDER_CHECK(!clash(W, Dim(Width)),
                     message("CrossAttention<", Width, ", ", Heads, ">: the input's last dimension is ", W));
    const detail::Place place = scope.place("CrossAttention", where);
    vxb_graph *graph = scope.graph();
    auto list = [&](std::vector<int64_t> numbers) { return detail::list(graph, place, numbers); };
    auto split = [&](const detail::Ref &value, std::vector<int64_t> sizes, int64_t axis) {
      const size_t count = sizes.size();
      return detail::Node("Split", value, place).in(list(std::move(sizes))).set("axis", axis).outs(count);
    };
    const auto weights = split(in_proj_weight.ref(), {Width, 2 * Width}, 0);
    const auto biases = split(in_proj_bias.ref(), {Width, 2 * Width}, 0);
    const auto own =
        detail::affine<Dim(Width)>(detail::wantLast<Width>(x, Width, place), weights[0], &biases[0], place);
    const auto other =
        detail::affine<Dim(2 * Width)>(detail::wantLast<Width>(memory, Width, place), weights[1], &biases[1], place);
    const auto parts = split(other.ref(), {Width, Width}, -1);
    auto heads = [&](const detail::Ref &part) { // [batch, heads, places, depth]
      detail::Ref apart = detail::Node("Reshape", part, place).in(list({0, 0, Heads, depth})).out();
      return detail::Node("Transpose", apart, place).set("perm", {0, 2, 1, 3}).out();
    };
    detail::Ref scale = detail::scalar<f32>(graph, place, 1 / std::sqrt(static_cast<double>(depth)));
    detail::Ref query = detail::Node("Mul", heads(own.ref()), place).in(scale).out();
    detail::Ref scores = detail::Node("MatMul", query, place).in(detail::swapLast(heads(parts[0]), 4, place)).out();
    if (isPad) {
      detail::Ref hidden = detail::Node("Unsqueeze", *isPad, place).in(list({1, 2})).out();
      detail::Ref never = detail::scalar<f32>(graph, place, -std::numeric_limits<double>::infinity());
      scores = detail::Node("Where", hidden, place).in(never).in(scores).out();
    }
    detail::Ref shares = detail::Node("Softmax", scores, place).set("axis", -1).out();
    if (dropout > 0)
      shares = detail::Node("Dropout", shares, place).in(detail::scalar<f32>(graph, place, dropout)).out();
    detail::Ref seen = detail::Node("MatMul", shares, place).in(heads(parts[1])).out();
    detail::Ref back = detail::Node("Transpose", seen, place).set("perm", {0, 2, 1, 3}).out();
    return out_proj(Tensor<f32, B, T, Dim(Width)>(detail::Node("Reshape", back, place).in(list({0, 0, Width})).out()),
                    where);
  }

  Scope scope;
  double dropout;
};

/// The encoder layer of "Attention is all you need", with the names of PyTorch's TransformerEncoderLayer: attention and
/// two linear layers with a relu, each added to its input before a norm.
template <int Width, int Heads, int Hidden = 4 * Width>
struct EncoderLayer {
  CrossAttention<Width, Heads> self_attn;
  Linear<Width, Hidden> linear1;
  Linear<Hidden, Width> linear2;
  LayerNorm<Width> norm1, norm2;
  Dropout drop;

  explicit EncoderLayer(Scope scope, double dropout = 0, Loc where = Loc::current())
      : self_attn(scope / "self_attn", dropout, where), linear1(scope / "linear1", true, {.isGiven = false}, where),
        linear2(scope / "linear2", true, {.isGiven = false}, where), norm1(scope / "norm1"), norm2(scope / "norm2"),
        drop(scope / "drop", dropout) {}

  template <Dim B, Dim T, Dim W, typename... Mask>
  auto operator()(const Tensor<f32, B, T, W> &x, const Mask &...is_pad) const {
    const auto y = norm1(x + drop(self_attn(x, x, is_pad...)));
    return norm2(y + drop(linear2(drop(relu(linear1(y))))));
  }
};

/// The decoder layer beside it, with the names of PyTorch's TransformerDecoderLayer: positions see themselves and those
/// before, then the encoder's `memory`. `is_pad` is of the memory.
template <int Width, int Heads, int Hidden = 4 * Width>
struct DecoderLayer {
  MultiHeadAttention<Width, Heads> self_attn;
  CrossAttention<Width, Heads> multihead_attn;
  Linear<Width, Hidden> linear1;
  Linear<Hidden, Width> linear2;
  LayerNorm<Width> norm1, norm2, norm3;
  Dropout drop;

  explicit DecoderLayer(Scope scope, double dropout = 0, Loc where = Loc::current())
      : self_attn(scope / "self_attn", dropout, {}, where), multihead_attn(scope / "multihead_attn", dropout, where),
        linear1(scope / "linear1", true, {.isGiven = false}, where),
        linear2(scope / "linear2", true, {.isGiven = false}, where), norm1(scope / "norm1"), norm2(scope / "norm2"),
        norm3(scope / "norm3"), drop(scope / "drop", dropout) {}

  template <Dim B, Dim T, Dim M, Dim W, typename... Mask>
  auto operator()(const Tensor<f32, B, T, W> &x, const Tensor<f32, B, M, W> &memory, const Mask &...is_pad) const {
    const auto y = norm1(x + drop(self_attn(x, causal)));
    const auto z = norm2(y + drop(multihead_attn(y, memory, is_pad...)));
    return norm3(z + drop(linear2(drop(relu(linear1(z))))));
  }
};

} // namespace vx::build::transformer

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif
