// Exports to ONNX: what a skeleton may hold, what is made of it, and that a file is whole or not there.
#include "vx/train/session.hpp"

#include "errors.h"
#include "inference_form.h"
#include "onnx_skeleton.h"
#include "skeleton_bytes.h"
#include "training_module.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace vx::test;
using namespace vx::train;
namespace fs = std::filesystem;

namespace {

constexpr uint8_t numbers[] = {1, 2, 3, 4, 5, 6, 7, 8}, others[] = {9, 8, 7, 6};
constexpr int64_t two[] = {2}, four[] = {4}, unknown[] = {-1};
const vx_variable_info variables[] = {
    {"a", VX_F32, 1, two, 8, VX_ROLE_PARAMETER, "a", 0, 0},
    {"b", VX_F32, 1, unknown, 0, VX_ROLE_PARAMETER, "b", 1, -1},
};
const vx_constant_info constants[] = {{"c", VX_U8, 1, four, others, sizeof(others)}};

std::string parse(const std::vector<uint8_t> &bytes, OnnxSkeleton &skeleton) {
  std::string error;
  const bool isGood = skeleton.parse(bytes, variables, constants, error);
  EXPECT_EQ(isGood, error.empty());
  return error.empty() ? "ok" : error;
}

std::string parse(const std::vector<vx_skeleton_piece> &model, const std::vector<vx_skeleton_piece> &weights = {},
                  std::string_view text = "") {
  OnnxSkeleton skeleton;
  return parse(skeletonBytes(model, weights, text), skeleton);
}

struct Written {
  std::string model, weights, error;
};

Written write(const OnnxSkeleton &skeleton, const std::string &location) {
  Written written;
  auto elements = [](uint32_t) { return std::span<const uint8_t>(numbers); };
  auto into = [](std::string &text) {
    return [&text](std::span<const uint8_t> bytes) { text.append(bytes.begin(), bytes.end()); };
  };
  skeleton.writeModel(location, ExportForm::training, elements, into(written.model), written.error);
  skeleton.writeWeights(elements, into(written.weights));
  return written;
}

std::string exportingModule(const std::string &name, bool hasWeights,
                            const std::function<void(ModuleBuilder &)> &change = {}) {
  return writeTrainingModule(name, [&](ModuleBuilder &builder) {
    addSkeleton(builder, hasWeights);
    if (change)
      change(builder);
  });
}

std::string textOf(const std::string &path) {
  const std::vector<uint8_t> bytes = readFile(path);
  return {bytes.begin(), bytes.end()};
}

std::string elementsOf(const Session &session) {
  const vx::Value value = session.read_variable("w0");
  return {reinterpret_cast<const char *>(value.bytes().data()), value.bytes().size()};
}

} // namespace

TEST(OnnxSkeleton, piecesBecomeBytes) {
  OnnxSkeleton skeleton;
  const std::vector<uint8_t> bytes = skeletonBytes(
      {{VX_PIECE_BYTES, 0, 1},
       {VX_PIECE_LENGTH, 5, 0}, // of an outer message, which has one inside
       {VX_PIECE_BYTES, 0, 1},
       {VX_PIECE_LENGTH, 2, 0},
       {VX_PIECE_LOCATION, 0, 0},
       {VX_PIECE_BYTES, 0, 1},
       {VX_PIECE_VARIABLE, 0, 8},
       {VX_PIECE_LENGTH, 0, 0},
       {VX_PIECE_CONSTANT, 0, 4}},
      {{VX_PIECE_VARIABLE, 0, 8}, {VX_PIECE_ZEROS, 0, 3}, {VX_PIECE_CONSTANT, 0, 4}, {VX_PIECE_BYTES, 0, 1}}, "abcd");
  EXPECT_EQ(parse(bytes, skeleton), "ok");
  EXPECT_EQ(skeleton.variables(), std::vector<uint32_t>{0});
  const std::string elements(numbers, std::end(numbers)), fixed(others, std::end(others));
  Written written = write(skeleton, "f.data");
  EXPECT_EQ(written.error, "");
  EXPECT_EQ(written.model,
            "a" + std::string(1, 17) + "b" + std::string(1, 7) + "f.datac" + elements + std::string(1, 0) + fixed);
  EXPECT_EQ(written.weights, elements + std::string(3, 0) + fixed + "d");
  // A length of two bytes is one byte more for the message around it.
  written = write(skeleton, std::string(200, 'f'));
  EXPECT_EQ(written.model, "a\xd4\x01"
                           "b\xc9\x01" +
                               std::string(200, 'f') + "c" + elements + std::string(1, 0) + fixed);
}

TEST(OnnxSkeleton, takesNothingOnTrust) {
  OnnxSkeleton skeleton;
  std::vector<uint8_t> good = skeletonBytes({{VX_PIECE_BYTES, 0, 2}}, {}, "xy");
  EXPECT_EQ(parse(good, skeleton), "ok");
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(parse({good.begin(), good.begin() + static_cast<ptrdiff_t>(size)}, skeleton), "ok") << size;
  EXPECT_EQ(parse({good.begin(), good.begin() + 23}, skeleton), "the skeleton has 23 bytes, its header needs 24");
  EXPECT_EQ(parse({good.begin(), good.begin() + 39}, skeleton), "1 pieces of the skeleton need 16 bytes, there are 15");
  EXPECT_EQ(parse({good.begin(), good.end() - 1}, skeleton), "piece 0 of the skeleton needs 2 bytes, there are 1");
  good.push_back(0);
  EXPECT_EQ(parse(good, skeleton), "the skeleton has 1 bytes after those of its pieces");
  good[8] = 2;
  EXPECT_EQ(parse(good, skeleton), "the skeleton has the form 2.0, this program reads 1.0");
  good[0] = 'v';
  EXPECT_EQ(parse(good, skeleton), "the skeleton does not begin with 'VXONNX'");

  EXPECT_EQ(parse({{6, 0, 0}}), "piece 0 of the skeleton has the unknown kind 6");
  EXPECT_EQ(parse({{VX_PIECE_BYTES, 1, 0}}),
            "piece 0 of the skeleton, of kind 0, has the number 1 and the size 0, expected 0");
  EXPECT_EQ(parse({{VX_PIECE_LENGTH, 0, 9}}),
            "piece 0 of the skeleton, of kind 4, has the number 0 and the size 9, expected 0");
  EXPECT_EQ(parse({{VX_PIECE_VARIABLE, 2, 8}}), "piece 0 of the skeleton: variable 2 does not exist, there are 2");
  EXPECT_EQ(parse({{VX_PIECE_VARIABLE, 0, 4}}), "piece 0 of the skeleton needs 4 bytes of variable 'a', it has 8");
  EXPECT_EQ(parse({{VX_PIECE_VARIABLE, 1, 0}}),
            "piece 0 of the skeleton: the size of variable 'b' depends on the instance");
  EXPECT_EQ(parse({{VX_PIECE_CONSTANT, 1, 4}}), "piece 0 of the skeleton: constant 1 does not exist, there are 1");
  EXPECT_EQ(parse({{VX_PIECE_CONSTANT, 0, 5}}), "piece 0 of the skeleton needs 5 bytes of constant 'c', it has 4");
  EXPECT_EQ(parse({{VX_PIECE_ZEROS, 0, 4096}, {VX_PIECE_ZEROS, 0, 4097}}),
            "piece 1 of the skeleton is 4097 zeros, allowed are 4096");
  EXPECT_EQ(parse({{VX_PIECE_LENGTH, 1, 0}}), "piece 0 of the skeleton is the length of 1 pieces, there are 0");
  EXPECT_EQ(parse({{VX_PIECE_LENGTH, 1, 0}}, {{VX_PIECE_ZEROS, 0, 1}}),
            "piece 0 of the skeleton is the length of 1 pieces, there are 0");
  EXPECT_EQ(parse({}, {{VX_PIECE_LENGTH, 0, 0}}), "piece 0 of the skeleton, of kind 4, is in the file of weights");
  EXPECT_EQ(parse({}, {{VX_PIECE_LOCATION, 0, 0}}), "piece 0 of the skeleton, of kind 3, is in the file of weights");
  EXPECT_EQ(parse({{VX_PIECE_LOCATION, 0, 0}}), "the skeleton names a file of weights, but has no pieces for it");
  EXPECT_EQ(parse({{VX_PIECE_BYTES, 0, UINT64_MAX}}),
            "piece 0 of the skeleton needs 18446744073709551615 bytes, there are 0");
}

TEST(OnnxSkeleton, largerThanAFileMayBe) {
  // Each piece is there, but their sum is no model.
  const std::vector<uint8_t> many(1 << 20);
  const int64_t dims[] = {1 << 20};
  const vx_constant_info large[] = {{"c", VX_U8, 1, dims, many.data(), many.size()}};
  for (size_t count : {2047, 2048}) {
    OnnxSkeleton skeleton;
    std::string error;
    const std::vector<uint8_t> bytes =
        skeletonBytes(std::vector<vx_skeleton_piece>(count, {VX_PIECE_CONSTANT, 0, many.size()}), {}, "");
    ASSERT_TRUE(skeleton.parse(bytes, {}, large, error)) << error;
    uint64_t size = 0;
    const bool isGood = skeleton.writeModel(
        "", ExportForm::training, {}, [&](std::span<const uint8_t> part) { size += part.size(); }, error);
    EXPECT_EQ(isGood, count == 2047);
    EXPECT_EQ(error, isGood ? ""
                            : "the model has more than 2147483647 bytes, which no ONNX file may have; keep its weights "
                              "beside it (vx-compile --export=external)");
    EXPECT_EQ(size, isGood ? count << 20 : 0);
  }
}

TEST(Export, writesTheVariables) {
  Session session(exportingModule("export.vxm", false), {.device = "cpu", .seed = 3});
  EXPECT_TRUE(session.exports_onnx());
  const std::string path = scratchPath("export.onnx"), before = elementsOf(session);
  session.export_onnx(path, ExportForm::training);
  EXPECT_EQ(textOf(path), "\x32<" + before + ">");
  EXPECT_FALSE(fs::exists(path + ".data"));
  // As they are now, onto what was there.
  session.write_variable("w0", vx::Value::tensor<float>({3, 4}, std::vector<float>(12, 1.5f)));
  session.export_onnx(path, ExportForm::training);
  EXPECT_EQ(textOf(path), "\x32<" + elementsOf(session) + ">");
  EXPECT_NE(elementsOf(session), before);
}

TEST(Export, weightsBeside) {
  Session session(exportingModule("beside.vxm", true), {.device = "cpu", .seed = 3});
  const std::string path = scratchPath("beside.onnx");
  session.export_onnx(path, ExportForm::training);
  EXPECT_EQ(textOf(path), "<>beside.onnx.data");
  EXPECT_EQ(textOf(path + ".data"), elementsOf(session));
  // Where one of the two cannot have its name, the other one stays what it was.
  session.write_variable("w0", vx::Value::tensor<float>({3, 4}, std::vector<float>(12, 1.5f)));
  const std::string old = textOf(path + ".data");
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_EQ(errorOf([&] { session.export_onnx(path, ExportForm::training); }),
            "io: cannot write '" + path + "': expected a name for a file, got a folder");
  EXPECT_EQ(textOf(path + ".data"), old);
  fs::remove(path);
}

TEST(Export, refuses) {
  Session plain(writeTrainingModule("plain.vxm"), {.device = "cpu"});
  EXPECT_FALSE(plain.exports_onnx());
  EXPECT_EQ(
      errorOf([&] { plain.export_onnx(scratchPath("x.onnx")); }),
      "argument: the module has no ONNX model to export: use one that vx-compile --train has made of an ONNX file, "
      "without --export=none");
  // A part that is no model can only be exported as it is.
  Session strange(exportingModule("strange.vxm", false), {.device = "cpu"});
  EXPECT_EQ(errorOf([&] { strange.export_onnx(scratchPath("x.onnx")); }),
            "data: asset 'model.onnx' of the module: the skeleton is of no ONNX model");
  // A skeleton that says what is not so.
  const std::string wrong =
      exportingModule("wrong.vxm", false, [](ModuleBuilder &builder) { --builder.module.assets[0]->size; });
  EXPECT_EQ(errorOf([&] { Session(wrong, {.device = "cpu"}).export_onnx(scratchPath("x.onnx")); }),
            "data: asset 'model.onnx' of the module: piece 3 of the skeleton needs 1 bytes, there are 0");
  // One whose bytes have changed.
  const std::string damaged = exportingModule("damaged.vxm", false);
  std::vector<uint8_t> bytes = readFile(damaged);
  const std::string_view magic("VXONNX", 6);
  const auto found = std::search(bytes.begin(), bytes.end(), magic.begin(), magic.end());
  ASSERT_NE(found, bytes.end());
  found[8 + 16 + 4 * 16] = '{';
  writeFile(damaged, bytes);
  const std::string error = errorOf([&] { Session(damaged, {.device = "cpu"}).export_onnx(scratchPath("x.onnx")); });
  EXPECT_NE(error.find("(assets, "), std::string::npos) << error;
  EXPECT_NE(error.find("is damaged: its hash is "), std::string::npos) << error;
  EXPECT_FALSE(fs::exists(scratchPath("x.onnx")));
}

// Where the disk is full, what stands under the names stays, and nothing is left beside it.
TEST(Export, noSpaceLeft) {
  const std::string folder = scratchPath("full-export");
  for (bool hasWeights : {false, true}) {
    fs::remove_all(folder);
    fs::create_directory(folder);
    const std::string module = exportingModule("full.vxm", hasWeights), path = folder + "/m.onnx";
    writeFile(path, {'o', 'l', 'd'});
    const pid_t child = fork();
    if (child == 0) {
      Session session(module, {.device = "cpu", .threads = 1});
      signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{20, 20};
      setrlimit(RLIMIT_FSIZE, &limit);
      const std::string file = hasWeights ? path + ".data" : path;
      _exit(errorOf([&] { session.export_onnx(path, ExportForm::training); }) ==
                    "io: cannot write '" + file + "': File too large"
                ? 0
                : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(textOf(path), "old");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  }
  Session session(exportingModule("export.vxm", false), {.device = "cpu"});
  EXPECT_EQ(errorOf([&] { session.export_onnx("/nowhere/m.onnx", ExportForm::training); }),
            "io: cannot write '/nowhere/m.onnx': No such file or directory");
}

namespace {

std::string varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7)
    text += static_cast<char>((value & 0x7f) | 0x80);
  return text + static_cast<char>(value);
}
std::string field(uint64_t number, const std::string &payload) {
  return varint(number << 3 | 2) + varint(payload.size()) + payload;
}
std::string node(const std::string &op, const std::vector<std::string> &inputs, const std::vector<std::string> &outputs,
                 const std::string &more = "") {
  std::string text;
  for (const std::string &input : inputs)
    text += field(1, input);
  for (const std::string &output : outputs)
    text += field(2, output);
  return field(1, text + field(4, op) + more);
}
std::string tensor(const std::string &name) { return field(5, field(8, name)); }
std::string result(const std::string &name) { return field(12, field(1, name)); }
std::string identity(const std::string &from, const std::string &to) {
  return field(1, field(1, from) + field(2, to) + field(3, to + "/Identity") + field(4, "Identity"));
}
std::string flag(const std::string &name, char value) { return field(5, field(1, name) + "\x18" + value); }

// The bytes of a model with this graph, or with others beside it, in the form that infers.
std::string infer(const std::string &graph, const std::string &functions = "") {
  const std::string text = field(7, graph) + functions;
  ModelBytes bytes;
  // In pieces, as a skeleton has them.
  for (size_t i = 0; i < text.size(); i += 7)
    bytes.add(text.substr(i, 7));
  std::string error, made;
  if (!toInferenceForm(bytes, error))
    return error;
  for (const Segment &segment : bytes.segments())
    made.append(reinterpret_cast<const char *>(segment.data), segment.size);
  return made;
}

} // namespace

TEST(InferenceForm, dropoutsGo) {
  // Values that only they have read go with them, and values of other readers stay.
  EXPECT_EQ(infer(node("Relu", {"x"}, {"a"}) + node("Dropout", {"a", "ratio", "on"}, {"b", "mask"}) +
                  node("Dropout", {"b", "half"}, {"c"}) + node("Constant", {}, {"on"}) +
                  node("Add", {"c", "half"}, {"y"}) + tensor("ratio") + tensor("half") + result("y") +
                  field(13, field(1, "b")) + field(13, field(1, "a"))),
            field(7, node("Relu", {"x"}, {"a"}) + node("Add", {"a", "half"}, {"y"}) + tensor("half") + result("y") +
                         field(13, field(1, "a"))));
  // A result keeps its name, also where others read it.
  EXPECT_EQ(infer(node("Dropout", {"x"}, {"y"}) + node("Relu", {"y"}, {"z"}) + result("y") + result("z")),
            field(7, identity("x", "y") + node("Relu", {"x"}, {"z"}) + result("y") + result("z")));
  // One whose mask is read has to stay.
  EXPECT_EQ(infer(node("Dropout", {"x", "r", "on"}, {"y", "mask"}) + tensor("r") + tensor("on") + result("mask")),
            field(7, node("Dropout", {"x", "r"}, {"y", "mask"}) + tensor("r") + result("mask")));
  const std::string inferring = node("Dropout", {"x", "r"}, {"y", "mask"}) + tensor("r") + result("mask");
  EXPECT_EQ(infer(inferring), field(7, inferring));
  // In branches, which read values from outside, and in functions.
  const auto branch = [](const std::string &graph) { return field(5, field(1, "then_branch") + field(6, graph)); };
  EXPECT_EQ(
      infer(node("Dropout", {"x"}, {"a"}) +
            node("If", {"c"}, {"y"}, branch(node("Dropout", {"a"}, {"b"}) + node("Neg", {"b"}, {"t"}) + result("t"))) +
            result("y")),
      field(7, node("If", {"c"}, {"y"}, branch(node("Neg", {"x"}, {"t"}) + result("t"))) + result("y")));
  const auto function = [](const std::string &nodes) { return field(25, field(4, "x") + field(5, "y") + nodes); };
  const auto inFunction = [](const std::string &made) { return "\x3a" + made.substr(1); }; // a node is field 7 there
  EXPECT_EQ(
      infer(result("y"), function(inFunction(node("Dropout", {"x"}, {"a"})) + inFunction(node("Abs", {"a"}, {"y"})))),
      field(7, result("y")) + function(inFunction(node("Abs", {"x"}, {"y"}))));
  // Those of other domains are not ONNX's.
  const std::string others = node("Dropout", {"x"}, {"a"}, field(7, "mine")) + node("Abs", {"a"}, {"y"}) + result("y");
  EXPECT_EQ(infer(others), field(7, others));
}

TEST(InferenceForm, batchNormsUseTheirStatistics) {
  const std::vector<std::string> inputs = {"x", "s", "b", "m", "v"};
  const std::string plain = node("BatchNormalization", inputs, {"y"}, flag("training_mode", 0)) + result("y");
  EXPECT_EQ(infer(plain), field(7, plain));
  EXPECT_EQ(infer(node("BatchNormalization", inputs, {"y", "m2", "v2"}, flag("spatial", 1) + flag("training_mode", 1)) +
                  node("Neg", {"v2"}, {"z"}) + result("y") + result("m2") + result("z")),
            field(7, node("BatchNormalization", inputs, {"y"}, flag("spatial", 1)) + identity("m", "m2") +
                         node("Neg", {"v"}, {"z"}) + result("y") + result("m2") + result("z")));
  // Before version 14 the number of outputs says that it trains.
  EXPECT_EQ(infer(node("BatchNormalization", inputs, {"y", "m2", "v2", "m3", "v3"}) + result("y")),
            field(7, node("BatchNormalization", inputs, {"y"}) + result("y")));
}

TEST(InferenceForm, refusesWhatIsNoModel) {
  const std::string reason = "the skeleton is of no ONNX model";
  EXPECT_EQ(infer(node("Dropout", {"a"}, {"b"}) + node("Dropout", {"b"}, {"a"})), reason);
  EXPECT_EQ(infer(node("Dropout", {"a"}, {"a"})), reason);
  EXPECT_EQ(infer(node("Dropout", {"a"}, {"b"}) + node("Dropout", {"c"}, {"b"})), reason);
  EXPECT_EQ(infer("\x0a\x7f"), reason);
  EXPECT_EQ(infer("\x0b"), reason);
  // Graphs in graphs, deeper than a reader of protobuf goes.
  std::string deep = result("y");
  for (int i = 0; i < 64; ++i)
    deep = field(1, field(5, field(6, deep)));
  EXPECT_EQ(infer(deep), field(7, deep));
  EXPECT_EQ(infer(field(1, field(5, field(6, deep)))), reason);
  // An empty graph is one.
  EXPECT_EQ(infer(""), field(7, ""));
}
