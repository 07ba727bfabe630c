#include "configuration.h"

#include "../base/scratch_folder.h"
#include "configuration_keys.h"
#include "configuration_values.h"
#include "known_variables.h"

#include <gtest/gtest.h>

#include <set>

#include <sys/stat.h>

namespace vx::serve {
namespace {

using Lines = std::vector<std::string>;

class ConfigurationTest : public test::ScratchFolder {
protected:
  ConfigurationReading read(const std::string &text, std::vector<FlagValue> flags = {},
                            std::vector<std::string> environment = {}) {
    put(at("config.toml"), text);
    environment.insert(environment.begin(), "HOME=/home/a");
    return readConfiguration({std::move(flags), at("config.toml"), std::move(environment)});
  }
  // What is said, without the folder.
  Lines lines(const ConfigurationReading &reading) const {
    Lines result;
    for (const ConfigurationMessage &message : reading.messages) {
      std::string line = message.line();
      for (size_t begin = 0; (begin = line.find(folder.string() + "/")) != std::string::npos;)
        line.erase(begin, folder.string().size() + 1);
      result.push_back(line);
    }
    return result;
  }
  Lines mistakes(const std::string &text) { return lines(read(text)); }
};

TEST_F(ConfigurationTest, defaults) {
  const ConfigurationReading reading = read("");
  ASSERT_TRUE(reading.configuration) << lines(reading).at(0);
  const Configuration &configuration = *reading.configuration;
  EXPECT_EQ(*configuration.server.port, 8080u);
  EXPECT_EQ(*configuration.modelDir, "/home/a/models");
  EXPECT_EQ(*configuration.cacheDir, "/home/a/.cache/vx");
  EXPECT_EQ(configuration.server.port.origin.text(), "default");
  EXPECT_EQ(configuration.server.requestLimit->bytes, 8u << 20);
  EXPECT_FALSE(configuration.onlyModels);
  EXPECT_EQ(lines(reading), Lines{});
}

// Flag over environment over file over default, each with its origin.
TEST_F(ConfigurationTest, orderAndOrigins) {
  const ConfigurationReading reading =
      read("[vx.server]\nport = 1\ndrain_s = 1\nthreads = 7\n[vx.server.limits]\nqueue = 9\n",
           {{"--port", "3"}, {"--model", "digits"}, {"--no-fallback", ""}},
           {"VX_SERVER__PORT=2", "VX_SERVER__DRAIN_S=2", "VX_DEVICE_ORDER=vulkan,cpu", "VX_SERVER__MODEL=other"});
  ASSERT_TRUE(reading.configuration) << lines(reading).at(0);
  const Configuration &configuration = *reading.configuration;
  EXPECT_EQ(*configuration.server.port, 3u);
  EXPECT_EQ(configuration.server.port.origin.text(), "--port");
  EXPECT_EQ(*configuration.server.drainS, 2u);
  EXPECT_EQ(configuration.server.drainS.origin.text(), "VX_SERVER__DRAIN_S");
  EXPECT_EQ(*configuration.server.threads, 7u);
  EXPECT_EQ(configuration.server.threads.origin.text(), at("config.toml") + ":4:11");
  EXPECT_EQ(*configuration.order, "vulkan,cpu");
  EXPECT_FALSE(*configuration.fallback);
  ASSERT_EQ(configuration.models.size(), 1u);
  EXPECT_EQ(*configuration.models[0].name, "digits");
  EXPECT_FALSE(*configuration.models[0].fallback);
  EXPECT_TRUE(configuration.onlyModels);
}

TEST_F(ConfigurationTest, allMistakesAtOnce) {
  EXPECT_EQ(
      mistakes("# 1\n"
               "[vx]\n"
               "version = 2\n"
               "modeldir = \"x\"\n"
               "order = \"vulcan\"\n"
               "[vx.server]\n"
               "prot = 9000\n"
               "port = 65536\n"
               "request_limit = \"8MB\"\n"
               "log = \"loud\"\n"
               "[vx.server.limits]\n"
               "queue = -4\n"
               "per_key = \"60 a minute\"\n"
               "per_keys.x = 1\n"
               "[[vx.server.model]]\n"
               "kv_memory = \"101%\"\n"
               "alias = [\"a\", 4]\n"
               "[vx.benchmark]\n"),
      (Lines{
          "config.toml:3:11: error: [vx] 'version': expected 1, got 2",
          "config.toml:4:1: error: [vx] 'modeldir' is not a key, did you mean 'model_dir'",
          "config.toml:5:9: error: [vx] 'order': expected backends of cuda, rocm, vulkan and cpu between commas, got "
          "'vulcan' in 'vulcan', did you mean 'vulkan'",
          "config.toml:7:1: error: [vx.server] 'prot' is not a key, did you mean 'port'",
          "config.toml:8:8: error: [vx.server] 'port': expected 0 to 65535, got 65536",
          "config.toml:9:17: error: [vx.server] 'request_limit': expected a number of bytes, e.g. 4096 or \"8MiB\", "
          "got "
          "'8MB'",
          "config.toml:10:7: error: [vx.server] 'log': expected error, warning, info or debug, got 'loud'",
          "config.toml:12:9: error: [vx.server.limits] 'queue': expected 1 to 65536, got -4",
          "config.toml:13:11: error: [vx.server.limits] 'per_key': expected a rate, e.g. \"60/min\", by s, min, h or "
          "day, or \"0\" for none, got '60 a minute'",
          "config.toml:14:1: error: [vx.server.limits] 'per_keys' is not a key, did you mean 'per_key'",
          "config.toml:15:1: error: [vx.server.model] needs a 'name' or a 'path', got neither",
          "config.toml:16:13: error: [vx.server.model] 'kv_memory': expected \"1%\" to \"100%\", or a number of bytes, "
          "e.g. \"2GiB\", got '101%'",
          "config.toml:17:9: error: [vx.server.model] 'alias': expected a list of texts, got 4",
          "config.toml:18:5: error: [vx] 'benchmark' is not a key, did you mean 'benchmarks'"}));
}

// A line that is no TOML hides no mistake of the others.
TEST_F(ConfigurationTest, syntax) {
  const Lines said = mistakes("[vx.server]\nport = 80 80\nlog = \"info\"\nhost == 1\n\nqueue = 1\n");
  ASSERT_EQ(said.size(), 3u) << testing::PrintToString(said);
  EXPECT_TRUE(said[0].starts_with("config.toml:2:11: error: ")) << said[0];
  EXPECT_TRUE(said[1].starts_with("config.toml:4:7: error: ")) << said[1];
  EXPECT_EQ(said[2], "config.toml:6:1: error: [vx.server] 'queue' is not a key");
  // An open list makes one mistake, not one a line, and a table without its name none of its keys.
  EXPECT_EQ(mistakes("[vx.server]\ncors = [\nport = 1\nhost = 2\nlog = 3\n").size(), 1u);
  EXPECT_EQ(mistakes("[vx.server\nport = 1\nprot = 2\n").size(), 1u);
  EXPECT_EQ(mistakes("[vx.server]\nport = 1\nport = 2\n").size(), 1u);
  // Letters of no language stand outside of strings and comments, whatever the parser's tables make of them.
  const Lines foreign =
      mistakes("# \u00e4\n[vx.server]\nlog = \"info\" # \u00e4\n\u00e4 = 1\nprot = 1\nport = \u00a01\n");
  ASSERT_EQ(foreign.size(), 3u) << testing::PrintToString(foreign);
  EXPECT_TRUE(foreign[0].starts_with("config.toml:4:1: error: ") && foreign[0].ends_with("'\u00e4'")) << foreign[0];
  EXPECT_EQ(foreign[1], "config.toml:5:1: error: [vx.server] 'prot' is not a key, did you mean 'port'");
  EXPECT_TRUE(foreign[2].starts_with("config.toml:6:8: error: ") && foreign[2].ends_with("'\\u00A0'")) << foreign[2];
  EXPECT_EQ(*read("[vx]\nmodel_dir = \"\"\"/\u00e4\\\"\"\"\"\"\n[vx.server]\nlog = 'info'\n").configuration->modelDir,
            "/\u00e4\"\"");
  EXPECT_EQ(mistakes("[}vx]\n").size(), 1u); // which the parser asserts not to be
  EXPECT_EQ(mistakes("[vx.server]\nlog = \"\xff\"\n").size(), 1u);
}

TEST_F(ConfigurationTest, tablesAndKinds) {
  EXPECT_EQ(mistakes("vx = 4\n"), Lines{"config.toml:1:1: error: 'vx': expected a table, got 4"});
  EXPECT_EQ(mistakes("[vx]\nserver = true\n"),
            Lines{"config.toml:2:10: error: [vx] 'server': expected a table, got true"});
  EXPECT_EQ(
      mistakes("[vx.server.model]\nname = \"a\"\n"),
      Lines{"config.toml:1:12: error: [vx.server] 'model': expected tables, each begun by [[vx.server.model]], got "
            "a table"});
  EXPECT_EQ(mistakes("[server]\nport = 1\n[others]\nport = \"x\"\n"),
            Lines{"config.toml:1:2: warning: [server] is not read, did you mean [vx.server]"});
  EXPECT_EQ(mistakes("[vx.server]\nport = \"8080\"\n"),
            Lines{"config.toml:2:8: error: [vx.server] 'port': expected 0 to 65535, got '8080'"});
  EXPECT_EQ(mistakes("[vx]\nfallback = \"yes\"\nmodel_dir = 1979-05-27\n"),
            (Lines{"config.toml:2:12: error: [vx] 'fallback': expected true or false, got 'yes'",
                   "config.toml:3:13: error: [vx] 'model_dir': expected a path, got a date or time"}));
  EXPECT_EQ(mistakes("[vx]\nmodel_dir = \"~b/x\"\n"),
            Lines{"config.toml:2:13: error: [vx] 'model_dir': expected a path without the name of a user, got '~b/x'"});
}

TEST_F(ConfigurationTest, devices) {
  const auto device = [&](const std::string &value) {
    const ConfigurationReading reading = read("[vx]\ndefault_backend = " + value + "\n");
    return reading.configuration
               ? valueText(SettingRef(const_cast<Setting<DeviceWish> *>(&reading.configuration->defaultBackend)))
               : lines(reading).at(0);
  };
  EXPECT_EQ(device("\"vulkan:1\""), "\"vulkan:1\"");
  EXPECT_EQ(device("{ vulkan = { device_id = 0 } }"), "\"vulkan:0\"");
  EXPECT_EQ(device("{ cpu = { num_threads = 8 } }"), "{ cpu = { num_threads = 8 } }");
  const std::string at = "config.toml:2:19: error: [vx] 'default_backend': ";
  EXPECT_EQ(device("\"gpu\""), at + "expected auto, cpu, vulkan[:N], cuda[:N], rocm[:N] or null, got 'gpu'");
  EXPECT_EQ(device("\"cpu:1\""), at + "expected auto, cpu, vulkan[:N], cuda[:N], rocm[:N] or null, got 'cpu:1'");
  EXPECT_EQ(device("{ cuda = { device = 0 } }"), at + "'device' is not a key of 'cuda', expected 'device_id'");
  EXPECT_EQ(device("{ vulcan = { device_id = 0 } }"),
            at + "expected a backend of cuda, rocm, vulkan and cpu, got 'vulcan', did you mean 'vulkan'");
  EXPECT_EQ(device("{ cpu = { num_threads = -1 } }"), at + "'num_threads': expected 0 to 4096, got -1");
  EXPECT_EQ(device("{}"), at + "expected one backend in the table, got 0");
}

TEST_F(ConfigurationTest, flagsAndVariables) {
  EXPECT_EQ(lines(read("", {{"--port", "x"}}, {"VX_SERVER__LIMITS__QUEUE=0", "VX_SERVR__PORT=1", "VX_CHECK_ARENA=1"})),
            (Lines{"VX_SERVER__LIMITS__QUEUE: error: expected 1 to 65536, got '0'",
                   "VX_SERVR__PORT: warning: is not read, did you mean 'VX_SERVER__PORT'",
                   "--port: error: expected 0 to 65535, got 'x'"}));
  // One that is empty is not set, as the runtime has it.
  EXPECT_TRUE(read("", {}, {"VX_SERVER__PORT="}).configuration);
  EXPECT_EQ(*read("", {}, {"VX_CACHE=/c", "XDG_CACHE_HOME=/d"}).configuration->cacheDir, "/c");
  EXPECT_EQ(*read("", {}, {"XDG_CACHE_HOME=/d"}).configuration->cacheDir, "/d/vx");
}

// Others that the runtime and the tools read are known, and nothing else is.
TEST_F(ConfigurationTest, otherVariables) {
  std::set<std::string> found;
  const std::filesystem::path root(VX_SOURCE_FOLDER);
  for (const char *part : {"runtime/lib", "tools", "base/lib", "compiler/lib", "frontends/lib", "python/vx"})
    for (const auto &entry : std::filesystem::recursive_directory_iterator(root / part)) {
      const std::string extension = entry.path().extension().string();
      if ((extension != ".cpp" && extension != ".h" && extension != ".py") ||
          (entry.path().string().find("/lib/serve/") != std::string::npos && entry.path().stem() != "grpc_library"))
        continue;
      const std::string text = contents(entry.path().string());
      for (size_t quote = 0; (quote = text.find("\"VX_", quote)) != std::string::npos;) {
        const size_t end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", ++quote);
        if (end != std::string::npos && text[end] == '"')
          found.insert(text.substr(quote, end - quote));
      }
    }
  std::set<std::string> known(otherVariables().begin(), otherVariables().end());
  for (const ConfigurationKey &key : configurationKeys())
    if (found.contains(key.variable()))
      known.insert(key.variable());
  EXPECT_EQ(found, known);
}

TEST_F(ConfigurationTest, places) {
  const auto fileOf = [&](std::vector<std::string> environment) {
    const ConfigurationReading reading = readConfiguration({{}, std::nullopt, std::move(environment)});
    return reading.configuration ? reading.file : lines(reading).at(0);
  };
  std::filesystem::create_directories(folder / "xdg/vx");
  std::filesystem::create_directories(folder / "home/.config/vx");
  put(at("xdg/vx/config.toml"), "");
  put(at("home/.config/vx/config.toml"), "");
  EXPECT_EQ(fileOf({"VX_CONFIG=" + at("none.toml"), "XDG_CONFIG_HOME=" + at("xdg")}),
            "VX_CONFIG: error: 'none.toml' cannot be opened: No such file or directory");
  EXPECT_EQ(fileOf({"XDG_CONFIG_HOME=" + at("xdg"), "HOME=" + at("home")}), at("xdg/vx/config.toml"));
  EXPECT_EQ(fileOf({"HOME=" + at("home")}), at("home/.config/vx/config.toml"));
  EXPECT_EQ(lines(readConfiguration({{}, at("none.toml"), std::vector<std::string>{}})),
            Lines{"--config: error: 'none.toml' cannot be opened: No such file or directory"});
  EXPECT_EQ(lines(readConfiguration({{}, folder.string(), std::vector<std::string>{}})).at(0),
            "--config: error: '" + folder.string() + "' is a folder, expected a regular file");
  put(at("big.toml"), std::string((1 << 20) + 1, '\n'));
  EXPECT_EQ(lines(readConfiguration({{}, at("big.toml"), std::vector<std::string>{}})),
            Lines{"big.toml: error: expected at most 1048576 bytes, got more"});
  ASSERT_EQ(::chmod(at("xdg/vx/config.toml").c_str(), 0666), 0);
  EXPECT_EQ(lines(readConfiguration({{}, at("xdg/vx/config.toml"), std::vector<std::string>{}})),
            Lines{"xdg/vx/config.toml: warning: everybody may write this file, and the programs that it names are run: "
                  "let only its "
                  "owner write it"});
}

TEST_F(ConfigurationTest, togetherWithOthers) {
  EXPECT_EQ(mistakes("[vx.server]\nhost = \"0.0.0.0\"\n"),
            Lines{"config.toml:2:8: error: [vx.server] 'host': others reach '0.0.0.0', and there are no keys: give "
                  "'api_keys_file' or --no-auth"});
  EXPECT_TRUE(read("[vx.server]\nhost = \"0.0.0.0\"\n", {{"--no-auth", ""}}).configuration);
  EXPECT_TRUE(read("[vx.server]\nhost = \"::1\"\n").configuration);
  EXPECT_EQ(lines(read("", {{"--host", "192.168.1.2"}})),
            Lines{"--host: error: [vx.server] 'host': others reach '192.168.1.2', and there are no keys: give "
                  "'api_keys_file' or --no-auth"});
  EXPECT_EQ(
      mistakes("[vx.server]\ncors = [\"*\"]\napi_keys_file = \"keys\"\n"),
      Lines{"config.toml:2:8: error: [vx.server] 'cors': '*' lets every web page send requests, and there are keys: "
            "list the "
            "origins that may"});
  EXPECT_EQ(mistakes("[vx.server]\ntls_cert = \"c\"\n"),
            Lines{"config.toml:2:12: error: [vx.server] 'tls_cert' and 'tls_key' go together, got 'tls_cert' alone"});
  EXPECT_EQ(mistakes("[[vx.server.model]]\nname = \"a\"\n[[vx.server.model]]\nname = \"b\"\nalias = [\"a\"]\n"),
            Lines{"config.toml:5:9: error: [vx.server.model] 'a' is given twice, first at config.toml:2:8"});
  EXPECT_EQ(
      mistakes("[[vx.server.model]]\nname = \"../a\"\n"),
      Lines{"config.toml:2:8: error: [vx.server.model] 'name': expected a name of letters, digits and ._:/+@- without "
            "'..', got '../a'"});
  EXPECT_EQ(mistakes("[[vx.server.model]]\nname = \"a\"\ncontext = 4\n"),
            Lines{"config.toml:3:1: warning: [vx.server.model] 'context' has no effect in this version"});
}

TEST_F(ConfigurationTest, loopback) {
  for (const char *host : {"127.0.0.1", "127.9.9.9", "::1", "localhost", "::ffff:127.0.0.1"})
    EXPECT_TRUE(isLoopback(host)) << host;
  for (const char *host : {"0.0.0.0", "::", "10.0.0.1", "example.org", "127.0.0.1.example.org", "::ffff:10.0.0.1", ""})
    EXPECT_FALSE(isLoopback(host)) << host;
}

TEST_F(ConfigurationTest, modelsOfFlags) {
  const std::string text = "[vx]\ndefault_backend = \"vulkan\"\n[vx.server.limits]\nbatch_size = 4\n"
                           "[[vx.server.model]]\npath = \"m/digits.vxm\"\nalias = [\"numbers\"]\nbatch_size = 2\n"
                           "[[vx.server.model]]\nname = \"b\"\n";
  const ConfigurationReading all = read(text);
  ASSERT_TRUE(all.configuration) << lines(all).at(0);
  ASSERT_EQ(all.configuration->models.size(), 2u);
  EXPECT_EQ(*all.configuration->models[0].name, "digits");
  EXPECT_EQ(*all.configuration->models[0].path, at("m/digits.vxm")); // beside the file
  EXPECT_EQ(*all.configuration->models[0].batchSize, 2u);
  EXPECT_EQ(*all.configuration->models[1].batchSize, 4u);
  EXPECT_EQ(all.configuration->models[1].device->device, "vulkan");
  const ConfigurationReading chosen =
      read(text, {{"--model", "numbers"}, {"--model", "/x/y.vxm"}, {"--model", "org/z"}});
  ASSERT_TRUE(chosen.configuration) << lines(chosen).at(0);
  ASSERT_EQ(chosen.configuration->models.size(), 3u);
  EXPECT_EQ(*chosen.configuration->models[0].batchSize, 2u);
  EXPECT_EQ(*chosen.configuration->models[1].name, "y");
  EXPECT_EQ(*chosen.configuration->models[1].path, "/x/y.vxm");
  EXPECT_EQ(*chosen.configuration->models[2].name, "org/z");
  EXPECT_EQ(*chosen.configuration->models[2].path, "");
  EXPECT_EQ(lines(read("", {{"--model", "a b"}})),
            Lines{"--model: error: expected a name of letters, digits and ._:/+@- without '..', got 'a b'"});
}

// A name and a path in one word; what the file says of the name holds, but for its path.
TEST_F(ConfigurationTest, modelsByNameAndPath) {
  const std::string text = "[[vx.server.model]]\nname = \"digits\"\npath = \"m/digits.vxm\"\nalias = [\"numbers\"]\n"
                           "batch_size = 2\n";
  const auto models = [&](std::vector<FlagValue> flags, std::vector<std::string> environment = {}) {
    const ConfigurationReading reading = read(text, std::move(flags), std::move(environment));
    Lines result = lines(reading);
    if (reading.configuration)
      for (const ModelConfiguration &model : reading.configuration->models)
        result.push_back(*model.name + " " + *model.path + " " + std::to_string(*model.batchSize) + " " +
                         model.path.origin.text());
    return result;
  };
  EXPECT_EQ(models({{"--model", "digits=/mnt/models"}}), Lines{"digits /mnt/models 2 --model"});
  EXPECT_EQ(models({{"--model", "other=/mnt/a=b"}, {"--model", "org/x=~/y"}}),
            (Lines{"other /mnt/a=b 32 --model", "org/x /home/a/y 32 --model"}));
  EXPECT_EQ(models({{"--model", "numbers=/n"}}), Lines{"numbers /n 32 --model"}); // an alias is not the model's name
  EXPECT_EQ(models({}, {"VX_SERVER__MODEL=a=/mnt/a,b=/mnt/b.vxm,digits"}),
            (Lines{"a /mnt/a 32 VX_SERVER__MODEL", "b /mnt/b.vxm 32 VX_SERVER__MODEL",
                   "digits " + at("m/digits.vxm") + " 2 " + at("config.toml") + ":3:8"}));
  EXPECT_EQ(models({{"--model", "/x/a=b.vxm"}}).size(), 1u); // a path, whose name is none
  EXPECT_EQ(models({{"--model", "digits="}}), Lines{"--model: error: expected a path, got ''"});
  EXPECT_EQ(models({{"--model", "=/mnt"}}),
            Lines{"--model: error: expected a name of letters, digits and ._:/+@- without '..', got ''"});
  EXPECT_EQ(models({{"--model", "a b=/mnt"}}),
            Lines{"--model: error: expected a name of letters, digits and ._:/+@- without '..', got 'a b'"});
  EXPECT_EQ(models({{"--model", "a=/x"}, {"--model", "a=/y"}}),
            Lines{"--model: error: [vx.server.model] 'a' is given twice, first at --model"});
}

// A service's keys are used where nothing else names a file, and only where they are there.
TEST_F(ConfigurationTest, credentials) {
  const std::string variable = "CREDENTIALS_DIRECTORY=" + folder.string();
  EXPECT_EQ(*read("", {}, {variable}).configuration->server.apiKeysFile, "");
  put(at("keys"), "x");
  const Configuration found = *read("", {}, {variable}).configuration;
  EXPECT_EQ(*found.server.apiKeysFile, at("keys"));
  EXPECT_EQ(found.server.apiKeysFile.origin.text(), "CREDENTIALS_DIRECTORY");
  EXPECT_EQ(*read("[vx.server]\napi_keys_file = \"/k\"\n", {}, {variable}).configuration->server.apiKeysFile, "/k");
  EXPECT_EQ(*read("", {}, {variable, "VX_SERVER__API_KEYS_FILE=/e"}).configuration->server.apiKeysFile, "/e");
  EXPECT_EQ(*read("", {}, {"CREDENTIALS_DIRECTORY=."}).configuration->server.apiKeysFile, "");
}

TEST_F(ConfigurationTest, adminPort) {
  const Configuration configuration = *read("").configuration;
  EXPECT_FALSE(configuration.server.hasAdminPort());
  EXPECT_EQ(*configuration.server.drainDelayS, 5u);
  EXPECT_TRUE(read("[vx.server]\nadmin_port = 9090\n").configuration->server.hasAdminPort());
  EXPECT_EQ(
      mistakes("[vx.server]\nadmin_port = 8080\n"),
      Lines{"config.toml:2:14: error: [vx.server] 'admin_port': expected another port than 'port', got 8080 for both"});
  EXPECT_EQ(
      mistakes("[vx.server]\nadmin_host = \"0.0.0.0\"\nadmin_port = 9\n"),
      Lines{"config.toml:2:14: error: [vx.server] 'admin_host': others reach '0.0.0.0', and there are no keys: give "
            "'api_keys_file' or --no-auth"});
  EXPECT_EQ(mistakes("[vx.server]\nadmin_host = \"0.0.0.0\"\nlog_format = \"xml\"\ndrain_delay_s = 3601\n"),
            (Lines{"config.toml:3:14: error: [vx.server] 'log_format': expected text or json, got 'xml'",
                   "config.toml:4:17: error: [vx.server] 'drain_delay_s': expected 0 to 3600, got 3601"}));
}

TEST_F(ConfigurationTest, grpcPort) {
  EXPECT_FALSE(read("").configuration->server.hasGrpcPort());
  EXPECT_TRUE(read("[vx.server]\ngrpc_port = 8001\n").configuration->server.hasGrpcPort());
  EXPECT_EQ(*read("", {}, {"VX_SERVER__GRPC_PORT=8002"}).configuration->server.grpcPort, 8002u);
  EXPECT_EQ(
      mistakes("[vx.server]\ngrpc_port = 8080\n"),
      Lines{"config.toml:2:13: error: [vx.server] 'grpc_port': expected another port than 'port', got 8080 for both"});
  EXPECT_EQ(
      mistakes("[vx.server]\nadmin_port = 9\ngrpc_port = 9\n"),
      Lines{"config.toml:3:13: error: [vx.server] 'grpc_port': expected another port than 'admin_port', got 9 for "
            "both"});
  EXPECT_EQ(mistakes("[vx.server]\ngrpc_port = 65536\n"),
            Lines{"config.toml:2:13: error: [vx.server] 'grpc_port': expected 0 to 65535, got 65536"});
}

TEST_F(ConfigurationTest, severalDevices) {
  EXPECT_EQ(*read("[vx]\ndevices = \"all\"\n").configuration->devices, Lines{"all"});
  EXPECT_EQ(*read("[vx]\ndevices = [\"cpu\", \"cpu\", \"cuda:3\"]\n").configuration->devices,
            (Lines{"cpu", "cpu", "cuda:3"}));
  EXPECT_EQ(*read("", {{"--devices", "vulkan:0,vulkan:1"}}).configuration->devices, (Lines{"vulkan:0", "vulkan:1"}));
  EXPECT_EQ(*read("", {}, {"VX_DEVICES=all"}).configuration->devices, Lines{"all"});
  for (const std::string wrong : {"cpu:1", "cuda:", "cuda:256", "cuda:x", "tpu", "auto", "all"})
    EXPECT_EQ(
        mistakes("[vx]\ndevices = [\"cpu\", \"" + wrong + "\"]\n"),
        Lines{"config.toml:2:11: error: [vx] 'devices': expected cpu, vulkan[:N], cuda[:N] or rocm[:N] in a list, or "
              "\"all\" alone, got '" +
              wrong + "'"});
  EXPECT_EQ(mistakes("[vx]\ndevices = \"cpu\"\n"),
            Lines{"config.toml:2:11: error: [vx] 'devices': expected a list of texts, got 'cpu'"});
}

// What is printed reads as the same, with all values of the example but the folder's.
TEST_F(ConfigurationTest, printed) {
  const ConfigurationReading first = read(contents(std::string(VX_SOURCE_FOLDER) + "/examples/serving/config.toml"));
  ASSERT_TRUE(first.configuration) << lines(first).at(0);
  const std::string text = printConfiguration(*first.configuration);
  const ConfigurationReading second = read(text);
  ASSERT_TRUE(second.configuration) << lines(second).at(0);
  EXPECT_EQ(compareConfigurations(*first.configuration, *second.configuration).size(), 0u);
  EXPECT_NE(text.find("port = 8080                                     # " + at("config.toml") + ":16:8\n"),
            std::string::npos)
      << text;
  EXPECT_NE(printConfiguration(Configuration()).find("port = 8080                                     # default\n"),
            std::string::npos);
  // A quote in a path does not end it.
  const ConfigurationReading odd = read("[vx]\nmodel_dir = '/a \"b\\ \u0085 \U0001F600'\n");
  ASSERT_TRUE(odd.configuration) << lines(odd).at(0);
  EXPECT_EQ(*read(printConfiguration(*odd.configuration)).configuration->modelDir, "/a \"b\\ \u0085 \U0001F600");
}

// The example has each key, and where it has a default, the default.
TEST_F(ConfigurationTest, example) {
  const ConfigurationReading reading = read(contents(std::string(VX_SOURCE_FOLDER) + "/examples/serving/config.toml"));
  ASSERT_TRUE(reading.configuration) << lines(reading).at(0);
  for (const std::string &line : lines(reading))
    EXPECT_TRUE(line.ends_with("has no effect in this version")) << line;
  const ConfigurationReading standard = read("");
  const std::set<std::string> without = {"server.api_keys_file", "server.cors",       "server.tls_cert",
                                         "server.tls_key",       "benchmarks.models", "benchmarks.peers"};
  for (const ConfigurationKey &key : configurationKeys()) {
    EXPECT_NE(originOf(settingOf(key, *reading.configuration)).kind, Origin::Kind::standard) << key.path();
    if (!without.contains(key.path())) {
      EXPECT_EQ(valueText(settingOf(key, *reading.configuration)), valueText(settingOf(key, *standard.configuration)))
          << key.path();
    }
  }
  for (const ModelKey &key : modelKeys()) {
    bool isThere = false;
    for (const ModelConfiguration &model : reading.configuration->models)
      isThere |= originOf(settingOf(key, model)).place.starts_with(at("config.toml:")) &&
                 originOf(settingOf(key, model)).kind == Origin::Kind::file;
    EXPECT_TRUE(isThere) << key.path();
  }
}

// docs/serving.md has the tables as they are; where it has not, they are in the file that the message names.
TEST_F(ConfigurationTest, page) {
  const std::string page = contents(std::string(VX_SOURCE_FOLDER) + "/docs/serving.md"), tables = configurationTable();
  const std::string begin = "<!-- vx::serve::configurationTable -->\n", end = "\n<!-- end -->";
  const size_t first = page.find(begin), last = page.find(end, first);
  ASSERT_NE(first, std::string::npos);
  ASSERT_NE(last, std::string::npos);
  const std::string wanted = (std::filesystem::path(testing::TempDir()) / "vx-configuration-table.md").string();
  if (page.substr(first + begin.size(), last - first - begin.size()) != tables)
    put(wanted, tables);
  EXPECT_EQ(page.substr(first + begin.size(), last - first - begin.size()), tables)
      << "expected what " << wanted << " has";
}

TEST_F(ConfigurationTest, changes) {
  const Configuration before =
      *read("[vx.server]\nport = 1\n[[vx.server.model]]\nname = \"a\"\n[[vx.server.model]]\nname = \"b\"\n")
           .configuration;
  const Configuration after =
      *read("[vx.server]\nport = 2\nlog = \"debug\"\n[[vx.server.model]]\nname = \"b\"\nalias = [\"c\"]\n")
           .configuration;
  std::vector<std::string> said;
  for (const ConfigurationChange &change : compareConfigurations(before, after))
    said.push_back(change.key + (change.isLive ? " live " : " restart ") +
                   (change.key.find("model") == std::string::npos ? change.before + " " + change.after : ""));
  EXPECT_EQ(said, (Lines{"[vx.server] 'port' restart 1 2", "[vx.server] 'log' live \"info\" \"debug\"",
                         "[vx.server.model] 'a' live ", "[vx.server.model] 'b' live "}));
  EXPECT_EQ(compareConfigurations(after, after).size(), 0u);
}

TEST_F(ConfigurationTest, flagsAndVariablesAreUnique) {
  std::set<std::string> flags, variables;
  for (const ConfigurationFlag &flag : configurationFlags())
    EXPECT_TRUE(flags.insert(flag.flag).second) << flag.flag;
  for (const ConfigurationKey &key : configurationKeys())
    EXPECT_TRUE(variables.insert(key.variable()).second) << key.variable();
}

TEST(Rates, words) {
  EXPECT_EQ(parseRate("60/min"), (Rate{60, 60}));
  EXPECT_EQ(parseRate("5/s"), (Rate{5, 1}));
  EXPECT_EQ(parseRate("0"), Rate{});
  for (const char *text :
       {"", "60", "60/", "/min", "-1/s", "1/year", "0/s", "1 /s", "1e3/s", "9999999999999999999999/s"})
    EXPECT_EQ(parseRate(text), std::nullopt) << text;
  for (const char *text : {"60/min", "5/s", "7/h", "1/day", "0"})
    EXPECT_EQ(rateText(*parseRate(text)), text);
}

} // namespace
} // namespace vx::serve
