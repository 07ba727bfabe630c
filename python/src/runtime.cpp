// The runtime and the training kit for Python: what vx/__init__.py is made of. Tensors come and go by DLPack, without
// copies; the interpreter's lock is given up while something is loaded, computed or trained.
#include "vx/runtime/vx.hpp"
#include "vx/train.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

constexpr const char *Versioned = "dltensor_versioned", *Used = "used_dltensor_versioned";

/// What DLPack's DLManagedTensorVersioned begins with.
struct ManagedHead {
  uint32_t major, minor;
  void *context;
  void (*deleter)(DLManagedTensorVersioned *self);
};

/// The tensor of a capsule, which is used up.
vx::Value fromCapsule(nb::capsule capsule) {
  if (std::strcmp(capsule.name(), Versioned) != 0)
    throw nb::type_error("wants a capsule of DLPack 1.0 or newer: NumPy 2.1 and PyTorch 2.8 make them");
  auto *tensor = static_cast<DLManagedTensorVersioned *>(PyCapsule_GetPointer(capsule.ptr(), Versioned));
  vx::Value value = vx::Value::fromDlpack(tensor);
  PyCapsule_SetName(capsule.ptr(), Used);
  return value;
}

nb::capsule toCapsule(const vx::Value &value) {
  DLManagedTensorVersioned *tensor = value.toDlpack();
  PyObject *capsule = PyCapsule_New(tensor, Versioned, [](PyObject *self) {
    if (PyCapsule_IsValid(self, Versioned)) { // nobody has taken it
      auto *left = static_cast<DLManagedTensorVersioned *>(PyCapsule_GetPointer(self, Versioned));
      reinterpret_cast<ManagedHead *>(left)->deleter(left);
    }
  });
  return nb::steal<nb::capsule>(capsule);
}

nb::tuple shapeOf(const vx::Value &value) {
  nb::list dims;
  for (int64_t dim : value.dims())
    dims.append(dim);
  return nb::tuple(dims);
}

/// A module, and the bytes that it was made of.
struct Module {
  vx::Module module;
  std::shared_ptr<void> bytes;
};
/// A copy: Python's bytes begin where they begin, and a module wants 64.
Module loadBytes(const nb::bytes &bytes) {
  constexpr size_t alignment = 64;
  const size_t size = (bytes.size() + alignment - 1) / alignment * alignment + alignment;
  std::shared_ptr<void> copy(std::aligned_alloc(alignment, size), std::free);
  if (!copy)
    throw std::bad_alloc();
  std::memcpy(copy.get(), bytes.c_str(), bytes.size());
  const std::span<const std::byte> span(static_cast<const std::byte *>(copy.get()), bytes.size());
  nb::gil_scoped_release unlocked;
  return {vx::Module(span, "bytes"), copy};
}

nb::list describeArguments(const vx_argument_info *arguments, size_t count) {
  nb::list list;
  for (size_t i = 0; i < count; ++i) {
    nb::list dims;
    for (uint32_t d = 0; d < arguments[i].rank; ++d) {
      const vx_dim_info &dim = arguments[i].dims[d];
      dims.append(dim.size >= 0 ? nb::cast(dim.size) : nb::cast(dim.expression));
    }
    nb::dict entry;
    entry["name"] = arguments[i].name;
    entry["dtype"] = vx_element_type_name(arguments[i].element_type);
    entry["shape"] = nb::tuple(dims);
    list.append(entry);
  }
  return list;
}
nb::list describeFunctions(const Module &self) {
  nb::list list;
  for (const vx_function_info &function : self.module.functions()) {
    nb::dict entry;
    entry["name"] = function.name;
    entry["inputs"] = describeArguments(function.inputs, function.input_count);
    entry["outputs"] = describeArguments(function.outputs, function.output_count);
    list.append(entry);
  }
  return list;
}

/// Functions are called by name; each keeps its call, with what that keeps.
class Instance {
public:
  Instance(const Module &module, const vx::InstanceOptions &options) : module(module) {
    nb::gil_scoped_release unlocked;
    instance = vx::Instance(module.module, options);
  }

  std::vector<vx::Value> run(const std::string &function, const std::vector<vx::Value> &inputs) {
    const vx_function_info *info = nullptr;
    for (const vx_function_info &one : module.module.functions())
      if (function == one.name)
        info = &one;
    if (!info)
      throw nb::key_error(("the module has no function '" + function + "'").c_str());
    nb::gil_scoped_release unlocked;
    // A call of its own: threads may run one function side by side.
    return vx::Call(instance, *info).run(inputs);
  }

  Module module;
  vx::Instance instance;
};

vx::InstanceOptions makeOptions(const std::string &device, bool fallback, uint32_t threads, uint64_t seed,
                                uint64_t memoryLimit) {
  vx::InstanceOptions options;
  options.device = device;
  options.noFallback = !fallback;
  options.threads = threads;
  options.seed = seed;
  options.memoryLimit = memoryLimit;
  return options;
}

nb::dict describeScores(const vx::train::Scores &scores) {
  nb::dict entry;
  entry["loss"] = scores.loss;
  for (const auto &[name, value] : scores.metrics)
    entry[name.c_str()] = value;
  return entry;
}
nb::dict describeEpoch(const vx::train::Epoch &epoch) {
  nb::dict entry = describeScores(epoch.training);
  entry["epoch"] = epoch.epoch;
  entry["step"] = epoch.step;
  entry["rate"] = epoch.rate;
  entry["seconds"] = epoch.seconds;
  if (epoch.validation)
    entry["validation"] = describeScores(*epoch.validation);
  return entry;
}

using Columns = std::vector<std::pair<std::string, vx::Value>>;
vx::train::Dataset makeDataset(const Columns &columns) {
  std::vector<vx::train::Array> arrays;
  for (const auto &[name, value] : columns) {
    const std::span<const int64_t> dims = value.dims();
    arrays.push_back({name, value.info().element_type, {dims.begin(), dims.end()}, value.bytes().data()});
  }
  return vx::train::Dataset::arrays(std::move(arrays));
}

class Session {
public:
  Session(const Module &module, const vx::InstanceOptions &options) : bytes(module.bytes) {
    nb::gil_scoped_release unlocked;
    session.emplace(module.module, options);
  }

  nb::list fit(const Columns &data, const std::optional<Columns> &validation, uint64_t epochs, int64_t batch,
               std::optional<double> rate, const std::string &schedule, double end, std::optional<uint64_t> seed,
               nb::object onEpoch) {
    vx::train::FitOptions options;
    options.epochs = epochs;
    options.batch = batch;
    options.seed = seed;
    const double usual = session->get_module().training()->rate > 0 ? session->get_module().training()->rate : 1e-3;
    if (schedule == "cosine")
      options.schedule = vx::train::cosine(rate.value_or(usual), end);
    else if (schedule == "constant")
      options.schedule = vx::train::constant(rate.value_or(usual));
    else
      throw nb::value_error(("schedule: want 'constant' or 'cosine', got '" + schedule + "'").c_str());
    std::exception_ptr raised;
    // Ctrl-C ends it behind the step that is going on.
    options.callbacks.push_back(vx::train::on_step([&](vx::train::Session &self, const vx::train::Step &) {
      nb::gil_scoped_acquire locked;
      if (PyErr_CheckSignals() != 0) {
        raised = std::make_exception_ptr(nb::python_error());
        self.interrupt();
      }
    }));
    options.callbacks.push_back(vx::train::on_epoch([&](vx::train::Session &self, const vx::train::Epoch &epoch) {
      nb::gil_scoped_acquire locked;
      if (onEpoch.is_none() || raised)
        return;
      try {
        onEpoch(describeEpoch(epoch));
      } catch (...) {
        raised = std::current_exception();
        self.interrupt();
      }
    }));
    const vx::train::Dataset set = makeDataset(data);
    std::optional<vx::train::Dataset> other;
    if (validation) {
      other = makeDataset(*validation);
      options.validation = &*other;
    }
    vx::train::History history;
    {
      nb::gil_scoped_release unlocked;
      history = session->fit(set, options);
    }
    if (raised)
      std::rethrow_exception(raised);
    nb::list list;
    for (const vx::train::Epoch &epoch : history.epochs)
      list.append(describeEpoch(epoch));
    return list;
  }
  nb::dict evaluate(const Columns &data, int64_t batch) {
    const vx::train::Dataset set = makeDataset(data);
    vx::train::Scores scores;
    {
      nb::gil_scoped_release unlocked;
      scores = session->evaluate(set, batch);
    }
    return describeScores(scores);
  }
  std::vector<vx::Value> predict(const Columns &data, int64_t batch) {
    const vx::train::Dataset set = makeDataset(data);
    nb::gil_scoped_release unlocked;
    return session->predict(set, batch);
  }

  std::shared_ptr<void> bytes;
  std::optional<vx::train::Session> session;
};

} // namespace

NB_MODULE(_runtime, m) {
  static nb::exception<vx::Error> error(m, "Error", PyExc_RuntimeError);
  static nb::exception<vx::train::Error> trainError(m, "TrainError", error.ptr());

  nb::class_<vx::Value>(m, "Tensor", "A tensor of the runtime, in host memory. DLPack takes it without a copy.")
      .def_static("from_capsule", fromCapsule)
      .def("__dlpack__",
           [](const vx::Value &self, nb::kwargs) { return toCapsule(self); }) // of the newest version always
      .def("__dlpack_device__", [](const vx::Value &) { return nb::make_tuple(1, 0); })
      .def_prop_ro("shape", shapeOf)
      .def_prop_ro("dtype", [](const vx::Value &self) { return vx_element_type_name(self.info().element_type); })
      .def("__repr__", [](const vx::Value &self) {
        return "vx.Tensor(" + std::string(vx_element_type_name(self.info().element_type)) + ", " +
               std::string(nb::str(shapeOf(self)).c_str()) + ")";
      });

  nb::class_<Module>(m, "Module")
      .def(
          "__init__",
          [](Module *self, const std::string &path) {
            nb::gil_scoped_release unlocked;
            new (self) Module{vx::Module(path), nullptr};
          },
          "path"_a)
      .def_static("from_bytes", loadBytes, "bytes"_a)
      .def("functions", describeFunctions)
      .def("describe", [](const Module &self) { return self.module.describe(); });

  nb::class_<Instance>(m, "Instance")
      .def(
          "__init__",
          [](Instance *self, const Module &module, const std::string &device, bool fallback, uint32_t threads,
             uint64_t seed, uint64_t memoryLimit) {
            new (self) Instance(module, makeOptions(device, fallback, threads, seed, memoryLimit));
          },
          "module"_a, "device"_a = "auto", "fallback"_a = true, "threads"_a = 0, "seed"_a = 0, "memory_limit"_a = 0)
      .def("run", &Instance::run, "function"_a, "inputs"_a)
      .def("report", [](const Instance &self) { return self.instance.report(VX_REPORT_JSON); })
      .def("report_text", [](const Instance &self) { return self.instance.report(); })
      .def("variables",
           [](const Instance &self) {
             std::vector<std::string> names;
             for (const vx_variable_info &variable : self.instance.variables())
               names.push_back(variable.name);
             return names;
           })
      .def("read_variable",
           [](const Instance &self, const std::string &name) { return self.instance.readVariable(name); })
      .def("write_variable", [](Instance &self, const std::string &name, const vx::Value &value) {
        self.instance.writeVariable(name, value);
      });

  nb::class_<Session>(m, "Session")
      .def(
          "__init__",
          [](Session *self, const Module &module, const std::string &device, bool fallback, uint32_t threads,
             uint64_t seed) { new (self) Session(module, makeOptions(device, fallback, threads, seed, 0)); },
          "module"_a, "device"_a = "auto", "fallback"_a = true, "threads"_a = 0, "seed"_a = 0)
      .def("fit", &Session::fit, "data"_a, "validation"_a.none(), "epochs"_a, "batch"_a, "rate"_a.none(), "schedule"_a,
           "end"_a, "seed"_a.none(), "on_epoch"_a.none())
      .def("evaluate", &Session::evaluate, "data"_a, "batch"_a)
      .def("predict", &Session::predict, "data"_a, "batch"_a)
      .def(
          "save",
          [](const Session &self, const std::string &path, bool onlyWeights) {
            self.session->save(path, onlyWeights ? vx::train::Contents::weights : vx::train::Contents::checkpoint);
          },
          "path"_a, "only_weights"_a = false)
      .def(
          "load", [](Session &self, const std::string &path) { return self.session->load(path); }, "path"_a)
      .def(
          "export_onnx", [](const Session &self, const std::string &path) { self.session->export_onnx(path); },
          "path"_a)
      .def("summary", [](const Session &self) { return self.session->summary(); })
      .def("read_variable",
           [](const Session &self, const std::string &name) { return self.session->read_variable(name); })
      .def("report", [](const Session &self) { return self.session->get_instance().report(VX_REPORT_JSON); });

  m.def("list_devices", [] { return vx::listDevices(); });
  m.def("version", [] { return vx_version(); });
}
