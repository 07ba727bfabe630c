// How the server is, and what it runs on.
#include "process_facts.h"
#include "service.h"

#include "vx/base/json_text.h"

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
    isLoading |= !entry.model && (entry.state == ModelTable::State::loading || entry.isWaiting);
    isLost |= entry.isLost();
    hasModel |= entry.model != nullptr;
    models_[entry.settings.name] = entry.stateText();
    if (nlohmann::ordered_json losses = describeLosses(entry); !losses.empty())
      lost[entry.settings.name] = losses;
  }
  if (isDraining)
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

void Service::getMetrics(const RouteRequest &request) {
  const HttpServer::Load now = load();
  std::vector<Metrics::Gauge> gauges = processGauges();
  const std::initializer_list<Metrics::Gauge> own = {
      {"vx_connections", "Connections that are open.", static_cast<double>(now.connections)},
      {"vx_requests_in_flight", "Requests that wait for their answer.", static_cast<double>(now.requests)},
      {"vx_bytes_in_flight", "Bytes of requests and answers that are held.", static_cast<double>(now.bytesInFlight)},
      {"vx_connections_refused_total", "Connections above the limits.", static_cast<double>(now.refusedConnections)}};
  gauges.insert(gauges.end(), own.begin(), own.end());
  for (const ModelTable::Entry &entry : models.entries())
    if (entry.model)
      gauges.push_back({"vx_queue_depth", "Requests that wait for a model.",
                        static_cast<double>(entry.model->waiting()),
                        Metrics::labels({{"model", entry.settings.name}})});
  request.exchange->reply({.contentType = "text/plain; version=0.0.4; charset=utf-8", .body = metrics.text(gauges)});
}

} // namespace vx::serve
