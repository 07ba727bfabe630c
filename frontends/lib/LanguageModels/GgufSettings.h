// The keys of a GGUF file that begin with its architecture.
#ifndef VX_LIB_LANGUAGEMODELS_GGUFSETTINGS_H
#define VX_LIB_LANGUAGEMODELS_GGUFSETTINGS_H

#include "ModelBuilder.h"
#include "vx/base/gguf.h"

#include "llvm/ADT/StringSet.h"

namespace vx {

/// Errors are those of `model`; after one, sizes are 1.
class GgufSettings {
public:
  GgufSettings(ModelBuilder &model, const GgufModel &file, std::string architecture)
      : model(model), file(file), architecture(std::move(architecture)) {}

  const GgufValue *lookup(llvm::StringRef key) {
    const std::string name = architecture + "." + key.str();
    read.insert(name);
    return file.find(name);
  }
  bool has(llvm::StringRef key) { return lookup(key) != nullptr; }
  std::optional<uint64_t> getCount(llvm::StringRef key) {
    return get<uint64_t>(key, &GgufValue::unsignedAt, "a whole number of 0 or more");
  }
  std::optional<bool> getBool(llvm::StringRef key) { return get<bool>(key, &GgufValue::booleanAt, "true or false"); }
  std::optional<double> getNumber(llvm::StringRef key) { return get<double>(key, &GgufValue::numberAt, "a number"); }
  std::optional<std::string_view> getString(llvm::StringRef key) {
    return get<std::string_view>(key, &GgufValue::stringAt, "a string");
  }
  int64_t getSize(llvm::StringRef key, std::optional<int64_t> otherwise = std::nullopt,
                  int64_t most = int64_t(1) << 30) {
    const std::optional<uint64_t> size = getCount(key);
    if (size && (*size < 1 || *size > static_cast<uint64_t>(most)))
      fail(key, "a number from 1 to " + std::to_string(most));
    else if (!size && !otherwise && !model.hasFailed())
      model.fail(model.weights.getName() + ": expected a key '" + architecture + "." + key.str() + "', got none");
    return model.hasFailed() ? 1 : size ? static_cast<int64_t>(*size) : *otherwise;
  }
  double getPositive(llvm::StringRef key, double otherwise) {
    const double number = getNumber(key).value_or(otherwise);
    if (!(number > 0 && number < 1e30))
      fail(key, "a number above 0");
    return model.hasFailed() ? 1 : number;
  }
  void fail(llvm::StringRef key, const std::string &expected) {
    const GgufValue *value = file.find(architecture + "." + key.str());
    fail(key, expected, value ? value->text() : "none");
  }
  void fail(llvm::StringRef key, const std::string &expected, const std::string &got) {
    model.fail(model.weights.getName() + ": key '" + architecture + "." + key.str() + "': expected " + expected +
               ", got " + got);
  }
  void expectAllRead() {
    for (const GgufKey &key : file.keys())
      if (llvm::StringRef(key.name).starts_with(architecture + ".") && !read.contains(key.name))
        return model.fail(model.weights.getName() + ": key '" + key.name + "' is " + key.value.text() +
                          ", but the family " + architecture + " does not read this key: it may change the results");
  }

private:
  template <typename T>
  std::optional<T> get(llvm::StringRef key, std::optional<T> (GgufValue::*at)(size_t) const,
                       const std::string &expected) {
    const GgufValue *value = lookup(key);
    if (!value)
      return std::nullopt;
    std::optional<T> result = value->kind() == GgufKind::array ? std::nullopt : (value->*at)(0);
    if (!result)
      fail(key, expected);
    return result;
  }

  ModelBuilder &model;
  const GgufModel &file;
  const std::string architecture;
  llvm::StringSet<> read;
};

} // namespace vx

#endif
