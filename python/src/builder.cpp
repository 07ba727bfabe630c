#include "builder.h"

#include "options.h"
#include "vx/compiler/vxb.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <deque>
#include <tuple>
#include <variant>

namespace vx::python {
namespace {

using namespace nb::literals;

/// A size, the name of one, or none for any.
using Dim = std::variant<int64_t, std::string, nb::object>;
/// (scope, layer, file, line) of vxb_place.
using Place = std::tuple<std::string, std::string, std::string, uint32_t>;

vxb_place rawPlace(const Place &place) {
  const auto &[scope, layer, file, line] = place;
  return {scope.c_str(), layer.c_str(), file.c_str(), line};
}

std::vector<vxb_dim> rawDims(const std::vector<Dim> &dims) {
  std::vector<vxb_dim> raw;
  for (const Dim &dim : dims) {
    if (const auto *size = std::get_if<int64_t>(&dim))
      raw.push_back({*size, nullptr});
    else if (const auto *name = std::get_if<std::string>(&dim))
      raw.push_back({-1, name->c_str()});
    else
      raw.push_back({-1, nullptr});
  }
  return raw;
}

[[noreturn]] void raise(const char *message, vxc_result result) {
  nb::object type = nb::module_::import_("vx").attr("CompileError");
  nb::object error = type(message);
  error.attr("code") = result == VXC_USAGE ? "usage" : result == VXC_UNSUPPORTED ? "unsupported" : "failed";
  PyErr_SetObject(type.ptr(), error.ptr());
  throw nb::python_error();
}

/// The attributes of a node, and the memory that they point at.
class Attributes {
public:
  explicit Attributes(const nb::dict &given) {
    for (auto [key, value] : given) {
      vxb_attribute one = {};
      one.name = keep(nb::cast<std::string>(key));
      if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value))
        setList(one, value);
      else
        setOne(one, value);
      raw.push_back(one);
    }
  }
  Attributes(const Attributes &) = delete;

  std::vector<vxb_attribute> raw;

private:
  const char *keep(std::string text) { return texts.emplace_back(std::move(text)).c_str(); }

  void setOne(vxb_attribute &one, nb::handle value) {
    one.count = 1;
    if (nb::isinstance<nb::str>(value)) {
      one.kind = VXB_STRING;
      one.strings = pointers.emplace_back(1, keep(nb::cast<std::string>(value))).data();
    } else if (nb::isinstance<nb::float_>(value)) {
      one.kind = VXB_FLOAT;
      one.floats = floats.emplace_back(1, nb::cast<float>(value)).data();
    } else {
      one.kind = VXB_INT;
      one.ints = ints.emplace_back(1, nb::cast<int64_t>(value)).data();
    }
  }
  void setList(vxb_attribute &one, nb::handle value) {
    one.count = nb::len(value);
    if (one.count > 0 && nb::isinstance<nb::str>(value[0])) {
      one.kind = VXB_STRINGS;
      std::vector<const char *> &list = pointers.emplace_back();
      for (nb::handle each : value)
        list.push_back(keep(nb::cast<std::string>(each)));
      one.strings = list.data();
    } else {
      one.kind = VXB_INTS;
      one.ints = ints.emplace_back(nb::cast<std::vector<int64_t>>(value)).data();
    }
  }

  std::deque<std::string> texts;
  std::deque<std::vector<const char *>> pointers;
  std::deque<std::vector<int64_t>> ints;
  std::deque<std::vector<float>> floats;
};

class Graph {
public:
  explicit Graph(const std::string &name) { check(vxb_graph_create(name.c_str(), &graph)); }
  Graph(const Graph &) = delete;
  ~Graph() { vxb_graph_release(graph); }

  void fail(const Place &place, const std::string &message) {
    const vxb_place at = rawPlace(place);
    check(vxb_graph_fail(graph, &at, message.c_str()));
  }
  void symbol(const std::string &name, int64_t min, int64_t max, int64_t multiple) {
    check(vxb_symbol(graph, name.c_str(), min, max, multiple));
  }
  vxb_value variable(const std::string &name, int elementType, const std::vector<Dim> &sizes, int role, int init,
                     double a, double b, const std::optional<nb::bytes> &data, const Place &place) {
    const std::vector<vxb_dim> dims = rawDims(sizes);
    vxb_variable_info info = {};
    info.struct_size = sizeof(info);
    info.name = name.c_str();
    info.type = {static_cast<vxb_element_type>(elementType), static_cast<uint32_t>(dims.size()), dims.data()};
    info.role = static_cast<vxb_role>(role);
    info.init = static_cast<vxb_init_kind>(init);
    info.a = a;
    info.b = b;
    info.data = data ? data->c_str() : nullptr;
    info.data_size = data ? data->size() : 0;
    const vxb_place at = rawPlace(place);
    vxb_value value = VXB_NONE;
    check(vxb_variable(graph, &info, &at, &value));
    return value;
  }
  std::vector<vxb_value> beginFunction(const std::string &name,
                                       const std::vector<std::tuple<std::string, int, std::vector<Dim>>> &inputs,
                                       const Place &place) {
    std::vector<std::vector<vxb_dim>> dims;
    std::vector<vxb_input> raw;
    for (const auto &[input, elementType, sizes] : inputs) {
      dims.push_back(rawDims(sizes));
      raw.push_back(
          {input.c_str(), {static_cast<vxb_element_type>(elementType), static_cast<uint32_t>(sizes.size()), nullptr}});
    }
    for (size_t i = 0; i < raw.size(); ++i)
      raw[i].type.dims = dims[i].data();
    std::vector<vxb_value> values(raw.size() + 1, VXB_NONE);
    const vxb_place at = rawPlace(place);
    check(vxb_function_begin(graph, name.c_str(), raw.size(), raw.data(), &at, values.data()));
    values.pop_back();
    return values;
  }
  void endFunction(const std::vector<std::string> &names, const std::vector<vxb_value> &values) {
    std::vector<const char *> raw;
    for (const std::string &name : names)
      raw.push_back(name.c_str());
    check(vxb_function_end(graph, values.size(), raw.data(), values.data()));
  }
  std::vector<vxb_value> node(const std::string &op, const std::vector<vxb_value> &inputs, const nb::dict &attributes,
                              const Place &place, size_t outputs) {
    const Attributes given(attributes);
    const vxb_place at = rawPlace(place);
    std::vector<vxb_value> values(outputs, VXB_NONE);
    check(vxb_node(graph, op.c_str(), inputs.size(), inputs.data(), given.raw.size(), given.raw.data(), &at, outputs,
                   values.data()));
    return values;
  }
  vxb_value constant(int elementType, const std::vector<Dim> &sizes, nb::bytes data, const Place &place) {
    const std::vector<vxb_dim> dims = rawDims(sizes);
    const vxb_type type = {static_cast<vxb_element_type>(elementType), static_cast<uint32_t>(dims.size()), dims.data()};
    const vxb_place at = rawPlace(place);
    vxb_value value = VXB_NONE;
    check(vxb_constant(graph, &type, data.c_str(), data.size(), &at, &value));
    return value;
  }
  vxb_value sizes(const std::vector<Dim> &given, const Place &place) {
    const std::vector<vxb_dim> dims = rawDims(given);
    const vxb_place at = rawPlace(place);
    vxb_value value = VXB_NONE;
    check(vxb_sizes(graph, dims.size(), dims.data(), &at, &value));
    return value;
  }
  /// The number of the element type, and the sizes: numbers, names, or None.
  std::pair<int, nb::tuple> typeOf(vxb_value value) {
    vxb_type type = {};
    check(vxb_value_type(graph, value, &type));
    nb::list dims;
    for (uint32_t i = 0; i < type.rank; ++i)
      if (type.dims[i].size >= 0)
        dims.append(type.dims[i].size);
      else
        dims.append(type.dims[i].name ? nb::object(nb::str(type.dims[i].name)) : nb::none());
    return {type.element_type, nb::tuple(dims)};
  }
  void train(const std::string &evaluate, const std::string &predict, const std::string &optimizer, double lr,
             double clipNorm, double clipValue, const std::string &freeze, bool keepGradients, int64_t memory,
             int64_t plannedBatch) {
    vxb_training raw = {};
    raw.struct_size = sizeof(raw);
    raw.evaluate = evaluate.c_str();
    raw.predict = predict.c_str();
    raw.optimizer = optimizer.c_str();
    raw.lr = lr;
    raw.clip_norm = clipNorm;
    raw.clip_value = clipValue;
    raw.freeze = freeze.empty() ? nullptr : freeze.c_str();
    raw.keep_gradients = keepGradients;
    raw.memory = memory;
    raw.planned_batch = plannedBatch;
    check(vxb_train(graph, &raw));
  }
  /// The result, the messages, and the bytes of a module.
  nb::tuple compile(const nb::dict &given) {
    Options options(given);
    Messages messages;
    options.raw.on_message = take;
    options.raw.user_data = &messages;
    vxc_module *module = nullptr;
    int result = 0;
    {
      nb::gil_scoped_release unlocked;
      result = vxb_compile_bytes(graph, &options.raw, &module);
    }
    nb::bytes bytes(vxc_module_data(module), vxc_module_size(module));
    vxc_module_release(module);
    return nb::make_tuple(result, messages, bytes);
  }
  /// The text of a phase, as vx-compile --stop-after prints it.
  std::string text(const std::string &phase) {
    std::string made;
    vxc_options raw = {};
    raw.struct_size = sizeof(raw);
    raw.targets = "cpu";
    raw.stop_after = phase.c_str();
    raw.on_text = [](void *data, const char *part, size_t size) {
      static_cast<std::string *>(data)->append(part, size);
    };
    raw.user_data = &made;
    vxc_module *module = nullptr;
    vxc_result result = VXC_DONE;
    {
      nb::gil_scoped_release unlocked;
      result = vxb_compile_bytes(graph, &raw, &module);
    }
    vxc_module_release(module);
    check(result);
    return made;
  }

private:
  void check(vxc_result result) const {
    if (result != VXC_DONE)
      raise(graph ? vxb_graph_message(graph) : "the graph cannot be made", result);
  }

  vxb_graph *graph = nullptr;
};

} // namespace

void defineBuilder(nb::module_ &module) {
  nb::class_<Graph>(module, "Graph")
      .def(nb::init<const std::string &>(), "name"_a)
      .def("fail", &Graph::fail, "place"_a, "message"_a)
      .def("symbol", &Graph::symbol, "name"_a, "min"_a, "max"_a, "multiple"_a)
      .def("variable", &Graph::variable, "name"_a, "element_type"_a, "sizes"_a, "role"_a, "init"_a, "a"_a, "b"_a,
           "data"_a.none(), "place"_a)
      .def("begin_function", &Graph::beginFunction, "name"_a, "inputs"_a, "place"_a)
      .def("end_function", &Graph::endFunction, "names"_a, "values"_a)
      .def("node", &Graph::node, "op"_a, "inputs"_a, "attributes"_a, "place"_a, "outputs"_a)
      .def("constant", &Graph::constant, "element_type"_a, "sizes"_a, "data"_a, "place"_a)
      .def("sizes", &Graph::sizes, "sizes"_a, "place"_a)
      .def("type_of", &Graph::typeOf, "value"_a)
      .def("train", &Graph::train, "evaluate"_a, "predict"_a, "optimizer"_a, "lr"_a, "clip_norm"_a, "clip_value"_a,
           "freeze"_a, "keep_gradients"_a, "memory"_a, "planned_batch"_a)
      .def("compile", &Graph::compile, "options"_a)
      .def("text", &Graph::text, "phase"_a);
}

} // namespace vx::python
