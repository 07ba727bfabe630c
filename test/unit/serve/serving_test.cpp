// What the keys of the configuration come to.
#include "serving.h"

#include "../base/scratch_folder.h"
#include "configuration_keys.h"

#include <gtest/gtest.h>

#include <set>

namespace vx::serve {
namespace {

class ServingTest : public test::ScratchFolder {
protected:
  // Of the one model, by a configuration that has so much more in [vx], [vx.server.limits] and the model's table.
  ModelSettings settings(const std::string &general, const std::string &limits, const std::string &model) {
    std::filesystem::create_directories(folder / "models");
    for (const char *name : {"models/a.vxm", "b.vxm"})
      put(at(name), "VXMODULE");
    const bool isNamed = model.starts_with("name") || model.starts_with("path");
    put(at("config.toml"), "[vx]\nmodel_dir = \"models\"\n" + general + "\n[vx.server.limits]\n" + limits +
                               "\n[[vx.server.model]]\n" + (isNamed ? "" : "name = \"a\"\n") + model + "\n");
    const ConfigurationReading reading =
        readConfiguration({{}, at("config.toml"), std::vector<std::string>{"HOME=" + folder.string()}});
    EXPECT_TRUE(reading.configuration) << (reading.configuration ? "" : reading.firstError()->line());
    const Serving serving(reading.configuration.value_or(Configuration()), {}, {});
    const std::vector<ModelTable::Entry> entries = serving.entries();
    EXPECT_EQ(entries.empty(), false) << model;
    // A model that is named by its path stands beside the one of the folder.
    for (const ModelTable::Entry &entry : entries)
      if (entry.settings.name != "a")
        return entry.settings;
    return entries.empty() ? ModelSettings() : entries.front().settings;
  }
  // As one text, to see what differs.
  static std::string describe(const ModelSettings &settings) {
    return fmt::format(
        "name={} path={} aliases={} device={} devices={} order={} no_fallback={} threads={} queue={} rows={} "
        "tokens={} timeout={} call_memory={}%+{} deterministic={} load={} stateful={}",
        settings.name, std::filesystem::path(settings.path).filename().string(), fmt::join(settings.aliases, ","),
        settings.instance.device, fmt::join(settings.devices, ","), settings.instance.deviceOrder,
        settings.instance.noFallback, settings.instance.threads, settings.limits.queue, settings.limits.rows,
        settings.limits.tokens, settings.limits.timeout.count(), settings.callMemory.percent, settings.callMemory.bytes,
        settings.deterministic, static_cast<int>(settings.load), fmt::join(settings.stateful, ","));
  }
  static std::string differences(const ModelSettings &before, const ModelSettings &after) {
    std::istringstream a(describe(before)), b(describe(after));
    std::string text;
    for (std::string one, other; a >> one && b >> other;)
      if (one != other)
        text += (text.empty() ? "" : " ") + other;
    return text;
  }
};

// Each of a model's keys changes what it says, and nothing else.
TEST_F(ServingTest, everyKeyOfAModelHolds) {
  struct Row {
    const char *key, *value, *changes;
  };
  static constexpr Row rows[] = {
      {"name", "\"A\"", "name=A aliases=a"},
      {"path", "\"b.vxm\"", "name=b path=b.vxm"},
      {"alias", "[\"x\", \"y\"]", "aliases=x,y"},
      {"device", "{ cpu = { num_threads = 3 } }", "device=cpu threads=3"},
      {"devices", "[\"cuda:1\", \"cpu\"]", "devices=cuda:1,cpu"},
      {"fallback", "false", "no_fallback=true"},
      {"batch_size", "7", "rows=7"},
      {"batch_tokens", "77", "tokens=77"},
      {"batch_timeout_ms", "777", "timeout=777"},
      {"call_memory", "\"3GiB\"", "call_memory=0%+3221225472"},
      {"deterministic", "true", "deterministic=true"},
      {"preload", "false", "load=2"},
      {"load", "\"lazy\"", "load=1"},
      {"stateful", "[\"f\"]", "stateful=f"},
  };
  const ModelSettings standard = settings("", "", "");
  std::set<std::string_view> seen;
  for (const auto &[key, value, changes] : rows) {
    seen.insert(key);
    EXPECT_EQ(differences(standard, settings("", "", fmt::format("{} = {}", key, value))), changes) << key;
  }
  for (const ModelKey &key : modelKeys())
    EXPECT_EQ(seen.contains(key.name), key.effect != Effect::none) << key.name;
}

// What a model does not say is as the tables above it have it, and what it says goes before.
TEST_F(ServingTest, modelsInheritWhatTheyDoNotSay) {
  const ModelSettings standard = settings("", "", "");
  EXPECT_EQ(differences(standard, settings("default_backend = \"vulkan:1\"", "", "")), "device=vulkan:1");
  EXPECT_EQ(differences(standard, settings("fallback = false", "", "")), "no_fallback=true");
  EXPECT_EQ(differences(standard, settings("load = \"lazy\"", "", "")), "load=1");
  EXPECT_EQ(differences(standard, settings("load = \"lazy\"", "", "load = \"admin\"")), "load=2");
  EXPECT_EQ(differences(standard, settings("load = \"lazy\"", "", "preload = false")), "load=2");
  EXPECT_EQ(differences(standard, settings("load = \"lazy\"", "", "preload = true")), "load=1");
  EXPECT_EQ(differences(standard, settings("", "", "preload = false\nload = \"lazy\"")), "load=1");
  EXPECT_EQ(differences(standard, settings("devices = \"all\"", "", "")), "devices=all");
  EXPECT_EQ(differences(standard, settings("devices = \"all\"\ndefault_backend = \"vulkan\"", "", "")),
            "device=vulkan devices=all");
  EXPECT_EQ(differences(standard, settings("devices = \"all\"", "", "device = \"vulkan:2\"")), "device=vulkan:2");
  EXPECT_EQ(differences(standard, settings("devices = \"all\"", "", "device = \"vulkan\"\ndevices = \"all\"")),
            "device=vulkan devices=all");
  EXPECT_EQ(differences(standard, settings("devices = \"all\"", "", "devices = [\"cpu\"]")), "devices=cpu");
  EXPECT_EQ(differences(standard, settings("order = \"cpu,cuda\"", "", "")), "order=cpu,cuda");
  EXPECT_EQ(differences(standard, settings("", "queue = 3", "")), "queue=3");
  EXPECT_EQ(differences(standard, settings("", "batch_size = 7\nbatch_tokens = 77\nbatch_timeout_ms = 777", "")),
            "rows=7 tokens=77 timeout=777");
  EXPECT_EQ(differences(standard, settings("", "call_memory = \"7%\"", "")), "call_memory=7%+0");
  EXPECT_EQ(differences(standard, settings("default_backend = \"vulkan:1\"\nfallback = false",
                                           "batch_size = 7\nbatch_tokens = 77\nbatch_timeout_ms = 777",
                                           "device = \"auto\"\nfallback = true\nbatch_size = 32\n"
                                           "batch_tokens = 16384\nbatch_timeout_ms = 5")),
            "");
}

} // namespace
} // namespace vx::serve
