#include "ChatTemplateFile.h"

#include "llvm/Support/FileSystem.h"

namespace vx {

namespace {

namespace json = llvm::json;

/// A template by itself, or in a list of objects with "name" and "template".
std::optional<llvm::StringRef> findTemplate(const json::Value &value) {
  if (std::optional<llvm::StringRef> text = value.getAsString())
    return text;
  if (const json::Array *list = value.getAsArray())
    for (const json::Value &entry : *list)
      if (const json::Object *object = entry.getAsObject(); object && object->getString("name") == "default")
        return object->getString("template");
  return std::nullopt;
}

/// The text of a token by itself, or in an object with "content".
std::optional<llvm::StringRef> findText(const json::Value &value) {
  const json::Object *object = value.getAsObject();
  return object ? object->getString("content") : value.getAsString();
}

} // namespace

llvm::Expected<ChatTemplateFile> readChatTemplate(llvm::StringRef folder, std::vector<std::string> &files) {
  ChatTemplateFile result;
  llvm::Expected<ConfigFile> config = ConfigFile::read(joinPath(folder, "tokenizer_config.json"));
  if (!config)
    return config.takeError();
  if (config->exists())
    files.push_back(config->getName());
  for (const char *name : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
    const json::Value *value = config->lookup(name);
    if (value && value->kind() != json::Value::Null) {
      std::optional<llvm::StringRef> text = findText(*value);
      if (!text)
        config->fail(name, "the text of a token, or an object with 'content'", *value);
      else
        result.tokens[name] = text->str();
    }
  }
  const std::string path = joinPath(folder, "chat_template.jinja");
  const json::Value *value = config->lookup("chat_template");
  if (llvm::sys::fs::exists(path)) {
    llvm::Expected<std::string> source = readWholeFile(path);
    if (!source)
      return source.takeError();
    files.push_back(path);
    result.source = std::move(*source);
  } else if (value && value->kind() != json::Value::Null) {
    std::optional<llvm::StringRef> source = findTemplate(*value);
    if (!source)
      config->fail("chat_template", "a template, or a list with one of the name \"default\"", *value);
    else
      result.source = source->str();
  }
  if (llvm::Error error = config->takeError())
    return error;
  return result;
}

ChatTemplateFile readChatTemplate(const GgufModel &model) {
  ChatTemplateFile result;
  const auto textAt = [&](const char *key, size_t place, bool isList) -> std::optional<std::string_view> {
    const GgufValue *value = model.find(key);
    return value && (value->kind() == GgufKind::array) == isList ? value->stringAt(place) : std::nullopt;
  };
  result.source = textAt("tokenizer.chat_template", 0, false).value_or("");
  for (auto [name, key] :
       {std::pair("bos_token", "bos"), {"eos_token", "eos"}, {"unk_token", "unknown"}, {"pad_token", "padding"}}) {
    const GgufValue *value = model.find(std::string("tokenizer.ggml.") + key + "_token_id");
    const std::optional<uint64_t> id = value && value->kind() != GgufKind::array ? value->unsignedAt(0) : std::nullopt;
    if (std::optional<std::string_view> text = id ? textAt("tokenizer.ggml.tokens", *id, true) : std::nullopt)
      result.tokens[name] = *text;
  }
  return result;
}

} // namespace vx
