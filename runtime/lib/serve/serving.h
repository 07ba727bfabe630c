// A server by its configuration: models, keys, routes and connections.
#ifndef VX_SERVE_SERVING_H
#define VX_SERVE_SERVING_H

#include "api_keys.h"
#include "configuration.h"
#include "grpc_server.h"
#include "model_registry.h"
#include "rate_limits.h"
#include "service.h"

namespace vx::serve {

class Serving {
public:
  struct Told {
    std::function<void(const AccessRecord &record)> access;     // a request that is over
    std::function<void(const ModelTable::Entry &entry)> loaded; // a model that was loaded, or not
    std::function<void(const std::string &line)> warning;
    std::string commit = {}; // that /metrics shows
  };

  // Everything that keeps a server of the configuration from starting, or is odd, of files that it names: keys and
  // models. Whether a module can be loaded is seen when it is.
  static std::vector<ConfigurationMessage> check(const Configuration &configuration);

  // Throws Error::data for a file of keys or of TLS that is wrong. `prepare` makes module files of models that are
  // none.
  Serving(const Configuration &configuration, ModelTable::Prepare prepare, Told told);
  ~Serving();

  // Throws Error::io. Answers from then on; models that are not loaded yet are 503.
  void listen();
  // Loads all models that are to be loaded, one after another. What cannot be loaded is told.
  void loadModels();
  // Another configuration: what holds at once does, of the rest nothing is done. Keys' mistakes are messages.
  std::vector<ConfigurationMessage> reload(const Configuration &configuration);
  // A configuration that was refused; empty: the last one holds.
  void tellRefused(const std::string &error) { service->setConfigurationState(error); }

  uint16_t port() const { return server->port(); }
  // The health paths say that the server is draining, and requests are still answered, for `drain_delay_s`: balancers
  // that look at them, or hear of the end elsewhere, choose others meanwhile. Each answer ends its connection. False:
  // it was hurried.
  bool leave(const std::function<bool()> &isHurried);
  // Takes nothing new, and waits for what is going on as long as the configuration says. False: it was not done.
  bool drain(const std::function<bool()> &isHurried);
  void stop();

  const ModelRegistry &models() const { return registry; }
  std::vector<ModelTable::Entry> entries() const { return table.entries(); }
  size_t keyCount() const { return known ? known->all().size() : 0; }

private:
  static std::optional<ApiKeys> readKeys(const Configuration &configuration,
                                         std::vector<ConfigurationMessage> &messages);
  void addModels(const Configuration &configuration);
  std::shared_ptr<Gatekeeper> makeGatekeeper(std::optional<ApiKeys> keys) const;

  Configuration configuration;
  const Told told;
  ModelRegistry registry;
  std::optional<ApiKeys> known;
  std::shared_ptr<RateLimiter> rates;
  std::shared_ptr<FailureThrottle> failures;
  Metrics metrics;
  ModelTable table;
  std::unique_ptr<HttpServer> server;
  std::unique_ptr<Service> service;
  std::unique_ptr<GrpcServer> grpc; // null: none
};

} // namespace vx::serve

#endif
