// vx-train by its command line: output, messages, exit codes, Ctrl-C.
#include "training_module.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/wait.h>
#include <unistd.h>

using namespace vx::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

class VxTrain : public testing::Test {
protected:
  VxTrain() : folder(fs::path(testing::TempDir()) / fmt::format("vx-train-{}", ::getpid())) {
    fs::create_directories(folder);
    fs::current_path(folder);
    writeFile("m.vxm", readFile(writeTrainingModule("program.vxm")));
    makeData("data", 60, 1);
    makeData("test", 20, 2);
  }
  ~VxTrain() override {
    fs::current_path("/");
    fs::remove_all(folder);
  }

  static void makeData(const std::string &name, int64_t count, uint64_t seed) {
    fs::create_directory(name);
    const Rows rows(count, seed);
    writeNpy(name + "/x.npy", "<f4", {count, 4}, rows.x.data(), rows.x.size() * 4);
    writeNpy(name + "/label.npy", "<i8", {count}, rows.label.data(), rows.label.size() * 8);
  }
  static std::string contents(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Outcome sh(const std::string &command) {
    const int status = std::system(fmt::format("{{ {} ; }} >out.txt 2>err.txt", command).c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents("out.txt"), contents("err.txt")};
  }
  Outcome vxTrain(const std::string &arguments) { return sh(VX_TRAIN " " + arguments); }
  void expectError(const std::string &arguments, int code, const std::string &message) {
    const Outcome outcome = vxTrain(arguments);
    EXPECT_EQ(outcome.code, code) << arguments;
    EXPECT_EQ(outcome.err, "vx-train: error: " + message + "\n");
  }

  const fs::path folder;
  const std::string usual = "m.vxm --device=cpu --threads 1 --data data --batch-size 7 --lr 0.1 ";
};

} // namespace

TEST_F(VxTrain, trains) {
  const Outcome outcome =
      vxTrain(usual + "--epochs 3 --seed 7 --validation=test --schedule=cosine --save a.safetensors --history h.json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(outcome.out.starts_with("epoch 1/3  step 9  rate 0.07986  loss ")) << outcome.out;
  EXPECT_NE(outcome.out.find("\nepoch 3/3  step 27  rate "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("  validation loss "), std::string::npos) << outcome.out;
  const json history = json::parse(contents("h.json"));
  EXPECT_EQ(history["epochs"].size(), 3u);
  EXPECT_EQ(history["schedule"], "cosine(0.1, 0)");
  EXPECT_EQ(history["seed"], 7);
  EXPECT_TRUE(fs::exists("a.safetensors"));
  // The same again is the same.
  vxTrain(usual + "--epochs 3 --seed 7 --validation=test --schedule=cosine --save b.safetensors");
  EXPECT_EQ(contents("a.safetensors"), contents("b.safetensors"));
  vxTrain(usual + "--epochs 3 --seed 8 --validation=test --schedule=cosine --save b.safetensors");
  EXPECT_NE(contents("a.safetensors"), contents("b.safetensors"));
}

TEST_F(VxTrain, goesOnBitByBit) {
  const std::string run = usual + "--epochs 4 --warmup 5 --validation=0.25 --early-stop=9 ";
  EXPECT_EQ(vxTrain(run + "--seed 7 --save whole.safetensors").code, 0);
  // Ends in the middle of the second epoch; the schedule is a constant behind its warm-up.
  Outcome outcome = vxTrain(run + "--seed 7 --max-steps 10 --checkpoint=run1,2");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "vx-train: note: stopped: 10 steps are done\n");
  outcome = vxTrain(run + "--checkpoint=run1,2 --resume run1 --save resumed.safetensors"); // by the checkpoint's seed
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(outcome.out.starts_with("epoch 2/4  step 14  ")) << outcome.out;
  EXPECT_EQ(contents("whole.safetensors"), contents("resumed.safetensors"));
  // Of the newest two one is damaged: the one before is taken, and that is said.
  fs::resize_file("run1/checkpoint-000000000028.safetensors", 99);
  outcome = vxTrain(run + "--seed 7 --resume run1 --save resumed.safetensors");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.err.starts_with("vx-train: note: run1/checkpoint-000000000028.safetensors: truncated: "))
      << outcome.err;
  EXPECT_EQ(contents("whole.safetensors"), contents("resumed.safetensors"));
}

TEST_F(VxTrain, summaries) {
  const Outcome outcome = vxTrain("m.vxm --summary --device=cpu");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "parameter     shape     count\n"
                         "dense.weight  f32[3,4]     12\n"
                         "dense.bias    f32[3]        3\n"
                         "total                      15 (15)\n");
}

TEST_F(VxTrain, commandLineErrors) {
  expectError("", 2, "expected a module file; see --help");
  expectError("m.vxm", 2, "expected --data DIR, --export F, --save-module F or --summary; see --help");
  expectError("m.vxm --data data --epochs 0", 2, "--epochs: expected a number from 1 to 1000000000, got '0'");
  expectError("m.vxm --data data --batch-size none", 2,
              "--batch-size: expected a number from 1 to 2147483647, got 'none'");
  expectError("m.vxm --data data --accumulate 0", 2, "--accumulate: expected a number from 1 to 2147483647, got '0'");
  expectError("m.vxm --data data --lr -1", 2, "--lr: expected a number of 0 or more, got '-1'");
  const std::string saved = usual + "--save s ";
  expectError(saved + "--loss=mse", 2, "--loss is for a model; 'm.vxm' is a module, which is compiled");
  expectError("m.onnx --data data --clip-norm 0", 2, "--clip-norm: expected a number above 0, got 0");
  expectError(
      saved + "--schedule=linear", 2,
      "--schedule: expected constant, cosine[:END], step:EPOCHS[,FACTOR], exponential:FACTOR or one-cycle[:PART], got "
      "'linear'");
  expectError(
      saved + "--schedule=constant:1", 2,
      "--schedule: expected constant, cosine[:END], step:EPOCHS[,FACTOR], exponential:FACTOR or one-cycle[:PART], got "
      "'constant:1'");
  expectError(saved + "--schedule=cosine:", 2, "--schedule: expected cosine[:END], got 'cosine:'");
  expectError(saved + "--schedule=cosine:x", 2, "--schedule cosine: expected cosine[:END], got 'x'");
  expectError(saved + "--schedule=step", 2, "--schedule step: expected step:EPOCHS[,FACTOR], got ''");
  expectError(saved + "--schedule=step:1.5", 2,
              "--schedule step: expected a whole number of epochs of 1 or more, got '1.5'");
  expectError(saved + "--schedule=exponential:1,2", 2,
              "--schedule exponential: expected exponential:FACTOR, got '1,2'");
  expectError(saved + "--schedule=one-cycle:2", 2, "schedule one_cycle: expected a part between 0 and 1, got 2");
  expectError(saved + "--early-stop=soon", 2, "--early-stop: expected EPOCHS[,LEAST], got 'soon'");
  expectError(saved + "--early-stop=0.5", 2, "--early-stop: expected a whole number of epochs of 1 or more, got '0.5'");
  expectError(saved + "--checkpoint=run,often", 2, "--checkpoint: expected DIR[,EPOCHS], got 'run,often'");
  expectError(saved + "--validation=1.5", 2,
              "--validation: expected a part between 0 and 1, or data as --data, got '1.5'");
  expectError("m.vxm --data data --save m.vxm", 2,
              "the checkpoint 'm.vxm' is the same file as the module 'm.vxm', expected another name for it");
  expectError(
      usual + "--save data/x.npy", 2,
      "the checkpoint 'data/x.npy' is the same file as the data of 'x' 'data/x.npy', expected another name for it");
}

TEST_F(VxTrain, modelsWithoutACompiler) {
  writeFile("m.onnx", {1, 2, 3});
  const Outcome outcome = sh("VX_COMPILER_LIBRARY=libnone.so.0 " VX_TRAIN " m.onnx --data data --loss=mse");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.err,
            "vx-train: error: 'm.onnx' is no module (.vxm), and there is no compiler for it: 'libnone.so.0' could not "
            "be opened: libnone.so.0: cannot open shared object file: No such file or directory; give a module that "
            "vx-compile has made of it, or install the compiler (package libvx-compiler0)\n");
}

TEST_F(VxTrain, badInput) {
  const std::string saved = usual + "--save s ";
  expectError("none.vxm --summary", 3, "vx_module_load: none.vxm: cannot be opened: No such file or directory");
  writeFile("not.vxm", readFile(writeTrainingModule("not.vxm", [](ModuleBuilder &b) { b.module.training.reset(); })));
  expectError("not.vxm --summary --device=cpu", 3,
              "the module does not train: it has no training step; use one that was compiled with --train");
  expectError("m.vxm --device=cpu --save s --data nowhere", 3,
              "data: expected a folder of .npy files or of images by class, or a .csv file, got 'nowhere', "
              "which does not exist");
  fs::create_directory("empty");
  expectError("m.vxm --device=cpu --save s --data empty", 3,
              "data: 'empty' lacks 'x.npy', 'label.npy'; the model is trained by 'x', 'label'");
  std::vector<int64_t> labels(60, 1);
  labels[41] = 10;
  writeNpy("data/label.npy", "<i8", {60}, labels.data(), 480);
  expectError(saved, 3, "data/label.npy: row 41 has 10, expected 0 to 2");
  std::vector<uint8_t> bytes(60 * 4);
  writeNpy("data/x.npy", "|u1", {60, 4}, bytes.data(), 240);
  expectError(
      saved, 3,
      "data/x.npy: input 'x': expected f32[batch,4], got u8[60,4] (u8 does not become f32 by itself, since only "
      "you know by "
      "what scale; save them as f32)");
  makeData("data", 60, 1);
  writeFile("bad.safetensors", {1, 2, 3});
  expectError(saved + "--resume bad.safetensors", 3,
              "bad.safetensors: truncated: a safetensors file has 8 bytes or more, got 3");
  expectError(saved + "--resume test", 3,
              "test: no whole checkpoint in this folder, expected checkpoint-000000000000.safetensors");
  const Outcome outcome = vxTrain("m.vxm --device=rocm --no-fallback --summary");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_TRUE(outcome.err.starts_with("vx-train: error: vx_instance_create: m.vxm: no device for 'rocm': rocm: "))
      << outcome.err;
}

// The label's file may have the input's own name, and that of labels in general.
TEST_F(VxTrain, filesOfLabels) {
  const std::string path = writeTrainingModule("digit.vxm", [](ModuleBuilder &b) {
    for (size_t number : {0, 1, 3})
      b.module.functions[number]->inputs[1]->name = "digit";
  });
  EXPECT_EQ(vxTrain(path + " --device=cpu --data data --save s").code, 0);
  fs::rename("data/label.npy", "data/digit.npy");
  EXPECT_EQ(vxTrain(path + " --device=cpu --data data --save s").code, 0);
}

TEST_F(VxTrain, lossesThatAreNoNumbers) {
  Outcome outcome = vxTrain("m.vxm --device=cpu --data data --batch-size 20 --lr 1e38 --save s");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.err.starts_with("vx-train: note: step 2: the loss is inf, at a rate of 1e+38\n")) << outcome.err;
  outcome = vxTrain("m.vxm --device=cpu --data data --batch-size 20 --lr 1e38 --save s --stop-on-nan");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(outcome.err.ends_with("\nvx-train: error: step 2: the loss is inf, at a rate of 1e+38\n")) << outcome.err;
}

TEST_F(VxTrain, whatIsNotKeptIsSaid) {
  EXPECT_EQ(vxTrain(usual).err, "vx-train: note: what is trained is not kept: there is no --save, no --save-module, no "
                                "--export and no --checkpoint\n");
}

TEST_F(VxTrain, whatHasNoModelIsNotExported) {
  const std::string message = "--export: 'm.vxm' has no ONNX model to export: use one that vx-compile --train has made "
                              "of an ONNX file, without --export=none, or such a file";
  expectError("m.vxm --device=cpu --export e.onnx", 2, message);
  expectError(usual + "--export e.onnx", 2, message); // before it is trained
  EXPECT_FALSE(fs::exists("e.onnx"));
  expectError("m.vxm --device=cpu --export m.vxm", 2,
              "the exported model 'm.vxm' is the same file as the module 'm.vxm', expected another name for it");
}

TEST_F(VxTrain, exportsWhatIsTrained) {
  const std::string arguments =
      writeTrainingModule("exports.vxm", [](ModuleBuilder &builder) { addSkeleton(builder, false); }) +
      " --device=cpu --threads 1 ";
  Outcome outcome = vxTrain(arguments + "--data data --seed 7 --save s --export trained.onnx --export-form=training");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(contents("trained.onnx").size(), 51u);
  EXPECT_EQ(vxTrain(arguments + "--seed 7 --export untrained.onnx --export-form=training").code, 0);
  EXPECT_NE(contents("trained.onnx"), contents("untrained.onnx"));
  EXPECT_EQ(vxTrain(arguments + "--resume s --export again.onnx --export-form=training").code, 0);
  EXPECT_EQ(contents("trained.onnx"), contents("again.onnx"));
  expectError(
      arguments + "--data data --save s.data --export s", 2,
      "the exported model's weights, 's.data' is the same file as the checkpoint 's.data', expected another name for "
      "it");
  // Alone it keeps what is trained. The table is no data either.
  outcome = vxTrain(arguments + "--data data --seed 7 --export alone.onnx --export-form=training");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(contents("trained.onnx"), contents("alone.onnx"));
  outcome = vxTrain(arguments + "--summary --seed 7 --export summary.onnx --export-form=training");
  EXPECT_NE(outcome.out.find("dense.weight"), std::string::npos) << outcome.out;
  EXPECT_EQ(contents("summary.onnx"), contents("untrained.onnx"));
}

TEST_F(VxTrain, noSpaceLeft) {
  const Outcome outcome = sh("(ulimit -f 1; TMPDIR=. exec " VX_TRAIN " " + usual + "--save s >/dev/null)");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "vx-train: error: cannot write 's': File too large; cannot write './rescued-s': File too "
                         "large; the checkpoint, from which --resume goes on, could not be written to another folder "
                         "either\n");
  EXPECT_FALSE(fs::exists("s"));
  EXPECT_EQ(vxTrain(usual + "--save /nowhere/s").code, 1);
  EXPECT_NE(contents("err.txt").find("vx-train: error: cannot write '/nowhere/s': No such file or directory"),
            std::string::npos)
      << contents("err.txt");
}

// Ctrl-C ends it behind a step with a checkpoint; from there it goes on.
TEST_F(VxTrain, interrupts) {
  const std::string module = writeTrainingModule("i.vxm", [](ModuleBuilder &builder) { addSkeleton(builder, false); });
  const std::string usual = module + this->usual.substr(5);
  for (const char *where : {"--checkpoint=run,1000000 --export run.onnx --export-form=training",
                            "--save kept.safetensors --export kept.onnx --export-form=training",
                            "--export e.onnx --export-form=training", ""}) {
    const std::string command = "exec " VX_TRAIN " " + usual + "--epochs 1000000000 " + where + " >out.txt 2>err.txt";
    fs::remove("out.txt");
    const pid_t child = fork();
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    for (int i = 0; i < 10000 && contents("out.txt").find("epoch 3/") == std::string::npos; ++i)
      usleep(1000);
    kill(child, SIGINT);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
    const std::string error = contents("err.txt");
    EXPECT_NE(error.find("vx-train: error: interrupted after step "), std::string::npos) << error;
    const std::string way = *where == 0       ? "; nothing is saved: there is no --save and no --checkpoint\n"
                            : where[2] == 'c' ? "; go on with --resume run\n"
                            : where[2] == 'e' ? "; 'e.onnx' has what was trained, but there is no --save and no "
                                                "--checkpoint to go on from\n"
                                              : "; go on with --resume kept.safetensors\n";
    EXPECT_TRUE(error.ends_with(way)) << error;
  }
  EXPECT_FALSE(fs::exists("run.onnx")); // the folder has it
  EXPECT_TRUE(fs::exists("kept.onnx") && fs::exists("e.onnx"));
  for (const char *from : {"run", "kept.safetensors"}) {
    const Outcome outcome = vxTrain(usual + "--epochs 1000000000 --max-steps 1 --save s --resume " + from);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(outcome.err.ends_with(" steps are done\n")) << outcome.err;
  }
}
