// Losses, optimizers, and the compilation of a graph to a module.
#ifndef VX_BUILDER_TRAINING_HPP
#define VX_BUILDER_TRAINING_HPP

#include "vx/builder/functions.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++26-extensions"
#endif

namespace vx::build {

//===-- Losses --------------------------------------------------------------------------------===//

namespace detail {

/// As vx-compile's --loss spells a number.
inline std::string spell(double number) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.17g", number);
  return text;
}
inline std::vector<Ref> loss(const std::string &spec, const char *layer, const Ref &output, const Ref &target,
                             Loc where, size_t count = 1) {
  return Node("Loss", output, {"", layer, where}).in(target).setText("loss", {spec}, false).outs(count);
}
inline Ref weightedLoss(const std::string &spec, const char *layer, const Ref &output, const Ref &target,
                        const Ref &weights, Loc where) {
  return Node("Loss", output, {"", layer, where}).in(target).in(weights).setText("loss", {spec}, false).outs(1)[0];
}
template <Dim... S, Dim... Y>
constexpr bool labelsFit(const Tensor<f32, S...> &, const Tensor<i64, Y...> &) {
  if constexpr (sizeof...(S) != sizeof...(Y) + 1)
    return false;
  else
    return true;
}

} // namespace detail

struct CrossEntropy {
  double smoothing = 0;
  /// Rows with this label do not count; below 0 none has it.
  int64_t ignore_index = INT64_MIN;
  /// A number of 0 or more for each class, as PyTorch's `weight`; empty: 1 for each. A row counts the weight of its
  /// label.
  std::vector<double> class_weight = {};
};

#define VX_BUILDER_CHECK_LABELS(name)                                                                                  \
  static_assert(sizeof...(S) == sizeof...(Y) + 1, "vx: " name ": the labels have one dimension less than the logits"); \
  if constexpr (sizeof...(S) == sizeof...(Y) + 1 && sizeof...(Y) > 0) {                                                \
    constexpr detail::Dims<sizeof...(Y)> labelDims{Y...};                                                              \
    constexpr auto rowDims = detail::withoutAxes<S...>(std::make_index_sequence<1>(), {-1});                           \
    VX_BUILDER_CHECK((detail::findClash(rowDims, labelDims) == sizeof...(Y)),                                          \
                     detail::differs(name, rowDims, labelDims));                                                       \
  }

namespace detail {
inline std::string spell(const CrossEntropy &options) {
  std::string spec = "cross_entropy:";
  if (options.smoothing != 0)
    spec += ",smoothing=" + spell(options.smoothing);
  if (options.ignore_index != INT64_MIN)
    spec += ",ignore_index=" + std::to_string(options.ignore_index);
  for (size_t i = 0; i < options.class_weight.size(); ++i)
    spec += (i ? "/" : ",class_weight=") + spell(options.class_weight[i]);
  return spec;
}
} // namespace detail

/// The mean over all rows of -log(softmax(logits))[label]. A label that is no class is a fault of the call. With
/// weights of classes it is the sum of the weighted rows divided by the sum of their weights.
template <Dim... S, Dim... Y>
Scalar<f32> cross_entropy(const Tensor<f32, S...> &logits, const Tensor<i64, Y...> &labels, CrossEntropy options = {},
                          Loc where = Loc::current()) {
  VX_BUILDER_CHECK_LABELS("cross_entropy")
  const std::string spec = detail::spell(options);
  return Scalar<f32>(detail::loss(spec, "cross_entropy", logits.ref(), labels.ref(), where)[0]);
}
/// The same with a weight of 0 or more for each row: the sum of the weighted rows divided by the sum of the weights,
/// and 0 where that is 0. The weight of a row is multiplied by that of its class.
template <Dim... S, Dim... Y>
Scalar<f32> cross_entropy(const Tensor<f32, S...> &logits, const Tensor<i64, Y...> &labels,
                          const Tensor<f32, Y...> &weights, CrossEntropy options = {}, Loc where = Loc::current()) {
  VX_BUILDER_CHECK_LABELS("cross_entropy")
  const std::string spec = detail::spell(options);
  return Scalar<f32>(detail::weightedLoss(spec, "cross_entropy", logits.ref(), labels.ref(), weights.ref(), where));
}
/// The share of rows in which the greatest logit, the first of several, is the label's. Rows with the label
/// `options.ignore_index` do not count.
template <Dim... S, Dim... Y>
Scalar<f32> accuracy(const Tensor<f32, S...> &logits, const Tensor<i64, Y...> &labels, CrossEntropy options = {},
                     Loc where = Loc::current()) {
  VX_BUILDER_CHECK_LABELS("accuracy")
  std::string spec = "cross_entropy:";
  if (options.ignore_index != INT64_MIN)
    spec += ",ignore_index=" + std::to_string(options.ignore_index);
  return Scalar<f32>(detail::loss(spec, "accuracy", logits.ref(), labels.ref(), where, 2)[1]);
}
/// The mean over all rows of -logs[label].
template <Dim... S, Dim... Y>
Scalar<f32> nll(const Tensor<f32, S...> &logs, const Tensor<i64, Y...> &labels, Loc where = Loc::current()) {
  VX_BUILDER_CHECK_LABELS("nll")
  return Scalar<f32>(detail::loss("nll:", "nll", logs.ref(), labels.ref(), where)[0]);
}
/// The same with a weight of 0 or more for each row, divided by the sum of the weights.
template <Dim... S, Dim... Y>
Scalar<f32> nll(const Tensor<f32, S...> &logs, const Tensor<i64, Y...> &labels, const Tensor<f32, Y...> &weights,
                Loc where = Loc::current()) {
  VX_BUILDER_CHECK_LABELS("nll")
  return Scalar<f32>(detail::weightedLoss("nll:", "nll", logs.ref(), labels.ref(), weights.ref(), where));
}
#undef VX_BUILDER_CHECK_LABELS

// Each loss of elements, and the same with a weight for each of the first dimension's rows.
#define VX_BUILDER_LOSS(name, spec)                                                                                    \
  template <Dim... S, Dim... Y>                                                                                        \
  Scalar<f32> name(const Tensor<f32, S...> &output, const Tensor<f32, Y...> &target, Loc where = Loc::current()) {     \
    constexpr size_t rank = sizeof...(S);                                                                              \
    static_assert(sizeof...(Y) == rank, "vx: " #name ": output and target have different ranks");                      \
    if constexpr (sizeof...(Y) == rank && rank > 0)                                                                    \
      VX_BUILDER_CHECK((detail::findClash(detail::Dims<rank>{S...}, detail::Dims<rank>{Y...}) == rank),                \
                       detail::differs(#name, detail::Dims<rank>{S...}, detail::Dims<rank>{Y...}));                    \
    return Scalar<f32>(detail::loss(spec, #name, output.ref(), target.ref(), where)[0]);                               \
  }                                                                                                                    \
  template <Dim B, Dim... S>                                                                                           \
  Scalar<f32> name(const Tensor<f32, B, S...> &output, const Tensor<f32, B, S...> &target,                             \
                   const Tensor<f32, B> &weights, Loc where = Loc::current()) {                                        \
    return Scalar<f32>(detail::weightedLoss(spec, #name, output.ref(), target.ref(), weights.ref(), where));           \
  }
/// The mean of (output - target)^2.
VX_BUILDER_LOSS(mse, "mse:")
/// The mean of |output - target|.
VX_BUILDER_LOSS(l1, "l1:")
/// The mean of (output - target)^2 / 2 up to a distance of 1, and of the distance - 1 / 2 beyond.
VX_BUILDER_LOSS(huber, "huber:")
/// Of probabilities from 0 to 1.
VX_BUILDER_LOSS(bce, "bce:")
/// The same of logits.
VX_BUILDER_LOSS(bce_logits, "bce_logits:")
/// Of logarithms of probabilities, by the rows of the batch.
VX_BUILDER_LOSS(kl, "kl:")
#undef VX_BUILDER_LOSS

//===-- Optimizers ----------------------------------------------------------------------------===//

/// AdamW by its numbers, or another one by `text`, as vx-compile's --optimizer spells it.
struct Optimizer {
  double lr = 1e-3; // if a session has no schedule
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.01;
  std::string text = {};
};
struct AdamW {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.01;
  operator Optimizer() const { return {lr, beta1, beta2, epsilon, weight_decay, {}}; }
};
struct Adam {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  operator Optimizer() const {
    return {.lr = lr,
            .text = "adam:beta1=" + detail::spell(beta1) + ",beta2=" + detail::spell(beta2) +
                    ",eps=" + detail::spell(epsilon) + ",weight_decay=" + detail::spell(weight_decay)};
  }
};
struct Sgd {
  double lr = 1e-2, momentum = 0, weight_decay = 0;
  bool nesterov = false;
  operator Optimizer() const {
    return {.lr = lr,
            .text = "sgd:momentum=" + detail::spell(momentum) + ",weight_decay=" + detail::spell(weight_decay) +
                    ",nesterov=" + (nesterov ? "1" : "0")};
  }
};

struct Metric {
  std::string name;
  Scalar<f32> value;
};
/// The value that is minimised, and metrics that are reported beside it. A session treats each as a mean over the rows
/// of a batch. If it is a sum divided by another sum without a parameter, it is a mean over that other sum (labels that
/// are not ignored, weights).
class Loss {
public:
  Loss(const Scalar<f32> &loss, std::initializer_list<Metric> metrics = {}) {
    values.push_back(loss.ref());
    labels.push_back("loss");
    for (const Metric &metric : metrics) {
      values.push_back(metric.value.ref());
      labels.push_back(metric.name);
    }
  }
  const std::vector<detail::Ref> &refs() const { return values; }
  const std::vector<std::string> &names() const { return labels; }

private:
  std::vector<detail::Ref> values;
  std::vector<std::string> labels;
};

/// Parameters by their names ('*', '?', '[a-z]'), with a learning rate and a decay of their own. A group that matches
/// nothing, and two that match one parameter, are refused.
struct ParamGroup {
  std::string pattern;
  double lr_factor = 1;     // times the learning rate of the step
  double weight_decay = -1; // below 0: the optimizer's
};

struct Training {
  Optimizer optimizer = {};
  double clip_norm = 0;          // the greatest norm of all gradients; 0: no limit
  double clip_value = 0;         // the greatest absolute value of one; 0: no limit
  uint64_t memory = 0;           // the most bytes of a step; 0: no limit
  std::string precision = "f32"; // of products: f32, tf32, f16 or bf16
  bool keep_gradients = false;   // functions `backward` and `update` as well
  std::string freeze = {};       // patterns of parameters that are not trained, between commas; empty: none
  std::string predict = {};      // the function by which the module predicts; empty: the graph's first
  int64_t planned_batch = 0;     // rows that `memory` is planned for; 0: not known
  std::vector<ParamGroup> groups = {};
};

/// Adds the functions "train_step" and "evaluate" to the graph's module: `body` takes tensors and returns the Loss. The
/// parameters that it depends on are trained.
template <class F>
void train(Graph &graph, const std::string &name, std::initializer_list<const char *> inputs, const Training &options,
           F body, Loc where = Loc::current()) {
  const detail::Place place{"", "train", where};
  if (name != "train_step")
    detail::fail(graph.get(), place, "expected the name 'train_step', got '" + name + "'");
  graph.build("evaluate", inputs, {}, body, where);
  const Optimizer &optimizer = options.optimizer;
  std::string text = optimizer.text;
  if (text.empty())
    text = "adamw:beta1=" + detail::spell(optimizer.beta1) + ",beta2=" + detail::spell(optimizer.beta2) +
           ",eps=" + detail::spell(optimizer.epsilon) + ",weight_decay=" + detail::spell(optimizer.weight_decay);
  for (const ParamGroup &group : options.groups) {
    text += ";" + group.pattern + ":lr=" + detail::spell(group.lr_factor) + "x";
    if (group.weight_decay >= 0)
      text += ",weight_decay=" + detail::spell(group.weight_decay);
  }
  vxb_training raw = {};
  raw.struct_size = sizeof(raw);
  raw.evaluate = "evaluate";
  const std::string predict = options.predict.empty() ? graph.first_function() : options.predict;
  raw.predict = predict.empty() ? nullptr : predict.c_str();
  raw.optimizer = text.c_str();
  raw.lr = optimizer.lr;
  raw.clip_norm = options.clip_norm;
  raw.clip_value = options.clip_value;
  raw.freeze = options.freeze.empty() ? nullptr : options.freeze.c_str();
  raw.keep_gradients = options.keep_gradients;
  raw.memory = static_cast<int64_t>(options.memory);
  raw.planned_batch = options.planned_batch;
  detail::check(graph.get(), vxb_train(graph.get(), &raw));
  graph.precision = options.precision;
}

//===-- Modules -------------------------------------------------------------------------------===//

/// As the options of vx-compile.
struct Compile {
  std::string targets = "cpu";
  std::vector<std::string> dims = {};     // "batch=1,32", "time=1..512"
  std::vector<std::string> variants = {}; // "cpu=avx512,x86-64-v3"
  std::string precision = {};             // of products; empty: that of train(), else f32
  std::string cache_folder = {};
  std::string report = {};     // "text" or "json", for `on_text`
  std::string stop_after = {}; // a phase; its text goes to `on_text`
  vxc_weights weights = VXC_WEIGHTS_INSIDE;
  bool check_only = false;
  int64_t opset = 20;           // of ONNX's ops, for exports of a session
  std::string onnx_export = {}; // "inside", "external" or "none", as vx-compile --export
  unsigned threads = 0;
  vxc_message_fn on_message = nullptr; // NULL: warnings go to stderr, errors to the exception alone
  vxc_text_fn on_text = nullptr;
  void *user_data = nullptr;
};

/// The bytes of a module file. A vx::Module reads them in place, so a temporary does not return them.
class CompiledModule {
public:
  explicit CompiledModule(vxc_module *module) : module(module, vxc_module_release) {}
  const void *data() const & { return vxc_module_data(module.get()); }
  const void *data() const && = delete;
  size_t size() const { return vxc_module_size(module.get()); }

private:
  std::unique_ptr<vxc_module, decltype(&vxc_module_release)> module;
};

namespace detail {

/// The messages of one compilation.
struct Messages {
  const Compile &options;
  std::string errors;

  static void take(void *data, vxc_severity severity, const char *text) {
    auto &self = *static_cast<Messages *>(data);
    if (severity == VXC_ERROR)
      self.errors += (self.errors.empty() ? "" : "\n") + std::string(text);
    if (self.options.on_message)
      self.options.on_message(self.options.user_data, severity, text);
    else if (severity == VXC_WARNING)
      std::fprintf(stderr, "warning: %s\n", text);
  }
  static void takeText(void *data, const char *text, size_t size) {
    auto &self = *static_cast<Messages *>(data);
    if (self.options.on_text)
      self.options.on_text(self.options.user_data, text, size);
  }
};

template <class F>
void compileBy(Graph &graph, const Compile &options, F run) {
  Messages messages{options, {}};
  std::vector<const char *> dims, variants;
  for (const std::string &dim : options.dims)
    dims.push_back(dim.c_str());
  for (const std::string &variant : options.variants)
    variants.push_back(variant.c_str());
  auto text = [](const std::string &value) { return value.empty() ? nullptr : value.c_str(); };
  const std::string &precision = options.precision.empty() ? graph.precision : options.precision;
  vxc_options raw = {};
  raw.struct_size = sizeof(raw);
  raw.targets = options.targets.c_str();
  raw.variants = variants.data();
  raw.num_variants = variants.size();
  raw.dims = dims.data();
  raw.num_dims = dims.size();
  raw.stop_after = text(options.stop_after);
  raw.report = text(options.report);
  raw.cache_folder = text(options.cache_folder);
  raw.precision = text(precision);
  raw.onnx_export = text(options.onnx_export);
  raw.threads = options.threads;
  raw.check_only = options.check_only;
  raw.weights = options.weights;
  raw.on_message = Messages::take;
  raw.on_text = Messages::takeText;
  raw.user_data = &messages;
  check(graph.get(), vxb_export_opset(graph.get(), options.opset));
  if (run(raw) != VXC_DONE)
    throw Error(messages.errors.empty() ? "the graph cannot be compiled" : messages.errors);
}

} // namespace detail

/// Compiles the graph to a module file. On failure it throws Error with the reason, and leaves no file.
inline void compile(Graph &graph, const std::string &path, const Compile &options = {}) {
  detail::compileBy(graph, options,
                    [&](const vxc_options &raw) { return vxb_compile(graph.get(), path.c_str(), &raw); });
}
/// The same in memory.
inline CompiledModule compile_bytes(Graph &graph, const Compile &options = {}) {
  vxc_module *module = nullptr;
  detail::compileBy(graph, options,
                    [&](const vxc_options &raw) { return vxb_compile_bytes(graph.get(), &raw, &module); });
  return CompiledModule(module);
}

/// Writes a function as an ONNX model. `read(name, data, size)` copies the elements of a parameter: those of a session
/// or an instance. The file is written beside `path` and renamed when it is complete. On failure the old file stays.
template <class F>
void export_onnx(Graph &graph, const std::string &function, const std::string &path, F read, int64_t opset = 20) {
  struct stat known = {};
  if (stat(path.c_str(), &known) == 0 && !S_ISREG(known.st_mode))
    throw Error("cannot write '" + path + "': it is no regular file");
  detail::check(graph.get(), vxb_export_opset(graph.get(), opset));
  struct Run {
    F &read;
    std::FILE *file;
    std::string error;
  };
  const std::string part = path + ".part";
  Run run{read, std::fopen(part.c_str(), "wb"), {}};
  if (!run.file)
    throw Error("cannot write '" + part + "': " + std::strerror(errno));
  const vxc_result result = vxb_export(
      graph.get(), function.c_str(),
      [](void *data, const char *name, void *elements, size_t size) {
        try {
          static_cast<Run *>(data)->read(std::string(name), elements, size);
          return 0;
        } catch (const std::exception &failure) {
          static_cast<Run *>(data)->error = failure.what();
          return 1;
        }
      },
      [](void *data, const void *bytes, size_t size) {
        return std::fwrite(bytes, 1, size, static_cast<Run *>(data)->file) == size ? 0 : 1;
      },
      [](void *data, vxc_severity, const char *text) {
        if (std::string &error = static_cast<Run *>(data)->error; error.empty())
          error = text;
      },
      &run);
  const bool isWritten = std::fclose(run.file) == 0;
  if (result == VXC_DONE && isWritten && std::rename(part.c_str(), path.c_str()) == 0)
    return;
  const std::string reason = run.error.empty() ? "cannot write '" + path + "': " + std::strerror(errno) : run.error;
  (void)std::remove(part.c_str());
  throw Error(reason);
}

} // namespace vx::build

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif
