#include "outcome_json.h"

namespace vx::tools {

using Json = nlohmann::ordered_json;

void addSecondSizes(Json &object, const SecondSizesOutcome &second) {
  if (second.comparedOwn > 0)
    object["compared_with_evaluator"] = second.comparedOwn;
  if (second.result != SecondSizesResult::Untried)
    object["second_sizes"] = {{"result", SecondSizesNames[static_cast<size_t>(second.result)]},
                              {"message", second.message},
                              {"compared", second.compared},
                              {"refused", second.refused},
                              {"refused_by_module", second.refusedByModule},
                              {"packed", second.isPacked}};
}

SecondSizesOutcome readSecondSizes(const Json &object) {
  SecondSizesOutcome second;
  second.comparedOwn = object.value("compared_with_evaluator", size_t{0});
  const auto found = object.find("second_sizes");
  if (found == object.end())
    return second;
  second.result = valueOf<SecondSizesResult>(SecondSizesNames, found->at("result").get<std::string>()).value();
  second.message = found->at("message");
  second.compared = found->at("compared");
  second.refused = found->at("refused");
  second.refusedByModule = found->at("refused_by_module");
  second.isPacked = found->value("packed", false);
  return second;
}

} // namespace vx::tools
