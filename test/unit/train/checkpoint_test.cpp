// Checkpoints: what is in them, what does not load, and that one is whole whatever happens while it is written.
#include "vx/train/session.hpp"

#include "checkpoint_file.h"
#include "errors.h"
#include "refused_system_call.h"
#include "safetensors.h"
#include "training_module.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace vx::test;
using namespace vx::train;
namespace fs = std::filesystem;

namespace {

const std::string &modulePath() {
  static const std::string path = writeTrainingModule("checkpoint.vxm");
  return path;
}

vx::InstanceOptions cpu(uint64_t seed = 3) { return {.device = "cpu", .threads = 1, .seed = seed}; }

struct Data {
  explicit Data(int64_t count)
      : rows(count),
        set(Dataset::arrays({array<float>("x", {count, 4}, rows.x), array<int64_t>("label", {count}, rows.label)})) {}
  Rows rows;
  Dataset set;
};

struct Tensor {
  std::string name;
  vx_element_type type;
  std::vector<int64_t> dims;
};

// A file of zeros.
std::string writeTensors(const std::string &name, const std::vector<Tensor> &tensors,
                         const std::map<std::string, std::string> &metadata = {}) {
  const std::vector<uint8_t> zeros(1 << 12);
  SafeTensors content;
  content.metadata = metadata;
  for (const Tensor &tensor : tensors) {
    size_t size = vx_element_type_bits(tensor.type) / 8;
    for (int64_t dim : tensor.dims)
      size *= static_cast<size_t>(dim);
    content.tensors.push_back({tensor.name, tensor.type, tensor.dims, {zeros.data(), size}});
  }
  std::vector<uint8_t> file = safeTensorsHeader(content);
  for (const SafeTensor &tensor : content.tensors)
    file.insert(file.end(), tensor.bytes.begin(), tensor.bytes.end());
  writeFile(scratchPath(name), file);
  return scratchPath(name);
}

std::string freshFolder(const std::string &name) {
  const std::string path = scratchPath(name);
  fs::remove_all(path);
  fs::create_directory(path);
  return path;
}

std::vector<float> weightsOf(const Session &session) {
  const vx::Value value = session.read_variable("w0");
  return {value.data<float>().begin(), value.data<float>().end()};
}

} // namespace

TEST(Checkpoint, holdsAllThatTrainingGoesOnFrom) {
  const Data data(20);
  const std::string path = scratchPath("whole.safetensors");
  Session session(modulePath(), cpu());
  session.fit(data.set, {.epochs = 2, .batch = 8, .schedule = cosine(0.5, 0.25), .seed = 11});
  session.save(path);
  const CheckpointFile file(path);
  std::map<std::string, std::string> tensors;
  for (const SafeTensor &tensor : file.tensors())
    tensors[tensor.name] = safeTensorTypeName(tensor.type) + std::to_string(tensor.dims.size());
  EXPECT_EQ(tensors, (std::map<std::string, std::string>{{"dense.weight", "F322"},
                                                         {"dense.bias", "F321"},
                                                         {"momentum/dense.weight", "F322"},
                                                         {"momentum/dense.bias", "F321"},
                                                         {"step", "I640"}}));
  EXPECT_EQ(file.tensors()[0].name, "step"); // the largest elements first
  EXPECT_EQ(file.text("step"), "6");
  EXPECT_EQ(file.text("epoch"), "2");
  EXPECT_EQ(file.text("row"), "0");
  EXPECT_EQ(file.text("seed"), "11");
  EXPECT_EQ(file.text("schedule"), "cosine(0.5, 0.25)");
  EXPECT_EQ(file.text("accumulate"), "1");
  EXPECT_EQ(file.text("optimizer"), "sgd(momentum=0.9)");
  EXPECT_EQ(file.text("loss"), "mse");
  EXPECT_EQ(file.text("module").size(), 16u);
  EXPECT_TRUE(file.text("best_metric").starts_with("loss 0.")) << file.text("best_metric");

  session.save(path, Contents::weights);
  const CheckpointFile weights(path);
  EXPECT_FALSE(weights.isCheckpoint());
  EXPECT_EQ(weights.tensors().size(), 2u);
}

// A pool that holds parameters is no tensor of its own; one with bytes of nobody else is.
TEST(Checkpoint, pools) {
  const std::string module = writeTrainingModule("pools.vxm", [](ModuleBuilder &b) {
    auto add = [&](const char *name, int64_t elements, uint32_t storage, int64_t offset, vx::format::Role role) {
      const uint32_t number = b.addVariable(name, vx::format::ElementType::F32, {elements}, 4);
      b.module.storages.pop_back();
      b.module.variables[number]->role = role;
      b.module.variables[number]->storage = storage;
      b.module.variables[number]->offset = constantExpr(offset);
    };
    using vx::format::Role;
    const auto storage = static_cast<uint32_t>(b.module.storages.size());
    for (int i = 0; i < 2; ++i) {
      b.module.storages.push_back(std::make_unique<vx::format::StorageT>());
      b.module.storages.back()->size = constantExpr(256);
    }
    add("parameters", 64, storage, 0, Role::Parameter);
    add("a", 17, storage, 0, Role::Parameter); // and 60 bytes that align the next one
    add("b", 32, storage, 128, Role::Parameter);
    add("moments", 64, storage + 1, 0, Role::Optimizer);
    add("part", 16, storage + 1, 192, Role::Optimizer);
  });
  Session session(module, cpu());
  EXPECT_EQ(session.parameter_count(), 15u + 17 + 32);
  EXPECT_EQ(session.summary().find("parameters"), std::string::npos);
  session.write_variable("b", vx::Value::tensor<float>({32}, std::vector<float>(32, 5)));
  session.write_variable("moments", vx::Value::tensor<float>({64}, std::vector<float>(64, 6)));
  const std::string path = scratchPath("pools.safetensors");
  session.save(path);
  std::set<std::string> names;
  const CheckpointFile file(path);
  for (const SafeTensor &tensor : file.tensors())
    names.insert(tensor.name);
  EXPECT_EQ(names, (std::set<std::string>{"a", "b", "dense.bias", "dense.weight", "moments", "momentum/dense.bias",
                                          "momentum/dense.weight", "part", "step"}));
  Session resumed(module, cpu());
  resumed.load(path);
  EXPECT_EQ(resumed.read_variable("parameters").data<float>()[40], 5);
  EXPECT_EQ(resumed.read_variable("moments").data<float>()[63], 6);
  EXPECT_EQ(resumed.read_variable("part").data<float>()[2], 6);
}

TEST(Checkpoint, weightsOfOtherToolsLoad) {
  Session session(modulePath(), cpu());
  session.write_variable("momentum/dense.bias", vx::Value::tensor<float>({3}, {1, 2, 3}));
  EXPECT_TRUE(
      session
          .load(writeTensors("torch.safetensors", {{"dense.weight", VX_F32, {3, 4}}, {"dense.bias", VX_F32, {3}}},
                             {{"format", "pt"}}))
          .empty());
  EXPECT_EQ(weightsOf(session), std::vector<float>(12, 0.0f));
  EXPECT_EQ(session.read_variable("momentum/dense.bias").data<float>()[1], 2); // as it was
  // By the variable's own name too.
  session.load(writeTensors("own.safetensors", {{"w0", VX_F32, {3, 4}}, {"dense.bias", VX_F32, {3}}}));
}

TEST(Checkpoint, everythingThatDoesNotFitAtOnce) {
  Session session(modulePath(), cpu());
  const std::vector<float> before = weightsOf(session);
  std::string path = writeTensors("other.safetensors",
                                  {{"dense.weight", VX_F32, {4, 3}}, {"extra", VX_I64, {2}}, {"fc2.bias", VX_F16, {}}});
  EXPECT_EQ(
      errorOf([&] { session.load(path); }),
      "data: " + path +
          ": does not fit the model: 'dense.weight' is f32[4,3], expected f32[3,4]; 'dense.bias' f32[3] is missing; "
          "nothing takes 'extra' i64[2]; nothing takes 'fc2.bias' f16[]");
  path = writeTensors("half.safetensors", {{"dense.weight", VX_F16, {3, 4}}, {"dense.bias", VX_F32, {3}}});
  EXPECT_EQ(errorOf([&] { session.load(path); }),
            "data: " + path + ": does not fit the model: 'dense.weight' is f16[3,4], expected f32[3,4]");

  // A checkpoint of another model.
  const std::string otherModule = writeTrainingModule("other.vxm", [](ModuleBuilder &b) {
    b.module.training->optimizer = "adamw";
    b.module.training->loss = "cross_entropy";
    b.module.variables[2]->name = "adamw.m/dense.weight";
  });
  Session other(otherModule, cpu());
  path = scratchPath("adamw.safetensors");
  other.save(path);
  EXPECT_EQ(errorOf([&] { session.load(path); }),
            "data: " + path +
                ": does not fit the model (the file: adamw, cross_entropy; the module: sgd(momentum=0.9), mse): "
                "'momentum/dense.weight' f32[3,4] is missing; nothing takes 'adamw.m/dense.weight' f32[3,4]");
  EXPECT_EQ(weightsOf(session), before);

  // Another module with the same variables: that is said, and no more.
  const std::string same = writeTrainingModule("same.vxm", [](ModuleBuilder &b) { b.module.training->loss = "huber"; });
  Session third(same, cpu());
  third.save(path);
  EXPECT_EQ(session.load(path),
            std::vector<std::string>{path + ": a checkpoint of another module, huber by sgd(momentum="
                                            "0.9), whose variables are the same"});
}

TEST(Checkpoint, damagedFiles) {
  Session session(modulePath(), cpu());
  const std::string path = scratchPath("damaged.safetensors");
  session.save(path);
  const std::vector<uint8_t> whole = readFile(path);
  for (size_t size = 0; size < whole.size(); ++size) {
    writeFile(path, {whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)});
    const std::string error = errorOf([&] { session.load(path); });
    ASSERT_TRUE(error.starts_with("data: " + path + ": truncated: ")) << size << " " << error;
  }
  std::vector<uint8_t> changed = whole;
  changed.back() ^= 1;
  writeFile(path, changed);
  const std::string error = errorOf([&] { session.load(path); });
  EXPECT_TRUE(error.starts_with("data: " + path + ": damaged: the tensors' bytes have the hash ")) << error;
  EXPECT_EQ(errorOf([&] { session.load(scratchPath("none.safetensors")); }),
            "data: " + scratchPath("none.safetensors") + ": cannot be opened: No such file or directory");

  const std::vector<Tensor> all{{"step", VX_I64, {}},
                                {"dense.bias", VX_F32, {3}},
                                {"dense.weight", VX_F32, {3, 4}},
                                {"momentum/dense.bias", VX_F32, {3}},
                                {"momentum/dense.weight", VX_F32, {3, 4}}};
  std::map<std::string, std::string> metadata{{"vx_checkpoint", "2"}};
  writeTensors("damaged.safetensors", all, metadata);
  EXPECT_EQ(errorOf([&] { session.load(path); }),
            "data: " + path + ": a checkpoint of form '2', this program reads '1'");
  metadata["vx_checkpoint"] = "1";
  metadata["step"] = "many";
  writeTensors("damaged.safetensors", all, metadata);
  SafeTensors content;
  std::string problem;
  const std::vector<uint8_t> bytes = readFile(path);
  ASSERT_TRUE(parseSafeTensors(bytes, content, problem)) << problem;
  metadata["hash"] = hashOf(content.tensors);
  writeTensors("damaged.safetensors", all, metadata);
  EXPECT_EQ(errorOf([&] { session.load(path); }),
            "data: " + path + ": the checkpoint's 'step': expected a number, got 'many'");
}

TEST(Checkpoint, foldersStandForTheNewestThatIsWhole) {
  const std::string folder = freshFolder("newest");
  Session session(modulePath(), cpu());
  EXPECT_EQ(errorOf([&] { session.load(folder); }),
            "data: " + folder + ": no whole checkpoint in this folder, expected checkpoint-000000000000.safetensors");
  EXPECT_EQ(errorOf([&] { latest_checkpoint(folder + "/none"); }),
            "data: " + folder + "/none: cannot be read: No such file or directory");
  const Data data(20);
  session.fit(data.set, {.epochs = 2, .batch = 10, .callbacks = {checkpoint(1, folder)}});
  const std::string last = folder + "/checkpoint-000000000004.safetensors";
  EXPECT_EQ(latest_checkpoint(folder), last);
  fs::resize_file(last, 40);
  Session resumed(modulePath(), cpu());
  const std::vector<std::string> notes = resumed.load(folder);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with(last + ": truncated: ")) << notes[0];
  EXPECT_EQ(resumed.progress().step, 2u);
}

TEST(Checkpoint, namesThatCannotBeWritten) {
  Session session(modulePath(), cpu());
  EXPECT_EQ(errorOf([&] { session.save("/nowhere/x.safetensors"); }),
            "io: cannot write '/nowhere/x.safetensors': No such file or directory");
  const std::string folder = freshFolder("folder");
  EXPECT_EQ(errorOf([&] { session.save(folder); }),
            "io: cannot write '" + folder + "': expected a name for a file, got a folder");
  Session odd(writeTrainingModule(
                  "odd.vxm", [](ModuleBuilder &b) { b.addVariable("cache", vx::format::ElementType::I4, {4}, 2); }),
              cpu());
  EXPECT_EQ(errorOf([&] { odd.save(folder + "/x.safetensors"); }),
            "argument: variable 'cache' is i4[4], which safetensors has no name for");
}

// A file that may not grow, as on a full disk: the error says so, the old file stays, and nothing else is left.
TEST(Checkpoint, noSpaceLeft) {
  const std::string folder = freshFolder("full"), path = folder + "/x.safetensors";
  Session session(modulePath(), cpu());
  session.save(path);
  const std::vector<uint8_t> before = readFile(path);
  for (const rlim_t limit : {rlim_t(0), rlim_t(100), rlim_t(before.size() - 1)}) {
    const pid_t child = fork();
    if (child == 0) {
      Session copy(modulePath(), cpu()); // the other one stays behind
      copy.write_variable("dense.bias", vx::Value::tensor<float>({3}, {1, 2, 3}));
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit most{limit, limit};
      setrlimit(RLIMIT_FSIZE, &most);
      const bool isSaid = errorOf([&] { copy.save(path); }) == "io: cannot write '" + path + "': File too large";
      _exit(isSaid ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << limit;
    EXPECT_EQ(readFile(path), before);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  }
}

// A disk that breaks in the middle: what stands under the name is whole, and nothing else is left.
TEST(Checkpoint, brokenDisks) {
  if (!canRefuseSystemCalls())
    GTEST_SKIP() << "no seccomp: the kernel has no filters of system calls";
  const std::string folder = freshFolder("broken"), path = folder + "/x.safetensors";
  Session session(modulePath(), cpu());
  session.save(path);
  const std::vector<uint8_t> before = readFile(path);
  session.write_variable("dense.bias", vx::Value::tensor<float>({3}, {1, 2, 3}));
  session.save(folder + "/y.safetensors");
  const std::vector<uint8_t> after = readFile(folder + "/y.safetensors");
  fs::remove(folder + "/y.safetensors");
  ASSERT_NE(before, after);
  auto check = [&](std::initializer_list<RefusedCall> calls, const std::string &begin, const std::string &end,
                   const std::vector<uint8_t> &wanted) {
    const pid_t child = fork();
    if (child == 0) {
      Session copy(modulePath(), cpu()); // the other one stays behind
      copy.write_variable("dense.bias", vx::Value::tensor<float>({3}, {1, 2, 3}));
      refuseSystemCalls(calls, EIO);
      const std::string error = errorOf([&] { copy.save(path); });
      const bool isSaid = error.starts_with(begin) && error.ends_with(end);
      if (!isSaid)
        std::fprintf(stderr, "got '%s'\n", error.c_str());
      _exit(isSaid ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << begin;
    EXPECT_EQ(readFile(path), wanted) << begin;
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  };
  check({{SYS_fsync}}, "io: cannot write '" + path + "': ", "Input/output error", before);
#ifdef SYS_rename
  check({{SYS_rename}, {SYS_renameat}, {SYS_renameat2}}, "io: cannot rename '" + path + ".vx-",
        ".partial' to '" + path + "': Input/output error", before);
#else
  check({{SYS_renameat}, {SYS_renameat2}}, "io: cannot rename '" + path + ".vx-",
        ".partial' to '" + path + "': Input/output error", before);
#endif
  // The folder cannot be brought to the disk: the new file is there, and nobody promises that it stays.
  check({{SYS_openat, 2, O_DIRECTORY}}, "io: cannot write the folder '" + folder + "/': ", "Input/output error", after);
}

static std::set<std::string> namesIn(const std::string &folder) {
  std::set<std::string> names;
  std::error_code ignored;
  for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored))
    names.insert(it->path().filename());
  return names;
}

// A process that saves one checkpoint after the other is killed at any moment: the last one that has its name is whole.
static void killWhileSaving(int times) {
  const std::string folder = freshFolder("killed");
  const std::string module = writeTrainingModule("large.vxm", [](ModuleBuilder &b) {
    b.module.variables[b.addVariable("embedding", vx::format::ElementType::F32, {512, 256}, 512 * 256 * 4)]->role =
        vx::format::Role::Parameter;
  });
  const Data data(4);
  {
    Session session(module, cpu());
    session.fit(data.set, {.batch = 4, .callbacks = {checkpoint(1, folder)}});
  }
  uint64_t last = 1;
  int midway = 0;
  for (int i = 0; i < times; ++i) {
    const std::set<std::string> first = namesIn(folder);
    const pid_t child = fork();
    if (child == 0) {
      Session session(module, cpu());
      session.load(folder);
      // Each epoch is a step and a checkpoint.
      session.fit(data.set, {.epochs = 1u << 30, .batch = 4, .callbacks = {checkpoint(1, folder)}});
      _exit(1);
    }
    // Not before it has begun to write, and then at odd times.
    for (int wait = 0; wait < 60000 && namesIn(folder) == first; ++wait)
      usleep(500);
    usleep(static_cast<useconds_t>(i * 7919 % 13000));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "ended by itself: " << status;
    for (const auto &entry : fs::directory_iterator(folder))
      midway += entry.path().extension() == ".partial";
    Session session(module, cpu());
    EXPECT_TRUE(session.load(folder).empty()) << "the newest one was not whole";
    ASSERT_GE(session.progress().step, last);
    EXPECT_EQ(session.read_variable("step").data<int64_t>()[0], static_cast<int64_t>(session.progress().step));
    last = session.progress().step;
  }
  EXPECT_GT(last, 1u);
  EXPECT_GT(midway, 0) << "no kill came while a file was written";
  std::printf("%d kills, %d of them while a file was written, %llu steps\n", times, midway,
              static_cast<unsigned long long>(last));
}

TEST(Checkpoint, killedWhileSaving) { killWhileSaving(40); }
// By `ctest -C long`.
TEST(Checkpoint, killedWhileSavingAThousandTimes) { killWhileSaving(1000); }
