// The process that works on cases, one after another. What ends it costs the case that it works on.
#ifndef VX_TOOLS_WORKER_H
#define VX_TOOLS_WORKER_H

#include "case_run.h"

#include <nlohmann/json.hpp>

namespace vx::tools {

// The flag by which the tool runs as a worker: requests come on standard input, answers go to standard output, a line
// of JSON each.
inline constexpr const char *WorkerFlag = "--worker";

// A request for the devices of this machine, which is answered as vx_list_devices does; the other is for a case, and
// gets an answer for each of its targets.
nlohmann::ordered_json devicesRequest();
nlohmann::ordered_json caseRequest(const CaseRequest &request);

TargetOutcome readAnswer(const nlohmann::ordered_json &answer);

// Answers until there are no more requests. The exit code.
int runWorker();

} // namespace vx::tools

#endif
