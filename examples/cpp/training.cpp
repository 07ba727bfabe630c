// Trains a module on the digits of the examples and saves the best parameters. Called again, it continues.
//
//   vx-compile model.onnx --target=cpu,vulkan --train=auto --loss=cross_entropy --optimizer=adamw -o model.vxm
//   training model.vxm examples/digits [DEVICE] [EPOCHS]
//
// The model takes images f32[batch,1,8,8] and gives a score for each digit.
#include "vx/train.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace train = vx::train;

template <typename T>
static std::vector<T> readNumbers(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error("cannot open " + path);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<T> numbers(bytes.size() / sizeof(T));
  std::copy_n(bytes.data(), numbers.size() * sizeof(T), reinterpret_cast<char *>(numbers.data()));
  return numbers;
}

static int run(const std::string &module, const std::string &folder, const std::string &device, uint64_t epochs) {
  const std::vector<float> images = readNumbers<float>(folder + "/images.f32");
  const std::vector<uint8_t> digits = readNumbers<uint8_t>(folder + "/labels.u8");
  // The module expects labels of i64.
  const std::vector<int64_t> labels(digits.begin(), digits.end());
  const auto rows = static_cast<int64_t>(labels.size());
  const auto data = train::Dataset::arrays(
      {train::array<float>("image", {rows, 1, 8, 8}, images), train::array<int64_t>("label", {rows}, labels)});
  const auto [learnt, test] = data.split(0.75, 7);

  train::Session session(module, {.device = device, .seed = 7});
  std::printf("%s", session.summary().c_str());
  if (std::filesystem::exists("checkpoints"))
    for (const std::string &note : session.load("checkpoints"))
      std::fprintf(stderr, "training: note: %s\n", note.c_str());

  double best = 0;
  const auto keepBest = train::on_epoch([&](train::Session &run, const train::Epoch &epoch) {
    if (const double accuracy = epoch.validation->of("accuracy"); accuracy > best) {
      best = accuracy;
      run.save("best.safetensors", train::Contents::weights);
    }
  });
  session.fit(learnt, {.epochs = epochs,
                       .batch = 32,
                       .validation = &test,
                       .schedule = train::warmup(5, train::cosine(1e-2, 1e-5)),
                       .callbacks = {train::log(), keepBest, train::checkpoint(5, "checkpoints")}});
  if (best > 0)
    session.load("best.safetensors");

  const std::vector<vx::Value> outputs = session.predict(test);
  std::printf("%lld images, accuracy %.3f\n", static_cast<long long>(outputs[0].dims()[0]),
              session.evaluate(test, "accuracy"));
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: training MODEL.vxm DIGITS [DEVICE] [EPOCHS]\n");
    return 2;
  }
  try {
    return run(argv[1], argv[2], argc > 3 ? argv[3] : "auto", argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 20);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "training: error: %s\n", error.what());
    return 1;
  }
}
