#include "worker.h"

#include "case_compiler.h"
#include "outcome_json.h"

#include "vx/runtime/vx.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace vx::tools {

using json = nlohmann::ordered_json;

json devicesRequest() { return {{"devices", true}}; }

json caseRequest(const CaseRequest &request) {
  return {{"name", request.folder.name},  {"path", request.folder.path},  {"mode", modeName(request.mode)},
          {"targets", request.targets},   {"variants", request.variants}, {"pack_into", request.packInto},
          {"is_packed", request.isPacked}};
}

static CaseRequest readRequest(const json &request) {
  CaseRequest result;
  result.folder = {request.at("name"), request.at("path")};
  result.mode = valueOf<Mode>(ModeNames, request.at("mode").get<std::string>()).value();
  result.targets = request.at("targets");
  result.variants = request.at("variants");
  result.packInto = request.at("pack_into");
  result.isPacked = request.at("is_packed");
  return result;
}

TargetOutcome readAnswer(const json &answer) {
  return {answer.at("target"), valueOf<Outcome>(OutcomeNames, answer.at("outcome").get<std::string>()).value(),
          answer.at("message"), answer.at("seconds"), readSecondSizes(answer)};
}

// Bytes of a message that are no UTF-8 are replaced: a name in a damaged file may be anything.
static std::string lineOf(const json &value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

int runWorker() {
  // It ends with the tool, however that ends, and leaves no memory of itself on the disk.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit noCore = {0, 0};
  ::setrlimit(RLIMIT_CORE, &noCore);
  endOnCompilerFailure();
  // What a library prints is no answer.
  FILE *answers = ::fdopen(::dup(STDOUT_FILENO), "w");
  if (!answers || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return 1;
  auto answer = [&](const json &value) {
    const std::string line = lineOf(value);
    std::fwrite(line.data(), 1, line.size(), answers);
    std::fflush(answers);
  };
  char *line = nullptr;
  size_t capacity = 0;
  while (::getline(&line, &capacity, stdin) > 0) {
    const json request = json::parse(line);
    if (request.contains("devices")) {
      answer(json::parse(vx::listDevices()));
      continue;
    }
    runCase(readRequest(request), [&](const TargetOutcome &outcome) {
      json told{{"target", outcome.target},
                {"outcome", outcomeName(outcome.outcome)},
                {"message", outcome.message},
                {"seconds", outcome.seconds}};
      addSecondSizes(told, outcome.second);
      answer(told);
    });
  }
  std::free(line);
  std::fclose(answers);
  return 0;
}

} // namespace vx::tools
