// A training loop of your own: adds up the gradients of two batches, reads them, and then makes a step.
//
//   by_hand [DEVICE]
#include "vx/builder.hpp"
#include "vx/train.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace vx::build;

int main(int argc, char **argv) {
  Graph g("line");
  const Linear<2, 1> line(g.root() / "line");
  g.function("predict", {"x"}, {"y"}, [&](Tensor<f32, "batch", 2> x) { return line(x); });
  train(g, "train_step", {"x", "target"}, {.optimizer = Sgd{.lr = 0.1}, .keep_gradients = true},
        [&](Tensor<f32, "batch", 2> x, Tensor<f32, "batch", 1> target) { return Loss(mse(line(x), target)); });
  compile(g, "line.vxm", {.targets = "cpu,vulkan"});

  vx::train::Session session("line.vxm", {.device = argc > 1 ? argv[1] : "cpu"});
  double loss = 0, greatest = 0;
  for (int step = 0; step < 200; ++step) {
    for (int half = 0; half < 2; ++half) { // y = 3 a - 2 b + 1
      std::vector<float> x, target;
      for (int row = 0; row < 8; ++row) {
        const float a = std::sin(static_cast<float>(3 * row + half)), b = std::cos(static_cast<float>(5 * row - half));
        x.insert(x.end(), {a, b});
        target.push_back(3 * a - 2 * b + 1);
      }
      const std::vector<vx::Value> inputs = {vx::Value::tensor<float>({8, 2}, x),
                                             vx::Value::tensor<float>({8, 1}, target)};
      loss = session.backward(inputs, /*keep=*/half > 0).of("loss");
    }
    const vx::Value gradient = session.gradient("line.weight");
    greatest = 0;
    for (float number : gradient.data<float>())
      greatest = std::max(greatest, std::abs(static_cast<double>(number)));
    session.update(0.1);
  }
  const vx::Value weight = session.read_variable("line.weight"), bias = session.read_variable("line.bias");
  std::printf("loss %.2g, greatest gradient %.2g: %.3f a %+.3f b %+.3f\n", loss, greatest,
              static_cast<double>(weight.data<float>()[0]), static_cast<double>(weight.data<float>()[1]),
              static_cast<double>(bias.data<float>()[0]));
}
