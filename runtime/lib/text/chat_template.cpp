#include "vx/text/chat_template.hpp"

#include "text/jinja/evaluate.h"

namespace vx::text {

struct ChatTemplate::Implementation {
  jinja::Syntax syntax;
};

ChatTemplate ChatTemplate::parse(std::string_view source) {
  return ChatTemplate(std::make_shared<const Implementation>(Implementation{jinja::parseTemplate(source)}));
}

std::string ChatTemplate::render(std::string_view variables, const RenderLimits &limits) const {
  std::string output;
  jinja::Run run(limits, output);
  jinja::evaluate(run, shared->syntax, jinja::readJson(run, variables));
  return output;
}

} // namespace vx::text
