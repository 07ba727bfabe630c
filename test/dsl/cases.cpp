// A function of each function and layer of the builder, run on devices at several sizes: inputs, outputs, parameters
// and ONNX exports go to files, which run_functions.py compares with ONNX Runtime and with the definitions.
//
//   dsl_cases OUT TARGETS DEVICE...
//   dsl_cases --graph FILE     writes the graph's text alone, which is one for all builds of this program
#include "vx/builder.hpp"
#include "vx/runtime/vx.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

using namespace vx::build;

static void addElementwise(Graph &g) {
#define UNARY(name) g.function(#name, {"x"}, {"y"}, [&](Tensor<f32, "n", 5> x) { return name(x); })
  UNARY(abs);
  UNARY(ceil);
  UNARY(floor);
  UNARY(round);
  UNARY(sign);
  UNARY(exp);
  UNARY(sin);
  UNARY(cos);
  UNARY(tan);
  UNARY(tanh);
  UNARY(erf);
  UNARY(reciprocal);
  UNARY(sigmoid);
  UNARY(softplus);
  UNARY(softsign);
  UNARY(relu);
  UNARY(selu);
  UNARY(mish);
  UNARY(hard_swish);
  UNARY(silu);
  UNARY(gelu);
  UNARY(elu);
  UNARY(celu);
  UNARY(leaky_relu);
  UNARY(hard_sigmoid);
  UNARY(softmax);
  UNARY(log_softmax);
  UNARY(logsumexp);
  UNARY(argmax);
  UNARY(argmin);
#undef UNARY
#define POSITIVE(name) g.function(#name, {"x"}, {"y"}, [&](Tensor<f32, "n", 5> x) { return name(abs(x) + 0.25); })
  POSITIVE(sqrt);
  POSITIVE(log);
  POSITIVE(rsqrt);
#undef POSITIVE
  g.function("gelu_tanh", {"x"}, {"y"}, [&](Tensor<f32, "n", 5> x) { return gelu(x, Gelu::tanh); });
  g.function("is_nan", {"x"}, {"y"}, [&](Tensor<f32, "n", 5> x) { return is_nan(sqrt(x)); });
  g.function("is_inf", {"x"}, {"y"}, [&](Tensor<f32, "n", 5> x) { return is_inf(x / max(x, 0.0)); });
#define BINARY(name, expression)                                                                                       \
  g.function(name, {"a", "b"}, {"y"}, [&](Tensor<f32, "n", 5> a, Tensor<f32, "n", 5> b) { return expression; })
  BINARY("add", a + b);
  BINARY("sub", a - b);
  BINARY("mul", a * b);
  BINARY("div", a / b);
  BINARY("minimum", min(a, b));
  BINARY("maximum", max(a, b));
  BINARY("less", a < b);
  BINARY("less_equal", a <= b);
  BINARY("greater", a > b);
  BINARY("greater_equal", a >= b);
  BINARY("equal", equal(round(a), round(b)));
  BINARY("not_equal", not_equal(round(a), round(b)));
  BINARY("power", pow(abs(a) + 0.5, b));
  BINARY("logical", logical_or(logical_and(a > 0.0, b > 0.0), logical_xor(a > 1.0, logical_not(b > 1.0))));
  BINARY("where", where(a > b, a, b));
  BINARY("where_number", where(a > b, where(a > 0.0, a, -1.0), 2.0));
  BINARY("numbers", 2.0 - a * 3.0 + b / 0.5 + 1.0 / (b * b + 1.0));
  BINARY("scalars", (a.sum() + 1.0) * b - a.mean());
  BINARY("clamp", clamp(a, -0.5, b.mean() + 0.75));
#undef BINARY
}

static void addShapes(Graph &g) {
#define SHAPE(name, expression) g.function(name, {"x"}, {"y"}, [&](Tensor<f32, "n", 3, 4> x) { return expression; })
  SHAPE("sum_all", x.sum());
  SHAPE("mean_all", x.mean());
  SHAPE("max_all", x.max());
  SHAPE("min_all", x.min());
  SHAPE("prod_all", x.prod());
  SHAPE("sum_last", x.sum<-1>());
  SHAPE("mean_two", (x.mean<0, 2>()));
  SHAPE("max_middle", x.max<1>());
  SHAPE("min_first", x.min<0>());
  SHAPE("prod_last", x.prod<2>());
  SHAPE("pow", x.pow(2));
  SHAPE("neg", -x);
  SHAPE("reshape", (x.reshape<any, 6>()));
  SHAPE("reshape_named", (x.reshape<4, "n", 3>()));
  SHAPE("transpose", (x.transpose<2, 0, 1>()));
  SHAPE("unsqueeze", x.unsqueeze<-1>());
  SHAPE("squeeze", x.unsqueeze<1>().squeeze<1>());
  SHAPE("broadcast", (x.unsqueeze<1>().broadcast<"n", 2, 3, 4>()));
  SHAPE("to", x.to<i64>());
  SHAPE("to_half", (x.to<f16>().to<f32>()));
  SHAPE("slice", (x.slice<2, 1, 4, 2>()));
  SHAPE("select", x.select<1>(Tensor<i64>(2)));
  SHAPE("concat", (concat<1>(x, x.slice<1, 0, 2>(), -x)));
  SHAPE("split", ([&] {
          auto parts = split<2, 2>(x);
          return parts[1] - parts[0];
        }()));
  SHAPE("pad", (pad<1, 1, 2>(x, 0.5)));
  SHAPE("as", (x.as<any, 3, 4>().as<"n", 3, any>()));
  SHAPE("constant", (add_rows(x, constant<f32, 3, 4>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}))));
  SHAPE("full", (x * full<f32, "n", 3, 4>(0.5) + zeros<f32, "n", 3, 4>() - ones<f32, "n", 3, 4>()));
  SHAPE("stop_gradient", x.stop_gradient());
  SHAPE("softmax_middle", softmax<1>(x));
  SHAPE("argmax_first", argmax<0>(x));
#undef SHAPE
  g.function("matmul", {"a", "b"}, {"y"}, [&](Tensor<f32, "n", 4> a, Tensor<f32, 4, 6> b) { return matmul(a, b); });
  g.function("matmul_batch", {"a", "b"}, {"y"},
             [&](Tensor<f32, "n", 3, 4> a, Tensor<f32, "n", 4, 6> b) { return matmul(a, b); });
  g.function("matmul_nt", {"a", "b"}, {"y"},
             [&](Tensor<f32, "n", 3, 4> a, Tensor<f32, 6, 4> b) { return matmul_nt(a, b); });
  g.function("gather", {"x", "i"}, {"y"}, [&](Tensor<f32, 6, 4> x, Tensor<i64, "n", 2> i) { return gather<0>(x, i); });
  g.function("pick", {"x", "i"}, {"y"}, [&](Tensor<f32, "n", 6> x, Tensor<i64, "n"> i) { return pick(x, i); });
  g.function("pick_rows", {"x", "i"}, {"y"},
             [&](Tensor<f32, "n", 2, 6> x, Tensor<i64, "n", 2> i) { return pick(x, i); });
  g.function("one_hot", {"i"}, {"y"}, [&](Tensor<i64, "n"> i) { return one_hot<6>(i); });
  g.function("positions", {"i"}, {"y"}, [&](Tensor<i64, 3, "n"> i) { return positions<"n">(i); });
  g.function("iota", {"i"}, {"y"}, [&](Tensor<i64, "n"> i) { return concat<0>(iota<7>(), i); });
  g.function("unify", {"a", "b"}, {"y"}, [&](Tensor<f32, any, 4> a, Tensor<f32, "n", any> b) { return a + b; });
  g.function("gradient", {"x"}, {"y"}, [&](Tensor<f32, "n", 3> x) { return gradient(x.pow(2).sum(), x); });
  g.function("gradient_two", {"a", "b"}, {"da", "db"},
             [&](Tensor<f32, "n", 3> a, Tensor<f32, "n", 3> b) { return gradient(tanh(a * b), a, b); });
  g.function("gradient_second", {"x"}, {"y"},
             [&](Tensor<f32, "n", 3> x) { return gradient(gradient(x.pow(3), x), x); });
  g.function("gradient_stopped", {"x"}, {"y"},
             [&](Tensor<f32, "n", 3> x) { return gradient(x * x.stop_gradient(), x); });
  g.function("gradient_pick", {"x", "i"}, {"y"},
             [&](Tensor<f32, "n", 6> x, Tensor<i64, "n"> i) { return gradient(pick(log_softmax(x), i), x); });
}

static void addControl(Graph &g) {
  g.function("loop", {"x"}, {"y"}, [&](Tensor<f32, "n", 3> x) {
    return loop(Tensor<i64>(4), x, [&](Scalar<i64> i, Tensor<f32, "n", 3> s) { return s * 0.5 + i.to<f32>(); });
  });
  g.function("loop_two", {"x"}, {"y", "z"}, [&](Tensor<f32, "n", 3> x) {
    return loop(Tensor<i64>(3), std::tuple(x, x.sum()),
                [&](Scalar<i64>, Tensor<f32, "n", 3> s, Scalar<f32> t) { return std::tuple(s + t, s.mean()); });
  });
  g.function("loop_in_loop", {"x"}, {"y"}, [&](Tensor<f32, "n", 3> x) {
    return loop(Tensor<i64>(2), x, [&](Scalar<i64> i, Tensor<f32, "n", 3> s) {
      return loop(i + Tensor<i64>(1), s, [&](Scalar<i64>, Tensor<f32, "n", 3> t) { return t * 1.5 - x; });
    });
  });
  g.function("scan", {"x", "s"}, {"last", "all"}, [&](Tensor<f32, "n", 2, 3> x, Tensor<f32, 2, 3> s) {
    auto [last, all] = scan(x, s, [&](Tensor<f32, 2, 3> row, Tensor<f32, 2, 3> carried) {
      auto next = tanh(row + carried);
      return std::pair(next, next.sum<-1>());
    });
    return std::tuple(last, all);
  });
  g.function("branch", {"x"}, {"y"},
             [&](Tensor<f32, "n", 3> x) { return branch(x.sum() > 0.0, [&] { return x * 2.0; }, [&] { return -x; }); });
  g.function("gradient_loop", {"x"}, {"y"}, [&](Tensor<f32, "n", 3> x) {
    auto y = loop(Tensor<i64>(3), x, [&](Scalar<i64>, Tensor<f32, "n", 3> s) { return s * x; });
    return gradient(y, x);
  });
}

// Layers live as long as their graph.
static void addLayers(Graph &g) {
  const Scope s = g.root();
#define LAYER(name, type, layer, input)                                                                                \
  g.function(name, {"x"}, {"y"}, [layer = type(s / name)](input x) { return layer(x); })
#define ARGS(...) __VA_ARGS__
  LAYER("linear", ARGS(Linear<4, 6>), layer, ARGS(Tensor<f32, "n", 4>));
  LAYER("linear_rows", ARGS(Linear<4, 6>), layer, ARGS(Tensor<f32, 2, "n", 4>));
  g.function("linear_any", {"x"}, {"y"},
             [layer = Linear<any, any>(s / "linear_any", 4, 6)](Tensor<f32, "n", any> x) { return layer(x); });
  g.function(
      "linear_plain", {"x"}, {"y"},
      [layer = Linear<4, 6>(s / "linear_plain", false, orthogonal(2))](Tensor<f32, "n", 4> x) { return layer(x); });
  LAYER("conv1d", ARGS(Conv1d<4, 6, 3, ConvOptions{.stride = 2, .padding = 1}>), layer, ARGS(Tensor<f32, "n", 4, 9>));
  LAYER("conv2d", ARGS(Conv2d<4, 6, 3, ConvOptions{.padding = 1, .groups = 2}>), layer,
        ARGS(Tensor<f32, 2, 4, "n", 5>));
  LAYER("conv2d_plain", ARGS(Conv2d<4, 6, 2, ConvOptions{.dilation = 2, .bias = false}>), layer,
        ARGS(Tensor<f32, "n", 4, 6, 5>));
  LAYER("conv2d_window",
        ARGS(Conv2d<2, 3, Window(3, 2), ConvOptions{.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 3}}>), layer,
        ARGS(Tensor<f32, "n", 2, 7, 6>));
  LAYER("conv3d_window", ARGS(Conv3d<2, 3, Window(1, 2, 3), ConvOptions{.padding = {0, 1, 2}}>), layer,
        ARGS(Tensor<f32, "n", 2, 3, 4, 5>));
  LAYER("conv3d", ARGS(Conv3d<2, 3, 2>), layer, ARGS(Tensor<f32, "n", 2, 3, 4, 5>));
  LAYER("conv_transpose",
        ARGS(ConvTranspose<2, 4, 6, 3, ConvTransposeOptions{.stride = 2, .padding = 1, .output_padding = 1}>), layer,
        ARGS(Tensor<f32, "n", 4, 3, 5>));
  LAYER("conv_transpose_window",
        ARGS(ConvTranspose<2, 4, 3, Window(2, 3), ConvTransposeOptions{.stride = {1, 2}, .output_padding = {0, 1}}>),
        layer, ARGS(Tensor<f32, "n", 4, 3, 5>));
  LAYER("embedding", ARGS(Embedding<6, 4>), layer, ARGS(Tensor<i64, "n", 3>));
  LAYER("layer_norm", ARGS(LayerNorm<6>), layer, ARGS(Tensor<f32, "n", 3, 6>));
  LAYER("rms_norm", ARGS(RmsNorm<6>), layer, ARGS(Tensor<f32, "n", 3, 6>));
  LAYER("batch_norm", ARGS(BatchNorm<4>), layer, ARGS(Tensor<f32, "n", 4, 5>));
  LAYER("group_norm", ARGS(GroupNorm<2, 4>), layer, ARGS(Tensor<f32, "n", 4, 5, 3>));
  LAYER("attention", ARGS(MultiHeadAttention<8, 2>), layer, ARGS(Tensor<f32, 2, "n", 8>));
  g.function("attention_causal", {"x"}, {"y"},
             [layer = MultiHeadAttention<8, 2>(s / "attention_causal", 0.1)](Tensor<f32, 2, "n", 8> x) {
               return layer(x, causal);
             });
  g.function("attention_groups", {"x"}, {"y"},
             [layer = MultiHeadAttention<8, 4, 2>(s / "attention_groups", 0, {.bias = false, .rope_theta = 100})](
                 Tensor<f32, 2, "n", 8> x) { return layer(x, causal); });
  g.function("attention_window", {"x"}, {"y"},
             [layer = MultiHeadAttention<8, 2>(s / "attention_window", 0, {.window = 3})](Tensor<f32, 2, "n", 8> x) {
               return layer(x, causal);
             });
  g.function("sinusoidal", {"x"}, {"y"},
             [](Tensor<f32, 2, "n", 8> x) { return transformer::sinusoidal_positions(x, 100); });
  g.function("attention_cross", {"x", "a"}, {"y"},
             [layer = transformer::CrossAttention<8, 2>(s / "attention_cross", 0.1)](
                 Tensor<f32, 2, "n", 8> x, Tensor<f32, 2, 5, 8> a) { return layer(x, a); });
  g.function("attention_padded", {"x", "a", "i"}, {"y"},
             [layer = transformer::CrossAttention<8, 2>(s / "attention_padded")](
                 Tensor<f32, 2, "n", 8> x, Tensor<f32, 2, 5, 8> a, Tensor<i64, 2, 5> i) { return layer(x, a, i > 3); });
  LAYER("encoder_layer", ARGS(transformer::EncoderLayer<8, 2, 12>), layer, ARGS(Tensor<f32, 2, "n", 8>));
  g.function("decoder_layer", {"x", "a", "i"}, {"y"},
             [layer = transformer::DecoderLayer<8, 2, 12>(s / "decoder_layer", 0.1)](
                 Tensor<f32, 2, "n", 8> x, Tensor<f32, 2, 5, 8> a, Tensor<i64, 2, 5> i) { return layer(x, a, i > 3); });
  LAYER("feed_forward", ARGS(transformer::FeedForward<4>), layer, ARGS(Tensor<f32, 2, "n", 4>));
  LAYER("feed_forward_gated", ARGS(transformer::FeedForward<4, 6, true>), layer, ARGS(Tensor<f32, 2, "n", 4>));
  g.function("rnn", {"x", "h"}, {"y", "last"},
             [layer = RNN<3, 4>(s / "rnn")](Tensor<f32, "n", 2, 3> x, Tensor<f32, 2, 4> h) {
               auto [y, last] = layer(x, h);
               return std::tuple(y, last);
             });
  g.function("gru", {"x", "h"}, {"y", "last"},
             [layer = GRU<3, 4>(s / "gru")](Tensor<f32, "n", 2, 3> x, Tensor<f32, 2, 4> h) {
               auto [y, last] = layer(x, h);
               return std::tuple(y, last);
             });
  g.function("lstm", {"x", "h", "c"}, {"y", "last", "cell"},
             [layer = LSTM<3, 4>(s / "lstm")](Tensor<f32, "n", 2, 3> x, Tensor<f32, 2, 4> h, Tensor<f32, 2, 4> c) {
               return layer(x, h, c);
             });
  LAYER("max_pool", ARGS(MaxPool<2, 2>), layer, ARGS(Tensor<f32, "n", 2, 6, 5>));
  LAYER("max_pool_window", ARGS(MaxPool<2, Window(1, 3), PoolOptions{.padding = {0, 1}}>), layer,
        ARGS(Tensor<f32, "n", 2, 4, 8>));
  LAYER("max_pool_padded", ARGS(MaxPool<1, 3, PoolOptions{.stride = 2, .padding = 1}>), layer,
        ARGS(Tensor<f32, 2, 2, "n">));
  LAYER("avg_pool", ARGS(AvgPool<2, 3, PoolOptions{.stride = 2, .padding = 1}>), layer,
        ARGS(Tensor<f32, "n", 2, 6, 5>));
  g.function("global_avg_pool", {"x"}, {"y"}, [&](Tensor<f32, "n", 2, 6, 5> x) { return global_avg_pool(x); });
  LAYER("dropout", Dropout, layer, ARGS(Tensor<f32, "n", 4>));
  LAYER("flatten", Flatten, layer, ARGS(Tensor<f32, "n", 4, 3>));
  using Net =
      Sequential<Linear<4, 6>, activation::ReLU, Linear<6, 5>, activation::GELU, activation::SiLU, activation::Tanh,
                 activation::Sigmoid, activation::ELU, activation::LeakyReLU, activation::Softplus>;
  LAYER("sequential", Net, layer, ARGS(Tensor<f32, "n", 4>));
}

static void addLosses(Graph &g) {
#define LOSS(name, expression)                                                                                         \
  g.function(name, {"x", "i"}, {"y"}, [&](Tensor<f32, "n", 6> x, Tensor<i64, "n"> i) { return expression; })
  LOSS("cross_entropy", cross_entropy(x, i));
  LOSS("cross_entropy_smooth", (cross_entropy(x, i, {.smoothing = 0.1})));
  LOSS("cross_entropy_some", (cross_entropy(x, i, {.ignore_index = 2})));
  LOSS("cross_entropy_classes", (cross_entropy(x, i, {.class_weight = {0.5, 0, 2, 1, 0.25, 3}})));
  LOSS("accuracy", accuracy(x, i));
  LOSS("nll", nll(log_softmax(x), i));
#undef LOSS
#define LOSS(name, expression)                                                                                         \
  g.function(name, {"x", "t"}, {"y"}, [&](Tensor<f32, "n", 6> x, Tensor<f32, "n", 6> t) { return expression; })
  LOSS("mse", mse(x, t));
  LOSS("l1", l1(x, t));
  LOSS("huber", huber(x, t));
  LOSS("bce", bce(sigmoid(x), sigmoid(t)));
  LOSS("bce_logits", bce_logits(x, sigmoid(t)));
  LOSS("kl", kl(log_softmax(x), softmax(t)));
#undef LOSS
#define LOSS(name, expression)                                                                                         \
  g.function(name, {"x", "i", "s"}, {"y"},                                                                             \
             [&](Tensor<f32, "n", 6> x, [[maybe_unused]] Tensor<i64, "n"> i, Tensor<f32, "n"> s) {                     \
               auto w = s * s;                                                                                         \
               return expression;                                                                                      \
             })
  LOSS("cross_entropy_rows", cross_entropy(x, i, w));
  LOSS("cross_entropy_both", (cross_entropy(x, i, w, {.ignore_index = 2, .class_weight = {0.5, 3, 2, 1, 0.25, 3}})));
  LOSS("nll_rows", nll(log_softmax(x), i, w));
  LOSS("mse_rows", mse(x, x * x, w));
  LOSS("huber_rows", huber(x, x * x, w));
#undef LOSS
}

//===-- Runs ----------------------------------------------------------------------------------===//

static void writeNpy(const std::string &path, const vx::Value &value) {
  const vx_value_info info = value.info();
  const std::map<vx_element_type, const char *> types = {{VX_F32, "<f4"}, {VX_I64, "<i8"}, {VX_BOOL, "|b1"}};
  std::string shape;
  for (int64_t dim : value.dims())
    shape += std::to_string(dim) + ", ";
  std::string header = std::string("{'descr': '") + types.at(info.element_type) +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(63 - (header.size() + 10) % 64, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(header.size() & 255)
       << static_cast<char>(header.size() >> 8) << header;
  const std::span<const std::byte> bytes = value.bytes();
  file.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

static uint64_t drawn = 0;
static uint32_t draw() {
  drawn = drawn * 6364136223846793005ull + 1442695040888963407ull;
  return static_cast<uint32_t>(drawn >> 33);
}
static vx::Value drawInput(const vx_argument_info &input, int64_t n) {
  std::vector<int64_t> dims;
  int64_t count = 1;
  for (uint32_t i = 0; i < input.rank; ++i) {
    const vx_dim_info &dim = input.dims[i];
    const bool isFour = std::strcmp(dim.expression, "b_1") == 0 || std::strcmp(dim.expression, "x_1") == 0;
    dims.push_back(dim.size >= 0 ? dim.size : isFour ? 4 : n); // of `any`, what fits
    count *= dims.back();
  }
  if (input.element_type == VX_I64) {
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < count; ++i)
      numbers.push_back(draw() % 6);
    return vx::Value::tensor<int64_t>(dims, numbers);
  }
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<float>(draw() % 4001) / 1000.0f - 2.0f);
  return vx::Value::tensor<float>(dims, numbers);
}

static Graph makeGraph() {
  Graph g("cases");
  addElementwise(g);
  addShapes(g);
  addControl(g);
  addLayers(g);
  addLosses(g);
  return g;
}

static int writeGraph(const std::string &path) {
  Graph g = makeGraph();
  std::string text;
  compile(g, "-",
          {.stop_after = "graph",
           .on_text = [](void *data, const char *more,
                         size_t size) { static_cast<std::string *>(data)->append(more, size); },
           .user_data = &text});
  return (std::ofstream(path) << text) ? 0 : 1;
}

static int run(const std::string &out, const std::string &targets, const std::vector<std::string> &devices) {
  Graph g = makeGraph();
  compile(g, out + "/cases.vxm", {.targets = targets});

  const vx::Module module(out + "/cases.vxm");
  int functions = 0;
  for (const std::string &device : devices) {
    vx::Instance instance(module, {.device = device, .seed = 3});
    for (const vx_function_info &function : module.functions()) {
      const std::string name = function.name;
      drawn = 0;
      for (char letter : name)
        drawn = drawn * 31 + static_cast<unsigned char>(letter);
      vx::Call call(instance, function);
      for (int64_t n : {1, 2, 7, 17}) {
        std::vector<vx::Value> inputs;
        for (size_t i = 0; i < function.input_count; ++i)
          inputs.push_back(drawInput(function.inputs[i], n));
        const std::vector<vx::Value> outputs = call.run(inputs);
        const std::string base = out + "/" + name + "." + std::to_string(n) + ".";
        for (size_t i = 0; i < inputs.size(); ++i)
          writeNpy(base + "in." + function.inputs[i].name + ".npy", inputs[i]);
        for (size_t i = 0; i < outputs.size(); ++i)
          writeNpy(base + device + "." + function.outputs[i].name + ".npy", outputs[i]);
      }
      if (device != devices.front())
        continue;
      ++functions;
      for (int64_t opset : {20, 27, 28}) {
        const std::string path = out + "/" + name + "." + std::to_string(opset) + ".onnx";
        try {
          export_onnx(
              g, name, path,
              [&](const std::string &variable, void *data, size_t size) {
                const vx::Value value = instance.readVariable(variable);
                const std::span<const std::byte> bytes = value.bytes();
                if (bytes.size() == size)
                  std::memcpy(data, bytes.data(), size);
              },
              opset);
        } catch (const Error &error) {
          std::ofstream(path + ".refused") << error.what();
        }
      }
    }
  }
  std::printf("%d functions\n", functions);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: dsl_cases OUT TARGETS [DEVICE...]\n");
    return 2;
  }
  try {
    if (std::strcmp(argv[1], "--graph") == 0)
      return writeGraph(argv[2]);
    return run(argv[1], argv[2], {argv + 3, argv + argc});
  } catch (const std::exception &error) {
    std::fprintf(stderr, "dsl_cases: error: %s\n", error.what());
    return 1;
  }
}
