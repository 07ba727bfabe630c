// The C interface that vx/builder.hpp is made of: pointers, order, and what is no value.
#include "vx/compiler/vxb.h"

#include "gtest/gtest.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace {

using Graph = std::unique_ptr<vxb_graph, decltype(&vxb_graph_release)>;
Graph create() {
  vxb_graph *graph = nullptr;
  EXPECT_EQ(vxb_graph_create("test", &graph), VXC_DONE);
  return {graph, vxb_graph_release};
}

const vxb_dim dims[] = {{-1, "n"}, {4, nullptr}};
const vxb_type type = {VXB_F32, 2, dims};
const vxb_input input = {"x", type};
const vxb_place place = {"fc", "Linear", "/folder/model.cpp", 7};

// Each pointer that may not be null, and is, is VXC_USAGE, and the graph says which.
TEST(Vxb, nullPointers) {
  EXPECT_EQ(vxb_graph_create(nullptr, nullptr), VXC_USAGE);
  vxb_graph_release(nullptr);
  EXPECT_STREQ(vxb_graph_message(nullptr), "");
  vxb_value value = 0;
  int32_t body = 0;
  vxb_type out = {};
  vxb_variable_info variable = {};
  variable.struct_size = sizeof(variable);
  vxb_training training = {};
  training.struct_size = sizeof(training);
  vxc_options options = {};
  options.struct_size = sizeof(options);
  const float data[4] = {};
  EXPECT_EQ(vxb_symbol(nullptr, "n", 0, 1, 1), VXC_USAGE);
  EXPECT_EQ(vxb_node(nullptr, "Relu", 1, &value, 0, nullptr, nullptr, 1, &value), VXC_USAGE);
  EXPECT_EQ(vxb_compile(nullptr, "x.vxm", &options), VXC_USAGE);
  struct Case {
    const char *missing;
    std::function<vxc_result(vxb_graph *)> call;
  };
  const Case cases[] = {
      {"message", [&](vxb_graph *g) { return vxb_graph_fail(g, nullptr, nullptr); }},
      {"name", [&](vxb_graph *g) { return vxb_symbol(g, nullptr, 0, 1, 1); }},
      {"info", [&](vxb_graph *g) { return vxb_variable(g, nullptr, nullptr, &value); }},
      {"name", [&](vxb_graph *g) { return vxb_variable(g, &variable, nullptr, &value); }},
      {"name", [&](vxb_graph *g) { return vxb_function_begin(g, nullptr, 0, nullptr, nullptr, nullptr); }},
      {"inputs", [&](vxb_graph *g) { return vxb_function_begin(g, "f", 1, nullptr, nullptr, &value); }},
      {"out_inputs", [&](vxb_graph *g) { return vxb_function_begin(g, "f", 1, &input, nullptr, nullptr); }},
      {"names", [&](vxb_graph *g) { return vxb_function_end(g, 1, nullptr, &value); }},
      {"op", [&](vxb_graph *g) { return vxb_node(g, nullptr, 0, nullptr, 0, nullptr, nullptr, 0, nullptr); }},
      {"inputs", [&](vxb_graph *g) { return vxb_node(g, "Relu", 1, nullptr, 0, nullptr, nullptr, 1, &value); }},
      {"attributes", [&](vxb_graph *g) { return vxb_node(g, "Relu", 1, &value, 1, nullptr, nullptr, 1, &value); }},
      {"out_values", [&](vxb_graph *g) { return vxb_node(g, "Relu", 1, &value, 0, nullptr, nullptr, 1, nullptr); }},
      {"type", [&](vxb_graph *g) { return vxb_constant(g, nullptr, data, sizeof(data), nullptr, &value); }},
      {"data", [&](vxb_graph *g) { return vxb_constant(g, &type, nullptr, sizeof(data), nullptr, &value); }},
      {"dims", [&](vxb_graph *g) { return vxb_sizes(g, 2, nullptr, nullptr, &value); }},
      {"carried", [&](vxb_graph *g) { return vxb_body_begin(g, 1, 1, nullptr, nullptr, &value); }},
      {"values", [&](vxb_graph *g) { return vxb_body_end(g, 1, nullptr, &body); }},
      {"out_type", [&](vxb_graph *g) { return vxb_value_type(g, 0, nullptr); }},
      {"training", [&](vxb_graph *g) { return vxb_train(g, nullptr); }},
      {"evaluate", [&](vxb_graph *g) { return vxb_train(g, &training); }},
  };
  for (const Case &one : cases) {
    const Graph graph = create();
    EXPECT_EQ(one.call(graph.get()), VXC_USAGE) << one.missing;
    const std::string message = vxb_graph_message(graph.get());
    EXPECT_EQ(message, "argument '" + std::string(one.missing) + "' is a null pointer");
  }
  const Graph graph = create();
  EXPECT_EQ(vxb_compile(graph.get(), "x.vxm", nullptr), VXC_USAGE);
  EXPECT_EQ(vxb_compile_bytes(graph.get(), &options, nullptr), VXC_USAGE);
  EXPECT_EQ(vxb_export(graph.get(), "f", nullptr, nullptr, nullptr, nullptr), VXC_USAGE);
  EXPECT_EQ(out.rank, 0u);
}

// What comes at the wrong time, and what is no value, is told with its place; nothing is left half done.
TEST(Vxb, faults) {
  struct Case {
    const char *message;
    std::function<vxc_result(vxb_graph *)> call;
  };
  vxb_value value = 0, none = -2, much = 1000;
  int32_t body = 0;
  vxb_type out = {};
  const char *name = "y";
  const auto begin = [&](vxb_graph *g) { EXPECT_EQ(vxb_function_begin(g, "f", 1, &input, &place, &value), VXC_DONE); };
  const vxb_attribute wrong = {"body", VXB_BODY, 1, nullptr, nullptr, nullptr, 3};
  const vxb_attribute empty = {"axis", VXB_INT, 1, nullptr, nullptr, nullptr, 0};
  const vxb_attribute kind = {"axis", static_cast<vxb_attribute_kind>(9), 1, nullptr, nullptr, nullptr, 0};
  const auto node = [&](vxb_graph *g, const char *op, const vxb_value *in, const vxb_attribute *attribute = nullptr) {
    return vxb_node(g, op, 1, in, attribute ? 1 : 0, attribute, &place, 1, &value);
  };
  const auto variable = [&](vxb_graph *g, vxb_role role, vxb_init_kind init) {
    const vxb_dim two = {2, nullptr};
    const vxb_variable_info info = {sizeof(info), "w", {VXB_F32, 1, &two}, role, init, 0, 0, nullptr, 0};
    return vxb_variable(g, &info, &place, &value);
  };
  const Case cases[] = {
      {"model.cpp:7: fc (Linear): expected a call in Graph::function, got one outside of a function",
       [&](vxb_graph *g) { return node(g, "Relu", &value); }},
      {"expected a function that has begun to end here, got none",
       [&](vxb_graph *g) { return vxb_function_end(g, 1, &name, &value); }},
      {"expected a body that has begun to end here, got none",
       [&](vxb_graph *g) { return vxb_body_end(g, 1, &value, &body); }},
      {"model.cpp:7: fc (Linear): expected function 'f' to end first, got the begin of function 'h'",
       [&](vxb_graph *g) { return begin(g), vxb_function_begin(g, "h", 1, &input, &place, &value); }},
      {"model.cpp:7: fc (Linear): expected a tensor with a value, got one that was given none",
       [&](vxb_graph *g) { return begin(g), node(g, "Relu", &none); }},
      {"model.cpp:7: fc (Linear): expected a tensor with a value, got one that was given none",
       [&](vxb_graph *g) { return begin(g), node(g, "Relu", &much); }},
      {"model.cpp:7: fc (Linear): the op is not imported",
       [&](vxb_graph *g) { return begin(g), node(g, "Magic", &value); }},
      {"model.cpp:7: fc (Linear): expected a body that is there and has no other use, got body 3",
       [&](vxb_graph *g) { return begin(g), node(g, "Loop", &value, &wrong); }},
      {"model.cpp:7: fc (Linear): attribute 'axis' has a null pointer for its elements",
       [&](vxb_graph *g) { return begin(g), node(g, "Softmax", &value, &empty); }},
      {"model.cpp:7: fc (Linear): attribute 'axis' expects a kind of vxb_attribute_kind, got 9",
       [&](vxb_graph *g) { return begin(g), node(g, "Softmax", &value, &kind); }},
      {"model.cpp:7: fc (Linear): tensor 'fc_output': expects 32 bytes of raw data, got 3",
       [&](vxb_graph *g) {
         const vxb_dim two[] = {{2, nullptr}, {4, nullptr}};
         const vxb_type small = {VXB_F32, 2, two};
         return begin(g), vxb_constant(g, &small, "abc", 3, &place, &value);
       }},
      {"model.cpp:7: fc (Linear): a constant needs sizes that are numbers, got n as dimension 0",
       [&](vxb_graph *g) { return begin(g), vxb_constant(g, &type, "abc", 3, &place, &value); }},
      {"model.cpp:7: fc (Linear): variable 'w' expects a role of vxb_role, got 9",
       [&](vxb_graph *g) { return variable(g, static_cast<vxb_role>(9), VXB_INIT_ZEROS); }},
      {"model.cpp:7: fc (Linear): variable 'w' expects an init of vxb_init_kind, got 2147483646",
       [&](vxb_graph *g) { return variable(g, VXB_STATE, static_cast<vxb_init_kind>(0x7ffffffe)); }},
      {"model.cpp:7: fc (Linear): variable 'w' expects an init of vxb_init_kind, got 6",
       [&](vxb_graph *g) { return variable(g, VXB_STATE, static_cast<vxb_init_kind>(6)); }},
      {"model.cpp:7: fc (Linear): expected a variable to store, got another value",
       [&](vxb_graph *g) { return begin(g), vxb_store(g, value, value, &place); }},
      {"expected a tensor with a value, got one that was given none",
       [&](vxb_graph *g) { return begin(g), vxb_value_type(g, much, &out); }},
  };
  for (const Case &one : cases) {
    const Graph graph = create();
    value = 0;
    EXPECT_EQ(one.call(graph.get()), VXC_UNSUPPORTED) << one.message;
    EXPECT_STREQ(vxb_graph_message(graph.get()), one.message);
    // The first fault stays, whatever comes.
    EXPECT_EQ(vxb_function_begin(graph.get(), "later", 1, &input, &place, &value), VXC_UNSUPPORTED);
    EXPECT_STREQ(vxb_graph_message(graph.get()), one.message);
  }
}

// Names that are missing, or that something has already. Each message has the name.
TEST(Vxb, names) {
  struct Case {
    const char *message;
    std::function<vxc_result(vxb_graph *)> call;
  };
  vxb_value inputs[2] = {}, value = 0;
  vxb_variable_info variable = {};
  variable.struct_size = sizeof(variable);
  const vxb_dim two = {2, nullptr};
  variable.type = {VXB_F32, 1, &two};
  const char *names[] = {"y", "y"};
  const auto begin = [&](vxb_graph *g) { EXPECT_EQ(vxb_function_begin(g, "f", 1, &input, &place, inputs), VXC_DONE); };
  const auto keep = [&](vxb_graph *g) { return variable.name = "w", vxb_variable(g, &variable, &place, &value); };
  const Case cases[] = {
      {"symbol 'a b': expected a name of letters, digits and '_', got 'a b'",
       [&](vxb_graph *g) { return vxb_symbol(g, "a b", 0, 1, 1); }},
      {"symbol 'n': expected one declaration, got two",
       [&](vxb_graph *g) {
         EXPECT_EQ(vxb_symbol(g, "n", 0, 1, 1), VXC_DONE);
         return vxb_symbol(g, "n", 0, 1, 1);
       }},
      {"symbol 'n': expected a declaration before each function that has it, got one after",
       [&](vxb_graph *g) {
         begin(g);
         EXPECT_EQ(vxb_function_end(g, 1, names, inputs), VXC_DONE);
         return vxb_symbol(g, "n", 0, 1, 1);
       }},
      {"model.cpp:7: fc (Linear): expected a name for a variable, got ''",
       [&](vxb_graph *g) { return variable.name = "", vxb_variable(g, &variable, &place, &value); }},
      {"model.cpp:7: fc (Linear): expected one variable 'w', got two: give each layer a scope of its own",
       [&](vxb_graph *g) {
         EXPECT_EQ(keep(g), VXC_DONE);
         return keep(g);
       }},
      {"model.cpp:7: fc (Linear): expected a name for a function, got ''",
       [&](vxb_graph *g) { return vxb_function_begin(g, "", 1, &input, &place, inputs); }},
      {"model.cpp:7: fc (Linear): function 'f': expected inputs with names that differ, got 'x' twice",
       [&](vxb_graph *g) {
         const vxb_input both[] = {input, input};
         return vxb_function_begin(g, "f", 2, both, &place, inputs);
       }},
      {"model.cpp:7: fc (Linear): function 'f': expected a name for each of its outputs, at least one, got 0 names and "
       "0 outputs",
       [&](vxb_graph *g) { return begin(g), vxb_function_end(g, 0, nullptr, nullptr); }},
      {"model.cpp:7: fc (Linear): function 'f': expected outputs with names that differ, got 'y' twice",
       [&](vxb_graph *g) {
         begin(g);
         inputs[1] = inputs[0];
         return vxb_function_end(g, 2, names, inputs);
       }},
      {"model.cpp:7: fc (Linear): expected a store in Graph::function, got one outside of a function",
       [&](vxb_graph *g) {
         EXPECT_EQ(keep(g), VXC_DONE);
         return vxb_store(g, value, value, &place);
       }},
      {"train: expected one training of a graph, got a second; the first has the loss of 'f'",
       [&](vxb_graph *g) {
         begin(g);
         EXPECT_EQ(vxb_function_end(g, 1, names, inputs), VXC_DONE);
         vxb_training training = {};
         training.struct_size = sizeof(training);
         training.evaluate = "f";
         training.optimizer = "sgd";
         EXPECT_EQ(vxb_train(g, &training), VXC_DONE);
         return vxb_train(g, &training);
       }},
  };
  for (const Case &one : cases) {
    const Graph graph = create();
    EXPECT_EQ(one.call(graph.get()), VXC_UNSUPPORTED) << one.message;
    EXPECT_STREQ(vxb_graph_message(graph.get()), one.message);
  }
}

// Fields that the caller does not know of are zero.
TEST(Vxb, structSizes) {
  const Graph graph = create();
  vxb_variable_info variable = {};
  variable.struct_size = offsetof(vxb_variable_info, init);
  variable.name = "w";
  const vxb_dim two = {2, nullptr};
  variable.type = {VXB_F32, 1, &two};
  variable.init = static_cast<vxb_init_kind>(77);
  vxb_value value = -2;
  EXPECT_EQ(vxb_variable(graph.get(), &variable, &place, &value), VXC_DONE);
  EXPECT_GE(value, 0);
}

// Options that a graph has its own words for are refused, and so is a graph whose function has not ended.
TEST(Vxb, compile) {
  const Graph graph = create();
  std::string message;
  vxc_options options = {};
  options.struct_size = sizeof(options);
  options.targets = "cpu";
  options.user_data = &message;
  options.on_message = [](void *data, vxc_severity, const char *text) { *static_cast<std::string *>(data) = text; };
  vxc_module *module = nullptr;
  vxb_value value = 0;
  EXPECT_EQ(vxb_function_begin(graph.get(), "f", 1, &input, &place, &value), VXC_DONE);
  const char *name = "y";
  EXPECT_EQ(vxb_function_end(graph.get(), 1, &name, &value), VXC_DONE);
  options.loss = "mse";
  EXPECT_EQ(vxb_compile_bytes(graph.get(), &options, &module), VXC_USAGE);
  EXPECT_EQ(message, "option 'loss': expected none for a graph, got one: it is for models of files, and a graph states "
                     "its training itself");
  options.loss = nullptr;
  EXPECT_EQ(vxb_compile_bytes(graph.get(), &options, &module), VXC_DONE) << message;
  EXPECT_GT(vxc_module_size(module), 0u);
  vxc_module_release(module);
  EXPECT_EQ(vxb_function_begin(graph.get(), "h", 1, &input, &place, &value), VXC_DONE);
  EXPECT_EQ(vxb_compile_bytes(graph.get(), &options, &module), VXC_UNSUPPORTED);
  EXPECT_EQ(message,
            "expected a graph of functions that have ended, got one that has not: end it before the graph is compiled");
  EXPECT_EQ(module, nullptr);
}

} // namespace
