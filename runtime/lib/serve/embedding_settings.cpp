#include "embedding_settings.h"

#include "failure.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace vx::serve {

namespace {

using Json = nlohmann::json;

// No settings are nested deeper.
constexpr int Deepest = 8;
constexpr size_t MostTokens = size_t(1) << 24;

// An object, whose keys are all read: one that is not known is a mistake, or of a newer compiler.
class Node {
public:
  Node(const Json &object, std::string path) : object(object), path(std::move(path)) {
    if (!object.is_object())
      throw dataError("asset '{}'{}: expected an object, got {}", EmbeddingAsset,
                      this->path.empty() ? "" : ": '" + this->path + "'", show(object));
  }

  void expectKeys(std::initializer_list<std::string_view> known) const {
    for (const auto &[key, value] : object.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        throw dataError("asset '{}': '{}' is no key that this version knows", EmbeddingAsset, at(key));
  }
  bool has(const char *key) const { return object.contains(key); }
  const Json &get(const char *key) const {
    const auto found = object.find(key);
    if (found == object.end())
      throw dataError("asset '{}': expected '{}', but it is missing", EmbeddingAsset, at(key));
    return *found;
  }
  std::string string(const char *key) const {
    const Json &value = get(key);
    if (!value.is_string())
      fail(key, "a string", value);
    return value.get<std::string>();
  }
  bool boolean(const char *key) const {
    const Json &value = get(key);
    if (!value.is_boolean())
      fail(key, "true or false", value);
    return value.get<bool>();
  }
  size_t number(const char *key, size_t least, size_t most) const {
    const Json &value = get(key);
    if (!value.is_number_unsigned() || value.get<uint64_t>() < least || value.get<uint64_t>() > most)
      fail(key, fmt::format("a number from {} to {}", least, most), value);
    return value.get<size_t>();
  }
  std::vector<std::string> strings(const char *key) const {
    std::vector<std::string> texts;
    const Json &value = get(key);
    if (!value.is_array() ||
        !std::all_of(value.begin(), value.end(), [](const Json &text) { return text.is_string(); }))
      fail(key, "a list of strings", value);
    for (const Json &text : value)
      texts.push_back(text.get<std::string>());
    return texts;
  }
  Node node(const char *key) const { return Node(get(key), at(key)); }
  const Json &json() const { return object; }

  [[noreturn]] void fail(std::string_view key, const std::string &want, const Json &got) const {
    throw dataError("asset '{}': '{}': expected {}, got {}", EmbeddingAsset, at(key), want, show(got));
  }

private:
  std::string at(std::string_view key) const {
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
  }
  static std::string show(const Json &value) {
    const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    return text.size() <= 60 ? text : text.substr(0, 57) + "...";
  }

  const Json &object;
  const std::string path;
};

void readTokenizer(const Node &node, EmbeddingSettings &settings) {
  node.expectKeys({"asset", "lowercase", "strip_accents", "chinese_characters", "unknown", "first", "separator",
                   "padding", "mask", "before", "after", "truncation_side"});
  settings.tokenizerAsset = node.string("asset");
  if (node.has("truncation_side")) {
    const std::string side = node.string("truncation_side");
    if (side != "left" && side != "right")
      node.fail("truncation_side", "left or right", node.get("truncation_side"));
    settings.truncationSide = side == "left" ? text::Side::left : text::Side::right;
  }
  text::WordPieceOptions &words = settings.words;
  for (auto [key, place] :
       {std::pair("lowercase", &words.lowercase), {"chinese_characters", &words.chinese_characters}})
    if (node.has(key))
      *place = node.boolean(key);
  if (node.has("strip_accents"))
    words.strip_accents = node.boolean("strip_accents");
  for (auto [key, place] : {std::pair("unknown", &words.unknown),
                            {"first", &words.first},
                            {"separator", &words.separator},
                            {"padding", &words.padding},
                            {"mask", &words.mask}})
    if (node.has(key))
      *place = node.string(key);
  for (auto [key, place] : {std::pair("before", &settings.before), {"after", &settings.after}})
    if (node.has(key))
      *place = node.strings(key);
}

void readScores(const Node &node, EmbedderInfo &info) {
  node.expectKeys({"activation"});
  const std::string name = node.string("activation");
  if (name != "identity" && name != "sigmoid")
    node.fail("activation", "identity or sigmoid", node.get("activation"));
  info.scores = name == "sigmoid" ? Activation::sigmoid : Activation::identity;
}

void readVectors(const Node &root, EmbedderInfo &info) {
  if (const std::optional<Pooling> pooling = parsePooling(root.string("pooling")))
    info.pooling = *pooling;
  else
    root.fail("pooling", "cls, mean or last", root.get("pooling"));
  info.normalizes = root.boolean("normalize");
  const Node prompts = root.node("prompts");
  for (const auto &[name, prompt] : prompts.json().items()) {
    if (!prompt.is_string())
      prompts.fail(name, "a string", prompt);
    info.prompts[name] = prompt.get<std::string>();
  }
  info.defaultPrompt = root.string("default_prompt");
  if (!info.defaultPrompt.empty() && !info.prompts.contains(info.defaultPrompt))
    root.fail("default_prompt", "a name of 'prompts'", root.get("default_prompt"));
  info.canShorten = root.boolean("can_shorten");
  const Json &shorter = root.get("shorter_dimensions");
  if (!shorter.is_array() || !std::all_of(shorter.begin(), shorter.end(), [](const Json &size) {
        return size.is_number_unsigned() && size.get<uint64_t>() > 0;
      }))
    root.fail("shorter_dimensions", "a list of numbers of 1 or more", shorter);
  for (const Json &size : shorter)
    info.shorterDimensions.push_back(size.get<size_t>());
}

} // namespace

EmbeddingSettings parseEmbeddingSettings(std::string_view text) {
  // Deeper than anything here is, it is wrong and not read.
  const auto isShallow = [](int depth, Json::parse_event_t event, Json &) {
    if ((event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) && depth > Deepest)
      throw dataError("asset '{}': expected values in at most {} others, got more", EmbeddingAsset, Deepest);
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, isShallow);
  } catch (const Json::exception &error) {
    throw dataError("asset '{}': no JSON: {}", EmbeddingAsset, error.what());
  }
  const Node root(json, "");
  if (const size_t version = root.number("version", 0, SIZE_MAX); version != 1)
    throw dataError("asset '{}': 'version': expected 1, got {}", EmbeddingAsset, version);
  if (root.has("scores"))
    root.expectKeys({"version", "name", "scores", "max_tokens", "padding", "lowercase", "tokenizer"});
  else
    root.expectKeys({"version", "name", "pooling", "normalize", "max_tokens", "padding", "lowercase", "prompts",
                     "default_prompt", "can_shorten", "shorter_dimensions", "tokenizer"});
  EmbeddingSettings settings;
  EmbedderInfo &info = settings.info;
  info.name = root.string("name");
  info.maxTokens = root.number("max_tokens", 1, MostTokens);
  settings.padding = static_cast<int32_t>(root.number("padding", 0, INT32_MAX));
  settings.lowercase = root.boolean("lowercase");
  if (root.has("scores"))
    readScores(root.node("scores"), info);
  else
    readVectors(root, info);
  readTokenizer(root.node("tokenizer"), settings);
  return settings;
}

} // namespace vx::serve
