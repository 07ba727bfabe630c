// Images in a folder for each class as the rows of a data set.
#include "failure.h"
#include "image_decoder.h"
#include "mapped_file.h"
#include "source.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cmath>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

namespace vx::train {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 12> endings = {".png",  ".jpg", ".jpeg", ".bmp", ".webp", ".tif",
                                                      ".tiff", ".pgm", ".ppm",  ".pnm", ".jp2",  ".j2k"};

bool isImageName(const fs::path &path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char letter) { return static_cast<char>(letter < 128 ? std::tolower(letter) : letter); });
  return !path.filename().string().starts_with('.') &&
         std::find(endings.begin(), endings.end(), ending) != endings.end();
}

class ImageFolder : public Source {
public:
  ImageFolder(const std::string &folder, const ImageOptions &given) : folder(folder), options(given) {
    checkOptions();
    findClasses();
    for (size_t i = 0; i < classes.size(); ++i)
      findImages(i);
    rows = static_cast<int64_t>(files.size());
    std::vector<int64_t> dims = {options.height, options.width};
    dims.insert(options.channels_last ? dims.end() : dims.begin(), options.channels);
    samples = static_cast<uint64_t>(options.height) * static_cast<uint64_t>(options.width) *
              static_cast<uint64_t>(options.channels);
    columns = {{options.image, options.type, std::move(dims)}, {options.label, VX_I64, {}}};
    rowBytes = {samples * (options.type == VX_U8 ? 1 : sizeof(float)), sizeof(int64_t)};
    describe();
    openImageLibrary();
    if (samples <= options.memory / std::max<uint64_t>(files.size(), 1)) {
      stored.resize(samples * files.size());
      forEach(files.size(), [this](size_t row) { decode(row, &stored[row * samples]); });
    }
  }

  void read(std::span<const int64_t> wanted, std::span<std::byte *const> places) const override {
    if (places[1])
      for (size_t i = 0; i < wanted.size(); ++i)
        std::memcpy(places[1] + i * sizeof(int64_t), &labels[static_cast<size_t>(wanted[i])], sizeof(int64_t));
    if (!places[0])
      return;
    forEach(wanted.size(), [&](size_t i) {
      const auto row = static_cast<size_t>(wanted[i]);
      std::vector<uint8_t> own;
      const uint8_t *image = nullptr;
      if (stored.empty()) {
        own.resize(samples);
        decode(row, own.data());
        image = own.data();
      } else {
        image = &stored[row * samples];
      }
      write(image, places[0] + i * rowBytes[0]);
    });
  }
  std::string origin(size_t column) const override {
    return column == 1 ? fmt::format("{}: the classes", folder) : folder;
  }

private:
  void checkOptions() const {
    if (options.type != VX_F32 && options.type != VX_U8)
      throw argumentError("images: expected samples of f32 or u8, got {}", vx_element_type_name(options.type));
    if (options.channels != 1 && options.channels != 3)
      throw argumentError("images: expected 1 or 3 channels, got {}", options.channels);
    constexpr int64_t most = 1 << 14;
    for (const int64_t size : {options.height, options.width})
      if (size < 1 || size > most)
        throw argumentError("images: expected a height and width from 1 to {}, got {} x {}", most, options.height,
                            options.width);
    if (options.resize != 0 && (options.resize < std::max(options.height, options.width) || options.resize > most))
      throw argumentError("images: expected a shorter side from {} to {}, of which {} x {} pixels are cut out, got {}",
                          std::max(options.height, options.width), most, options.height, options.width, options.resize);
    if (options.type == VX_U8 && !(options.mean.empty() && options.deviation.empty()))
      throw argumentError("images: samples of u8 are not normalised, got a mean or a deviation");
    for (const auto &[what, numbers] : {std::pair("mean", &options.mean), {"deviation", &options.deviation}}) {
      const bool isDeviation = numbers == &options.deviation;
      if (!numbers->empty() && numbers->size() != 1 && numbers->size() != static_cast<size_t>(options.channels))
        throw argumentError("images: expected a {} for each of {} channels, got {}", what, options.channels,
                            numbers->size());
      for (const double number : *numbers)
        if (!std::isfinite(number) || (isDeviation && !(number > 0)))
          throw argumentError("images: expected a finite {}{}, got {}", what, isDeviation ? " above 0" : "", number);
    }
  }

  void findClasses() {
    std::error_code error;
    std::vector<std::string> found;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
      if (at->is_directory() && !at->path().filename().string().starts_with('.'))
        found.push_back(at->path().filename().string());
    if (error)
      throw dataError("{}: cannot be read: {}", folder, error.message());
    std::sort(found.begin(), found.end());
    if (found.empty())
      throw dataError("{}: expected a folder of images for each class, got no folder in it", folder);
    checkParts(found);
    if (!options.classes.empty() && found != options.classes)
      throw dataError("{}: expected the classes of the data to train on, {}, got {}", folder,
                      quoteNames(options.classes), quoteNames(found));
    classes = std::move(found);
  }

  // Folders with such names, each with folders of its own, are the parts of a data set: as classes they would train a
  // model that tells the parts apart.
  void checkParts(const std::vector<std::string> &found) const {
    static const std::set<std::string> trainings = {"train", "training"},
                                       others = {"dev", "test", "val", "valid", "validation"};
    const auto isTraining = [](const std::string &name) { return trainings.contains(name); };
    const auto isPart = [&](const std::string &name) {
      std::error_code error;
      bool hasFolder = false;
      for (fs::directory_iterator at(fs::path(folder) / name, error), end; !error && at != end; at.increment(error))
        hasFolder |= at->is_directory();
      return (isTraining(name) || others.contains(name)) && hasFolder;
    };
    if (found.size() < 2 || !std::all_of(found.begin(), found.end(), isPart))
      return;
    const auto training = std::find_if(found.begin(), found.end(), isTraining);
    if (training != found.end())
      throw dataError("{}: expected a folder of images for each class, got the parts of a data set, {}: give the "
                      "folder of one part, such as {}",
                      folder, quoteNames(found), (fs::path(folder) / *training).string());
  }

  // Also in folders of the class's folder. Others are left out, and counted.
  void findImages(size_t number) {
    const fs::path own = fs::path(folder) / classes[number];
    std::error_code error;
    std::vector<std::string> found;
    size_t others = 0;
    for (fs::recursive_directory_iterator at(own, error), end; !error && at != end; at.increment(error)) {
      std::error_code ignored;
      if (at->is_directory(ignored))
        continue;
      if (at->is_regular_file(ignored) && isImageName(at->path()))
        found.push_back(at->path().string());
      else
        ++others;
    }
    if (error)
      throw dataError("{}: cannot be read: {}", own.string(), error.message());
    if (found.empty())
      throw dataError("{}: expected images ({}), got none in the folder of class '{}'", own.string(),
                      fmt::join(endings, ", "), classes[number]);
    if (others > 0)
      notes.push_back(fmt::format("{}: {} files that are no images are left out", own.string(), others));
    std::sort(found.begin(), found.end());
    labels.insert(labels.end(), found.size(), static_cast<int64_t>(number));
    files.insert(files.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }

  void describe() {
    description = fmt::format("images of {} x {} pixels, {}", options.height, options.width,
                              options.channels == 1 ? "luma" : "RGB");
    description += options.resize ? fmt::format(", the centre after resizing the shorter side to {}", options.resize)
                                  : std::string(", resized as a whole");
    if (options.type == VX_U8)
      description += ", samples from 0 to 255";
    else if (options.mean.empty() && options.deviation.empty())
      description += ", samples from 0 to 1";
    else
      description += fmt::format(", (sample / 255 - {}) / {}", fmt::join(perChannel(options.mean, 0), " "),
                                 fmt::join(perChannel(options.deviation, 1), " "));
  }

  std::vector<double> perChannel(const std::vector<double> &numbers, double usual) const {
    if (numbers.size() > 1)
      return numbers;
    return std::vector(static_cast<size_t>(options.channels), numbers.empty() ? usual : numbers[0]);
  }

  void decode(size_t row, uint8_t *place) const {
    const MappedFile file(files[row]);
    const auto height = static_cast<uint32_t>(options.height), width = static_cast<uint32_t>(options.width);
    Pixels image = decodeImage(file.bytes(), static_cast<uint32_t>(options.channels), files[row]);
    if (options.resize == 0) {
      image = resizeImage(image, height, width);
    } else {
      const uint64_t side = static_cast<uint64_t>(options.resize), shorter = std::min(image.height, image.width);
      const auto larger = [&](uint32_t size) { return static_cast<uint32_t>(side * size / shorter); };
      if (std::max(image.height, image.width) / shorter > 100)
        throw dataError("{}: expected an image whose sides differ by a factor of 100 at most, got {} x {}", files[row],
                        image.height, image.width);
      image = resizeImage(image, larger(image.height), larger(image.width));
    }
    // The centre, with the odd pixel as torchvision's CenterCrop has it: to the nearest even offset.
    const auto offset = [](uint32_t size, uint32_t part) {
      return static_cast<uint64_t>(std::lrint((size - part) / 2.0));
    };
    const uint64_t line = uint64_t(width) * image.channels;
    for (uint64_t y = 0; y < height; ++y)
      std::memcpy(place + y * line,
                  &image.samples[((y + offset(image.height, height)) * image.width + offset(image.width, width)) *
                                 image.channels],
                  line);
  }

  void write(const uint8_t *image, std::byte *place) const {
    const auto channels = static_cast<size_t>(options.channels);
    const size_t pixels = samples / channels;
    const std::vector<double> mean = perChannel(options.mean, 0), deviation = perChannel(options.deviation, 1);
    for (size_t channel = 0; channel < channels; ++channel) {
      // Each of the 256 samples once.
      std::array<float, 256> values;
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>((static_cast<double>(i) / 255 - mean[channel]) / deviation[channel]);
      const size_t first = options.channels_last ? channel : channel * pixels;
      const size_t step = options.channels_last ? channels : 1;
      for (size_t i = 0; i < pixels; ++i) {
        const uint8_t sample = image[i * channels + channel];
        std::byte *target = place + (first + i * step) * (options.type == VX_U8 ? 1 : sizeof(float));
        if (options.type == VX_U8)
          *target = static_cast<std::byte>(sample);
        else
          std::memcpy(target, &values[sample], sizeof(float));
      }
    }
  }

  // On some threads. After an exception no other number is begun, and it is thrown when all threads are done.
  template <typename F>
  void forEach(size_t count, F &&body) const {
    std::atomic<size_t> next = 0;
    std::mutex mutex;
    std::exception_ptr failure;
    auto work = [&] {
      for (size_t i = next++; i < count; i = next++) {
        try {
          body(i);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!failure)
            failure = std::current_exception();
          next = count;
        }
      }
    };
    const size_t threads = std::min<size_t>({count, std::max(1U, std::thread::hardware_concurrency()), 16});
    std::vector<std::thread> others;
    try {
      for (size_t i = 1; i < threads; ++i)
        others.emplace_back(work);
    } catch (const std::system_error &) { // fewer threads do the same
    }
    work();
    for (std::thread &thread : others)
      thread.join();
    if (failure)
      std::rethrow_exception(failure);
  }

  std::string folder;
  ImageOptions options;
  std::vector<std::string> files;
  std::vector<int64_t> labels;
  uint64_t samples = 0;        // of an image
  std::vector<uint8_t> stored; // all images with their sizes; empty where they need too much memory
};

} // namespace

std::shared_ptr<const Source> openImageFolder(const std::string &folder, const ImageOptions &options) {
  return std::make_shared<ImageFolder>(folder, options);
}

} // namespace vx::train
