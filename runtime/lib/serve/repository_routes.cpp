// The extension of KServe's protocol by which Triton's clients list, load and unload models.
#include "json_request.h"
#include "service.h"

#include "vx/base/json_text.h"

namespace vx::serve {
namespace {

using Json = nlohmann::json;

// The object of a body, which may be left out.
Json bodyOf(const RouteRequest &request, std::initializer_list<std::string_view> known) {
  if (request.http().body.empty())
    return Json::object();
  Json body = parseJson(request.http().body);
  if (!body.is_object())
    throw serviceError(ErrorCode::invalid_value, "expected an object, got {}", jsonKind(body));
  checkMembers(body, known);
  return body;
}

// A server's models are those of its configuration: a client gives no files, and no settings of its own.
Json parametersOf(const RouteRequest &request, std::initializer_list<std::string_view> known) {
  const Json body = bodyOf(request, {"parameters"});
  const Json *parameters = findMember(body, "parameters");
  if (!parameters)
    return Json::object();
  if (!parameters->is_object())
    throw serviceError(ErrorCode::invalid_value, "'parameters': expected an object, got {}", jsonKind(*parameters));
  for (const auto &[name, value] : parameters->items())
    if (name == "config" || name.starts_with("file:"))
      throw serviceError(ErrorCode::invalid_value,
                         "'parameters.{}': models have the settings and files of the server, not of a request", name)
          .about("parameters." + name);
  checkMembers(*parameters, known, "parameters");
  return *parameters;
}

std::string_view repositoryState(const ModelTable::Entry &entry) {
  if (entry.model)
    return entry.isLost() ? "UNAVAILABLE" : "READY";
  return entry.state == ModelTable::State::loading || entry.isWaiting ? "LOADING" : "UNAVAILABLE";
}

} // namespace

void Service::getRepositoryIndex(const RouteRequest &request) {
  const Json body = bodyOf(request, {"ready"});
  const bool readyOnly = boolMember(body, "ready", false);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const auto add = [&](const std::string &name, std::string_view state, const std::string &reason) {
    if (!readyOnly || state == "READY")
      list.push_back({{"name", name}, {"version", "1"}, {"state", state}, {"reason", reason}});
  };
  for (const ModelTable::Entry &entry : models.entries()) {
    const std::string_view state = repositoryState(entry);
    const std::string reason = entry.isLost() ? "the device is lost" : entry.reason;
    add(entry.settings.name, state, state == "UNAVAILABLE" && reason.empty() ? "unloaded" : reason);
  }
  for (const ModelTable::Refused &model : models.refusals())
    add(model.name, "UNAVAILABLE", model.reason);
  replyJson(request, jsonText(list));
}

void Service::loadRepositoryModel(const RouteRequest &request) {
  (void)parametersOf(request, {});
  models.load(request.arguments[0]);
  request.notes().setModel(models.entry(request.arguments[0]).settings.name);
  replyJson(request, "{}");
}

void Service::unloadRepositoryModel(const RouteRequest &request) {
  const Json parameters = parametersOf(request, {"unload_dependents"});
  (void)boolMember(parameters, "unload_dependents", false, "parameters");
  models.unload(request.arguments[0]);
  request.notes().setModel(models.entry(request.arguments[0]).settings.name);
  replyJson(request, "{}");
}

} // namespace vx::serve
