#include "batch_key.h"

namespace vx::serve {

bool isPartOfBatchKey(std::string_view) { return true; }

} // namespace vx::serve
