#include "image_decoder.h"

#include "failure.h"
#include "vx/abi/image.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <mutex>
#include <new>

namespace vx::train {

static vx_image_decode_fn openedDecoder() {
  static std::mutex mutex;
  static vx_image_decode_fn decoder = nullptr;
  const std::lock_guard lock(mutex);
  if (decoder) // else it is tried again: the file may be there now
    return decoder;
  std::vector<std::string> names;
  if (const char *given = std::getenv("VX_IMAGE_LIBRARY"); given && *given) {
    names = {given};
  } else {
    Dl_info place = {};
    if (dladdr(reinterpret_cast<const void *>(&vx_version), &place) && place.dli_fname)
      names.push_back((std::filesystem::path(place.dli_fname).parent_path() / "libvx_image.so.0").string());
    names.emplace_back("libvx_image.so.0");
  }
  void *library = nullptr;
  std::string reason;
  for (size_t i = 0; i < names.size() && !library; ++i)
    if (library = dlopen(names[i].c_str(), RTLD_NOW | RTLD_LOCAL); !library)
      reason = dlerror();
  if (!library)
    throw dataError("images need libvx_image: {}", reason);
  const auto version = reinterpret_cast<vx_image_version_fn>(dlsym(library, "vx_image_version"));
  const auto found = reinterpret_cast<vx_image_decode_fn>(dlsym(library, "vx_image_decode"));
  if (!version || !found || version() != VX_IMAGE_VERSION)
    throw dataError("images need libvx_image of version {}, got {}", VX_IMAGE_VERSION,
                    version && found ? "version " + std::to_string(version()) : "a library without its functions");
  return decoder = found;
}

void openImageLibrary() { openedDecoder(); }

// No exception passes the library.
static uint8_t *allocatePixels(void *context, uint32_t height, uint32_t width) {
  Pixels &image = *static_cast<Pixels *>(context);
  try {
    image.samples.resize(uint64_t(height) * width * image.channels);
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
  image.height = height;
  image.width = width;
  return image.samples.data();
}

Pixels decodeImage(std::span<const uint8_t> file, uint32_t channels, const std::string &name) {
  Pixels image;
  image.channels = channels;
  std::array<char, 512> message = {};
  vx_image_request request = {};
  request.bytes = file.data();
  request.size = file.size();
  request.max_pixels = VX_IMAGE_MAX_PIXELS;
  request.layout = channels == 1 ? VX_IMAGE_GRAYSCALE : VX_IMAGE_RGB;
  request.message = message.data();
  request.message_size = message.size();
  request.allocate = allocatePixels;
  request.context = &image;
  if (openedDecoder()(&request) != VX_IMAGE_DECODED)
    throw dataError("{}: {}", name, message.data());
  if (image.height == 0 || image.width == 0)
    throw dataError("{}: expected an image of a pixel or more, got {} x {}", name, image.height, image.width);
  return image;
}

namespace {

// Bits after the point of weights, as Pillow has them: with 8 of a sample they fit into 32, and halves are rounded as
// there.
constexpr int WeightBits = 22;

// The pixels that each new one is made of in one direction: `count` from `first` on, with their weights.
struct Window {
  uint32_t first = 0, count = 0;
  size_t weights = 0;
};

} // namespace

static std::vector<Window> makeWindows(uint32_t from, uint32_t to, std::vector<int32_t> &weights) {
  const double scale = static_cast<double>(from) / to, support = std::max(scale, 1.0);
  std::vector<Window> windows(to);
  for (uint32_t i = 0; i < to; ++i) {
    const double center = (i + 0.5) * scale;
    const auto first = static_cast<uint32_t>(std::max(std::floor(center - support + 0.5), 0.0));
    const auto last = static_cast<uint32_t>(std::min(std::floor(center + support + 0.5), static_cast<double>(from)));
    windows[i] = {first, last - first, weights.size()};
    double sum = 0;
    std::vector<double> own(last - first);
    for (uint32_t k = 0; k < own.size(); ++k)
      sum += own[k] = std::max(0.0, 1 - std::abs((first + k - center + 0.5) / support));
    for (const double weight : own)
      weights.push_back(static_cast<int32_t>(std::lround(weight / sum * (1 << WeightBits))));
  }
  return windows;
}

// Along rows: pixel p of line l is at l * lineStride + p * pixelStride; channels are apart by 1.
static void resample(const uint8_t *source, uint8_t *target, uint32_t lines, std::array<uint64_t, 2> sourceStrides,
                     std::array<uint64_t, 2> targetStrides, uint32_t channels, uint32_t from, uint32_t to) {
  std::vector<int32_t> weights;
  const std::vector<Window> windows = makeWindows(from, to, weights);
  for (uint64_t line = 0; line < lines; ++line)
    for (uint32_t i = 0; i < to; ++i)
      for (uint32_t channel = 0; channel < channels; ++channel) {
        const uint8_t *pixel = source + line * sourceStrides[0] + windows[i].first * sourceStrides[1] + channel;
        int32_t sum = 1 << (WeightBits - 1);
        for (uint32_t k = 0; k < windows[i].count; ++k, pixel += sourceStrides[1])
          sum += weights[windows[i].weights + k] * *pixel;
        target[line * targetStrides[0] + i * targetStrides[1] + channel] =
            static_cast<uint8_t>(std::clamp(sum >> WeightBits, 0, 255));
      }
}

Pixels resizeImage(const Pixels &image, uint32_t height, uint32_t width) {
  const uint64_t channels = image.channels;
  Pixels wide{image.height, width, image.channels, {}};
  if (width == image.width) {
    wide.samples = image.samples;
  } else {
    wide.samples.resize(uint64_t(wide.height) * width * channels);
    resample(image.samples.data(), wide.samples.data(), image.height, {image.width * channels, channels},
             {width * channels, channels}, image.channels, image.width, width);
  }
  if (height == image.height)
    return wide;
  Pixels result{height, width, image.channels, std::vector<uint8_t>(uint64_t(height) * width * channels)};
  resample(wide.samples.data(), result.samples.data(), width, {channels, width * channels},
           {channels, width * channels}, image.channels, wide.height, height);
  return result;
}

} // namespace vx::train
