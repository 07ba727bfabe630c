// What the system says of this process.
#ifndef VX_SERVE_PROCESS_FACTS_H
#define VX_SERVE_PROCESS_FACTS_H

#include "metrics.h"

namespace vx::serve {

// By the names that Prometheus' own clients have: CPU time, resident memory, descriptors. What the system does not say
// is left out.
std::vector<Metrics::Gauge> processGauges();

// "0.2.0" of "vx 0.2.0 (module abi 3.3)".
std::string_view versionNumber();

// The most memory that the machine and the control groups that this process is in let it have.
uint64_t memoryOfProcess();

} // namespace vx::serve

#endif
