// What vx/builder.hpp says of faults that only the graph or the call can know: the line, the layer, and both values.
#include "vx/builder.hpp"
#include "vx/runtime/vx.hpp"
#include "vx/train.hpp"

#include "gtest/gtest.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

using namespace vx::build;

namespace {

/// What `build` throws; empty where it throws nothing.
template <class F>
std::string faultOf(F build) {
  try {
    build();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

/// The same of a graph, without the place "builder_test.cpp:LINE: " that it begins with; `line` is then the line.
template <class F>
std::string graphFaultOf(F build, unsigned *line = nullptr) {
  const std::string text = faultOf([&] {
    Graph g("faults");
    build(g);
  });
  const std::string file = "builder_test.cpp:";
  const size_t end = text.find(": ");
  if (text.substr(0, file.size()) != file || end == std::string::npos)
    return "no place: " + text;
  if (line)
    *line = static_cast<unsigned>(std::stoi(text.substr(file.size())));
  return text.substr(end + 2);
}

// Of an operator, a function and a layer.
TEST(Builder, faultsNameTheLine) {
  unsigned want = 0, got = 0;
  graphFaultOf(
      [&](Graph &g) {
        g.function("f", {"x"}, {"y"}, [&](Tensor<f32, 4> x) {
          Tensor<f32, 4> none;
          want = Loc::current().line() + 1;
          return x + none;
        });
      },
      &got);
  EXPECT_EQ(got, want);
  graphFaultOf(
      [&](Graph &g) {
        g.function("f", {"x"}, {"y"}, [&](Tensor<f32, any> x) {
          want = Loc::current().line() + 1;
          const Tensor<f32, 4> four = x.as<4>().as<any>().as<4>();
          want = Loc::current().line() + 1;
          return exp(four).as<any>().as<5>();
        });
      },
      &got);
  EXPECT_EQ(got, want);
  graphFaultOf(
      [&](Graph &g) {
        const Linear<any, any> layer(g.root() / "fc", 4, 6);
        g.function("f", {"x"}, {"y"}, [&](Tensor<f32, "n", 5> x) {
          want = Loc::current().line() + 1;
          return layer(x);
        });
      },
      &got);
  EXPECT_EQ(got, want);
}

TEST(Builder, faultsOfGraphs) {
  EXPECT_EQ(graphFaultOf([](Graph &g) {
              const Linear<any, any> layer(g.root() / "enc" / "fc", 4, 6);
              g.function("f", {"x"}, {"y"}, [&](Tensor<f32, "n", 5> x) { return layer(x); });
            }),
            "enc/fc (Linear): needs dimension 1 to be 4, got 'f32[n,5]'");
  EXPECT_EQ(graphFaultOf([](Graph &g) {
              g.function("f", {"x"}, {"y"}, [](Tensor<f32, any, 5> x) { return x.as<"n", any>().as<any, 4>(); });
            }),
            "as: needs dimension 1 to be 4, got 'f32[n,5]'");
  EXPECT_EQ(graphFaultOf(
                [](Graph &g) { g.function("f", {"x"}, {"y"}, [](Tensor<f32, 3, 4> x) { return x.reshape<10>(); }); }),
            "reshape: expects a shape that holds the input's 12 elements, got one of 10");
  EXPECT_EQ(graphFaultOf(
                [](Graph &g) { g.function("f", {"x"}, {"y"}, [](Tensor<f32, "n"> x) { return x.reshape<"m">(); }); }),
            "reshape: expected an input of function 'f' with a dimension 'm', got none");
  // Values of other functions, graphs and bodies.
  EXPECT_EQ(graphFaultOf([](Graph &g) {
              Tensor<f32, "n"> kept;
              g.function("f", {"x"}, {"y"}, [&](Tensor<f32, "n"> x) { return kept = x; });
              g.function("h", {"x"}, {"y"}, [&](Tensor<f32, "n"> x) { return x + kept; });
            }),
            "+: expected a value of function 'h', got 'x' of function 'f'");
  EXPECT_EQ(graphFaultOf([](Graph &g) {
              Graph other("other");
              const auto weight = other.root().parameter<f32, 4>("w");
              g.function("f", {"x"}, {"y"}, [&](Tensor<f32, 4> x) { return x + weight; });
            }),
            "+: expected tensors of one graph, got one of another graph");
  EXPECT_EQ(
      graphFaultOf([](Graph &g) {
        g.function("f", {"x"}, {"y"}, [](Tensor<f32, 4> x) {
          Tensor<f32, 4> kept;
          loop(Tensor<i64>(3), x, [&](Scalar<i64>, Tensor<f32, 4> s) { return kept = relu(s); });
          return x + kept;
        });
      }),
      "+: expected a value of a body that has not ended, got 'relu_output' of one that has: return it from the body");
  EXPECT_EQ(graphFaultOf([](Graph &g) {
              g.function("f", {"x"}, {"y"}, [](Tensor<f32, 4> x) {
                Tensor<f32, 4> none;
                return x + none;
              });
            }),
            "+: expected a tensor with a value, got one that was given none");
  EXPECT_EQ(graphFaultOf([](Graph &g) {
              g.function("f", {"x"}, {"y"}, [](Tensor<f32, any> x) {
                return loop(Tensor<i64>(3), x, [](Scalar<i64>, Tensor<f32, any> s) { return concat<0>(s, s); });
              });
            }),
            "loop: carried value 0 keeps its type: expected 'f32[x_0]', got 'f32[x_0 * 2]'");
  EXPECT_EQ(graphFaultOf([](Graph &g) {
              const auto kept = g.root().state<f32, 4>("kept");
              g.function("f", {"x"}, {"y"}, [&](Tensor<f32, 4> x) {
                return loop(Tensor<i64>(3), x, [&](Scalar<i64>, Tensor<f32, 4> s) { return kept.store(s), s; });
              });
            }),
            "store: expected a store outside of loops and branches, got one in a body: return the value, and store it "
            "after the loop or branch");
  EXPECT_EQ(graphFaultOf([](Graph &g) {
              g.function("f", {"x"}, {"y"}, [](Tensor<f32, 4> x) { return gradient(x.sum(), x.stop_gradient()); });
            }),
            "gradient: expects 'y' to depend on a value of 'xs', but 'sum_output' depends on none of "
            "'stop_gradient_output'");
  // Names.
  EXPECT_EQ(graphFaultOf([](Graph &g) { const Linear<2, 3> first(g.root() / "a"), second(g.root() / "a"); }),
            "a (variable): expected one variable 'a.weight', got two: give each layer a scope of its own");
  EXPECT_EQ(graphFaultOf([](Graph &g) { g.function("f", {"x", "y"}, {"z"}, [](Tensor<f32, 4> x) { return x; }); }),
            "function: function 'f' takes 1 tensors, got 2 names of inputs");
  EXPECT_EQ(graphFaultOf([](Graph &g) { g.function("f", {"x"}, {"y", "z"}, [](Tensor<f32, 4> x) { return x; }); }),
            "function: function 'f' gives 1 tensors, got 2 names of outputs");
  EXPECT_EQ(graphFaultOf([](Graph &g) {
              g.function("f", {"x"}, {"y"}, [](Tensor<f32, 4> x) { return x; });
              g.function("f", {"x"}, {"y"}, [](Tensor<f32, 4> x) { return x; });
            }),
            "function: expected a name that no function or variable has, got 'f'");
  EXPECT_EQ(graphFaultOf([](Graph &g) { train(g, "fit", {"x"}, {}, [](Tensor<f32, 4> x) { return Loss(x.sum()); }); }),
            "train: expected the name 'train_step', got 'fit'");
  EXPECT_EQ(faultOf([] { (void)zeros<f32, 3>(); }),
            "broadcast: expected a call in Graph::function, got one outside of a function");
  EXPECT_EQ(faultOf([] {
              Graph g("symbols");
              g.symbol("n", 4, 2);
            }),
            "symbol 'n': expected 0 <= least <= greatest and a multiple of 1 or more, got 4, 2 and 1");
}

TEST(Builder, theFirstFaultStays) {
  Graph g("faults");
  const std::string first =
      faultOf([&] { g.function("f", {"x"}, {"y"}, [&](Tensor<f32, any> x) { return x.reshape<"m">(); }); });
  EXPECT_NE(first, "");
  EXPECT_EQ(faultOf([&] { g.function("h", {"x"}, {"y"}, [&](Tensor<f32, 4> x) { return x; }); }), first);
  EXPECT_EQ(faultOf([&] { (void)compile_bytes(g); }), first);
}

/// A module in memory, made and loaded. Its bytes live as long as the test.
vx::Module load(Graph &graph, const Compile &options = {}) {
  static std::vector<CompiledModule> kept;
  kept.push_back(compile_bytes(graph, options));
  const CompiledModule &bytes = kept.back();
  return vx::Module(std::span(static_cast<const std::byte *>(bytes.data()), bytes.size()), "built");
}
std::string failureOf(const vx::Module &module, const char *function, std::vector<vx::Value> inputs) {
  const vx::Instance instance(module, {.device = "cpu"});
  for (const vx_function_info &one : module.functions())
    if (std::strcmp(one.name, function) == 0)
      try {
        vx::Call(instance, one).run(inputs);
      } catch (const vx::Error &error) {
        return error.what();
      }
  return "";
}

// What the types leave open, and data, is checked by the call, which names the layer and the line as well.
TEST(Builder, faultsOfCalls) {
  Graph g("calls");
  unsigned sum = 0, chosen = 0;
  g.function("sum", {"a", "b"}, {"y"},
             [&](Tensor<f32, "n"> a, Tensor<f32, any> b) { return sum = Loc::current().line(), a + b; });
  g.function("pick", {"x", "i"}, {"y"},
             [&](Tensor<f32, "n", 6> x, Tensor<i64, "n"> i) { return chosen = Loc::current().line(), pick(x, i); });
  const vx::Module module = load(g);
  const auto ones = [](int64_t count) {
    return vx::Value::tensor<float>({count}, std::vector<float>(static_cast<size_t>(count), 1));
  };
  EXPECT_EQ(failureOf(module, "sum", {ones(3), ones(3)}), "");
  const std::string unequal = failureOf(module, "sum", {ones(3), ones(4)});
  EXPECT_NE(unequal.find("builder_test.cpp:" + std::to_string(sum)), std::string::npos) << unequal;
  EXPECT_NE(unequal.find("3"), std::string::npos) << unequal;
  EXPECT_NE(unequal.find("4"), std::string::npos) << unequal;
  const std::string outside = failureOf(module, "pick",
                                        {vx::Value::tensor<float>({1, 6}, std::vector<float>(6, 1)),
                                         vx::Value::tensor<int64_t>({1}, std::vector<int64_t>{6})});
  EXPECT_NE(outside.find("pick (pick, builder_test.cpp:" + std::to_string(chosen) + ")"), std::string::npos) << outside;
}

// A variable that functions store keeps what it holds from call to call; a call that fails changes nothing.
TEST(Builder, stateStaysFromCallToCall) {
  Graph g("counter");
  const Variable<f32, 2> total = g.root().state<f32, 2>("total", constant_init(1));
  g.function("add", {"x", "i"}, {"before", "after"}, [&](Tensor<f32, 2> x, Tensor<i64, 1> i) {
    const auto before = total.read();
    total.store(before + x);
    total.store(total.read() + pick(x.unsqueeze<0>(), i).sum());
    return std::tuple(before, total.read());
  });
  const vx::Module module = load(g);
  const vx::Instance instance(module, {.device = "cpu"});
  vx::Call call(instance, module.functions()[0]);
  const auto run = [&](int64_t index) {
    return call.run(
        {vx::Value::tensor<float>({2}, {1, 2}), vx::Value::tensor<int64_t>({1}, std::vector<int64_t>{index})});
  };
  const auto numbers = [](const vx::Value &value) {
    return std::vector<float>(value.data<float>().begin(), value.data<float>().end());
  };
  EXPECT_EQ(numbers(run(0)[1]), (std::vector<float>{3, 4}));
  EXPECT_THROW(run(2), vx::Error);
  const std::vector<vx::Value> second = run(1);
  EXPECT_EQ(numbers(second[0]), (std::vector<float>{3, 4}));
  EXPECT_EQ(numbers(second[1]), (std::vector<float>{6, 8}));
  EXPECT_EQ(faultOf([&] { export_onnx(g, "add", "never.onnx", [](const std::string &, void *, size_t) {}); }),
            "function 'add': it stores variable 'total', and models of ONNX have no variables that they change");
}

vx_code codeOf(const vx::Pending &pending, std::string *message = nullptr, int milliseconds = -1) {
  try {
    (void)(milliseconds < 0 ? pending.wait() : pending.waitFor(static_cast<uint32_t>(milliseconds)));
  } catch (const vx::Error &error) {
    if (message)
      *message = error.what();
    return error.code();
  }
  return VX_OK;
}

// A run of many parts ends in the middle of them, changes no variable, and leaves the call as it was.
TEST(Builder, runsAreCancelled) {
  Graph g("long");
  const auto kept = g.root().state<f32, 2>("kept");
  g.function("spin", {"n", "x"}, {"y"}, [&](Scalar<i64> n, Tensor<f32, 2> x) {
    const auto y = loop(n, x, [&](Scalar<i64>, Tensor<f32, 2> s) { return s + x; });
    kept.store(kept.read() + y);
    return y;
  });
  const vx::Module module = load(g);
  const vx::Instance instance(module, {.device = "cpu"});
  vx::Call call(instance, module.functions()[0]);
  const auto inputs = [](int64_t count) {
    return std::vector<vx::Value>{vx::Value::tensor<int64_t>({}, std::vector<int64_t>{count}),
                                  vx::Value::tensor<float>({2}, {1, 2})};
  };
  const int64_t forever = int64_t(1) << 40;
  std::string message;
  const vx::Pending first = call.submit(inputs(forever)), second = call.submit(inputs(forever));
  EXPECT_EQ(codeOf(first, &message, 20), VX_TIMED_OUT);
  EXPECT_EQ(message, "vx_call_wait_for: the run is not done after 20 ms; it goes on");
  second.cancel(); // while it waits behind the first
  first.cancel();
  EXPECT_EQ(codeOf(first, &message), VX_CANCELLED);
  EXPECT_EQ(message, "vx_call_wait: the run was cancelled");
  EXPECT_EQ(codeOf(second), VX_CANCELLED);
  EXPECT_EQ(codeOf(call.submit(inputs(forever), false, {}, 30), &message), VX_CANCELLED);
  EXPECT_EQ(message, "vx_call_wait: the run was not done after its deadline of 30 ms");
  // One that is held does nothing any more.
  vx::Pending held = call.submit(inputs(3), /*hold=*/true);
  held.cancel();
  EXPECT_EQ(codeOf(held), VX_CANCELLED);
  EXPECT_THROW(held.start(), vx::Error);
  // What is done is not cancelled, and a deadline that is far has no part in it.
  const vx::Pending done = call.submit(inputs(3), false, {}, 100000);
  EXPECT_EQ(codeOf(done, nullptr, 100000), VX_OK);
  done.cancel();
  EXPECT_EQ(done.wait()[0].data<float>()[1], 8);
  EXPECT_EQ(instance.readVariable("kept").info().element_type, VX_F32);
  const vx::Value value = instance.readVariable("kept");
  EXPECT_EQ(value.data<float>()[0], 4);
  EXPECT_EQ(call.run(inputs(1))[0].data<float>()[0], 2);
}

// Initial values follow from the seed and the parameter's name alone, whatever was made before it.
TEST(Builder, initialValuesFollowFromTheNames) {
  const auto weightOf = [](bool isLast, uint64_t seed) {
    Graph g("names");
    if (isLast)
      (void)g.root().parameter<f32, 7>("other", normal(0, 1));
    const Linear<3, 2> layer(g.root() / "fc");
    g.function("f", {"x"}, {"y"}, [&](Tensor<f32, "n", 3> x) { return layer(x); });
    const vx::Module module = load(g);
    const vx::Instance instance(module, {.device = "cpu", .seed = seed});
    const vx::Value value = instance.readVariable("fc.weight");
    return std::vector<float>(value.data<float>().begin(), value.data<float>().end());
  };
  EXPECT_EQ(weightOf(false, 3), weightOf(true, 3));
  EXPECT_NE(weightOf(false, 3), weightOf(false, 4));
  for (float number : weightOf(false, 3))
    EXPECT_LE(std::abs(number), 1 / std::sqrt(3.0f));
}

// A module reads the bytes in place: a temporary gives none.
template <class T>
concept GivesBytes = requires(T &&module) { std::forward<T>(module).data(); };
static_assert(GivesBytes<const CompiledModule &> && !GivesBytes<CompiledModule>);

/// y = w x + b by steps of `optimizer`; the loss in the end.
double learn(const Training &options, std::string *module = nullptr) {
  Graph g("line");
  const Linear<1, 1> line(g.root() / "line");
  g.function("predict", {"x"}, {"y"}, [&](Tensor<f32, "batch", 1> x) { return line(x); });
  train(g, "train_step", {"x", "target"}, options, [&](Tensor<f32, "batch", 1> x, Tensor<f32, "batch", 1> target) {
    return Loss(mse(line(x), target), {{"greatest", line(x).max()}});
  });
  const vx::Module loaded = load(g);
  if (module)
    *module = loaded.describe();
  vx::train::Session session(loaded, {.device = "cpu"});
  const std::vector<float> x = {-1, 0, 1, 2}, y = {-1, 1, 3, 5};
  const auto data = vx::train::Dataset::arrays(
      {vx::train::array<float>("x", {4, 1}, x), vx::train::array<float>("target", {4, 1}, y)});
  return session.fit(data, {.epochs = 300, .batch = 4}).epochs.back().training.of("loss");
}

// The rate of the module is taken where the session is given none.
TEST(Builder, optimizersAndTheirRates) {
  std::string description;
  EXPECT_LT(learn({.optimizer = {.lr = 0.05, .weight_decay = 0}}, &description), 1e-4);
  EXPECT_NE(description.find("\"rate\":0.05"), std::string::npos) << description;
  EXPECT_LT(learn({.optimizer = AdamW{.lr = 0.05, .weight_decay = 0}}), 1e-4);
  EXPECT_LT(learn({.optimizer = Adam{.lr = 0.05}}), 1e-4);
  EXPECT_LT(learn({.optimizer = Sgd{.lr = 0.05, .momentum = 0.9}}), 1e-4);
  EXPECT_GT(learn({.optimizer = Sgd{.lr = 1e-6}}), 1e-1);
  // Texts of options that are gone when the training is built.
  const Training frozen = [] {
    return Training{.optimizer = Sgd{.lr = 0.05}, .freeze = std::string("line.") + "weight"};
  }();
  EXPECT_GT(learn(frozen), 1e-2);
  EXPECT_EQ(faultOf([] { learn({.freeze = "none.*"}); }),
            "line (Graph): --freeze: expected the name of a parameter of the model, got 'none.*'");
  EXPECT_EQ(faultOf([] { learn({.optimizer = {.text = "magic"}}); }),
            "train: --optimizer: expected one of adagrad, adam, adamw, lion, rmsprop, sgd, got 'magic'");
  EXPECT_EQ(faultOf([] { learn({.clip_norm = -1}); }), "train: clip_norm: expected a number above 0, got -1.000000");
  EXPECT_EQ(faultOf([] { learn({.predict = "guess"}); }),
            "train: expected the name of a function of the graph, got 'guess'");
}

// A training step normalises by the batch, collects its mean and variance, and drops; other functions do not.
TEST(Builder, layersThatDifferInTraining) {
  Graph g("forms");
  const BatchNorm<2> norm(g.root() / "norm", 1e-5, 0.5);
  const Dropout drop(g.root() / "drop", 0.5);
  const auto model = [&](const Tensor<f32, "batch", 2> &x) { return drop(norm(x)); };
  g.function("predict", {"x"}, {"y"}, [&](Tensor<f32, "batch", 2> x) { return model(x); });
  train(g, "train_step", {"x"}, {.optimizer = Sgd{.lr = 0}},
        [&](Tensor<f32, "batch", 2> x) { return Loss(model(x).pow(2).sum()); });
  const vx::Module module = load(g);
  vx::train::Session session(module, {.device = "cpu"});
  const std::vector<vx::Value> batch = {vx::Value::tensor<float>({4, 2}, {0, 10, 2, 10, 4, 30, 6, 30})};
  const auto predict = [&] {
    const vx::Value y = session.call("predict", batch)[0];
    return std::vector<float>(y.data<float>().begin(), y.data<float>().end());
  };
  EXPECT_NEAR(predict()[5], 30, 1e-3); // by a mean of 0 and a variance of 1
  // Of normalised elements half are dropped, and the others doubled: 8 elements of the square 1 give 16 on average.
  double sum = 0;
  for (int i = 0; i < 64; ++i)
    sum += session.train_step(batch, 0).loss;
  EXPECT_NEAR(sum / 64, 16, 3);
  const vx::Value mean = session.read_variable("norm.running_mean"),
                  variance = session.read_variable("norm.running_var");
  EXPECT_NEAR(mean.data<float>()[0], 3, 1e-3);
  EXPECT_NEAR(mean.data<float>()[1], 20, 1e-3);
  EXPECT_NEAR(variance.data<float>()[0], 5, 1e-3);
  EXPECT_NEAR(predict()[5], (30 - 20) / 10.0, 1e-3);
}

TEST(Builder, compileOptionsAreChecked) {
  Graph g("options");
  g.function("f", {"x"}, {"y"}, [&](Tensor<f32, "n"> x) { return x; });
  EXPECT_EQ(faultOf([&] { (void)compile_bytes(g, {.targets = "tpu"}); }).substr(0, 27), "--target: expected one or m");
  EXPECT_EQ(faultOf([&] { (void)compile_bytes(g, {.precision = "f8"}); }),
            "--precision: expected f32, tf32, f16 or bf16, got 'f8'");
  EXPECT_EQ(faultOf([&] { compile(g, "/nowhere/f.vxm"); }).substr(0, 8), "cannot c");
  EXPECT_EQ(faultOf([&] { (void)compile_bytes(g, {.dims = {"m=3"}}); }).find("'m'") == std::string::npos, false);
  Graph empty("empty");
  EXPECT_EQ(faultOf([&] { (void)compile_bytes(empty); }), "expected a graph with a function, got none");
  EXPECT_EQ(faultOf([&] { (void)compile_bytes(g, {.opset = 19}); }),
            "export: expected version 20 to 28 of ONNX's ops, got 19");
}

// An export that fails leaves what was there, and nothing else.
TEST(Builder, exportsAreWholeOrNotThere) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("vx_builder_test_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string path = folder / "model.onnx";
  std::ofstream(path) << "before";
  Graph g("exports");
  const Linear<3, 2> layer(g.root() / "fc");
  g.function("f", {"x"}, {"y"}, [&](Tensor<f32, "n", 3> x) { return layer(x); });
  const auto zeros = [](const std::string &, void *data, size_t size) { std::memset(data, 0, size); };
  const auto none = [](const std::string &name, void *, size_t) { throw std::runtime_error("no " + name); };
  EXPECT_EQ(faultOf([&] { export_onnx(g, "f", path, none); }), "no fc.weight");
  EXPECT_EQ(faultOf([&] { export_onnx(g, "h", path, zeros); }),
            "expected the name of a function of the graph, got 'h'");
  EXPECT_EQ(faultOf([&] { export_onnx(g, "f", folder / "none" / "model.onnx", zeros); }),
            "cannot write '" + (folder / "none" / "model.onnx.part").string() + "': No such file or directory");
  EXPECT_EQ(faultOf([&] { export_onnx(g, "f", folder, zeros); }),
            "cannot write '" + folder.string() + "': it is no regular file");
  EXPECT_EQ(faultOf([&] { export_onnx(g, "f", "/dev/full", zeros); }),
            "cannot write '/dev/full': it is no regular file");
  EXPECT_EQ(fs::file_size(path), 6u);
  export_onnx(g, "f", path, zeros);
  EXPECT_GT(fs::file_size(path), 100u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  fs::remove_all(folder);
}

// Graphs do not know of one another: threads build and compile their own.
TEST(Builder, threadsHaveTheirOwnGraphs) {
  std::vector<std::thread> threads;
  std::vector<size_t> sizes(4);
  for (size_t i = 0; i < sizes.size(); ++i)
    threads.emplace_back([&, i] {
      Graph g("own");
      const Linear<4, 4> layer(g.root() / "fc");
      g.function("f", {"x"}, {"y"}, [&](Tensor<f32, "n", 4> x) { return relu(layer(x)) + ones<f32, "n", 4>(); });
      sizes[i] = compile_bytes(g, {.threads = 1}).size();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t size : sizes)
    EXPECT_EQ(size, sizes[0]);
}

} // namespace
