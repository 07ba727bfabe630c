// Tensors of strings, and what the host computes of them.
#include "exec/string_pool.h"
#include "programs.h"
#include "runtime_test.h"

namespace vx::test {

using Texts = std::vector<std::string>;

static Ref<Value> stringsValue(std::vector<int64_t> dims, const Texts &texts) {
  Ref<Value> value;
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  EXPECT_OK(Value::strings(dims, views, value));
  return value;
}

static Texts textsOf(const Value &value) {
  Texts texts;
  for (size_t i = 0; i < value.stringCount(); ++i)
    texts.emplace_back(value.string(i));
  return texts;
}

class StringsOnDevice : public testing::TestWithParam<const char *> {
protected:
  void load(ModuleBuilder &builder) {
    builder.addCpuTarget();
    ASSERT_TRUE(builder.addVulkanTarget()) << "the tests were built without the Vulkan kernels";
    ASSERT_OK(makeInstance(builder.write(), GetParam(), instance, 1));
  }
  // What the function gives for a list of strings.
  void expectStrings(const Texts &given, const Texts &wanted) {
    std::vector<Ref<Value>> outputs;
    ASSERT_OK(runMain(*instance, {stringsValue({static_cast<int64_t>(given.size())}, given)}, outputs));
    EXPECT_EQ(textsOf(*outputs[0]), wanted);
  }
  Ref<Instance> instance;
};
INSTANTIATE_TEST_SUITE_P(Devices, StringsOnDevice, testing::ValuesIn(builtDevices({"cpu", "vulkan"})),
                         [](const auto &device) { return std::string(device.param); });

TEST_P(StringsOnDevice, areMappedByTheHost) {
  using enum format::ElementType;
  ModuleBuilder builder;
  addHostCall(builder, String, String, hostFunction(format::HostFunctionKind::StringUpper, {I32}));
  load(builder);
  if (!instance)
    return;
  expectStrings({"a", "", "ä\0b" + std::string(1, '\0'), "a", "new"},
                {"A", "", "Ä" + std::string(1, '\0'), "A", "NEW"});
  expectStrings({}, {});
  expectStrings({"b"}, {"B"});
}

TEST_P(StringsOnDevice, matchARegularExpression) {
  using enum format::ElementType;
  ModuleBuilder builder;
  addHostCall(builder, String, Bool, hostFunction(format::HostFunctionKind::StringMatch, {Bool}, "a+b?"));
  load(builder);
  if (!instance)
    return;
  std::vector<Ref<Value>> outputs;
  ASSERT_OK(runMain(*instance, {stringsValue({5}, {"aab", "aabb", "", "a", "a\n"})}, outputs));
  const void *bytes = nullptr;
  ASSERT_OK(outputs[0]->hostBytes(bytes));
  const auto *matches = static_cast<const uint8_t *>(bytes);
  EXPECT_EQ(std::vector<int>(matches, matches + 5), (std::vector<int>{1, 0, 0, 1, 0}));
}

TEST_P(StringsOnDevice, whatSpellsNoNumberIsAFault) {
  using enum format::ElementType;
  ModuleBuilder builder;
  addHostCall(builder, String, I32, hostFunction(format::HostFunctionKind::StringParse, {I32}));
  load(builder);
  if (!instance)
    return;
  std::vector<Ref<Value>> outputs;
  ASSERT_OK(runMain(*instance, {stringsValue({2}, {"-7", "1e3"})}, outputs));
  EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{-7, 1000}));
  EXPECT_FAILS(runMain(*instance, {stringsValue({2}, {"1", "one"})}, outputs), VX_FAULT,
               "node_0 (Words): element [1] is 'one', which spells no i32");
  EXPECT_FAILS(runMain(*instance, {stringsValue({1}, {"2147483648"})}, outputs), VX_FAULT,
               "node_0 (Words): element [0] is '2147483648', which spells no i32");
}

TEST(Strings, refusedModules) {
  using enum format::ElementType;
  auto refused = [](auto change, std::string_view why) {
    ModuleBuilder builder;
    addHostCall(builder, String, String, hostFunction(format::HostFunctionKind::StringUpper, {I32}));
    change(builder.module);
    builder.addCpuTarget();
    Ref<Module> module;
    const std::string path = builder.write();
    EXPECT_FAILS(Module::load(path, module), VX_INVALID_MODULE, fmt::format("{}: {}", path, why));
  };
  refused([](format::ModuleT &module) { module.strings = {"a"}; },
          "string 0 is 'a', expected an empty one and then others, each once");
  refused([](format::ModuleT &module) { module.strings = {"", "a", "a"}; },
          "string 2 is 'a', expected an empty one and then others, each once");
  refused([](format::ModuleT &module) { module.strings = {"", "\xff"}; }, "string 1 is no UTF-8");
  refused([](format::ModuleT &module) { module.host_functions[0]->results = {I64}; },
          "function 0 of the host: gives 1 tensors, of other types than its kind 1 does");
  refused([](format::ModuleT &module) { module.host_functions[0]->kind = static_cast<format::HostFunctionKind>(99); },
          "function 0 of the host: kind has the unknown number 99");
  refused([](format::ModuleT &module) { module.host_functions.clear(); },
          "program 0 'main': instruction 2 HostCall: function of the host 0 does not exist, there are 0");
}

TEST(Strings, wrongPatternsAreNamed) {
  using enum format::ElementType;
  ModuleBuilder builder;
  addHostCall(builder, String, Bool, hostFunction(format::HostFunctionKind::StringMatch, {Bool}, "(a"));
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "cpu", instance, 1));
  std::vector<Ref<Value>> outputs;
  EXPECT_FAILS(runMain(*instance, {stringsValue({1}, {"a"})}, outputs), VX_INVALID_MODULE,
               "node_0 (Words): the regular expression '(a' is none at character 2: missing closing parenthesis");
}

TEST(Strings, matchesThatTakeTooLongAreFaults) {
  using enum format::ElementType;
  ModuleBuilder builder;
  addHostCall(builder, String, Bool, hostFunction(format::HostFunctionKind::StringMatch, {Bool}, "(a+)+[bd]"));
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "cpu", instance, 1));
  std::vector<Ref<Value>> outputs;
  EXPECT_FAILS(runMain(*instance, {stringsValue({1}, {std::string(40, 'a') + "c"})}, outputs), VX_FAULT,
               "node_0 (Words): element [0]: matching a string of 41 bytes: match limit exceeded");
}

TEST(Strings, valuesAreChecked) {
  Ref<Value> value;
  const int64_t two[] = {2};
  const std::vector<std::string_view> texts = {"a", "\xc3"};
  EXPECT_FAILS(Value::strings(two, std::span(texts).first(1), value), VX_INVALID_ARGUMENT,
               "string[2] needs 2 strings, got 1");
  EXPECT_FAILS(Value::strings(two, texts, value), VX_INVALID_ARGUMENT, "string 1 of string[2] is no UTF-8");
  const void *bytes = nullptr;
  EXPECT_FAILS(stringsValue({1}, {"a"})->hostBytes(bytes), VX_INVALID_ARGUMENT,
               "expected a tensor of numbers or bools, got string[1]");
  Ref<Value> list;
  ASSERT_OK(Value::list(VX_SEQUENCE, VX_STRING, {stringsValue({2}, {"a", "b"})}, list));
  EXPECT_EQ(list->typeString(), "sequence of string");
}

TEST(Strings, poolNumbersEachOnce) {
  ModuleData module;
  module.strings = {"", "a"};
  module.stringNumbers = {{"", 0}, {"a", 1}};
  StringPool pool;
  pool.clear(module, nullptr);
  int32_t number = 0;
  for (auto [text, wanted] :
       {std::pair("a", 1), std::pair("b", 2), std::pair("", 0), std::pair("c", 3), std::pair("b", 2)}) {
    ASSERT_OK(pool.number(text, number));
    EXPECT_EQ(number, wanted);
    std::string_view found;
    ASSERT_OK(pool.text(number, found));
    EXPECT_EQ(found, text);
  }
  std::string_view text;
  EXPECT_FAILS(pool.text(4, text), VX_INVALID_MODULE, "a string has the number 4, there are 4");
  EXPECT_FAILS(pool.text(-1, text), VX_INVALID_MODULE, "a string has the number -1, there are 4");
}

} // namespace vx::test
