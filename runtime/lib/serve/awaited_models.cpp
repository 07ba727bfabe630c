// Requests for models that are loaded for them.
#include "run_failure.h"
#include "service.h"

namespace vx::serve {

// Ends when its model is there, its deadline is over, or its client is gone.
class Service::AwaitingRequest final : public BatchJob {
public:
  AwaitingRequest(Service &service, const Route &route, RouteRequest request)
      : route(route), request(std::move(request)), service(service) {}
  const Route &route;
  const RouteRequest request;

private:
  void tellFailure(const ServiceError &error) override {
    request.exchange->reply(service.refuse(request.http(), error));
  }
  Service &service;
};

void Service::awaitModel(const Route &route, const RouteRequest &request, const std::string &model) {
  const size_t most = models.entry(model).settings.limits.queue;
  const auto one = std::make_shared<AwaitingRequest>(*this, route, request);
  one->deadline = deadlineOf(request.http());
  bool isFirst = false;
  {
    std::lock_guard guard(lock);
    auto &list = awaiting[model];
    std::erase_if(list, [](const auto &other) { return other->isDone(); });
    if (list.size() >= most)
      throw serviceError(ErrorCode::queue_full, "{} requests wait for model '{}' to be loaded, as many as may",
                         list.size(), model)
          .after(1);
    // A request that is over leaves the loading to `loaders` all the same.
    isFirst = !isLoadingFor.contains(model);
    isLoadingFor.insert(model);
    list.push_back(one);
  }
  deadlines.watch(one, nullptr);
  request.exchange->whenGone([weak = std::weak_ptr(one)] {
    if (const auto gone = weak.lock())
      gone->claim();
  });
  if (isFirst && !loaders.post([this, model] { loadAwaited(model); }))
    one->fail(ServiceError(ErrorCode::queue_full, "too many models wait to be loaded").after(1));
}

void Service::loadAwaited(const std::string &model) {
  std::shared_ptr<ServedModel> loaded;
  std::optional<ServiceError> failure;
  do {
    failure.reset();
    try {
      models.loadForRequest(model);
      loaded = models.find(model);
    } catch (...) {
      failure = currentFailure();
    }
    // An admin loads it as well.
    if (failure && failure->code == ErrorCode::conflict)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (failure && failure->code == ErrorCode::conflict);
  std::vector<std::shared_ptr<AwaitingRequest>> list;
  {
    std::lock_guard guard(lock);
    list.swap(awaiting[model]);
    awaiting.erase(model);
    isLoadingFor.erase(model);
  }
  for (const std::shared_ptr<AwaitingRequest> &one : list) {
    if (failure) {
      one->fail(*failure);
      continue;
    }
    if (!one->claim())
      continue;
    one->request.notes().loaded = loaded;
    if (!workers.post([this, one] { answer(one->route, one->request); }))
      one->request.exchange->reply(refuse(
          one->request.http(), ServiceError(ErrorCode::queue_full, "too many requests wait to be read").after(1)));
  }
}

} // namespace vx::serve
