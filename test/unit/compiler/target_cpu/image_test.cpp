// What a linked image may hold, and the messages of what does not link.
#include "cpu_image.h"
#include "llvm/Object/ELFObjectFile.h"
#include "gtest/gtest.h"
#include <thread>

using namespace vx;
using namespace vx::test;

namespace {

std::string kernelText(const std::string &name, const std::string &type = "f32", const std::string &op = "arith.addf") {
  return "func.func @" + name +
         "() attributes {vxk.kernel} {\n  %n = vxk.scalar 0\n  %a = vxk.buffer 0 read(%n) : memref<?x" + type +
         ">\n  %o = vxk.buffer 1 write(%n) : memref<?x" + type +
         ">\n  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n  scf.for %i = %c0 to %n step %c1 {\n"
         "    %x = memref.load %a[%i] : memref<?x" +
         type + ">\n    %y = " + op + " %x, %x : " + type + "\n    memref.store %y, %o[%i] : memref<?x" + type +
         ">\n  }\n  return\n}\n";
}

llvm::StringRef bytesOf(const LinkedImage &image) { return {image.bytes.data(), image.bytes.size()}; }

TEST(Image, importsNothingAndExportsItsEntries) {
  Image image;
  // The remainder calls a support function, which must not be seen from outside.
  ASSERT_TRUE(image.build({kernelText("one"), kernelText("two", "f32", "arith.remf")}, hostSpec())) << image.error;
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(bytesOf(image.linked), "image"));
  ASSERT_TRUE(bool(file));
  auto *elf = llvm::cast<llvm::object::ELF64LEObjectFile>(file->get());
  std::vector<std::string> names;
  for (llvm::object::ELFSymbolRef symbol : elf->getDynamicSymbolIterators()) {
    names.push_back(llvm::cantFail(symbol.getName()).str());
    EXPECT_FALSE(llvm::cantFail(symbol.getFlags()) & llvm::object::SymbolRef::SF_Undefined) << names.back();
  }
  EXPECT_EQ(names, (std::vector<std::string>{"one", "two"}));
  EXPECT_TRUE(elf->symbols().begin() == elf->symbols().end()) << "the image has a table of local names";
  for (const auto &segment : llvm::cantFail(elf->getELFFile().program_headers())) {
    bool writable = segment.p_flags & llvm::ELF::PF_W, executable = segment.p_flags & llvm::ELF::PF_X;
    EXPECT_FALSE(writable && executable);
    EXPECT_NE(segment.p_type, unsigned(llvm::ELF::PT_INTERP));
    EXPECT_NE(segment.p_type, unsigned(llvm::ELF::PT_TLS));
  }
  for (const auto &entry : llvm::cantFail(elf->getELFFile().dynamicEntries()))
    EXPECT_NE(entry.getTag(), llvm::ELF::DT_NEEDED);
  EXPECT_FALSE(bytesOf(image.linked).contains("/tmp")) << "the image names a path of the machine that made it";
  EXPECT_TRUE(image.find("one") && image.find("two"));
}

TEST(Image, isTheSameEachTimeAndOnEachThread) {
  std::vector<std::string> kernels = {kernelText("one"), kernelText("two", "f64", "arith.mulf")};
  Image first;
  ASSERT_TRUE(first.build(kernels, hostSpec())) << first.error;
  std::vector<std::unique_ptr<Image>> images;
  for (int i = 0; i < 4; ++i)
    images.push_back(std::make_unique<Image>());
  std::vector<std::thread> threads;
  for (auto &image : images)
    threads.emplace_back([&image, &kernels] { image->build(kernels, hostSpec()); });
  for (std::thread &thread : threads)
    thread.join();
  for (auto &image : images) {
    EXPECT_EQ(image->error, "");
    EXPECT_EQ(image->linked.bytes, first.linked.bytes);
  }
}

TEST(Image, namesWhatACallWants) {
  std::string error;
  mlir::FailureOr<KernelBinary> binary = compileKernel(R"(
    func.func private @cosh_of_mine(f32) -> f32
    func.func @user() attributes {vxk.kernel} {
      %o = vxk.buffer 0 read_write() : memref<1xf32>
      %c0 = arith.constant 0 : index
      %x = memref.load %o[%c0] : memref<1xf32>
      %y = func.call @cosh_of_mine(%x) : (f32) -> f32
      memref.store %y, %o[%c0] : memref<1xf32>
      return
    })",
                                                       hostSpec(), error);
  ASSERT_TRUE(succeeded(binary)) << error;
  EXPECT_TRUE(failed(linkKernels({*binary}, hostSpec(), error)));
  EXPECT_EQ(error, "kernel 'user' calls 'cosh_of_mine', which vx does not supply on target 'cpu'");
}

TEST(Image, refusesTwoKernelsOfOneName) {
  std::string error;
  mlir::FailureOr<KernelBinary> binary = compileKernel(kernelText("twin"), hostSpec(), error);
  ASSERT_TRUE(succeeded(binary)) << error;
  EXPECT_TRUE(failed(linkKernels({*binary, *binary}, hostSpec(), error)));
  EXPECT_EQ(error, "two kernels have the entry 'twin'");
}

std::string errorOf(const std::string &text) {
  std::string error;
  EXPECT_TRUE(failed(compileKernel(text, hostSpec(), error)));
  return error;
}

TEST(Image, refusesMemoryThatAKernelAllocates) {
  EXPECT_EQ(errorOf(R"(func.func @k() attributes {vxk.kernel} {
      %c0 = arith.constant 0 : index
      %o = vxk.buffer 0 write() : memref<1xf32>
      %m = memref.alloc() : memref<4xf32>
      %x = memref.load %m[%c0] : memref<4xf32>
      memref.store %x, %o[%c0] : memref<1xf32>
      return
    })"),
            "'memref.alloc' op is left in kernel 'k': a kernel allocates no memory");
  EXPECT_EQ(errorOf(R"(func.func @k() attributes {vxk.kernel} {
      %c0 = arith.constant 0 : index
      %o = vxk.buffer 0 write() : memref<1xf32>
      %m = memref.alloca() : memref<100000xf32>
      %x = memref.load %m[%c0] : memref<100000xf32>
      memref.store %x, %o[%c0] : memref<1xf32>
      return
    })"),
            "'func.func' op expects at most 262144 bytes on the stack, got 400000");
}

} // namespace
