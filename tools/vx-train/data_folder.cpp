#include "data_folder.h"

#include "command_line.h"
#include "schedule_option.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

namespace vx::tools {

namespace fs = std::filesystem;

static constexpr char WeightInput[] = "sample_weight";

static bool isPredictedFrom(const vx_training_info &training, const std::string &name) {
  const vx_function_info *predict = training.predict;
  return predict && std::any_of(predict->inputs, predict->inputs + predict->input_count,
                                [&](const vx_argument_info &input) { return input.name == name; });
}

static std::vector<const vx_argument_info *> dataInputs(const vx_training_info &training) {
  std::vector<const vx_argument_info *> inputs;
  for (size_t i = 0; i < training.input_count; ++i)
    inputs.push_back(&training.train_step->inputs[training.inputs[i]]);
  return inputs;
}

// Those that the loss compares with.
static std::vector<const vx_argument_info *> targets(const vx_training_info &training) {
  std::vector<const vx_argument_info *> found;
  for (const vx_argument_info *input : dataInputs(training))
    if (!isPredictedFrom(training, input->name) && input->name != std::string_view(WeightInput))
      found.push_back(input);
  return found;
}

static train::Dataset openNpy(const std::string &folder, const vx_training_info &training, CommandFiles &files) {
  std::vector<std::string> names, labels, missing;
  for (const vx_argument_info *input : dataInputs(training)) {
    names.emplace_back(input->name);
    if (!isPredictedFrom(training, names.back()) && names.back() != WeightInput)
      labels.push_back(names.back());
  }
  std::vector<std::pair<std::string, std::string>> found;
  std::error_code error;
  for (const std::string &name : names) {
    std::string path = fs::path(folder) / (name + ".npy");
    if (!fs::exists(path, error)) {
      const std::string label = fs::path(folder) / "label.npy";
      if (labels.size() == 1 && labels[0] == name && fs::exists(label, error))
        path = label;
      else
        missing.push_back(name + ".npy");
    }
    files.addInput(fmt::format("the data of '{}'", name), path);
    found.emplace_back(name, std::move(path));
  }
  if (!missing.empty())
    throw fileError("data: '{}' lacks {}; the model is trained by {}", folder, quoteNames(missing), quoteNames(names));
  return train::Dataset::npy(found);
}

static train::Dataset openCsv(const std::string &path, const DataOptions &options, const vx_training_info &training,
                              const std::vector<std::string> &classes, CommandFiles &files) {
  files.addInput("the data", path);
  train::CsvOptions csv;
  for (const vx_argument_info *input : dataInputs(training)) {
    if (input->kind != VX_TENSOR || input->rank == 0)
      throw fileError("data: a CSV file is for inputs with rows, and '{}' is {}", input->name,
                      input->kind == VX_TENSOR ? "a single number" : "no tensor");
    train::Column column{input->name, input->element_type, {}};
    for (uint32_t i = 1; i < input->rank; ++i)
      column.dims.push_back(input->dims[i].size);
    csv.columns.push_back(std::move(column));
  }
  const std::vector<const vx_argument_info *> compared = targets(training);
  if (!options.label.empty() && compared.size() != 1)
    throw usageError("--label: expected a model with one input beside those that it predicts from, got {}",
                     compared.size());
  if (compared.size() == 1)
    csv.target = compared[0]->name;
  csv.label = options.label;
  csv.classes = classes;
  return train::Dataset::csv(path, csv);
}

// "224" or "224x320"
static std::pair<int64_t, int64_t> imageSizeOption(const std::string &text) {
  const size_t cross = text.find('x');
  int64_t sizes[2] = {0, 0};
  const std::string parts[2] = {text.substr(0, cross), cross == std::string::npos ? text : text.substr(cross + 1)};
  for (int i = 0; i < 2; ++i) {
    const auto [end, error] = std::from_chars(parts[i].data(), parts[i].data() + parts[i].size(), sizes[i]);
    if (error != std::errc() || end != parts[i].data() + parts[i].size() || sizes[i] < 1)
      throw usageError("--image-size: expected a size such as 224 or 224x320 (height, width), got '{}'", text);
  }
  return {sizes[0], sizes[1]};
}

static void setNormalize(const std::string &text, train::ImageOptions &images) {
  if (text == "unit")
    return;
  if (text == "signed") {
    images.mean = images.deviation = {0.5};
  } else if (text == "imagenet") {
    if (images.channels != 3)
      throw usageError("--normalize: imagenet is for 3 channels, and the model's input has {}", images.channels);
    images.mean = {0.485, 0.456, 0.406};
    images.deviation = {0.229, 0.224, 0.225};
  } else {
    const size_t colon = text.find(':');
    const std::string_view form = "unit, signed, imagenet or MEAN,...:DEVIATION,...";
    if (colon == std::string::npos)
      throw usageError("--normalize: expected {}, got '{}'", form, text);
    const auto channels = static_cast<size_t>(images.channels);
    images.mean = numbersOption("--normalize", text.substr(0, colon), 1, channels, form);
    images.deviation = numbersOption("--normalize", text.substr(colon + 1), 1, channels, form);
  }
}

static std::string shapeText(const vx_argument_info &input) {
  std::string text;
  for (uint32_t i = 0; i < input.rank; ++i)
    text += fmt::format("{}{}", i ? "," : "", input.dims[i].expression);
  return fmt::format("{}[{}]", vx_element_type_name(input.element_type), text);
}

static train::Dataset openImages(const std::string &folder, const DataOptions &options,
                                 const vx_training_info &training, const std::vector<std::string> &classes) {
  std::vector<const vx_argument_info *> images;
  for (const vx_argument_info *input : dataInputs(training))
    if (isPredictedFrom(training, input->name))
      images.push_back(input);
  const std::vector<const vx_argument_info *> labels = targets(training);
  const bool hasLabel = labels.size() == 1 && labels[0]->rank == 1 && labels[0]->element_type == VX_I64;
  if (images.size() != 1 || !hasLabel || training.input_count != 2)
    throw fileError("data: '{}' has no .npy files, and a folder of images by class is for a model with one input of "
                    "images and labels of i64; got {} inputs to predict from and {} others",
                    folder, images.size(), training.input_count - images.size());
  const vx_argument_info &input = *images[0];
  auto isChannels = [&](uint32_t dim) { return input.dims[dim].size == 1 || input.dims[dim].size == 3; };
  if (input.kind != VX_TENSOR || input.rank != 4 || (!isChannels(1) && !isChannels(3)))
    throw fileError("data: images are for an input [batch, channels, height, width] or [batch, height, width, "
                    "channels] with 1 or 3 channels, '{}' is {}",
                    input.name, shapeText(input));
  train::ImageOptions made;
  made.image = input.name;
  made.label = labels[0]->name;
  made.type = input.element_type;
  made.channels_last = !isChannels(1);
  made.channels = input.dims[made.channels_last ? 3 : 1].size;
  made.height = input.dims[made.channels_last ? 1 : 2].size;
  made.width = input.dims[made.channels_last ? 2 : 3].size;
  if (!options.imageSize.empty()) {
    const auto [height, width] = imageSizeOption(options.imageSize);
    if ((made.height >= 0 && made.height != height) || (made.width >= 0 && made.width != width))
      throw usageError("--image-size: expected the sizes of '{}', which is {}, got {}", input.name, shapeText(input),
                       options.imageSize);
    made.height = height;
    made.width = width;
  }
  if (made.height < 0 || made.width < 0)
    throw usageError("--image-size: expected it for '{}', which is {}, got none", input.name, shapeText(input));
  if (made.type == VX_U8 && options.normalizes)
    throw usageError("--normalize: '{}' is {}, whose samples are not normalised", input.name, shapeText(input));
  made.resize = options.resize;
  setNormalize(options.normalize, made);
  made.classes = classes;
  return train::Dataset::images(folder, made);
}

// A folder with the parts of a data set, each with arrays or folders of its own, is not a folder of classes.
static void checkParts(const std::string &folder) {
  static const std::vector<std::string> trainings = {"train", "training"},
                                        validations = {"test", "val", "valid", "validation", "dev"};
  const auto has = [](const std::vector<std::string> &names, const std::string &name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::string training;
  std::vector<std::string> parts;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code inner;
    if (!at->is_directory(inner) || name.starts_with('.'))
      continue;
    if (has(trainings, name))
      training = name;
    else if (!has(validations, name))
      return;
    parts.push_back(name);
    bool isPart = false;
    for (fs::directory_iterator own(at->path(), inner), last; !inner && own != last; own.increment(inner))
      isPart |= own->path().extension() == ".npy" || own->is_directory();
    if (!isPart)
      return;
  }
  if (error || training.empty() || parts.size() < 2)
    return;
  std::sort(parts.begin(), parts.end());
  // The set for validation is the one of that name; test is for the end, where there is another.
  const std::string &validation = *std::max_element(parts.begin(), parts.end(), [&](const auto &a, const auto &b) {
    const auto rank = [&](const std::string &name) { return has(trainings, name) ? 0 : name == "test" ? 1 : 2; };
    return rank(a) < rank(b);
  });
  throw fileError("data: '{}' has the parts of a data set, {}, and no folders of classes: expected --data {} "
                  "--validation {}",
                  folder, quoteNames(parts), (fs::path(folder) / training).string(),
                  (fs::path(folder) / validation).string());
}

// A class more than the model has is found before training; less may be meant.
static void checkClasses(const std::string &path, const vx_training_info &training, const train::Dataset &data) {
  const std::vector<const vx_argument_info *> labels = targets(training);
  if (data.classes().empty() || labels.size() != 1 || !labels[0]->range || !labels[0]->range->upper)
    return;
  const std::string_view text = labels[0]->range->upper;
  size_t most = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), most);
  if (error == std::errc() && end == text.data() + text.size() && data.classes().size() > most)
    throw fileError("data: '{}' has {} classes, {}, expected at most {}, those of the model; --classes={} makes a new "
                    "head of an ONNX file",
                    path, data.classes().size(), quoteNames(data.classes()), most, data.classes().size());
}

train::Dataset openData(const std::string &path, const DataOptions &options, const vx_training_info &training,
                        const std::vector<std::string> &classes, CommandFiles &files) {
  enum class Kind { Npy, Csv, Images };
  std::error_code error;
  Kind kind = Kind::Npy;
  std::string ending = fs::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter; });
  if (!fs::is_directory(path, error)) {
    if (ending != ".csv" && ending != ".tsv")
      throw fileError("data: expected a folder of .npy files or of images by class, or a .csv file, got '{}'{}", path,
                      fs::exists(path, error) ? "" : ", which does not exist");
    kind = Kind::Csv;
  } else {
    bool hasArrays = false, hasFolders = false;
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
      hasArrays |= at->path().extension() == ".npy";
      hasFolders |= at->is_directory() && !at->path().filename().string().starts_with('.');
    }
    kind = !hasArrays && hasFolders ? Kind::Images : Kind::Npy;
  }
  const bool isImage = options.resize != 0 || options.normalizes || !options.imageSize.empty();
  if (kind != Kind::Csv && !options.label.empty())
    throw usageError("--label is for a CSV file, and --data is '{}'", path);
  if (kind != Kind::Images && isImage)
    throw usageError("{} is for a folder of images by class, and --data is '{}'",
                     options.resize != 0  ? "--resize"
                     : options.normalizes ? "--normalize"
                                          : "--image-size",
                     path);
  if (kind == Kind::Npy)
    return openNpy(path, training, files);
  if (kind == Kind::Images)
    checkParts(path);
  train::Dataset data = kind == Kind::Csv ? openCsv(path, options, training, classes, files)
                                          : openImages(path, options, training, classes);
  checkClasses(path, training, data);
  return data;
}

} // namespace vx::tools
