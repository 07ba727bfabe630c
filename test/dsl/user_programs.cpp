// Programs as who begins writes them: layers and names that are temporaries, layers in containers, options of
// functions, modules in memory. test/dsl/run_builds.py compiles it by the line of docs/dsl.md, under sanitizers.
//
//   user_programs FOLDER
#include "vx/builder.hpp"
#include "vx/train.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

using namespace vx::build;

static void want(bool isRight, const std::string &what) {
  if (isRight)
    return;
  std::fprintf(stderr, "wrong: %s\n", what.c_str());
  std::exit(1);
}

/// A name that is too long for a string without memory of its own.
static std::string nameOf(int number) { return "a_layer_of_a_network_with_a_long_name_" + std::to_string(number); }

//===-- Layers --------------------------------------------------------------------------------===//

// A network of all kinds of layers for images, as members.
struct Images {
  Conv2d<1, 4, 3, ConvOptions{.padding = 1}> first;
  BatchNorm<4> norm;
  Conv2d<4, 4, Window(3, 1), ConvOptions{.padding = {1, 0}, .groups = 2, .bias = false}> second;
  GroupNorm<2, 4> groups;
  ConvTranspose<2, 4, 2, 2, ConvTransposeOptions{.stride = 2}> up;
  MaxPool<2, 2> pool;
  AvgPool<2, 3, PoolOptions{.stride = 1, .padding = 1}> mean;
  Dropout drop;
  Flatten flat;
  Sequential<Linear<128, 8>, activation::ReLU, Linear<8, 10>> head;
  explicit Images(Scope s)
      : first(s / "first"), norm(s / "norm"), second(s / nameOf(2)), groups(s / "groups"), up(s / std::string("up")),
        drop(s / "drop", 0.1), head(s / "head") {}
  auto operator()(Tensor<f32, "batch", 1, 8, 8> x) const {
    auto h = relu(norm(first(x)));
    h = silu(groups(second(h)));
    auto wide = mean(pool(up(h)));
    return head(drop(flat(wide)));
  }
};

// A block of a transformer, several of which stand in a vector.
struct Decoder {
  MultiHeadAttention<8, 2> attention;
  LayerNorm<8> before;
  RmsNorm<8> after;
  transformer::FeedForward<8, 16, true> wide;
  explicit Decoder(Scope s)
      : attention(s / "attention", 0.1, {.rope_theta = 10000, .window = 4}), before(s / "before"), after(s / "after"),
        wide(s / "wide") {}
  auto operator()(Tensor<f32, "batch", "time", 8> x) const {
    x = x + attention(before(x), causal);
    return x + wide(after(x));
  }
};

struct Texts {
  Embedding<20, 8> table;
  std::vector<Decoder> decoders;
  std::unique_ptr<Linear<8, 20>> out;
  Texts(Scope s, int depth) : table(s / "table", normal(0, 0.02)), out(new Linear<8, 20>(s / "out", false)) {
    for (int i = 0; i < depth; ++i)
      decoders.emplace_back(s / nameOf(i)); // the vector moves them as it grows
  }
  auto operator()(Tensor<i64, "batch", "time"> token) const {
    Tensor<f32, "batch", "time", 8> x = table(token);
    for (const Decoder &decoder : decoders)
      x = decoder(x);
    return (*out)(x);
  }
};

static Graph makeLayers() {
  Graph g(nameOf(0));
  g.symbol("time", 1, 64);
  const Images images(g.root() / "images");
  g.function("classify", {"image"}, {"logits"}, [&](Tensor<f32, "batch", 1, 8, 8> image) { return images(image); });
  const Texts texts(g.root() / "texts", 3);
  g.function("continue", {"token"}, {"logits"}, [&](Tensor<i64, "batch", "time"> token) { return texts(token); });
  // Layers that live as long as an expression, in scopes that do.
  g.function("at_once", {"x"}, {"y"}, [&](Tensor<f32, "batch", 4, 9> x) {
    return Conv1d<4, 2, 3>(g.root() / "at_once" /
                           nameOf(1))(ConvTranspose<1, 4, 4, 1>(g.root() / "at_once" / "backwards")(x));
  });
  g.function("volume", {"x"}, {"y"}, [&](Tensor<f32, "batch", 1, 4, 4, 4> x) {
    return global_avg_pool(Conv3d<1, 2, Window(1, 2, 3)>(g.root() / "volume")(x));
  });
  // Recurrent ones, whose results come apart.
  const RNN<3, 4> plain(g.root() / "plain");
  const GRU<4, 4> gated(g.root() / "gated");
  const LSTM<4, 4> cells(g.root() / "cells");
  g.function("recur", {"x"}, {"all", "last"}, [&](Tensor<f32, "time", 2, 3> x) {
    const auto start = zeros<f32, 2, 4>();
    auto [first, h] = plain(x, start);
    auto [second, k] = gated(first, h);
    auto [third, l, cell] = cells(second, k, start);
    return std::tuple(third, l + cell);
  });
  return g; // graphs move, and layers have done their part
}

// Every way to begin, by names that are gone.
static void addParameters(Graph &g, std::vector<std::string> &names) {
  const Init inits[] = {zeros_init(),  constant_init(2),    uniform(-1, 1),        normal(0, 1),
                        orthogonal(2), kaiming_uniform(16), xavier_uniform(16, 16)};
  Scope root = g.root() / std::string("begin");
  std::vector<Tensor<f32, 4, 4>> all;
  for (const Init &init : inits) {
    all.push_back(root.parameter<f32, 4, 4>(nameOf(static_cast<int>(all.size())), init));
    names.push_back("begin." + nameOf(static_cast<int>(all.size()) - 1));
  }
  auto sized = root.parameter<f32, any, any>("sized", {4, 4}, uniform(0, 1));
  auto seen = root.statistic<f32, 4>("seen", constant_init(1));
  g.function("parameters", {"x"}, {"y"}, [&](Tensor<f32, "n", 4> x) {
    for (const Tensor<f32, 4, 4> &one : all)
      x = matmul(x, one);
    return add_rows(matmul(x, sized.as<4, 4>()), seen);
  });
}

//===-- Programs ------------------------------------------------------------------------------===//

static vx::Value ones(std::initializer_list<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return vx::Value::tensor<float>(dims, std::vector<float>(static_cast<size_t>(count), 1.0f));
}

/// The graph's text: what it computes, dsl.functions compares for the same layers.
static std::string textOf(Graph &g, Compile options = {}) {
  std::string text;
  options.stop_after = "graph";
  options.on_text = [](void *data, const char *more, size_t size) {
    static_cast<std::string *>(data)->append(more, size);
  };
  options.user_data = &text;
  compile(g, "-", options);
  return text;
}

static void buildLayers(const std::string &folder) {
  Graph g = makeLayers();
  std::vector<std::string> names;
  addParameters(g, names);
  const std::string text = textOf(g, {.dims = {"batch=1..8"}, .threads = 1});
  for (const char *function : {"classify", "continue", "at_once", "volume", "recur", "parameters"})
    want(text.find("@" + std::string(function) + "(") != std::string::npos,
         "the graph's text has no " + std::string(function));
  for (const std::string &name : names)
    want(text.find(name) != std::string::npos, "the graph's text has no " + name);
  size_t variables = 0;
  export_onnx(g, "classify", folder + "/classify.onnx", [&](const std::string &, void *data, size_t size) {
    std::memset(data, 0, size);
    ++variables;
  });
  want(variables == 15, "the exported model has " + std::to_string(variables) + " variables");
}

// Options that a function makes: what they say is theirs.
static Training makeTraining(const std::string &optimizer) {
  Training options{.clip_norm = 1, .keep_gradients = true};
  options.freeze = "out.b" + std::string("*");
  options.predict = "pre" + std::string("dict");
  options.precision = std::string("f") + "32";
  if (optimizer == "sgd")
    options.groups = {{"out.we" + std::string("*"), 0.5, 0.01}, ParamGroup{.pattern = "in.*", .lr_factor = 2}};
  if (optimizer == "sgd")
    options.optimizer = Sgd{.lr = 0.1, .momentum = 0.9, .nesterov = true};
  else if (optimizer == "adam")
    options.optimizer = Adam{.lr = 0.05};
  else if (optimizer == "adamw")
    options.optimizer = AdamW{.lr = 0.05, .weight_decay = 0};
  else
    options.optimizer = {.lr = 0.01, .text = optimizer};
  return options;
}

static vx::train::Dataset makeData() {
  std::vector<float> points;
  std::vector<int64_t> labels;
  for (int i = 0; i < 32; ++i) {
    points.insert(points.end(), {std::cos(static_cast<float>(i)), std::sin(static_cast<float>(i))});
    labels.push_back(points[points.size() - 2] > 0 ? 1 : 0);
  }
  return vx::train::Dataset::arrays({vx::train::array<float>("point", {32, 2}, std::move(points)),
                                     vx::train::array<int64_t>("label", {32}, std::move(labels))});
}

static void trainNetworks(const std::string &folder) {
  for (const std::string optimizer : {"sgd", "adam", "adamw", "lion:weight_decay=0.1"}) {
    Graph g("train_" + optimizer.substr(0, 3));
    const Linear<2, 8> in(g.root() / "in", true, orthogonal(1.4));
    const Linear<8, 2> out(g.root() / "out");
    auto net = [&](Tensor<f32, "batch", 2> x) { return out(tanh(in(x))); };
    g.function("predict", {"point"}, {"logits"}, net);
    train(g, "train_step", {"point", "label"}, makeTraining(optimizer),
          [&](Tensor<f32, "batch", 2> point, Tensor<i64, "batch"> label) {
            auto logits = net(point);
            return Loss(cross_entropy(logits, label, {.smoothing = 0.01}),
                        {{"accuracy", accuracy(logits, label)}, {nameOf(7), logits.max()}});
          });
    if (optimizer != "adam") {
      want(textOf(g).find("@train_step(") != std::string::npos, "no step with " + optimizer);
      continue;
    }
    const CompiledModule bytes = compile_bytes(g, {.targets = "cpu"});
    const vx::Module module(std::span(static_cast<const std::byte *>(bytes.data()), bytes.size()), "built");
    vx::train::Session session(module, {.device = "cpu", .seed = 1});
    const vx::train::Dataset data = makeData();
    session.fit(data, {.epochs = 20, .batch = 16, .seed = 1});
    want(session.evaluate(data, "accuracy") > 0.9, optimizer + " has not learnt it");
    want(std::isfinite(session.evaluate(data, nameOf(7))), "a metric whose name was a temporary");
    session.save(folder + "/trained.safetensors");
    session.export_onnx(folder + "/trained.onnx", "predict");
  }
}

static void keepState(const std::string &folder) {
  Graph g("state");
  const auto sum = g.root().state<f32, 2>(nameOf(9));
  g.function("add", {"x"}, {"sum"}, [&](Tensor<f32, 2> x) {
    sum.store(sum.read() + x);
    return sum.read();
  });
  compile(g, folder + "/state.vxm");
  const vx::Module module(folder + "/state.vxm");
  vx::Instance instance(module, {.device = "cpu"});
  vx::Call call(instance, module.functions()[0]);
  call.run({ones({2})});
  want(call.run({ones({2})})[0].data<float>()[1] == 2, "a state");
}

static std::string faultOf(void (*program)()) {
  try {
    program();
  } catch (const Error &error) {
    return error.what();
  }
  return "none";
}

static void sayFaults() {
  const std::string wrong = faultOf([] {
    Graph g("wrong");
    const Conv2d<3, 8, 3> layer(g.root() / "net" / "conv");
    g.function("f", {"x"}, {"y"},
               [&](Tensor<f32, "n", any, 8, 8> x) { return layer(x.as<any, 4, any, any>().as<any, any, any, any>()); });
  });
  want(wrong.find("net/conv (Conv)") != std::string::npos, "the message of a fault is: " + wrong);
  const std::string outside = faultOf([] { (void)(Scalar<f32>(1.0) + Scalar<f32>(2.0)); });
  want(outside.find("outside of a function") != std::string::npos, "the message of a fault is: " + outside);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: user_programs FOLDER\n");
    return 2;
  }
  try {
    buildLayers(argv[1]);
    trainNetworks(argv[1]);
    keepState(argv[1]);
    sayFaults();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "user_programs: error: %s\n", error.what());
    return 1;
  }
  std::printf("4 programs\n");
}
