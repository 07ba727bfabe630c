// Trains the recurrent policy of ppo.cpp, by PPO (Schulman et al. 2017), on a task that needs memory. The first
// step of an episode shows a signal, and noise follows. The last step rewards the action that the signal names. A
// policy without memory guesses one of four actions.
//
//   memory_task ppo.vxm [DEVICE] [ITERATIONS] [stateless]
//
// `stateless` trains the same network without its memory, for comparison. Prints the share of episodes that were right.
#include "vx/train.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

namespace {

constexpr int64_t Envs = 64, Steps = 6, Obs = 8, Act = 4, Hid = 64;
constexpr int Passes = 4; // over the collected episodes
constexpr double Clip = 0.2, Rate = 3e-3, Discount = 0.95, Lambda = 0.95;

/// Episodes in parallel: the observations and actions of each step.
struct Rollout {
  std::vector<float> observations, logProbabilities, values, rewards;
  std::vector<int64_t> actions;
  int right = 0;
};

class Player {
public:
  Player(vx::train::Session &session, bool hasMemory) : session(session), hasMemory(hasMemory) {}

  Rollout play() {
    Rollout rollout;
    std::vector<int> signals(Envs);
    for (int &signal : signals)
      signal = static_cast<int>(random() % Act);
    std::vector<float> state(Envs * Hid, 0.0f);
    for (int64_t step = 0; step < Steps; ++step) {
      std::vector<float> seen(Envs * Obs, 0.0f);
      for (int64_t env = 0; env < Envs; ++env) {
        float *row = &seen[static_cast<size_t>(env * Obs)];
        for (int64_t i = 0; i < Act; ++i)
          row[i] = step == 0 ? (signals[static_cast<size_t>(env)] == i ? 1.0f : 0.0f) : noise(random) * 0.3f;
        row[Act] = step == 0;
        row[Act + 1] = step == Steps - 1; // the step with the reward
      }
      if (!hasMemory)
        std::fill(state.begin(), state.end(), 0.0f);
      const std::vector<vx::Value> inputs = {vx::Value::tensor<float>({1, Envs, Obs}, seen),
                                             vx::Value::tensor<float>({Envs, Hid}, state)};
      const std::vector<vx::Value> outputs = session.call("act", inputs);
      const std::span<const float> logits = outputs[0].data<float>(), values = outputs[1].data<float>();
      const std::span<const float> next = outputs[2].data<float>();
      state.assign(next.begin(), next.end());
      for (int64_t env = 0; env < Envs; ++env) {
        const auto [action, logProbability] = draw(logits.subspan(static_cast<size_t>(env * Act), Act));
        const bool isRight = step == Steps - 1 && action == signals[static_cast<size_t>(env)];
        rollout.right += isRight;
        rollout.rewards.push_back(isRight ? 1.0f : 0.0f);
        rollout.actions.push_back(action);
        rollout.logProbabilities.push_back(logProbability);
        rollout.values.push_back(values[static_cast<size_t>(env)]);
      }
      rollout.observations.insert(rollout.observations.end(), seen.begin(), seen.end());
    }
    return rollout;
  }

  /// Steps of PPO on it. Without memory each step is an episode of its own.
  void learn(const Rollout &rollout) {
    std::vector<float> advantages(rollout.rewards.size()), returns(advantages.size());
    for (int64_t env = 0; env < Envs; ++env) {
      double advantage = 0, next = 0;
      for (int64_t step = Steps; step-- > 0;) { // generalised advantage estimation (Schulman et al. 2016)
        const auto at = static_cast<size_t>(step * Envs + env);
        const double surprise = rollout.rewards[at] + Discount * next - rollout.values[at];
        advantage = surprise + Discount * Lambda * advantage;
        next = rollout.values[at];
        advantages[at] = static_cast<float>(advantage);
        returns[at] = static_cast<float>(advantage + rollout.values[at]);
      }
    }
    double mean = 0, square = 0;
    for (float advantage : advantages) {
      mean += advantage / static_cast<double>(advantages.size());
      square += static_cast<double>(advantage) * advantage / static_cast<double>(advantages.size());
    }
    const double deviation = std::sqrt(std::max(0.0, square - mean * mean)) + 1e-8;
    for (float &advantage : advantages)
      advantage = static_cast<float>((advantage - mean) / deviation);

    const int64_t count = Envs * Steps, steps = hasMemory ? Steps : 1, envs = count / steps;
    const std::vector<vx::Value> inputs = {
        vx::Value::tensor<float>({steps, envs, Obs}, rollout.observations),
        vx::Value::tensor<float>({envs, Hid}, std::vector<float>(static_cast<size_t>(envs * Hid), 0.0f)),
        vx::Value::tensor<int64_t>({count}, rollout.actions),
        vx::Value::tensor<float>({count}, rollout.logProbabilities),
        vx::Value::tensor<float>({count}, advantages),
        vx::Value::tensor<float>({count}, returns),
        vx::Value::tensor<float>({}, std::vector<float>{static_cast<float>(Clip)})};
    for (int pass = 0; pass < Passes; ++pass)
      session.train_step(inputs, Rate);
  }

private:
  /// An action of softmax(logits), and the logarithm of its probability.
  std::pair<int64_t, float> draw(std::span<const float> logits) {
    float greatest = logits[0];
    for (float logit : logits)
      greatest = std::max(greatest, logit);
    double sum = 0;
    for (float logit : logits)
      sum += std::exp(logit - greatest);
    double left = std::uniform_real_distribution<double>(0, sum)(random);
    int64_t action = 0;
    while (action + 1 < Act && (left -= std::exp(logits[static_cast<size_t>(action)] - greatest)) > 0)
      ++action;
    return {action, static_cast<float>(logits[static_cast<size_t>(action)] - greatest - std::log(sum))};
  }

  vx::train::Session &session;
  const bool hasMemory;
  std::mt19937 random{7};
  std::normal_distribution<float> noise;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: memory_task ppo.vxm [DEVICE] [ITERATIONS] [stateless]\n");
    return 2;
  }
  try {
    vx::train::Session session(argv[1], {.device = argc > 2 ? argv[2] : "auto", .seed = 1});
    const int iterations = argc > 3 ? std::atoi(argv[3]) : 150;
    Player player(session, argc <= 4 || std::strcmp(argv[4], "stateless") != 0);
    double share = 0; // of the last ones
    for (int i = 0; i < iterations; ++i) {
      const Rollout rollout = player.play();
      player.learn(rollout);
      share = 0.9 * share + 0.1 * rollout.right / static_cast<double>(Envs);
      if ((i + 1) % 25 == 0)
        std::printf("iteration %d  right %.3f\n", i + 1, share);
    }
    std::printf("right in the end: %.3f\n", share);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "memory_task: error: %s\n", error.what());
    return 1;
  }
}
