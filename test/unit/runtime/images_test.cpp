// Images, which the host decodes by libvx_image.
#include "base/log.h"
#include "exec/image_library.h"
#include "programs.h"
#include "runtime_test.h"

namespace vx::test {

// A program that gives the image in its input.
static void addImage(ModuleBuilder &builder, const std::string &order = "RGB", int64_t samples = 3) {
  using enum format::ElementType;
  format::FunctionT &function = builder.function();
  function.symbols.push_back(symbol("bytes"));
  for (const char *name : {"height", "width"})
    function.symbols.push_back(symbol(name, 0, INT64_MAX, 1, /*dataDependent=*/true));
  function.inputs.push_back(argument("file", U8, symbolExpr(0)));
  function.outputs.push_back(argument("image", U8, symbolExpr(1), symbolExpr(2), constantExpr(samples)));
  builder.addFaultSites(1);
  format::ProgramT &program = builder.program(
      "main", 5, 2, 2,
      block(instruction(Op::ListEmpty, {0}, static_cast<int64_t>(U8)), instruction(Op::ListInsert, {0, 0, 3, 0, 0}),
            instruction(Op::HostCall, {1, 0}, 0, 0), instruction(Op::ListGet, {1, 1, 3, 1, 2, 4})));
  program.results.push_back(tensorResult(1, {1, 2, 4}));
  builder.module.host_functions.push_back(hostFunction(format::HostFunctionKind::ImageDecode, {U8}, order));
}

TEST(Images, needTheirLibrary) {
  ImageLibrary library;
  EXPECT_FAILS(
      ImageLibrary::open({{"no-such.so"}, "VX_IMAGE_LIBRARY"}, library), VX_UNSUPPORTED,
      "images need libvx_image: 'no-such.so' could not be opened: no-such.so: cannot open shared object file: No such "
      "file or directory; VX_IMAGE_LIBRARY names another one");
  EXPECT_FAILS(ImageLibrary::open({{"libm.so.6"}, ""}, library), VX_UNSUPPORTED,
               "images need libvx_image, 'libm.so.6' has no vx_image_version");
  EXPECT_FAILS(ImageLibrary::open({{VX_TEST_STAND_IN_IMAGE}, ""}, library), VX_UNSUPPORTED,
               "images need libvx_image of version 1, '" VX_TEST_STAND_IN_IMAGE "' is of version 2");
}

TEST(Images, refusedModules) {
  auto refused = [](auto change, std::string_view why) {
    ModuleBuilder builder;
    addImage(builder);
    change(*builder.module.host_functions[0]);
    builder.addCpuTarget();
    Ref<Module> module;
    const std::string path = builder.write();
    EXPECT_FAILS(Module::load(path, module), VX_INVALID_MODULE,
                 fmt::format("{}: function 0 of the host: {}", path, why));
  };
  refused([](format::HostFunctionT &host) { host.text = "YUV"; }, "text is 'YUV', expected RGB, BGR or Grayscale");
  refused([](format::HostFunctionT &host) { host.results = {format::ElementType::I32}; },
          "gives 1 tensors, of other types than its kind 7 does");
}

#ifdef VX_TEST_IMAGES

class ImagesOnDevice : public testing::TestWithParam<const char *> {
protected:
  void load(const std::string &order = "RGB", int64_t samples = 3) {
    ModuleBuilder builder;
    addImage(builder, order, samples);
    builder.addCpuTarget();
    ASSERT_TRUE(builder.addVulkanTarget()) << "the tests were built without the Vulkan kernels";
    ASSERT_OK(makeInstance(builder.write(), GetParam(), instance, 1));
  }
  Status decode(std::string_view file, std::vector<Ref<Value>> &outputs) {
    Ref<Value> value;
    const int64_t dims[] = {static_cast<int64_t>(file.size())};
    EXPECT_OK(Value::copyTensor(VX_U8, dims, file.data(), file.size(), value));
    return runMain(*instance, {value}, outputs);
  }
  void expectImage(std::string_view file, std::vector<int64_t> dims, std::string_view samples) {
    std::vector<Ref<Value>> outputs;
    ASSERT_OK(decode(file, outputs));
    EXPECT_EQ(std::vector<int64_t>(outputs[0]->dims().begin(), outputs[0]->dims().end()), dims);
    const void *bytes = nullptr;
    ASSERT_OK(outputs[0]->hostBytes(bytes));
    EXPECT_EQ(std::string_view(static_cast<const char *>(bytes), samples.size()), samples);
  }
  Ref<Instance> instance;
};
INSTANTIATE_TEST_SUITE_P(Devices, ImagesOnDevice, testing::ValuesIn(builtDevices({"cpu", "vulkan"})),
                         [](const auto &device) { return std::string(device.param); });

TEST_P(ImagesOnDevice, areDecodedByTheHost) {
  ASSERT_NO_FATAL_FAILURE(load());
  expectImage("P6 1 2 255\nABCXYZ", {2, 1, 3}, "ABCXYZ");
  expectImage("P5 3 1 255\nabc", {1, 3, 3}, "aaabbbccc");
  ASSERT_NO_FATAL_FAILURE(load("BGR"));
  expectImage("P6 1 2 255\nABCXYZ", {2, 1, 3}, "CBAZYX");
  ASSERT_NO_FATAL_FAILURE(load("Grayscale", 1));
  expectImage("P6 1 2 255\nAAAAnA", {2, 1, 1}, "A[");
}

// ONNX's ImageDecoder "will return an empty matrix"; the log says which node does, and why.
TEST_P(ImagesOnDevice, areEmptyWhereTheBytesAreNone) {
  ASSERT_NO_FATAL_FAILURE(load());
  std::vector<std::string> told;
  setLog([](void *user, vx_log_level,
            const char *message) { static_cast<std::vector<std::string> *>(user)->push_back(message); },
         &told, VX_LOG_WARNING);
  expectImage("P6 1 2 255\nABCXY", {0, 0, 3}, "");
  expectImage("", {0, 0, 3}, "");
  setLog(nullptr, nullptr, VX_LOG_NONE);
  EXPECT_EQ(told,
            (std::vector<std::string>{
                "node_0 (Gather): the PNM image of 16 bytes: it ends before its samples do: 5 bytes for 2 rows of 3",
                "node_0 (Gather): expected a BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP image, got 0 bytes"}));
}

TEST_P(ImagesOnDevice, thatAreNotDecodedFailTheCall) {
  ASSERT_NO_FATAL_FAILURE(load());
  std::vector<Ref<Value>> outputs;
  std::string large = "BM" + std::string(52, '\0');
  large[10] = 54, large[14] = 40, large[20] = 1, large[24] = 1, large[28] = 8, large[30] = 1; // 65536 x 65536, in runs
  large += std::string(1024, '\0');
  EXPECT_FAILS(decode(large, outputs), VX_FAULT,
               "node_0 (Gather): the BMP image of 1078 bytes: it is 65536 pixels wide and 65536 high, decoded are "
               "images of at most "
               "268435456 pixels");
  large[30] = 5;
  EXPECT_FAILS(
      decode(large, outputs), VX_FAULT,
      "node_0 (Gather): the BMP image of 1078 bytes: its compression has the number 5, decoded are 0, 1, 2, 3 and 6");
}

#endif

} // namespace vx::test
