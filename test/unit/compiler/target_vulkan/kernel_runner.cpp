#include "kernel_runner.h"

#include "drivers/vulkan/vulkan_driver.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "vx/Codegen/GPU.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace vx::test {

/// What spirv-val says against the code; empty when it is valid or there is no spirv-val.
static std::string validate(const KernelBinary &binary) {
  if (std::string_view(VX_SPIRV_VAL).empty())
    return "";
  llvm::SmallString<128> path, log;
  int descriptor = -1;
  if (llvm::sys::fs::createTemporaryFile("vx-kernel", "spv", descriptor, path))
    return "no temporary file could be made";
  {
    llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
    out.write(binary.code.data(), binary.code.size());
  }
  (void)llvm::sys::fs::createTemporaryFile("vx-kernel", "log", log);
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, log.str(), log.str()};
  int status = llvm::sys::ExecuteAndWait(VX_SPIRV_VAL, {VX_SPIRV_VAL, "--target-env", "vulkan1.2", path}, std::nullopt,
                                         redirects);
  std::string message;
  if (status != 0) {
    auto text = llvm::MemoryBuffer::getFile(log);
    message = "spirv-val: " + (text ? (*text)->getBuffer().str() : std::string("failed"));
  }
  llvm::sys::fs::remove(path);
  llvm::sys::fs::remove(log);
  return message;
}

Compiled compile(const std::string &text, Form form) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<VXDialect, vxk::VXKDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  Compiled compiled;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      compiled.error += diagnostic.str() + "\n";
  });
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return compiled;

  std::unique_ptr<TargetBackend> backend = createVulkanBackend();
  std::string error;
  TargetSpec spec = backend->variants({}, error)->front();
  mlir::PassManager pm(&context);
  if (form == Form::Graph)
    buildGPUCodegenPipeline(pm, spec);
  if (form == Form::Linalg)
    buildGPUKernelPipeline(pm, spec);
  if (mlir::failed(pm.run(*module))) {
    compiled.error += "code generation failed";
    return compiled;
  }
  for (auto function : module->getOps<mlir::func::FuncOp>())
    if (auto threads = function->getAttrOfType<mlir::IntegerAttr>(vxk::kThreadsAttr))
      compiled.threads = static_cast<uint32_t>(threads.getInt());
  mlir::PassManager target(&context);
  buildVulkanPipeline(target);
  if (mlir::failed(target.run(*module))) {
    compiled.error += "conversion failed";
    return compiled;
  }
  mlir::FailureOr<KernelBinary> binary = backend->serialize(*module, spec, compiled.error);
  if (mlir::failed(binary))
    return compiled;
  compiled.binary = std::move(*binary);
  compiled.error += validate(compiled.binary);
  return compiled;
}

void KernelTest::SetUp() {
  hal::Driver &driver = vulkan::driver();
  std::vector<hal::DeviceInfo> devices;
  hal::Refusal refusal = driver.enumerate(devices);
  if (refusal.code != hal::RefusalCode::None)
    GTEST_SKIP() << "no Vulkan device: " << refusal.reason;
  Status opened = driver.open(0, {}, device);
  ASSERT_TRUE(opened.ok()) << opened.message();
  Status made = device->createStream(stream);
  ASSERT_TRUE(made.ok()) << made.message();
}

void KernelTest::run(const Compiled &kernel, std::vector<Bytes> &buffers, const std::vector<int64_t> &scalars,
                     uint64_t workgroups) {
  ASSERT_EQ(kernel.error, "");
  auto *words = reinterpret_cast<const uint8_t *>(kernel.binary.code.data());
  std::vector<hal::KernelImage> kernels = {{"test",
                                            kernel.binary.entry,
                                            static_cast<uint32_t>(buffers.size()),
                                            static_cast<uint32_t>(scalars.size()),
                                            {kernel.threads, 1, 1},
                                            {words, kernel.binary.code.size()},
                                            {}}};
  hal::CodeImage image;
  image.file = "test.vxm";
  image.variant = "baseline";
  image.kernels = kernels;
  auto check = [](Status status) { ASSERT_TRUE(status.ok()) << status.message(); };
  Ref<hal::Executable> code;
  check(device->load(image, code));
  ASSERT_TRUE(code);
  std::vector<Ref<hal::Memory>> memories;
  std::vector<hal::BufferView> views;
  for (const Bytes &bytes : buffers) {
    // Canaries behind the buffer tell a write out of bounds.
    Ref<hal::Memory> memory;
    Bytes padded = bytes;
    padded.insert(padded.end(), 64, 0xc5);
    check(device->allocate(padded.size(), hal::MemoryKind::Device, memory));
    ASSERT_TRUE(memory);
    memories.push_back(memory);
    check(stream->upload({memory.get(), 0, padded.size()}, padded.data()));
    views.push_back({memory.get(), 0, padded.size()});
  }
  hal::SegmentShape shape;
  shape.commands.push_back({hal::CommandKind::Dispatch, false, 0, static_cast<uint32_t>(buffers.size()),
                            static_cast<uint32_t>(scalars.size())});
  Ref<hal::CommandList> list;
  check(stream->record(shape, code, list));
  ASSERT_TRUE(list);
  check(stream->resetFault());
  hal::CommandArguments arguments;
  arguments.buffers = views.data();
  arguments.scalars = scalars.data();
  arguments.workgroups = workgroups;
  check(stream->replay(*list, {&arguments, 1}, nullptr));
  check(stream->readFault(fault));
  for (size_t i = 0; i < buffers.size(); ++i) {
    Bytes padded(buffers[i].size() + 64);
    check(stream->download(views[i], padded.data()));
    for (size_t byte = buffers[i].size(); byte < padded.size(); ++byte)
      ASSERT_EQ(padded[byte], 0xc5) << "buffer " << i << " was written behind its end";
    padded.resize(buffers[i].size());
    buffers[i] = padded;
  }
}

} // namespace vx::test
