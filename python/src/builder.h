// Graphs that Python builds: what vx/_nn_graph.py is made of.
#ifndef VX_PYTHON_BUILDER_H
#define VX_PYTHON_BUILDER_H

#include <nanobind/nanobind.h>

namespace vx::python {

/// Adds the class Graph, over vxb.h.
void defineBuilder(nanobind::module_ &module);

} // namespace vx::python

#endif
