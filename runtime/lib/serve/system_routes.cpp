// How the server is, and what it runs on.
#include "openapi_text.h"
#include "process_facts.h"
#include "service.h"

#include "vx/base/json_text.h"

#include <map>
#include <set>

namespace vx::serve {
nlohmann::ordered_json Service::describeLosses(const ModelTable::Entry &entry) {
  nlohmann::ordered_json losses = nlohmann::ordered_json::array();
  if (!entry.model)
    return losses;
  for (const DeviceLoss &loss : entry.model->losses()) {
    // What was running behind it are names of the model's, which are for the log.
    nlohmann::ordered_json about = {{"device", loss.device}, {"reason", loss.reason.substr(0, loss.reason.find("; "))}};
    if (!entry.isLost())
      about["now"] = entry.model->device();
    losses.push_back(about);
  }
  return losses;
}

nlohmann::ordered_json Service::health() const {
  nlohmann::ordered_json models_ = nlohmann::ordered_json::object(), lost = nlohmann::ordered_json::object();
  std::string status = "ok";
  bool isLoading = false, isLost = false, hasModel = false;
  for (const ModelTable::Entry &entry : models.entries()) {
    // What is loaded again serves meanwhile.
    isLoading |=
        !entry.model && !entry.isLoadedForRequests() && (entry.state == ModelTable::State::loading || entry.isWaiting);
    isLost |= entry.isLost();
    hasModel |= entry.model != nullptr || entry.takesRequests();
    models_[entry.settings.name] = entry.stateText();
    if (nlohmann::ordered_json losses = describeLosses(entry); !losses.empty())
      lost[entry.settings.name] = losses;
  }
  if (isLeaving)
    status = "draining";
  else if (isLost)
    status = "device_lost";
  else if (isLoading)
    status = "loading";
  else if (!hasModel)
    status = "no_model";
  nlohmann::ordered_json body = {{"status", status}, {"models", models_}};
  if (!lost.empty())
    body["lost_devices"] = lost;
  std::lock_guard guard(lock);
  body["config"] = refusal.empty() ? "ok" : "refused";
  if (!refusal.empty())
    body["config_error"] = refusal;
  return body;
}

void Service::getHealth(const RouteRequest &request) {
  const nlohmann::ordered_json body = health();
  HttpResponse response{.status = body["status"] == "ok" ? 200u : 503u, .body = jsonText(body)};
  if (response.status != 200)
    response.headers.emplace_back("Retry-After", "1");
  addHeaders(request.http(), response);
  request.exchange->reply(std::move(response));
}

void Service::getHardware(const RouteRequest &request) { replyJson(request, listDevices()); }

void Service::cancelRequests(const RouteRequest &request) {
  const std::string &id = request.arguments[0];
  size_t count = 0;
  for (const std::shared_ptr<HttpExchange> &exchange : running.find(id)) {
    // What the one who works on it may be changing is left out.
    const HttpRequest &other = exchange->request;
    HttpRequest head;
    head.method = other.method;
    head.path = other.path;
    head.headers = other.headers;
    head.id = other.id;
    count += exchange->cancel(refuse(head, ServiceError(ErrorCode::cancelled, "an admin has cancelled the request")));
  }
  if (count == 0)
    throw serviceError(ErrorCode::not_found, "no request '{}' waits for its answer", id);
  replyJson(request, jsonText(nlohmann::ordered_json{{"id", id}, {"cancelled", count}}));
}

void Service::getOpenApi(const RouteRequest &request) { replyJson(request, std::string(openApiText())); }

void Service::addModelGauges(std::vector<Metrics::Gauge> &gauges) const {
  const std::vector<ModelTable::Entry> entries = models.entries();
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;
  const auto add = [&](std::string_view name, std::string_view help, double value, Labels labels) {
    gauges.push_back({name, help, value, Metrics::labels(labels)});
  };
  for (const ModelTable::Entry &entry : entries)
    add("vx_model_ready", "1 where the model takes requests.", entry.takesRequests() ? 1 : 0,
        {{"model", entry.settings.name}});
  // Lines of one name stand together. What follows is of models that are loaded.
  const auto addEach = [&](const auto &function) {
    for (const ModelTable::Entry &entry : entries)
      if (entry.model)
        function(std::string_view(entry.settings.name), *entry.model);
  };
  addEach([&](std::string_view name, const ServedModel &model) {
    std::set<std::string> names;
    for (const auto &place : model.places())
      if (!place->isLost() || model.isLost())
        names.insert(place->deviceName());
    for (const std::string &device : names)
      add("vx_model_info", "1; the model's device is a label.", 1, {{"model", name}, {"device", device}});
  });
  addEach([&](std::string_view name, const ServedModel &model) {
    add("vx_queue_depth", "Requests that wait for a model.", static_cast<double>(model.waiting()), {{"model", name}});
  });
  addEach([&](std::string_view name, const ServedModel &model) {
    add("vx_queue_limit", "Requests that may wait for a model.", static_cast<double>(model.queueLimit()),
        {{"model", name}});
  });
  addEach([&](std::string_view name, const ServedModel &model) {
    add("vx_capacity_rows", "The most rows of a batch.", static_cast<double>(model.capacityRows()), {{"model", name}});
  });
  addEach([&](std::string_view name, const ServedModel &model) {
    if (const uint64_t limit = model.callLimit())
      add("vx_call_memory_limit_bytes", "The most memory of all calls of a model.", static_cast<double>(limit),
          {{"model", name}});
  });
  std::map<std::string, uint64_t> devices;
  addEach([&](std::string_view name, const ServedModel &model) {
    // Instances on one device share the constants.
    std::map<std::string, ModelDevice::Memory> all;
    for (const auto &place : model.places()) {
      const std::optional<ModelDevice::Memory> memory = place->memory();
      if (!memory || (place->isLost() && !model.isLost()))
        continue;
      ModelDevice::Memory &sum = all[place->deviceName()];
      sum.constants = std::max(sum.constants, memory->constants);
      sum.variables += memory->variables;
      if (memory->device)
        devices[place->deviceName()] = memory->device;
    }
    constexpr std::string_view metric = "vx_model_memory_bytes", help = "Memory of a model on its device, estimated.";
    for (const auto &[device, memory] : all) {
      add(metric, help, static_cast<double>(memory.constants),
          {{"model", name}, {"device", device}, {"kind", "constants"}});
      add(metric, help, static_cast<double>(memory.variables),
          {{"model", name}, {"device", device}, {"kind", "variables"}});
    }
  });
  for (const auto &[device, bytes] : devices)
    add("vx_device_memory_bytes", "All memory of a device.", static_cast<double>(bytes), {{"device", device}});
}

void Service::getMetrics(const RouteRequest &request) {
  const HttpServer::Load now = load();
  std::vector<Metrics::Gauge> gauges = processGauges();
  const std::initializer_list<Metrics::Gauge> own = {
      {"vx_connections", "Connections that are open.", static_cast<double>(now.connections)},
      {"vx_requests_in_flight", "Requests that wait for their answer.", static_cast<double>(now.requests)},
      {"vx_bytes_in_flight", "Bytes of requests and answers that are held.", static_cast<double>(now.bytesInFlight)},
      {"vx_connections_refused_total", "Connections above the limits.", static_cast<double>(now.refusedConnections)}};
  gauges.insert(gauges.end(), own.begin(), own.end());
  if (const std::shared_ptr<TraceExporter> collector = traces()) {
    const TraceExporter::Counts counts = collector->counts();
    gauges.push_back(
        {"vx_trace_spans_sent_total", "Spans that the collector has taken.", static_cast<double>(counts.sent)});
    gauges.push_back({"vx_trace_spans_dropped_total", "Spans that the collector has not taken, or that were too many.",
                      static_cast<double>(counts.dropped)});
  }
  gauges.push_back({"vx_build_info", "1; the version and the commit of the server are labels.", 1,
                    Metrics::labels({{"version", versionNumber()}, {"commit", options()->commit}})});
  gauges.push_back({"vx_models_memory_bytes", "Memory of all models' weights and variables, estimated.",
                    static_cast<double>(models.usedBytes())});
  if (const uint64_t limit = models.memoryBudget())
    gauges.push_back({"vx_memory_budget_bytes", "The most memory of all models' weights and variables.",
                      static_cast<double>(limit)});
  gauges.push_back({"vx_draining", "1 where the server is going down.", isLeaving ? 1.0 : 0.0});
  addModelGauges(gauges);
  request.exchange->reply({.contentType = "text/plain; version=0.0.4; charset=utf-8", .body = metrics.text(gauges)});
}

} // namespace vx::serve
