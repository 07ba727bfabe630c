// A recurrent policy and a step of PPO, compiled to ppo.vxm; memory_task.cpp trains it.
#include "vx/builder.hpp"
#include <tuple>
using namespace vx::build;
constexpr int Obs = 8, Act = 4, Hid = 64; // recurrent PPO
using State = Tensor<f32, "envs", Hid>;
struct Policy { // forward(observations, state) -> logits, value, state
  Linear<Obs, Hid> encode;
  GRU<Hid, Hid> core;
  Linear<Hid, Act> actor;
  Linear<Hid, 1> critic;
  explicit Policy(Scope s)
      : encode(s / "encode", true, orthogonal(1.41)), core(s / "core"), actor(s / "actor", true, orthogonal(0.01)),
        critic(s / "critic", true, orthogonal(1.0)) {}
  struct Out {
    Tensor<f32, any, "envs", Act> logits;
    Tensor<f32, any, "envs", 1> value;
    State state;
  };
  template <Dim T>
  auto operator()(Tensor<f32, T, "envs", Obs> x, State h) const {
    auto [y, last] = core(tanh(encode(x)), h); // a vx.loop over T; T = 1 when acting
    return Out{actor(y), critic(y), last};
  }
};
int main() {
  Graph g("ppo");
  Policy policy(g.root());
  g.function("act", {"obs", "state"}, {"logits", "value", "state"}, [&](Tensor<f32, 1, "envs", Obs> o, State h) {
    auto out = policy(o, h);
    return std::tuple(out.logits, out.value, out.state);
  });
  train(g, "train_step", {"obs", "state", "action", "old_logp", "advantage", "ret", "clip"},
        {.optimizer = {.lr = 3e-4}, .clip_norm = 0.5},
        [&](Tensor<f32, "steps", "envs", Obs> o, State h, Tensor<i64, "n"> action, Tensor<f32, "n"> old_logp,
            Tensor<f32, "n"> advantage, Tensor<f32, "n"> ret, Scalar<f32> clip) {
          auto out = policy(o, h);
          auto logits =
              out.logits.reshape<"n", Act>(); // n == steps * envs: checked when the graph is built / at the call
          auto value = out.value.reshape<"n">();
          auto logp = log_softmax(logits);
          auto ratio = exp(pick(logp, action) - old_logp);
          auto a = advantage.stop_gradient();
          auto policy_loss = -min(ratio * a, clamp(ratio, 1.0 - clip, 1.0 + clip) * a).mean();
          auto entropy = -(exp(logp) * logp).sum<-1>().mean();
          return Loss(policy_loss + mse(value, ret) * 0.5 - entropy * 0.01,
                      {{"policy", policy_loss}, {"entropy", entropy}});
        });
  compile(g, "ppo.vxm", {.targets = "cpu,vulkan"});
}
