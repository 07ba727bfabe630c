#include "vx/Frontend/SentenceTransformers/EmbeddingFolder.h"

#include "DenseWeights.h"
#include "TokenizerConfig.h"
#include "vx/Frontend/LanguageModels/LanguageModel.h"
#include "vx/Frontend/Parts/ConfigFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace vx {

namespace {

namespace json = llvm::json;

bool isFile(const std::string &path) { return llvm::sys::fs::exists(path) && !llvm::sys::fs::is_directory(path); }

class Reader {
public:
  explicit Reader(llvm::StringRef path) {
    while (path.size() > 1 && path.ends_with("/"))
      path = path.drop_back();
    folder.path = path.str();
    llvm::SmallString<256> place(path);
    llvm::sys::fs::make_absolute(place);
    llvm::sys::path::remove_dots(place, /*remove_dot_dot=*/true);
    folder.name = llvm::sys::path::filename(place).str();
  }

  llvm::Error read() {
    for (auto step :
         {&Reader::readModules, &Reader::findModel, &Reader::readLimits, &Reader::readPrompts, &Reader::readTokenizer})
      if (llvm::Error error = (this->*step)())
        return error;
    writeSettings();
    return llvm::Error::success();
  }

  EmbeddingFolder folder;

private:
  llvm::Expected<ConfigFile> open(const std::string &path) {
    llvm::Expected<ConfigFile> file = ConfigFile::read(path);
    if (file && file->exists())
      folder.files.push_back(path);
    return file;
  }

  /// Adds a note for each key that is likely to be a known one with a slip of the fingers.
  void noteSlips(const ConfigFile &config, llvm::ArrayRef<llvm::StringRef> unused) {
    llvm::append_range(folder.notes, config.findSlips(unused));
  }

  /// The first of these that is there, in the model's folder, beside the transformer's configuration or in "onnx".
  std::string find(llvm::ArrayRef<llvm::StringRef> names) const {
    for (llvm::StringRef name : names)
      for (const std::string &place : {folder.path, transformer, joinPath(folder.path, "onnx")})
        if (std::string path = joinPath(place, name); isFile(path))
          return path;
    return "";
  }

  /// Reads the modules in sequence: a transformer, a pooling, and steps for its vectors.
  llvm::Error readModules() {
    transformer = folder.path;
    const std::string path = joinPath(folder.path, "modules.json");
    if (!llvm::sys::fs::exists(path)) {
      if (llvm::Error error = readScores())
        return error;
      if (folder.scores)
        return llvm::Error::success();
      folder.pooling = "mean";
      folder.notes.push_back(
          "'" + folder.path +
          "' has no modules.json: its vectors are the mean of their tokens' and not scaled to length 1, as "
          "sentence-transformers has it");
      return llvm::Error::success();
    }
    llvm::Expected<std::vector<ConfigFile>> modules = ConfigFile::readList(path, "module");
    if (!modules)
      return modules.takeError();
    folder.files.push_back(path);
    bool hasTransformer = false;
    for (auto [number, module] : llvm::enumerate(*modules)) {
      std::string type = module.getString("type").value_or("");
      std::string place = module.getString("path").value_or("");
      if (llvm::StringRef(place).contains("..") || llvm::sys::path::is_absolute(place))
        module.failAt("path", "expected a folder in the model's, got '" + place + "'");
      noteSlips(module, {"idx", "name"});
      if (llvm::Error error = module.takeError())
        return error;
      // The meaning of a class in the folder is known from its code only.
      llvm::StringRef kind =
          llvm::StringRef(type).starts_with("sentence_transformers.") ? llvm::StringRef(type).rsplit('.').second : "";
      place = place.empty() ? folder.path : joinPath(folder.path, place);
      if (kind == "Transformer" && number == 0) {
        transformer = place;
        hasTransformer = true;
        continue;
      }
      if (kind == "Pooling" && number == 1) {
        if (llvm::Error error = readPooling(place))
          return error;
      } else if (kind == "Dense" && number > 1) {
        if (llvm::Error error = readDense(place))
          return error;
      } else if (kind == "Normalize" && number > 1) {
        folder.steps.push_back({});
      } else {
        const char *want = number == 0 ? "Transformer" : number == 1 ? "Pooling" : "Dense or Normalize";
        module.failAt("type", llvm::Twine("expected ") + want + " of sentence_transformers, got '" + type + "'");
        return module.takeError();
      }
    }
    if (!hasTransformer || folder.pooling.empty())
      return makeConfigError(path + ": expected a Transformer and a Pooling, got " + std::to_string(modules->size()) +
                             " modules");
    // Of several in a row the first one is enough.
    while (!folder.steps.empty() && !folder.steps.back().dense) {
      folder.normalizes = true;
      folder.steps.pop_back();
    }
    return llvm::Error::success();
  }

  /// A classifier with one label is a cross-encoder, whose score is the activation that sentence-transformers stores.
  llvm::Error readScores() {
    llvm::Expected<ConfigFile> config = ConfigFile::read(joinPath(folder.path, "config.json"));
    if (!config)
      return config.takeError();
    bool isClassifier = false;
    const bool hasClass = config->has("architectures");
    if (const json::Value *value = config->lookup("architectures")) {
      const json::Array *names = value->getAsArray();
      for (const json::Value &name : names ? *names : json::Array())
        isClassifier |= name.getAsString().value_or("").ends_with("ForSequenceClassification");
      if (!names)
        config->fail("architectures", "a list", *value);
    }
    // As transformers counts them: 2 where the file has no number.
    std::optional<int64_t> labels = config->getCount("num_labels");
    if (const json::Value *value = config->lookup("id2label")) {
      if (const json::Object *names = value->getAsObject())
        labels = names->size();
      else
        config->fail("id2label", "an object", *value);
    }
    if (llvm::Error error = config->takeError())
      return error;
    folder.scores = isClassifier || (!hasClass && labels == 1);
    if (!folder.scores)
      return llvm::Error::success();
    if (labels.value_or(2) != 1)
      return makeConfigError(config->getName() +
                             ": a model for sequence classification: expected one label, as a cross-encoder has, got " +
                             std::to_string(labels.value_or(2)));
    std::string key = "sbert_ce_default_activation_function", given = "torch.nn.modules.activation.Sigmoid";
    std::optional<std::string> stated = config->getString(key);
    if (const json::Value *value = config->lookup("sentence_transformers")) {
      const json::Object *object = value->getAsObject();
      if (!object)
        config->fail("sentence_transformers", "an object", *value);
      else if (const json::Value *function = object->get("activation_fn"); function && !function->getAsNull()) {
        key = "sentence_transformers.activation_fn";
        stated = function->getAsString() ? function->getAsString()->str() : showJson(*function);
      }
    }
    llvm::StringRef name = llvm::StringRef(stated ? *stated : given).rsplit('.').second;
    if (name != "Sigmoid" && name != "Identity")
      config->failAt(key, "expected Sigmoid or Identity of PyTorch, got '" + *stated + "'");
    activation = name == "Sigmoid" ? "sigmoid" : "identity";
    return config->takeError();
  }

  llvm::Error readPooling(const std::string &place) {
    const std::string path = joinPath(place, "config.json");
    llvm::Expected<ConfigFile> config = open(path);
    if (!config)
      return config.takeError();
    if (!config->exists())
      return makeConfigError(path + ": expected the pooling's configuration, got no such file");
    static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> modes[] = {
        {"cls", "pooling_mode_cls_token"},         {"mean", "pooling_mode_mean_tokens"},
        {"last", "pooling_mode_lasttoken"},        {"", "pooling_mode_max_tokens"},
        {"", "pooling_mode_mean_sqrt_len_tokens"}, {"", "pooling_mode_weightedmean_tokens"}};
    std::string on;
    unsigned count = 0;
    for (auto [pooling, key] : modes)
      if (config->getBool(key).value_or(false)) {
        on += (on.empty() ? "'" : ", '") + key.str() + "'";
        folder.pooling = pooling.str();
        ++count;
      }
    static constexpr llvm::StringLiteral want =
        "expected one of 'pooling_mode_cls_token', 'pooling_mode_mean_tokens' and "
        "'pooling_mode_lasttoken' to be true, got ";
    if (count == 0 && config->has("pooling_mode")) {
      std::string mode = config->getString("pooling_mode").value_or("");
      folder.pooling = mode == "lasttoken" ? "last" : mode;
      if (folder.pooling != "cls" && folder.pooling != "mean" && folder.pooling != "last")
        config->fail("pooling_mode", "cls, mean or lasttoken", *config->lookup("pooling_mode"));
    } else if (count != 1 || folder.pooling.empty()) {
      config->fail(want + (on.empty() ? "none" : on));
    }
    if (!config->getBool("include_prompt").value_or(true))
      config->fail("include_prompt", "true", *config->lookup("include_prompt"));
    folder.wordDimension = config->getCount("word_embedding_dimension");
    folder.wordDimensionSource = path + ": 'word_embedding_dimension'";
    noteSlips(*config, {"pooling_mode"});
    return config->takeError();
  }

  llvm::Error readDense(const std::string &place) {
    const std::string path = joinPath(place, "config.json");
    llvm::Expected<ConfigFile> config = open(path);
    if (!config)
      return config.takeError();
    if (!config->exists())
      return makeConfigError(path + ": expected the layer's configuration, got no such file");
    DenseLayer layer;
    const std::optional<int64_t> inputs = config->getCount("in_features"), outputs = config->getCount("out_features");
    const bool hasBias = config->getBool("bias").value_or(true);
    // By the class's name, as PyTorch has it.
    const std::string function = config->getString("activation_function").value_or("torch.nn.modules.activation.Tanh");
    static constexpr std::pair<llvm::StringLiteral, DenseLayer::Activation> known[] = {
        {"Identity", DenseLayer::Activation::Identity},
        {"Tanh", DenseLayer::Activation::Tanh},
        {"ReLU", DenseLayer::Activation::Relu},
        {"Sigmoid", DenseLayer::Activation::Sigmoid},
        {"GELU", DenseLayer::Activation::Gelu}};
    const auto *found =
        llvm::find_if(known, [&](auto &entry) { return llvm::StringRef(function).rsplit('.').second == entry.first; });
    if (found == std::end(known))
      config->failAt("activation_function",
                     "expected Identity, Tanh, ReLU, Sigmoid or GELU of PyTorch, got '" + function + "'");
    else
      layer.activation = found->second;
    for (auto [key, value] : {std::pair("in_features", inputs), {"out_features", outputs}})
      if (!value || *value < 1 || *value > (1 << 20))
        config->failAt(key, "expected a number from 1 to 1048576, got " + (value ? std::to_string(*value) : "none"));
    for (llvm::StringRef key : {"module_input_name", "module_output_name"})
      if (config->getString(key).value_or("sentence_embedding") != "sentence_embedding")
        config->fail(key, "sentence_embedding", *config->lookup(key));
    noteSlips(*config, {});
    if (llvm::Error error = config->takeError())
      return error;
    layer.inputs = *inputs;
    layer.outputs = *outputs;
    layer.path = joinPath(place, "model.safetensors");
    layer.inFeatures = path + ": 'in_features'";
    layer.outFeatures = path + ": 'out_features'";
    if (!isFile(layer.path))
      return makeConfigError(
          layer.path + ": expected the layer's weights, got " +
          (isFile(joinPath(place, "pytorch_model.bin")) ? "pytorch_model.bin, which is not read" : "no such file"));
    folder.files.push_back(layer.path);
    llvm::Expected<std::string> bytes = readWholeFile(layer.path);
    if (!bytes)
      return bytes.takeError();
    if (llvm::Error error = readDenseWeights(*bytes, hasBias, layer))
      return error;
    folder.steps.push_back({std::move(layer)});
    return llvm::Error::success();
  }

  /// The first place that has .onnx files: its model.onnx, or the only one. Without any the weights beside the
  /// transformer's configuration.
  llvm::Error findModel() {
    for (const std::string &place : {folder.path, transformer, joinPath(folder.path, "onnx")}) {
      std::vector<std::string> names;
      std::error_code problem;
      for (llvm::sys::fs::directory_iterator file(place, problem), end; !problem && file != end;
           file.increment(problem))
        if (llvm::StringRef name = llvm::sys::path::filename(file->path());
            name.ends_with(".onnx") && !name.starts_with(".") && isFile(file->path()))
          names.push_back(name.str());
      if (names.empty())
        continue;
      const bool hasUsual = llvm::is_contained(names, "model.onnx");
      llvm::sort(names);
      if (!hasUsual && names.size() > 1)
        return makeConfigError(place + ": expected one .onnx file or a model.onnx, got '" + llvm::join(names, "', '") +
                               "'");
      folder.modelPath = joinPath(place, hasUsual ? "model.onnx" : names.front());
      if (!hasUsual)
        folder.notes.push_back("'" + place + "' has no model.onnx: the model is '" + names.front() +
                               "', its only .onnx file");
      return llvm::Error::success();
    }
    folder.modelPath = findWeights(transformer);
    folder.isOnnx = false;
    if (folder.modelPath.empty())
      return makeConfigError(folder.path + ": expected a file model.onnx, onnx/model.onnx, model.safetensors or "
                                           "model.safetensors.index.json, got none");
    if (folder.scores)
      return makeConfigError(folder.path + ": a cross-encoder: expected a file model.onnx or onnx/model.onnx, got " +
                             llvm::sys::path::filename(folder.modelPath) +
                             " only: the weights of its head are not read yet");
    return llvm::Error::success();
  }

  /// Reads the greatest length of a text, and the padding token.
  llvm::Error readLimits() {
    llvm::Expected<ConfigFile> model = open(joinPath(transformer, "config.json"));
    if (!model)
      return model.takeError();
    std::string name = find({"tokenizer_config.json"});
    llvm::Expected<ConfigFile> tokenizer = open(name.empty() ? joinPath(folder.path, "tokenizer_config.json") : name);
    if (!tokenizer)
      return tokenizer.takeError();
    // The first versions of sentence-transformers named it after the model.
    name = find({"sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json",
                 "sentence_camembert_config.json", "sentence_albert_config.json", "sentence_xlm-roberta_config.json",
                 "sentence_xlnet_config.json"});
    llvm::Expected<ConfigFile> sentences =
        open(name.empty() ? joinPath(folder.path, "sentence_bert_config.json") : name);
    if (!sentences)
      return sentences.takeError();
    padding = model->getCount("pad_token_id").value_or(0);
    if (padding > INT32_MAX)
      model->fail("pad_token_id", "a number below 2147483648", *model->lookup("pad_token_id"));
    const llvm::StringRef positionsKey =
        model->has("n_positions") && !model->has("max_position_embeddings") ? "n_positions" : "max_position_embeddings";
    std::optional<int64_t> positions = model->getCount(positionsKey);
    // These number positions from the padding token's number + 1 on.
    static constexpr llvm::StringLiteral shifted[] = {"roberta", "xlm-roberta", "camembert", "mpnet"};
    const bool isShifted = positions && llvm::is_contained(shifted, model->getString("model_type").value_or(""));
    if (isShifted)
      positions = *positions - std::min(*positions, padding + 1);
    const std::optional<int64_t> longest = tokenizer->getCount("model_max_length");
    const std::optional<int64_t> stated = sentences->getCount("max_seq_length");
    if (positions && stated && *stated > *positions)
      sentences->failAt("max_seq_length", "expected at most " + std::to_string(*positions) + ", which is '" +
                                              positionsKey.str() + "' of " + model->getName() +
                                              (isShifted ? " less 'pad_token_id' and 1" : "") + ", got " +
                                              std::to_string(*stated));
    maxTokens = stated ? *stated : std::min(positions.value_or(INT64_MAX), longest.value_or(INT64_MAX));
    if (maxTokens == INT64_MAX) {
      maxTokens = 512;
      folder.notes.push_back("no file says how long a text may be: at most 512 tokens");
    }
    lowercases = sentences->getBool("do_lower_case").value_or(false);
    if (maxTokens < 1 || maxTokens > (1 << 24))
      sentences->fail("expected 1 to 16777216 tokens at most, got " + llvm::Twine(maxTokens));
    if (const json::Value *value = model->lookup("matryoshka_dimensions")) {
      const json::Array *list = value->getAsArray();
      for (const json::Value &size : list ? *list : json::Array())
        shorter.push_back(size.getAsInteger().value_or(0));
      if (!list || list->empty() || llvm::any_of(shorter, [](int64_t size) { return size < 1; }))
        model->fail("matryoshka_dimensions", "numbers of 1 or more", *value);
    }
    canShorten = !shorter.empty() || model->getBool("is_matryoshka").value_or(false);
    noteSlips(*sentences, {});
    // Keys that are near to another one's name, and right.
    noteSlips(*model, {"bos_token_id", "cls_token_id", "eos_token_id", "mask_token_id", "sep_token_id"});
    for (ConfigFile *file : {&*model, &*tokenizer, &*sentences})
      if (llvm::Error error = file->takeError())
        return error;
    tokenizerConfig.emplace(std::move(*tokenizer));
    return llvm::Error::success();
  }

  llvm::Error readPrompts() {
    llvm::Expected<ConfigFile> config = open(joinPath(folder.path, "config_sentence_transformers.json"));
    if (!config)
      return config.takeError();
    if (const json::Value *value = config->lookup("prompts")) {
      const json::Object *object = value->getAsObject();
      if (!object)
        config->fail("prompts", "an object", *value);
      for (const auto &[name, text] : object ? *object : json::Object()) {
        if (text.getAsString())
          prompts[name] = text;
        else
          config->fail("prompts." + name.str(), "a string", text);
      }
    }
    if (std::optional<std::string> name = config->getString("default_prompt_name")) {
      if (name->empty() || !prompts.get(*name))
        config->fail("default_prompt_name", "a name of 'prompts'", *config->lookup("default_prompt_name"));
      defaultPrompt = *name;
    }
    noteSlips(*config, {"__version__", "similarity_fn_name", "model_type"});
    return config->takeError();
  }

  llvm::Error readTokenizer() {
    std::string path = find({"tokenizer.json"});
    folder.tokenizerKind = "application/json";
    ConfigFile &config = *tokenizerConfig;
    if (path.empty() && !(path = find({"vocab.txt"})).empty()) {
      folder.tokenizerKind = "text/plain";
      describeWordPiece(config, tokenizer);
    } else if (path.empty() && !(path = find({"tokenizer.model", "spiece.model", "sentencepiece.bpe.model"})).empty()) {
      if (folder.scores)
        return makeConfigError(folder.path +
                               ": expected a tokenizer.json or a vocab.txt, which say how two texts are "
                               "put together, got '" +
                               llvm::sys::path::filename(path) + "'");
      folder.tokenizerKind = "application/vnd.sentencepiece";
      describeSentencePiece(config, llvm::sys::path::filename(path), tokenizer);
    }
    describeTruncation(config, tokenizer);
    noteSlips(config, {"add_bos_token", "add_eos_token", "bos_token", "cls_token", "do_lower_case", "eos_token",
                       "mask_token", "pad_token", "sep_token", "strip_accents", "unk_token"});
    if (path.empty())
      return makeConfigError(folder.path + ": expected a tokenizer.json, a vocab.txt or a tokenizer.model, got none");
    if (llvm::Error error = config.takeError())
      return error;
    llvm::Expected<std::string> bytes = readWholeFile(path);
    if (!bytes)
      return bytes.takeError();
    folder.files.push_back(path);
    folder.tokenizerName = llvm::sys::path::filename(path).str();
    folder.tokenizerBytes = std::move(*bytes);
    return llvm::Error::success();
  }

  void writeSettings() {
    if (folder.scores)
      return writeSettings(json::Object{{"scores", json::Object{{"activation", activation}}}});
    writeSettings(json::Object{{"pooling", folder.pooling},
                               {"normalize", folder.normalizes},
                               {"prompts", std::move(prompts)},
                               {"default_prompt", defaultPrompt},
                               {"can_shorten", canShorten},
                               {"shorter_dimensions", json::Array(shorter)}});
  }

  void writeSettings(json::Object settings) {
    settings["version"] = 1;
    settings["name"] = folder.name;
    settings["max_tokens"] = maxTokens;
    settings["padding"] = padding;
    settings["lowercase"] = lowercases;
    tokenizer["asset"] = folder.tokenizerName;
    settings["tokenizer"] = std::move(tokenizer);
    json::Value value(std::move(settings));
    llvm::raw_string_ostream os(folder.settings);
    os << value;
  }

  std::string transformer; // where its configuration is
  int64_t maxTokens = 0, padding = 0;
  bool lowercases = false, canShorten = false;
  std::vector<int64_t> shorter;
  json::Object prompts, tokenizer;
  std::optional<ConfigFile> tokenizerConfig;
  std::string defaultPrompt, activation;
};

} // namespace

std::optional<EmbeddingFolder> readEmbeddingFolder(llvm::StringRef path, std::string &error) {
  Reader reader(path);
  if (llvm::Error problem = reader.read()) {
    error = llvm::toString(std::move(problem));
    return std::nullopt;
  }
  return std::move(reader.folder);
}

} // namespace vx
