// Requests with random options, for the models that a test serves.
#ifndef VX_TEST_FUZZ_REQUESTS_MADE_REQUESTS_H
#define VX_TEST_FUZZ_REQUESTS_MADE_REQUESTS_H

#include <array>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vx::fuzz {

struct MadeRequest {
  std::string path, body;
  std::vector<std::pair<std::string, std::string>> headers; // names in lower case
};

// Those that are made of a model have few sizes and many options, so that many may run together.
class RequestMaker {
public:
  // Names of models of embeddings, and of those of writeMixModule.
  RequestMaker(std::vector<std::string> embedders, std::vector<std::string> mixers, uint64_t seed)
      : embedders(std::move(embedders)), mixers(std::move(mixers)), random(seed) {}

  // Mostly good ones; some are refused.
  MadeRequest make();
  // Below `most`.
  size_t draw(size_t most) { return random() % most; }
  bool isOneOf(size_t count) { return draw(count) == 0; }

private:
  MadeRequest embedding();
  MadeRequest inference();
  // Makes another `mix`, or changes one part of it.
  void changeMix();
  std::string text();
  std::string input();
  template <typename T>
  const T &oneOf(const std::vector<T> &list) {
    return list[draw(list.size())];
  }

  const std::vector<std::string> embedders, mixers;
  std::mt19937_64 random;
  // Every inference but its rows. Half of them are the one before with another table, or with the same table of another
  // shape, since a batch key that lacks a part is seen where two requests differ in that part alone.
  struct Mix {
    std::string model, function; // no function: the module's first
    size_t width = 0, tableRows = 0, tableColumns = 0;
    std::array<float, 6> table = {};
  } mix;
};

} // namespace vx::fuzz

#endif
