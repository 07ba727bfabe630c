// Reads handwritten digits with a trained network, on the device that is asked for.
//
//   digits MODULE.vxm FOLDER [DEVICE]
//
// FOLDER has images.f32 (450 images of 8x8 floats from 0 to 1) and labels.u8 (450 bytes): the images that the network
// has not seen in training. DEVICE is auto, cpu, vulkan, ...; with a name, no other device is used instead.

#include "vx/runtime/vx.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

static std::vector<char> readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error("cannot read '" + path + "'");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

static void draw(const float *image) {
  static const char shades[] = " .:-=+*#%@";
  for (int y = 0; y < 8; ++y) {
    std::printf("   ");
    for (int x = 0; x < 8; ++x) {
      char shade = shades[static_cast<int>(std::clamp(image[y * 8 + x], 0.0f, 1.0f) * 9)];
      std::printf("%c%c", shade, shade);
    }
    std::printf("\n");
  }
}

static int run(const std::string &modulePath, const std::string &folder, const std::string &device) {
  std::vector<char> pixels = readFile(folder + "/images.f32"), labels = readFile(folder + "/labels.u8");
  constexpr size_t pixelsPerImage = 64;
  const size_t count = labels.size();
  if (pixels.size() != count * pixelsPerImage * sizeof(float))
    throw std::runtime_error("images.f32 has " + std::to_string(pixels.size()) + " bytes, expected " +
                             std::to_string(count * pixelsPerImage * sizeof(float)) + " for " + std::to_string(count) +
                             " images");

  vx::Module module(modulePath);
  vx::InstanceOptions options;
  options.device = device;
  options.noFallback = device != "auto";
  vx::Instance instance(module, options);
  std::printf("%s", instance.report().c_str());

  vx::Call call(instance, module.functions()[0]);
  const int64_t dims[] = {static_cast<int64_t>(count), 1, 8, 8};
  vx::Value images = vx::Value::raw(VX_F32, dims, pixels.data(), pixels.size());
  call.run({images}); // the first call also prepares the device
  auto begin = std::chrono::steady_clock::now();
  std::vector<vx::Value> results = call.run({images});
  double milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();

  std::span<const float> logits = results[0].data<float>();
  size_t right = 0;
  for (size_t i = 0; i < count; ++i) {
    const float *row = &logits[i * 10];
    auto answer = std::max_element(row, row + 10) - row;
    right += answer == labels[i];
    if (i < 3) {
      draw(reinterpret_cast<const float *>(pixels.data()) + i * pixelsPerImage);
      std::printf("   image %zu: the network says %td, it is %d\n\n", i, answer, labels[i]);
    }
  }
  std::printf("%zu of %zu right on %s, %.2f ms for all %zu images\n", right, count, device.c_str(), milliseconds,
              count);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: digits MODULE.vxm FOLDER [DEVICE]\n");
    return 2;
  }
  try {
    return run(argv[1], argv[2], argc > 3 ? argv[3] : "auto");
  } catch (const vx::Error &error) {
    std::fprintf(stderr, "digits: error: %s\n%s", error.what(), error.report().c_str());
    return error.code() == VX_NO_DEVICE ? 4 : 1;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "digits: error: %s\n", error.what());
    return 1;
  }
}
