// Feeds bytes to the readers of what models of embeddings say of themselves: settings of a module, which are as they
// are promised or an error that names the asset; and the files of a folder, which give settings that the runtime reads,
// or an error that names one of the folder's files.
//
// An even first byte begins a module's settings, an odd one the files of a folder, a byte 0xff between them.
#include "embedding_settings.h"
#include "kind_and_text.h"
#include "vx/Frontend/SentenceTransformers/EmbeddingFolder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {

using namespace vx::serve;

void check(bool condition) {
  if (!condition)
    std::abort();
}

void checkSettings(const EmbeddingSettings &settings) {
  const EmbedderInfo &info = settings.info;
  check(info.maxTokens >= 1 && settings.padding >= 0);
  check(info.defaultPrompt.empty() || info.prompts.contains(info.defaultPrompt));
  for (size_t size : info.shorterDimensions)
    check(size >= 1);
}

void readSettings(const std::string &text) {
  try {
    checkSettings(parseEmbeddingSettings(text));
  } catch (const Error &error) {
    check(error.kind() == Error::Kind::data && std::string_view(error.what()).starts_with("asset 'embedding.json'"));
  }
}

// A folder that is there as long as the process.
class Folder {
public:
  Folder() {
    std::string made = (std::filesystem::temp_directory_path() / "embedding_fuzzer.XXXXXX").string();
    check(mkdtemp(made.data()) != nullptr);
    path = made;
    for (const char *place : {"1_Pooling", "2_Dense", "onnx"})
      std::filesystem::create_directory(path / place);
    write("model.onnx", "a model that is not read");
  }
  ~Folder() { std::filesystem::remove_all(path); }

  // Without text it is not there.
  void write(const char *name, const std::string &text) const {
    if (text.empty())
      std::filesystem::remove(path / name);
    else
      check(bool(std::ofstream(path / name, std::ios::binary) << text));
  }

  std::filesystem::path path;
};

void readFolder(const std::string &text) {
  static const Folder folder;
  static constexpr const char *names[] = {"modules.json",
                                          "1_Pooling/config.json",
                                          "config.json",
                                          "sentence_bert_config.json",
                                          "tokenizer_config.json",
                                          "config_sentence_transformers.json",
                                          "vocab.txt",
                                          "tokenizer.json",
                                          "spiece.model",
                                          "2_Dense/config.json",
                                          "2_Dense/model.safetensors"};
  std::vector<std::string> parts = vx::fuzz::cutText(text, std::size(names));
  parts.resize(std::size(names));
  for (size_t i = 0; i < parts.size(); ++i)
    folder.write(names[i], parts[i]);
  std::string error;
  const std::optional<vx::EmbeddingFolder> read = vx::readEmbeddingFolder(folder.path.string(), error);
  check(read.has_value() == error.empty());
  if (!read)
    return check(llvm::StringRef(error).starts_with(folder.path.string()));
  const EmbeddingSettings settings = parseEmbeddingSettings(read->settings);
  checkSettings(settings);
  check(poolingName(settings.info.pooling) == read->pooling && settings.info.normalizes == read->normalizes);
  check(settings.tokenizerAsset == read->tokenizerName && !read->tokenizerBytes.empty());
  for (const vx::EmbeddingStep &step : read->steps)
    check(!step.dense || step.dense->weight.size() == static_cast<size_t>(step.dense->inputs * step.dense->outputs));
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  return vx::fuzz::mutateKindAndText(data, size, maxSize, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const vx::fuzz::KindAndText input(data, size);
  if (input.kind % 2 == 0)
    readSettings(input.text);
  else
    readFolder(input.text);
  return 0;
}
