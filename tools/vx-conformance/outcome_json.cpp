#include "outcome_json.h"

namespace vx::tools {

using Json = nlohmann::ordered_json;

void addSecondSizes(Json &object, const SecondSizesOutcome &second) {
  if (second.result != SecondSizesResult::Untried)
    object["second_sizes"] = {{"result", SecondSizesNames[static_cast<size_t>(second.result)]},
                              {"message", second.message},
                              {"compared", second.compared},
                              {"refused", second.refused},
                              {"refused_by_module", second.refusedByModule},
                              {"packed", second.isPacked}};
}

SecondSizesOutcome readSecondSizes(const Json &object) {
  const auto found = object.find("second_sizes");
  if (found == object.end())
    return {};
  return {valueOf<SecondSizesResult>(SecondSizesNames, found->at("result").get<std::string>()).value(),
          found->at("message"),
          found->at("compared"),
          found->at("refused"),
          found->at("refused_by_module"),
          found->value("packed", false)};
}

} // namespace vx::tools
