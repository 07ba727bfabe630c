// vx-run, vx-info and vx-bench by their command lines: output, messages and exit codes.
#include "module_builder.h"
#include "programs.h"
#include "vx/runtime/vx.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sys/wait.h>

namespace format = vx::format;
namespace fs = std::filesystem;
using nlohmann::json;
using namespace vx::test;

namespace {

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

class ToolPrograms : public testing::Test {
protected:
  ToolPrograms() : folder(fs::path(testing::TempDir()) / fmt::format("vx-tools-{}", ::getpid())) {
    fs::create_directories(folder);
    fs::current_path(folder);
  }
  ~ToolPrograms() override {
    fs::current_path("/");
    fs::remove_all(folder);
  }

  static std::string contents(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Runs a shell command in the scratch folder.
  Outcome sh(const std::string &command) {
    const int status = std::system(fmt::format("{{ {} ; }} >out.txt 2>err.txt", command).c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents("out.txt"), contents("err.txt")};
  }
  Outcome vxRun(const std::string &arguments) { return sh(VX_RUN " " + arguments); }
  Outcome vxInfo(const std::string &arguments) { return sh(VX_INFO " " + arguments); }
  Outcome vxBench(const std::string &arguments) { return sh(VX_BENCH " " + arguments); }

  void expectError(const Outcome &outcome, int code, const std::string &message, const std::string &printed = "") {
    EXPECT_EQ(outcome.code, code);
    EXPECT_EQ(outcome.err, message + "\n");
    EXPECT_EQ(outcome.out, printed);
  }

  // main(x: i32[n]) -> y = 3 x + 7
  void makeAffine(const std::string &name = "affine.vxm") {
    ModuleBuilder builder;
    addAffine(builder);
    builder.addCpuTarget();
    builder.addVulkanTarget();
    writeFile(name, builder.bytes());
  }
  void makeGather() {
    ModuleBuilder builder;
    addGather(builder);
    builder.addCpuTarget();
    writeFile("gather.vxm", builder.bytes());
  }

  const fs::path folder;
};

} // namespace

TEST_F(ToolPrograms, stringsArePrintedAndGoToFiles) {
  // main(x: string[n]) -> x
  ModuleBuilder builder;
  format::FunctionT &function = builder.function();
  function.symbols.push_back(symbol("n"));
  function.inputs.push_back(argument("x", format::ElementType::String, symbolExpr(0)));
  function.outputs.push_back(argument("y", format::ElementType::String, symbolExpr(0)));
  builder.program("main", 1, 1, 0, block()).results.push_back(tensorResult(0, {0}));
  builder.addCpuTarget();
  writeFile("strings.vxm", builder.bytes());
  const Outcome made = vxRun("strings.vxm --device=cpu --dim n=3 --print --output y=@y.pb");
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_TRUE(std::regex_match(made.out, std::regex("y: string\\[3\\]\n\\[\"[a-z]\", \"[a-z]\", \"[a-z]\"\\]\n")))
      << made.out;
  const Outcome read = vxRun("strings.vxm --device=cpu --input x=@y.pb --print");
  EXPECT_EQ(read.out, made.out) << read.err;
  expectError(vxRun("strings.vxm --device=cpu --dim n=3 --output y=@y.npy"), 2,
              "vx-run: error: string[3] cannot be written as .npy, expected a .pb file", "y: string[3]\n");
  EXPECT_EQ(vxInfo("strings.vxm").code, 0);
}

TEST_F(ToolPrograms, runPrintsOutputs) {
  makeAffine();
  Outcome outcome = vxRun("affine.vxm -device=cpu --input x=i32[3]:ones --print");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "y: i32[3]\n[10, 10, 10]\n");
  EXPECT_EQ(outcome.err, "");
  outcome = vxRun("affine.vxm --device=cpu --dim n=5");
  EXPECT_EQ(outcome.out, "y: i32[5]\n") << outcome.err;
  // No size given: the smallest above 0.
  outcome = vxRun("affine.vxm --device=cpu");
  EXPECT_EQ(outcome.out, "y: i32[1]\n") << outcome.err;
}

TEST_F(ToolPrograms, runReadsAndWritesFiles) {
  makeAffine();
  Outcome outcome = vxRun("affine.vxm --device=cpu --input x=i32[4]:ones --output y=@y.npy --output y=@y.pb");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(fs::exists("y.npy"));
  outcome = vxRun("affine.vxm --device=cpu --input x=@y.npy --print");
  EXPECT_EQ(outcome.out, "y: i32[4]\n[37, 37, 37, 37]\n") << outcome.err;
  outcome = vxRun("affine.vxm --device=cpu --input x=@y.pb --print");
  EXPECT_EQ(outcome.out, "y: i32[4]\n[37, 37, 37, 37]\n") << outcome.err;
}

TEST_F(ToolPrograms, runReports) {
  makeAffine();
  Outcome outcome = vxRun("affine.vxm --device=cpu --threads 1 --input x=i32[2]:zeros --report=json --print --profile");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["version"], 1);
  EXPECT_EQ(report["device"]["taken"]["device"], "cpu:0");
  EXPECT_EQ(report["device"]["taken"]["threads"], 1);
  EXPECT_EQ(report["dims"]["n"], 2);
  EXPECT_GE(report["times"]["call_ms"], 0);
  EXPECT_EQ(report["outputs"][0]["values"], json::parse("[7,7]"));
  EXPECT_EQ(report["call"]["version"], 1);
  outcome = vxRun("affine.vxm --device=cpu --report=text");
  EXPECT_NE(outcome.out.find("cpu:0"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(" ms, call "), std::string::npos) << outcome.out;
}

TEST_F(ToolPrograms, sameSeedSameNumbers) {
  makeAffine();
  const std::string first = vxRun("affine.vxm --device=cpu --dim n=50 --print").out;
  EXPECT_EQ(vxRun("affine.vxm --device=cpu --dim n=50 --print --seed 0").out, first);
  EXPECT_NE(vxRun("affine.vxm --device=cpu --dim n=50 --print --seed 1").out, first);
}

TEST_F(ToolPrograms, commandLineErrors) {
  makeAffine();
  expectError(vxRun("affine.vxm --frobnicate=3"), 2, "vx-run: error: unknown flag '--frobnicate'; see --help");
  expectError(vxRun("affine.vxm -frobnicate 3"), 2, "vx-run: error: unknown flag '--frobnicate'; see --help");
  expectError(vxRun("affine.vxm more"), 2, "vx-run: error: unexpected argument 'more'; see --help");
  expectError(vxRun(""), 2, "vx-run: error: expected a module file; see --help");
  expectError(vxRun("affine.vxm --json"), 2,
              "vx-run: error: --json goes with --list-devices; for a run use --report=json");
  expectError(vxRun("affine.vxm --profile"), 2, "vx-run: error: --profile goes with --report");
  expectError(vxRun("affine.vxm --input z=i32[1]:ones"), 2, "vx-run: error: unknown input 'z', the inputs are 'x'");
  expectError(vxRun("affine.vxm --output z=@z.npy"), 2, "vx-run: error: unknown output 'z', the outputs are 'y'");
  expectError(vxRun("affine.vxm --output y=z.npy"), 2, "vx-run: error: output 'y': expected @FILE, got 'z.npy'");
  expectError(vxRun("affine.vxm --output y=@z.txt"), 2,
              "vx-run: error: output 'y': expected a file that ends with .npy or .pb, got 'z.txt'");
  expectError(vxRun("affine.vxm --function other"), 2,
              "vx-run: error: unknown function 'other', the module has 'main'");
  EXPECT_EQ(vxRun("affine.vxm --device=abacus").code, 2);
  EXPECT_EQ(vxRun("affine.vxm --device=cpu --input x=f32[3]:ones").code, 2);
  EXPECT_EQ(vxRun("affine.vxm --device=cpu --input x=i32[3,1]:ones").code, 2);
  EXPECT_EQ(vxRun("affine.vxm --device=cpu --input x=i32[5000]:ones").code, 2);
  EXPECT_EQ(vxRun("affine.vxm --report=xml").code, 2);
  EXPECT_EQ(vxInfo("").code, 2);
  EXPECT_EQ(vxBench("").code, 2);
}

TEST_F(ToolPrograms, badModules) {
  makeAffine();
  expectError(vxRun("none.vxm"), 3,
              "vx-run: error: vx_module_load: none.vxm: cannot be opened: No such file or directory");
  fs::resize_file("affine.vxm", 5000);
  const Outcome outcome = vxInfo("affine.vxm");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("affine.vxm"), std::string::npos) << outcome.err;
}

TEST_F(ToolPrograms, noDevice) {
  makeAffine();
  const Outcome outcome = sh("VX_HIP_LIBRARY=/none.so " VX_RUN " affine.vxm --device=rocm --no-fallback");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("no device for 'rocm': rocm: '/none.so' could not be opened"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(vxBench("affine.vxm --device=cuda").code, 4);
}

TEST_F(ToolPrograms, fallbackIsReported) {
  makeAffine();
  const Outcome outcome = sh("VX_HIP_LIBRARY=/none.so " VX_RUN " affine.vxm --device=rocm --report=json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json device = json::parse(outcome.out)["device"];
  EXPECT_EQ(device["wanted"], "rocm");
  EXPECT_EQ(device["refused"][0]["code"], "no_library");
  EXPECT_NE(device["taken"], nullptr);
  EXPECT_NE(outcome.err.find("vx-run: note: asked for device 'rocm', took '"), std::string::npos) << outcome.err;
}

TEST_F(ToolPrograms, faultNamesTheNode) {
  makeGather();
  const Outcome outcome = vxRun("gather.vxm --device=cpu --input x=i32[1]:ones --input indices=i32[2]:ones");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("(Gather)"), std::string::npos) << outcome.err;
}

// main(list: sequence of i32) -> maybe: an optional without a value
TEST_F(ToolPrograms, sequencesAndOptionalsWantTheirOwnFiles) {
  ModuleBuilder builder;
  format::FunctionT &main = builder.function();
  main.inputs.push_back(listArgument("list", format::ElementType::I32, format::ValueKind::Sequence));
  main.outputs.push_back(listArgument("maybe", format::ElementType::I32, format::ValueKind::Optional));
  format::ProgramT &program = builder.program("none", 1, 1, 2, block(instruction(Op::ListEmpty, {1}, VX_I32)));
  program.results.push_back(listResult(1));
  builder.addCpuTarget();
  writeFile("none.vxm", builder.bytes());
  makeAffine();
  const std::string call = "none.vxm --device=cpu --input list=@list.pb ";
  writeFile("list.pb", {0x10, 1}); // a sequence of no tensor
  EXPECT_EQ(vxRun(call + "--output maybe=@maybe.pb").code, 0);
  expectError(vxRun(call + "--output maybe=@maybe.npy"), 2,
              "vx-run: error: output 'maybe' is an optional without a value: expected a .pb file, got 'maybe.npy'",
              "maybe: optional of 0 i32 tensors\n");
  expectError(vxRun("none.vxm --device=cpu --input list=@list.npy"), 2,
              "vx-run: error: input 'list' is a sequence: expected a .pb file, got 'list.npy'");
}

// main(list: sequence of i32) -> none, some: optional sequences
TEST_F(ToolPrograms, optionalSequences) {
  ModuleBuilder builder;
  format::FunctionT &main = builder.function();
  main.inputs.push_back(listArgument("list", format::ElementType::I32, format::ValueKind::Sequence));
  main.outputs.push_back(listArgument("none", format::ElementType::I32, format::ValueKind::OptionalSequence));
  main.outputs.push_back(listArgument("some", format::ElementType::I32, format::ValueKind::OptionalSequence));
  format::ProgramT &program = builder.program("both", 0, 0, 2, block(instruction(Op::NoList, {1}, VX_I32)));
  program.results.push_back(listResult(1));
  program.results.push_back(listResult(0));
  builder.addCpuTarget();
  writeFile("both.vxm", builder.bytes());
  writeFile("list.pb", {0x10, 1}); // a sequence of no tensor
  const std::string call = "both.vxm --device=cpu --input list=@list.pb ";
  const Outcome outcome = vxRun(call + "--output none=@none.pb --output some=@some.pb");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("none: optional sequence of i32, none\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("some: optional sequence of 0 i32 tensors\n"), std::string::npos) << outcome.out;
  expectError(vxRun(call + "--output none=@none.npy"), 2,
              "vx-run: error: output 'none' is a sequence: expected a .pb file, got 'none.npy'");
}

TEST_F(ToolPrograms, modulesWithoutFunctions) {
  ModuleBuilder builder;
  writeFile("empty.vxm", builder.bytes());
  expectError(vxRun("empty.vxm"), 3, "vx-run: error: the module has no function");
}

TEST_F(ToolPrograms, fullDiskLeavesNothing) {
  makeAffine();
  const Outcome outcome =
      sh("ulimit -f 1; " VX_RUN " affine.vxm --device=cpu --dim n=4096 --output y=@y.npy 2>&1 | head -c 400; "
         "exit ${PIPESTATUS:-1}");
  EXPECT_NE(outcome.out.find("cannot write 'y.npy': File too large"), std::string::npos) << outcome.out << outcome.err;
  EXPECT_FALSE(fs::exists("y.npy"));
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    EXPECT_EQ(entry.path().string().find(".part"), std::string::npos) << entry.path();
  if (fs::exists("/dev/full")) {
    const Outcome full = sh(VX_RUN " affine.vxm --device=cpu --print >/dev/full");
    EXPECT_EQ(full.code, 1);
    EXPECT_EQ(full.err, "vx-run: error: cannot write to standard output\n");
  }
}

TEST_F(ToolPrograms, listDevices) {
  Outcome outcome = vxRun("--list-devices --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["version"], 1);
  outcome = sh("VX_HIP_LIBRARY=/nonexistent.so " VX_RUN " -list-devices");
  EXPECT_NE(outcome.out.find("cpu:0: "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("rocm: '/nonexistent.so' could not be opened"), std::string::npos) << outcome.out;
}

TEST_F(ToolPrograms, helpAndVersion) {
  for (const char *tool : {VX_RUN, VX_INFO, VX_BENCH}) {
    Outcome outcome = sh(std::string(tool) + " --help");
    EXPECT_EQ(outcome.code, 0);
    EXPECT_NE(outcome.out.find("Examples:"), std::string::npos);
    EXPECT_NE(outcome.out.find("Exit codes:"), std::string::npos);
    outcome = sh(std::string(tool) + " -version");
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out.find("vx "), 0u);
    EXPECT_NE(outcome.out.find("LLVM: none\nmodule abi "), std::string::npos) << outcome.out;
  }
}

TEST_F(ToolPrograms, info) {
  makeAffine();
  Outcome outcome = vxInfo("affine.vxm");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("function main\n  dim     n: 0 to 4096\n  input   x: i32[n]\n  output  y: i32[n]\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("\ntarget cpu"), std::string::npos) << outcome.out;
  outcome = vxInfo("affine.vxm --json --verify");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json description = json::parse(outcome.out);
  EXPECT_EQ(description["version"], 1);
  EXPECT_EQ(description["verified"], true);
  EXPECT_EQ(description["functions"][0]["inputs"][0]["dims"], json::parse("[\"n\"]"));
}

// A flipped bit in the weights is no matter for the metadata, but --verify finds it.
TEST_F(ToolPrograms, verifyFindsDamage) {
  makeAffine();
  std::vector<uint8_t> bytes = readFile("affine.vxm");
  const json description = json::parse(vxInfo("affine.vxm --json").out);
  for (const json &section : description["sections"])
    if (section["kind"] == "weights")
      bytes[section["offset"].get<size_t>()] ^= 1;
  writeFile("affine.vxm", bytes);
  EXPECT_EQ(vxInfo("affine.vxm").code, 0);
  const Outcome outcome = vxInfo("affine.vxm --verify");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("hash"), std::string::npos) << outcome.err;
}

TEST_F(ToolPrograms, bench) {
  makeAffine();
  const Outcome outcome =
      vxBench("affine.vxm --device=cpu --threads 1,2 --dim n=100 --min-time 0.01 --json r.json --html r.html");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json report = json::parse(contents("r.json"));
  EXPECT_EQ(report["version"], 1);
  ASSERT_EQ(report["probes"].size(), 2u);
  EXPECT_GT(report["probes"][0]["fma_gflops"], 0);
  EXPECT_GT(report["probes"][0]["read_gbs"], 0);
  ASSERT_EQ(report["results"].size(), 2u);
  for (const json &result : report["results"]) {
    EXPECT_EQ(result["module"], "affine.vxm");
    EXPECT_EQ(result["device"], "cpu:0");
    EXPECT_EQ(result["dims"]["n"], 100);
    EXPECT_GT(result["median_ms"], 0);
    EXPECT_GE(result["p95_ms"], result["median_ms"]);
    EXPECT_TRUE(result.contains("gflops"));
    // x and y, and the whole constant.
    EXPECT_EQ(result["bytes"], 2 * 400 + 4096 * 4);
  }
  EXPECT_EQ(report["results"][0]["threads"], 1);
  EXPECT_NE(contents("r.html").find("</html>"), std::string::npos);
  EXPECT_NE(outcome.out.find("affine.vxm"), std::string::npos);
  EXPECT_EQ(outcome.err, "");
}

// What a module of training and of several instances says beside its functions.
TEST_F(ToolPrograms, infoShowsState) {
  ModuleBuilder builder;
  addAffine(builder);
  builder.module.symbols.push_back(symbol("pages", 1, 64));
  builder.addVariable("fc.weight", format::ElementType::F32, {2, 2}, 16);
  builder.module.variables[0]->role = format::Role::Parameter;
  builder.module.variables[0]->source = "fc/w";
  builder.addVariable("k_0", format::ElementType::F32, {1}, 4);
  builder.module.variables[1]->role = format::Role::Cache;
  builder.module.variables[1]->dims[0] = symbolExpr(0);
  builder.module.storages[1]->size =
      exprOf({{format::ExprOp::Symbol, 0, 0, 0}, {format::ExprOp::Constant, 0, 0, 4}, {format::ExprOp::Mul, 0, 1, 0}});
  builder.addVariable("pool", format::ElementType::F32, {32}, 128);
  builder.addVariable("part", format::ElementType::F32, {3}, 12);
  builder.module.variables[3]->storage = 2;
  builder.module.variables[3]->offset = constantExpr(64);
  builder.module.storages.pop_back();
  builder.module.functions[0]->aliases.emplace_back(0, 0);
  builder.module.functions[0]->outputs[0]->rows = 0;
  builder.module.functions[0]->batch = std::make_unique<format::BatchT>();
  builder.module.functions[0]->batch->inputs = {0};
  builder.module.assets.push_back(std::make_unique<format::AssetT>());
  format::AssetT &asset = *builder.module.assets[0];
  asset.name = "tokenizer";
  asset.kind = "application/json";
  asset.size = 2;
  asset.section = builder.addSection(format::SectionKind::Assets, {'{', '}'});
  builder.module.training = std::make_unique<format::TrainingT>();
  format::TrainingT &training = *builder.module.training;
  training.train_step = training.predict = 0;
  training.hypers.emplace_back(format::HyperKind::Seed, 0);
  training.metrics = {0};
  training.loss = "mse";
  training.skeleton = 0;
  builder.addCpuTarget();
  auto entry = std::make_unique<format::EntryT>(*builder.module.targets[0]->entries[0]);
  entry->constraints.push_back(std::make_unique<format::ConstraintT>());
  entry->constraints.back()->min = 2;
  entry->constraints.back()->max = 9;
  builder.module.targets[0]->entries.insert(builder.module.targets[0]->entries.begin(), std::move(entry));
  writeFile("state.vxm", builder.bytes());
  const Outcome shown = vxInfo("state.vxm");
  EXPECT_EQ(shown.code, 0) << shown.err;
  for (const char *line :
       {"  output  y: i32[n], independent along 0\n  batched calls may share a run, along the rows of x; size 'n' is "
        "the batch size\n",
        "  alias   y may be the memory of x\n", "\ninstance\n  dim     pages: 1 to 64\n",
        "  fc.weight: f32[2,2], 16 bytes, parameter, from fc/w, starts as zero\n",
        "  k_0: f32[pages], sized by the instance, cache, starts as zero\n",
        "  pool: f32[32], 128 bytes, at 0 of storage 2, starts as zero\n",
        "  part: f32[3], 12 bytes, at 64 of storage 2, starts as zero\n",
        "\ntraining\n  train_step: main\n  predict: main\n  loss: mse\n  metrics: y\n  seed: x\n"
        "  exports: tokenizer, 2 bytes beside the variables and constants\n",
        "\nassets\n  tokenizer (application/json), 2 bytes, section 1 at 0\n", "  entry   main n=[2,9]: program 0"})
    EXPECT_NE(shown.out.find(line), std::string::npos) << line << "is not in\n" << shown.out;
}
