// What the system says of this process.
#ifndef VX_SERVE_PROCESS_FACTS_H
#define VX_SERVE_PROCESS_FACTS_H

#include "metrics.h"

namespace vx::serve {

// By the names that Prometheus' own clients have: CPU time, resident memory, descriptors. What the system does not say
// is left out.
std::vector<Metrics::Gauge> processGauges();

} // namespace vx::serve

#endif
