// The file of what must pass: a line "NAME MODE TARGET,TARGET" for each case and mode.
#ifndef VX_TOOLS_EXPECTED_LIST_H
#define VX_TOOLS_EXPECTED_LIST_H

#include "outcome.h"

#include <map>
#include <set>
#include <string>

namespace vx::tools {

class ExpectedList {
public:
  using Key = std::pair<std::string, Mode>; // a case's name

  ExpectedList() = default;
  // Throws a ToolError (exit 3) that names the file and the line.
  explicit ExpectedList(const std::string &path);

  bool has(const std::string &name, Mode mode, const std::string &target) const;
  void set(const std::string &name, Mode mode, const std::string &target, bool passes);
  const std::map<Key, std::set<std::string>> &entries() const { return targets; }
  void remove(const Key &key) { targets.erase(key); }

  std::string text() const;

private:
  std::map<Key, std::set<std::string>> targets;
};

} // namespace vx::tools

#endif
