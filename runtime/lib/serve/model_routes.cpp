// Which models there are.
#include "json_request.h"
#include "kserve_tensors.h"
#include "service.h"

#include "vx/base/json_text.h"

namespace vx::serve {
namespace {

nlohmann::ordered_json describeEntry(const ModelTable::Entry &entry, const nlohmann::ordered_json &losses) {
  nlohmann::ordered_json body = {
      {"name", entry.settings.name}, {"aliases", entry.settings.aliases}, {"state", entry.stateText()}};
  if (!entry.reason.empty())
    body["reason"] = entry.reason;
  if (!entry.model)
    return body;
  body["device"] = nlohmann::ordered_json::parse(entry.model->deviceReport());
  if (entry.model->places().size() > 1 || !entry.model->refusedDevices().empty()) {
    nlohmann::ordered_json devices = nlohmann::ordered_json::array();
    for (const auto &place : entry.model->places())
      devices.push_back({{"device", place->deviceName()}, {"state", place->isLost() ? "device_lost" : "ready"}});
    for (const DeviceLoss &refused : entry.model->refusedDevices())
      devices.push_back({{"device", refused.device}, {"state", "refused"}, {"reason", refused.reason}});
    body["devices"] = devices;
  }
  if (!losses.empty())
    body["lost_devices"] = losses;
  nlohmann::ordered_json functions = nlohmann::ordered_json::array();
  for (const ServedModel::ServedFunction &served : entry.model->functions()) {
    const vx_function_info &function = *served.facts.function;
    nlohmann::ordered_json inputs = nlohmann::ordered_json::array(), outputs = nlohmann::ordered_json::array();
    for (size_t i = 0; i < function.input_count; ++i)
      inputs.push_back(describeArgument(function.inputs[i]));
    for (size_t i = 0; i < function.output_count; ++i)
      outputs.push_back(describeArgument(function.outputs[i]));
    functions.push_back(
        {{"name", function.name}, {"batched", served.facts.rows.canJoin}, {"inputs", inputs}, {"outputs", outputs}});
  }
  body["functions"] = functions;
  body["not_served"] = entry.model->refusals();
  if (const std::shared_ptr<Embedder> embedder = entry.model->embedder()) {
    const EmbedderInfo &info = embedder->info();
    if (info.scores) {
      body["rerank"] = {{"max_tokens", info.maxTokens},
                        {"activation", *info.scores == Activation::sigmoid ? "sigmoid" : "identity"}};
      return body;
    }
    nlohmann::ordered_json poolings = nlohmann::ordered_json::array();
    for (Pooling pooling : info.poolings)
      poolings.push_back(poolingName(pooling));
    body["embeddings"] = {{"dimensions", info.dimensions},        {"max_tokens", info.maxTokens},
                          {"pooling", poolingName(info.pooling)}, {"poolings", poolings},
                          {"normalized", info.normalizes},        {"prompts", info.prompts}};
  }
  return body;
}

nlohmann::ordered_json openAiEntry(const ModelTable::Entry &entry) {
  return {{"id", entry.settings.name}, {"object", "model"}, {"created", 0}, {"owned_by", "vx"}};
}

} // namespace

void Service::getModels(const RouteRequest &request) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ModelTable::Entry &entry : models.entries())
    list.push_back(describeEntry(entry, describeLosses(entry)));
  nlohmann::ordered_json refused = nlohmann::ordered_json::array();
  for (const ModelTable::Refused &model : models.refusals())
    refused.push_back({{"name", model.name}, {"reason", model.reason}});
  replyJson(request, jsonText(nlohmann::ordered_json{{"models", list}, {"refused", refused}}));
}

void Service::getModel(const RouteRequest &request) {
  const ModelTable::Entry entry = models.entry(request.arguments[0]);
  request.notes().setModel(entry.settings.name);
  replyJson(request, jsonText(describeEntry(entry, describeLosses(entry))));
}

void Service::loadModel(const RouteRequest &request) {
  models.load(request.arguments[0]);
  getModel(request);
}

void Service::unloadModel(const RouteRequest &request) {
  models.unload(request.arguments[0]);
  getModel(request);
}

void Service::getOpenAiModels(const RouteRequest &request) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ModelTable::Entry &entry : models.entries())
    if (entry.model || entry.takesRequests())
      list.push_back(openAiEntry(entry));
  replyJson(request, jsonText(nlohmann::ordered_json{{"object", "list"}, {"data", list}}));
}

void Service::getOpenAiModel(const RouteRequest &request) {
  const ModelTable::Entry entry = models.entry(request.arguments[0]);
  request.notes().setModel(entry.settings.name);
  replyJson(request, jsonText(openAiEntry(entry)));
}

} // namespace vx::serve
