// The compiler for Python: vx.compile.
#include "builder.h"
#include "options.h"

#include <nanobind/stl/optional.h>

using namespace vx::python;
using namespace nb::literals;

namespace {

int compile(const std::string &model, const std::string &output, const nb::dict &given, Messages &messages) {
  Options options(given);
  options.raw.on_message = take;
  options.raw.user_data = &messages;
  nb::gil_scoped_release unlocked;
  return vxc_compile(model.c_str(), output.c_str(), &options.raw);
}

} // namespace

NB_MODULE(_compiler, m) {
  m.def(
      "compile",
      [](const std::string &model, const std::string &output, const nb::dict &options) {
        Messages messages;
        const int result = compile(model, output, options, messages);
        return nb::make_tuple(result, messages);
      },
      "model"_a, "output"_a, "options"_a);
  m.def(
      "compile_bytes",
      [](nb::bytes model, const std::string &name, const nb::dict &given) {
        Options options(given);
        Messages messages;
        options.raw.on_message = take;
        options.raw.user_data = &messages;
        vxc_module *module = nullptr;
        int result = 0;
        {
          nb::gil_scoped_release unlocked;
          result = vxc_compile_bytes(model.c_str(), model.size(), name.c_str(), &options.raw, &module);
        }
        nb::bytes bytes(vxc_module_data(module), vxc_module_size(module));
        vxc_module_release(module);
        return nb::make_tuple(result, messages, bytes);
      },
      "model"_a, "name"_a, "options"_a);
  defineBuilder(m);
  m.def("version", [] { return vxc_version(); });
  m.def("targets", [] { return vxc_targets(); });
}
