// vx-info: what a module file holds.
#include "command_line.h"
#include "file_checks.h"
#include "load_module.h"
#include "print_devices.h"

#include "vx/base/json_text.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <sys/prctl.h>
#include <unistd.h>

using namespace vx::tools;
using Json = nlohmann::ordered_json;

static constexpr const char *Examples = R"(
Examples:
  Show:     vx-info model.vxm
            vx-info model.vxm --json
            vx-info --hardware
  Check:    vx-info model.vxm --verify
)";

// "1234567 bytes (1.2 MiB)"
static std::string sizeText(uint64_t bytes) {
  const std::string bytesText = fmt::format("{} bytes", bytes);
  return bytes < 1024 ? bytesText : fmt::format("{} ({})", bytesText, vx::roundedByteCount(bytes));
}

static std::string join(const Json &list, const char *separator) {
  std::string text;
  for (const Json &item : list) {
    text += text.empty() ? "" : separator;
    text += item.is_string() ? item.get<std::string>() : vx::jsonText(item);
  }
  return text;
}

static std::string typeText(const Json &argument) {
  const std::string kind = argument.value("kind", "tensor");
  static const std::map<std::string, std::string> words = {
      {"sequence", "sequence of "}, {"optional", "optional "}, {"optional_sequence", "optional sequence of "}};
  const auto word = words.find(kind);
  std::string text = word == words.end() ? "" : word->second;
  text += argument.value("type", "");
  if (!argument.contains("dims"))
    return text + " of any rank";
  return text + "[" + join(argument["dims"], ",") + "]";
}

// Which values an input takes that indexes something.
static std::string rangeText(const Json &argument) {
  if (!argument.contains("range"))
    return "";
  const Json &range = argument["range"];
  if (range["upper"].is_null())
    return ", values known only in the call";
  return fmt::format(", values in [{}, {}){}", vx::jsonText(range["lower"]), join(Json::array({range["upper"]}), ""),
                     range.contains("also") ? fmt::format(" and {}", vx::jsonText(range["also"])) : "");
}

static void printSymbol(const Json &symbol) {
  printOut("  dim     {}: {} to {}", symbol.value("name", ""), symbol.value("min", int64_t(0)),
           symbol["max"].is_null() ? "any" : vx::jsonText(symbol["max"]));
  if (const int64_t multiple = symbol.value("multiple", int64_t(1)); multiple != 1)
    printOut(", a multiple of {}", multiple);
  printOut("{}\n", symbol.value("data_dependent", false) ? ", known after the call" : "");
}

static std::string rowsText(const Json &argument) {
  if (argument.contains("rows"))
    return ", independent along " + vx::jsonText(argument["rows"]);
  if (argument.value("same", false))
    return ", the same for all rows";
  return argument.contains("rows_reason") ? ", rows depend on one another: " + argument.value("rows_reason", "") : "";
}

static void printFunctions(const Json &module) {
  for (const Json &function : module["functions"]) {
    printOut("\nfunction {}\n", function.value("name", ""));
    for (const Json &symbol : function["symbols"])
      if (!symbol.value("instance", false))
        printSymbol(symbol);
    for (const Json &constraint : function["constraints"])
      printOut("  needs   {}, for {}\n", constraint.value("wants", ""), constraint.value("node", ""));
    for (const char *key : {"inputs", "outputs"})
      for (const Json &argument : function[key])
        printOut("  {:<7} {}: {}{}\n", std::string(key).substr(0, std::string(key).size() - 1),
                 argument.value("name", ""), typeText(argument), rangeText(argument) + rowsText(argument));
    if (function.contains("batch"))
      printOut("  batched calls may share a run, along the rows of {}; size '{}' is the batch size\n",
               join(function["batch"]["inputs"], ", "), function["batch"].value("symbol", ""));
    for (const Json &alias : function["aliases"])
      printOut("  alias   {} may be the memory of {}\n", alias.value("output", ""), alias.value("input", ""));
  }
}

static void printVariables(const Json &module) {
  if (!module["symbols"].empty())
    printOut("\ninstance\n");
  for (const Json &symbol : module["symbols"])
    printSymbol(symbol);
  if (module["variables"].empty())
    return;
  printOut("\nvariables\n");
  std::map<uint32_t, size_t> inStorage;
  for (const Json &variable : module["variables"])
    ++inStorage[variable.value("storage", 0U)];
  for (const Json &variable : module["variables"]) {
    printOut("  {}: {}[{}], {}", variable.value("name", ""), variable.value("type", ""), join(variable["dims"], ","),
             variable.contains("size") ? sizeText(variable.value("size", uint64_t(0))) : "sized by the instance");
    if (const std::string role = variable.value("role", ""); role != "state")
      printOut(", {}", role);
    if (const uint32_t storage = variable.value("storage", 0U); inStorage[storage] > 1)
      printOut(", at {} of storage {}", join(Json::array({variable["offset"]}), ""), storage);
    if (variable.contains("source"))
      printOut(", from {}", variable.value("source", ""));
    printOut("{}\n", variable.contains("initial") ? ", starts as " + variable["initial"].get<std::string>()
                                                  : std::string(", starts as zero"));
  }
}

static void printTraining(const Json &module) {
  if (module.contains("training")) {
    const Json &training = module["training"];
    printOut("\ntraining\n");
    for (const char *key : {"train_step", "evaluate", "predict", "backward", "step", "optimizer", "loss"})
      if (const std::string text = training.value(key, ""); !text.empty())
        printOut("  {}: {}\n", key, text);
    for (const char *key : {"inputs", "metrics"})
      if (!training[key].empty())
        printOut("  {}: {}\n", key, join(training[key], ", "));
    for (const Json &hyper : training["hypers"])
      printOut("  {}: {}\n", hyper.value("kind", ""), hyper.value("input", ""));
    for (const Json &asset : module["assets"])
      if (const std::string name = asset.value("name", ""); name == training.value("skeleton", "") && !name.empty())
        printOut("  exports: {}, {} beside the variables and constants\n", name,
                 sizeText(asset.value("size", uint64_t(0))));
  }
  if (!module["assets"].empty())
    printOut("\nassets\n");
  for (const Json &asset : module["assets"])
    printOut("  {} ({}), {}, section {} at {}\n", asset.value("name", ""), asset.value("kind", ""),
             sizeText(asset.value("size", uint64_t(0))), vx::jsonText(asset["section"]), vx::jsonText(asset["offset"]));
}

static void printConstants(const Json &module) {
  if (module["constants"].empty())
    return;
  printOut("\nconstants\n");
  for (const Json &constant : module["constants"])
    printOut("  {}: {}, {}\n", constant.value("name", ""), typeText(constant),
             sizeText(constant.value("size", uint64_t(0))));
}

static void printHostFunctions(const Json &module) {
  if (module["host_functions"].empty())
    return;
  printOut("\nfunctions of the host\n");
  for (const Json &function : module["host_functions"]) {
    const std::string text = function.value("text", ""), library = function.value("library", "");
    printOut("  {}{}{}\n", function.value("kind", ""), text.empty() ? "" : fmt::format(" '{}'", text),
             library.empty() ? "" : fmt::format(", opens {}", library));
  }
}

static void printTarget(const Json &target) {
  const std::string triple = target.value("triple", "");
  printOut("\ntarget {}{}\n", target.value("name", ""), triple.empty() ? "" : " (" + triple + ")");
  for (const Json &variant : target["variants"])
    printOut("  variant {}: {}, requires {}\n", variant.value("name", ""), sizeText(variant.value("size", uint64_t(0))),
             variant["requires"].empty() ? "nothing" : join(variant["requires"], " "));
  for (const Json &entry : target["entries"]) {
    printOut("  entry   {}", entry.value("function", ""));
    for (const auto &[symbol, value] : entry["where"].items())
      printOut(" {}={}", symbol, vx::jsonText(value));
    printOut(": program {}", entry.value("program", 0));
    if (entry.contains("arena_bytes"))
      printOut(", arena {} bytes, at least {}", entry.value("arena_bytes", ""), entry.value("arena_lower_bound", ""));
    printOut("\n");
  }
  uint64_t constants = 0, bytes = 0;
  for (const Json &derived : target["derived"])
    if (derived["variables"].empty()) {
      constants += 1;
      bytes += derived.value("size", uint64_t(0));
    }
  if (constants > 0)
    printOut("  load    {} derived constants, {}\n", constants, sizeText(bytes));
  for (const Json &derived : target["derived"])
    if (!derived["variables"].empty())
      printOut("  derived {}: {}, {}, from {}\n", derived.value("name", ""), typeText(derived),
               sizeText(derived.value("size", uint64_t(0))), join(derived["variables"], ", "));
  for (const Json &kernel : target["kernels"]) {
    printOut("  kernel  {} {}", kernel.value("name", ""), kernel.value("key", ""));
    if (const std::string strategy = kernel.value("strategy", ""); !strategy.empty())
      printOut(", {}", strategy);
    if (!kernel["sources"].empty())
      printOut(", from {}", vx::firstNames(kernel["sources"].get<std::vector<std::string>>()));
    printOut("\n");
  }
}

static void printModule(const Json &module) {
  printOut("module {}, {}, made by {}\n", module.value("name", ""), sizeText(module.value("file_size", uint64_t(0))),
           module.value("producer", ""));
  printFunctions(module);
  printVariables(module);
  printConstants(module);
  printTraining(module);
  printHostFunctions(module);
  for (const Json &target : module["targets"])
    printTarget(target);
  printOut("\nsections\n");
  size_t number = 0;
  for (const Json &section : module["sections"])
    printOut("  {} {:<7} {}, at {}{}, hash {}\n", number++, section.value("kind", ""),
             sizeText(section.value("size", uint64_t(0))), section.value("offset", uint64_t(0)),
             section.contains("external_file") ? " of " + section["external_file"].get<std::string>() : std::string(),
             section.value("hash", ""));
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> places; // some have several names
  for (const Json &constant : module["constants"])
    places[{constant.value("section", uint64_t(0)), constant.value("offset", uint64_t(0))}] =
        constant.value("size", uint64_t(0));
  uint64_t constants = 0;
  for (const auto &[place, size] : places)
    constants += size;
  printOut("  {} constants, {}; metadata {}\n", module["constants"].size(), sizeText(constants),
           sizeText(module.value("metadata_size", uint64_t(0))));
}

// What the runtime starts as VX_PROBE: looks for the devices of a backend, says that this has an end, and ends.
static int probe(const std::string &backend) {
  ::setenv("VX_PROBE", "0", 1);
  // A driver that hangs does not outlive the process that tries it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  vx_device_info found;
  vx_status_release(vx_device_find(backend.c_str(), &found)); // that there is no device is an answer
  constexpr std::string_view answer = "the driver has answered\n";
  (void)!::write(STDOUT_FILENO, answer.data(), answer.size());
  ::_exit(0);
}

static int run(const char *name, int argc, char **argv) {
  // Flags for the runtime, and for another process of this tool, which --help does not list.
  if (constexpr std::string_view flag = "--probe="; argc == 2 && std::string_view(argv[1]).starts_with(flag))
    return probe(argv[1] + flag.size());
  if (constexpr std::string_view flag = "--free-memory="; argc == 2 && std::string_view(argv[1]).starts_with(flag)) {
    ::setenv("VX_PROBE", "0", 1);
    printFreeMemory(argv[1] + flag.size());
    ::_exit(0); // a driver may hang when the process ends
  }
  std::string path;
  bool json = false;
  bool verify = false;
  bool hardware = false;
  CLI::App app("Shows what a module file holds: signature, dimensions, variables, kernels, sections.");
  app.add_option("module", path, "The module file (.vxm)");
  app.add_flag("--json", json, "As one JSON document")->group("Show");
  app.add_flag("--hardware", hardware, "Print every device of this machine, or why there is none, in place of a module")
      ->group("Show");
  app.add_flag("--verify", verify, "Read every section and compare its hash")->group("Check");
  if (!parseCommandLine(app, name, Examples, argc, argv))
    return 0;
  if (hardware && (verify || !path.empty()))
    throw usageError("--hardware goes without a module, got {}", verify ? "--verify" : "'" + path + "'");
  if (hardware) {
    printDevices(name, json);
    return 0;
  }
  if (path.empty())
    throw usageError("expected a module file; see --help");

  CommandFiles files;
  files.addStandardOutput();
  const vx::Module module = loadModule(path, files);
  if (verify)
    module.verify();

  Json description = Json::parse(module.describe());
  if (json) {
    if (verify)
      description["verified"] = true;
    printText(vx::jsonText(description, 2) + "\n");
    return 0;
  }
  printModule(description);
  if (verify)
    printOut("every section has the hash that the metadata states\n");
  return 0;
}

int main(int argc, char **argv) { return runTool("vx-info", argc, argv, run); }
