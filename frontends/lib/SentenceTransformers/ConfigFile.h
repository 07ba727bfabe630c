// One JSON file of a model's folder, read key by key.
#ifndef VX_LIB_SENTENCETRANSFORMERS_CONFIGFILE_H
#define VX_LIB_SENTENCETRANSFORMERS_CONFIGFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace vx {

/// The bytes of a regular file; an error that begins with its name.
llvm::Expected<std::string> readWholeFile(const std::string &path);
llvm::Error makeConfigError(const llvm::Twine &message);

/// The keys of an object. Where a value is of another type than is asked for, `error` tells it: the first such one is
/// kept.
class ConfigFile {
public:
  /// A file that is not there has no keys.
  static llvm::Expected<ConfigFile> read(const std::string &path);
  /// One object of a file.
  ConfigFile(std::string name, llvm::json::Object object)
      : name(std::move(name)), object(std::move(object)), isThere(true) {}

  bool exists() const { return isThere; }
  const std::string &getName() const { return name; }
  bool has(llvm::StringRef key) const { return lookup(key) != nullptr; }
  /// Nothing for a key that is not there or null, as for a wrong value.
  std::optional<std::string> getString(llvm::StringRef key);
  std::optional<bool> getBool(llvm::StringRef key);
  /// A whole number of 0 or more; INT64_MAX for a larger one.
  std::optional<int64_t> getCount(llvm::StringRef key);
  const llvm::json::Value *lookup(llvm::StringRef key) const;
  void fail(llvm::StringRef key, const llvm::Twine &want, const llvm::json::Value &got);
  void fail(const llvm::Twine &message);
  llvm::Error takeError();

  llvm::json::Object &getObject() { return object; }

private:
  explicit ConfigFile(std::string name) : name(std::move(name)) {}

  std::string name;
  llvm::json::Object object;
  bool isThere = false;
  std::string problem;
};

/// A value as a message shows it.
std::string showJson(const llvm::json::Value &value);

/// The array of a file.
llvm::Expected<llvm::json::Array> readJsonArray(const std::string &path);

} // namespace vx

#endif
