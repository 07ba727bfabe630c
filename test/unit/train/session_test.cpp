// A session: what a module must have, steps by hand, evaluation, prediction, and how data must fit.
#include "vx/train/session.hpp"

#include "errors.h"
#include "training_module.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace vx::test;
using namespace vx::train;
namespace format = vx::format;

namespace {

Dataset dataOf(const Rows &rows) {
  const auto count = static_cast<int64_t>(rows.label.size());
  return Dataset::arrays({array<float>("x", {count, 4}, rows.x), array<int64_t>("label", {count}, rows.label)});
}

const std::string &modulePath() {
  static const std::string path = writeTrainingModule("session.vxm");
  return path;
}

std::string moduleError(const std::function<void(ModuleBuilder &)> &change) {
  const std::string path = writeTrainingModule("bad.vxm", change);
  return errorOf([&] { Session session(path); });
}

} // namespace

TEST(TrainSession, modulesThatDoNotTrain) {
  EXPECT_EQ(moduleError([](ModuleBuilder &b) { b.module.training.reset(); }),
            "argument: the module does not train: it has no training step; use one that was compiled with --train");
  EXPECT_EQ(moduleError([](ModuleBuilder &b) { b.module.training->hypers.pop_back(); }),
            "argument: function 'train_step': input 'scale' is neither data nor a hyperparameter");
  EXPECT_EQ(moduleError([](ModuleBuilder &b) {
              auto &hypers = b.module.training->hypers;
              hypers = {format::Hyper(format::HyperKind::Seed, 2), format::Hyper(format::HyperKind::Rate, 3),
                        hypers[2]};
            }),
            "argument: function 'train_step': hyperparameter 'rate' is no single i64");
  EXPECT_EQ(moduleError([](ModuleBuilder &b) {
              b.module.training->train_step = 2;
              b.module.training->inputs = {0};
              b.module.training->hypers.clear();
              b.module.training->metrics.clear();
            }),
            "argument: function 'predict': the loss 'scores' is no single f32");
  EXPECT_EQ(moduleError([](ModuleBuilder &b) { b.module.functions[3]->inputs[3]->name = "add"; }),
            "argument: function 'backward': input 'add' is neither one of 'train_step' nor a single bool 'keep'");
  EXPECT_EQ(moduleError([](ModuleBuilder &b) { b.module.training->backward = 2; }),
            "argument: function 'predict' has 1 outputs, expected 2, those of 'train_step'");
  const std::string path = writeTrainingModule(
      "bare.vxm", [](ModuleBuilder &b) { b.module.training->evaluate = b.module.training->predict = -1; });
  Session session(path);
  const Rows rows(4);
  EXPECT_EQ(errorOf([&] { session.evaluate(dataOf(rows)); }), "argument: the module has no function to evaluate with");
  EXPECT_EQ(errorOf([&] { session.predict(dataOf(rows)); }), "argument: the module has no function to predict with");
  const Dataset data = dataOf(rows);
  EXPECT_EQ(errorOf([&] { session.fit(data, {.validation = &data}); }),
            "argument: fit: the module has no function to evaluate with, which validation needs");
}

TEST(TrainSession, stepsByHand) {
  Session session(modulePath(), {.device = "cpu", .seed = 3});
  const Rows rows(8);
  const vx::Value inputs[] = {vx::Value::tensor<float>({8, 4}, rows.x), vx::Value::tensor<int64_t>({8}, rows.label)};
  const Scores first = session.train_step(inputs, 0.1);
  EXPECT_GT(first.loss, 0);
  EXPECT_EQ(first.rows, 8);
  ASSERT_EQ(first.metrics.size(), 1u);
  EXPECT_EQ(first.metrics[0].first, "accuracy");
  EXPECT_EQ(first.of("accuracy"), first.metrics[0].second);
  EXPECT_EQ(errorOf([&] { (void)first.of("recall"); }),
            "argument: unknown metric 'recall', the module has 'loss', 'accuracy'");
  EXPECT_EQ(session.progress().step, 1u);
  EXPECT_EQ(session.read_variable("step").data<int64_t>()[0], 1);
  EXPECT_EQ(errorOf([&] { session.train_step({inputs, 1}, 0.1); }), "argument: train_step: expected 2 inputs, got 1");
  const vx::Value none[] = {inputs[0], vx::Value()};
  EXPECT_EQ(errorOf([&] { session.train_step(none, 0.1); }), "argument: train_step: expected a value, got none");

  // A bad label changes nothing, and the next step works.
  const vx::Value before = session.read_variable("w0");
  std::vector<int64_t> labels = rows.label;
  labels[5] = 3;
  const vx::Value bad[] = {inputs[0], vx::Value::tensor<int64_t>({8}, labels)};
  EXPECT_NE(errorOf([&] { session.train_step(bad, 0.1); }).find("node_0 (Gather)"), std::string::npos);
  const vx::Value weight = session.read_variable("w0");
  EXPECT_TRUE(std::ranges::equal(before.data<float>(), weight.data<float>()));
  EXPECT_EQ(session.progress().step, 1u);
  session.train_step(inputs, 0.1);
  EXPECT_EQ(session.read_variable("step").data<int64_t>()[0], 2);

  const std::vector<vx::Value> scores = session.call("predict", {inputs, 1});
  EXPECT_EQ(scores[0].dims()[1], 3);
  EXPECT_EQ(errorOf([&] { session.call("forget", {}); }),
            "argument: function 'forget' does not exist, the module has 'train_step', 'evaluate', 'predict', "
            "'backward', 'update'");
}

TEST(TrainSession, halvesByHand) {
  const Rows rows(8);
  auto batch = [&](int64_t begin, int64_t count) {
    return std::vector{vx::Value::tensor<float>(
                           {count, 4}, std::vector(rows.x.begin() + begin * 4, rows.x.begin() + (begin + count) * 4)),
                       vx::Value::tensor<int64_t>(
                           {count}, std::vector(rows.label.begin() + begin, rows.label.begin() + begin + count))};
  };
  auto numbers = [](const vx::Value &value) {
    return std::vector(value.data<float>().begin(), value.data<float>().end());
  };
  Session session(modulePath(), {.device = "cpu", .seed = 3}), other(modulePath(), {.device = "cpu", .seed = 3});
  const std::vector<vx::Value> all = batch(0, 8), part = batch(0, 3);
  // The two halves are a step.
  const Scores scores = session.backward(all);
  EXPECT_EQ(session.progress().step, 0u);
  EXPECT_EQ(scores.loss, other.train_step(all, 0.1).loss);
  EXPECT_EQ(scores.rows, 8);
  session.update(0.1);
  EXPECT_EQ(session.progress().step, 1u);
  EXPECT_EQ(numbers(session.read_variable("w0")), numbers(other.read_variable("w0")));
  // By the name of the variable, and by the model's.
  const std::vector<float> gradient = numbers(session.gradient("dense.weight"));
  EXPECT_EQ(gradient, numbers(session.gradient("w0")));
  EXPECT_EQ(errorOf([&] { session.gradient("dense"); }),
            "argument: gradient: no gradient of 'dense' is kept; there are those of 'w0', 'dense.bias'");
  // Each batch of a step draws numbers of its own, and without `keep` all begins anew.
  session.backward(part);
  const std::vector<float> first = numbers(session.gradient("w0"));
  session.backward(part, true);
  EXPECT_EQ(numbers(session.read_variable("grad.rows")), std::vector<float>{6});
  EXPECT_NE(numbers(session.gradient("w0")), first);
  session.backward(part);
  EXPECT_EQ(numbers(session.gradient("w0")), first);
  EXPECT_EQ(errorOf([&] { session.backward({all.data(), 1}); }), "argument: backward: expected 2 inputs, got 1");

  const char *none = "argument: the module does not keep gradients: it has no 'backward' and 'update'; use one that "
                     "was compiled with --keep-gradients";
  Session whole(writeTrainingModule("whole.vxm", [](ModuleBuilder &b) { b.module.training->step = -1; }));
  EXPECT_EQ(errorOf([&] { whole.backward(all); }), none);
  EXPECT_EQ(errorOf([&] { whole.update(0.1); }), none);
  EXPECT_EQ(errorOf([&] { whole.fit(dataOf(rows), {.batch = 2, .accumulate = 2}); }), none);
  EXPECT_EQ(errorOf([&] { whole.fit(dataOf(rows), {.batch = 2, .accumulate = 0}); }),
            "argument: fit: accumulate: expected 1 batch or more for a step, got 0");
}

// What a step draws hangs on the seed and the step, and on nothing else.
TEST(TrainSession, eachStepDrawsAnew) {
  const Rows rows(8);
  const vx::Value inputs[] = {vx::Value::tensor<float>({8, 4}, rows.x), vx::Value::tensor<int64_t>({8}, rows.label)};
  auto losses = [&] {
    Session session(modulePath(), {.device = "cpu", .seed = 3});
    std::vector<double> result;
    for (int i = 0; i < 3; ++i)
      result.push_back(session.train_step(inputs, 0).loss);
    return result;
  };
  const std::vector<double> first = losses();
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first[1], first[2]);
  EXPECT_EQ(losses(), first);
}

TEST(TrainSession, evaluationIsAMeanOverRows) {
  Session session(modulePath(), {.device = "cpu", .seed = 3});
  const Rows rows(50);
  const Dataset data = dataOf(rows);
  const Scores whole = session.evaluate(data, 50);
  EXPECT_EQ(whole.rows, 50);
  for (int64_t batch : {1, 7, 32, 0}) {
    const Scores parts = session.evaluate(data, batch);
    EXPECT_EQ(parts.rows, 50);
    EXPECT_NEAR(parts.loss, whole.loss, 1e-6);
    EXPECT_NEAR(parts.of("accuracy"), whole.of("accuracy"), 1e-6);
  }
  EXPECT_EQ(session.evaluate(data, "loss", 50), whole.loss);
  EXPECT_EQ(session.read_variable("step").data<int64_t>()[0], 0);
}

TEST(TrainSession, predictionsInOrder) {
  const Rows rows(10);
  for (int64_t fixed : {-1, 4, 16}) {
    Session session(fixed < 0 ? modulePath() : writeTrainingModule("fixed.vxm", {}, fixed),
                    {.device = "cpu", .seed = 3});
    const vx::Value weight = session.read_variable("w0");
    const std::span<const float> w = weight.data<float>();
    const std::vector<vx::Value> outputs = session.predict(dataOf(rows), fixed < 0 ? 3 : 0);
    ASSERT_EQ(outputs.size(), 1u);
    ASSERT_EQ(outputs[0].dims()[0], 10);
    ASSERT_EQ(outputs[0].dims()[1], 3);
    for (size_t row = 0; row < 10; ++row)
      for (size_t c = 0; c < 3; ++c) {
        float score = 0;
        for (size_t i = 0; i < 4; ++i)
          score += w[c * 4 + i] * rows.x[row * 4 + i];
        EXPECT_NEAR(outputs[0].data<float>()[row * 3 + c], score, 1e-6);
      }
  }
}

TEST(TrainSession, dataThatDoesNotFit) {
  Session session(modulePath(), {.device = "cpu"});
  const Rows rows(8);
  auto error = [&](std::vector<Array> columns) {
    const Dataset data = Dataset::arrays(std::move(columns));
    return errorOf([&] { session.fit(data, {}); });
  };
  const Array label = array<int64_t>("label", {8}, rows.label), x = array<float>("x", {8, 4}, rows.x);
  EXPECT_EQ(error({x}), "data: the data has no 'label', which is i64[batch]; it has 'x'");
  const std::vector<uint8_t> bytes(32);
  EXPECT_EQ(
      error({array<uint8_t>("x", {8, 4}, bytes), label}),
      "data: x: input 'x': expected f32[batch,4], got u8[8,4] (u8 does not become f32 by itself, since only you know "
      "by what scale; save them as f32)");
  EXPECT_EQ(error({array<float>("x", {8, 2, 2}, rows.x), label}),
            "data: x: input 'x': expected f32[batch,4], got f32[8,2,2]");
  const std::vector<float> narrow(24);
  const std::vector<float> floats(8);
  EXPECT_EQ(
      error({array<float>("x", {8, 3}, narrow), array<float>("label", {8}, floats)}),
      "data: x: input 'x': expected f32[batch,4], got f32[8,3]; label: input 'label': expected i64[batch], got f32[8] "
      "(f32 does not become i64 by itself, since that may lose a part of each value; save them as i64)");
  std::vector<double> far(32);
  far[4 * 3 + 2] = 1e39;
  EXPECT_EQ(error({array<double>("x", {8, 4}, far), label}),
            "data: x: row 3, element 2, has 1e+39, expected a value that f32 holds: -3.40282347e+38 to 3.40282347e+38");
  std::vector<uint64_t> large(8);
  large[5] = UINT64_MAX;
  EXPECT_EQ(error({x, array<uint64_t>("label", {8}, large)}),
            "data: label: row 5 has 18446744073709551615, expected 0 to 2");
  EXPECT_EQ(error({{"x", VX_F32, {0, 4}, nullptr}, {"label", VX_I64, {0}, nullptr}}), "data: x: the data has no rows");
  std::vector<int64_t> labels = rows.label;
  labels[6] = 3;
  EXPECT_EQ(error({x, array<int64_t>("label", {8}, labels)}), "data: label: row 6 has 3, expected 0 to 2");
  const Dataset good = dataOf(rows);
  const Dataset bad = Dataset::arrays({x, array<int64_t>("label", {8}, labels)});
  EXPECT_EQ(errorOf([&] { session.fit(good, {.validation = &bad}); }), "data: label: row 6 has 3, expected 0 to 2");
  EXPECT_EQ(session.progress().step, 0u);

  // A function's rows are looked at as they come.
  const Dataset made = Dataset::callback({{"x", VX_F32, {4}}, {"label", VX_I64, {}}}, 8,
                                         [&](int64_t row, std::span<std::byte *const> places) {
                                           std::memcpy(places[0], rows.x.data() + row * 4, 16);
                                           std::memcpy(places[1], labels.data() + row, 8);
                                         });
  EXPECT_EQ(errorOf([&] { session.fit(made, {.batch = 8}); }), "data: label: row 6 has 3, expected 0 to 2");
  EXPECT_EQ(session.progress().step, 0u);
}

TEST(TrainSession, batchesThatDoNotFit) {
  const Rows rows(10);
  const Dataset data = dataOf(rows);
  Session any(modulePath(), {.device = "cpu"});
  EXPECT_EQ(errorOf([&] { any.fit(data, {.batch = -1}); }), "argument: batch: expected 0 rows or more, got -1");
  Session fixed(writeTrainingModule("fixed.vxm", {}, 4), {.device = "cpu"});
  EXPECT_EQ(errorOf([&] { fixed.fit(data, {.batch = 8}); }),
            "argument: batch: expected 4, which the module is compiled for, got 8");
  const Rows few(3);
  EXPECT_EQ(errorOf([&] { fixed.fit(dataOf(few), {}); }),
            "data: x: the data has 3 rows, less than the batch of 4 that the module is compiled for");
  EXPECT_EQ(errorOf([&] { fixed.evaluate(dataOf(few)); }), "data: x: the data has 3 rows, which are no batch of 4");
  Session even(writeTrainingModule("even.vxm",
                                   [](ModuleBuilder &b) {
                                     for (auto &function : b.module.functions)
                                       for (auto &batch : function->symbols) {
                                         batch->multiple = 2;
                                         batch->max = 8;
                                       }
                                   }),
               {.device = "cpu"});
  EXPECT_EQ(errorOf([&] { even.fit(data, {.batch = 3}); }),
            "argument: batch: 'batch' of the module is a multiple of 2 from 1 to 8, got 3");
  EXPECT_EQ(errorOf([&] { even.fit(data, {.batch = 10}); }),
            "argument: batch: 'batch' of the module is a multiple of 2 from 1 to 8, got 10");
  even.fit(data, {});
  EXPECT_EQ(even.progress().step, 2u); // 8 and 2
  Session two(writeTrainingModule("two.vxm",
                                  [](ModuleBuilder &b) {
                                    format::FunctionT &step = *b.module.functions[0];
                                    step.symbols.push_back(symbol("other", 1));
                                    step.inputs[1]->type->dims[0] = symbolExpr(1);
                                    b.module.programs[0]->i64_registers += 1;
                                    for (auto &one : b.module.programs[0]->body->instructions)
                                      for (uint32_t &operand : one->operands)
                                        if (one->op == Op::ConstI64)
                                          operand += 1;
                                  }),
              {.device = "cpu"});
  EXPECT_EQ(errorOf([&] { two.fit(data, {}); }),
            "argument: function 'train_step' takes no batches: 'x' has batch rows and 'label' has other");
}

TEST(TrainSession, summaryCountsParameters) {
  Session session(modulePath(), {.device = "cpu"});
  EXPECT_EQ(session.parameter_count(), 15u);
  EXPECT_EQ(session.summary(), "parameter     shape     count\n"
                               "dense.weight  f32[3,4]     12\n"
                               "dense.bias    f32[3]        3\n"
                               "total                      15 (15)\n");
  // 784-256-128-10
  const std::string path = writeTrainingModule("mlp.vxm", [](ModuleBuilder &b) {
    const std::pair<const char *, std::vector<int64_t>> more[] = {{"fc1.weight", {256, 784}}, {"fc1.bias", {256}},
                                                                  {"fc2.weight", {128, 256}}, {"fc2.bias", {128}},
                                                                  {"fc3.weight", {10, 128}},  {"fc3.bias", {10}}};
    for (auto &variable : b.module.variables)
      variable->role = format::Role::State;
    for (const auto &[name, dims] : more) {
      uint64_t size = 4;
      for (int64_t dim : dims)
        size *= static_cast<uint64_t>(dim);
      b.module.variables[b.addVariable(name, format::ElementType::F32, dims, size)]->role = format::Role::Parameter;
    }
  });
  Session mlp(path, {.device = "cpu"});
  EXPECT_EQ(mlp.parameter_count(), 235146u);
  EXPECT_TRUE(mlp.summary().ends_with("total                     235146 (235.1K)\n")) << mlp.summary();
}
