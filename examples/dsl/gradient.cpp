// The shortest program: the gradient of a sum of squares, compiled in memory and called.
#include "vx/builder.hpp"
#include "vx/runtime/vx.hpp"

#include <cstdio>

using namespace vx::build;

int main() {
  Graph g("squares");
  g.function("f", {"x"}, {"dx"}, [&](Tensor<f32, 3> x) { return gradient(x.pow(2).sum(), x); });
  const CompiledModule bytes = compile_bytes(g, {.targets = "cpu"});

  const vx::Module module(std::span(static_cast<const std::byte *>(bytes.data()), bytes.size()), "squares");
  const vx::Instance instance(module);
  vx::Call call(instance, module.functions()[0]);
  const std::vector<vx::Value> outputs = call.run({vx::Value::tensor<float>({3}, {1, -2, 0.5f})});
  for (float number : outputs[0].data<float>())
    std::printf("%g\n", static_cast<double>(number));
}
