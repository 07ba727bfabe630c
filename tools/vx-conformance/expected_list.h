// The file of what must pass: a line "NAME MODE TARGET,TARGET" for each case and mode, "NAME MODE TARGET:COUNT" where
// it is called at other sizes too; "NAME MODE refused TARGET: MESSAGE" for each refusal; and "@ran TARGET,TARGET
// MODE,MODE TEXT" for a run that it is from.
#ifndef VX_TOOLS_EXPECTED_LIST_H
#define VX_TOOLS_EXPECTED_LIST_H

#include "outcome.h"

#include <map>
#include <string>
#include <vector>

namespace vx::tools {

class ExpectedList {
public:
  using Key = std::pair<std::string, Mode>; // a case's name
  // Of a case that passes: how many calls at other sizes than those of its files give the reference evaluator's values.
  using Passing = std::map<std::string, size_t>; // by target

  ExpectedList() = default;
  // Throws a ToolError (exit 3) that names the file and the line.
  explicit ExpectedList(const std::string &path);

  bool has(const std::string &name, Mode mode, const std::string &target) const;
  // 0 for what is not listed.
  size_t calls(const std::string &name, Mode mode, const std::string &target) const;
  // As reasonOf gives it; empty where no refusal is listed.
  std::string refusal(const std::string &name, Mode mode, const std::string &target) const;
  // What the list has of a refusal: the first line of its message, the first node that is refused.
  static std::string reasonOf(const TargetOutcome &outcome);
  // What a run found of a case. One without calls at other sizes, as that of a packed case, leaves their number as it
  // is.
  void set(const std::string &name, Mode mode, const TargetOutcome &outcome);

  const std::map<Key, Passing> &entries() const { return targets; }
  // The names of all cases that are listed, with their modes.
  std::vector<Key> keys() const;
  void remove(const Key &key);

  // Where a target and a mode were run last as a whole; empty where that is not known.
  std::string origin(const std::string &target, Mode mode) const;
  void setOrigin(const std::vector<std::string> &names, const std::vector<Mode> &modes, const std::string &text);

  std::string text() const;

private:
  std::map<Key, Passing> targets;
  std::map<Key, std::map<std::string, std::string>> refusals;  // by target
  std::map<std::pair<std::string, Mode>, std::string> origins; // by target
};

} // namespace vx::tools

#endif
