// A small language model of bytes, compiled to tinygpt.vxm, which vx-train trains:
//
//   lm && vx-train tinygpt.vxm --data FOLDER
#include "vx/builder.hpp"
#include <tuple>
using namespace vx::build;
constexpr int V = 256, N = 128, H = 4, L = 4; // a small language model
struct FeedForward {
  Linear<N, 4 * N> up;
  Linear<4 * N, N> down;
  Dropout drop;
  explicit FeedForward(Scope s) : up(s / "up"), down(s / "down"), drop(s / "drop", 0.1) {}
  template <Dim... S>
  auto operator()(Tensor<f32, S...> x) const {
    return drop(down(gelu(up(x))));
  }
};
struct Block {
  LayerNorm<N> ln1, ln2;
  MultiHeadAttention<N, H> attention;
  FeedForward ffn;
  explicit Block(Scope s) : ln1(s / "ln1"), ln2(s / "ln2"), attention(s / "attn", /*dropout=*/0.1), ffn(s / "ffn") {}
  template <Dim... S>
  Tensor<f32, S...> operator()(Tensor<f32, S...> x) const {
    auto y = x + attention(ln1(x), causal);
    return y + ffn(ln2(y));
  }
};
struct TinyGpt {
  Embedding<V, N> tokens;
  Embedding<1024, N> places;
  std::vector<Block> blocks;
  LayerNorm<N> last;
  explicit TinyGpt(Scope s) : tokens(s / "wte"), places(s / "wpe"), last(s / "ln_f") {
    for (int i = 0; i < L; ++i)
      blocks.emplace_back(s / "h" / std::to_string(i));
  }
  Tensor<f32, "batch", "time", V> operator()(Tensor<i64, "batch", "time"> ids) const {
    Tensor<f32, "batch", "time", N> x = add_rows(tokens(ids), places(positions<"time">(ids)));
    for (const Block &block : blocks)
      x = block(x);
    return matmul_nt(last(x), tokens.weight); // tied head: one variable, two uses
  }
};
int main() {
  Graph g("tinygpt");
  g.symbol("time", 1, 1024); // range of a symbol, as vx.symbol
  TinyGpt model(g.root());
  g.function("logits", {"ids"}, {"logits"}, [&](Tensor<i64, "batch", "time"> ids) { return model(ids); });
  train(g, "train_step", {"ids", "next"},
        {.optimizer = {.lr = 3e-4, .beta2 = 0.95, .weight_decay = 0.1},
         .clip_norm = 1.0,
         .memory = 2ull << 30,
         .precision = "bf16"},
        [&](Tensor<i64, "batch", "time"> ids, Tensor<i64, "batch", "time"> next) {
          return Loss(cross_entropy(model(ids), next));
        });
  compile(g, "tinygpt.vxm", {.targets = "cpu,cuda,vulkan"});
}
