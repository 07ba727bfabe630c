#include "math_kernels.h"

#include <cstdlib>
#include <cstring>

namespace vx::test {

MathKernel::MathKernel(const std::string &function, const std::string &element, const TargetSpec &spec, bool scalar) {
  bool binary = function == "powf";
  std::string memory = "memref<?x" + element + ">", step = scalar ? "1" : "16";
  std::string type = scalar ? element : "vector<16x" + element + ">";
  auto load = [&](const std::string &name, const std::string &buffer) {
    return scalar ? name + " = memref.load " + buffer + "[%i] : " + memory + "\n"
                  : name + " = vector.load " + buffer + "[%i] : " + memory + ", " + type + "\n";
  };
  std::string text =
      "func.func @apply() attributes {vxk.kernel} {\n"
      "  %n = vxk.scalar 0\n"
      "  %a = vxk.buffer 0 read(%n) : " +
      memory +
      "\n"
      "  %b = vxk.buffer 1 read(%n) : " +
      memory +
      "\n"
      "  %o = vxk.buffer 2 write(%n) : " +
      memory +
      "\n"
      "  %c0 = arith.constant 0 : index\n"
      "  %step = arith.constant " +
      step +
      " : index\n"
      "  scf.for %i = %c0 to %n step %step {\n    " +
      load("%x", "%a") + "    " + (binary ? load("%y", "%b") : "") + "    %r = math." + function + " %x" +
      (binary ? ", %y" : "") + " : " + type + "\n    " +
      (scalar ? "memref.store %r, %o[%i] : " + memory : "vector.store %r, %o[%i] : " + memory + ", " + type) +
      "\n  }\n  return\n}\n";
  if (!image.build({text}, spec))
    error = image.error.empty() ? "failed" : image.error;
}

void MathKernel::call(const void *a, const void *b, void *result, size_t count, size_t elementSize) {
  size_t padded = (count + 15) / 16 * 16, bytes = padded * elementSize;
  size_t allocated = (bytes + 63) / 64 * 64;
  void *buffers[3];
  for (void *&buffer : buffers) {
    buffer = std::aligned_alloc(64, allocated);
    std::memset(buffer, 0, allocated);
  }
  std::memcpy(buffers[0], a, count * elementSize);
  if (b)
    std::memcpy(buffers[1], b, count * elementSize);
  Dispatch dispatch;
  dispatch.buffers = {buffers[0], buffers[1], buffers[2]};
  dispatch.scalars = {int64_t(padded)};
  dispatch.run(image.find("apply"));
  std::memcpy(result, buffers[2], count * elementSize);
  for (void *buffer : buffers)
    std::free(buffer);
}

} // namespace vx::test
