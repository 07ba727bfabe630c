// A network of two layers for the digits, built, trained and exported by one program, in the folder of its data:
//
//   python3 ../data.py . && mlp
//
// writes digits.vxm, digits.safetensors and digits_trained.onnx. Exit code 1: the accuracy is too low.
#include "vx/builder.hpp"
#include "vx/train.hpp"

#include <tuple>
using namespace vx::build;

struct Mlp { // a module is a plain struct: no base class, no macro
  Linear<64, 512> fc1;
  Linear<512, 10> fc2;
  Dropout drop_in, drop;
  explicit Mlp(Scope s) : fc1(s / "fc1"), fc2(s / "fc2"), drop_in(s / "drop_in", 0.2), drop(s / "drop", 0.5) {}
  auto operator()(Tensor<f32, "batch", 64> x) const { return fc2(drop(relu(fc1(drop_in(x))))); }
};

int main() {
  Graph g("digits");
  Mlp model(g.root());
  g.function("predict", {"image"}, {"logits"}, [&](Tensor<f32, "batch", 64> image) { return model(image); });
  train(g, "train_step", {"image", "label"}, {.optimizer = AdamW{.weight_decay = 0.01}, .clip_norm = 1.0},
        [&](Tensor<f32, "batch", 64> image, Tensor<i64, "batch"> label) {
          auto logits = model(image);
          return Loss(cross_entropy(logits, label), {{"accuracy", accuracy(logits, label)}});
        });
  compile(g, "digits.vxm", {.targets = "cpu,vulkan,cuda,rocm"}); // the compiler ends here

  vx::train::Session run("digits.vxm"); // may be another program on another machine
  auto train = vx::train::Dataset::npy({{"image", "train_x.npy"}, {"label", "train_y.npy"}}); // or .split(0.75, seed)
  auto test = vx::train::Dataset::npy({{"image", "test_x.npy"}, {"label", "test_y.npy"}});
  auto history = run.fit(train, {.epochs = 100,
                                 .batch = 64,
                                 .validation = &test,
                                 .schedule = vx::train::cosine(3e-3, 1e-5),
                                 .seed = 7,
                                 .callbacks = {vx::train::log(), vx::train::early_stopping(20, 1e-4),
                                               vx::train::checkpoint(10, "ckpt/")}});
  if (run.evaluate(test, "accuracy") < 0.98)
    return 1;
  run.save("digits.safetensors");
  run.export_onnx("digits_trained.onnx", "predict");
}
