// Prints the graphs that the C++ builder makes of the models of test_builder.py, each after its name.
#include "vx/builder.hpp"

#include <cstdio>
#include <string>
#include <tuple>

using namespace vx::build;

namespace {

struct Mlp {
  Linear<64, 512> fc1;
  Linear<512, 10> fc2;
  Dropout drop_in, drop;
  explicit Mlp(Scope s) : fc1(s / "fc1"), fc2(s / "fc2"), drop_in(s / "drop_in", 0.2), drop(s / "drop", 0.5) {}
  auto operator()(Tensor<f32, "batch", 64> x) const { return fc2(drop(relu(fc1(drop_in(x))))); }
};

struct Images {
  Conv2d<1, 8, 3, ConvOptions{.padding = 1}> conv1;
  BatchNorm<8> norm1;
  Conv2d<8, 16, Window(3, 5), ConvOptions{.stride = Window(2, 1), .padding = Window(1, 2), .groups = 2, .bias = false}>
      conv2;
  GroupNorm<4, 16> norm2;
  Linear<64, 10> head;
  explicit Images(Scope s)
      : conv1(s / "conv1"), norm1(s / "norm1"), conv2(s / "conv2"), norm2(s / "norm2"), head(s / "head") {}
  auto operator()(Tensor<f32, "batch", 1, 8, 8> x) const {
    auto y = MaxPool<2, 2>()(relu(norm1(conv1(x))));
    auto z = AvgPool<2, Window(1, 2)>()(gelu(norm2(conv2(y))));
    return head(Flatten()(z));
  }
};

struct Texts {
  Embedding<50, 32> tokens;
  MultiHeadAttention<32, 4> attention;
  LayerNorm<32> norm1;
  RmsNorm<32> norm2;
  Linear<32, 50> head;
  explicit Texts(Scope s)
      : tokens(s / "tokens"), attention(s / "attention", 0.1), norm1(s / "norm1"), norm2(s / "norm2"),
        head(s / "head") {}
  auto operator()(Tensor<i64, "batch", "time"> ids) const {
    auto x = tokens(ids);
    auto y = x + attention(norm1(x), causal);
    return head(silu(norm2(y)));
  }
};

struct Series {
  LSTM<6, 12> core;
  GRU<12, 5> second;
  explicit Series(Scope s) : core(s / "core"), second(s / "second") {}
  auto operator()(Tensor<f32, "time", "batch", 6> x, Tensor<f32, "batch", 12> h, Tensor<f32, "batch", 5> g) const {
    auto [y, last, cell] = core(x, h, h);
    auto [z, end] = second(y, g);
    return std::tuple((z * 2.0 - 1.0).mean<0>(), exp(end).sum());
  }
};

void print(const char *name, Graph &graph) {
  std::string text;
  Compile options;
  options.stop_after = "import";
  options.on_text = [](void *data, const char *part, size_t size) {
    static_cast<std::string *>(data)->append(part, size);
  };
  options.user_data = &text;
  (void)compile_bytes(graph, options);
  std::printf("== %s\n%s", name, text.c_str());
}

template <class Model, Dim... S, class D>
void trained(const char *name, const char *input, Tensor<D, S...>) {
  Graph g(name);
  Model model(g.root());
  g.function("predict", {input}, {"logits"}, [&](Tensor<D, S...> x) { return model(x); });
  constexpr bool isText = std::is_same_v<D, i64>;
  using Labels = std::conditional_t<isText, Tensor<i64, "batch", "time">, Tensor<i64, "batch">>;
  train(g, "train_step", {input, "label"}, {.optimizer = AdamW{.weight_decay = 0.01}, .clip_norm = 1.0},
        [&](Tensor<D, S...> x, Labels label) {
          auto logits = model(x);
          return Loss(cross_entropy(logits, label), {{"accuracy", accuracy(logits, label)}});
        });
  print(name, g);
}

} // namespace

int main() {
  trained<Mlp>("mlp", "image", Tensor<f32, "batch", 64>());
  trained<Images>("images", "image", Tensor<f32, "batch", 1, 8, 8>());
  trained<Texts>("texts", "ids", Tensor<i64, "batch", "time">());
  Graph g("series");
  Series model(g.root());
  g.function("predict", {"x", "h", "g"}, {"mean", "sum"},
             [&](Tensor<f32, "time", "batch", 6> x, Tensor<f32, "batch", 12> h, Tensor<f32, "batch", 5> other) {
               return model(x, h, other);
             });
  print("series", g);
}
