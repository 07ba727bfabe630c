// Every function of vx.h with a null pointer in each place where it takes a pointer, one at a time, and with a released
// object where it takes one: it names the argument, or does what the header says there. The functions are counted in
// the header itself.
#include "vx/runtime/vx.h"

#include "programs.h"
#include "runtime_test.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <utility>

using namespace vx;
using namespace vx::test;

namespace {

// The parameters of each function that the header declares, in order: the names of pointers, and "" for what is none.
std::map<std::string, std::vector<std::string>> declaredFunctions() {
  std::ifstream file(VX_TEST_HEADER);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  text = std::regex_replace(text, std::regex("/\\*[^*]*\\*+([^/*][^*]*\\*+)*/"), "");
  text = std::regex_replace(text, std::regex("void \\(\\*release\\)\\(void \\*user\\)"), "void *release");
  std::map<std::string, std::vector<std::string>> result;
  const std::regex declaration("VX_API[^(;]*?\\b(vx_[a-z_]+)\\(([^)]*)\\);");
  for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it) {
    std::vector<std::string> &parameters = result[(*it)[1]];
    const std::string list = (*it)[2];
    const std::regex comma("[^,]+");
    for (std::sregex_iterator one(list.begin(), list.end(), comma); one != end; ++one) {
      const std::string parameter = one->str();
      std::smatch name;
      std::regex_search(parameter, name, std::regex("([a-z_]+)\\s*$"));
      const bool isPointer = parameter.find('*') != std::string::npos || parameter.find("vx_status") == 0 ||
                             parameter.find("vx_dispatch_observer") != std::string::npos;
      parameters.push_back(isPointer ? name[1].str() : "");
    }
  }
  return result;
}

template <typename T>
T nullIf(bool wanted, T argument) {
  if constexpr (std::is_pointer_v<T>)
    return wanted ? nullptr : argument;
  return argument;
}

#ifdef VX_HANDLES_ARE_FREED
constexpr bool knowsReleased = false; // the sanitizer does
#else
constexpr bool knowsReleased = true;
#endif

class NullArguments : public testing::Test {
protected:
  using Parameters = std::vector<std::string>;

  void SetUp() override {
    ModuleBuilder builder;
    addAccumulate(builder);
    builder.addCpuTarget();
    path = builder.write("null_arguments.vxm");
    ASSERT_EQ(vx_module_load(path.c_str(), &module), nullptr);
    vx_instance_options options = {};
    options.struct_size = sizeof(options);
    options.device = "cpu";
    ASSERT_EQ(vx_instance_create(module, &options, &instance), nullptr);
    ASSERT_EQ(vx_call_create(instance, nullptr, &call), nullptr);
    ASSERT_EQ(vx_tensor_create(VX_I32, 1, dims, numbers, sizeof(numbers), &x), nullptr);
    ASSERT_EQ(vx_sequence_create(VX_I32, 1, &x, &list), nullptr);
    ASSERT_EQ(vx_call_run(call, 1, &x, 1, &y), nullptr);
    makeReleased();
  }
  // One of each kind that has been released, and one that a library under test has not.
  void makeReleased() {
    vx_instance_options options = {};
    options.struct_size = sizeof(options);
    options.device = "cpu";
    vx_submit_options submit = {};
    submit.struct_size = sizeof(submit);
    submit.hold = 1;
    ASSERT_EQ(vx_module_load(path.c_str(), &released.module), nullptr);
    ASSERT_EQ(vx_instance_create(released.module, &options, &released.instance), nullptr);
    ASSERT_EQ(vx_call_create(released.instance, nullptr, &released.call), nullptr);
    ASSERT_EQ(vx_tensor_create(VX_I32, 1, dims, numbers, sizeof(numbers), &released.value), nullptr);
    ASSERT_EQ(vx_call_submit(released.call, 1, &released.value, &submit, &released.pending), nullptr);
    vx_pending_release(released.pending);
    vx_value_release(released.value);
    vx_call_release(released.call);
    vx_instance_release(released.instance);
    vx_module_release(released.module);
  }
  void TearDown() override {
    for (vx_value *value : {x, y, list})
      vx_value_release(value);
    vx_call_release(call);
    vx_instance_release(instance);
    vx_module_release(module);
  }

  // Calls `function` with each pointer null in turn. `mayBeNull` are the names of which the header says so.
  template <typename... Wanted, typename... Given>
  void check(const std::string &name, vx_status (*function)(Wanted...), const std::set<std::string> &mayBeNull,
             Given... given) {
    visit(name, sizeof...(Wanted), [&](size_t place, const std::string &parameter) {
      size_t at = 0;
      // Braces keep the order.
      std::tuple<Wanted...> arguments{nullIf<Wanted>(at++ == place, given)...};
      vx_status status = std::apply(function, arguments);
      if (!mayBeNull.count(parameter)) {
        EXPECT_EQ(vx_status_code(status), VX_INVALID_ARGUMENT) << name << " without " << parameter;
        EXPECT_EQ(
            std::string(vx_status_message(status)).find(name + ": argument '" + parameter + "' is a null pointer"), 0)
            << vx_status_message(status);
      } else {
        EXPECT_EQ(vx_status_code(status), VX_OK)
            << name << " without " << parameter << ": " << vx_status_message(status);
      }
      vx_status_release(status);
      giveBack();
      at = 0;
      std::tuple<Wanted...> others{releasedIf<Wanted>(at++ == place, given)...};
      if (!knowsReleased || others == std::tuple<Wanted...>{given...})
        return;
      status = std::apply(function, others);
      EXPECT_EQ(vx_status_code(status), VX_INVALID_ARGUMENT) << name << " with " << parameter << " released";
      EXPECT_EQ(std::string(vx_status_message(status)).find(name + ": argument '" + parameter + "' has been released"),
                0)
          << vx_status_message(status);
      vx_status_release(status);
      ++releasedCount;
      giveBack();
    });
  }
  // An object is taken by a pointer to its type.
  template <typename T>
  T releasedIf(bool wanted, T argument) {
    using Type = std::remove_const_t<std::remove_pointer_t<T>>;
    if (wanted && std::is_pointer_v<T>) {
      if constexpr (std::is_same_v<Type, vx_module>)
        return released.module;
      if constexpr (std::is_same_v<Type, vx_instance>)
        return released.instance;
      if constexpr (std::is_same_v<Type, vx_call>)
        return released.call;
      if constexpr (std::is_same_v<Type, vx_value>)
        return released.value;
      if constexpr (std::is_same_v<Type, vx_pending>)
        return released.pending;
    }
    return argument;
  }
  // A function without a status: `without(place)` calls it with a null in that place.
  void checkQuiet(const std::string &name, size_t count, const std::function<void(size_t)> &without) {
    visit(name, count, [&](size_t place, const std::string &) { without(place); });
  }
  void visit(const std::string &name, size_t count,
             const std::function<void(size_t, const std::string &)> &withoutOne) {
    ASSERT_TRUE(declared.count(name)) << name;
    const Parameters &parameters = declared.at(name);
    ASSERT_EQ(parameters.size(), count) << name;
    for (size_t place = 0; place < count; ++place)
      if (!parameters[place].empty())
        withoutOne(place, parameters[place]);
    visited.insert(name);
  }
  // What a call that may have a null there has made.
  void giveBack() {
    vx_value_release(madeValue);
    vx_module_release(madeModule);
    vx_instance_release(madeInstance);
    vx_call_release(madeCall);
    vx_pending_release(madePending);
    vx_string_release(madeText);
    madeValue = nullptr;
    madeModule = nullptr;
    madeInstance = nullptr;
    madeCall = nullptr;
    madePending = nullptr;
    madeText = nullptr;
  }

  const std::map<std::string, Parameters> declared = declaredFunctions();
  std::set<std::string> visited;

  std::string path;
  const int64_t dims[1] = {4};
  const int32_t numbers[4] = {1, 2, 3, 4};
  vx_module *module = nullptr;
  vx_instance *instance = nullptr;
  vx_call *call = nullptr;
  vx_value *x = nullptr, *y = nullptr, *list = nullptr;

  struct {
    vx_module *module = nullptr;
    vx_instance *instance = nullptr;
    vx_call *call = nullptr;
    vx_value *value = nullptr;
    vx_pending *pending = nullptr;
  } released;
  size_t releasedCount = 0;

  vx_module *madeModule = nullptr;
  vx_instance *madeInstance = nullptr;
  vx_call *madeCall = nullptr;
  vx_pending *madePending = nullptr;
  vx_value *madeValue = nullptr;
  char *madeText = nullptr;
  const void *data = nullptr;
};

} // namespace

TEST_F(NullArguments, areNamed) {
  check("vx_module_load", vx_module_load, {}, path.c_str(), &madeModule);
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<char> room(text.size() + 64);
  char *bytes = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64);
  std::copy(text.begin(), text.end(), bytes);
  check("vx_module_load_bytes", vx_module_load_bytes, {"name"}, bytes, text.size(), "n", &madeModule);
  check("vx_module_describe", vx_module_describe, {}, module, &madeText);
  check("vx_module_verify", vx_module_verify, {}, module);
  check("vx_list_devices", vx_list_devices, {}, &madeText);
  vx_device_info device = {};
  check("vx_device_find", vx_device_find, {"device"}, "cpu", &device);
  uint64_t freeBytes = 0;
  check("vx_device_free_memory", vx_device_free_memory, {"device"}, "cpu", &freeBytes);
  vx_instance_options options = {};
  options.struct_size = sizeof(options);
  check("vx_instance_create", vx_instance_create, {"options"}, module, &options, &madeInstance);
  check("vx_instance_report", vx_instance_report, {}, instance, VX_REPORT_TEXT, &madeText);
  check("vx_instance_limit_calls", vx_instance_limit_calls, {}, instance, uint64_t(0));
  vx_memory_estimate estimate = {};
  estimate.struct_size = sizeof(estimate);
  check("vx_instance_estimate_memory", vx_instance_estimate_memory, {"function", "symbols"}, instance, "main",
        size_t(0), static_cast<const vx_symbol_value *>(nullptr), &estimate);
  check("vx_module_estimate_memory", vx_module_estimate_memory, {"options", "function", "symbols"}, module,
        static_cast<const vx_instance_options *>(nullptr), "main", size_t(0),
        static_cast<const vx_symbol_value *>(nullptr), &estimate);
  check("vx_tensor_create", vx_tensor_create, {}, VX_I32, 1u, dims, numbers, sizeof(numbers), &madeValue);
  void (*release)(void *) = [](void *) {};
  check("vx_tensor_wrap", vx_tensor_wrap, {"release", "user"}, VX_I32, 1u, dims, numbers, sizeof(numbers), release,
        &madeValue, &madeValue);
  DLManagedTensorVersioned *given = nullptr;
  check("vx_tensor_to_dlpack", vx_tensor_to_dlpack, {}, x, &given);
  ASSERT_EQ(vx_tensor_to_dlpack(x, &given), nullptr);
  DLManagedTensorVersioned *inPlace = nullptr;
  check("vx_tensor_to_dlpack_in_place", vx_tensor_to_dlpack_in_place, {}, x, &inPlace);
  check("vx_tensor_from_dlpack", vx_tensor_from_dlpack, {}, given, &madeValue);
  ASSERT_EQ(vx_tensor_from_dlpack(given, &madeValue), nullptr); // which ends it
  vx_value_release(madeValue);
  madeValue = nullptr;
  const char *const texts[] = {"a"};
  const size_t lengths[] = {1};
  const int64_t one[] = {1};
  check("vx_strings_create", vx_strings_create, {}, 1u, one, size_t(1), texts, lengths, &madeValue);
  ASSERT_EQ(vx_strings_create(1, one, 1, texts, lengths, &madeValue), nullptr);
  const char *element = nullptr;
  size_t length = 0;
  vx_value *strings = std::exchange(madeValue, nullptr);
  check("vx_strings_element", vx_strings_element, {}, strings, size_t(0), &element, &length);
  vx_value_release(strings);
  check("vx_sequence_create", vx_sequence_create, {}, VX_I32, size_t(1), &x, &madeValue);
  check("vx_optional_create", vx_optional_create, {"element"}, VX_I32, x, &madeValue);
  check("vx_optional_sequence_create", vx_optional_sequence_create, {"sequence"}, VX_I32, list, &madeValue);
  check("vx_value_element", vx_value_element, {}, list, size_t(0), &madeValue);
  check("vx_tensor_data", vx_tensor_data, {}, x, &data);
  check("vx_instance_read_variable", vx_instance_read_variable, {}, instance, "total", &madeValue);
  check("vx_instance_write_variable", vx_instance_write_variable, {}, instance, "total", x);
  const char *const names[] = {"total"};
  check("vx_instance_upload", vx_instance_upload, {}, instance, x, &madeValue);
  void *hostMemory = nullptr;
  check("vx_instance_host_alloc", vx_instance_host_alloc, {}, instance, uint64_t(64), &hostMemory);
  check("vx_value_to_device", vx_value_to_device, {"device"}, x, "cpu", &madeValue);
  check("vx_instance_read_variables", vx_instance_read_variables, {}, instance, size_t(1), names, &madeValue);
  check("vx_instance_write_variables", vx_instance_write_variables, {}, instance, size_t(1), names, &x);
  check("vx_instance_save_module", vx_instance_save_module, {}, instance, size_t(1), names, "/nowhere/m.vxm");
  check("vx_call_create", vx_call_create, {"function"}, instance, "main", &madeCall);
  check("vx_call_run", vx_call_run, {}, call, size_t(1), &x, size_t(1), &madeValue);
  const vx_result_place places[1] = {};
  vx_submit_options submit = {};
  submit.struct_size = sizeof(submit);
  check("vx_call_run_into", vx_call_run_into, {}, call, size_t(1), &x, size_t(1), places, &madeValue);
  check("vx_call_submit", vx_call_submit, {"options"}, call, size_t(1), &x, static_cast<vx_submit_options *>(&submit),
        &madePending);
  vx_pending *pending = nullptr;
  submit.hold = 1;
  ASSERT_EQ(vx_call_submit(call, 1, &x, &submit, &pending), nullptr);
  check("vx_call_start", vx_call_start, {}, pending);
  ASSERT_EQ(vx_call_start(pending), nullptr);
  check("vx_call_wait", vx_call_wait, {}, pending, size_t(1), &madeValue);
  check("vx_call_wait_for", vx_call_wait_for, {}, pending, uint32_t(1), size_t(1), &madeValue);
  checkQuiet("vx_call_cancel", 1, [](size_t) { vx_call_cancel(nullptr); });
  vx_pending_release(pending);
  checkQuiet("vx_pending_retain", 1, [](size_t) { vx_pending_retain(nullptr); });
  checkQuiet("vx_pending_release", 1, [](size_t) { vx_pending_release(nullptr); });
  check("vx_call_report", vx_call_report, {}, call, &madeText);
  check("vx_call_trace", vx_call_trace, {}, call, &madeText);
  check("vx_call_set_stream", vx_call_set_stream, {"stream"}, call, nullptr);
  check("vx_instance_call", vx_instance_call, {"function"}, instance, "main", size_t(1), &x, size_t(1), &madeValue);
  vx_instance *place = instance;
  check("vx_try_with_fallback", vx_try_with_fallback, {"function"}, &place, "main", size_t(1), &x, size_t(1),
        &madeValue);

  checkQuiet("vx_status_code", 1, [](size_t) { EXPECT_EQ(vx_status_code(nullptr), VX_OK); });
  checkQuiet("vx_status_message", 1, [](size_t) { EXPECT_STREQ(vx_status_message(nullptr), "ok"); });
  checkQuiet("vx_status_report", 1, [](size_t) { EXPECT_EQ(vx_status_report(nullptr), nullptr); });
  checkQuiet("vx_status_details", 1, [](size_t) { EXPECT_EQ(vx_status_details(nullptr), nullptr); });
  visit("vx_status_create", 4, [](size_t place, const std::string &parameter) {
    vx_status status = vx_status_create(VX_NOT_FOUND, place == 1 ? nullptr : "a", place == 2 ? nullptr : "{}",
                                        place == 3 ? nullptr : "{}");
    EXPECT_EQ(vx_status_code(status), parameter == "message" ? VX_INVALID_ARGUMENT : VX_NOT_FOUND);
    EXPECT_STREQ(vx_status_message(status),
                 parameter == "message" ? "vx_status_create: argument 'message' is a null pointer" : "a");
    vx_status_release(status);
  });
  checkQuiet("vx_status_release", 1, [](size_t) { vx_status_release(nullptr); });
  checkQuiet("vx_host_free", 1, [](size_t) { vx_host_free(nullptr); });
  checkQuiet("vx_string_release", 1, [](size_t) { vx_string_release(nullptr); });
  checkQuiet("vx_version", declared.at("vx_version").size(), [](size_t) {});
  checkQuiet("vx_element_type_name", 1, [](size_t) {});
  checkQuiet("vx_element_type_bits", 1, [](size_t) {});
  checkQuiet("vx_module_retain", 1, [](size_t) { vx_module_retain(nullptr); });
  checkQuiet("vx_module_release", 1, [](size_t) { vx_module_release(nullptr); });
  checkQuiet("vx_module_functions", 2, [this](size_t place) {
    size_t count = 7;
    const vx_function_info *table = place ? vx_module_functions(module, nullptr) : vx_module_functions(nullptr, &count);
    EXPECT_EQ(table == nullptr, place == 0);
    EXPECT_EQ(count, place ? 7u : 0u);
  });
  checkQuiet("vx_module_variables", 2, [this](size_t place) {
    size_t count = 7;
    const vx_variable_info *table = place ? vx_module_variables(module, nullptr) : vx_module_variables(nullptr, &count);
    EXPECT_EQ(table == nullptr, place == 0);
    EXPECT_EQ(count, place ? 7u : 0u);
  });
  checkQuiet("vx_variable_role_name", 1, [](size_t) {});
  checkQuiet("vx_module_symbols", 2, [this](size_t place) {
    size_t count = 7;
    const vx_symbol_info *table = place ? vx_module_symbols(module, nullptr) : vx_module_symbols(nullptr, &count);
    EXPECT_EQ(table, nullptr); // the module has none
    EXPECT_EQ(count, place ? 7u : 0u);
  });
  checkQuiet("vx_module_assets", 2, [this](size_t place) {
    size_t count = 7;
    EXPECT_EQ(place ? vx_module_assets(module, nullptr) : vx_module_assets(nullptr, &count), nullptr);
    EXPECT_EQ(count, place ? 7u : 0u); // the module has none
  });
  checkQuiet("vx_module_constants", 2, [this](size_t place) {
    size_t count = 7;
    EXPECT_EQ(place ? vx_module_constants(module, nullptr) : vx_module_constants(nullptr, &count), nullptr);
    EXPECT_EQ(count, place ? 7u : 0u); // the module has none
  });
  checkQuiet("vx_module_training", 1, [](size_t) { EXPECT_EQ(vx_module_training(nullptr), nullptr); });
  checkQuiet("vx_module_aliases", 3, [this](size_t place) {
    size_t count = 7;
    EXPECT_EQ(place ? vx_module_aliases(module, 0, nullptr) : vx_module_aliases(nullptr, 0, &count), nullptr);
    EXPECT_EQ(count, place ? 7u : 0u);
  });
  checkQuiet("vx_module_batch", 2, [this](size_t place) {
    EXPECT_EQ(place ? vx_module_batch(module, 99) : vx_module_batch(nullptr, 0), nullptr);
  });
  checkQuiet("vx_module_has_loops", 2, [this](size_t place) {
    EXPECT_EQ(place ? vx_module_has_loops(module, 99) : vx_module_has_loops(nullptr, 0), 0);
  });
  checkQuiet("vx_instance_variables", 2, [this](size_t place) {
    size_t count = 7;
    const vx_variable_info *table =
        place ? vx_instance_variables(instance, nullptr) : vx_instance_variables(nullptr, &count);
    EXPECT_EQ(table == nullptr, place == 0);
    EXPECT_EQ(count, place ? 7u : 0u);
  });
  checkQuiet("vx_instance_retain", 1, [](size_t) { vx_instance_retain(nullptr); });
  checkQuiet("vx_instance_release", 1, [](size_t) { vx_instance_release(nullptr); });
  checkQuiet("vx_value_retain", 1, [](size_t) { vx_value_retain(nullptr); });
  checkQuiet("vx_value_release", 1, [](size_t) { vx_value_release(nullptr); });
  checkQuiet("vx_value_get_info", 1, [](size_t) { EXPECT_EQ(vx_value_get_info(nullptr).dims, nullptr); });
  checkQuiet("vx_value_device", 1, [](size_t) { EXPECT_EQ(vx_value_device(nullptr), nullptr); });
  checkQuiet("vx_set_log", 3, [](size_t) { vx_set_log(nullptr, nullptr, VX_LOG_INFO); });
  checkQuiet("vx_call_retain", 1, [](size_t) { vx_call_retain(nullptr); });
  checkQuiet("vx_call_release", 1, [](size_t) { vx_call_release(nullptr); });
  checkQuiet("vx_call_set_profile", 2, [](size_t) { vx_call_set_profile(nullptr, 1); });
  checkQuiet("vx_call_set_observer", 3,
             [this](size_t place) { vx_call_set_observer(place ? call : nullptr, nullptr, nullptr); });

  // Each of the functions with a status that takes an object.
  EXPECT_EQ(releasedCount, knowsReleased ? 35u : 0u);
  EXPECT_GT(declared.size(), 35u);
  for (const auto &[name, parameters] : declared)
    EXPECT_TRUE(visited.count(name)) << name << " is declared and not called here";
}

// Functions without a status do as for NULL, and tell the log where something is changed.
TEST_F(NullArguments, areQuietWhereReleased) {
  if (!knowsReleased)
    GTEST_SKIP() << "the address sanitizer finds it";
  std::vector<std::string> told;
  vx_set_log([](void *user, vx_log_level,
                const char *message) { static_cast<std::vector<std::string> *>(user)->push_back(message); },
             &told, VX_LOG_ERROR);
  size_t count = 7;
  EXPECT_EQ(vx_module_functions(released.module, &count), nullptr);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(vx_module_variables(released.module, nullptr), nullptr);
  EXPECT_EQ(vx_module_symbols(released.module, nullptr), nullptr);
  EXPECT_EQ(vx_module_assets(released.module, nullptr), nullptr);
  EXPECT_EQ(vx_module_constants(released.module, nullptr), nullptr);
  EXPECT_EQ(vx_module_training(released.module), nullptr);
  EXPECT_EQ(vx_module_aliases(released.module, 0, nullptr), nullptr);
  EXPECT_EQ(vx_module_batch(released.module, 0), nullptr);
  EXPECT_EQ(vx_module_has_loops(released.module, 0), 0);
  EXPECT_EQ(vx_instance_variables(released.instance, nullptr), nullptr);
  EXPECT_EQ(vx_value_get_info(released.value).dims, nullptr);
  EXPECT_EQ(vx_value_device(released.value), nullptr);
  vx_call_cancel(released.pending);
  EXPECT_TRUE(told.empty()) << told[0];
  vx_call_set_profile(released.call, 1);
  vx_call_set_observer(released.call, nullptr, nullptr);
  vx_module_release(released.module);
  vx_instance_release(released.instance);
  vx_call_release(released.call);
  vx_value_release(released.value);
  vx_pending_release(released.pending);
  vx_module_retain(released.module);
  vx_instance_retain(released.instance);
  vx_call_retain(released.call);
  vx_value_retain(released.value);
  vx_pending_retain(released.pending);
  vx_set_log(nullptr, nullptr, VX_LOG_INFO);
  ASSERT_EQ(told.size(), 12u);
  EXPECT_EQ(told[0], "vx_call_set_profile: argument 'call' has been released");
  EXPECT_EQ(told[5], "vx_value_release: the object has been released before");
  EXPECT_EQ(told[10], "vx_value_retain: the object has been released before");
}

// Arrays of objects, and objects within structs.
TEST_F(NullArguments, areFoundInArraysWhereReleased) {
  if (!knowsReleased)
    GTEST_SKIP() << "the address sanitizer finds it";
  auto expect = [](vx_status status, const char *message) {
    EXPECT_EQ(vx_status_code(status), VX_INVALID_ARGUMENT);
    EXPECT_STREQ(vx_status_message(status), message);
    vx_status_release(status);
  };
  expect(vx_call_run(call, 1, &released.value, 1, &madeValue), "vx_call_run: argument 'inputs[0]' has been released");
  expect(vx_instance_call(instance, nullptr, 1, &released.value, 1, &madeValue),
         "vx_instance_call: argument 'inputs[0]' has been released");
  expect(vx_try_with_fallback(&instance, nullptr, 1, &released.value, 1, &madeValue),
         "vx_try_with_fallback: argument 'inputs[0]' has been released");
  vx_instance *noInstance = nullptr;
  expect(vx_try_with_fallback(&noInstance, nullptr, 1, &released.value, 1, &madeValue),
         "vx_try_with_fallback: argument '*instance' is a null pointer");
  expect(vx_call_submit(call, 1, &released.value, nullptr, &madePending),
         "vx_call_submit: argument 'inputs[0]' has been released");
  const vx_result_place places[] = {{nullptr, 0, released.value}};
  expect(vx_call_run_into(call, 1, &x, 1, places, &madeValue),
         "vx_call_run_into: argument 'places[0].value' has been released");
  vx_value *const elements[] = {x, released.value};
  expect(vx_sequence_create(VX_I32, 2, elements, &madeValue),
         "vx_sequence_create: argument 'elements[1]' has been released");
  const char *const names[] = {"total"};
  expect(vx_instance_write_variables(instance, 1, names, &released.value),
         "vx_instance_write_variables: argument 'values[0]' has been released");
  vx_instance_options options = {};
  options.struct_size = sizeof(options);
  options.share = released.instance;
  expect(vx_instance_create(module, &options, &madeInstance),
         "vx_instance_create: argument 'options.share' has been released");
}
