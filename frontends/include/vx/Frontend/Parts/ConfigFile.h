// A JSON file of a model's folder, read by keys.
#ifndef VX_FRONTEND_PARTS_CONFIGFILE_H
#define VX_FRONTEND_PARTS_CONFIGFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace vx {

std::string joinPath(llvm::StringRef folder, llvm::StringRef name);

/// Returns the bytes of a regular file, or an error that begins with its name.
llvm::Expected<std::string> readWholeFile(const std::string &path);
llvm::Error makeConfigError(const llvm::Twine &message);

/// The keys of an object. If a value has another type than the requested one, `error` has the first such mistake.
class ConfigFile {
public:
  /// A missing file has no keys.
  static llvm::Expected<ConfigFile> read(const std::string &path);
  /// One object of a file.
  ConfigFile(std::string name, llvm::json::Object object)
      : name(std::move(name)), object(std::move(object)), isThere(true) {}

  bool exists() const { return isThere; }
  const std::string &getName() const { return name; }
  bool has(llvm::StringRef key) const { return lookup(key) != nullptr; }
  /// Returns nullopt for a missing key or null, and for a value of another type.
  std::optional<std::string> getString(llvm::StringRef key);
  std::optional<bool> getBool(llvm::StringRef key);
  /// Returns an integer of at least 0; INT64_MAX for a larger one.
  std::optional<int64_t> getCount(llvm::StringRef key);
  /// Returns any finite number.
  std::optional<double> getNumber(llvm::StringRef key);
  /// Fails unless a key is missing or null, or has this value.
  void expectBool(llvm::StringRef key, bool value);
  void expectString(llvm::StringRef key, llvm::StringRef value);
  /// Fails with the first key, in the order of the alphabet, that no function above has read and that `unused` does not
  /// name. A key with null counts as missing. `reader` names the code that reads the file, for the message.
  void expectAllRead(llvm::ArrayRef<llvm::StringRef> unused, llvm::StringRef reader);
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
  mutable llvm::StringSet<> readKeys;
};

/// Returns the text of a value for messages.
std::string showJson(const llvm::json::Value &value);

/// Reads a file with an array.
llvm::Expected<llvm::json::Array> readJsonArray(const std::string &path);

} // namespace vx

#endif
