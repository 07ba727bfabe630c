// What the server answers to which path.
#ifndef VX_SERVE_SERVICE_H
#define VX_SERVE_SERVICE_H

#include "deadline_clock.h"
#include "gatekeeper.h"
#include "http_server.h"
#include "model_table.h"
#include "running_requests.h"
#include "worker_pool.h"

#include <nlohmann/json.hpp>

#include <optional>

namespace vx::serve {

struct ServiceOptions {
  std::string host;                 // that the server listens on; what browsers say is checked on a loopback address
  std::vector<std::string> origins; // of pages that may ask, "https://a.example"; "*": all
  std::chrono::milliseconds timeout{600'000};
  bool metricsOpen = false; // to those without a key
  size_t workers = 2;
};

// A request on its way through one of the routes.
struct RouteRequest {
  std::shared_ptr<HttpExchange> exchange;
  std::vector<std::string> arguments; // what stands for {} in the route's pattern
  const HttpRequest &http() const { return exchange->request; }
  RequestNotes &notes() const { return *exchange->request.notes; }
};

class Service final : public HttpHandler {
public:
  enum class Access : uint8_t { open, metrics, key, admin };
  struct Route {
    std::string_view method, pattern; // "GET", "/v2/models/{}/ready"
    Access access;
    bool isQuick; // answered by the thread that reads, since it works on nothing
    void (Service::*function)(const RouteRequest &);
  };

  Service(const ServiceOptions &options, ModelTable &models, std::shared_ptr<Gatekeeper> gatekeeper, Metrics &metrics,
          std::function<HttpServer::Load()> load);
  ~Service() override;

  // No request that takes work is taken any more.
  void drain() { isDraining = true; }
  // "", or the first error of a configuration that was refused.
  void setConfigurationState(const std::string &refusal);
  void setGatekeeper(std::shared_ptr<Gatekeeper> other);
  // But for the number of workers.
  void setOptions(const ServiceOptions &other);
  // One line for each request that is over.
  std::function<void(const std::string &line)> log;
  // What clients are not told of a failure.
  std::function<void(const std::string &line)> warn;

  void admit(HttpRequest &head) override;
  void handle(std::shared_ptr<HttpExchange> exchange) override;
  HttpResponse refuse(const HttpRequest &request, const ServiceError &error) override;
  void finished(const HttpRequest &request, unsigned status, std::chrono::nanoseconds took) override;

private:
  static std::span<const Route> routes();
  // Of a path: the route of the method, and all methods that there are.
  static const Route *findRoute(const HttpRequest &request, std::vector<std::string> &arguments,
                                std::vector<std::string_view> &methods);
  void checkBrowser(const HttpRequest &head) const;
  // Those of rates, and of web pages.
  void addHeaders(const HttpRequest &request, HttpResponse &response) const;
  void answer(const Route &route, const RouteRequest &request);
  void replyJson(const RouteRequest &request, std::string body, unsigned status = 200) const;
  std::shared_ptr<Gatekeeper> gatekeeper() const;
  std::shared_ptr<const ServiceOptions> options() const;
  std::shared_ptr<ServedModel> findModel(const RouteRequest &request, std::string_view name) const;
  // When a request is to be done: what the server allows, or less where the client asks for that.
  Clock::time_point deadlineOf(const HttpRequest &request) const;
  // Answers a request whose run has failed. What went on inside of the server is for the log.
  void replyFailure(HttpExchange &exchange, const std::string &model, const ServiceError &error);
  void submit(const RouteRequest &request, const std::shared_ptr<BatchJob> &job,
              const std::shared_ptr<Batcher> &batcher);

  // system_routes.cpp
  void getHealth(const RouteRequest &request);
  void getHardware(const RouteRequest &request);
  void getMetrics(const RouteRequest &request);
  void cancelRequests(const RouteRequest &request);
  nlohmann::ordered_json health() const;
  // Devices that a model has lost, each with the reason, and where it is now.
  static nlohmann::ordered_json describeLosses(const ModelTable::Entry &entry);
  // model_routes.cpp
  void getModels(const RouteRequest &request);
  void getModel(const RouteRequest &request);
  void loadModel(const RouteRequest &request);
  void unloadModel(const RouteRequest &request);
  void getOpenAiModels(const RouteRequest &request);
  void getOpenAiModel(const RouteRequest &request);
  // kserve_routes.cpp
  void getKserveServer(const RouteRequest &request);
  void getKserveLive(const RouteRequest &request);
  void getKserveReady(const RouteRequest &request);
  void getKserveModel(const RouteRequest &request);
  void getKserveModelReady(const RouteRequest &request);
  void inferKserve(const RouteRequest &request);
  // embedding_routes.cpp
  void embed(const RouteRequest &request);
  void embedOpenAi(const RouteRequest &request);
  void embedAs(const RouteRequest &request, bool isOpenAi);

  ModelTable &models;
  Metrics &metrics;
  const std::function<HttpServer::Load()> load;
  std::atomic<bool> isDraining = false;
  mutable std::mutex lock;
  std::shared_ptr<const ServiceOptions> current;
  std::shared_ptr<Gatekeeper> gate;
  std::string refusal; // of a configuration
  RunningRequests running;
  DeadlineClock deadlines;
  WorkerPool workers;
  WorkerPool admins; // what an admin asks for may take as long as a compilation, and holds nobody else up
};

} // namespace vx::serve

#endif
