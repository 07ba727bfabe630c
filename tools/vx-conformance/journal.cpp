#include "journal.h"

#include "input_file.h"
#include "outcome_json.h"
#include "tool_error.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace vx::tools {

using Json = nlohmann::ordered_json;

static CaseResult readResult(const Json &line) {
  CaseResult result;
  result.name = line.at("name");
  result.op = line.at("op");
  result.mode = valueOf<Mode>(ModeNames, line.at("mode").get<std::string>()).value();
  result.outcome = {line.at("target"), valueOf<Outcome>(OutcomeNames, line.at("outcome").get<std::string>()).value(),
                    line.at("message"), line.at("seconds"), readSecondSizes(line)};
  result.origin = line.value("origin", "");
  return result;
}

std::vector<CaseResult> Journal::open(const std::string &name) {
  path = name;
  std::vector<CaseResult> results;
  size_t kept = 0;
  if (::access(path.c_str(), F_OK) == 0) {
    const std::vector<uint8_t> bytes = readFile(path);
    const std::string text(bytes.begin(), bytes.end());
    for (size_t end; (end = text.find('\n', kept)) != std::string::npos; kept = end + 1) {
      const std::string line = text.substr(kept, end - kept);
      try {
        results.push_back(readResult(Json::parse(line)));
      } catch (const std::exception &) {
        throw fileError("{}:{}: expected a line of --journal, got '{}'", path, results.size() + 1, line.substr(0, 80));
      }
    }
  }
  file.reset(std::fopen(path.c_str(), "a"));
  if (!file || ::ftruncate(::fileno(file.get()), static_cast<off_t>(kept)) != 0)
    throw workError("cannot write '{}': {}", path, std::strerror(errno));
  return results;
}

void Journal::add(const CaseResult &result) {
  if (!file)
    return;
  Json object = toJson(result);
  object["origin"] = result.origin;
  const std::string line = object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file.get()) != line.size() || std::fflush(file.get()) != 0)
    throw workError("cannot write '{}': {}", path, std::strerror(errno));
}

} // namespace vx::tools
