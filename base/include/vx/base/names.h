// Lists of names in messages, and which of them was meant.
#ifndef VX_BASE_NAMES_H
#define VX_BASE_NAMES_H

#include <string>
#include <string_view>
#include <vector>

namespace vx {

// "a, b or c"
std::string joinWords(const std::vector<std::string> &words, std::string_view last);

// "'a', 'b'", or "none".
std::string quoteNames(const std::vector<std::string> &names);

// "a, b and 7 more": the first `most` of a list. One name more than these is written out too.
std::string firstNames(const std::vector<std::string> &names, size_t most = 6);

// Those of `names` that `name` is most likely a slip of the fingers for, three at the most. Letters' case does not
// count.
std::vector<std::string> nearNames(std::string_view name, const std::vector<std::string> &names);

// ", did you mean 'port'" or ", did you mean 'a' or 'b'"; empty where no name is near.
std::string didYouMean(std::string_view name, const std::vector<std::string> &names);

// "was built without the target 'cuda', it has: cpu, vulkan", for a target of vx that a compiler with the targets
// `built` lacks; empty for every other name.
std::string leftOutTarget(std::string_view name, const std::vector<std::string> &built);

// The targets of vx, of which a build may leave out any but cpu.
const std::vector<std::string> &allTargets();

} // namespace vx

#endif
