// Graphs that a program builds, as a C interface; `vx/builder.hpp` uses it. A graph consists of functions, a function
// of nodes, which are those of ONNX. A node is checked when it is added, and its outputs have a type from then on. No
// LLVM type appears here.
//
// Every function that returns vxc_result gives VXC_DONE, or VXC_UNSUPPORTED after a fault. vxb_graph_message returns
// the fault: "model.cpp:14: h/0/attn (MultiHeadAttention): needs ..., got ...". The first fault of a graph stays, and
// every later call fails as well. A NULL pointer that must not be NULL is VXC_USAGE. Memory that pointers point at is
// borrowed until the function returns. A graph belongs to one thread at a time; graphs are independent of each other.
#ifndef VX_COMPILER_VXB_H
#define VX_COMPILER_VXB_H

#include "vx/compiler/vxc.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct vxb_graph vxb_graph;

// A value of the function or body that is being built, or a variable of the graph, by its number.
typedef int32_t vxb_value;
#define VXB_NONE (-1) // an input of a node that is left out

// The numbers are ONNX's.
typedef enum vxb_element_type {
  VXB_F32 = 1,
  VXB_U8 = 2,
  VXB_I8 = 3,
  VXB_U16 = 4,
  VXB_I16 = 5,
  VXB_I32 = 6,
  VXB_I64 = 7,
  VXB_BOOL = 9,
  VXB_F16 = 10,
  VXB_F64 = 11,
  VXB_U32 = 12,
  VXB_U64 = 13,
  VXB_BF16 = 16,
  VXB_ELEMENT_TYPE_LIMIT = 0x7fffffff // no type: every int is a value of the enum, so a wrong one can be reported
} vxb_element_type;

// `size` from 0 on; else the symbol or expression `name`, UTF-8; with NULL, any size.
typedef struct vxb_dim {
  int64_t size;
  const char *name;
} vxb_dim;

typedef struct vxb_type {
  vxb_element_type element_type;
  uint32_t rank;
  const vxb_dim *dims;
} vxb_type;

// A position in the program: messages, faults and profiles name it. Each text may be NULL.
typedef struct vxb_place {
  const char *scope; // of the layer, "h/0/attn"
  const char *layer; // "Linear", or the function's name
  const char *file;
  uint32_t line;
} vxb_place;

typedef enum vxb_role {
  VXB_PARAMETER = 0, // is trained
  VXB_STATISTIC = 1, // is collected, e.g. the mean of a batch norm
  VXB_STATE = 2,     // is stored by the program's own functions
  VXB_ROLE_LIMIT = 0x7fffffff
} vxb_role;

// The first value of a variable. Random values follow from the seed of the instance and the variable's name: they are
// the same on all targets, and no file stores them.
typedef enum vxb_init_kind {
  VXB_INIT_ZEROS = 0,
  VXB_INIT_CONSTANT = 1,   // a
  VXB_INIT_UNIFORM = 2,    // from a to b
  VXB_INIT_NORMAL = 3,     // the mean a, the standard deviation b
  VXB_INIT_ORTHOGONAL = 4, // rows of the length a, orthogonal to each other, or columns
  VXB_INIT_DATA = 5,       // `data`
  VXB_INIT_LIMIT = 0x7fffffff
} vxb_init_kind;

typedef struct vxb_variable_info {
  size_t struct_size; // sizeof(vxb_variable_info); later fields are zero
  const char *name;   // its name in checkpoints and exports: "h.0.attn.weight"
  vxb_type type;      // of sizes that are numbers
  vxb_role role;
  vxb_init_kind init;
  double a, b;
  const void *data; // row-major elements, copied; bools are bytes
  size_t data_size;
} vxb_variable_info;

typedef enum vxb_attribute_kind {
  VXB_INT = 0,    // ints[0]
  VXB_FLOAT = 1,  // floats[0]
  VXB_STRING = 2, // strings[0]
  VXB_INTS = 3,
  VXB_FLOATS = 4,
  VXB_STRINGS = 5,
  VXB_BODY = 6, // body
  VXB_ATTRIBUTE_LIMIT = 0x7fffffff
} vxb_attribute_kind;

typedef struct vxb_attribute {
  const char *name;
  vxb_attribute_kind kind;
  size_t count; // of a list
  const int64_t *ints;
  const float *floats;
  const char *const *strings;
  int32_t body; // of vxb_body_end
} vxb_attribute;

typedef struct vxb_input {
  const char *name;
  vxb_type type;
} vxb_input;

// Turns the function of a graph that returns its loss into one that trains (docs/training.md).
typedef struct vxb_training {
  size_t struct_size;
  const char *evaluate;         // the function: its first output is the loss, a scalar of f32, its others are metrics
  const char *predict;          // the function that predicts; exports contain it; may be NULL
  const char *optimizer;        // "adamw:weight_decay=0.05"
  double lr;                    // the learning rate if a session has none; 0: 1e-3
  double clip_norm, clip_value; // as those of vxc_options
  const char *freeze;           // patterns of parameters between commas; NULL: none
  uint8_t keep_gradients;
  int64_t memory, planned_batch; // as those of vxc_options
} vxb_training;

// A graph without functions. `name` is the module's.
VXC_EXPORT vxc_result vxb_graph_create(const char *name, vxb_graph **out_graph);
// NULL does nothing.
VXC_EXPORT void vxb_graph_release(vxb_graph *graph);
// The first fault, "" if there is none; lives until the graph is released.
VXC_EXPORT const char *vxb_graph_message(const vxb_graph *graph);
// Reports a fault of the caller, for checks above this interface.
VXC_EXPORT vxc_result vxb_graph_fail(vxb_graph *graph, const vxb_place *place, const char *message);

// The range of a symbol, and a number that it is a multiple of. Call it before the first function with the symbol.
VXC_EXPORT vxc_result vxb_symbol(vxb_graph *graph, const char *name, int64_t min, int64_t max, int64_t multiple);

// A variable of the module: functions that use it as a value read it.
VXC_EXPORT vxc_result vxb_variable(vxb_graph *graph, const vxb_variable_info *info, const vxb_place *place,
                                   vxb_value *out_variable);

// Begins a function; `out_inputs` has a place for each of its inputs. Sizes of one name are one size in all functions.
VXC_EXPORT vxc_result vxb_function_begin(vxb_graph *graph, const char *name, size_t num_inputs, const vxb_input *inputs,
                                         const vxb_place *place, vxb_value *out_inputs);
VXC_EXPORT vxc_result vxb_function_end(vxb_graph *graph, size_t num_outputs, const char *const *names,
                                       const vxb_value *values);

// A node of ONNX's ops of version 20, or one of these:
//   As            (x) dims = texts: x, of which dimension i has the size dims[i], "?" for any; the call checks it.
//   Gradient      (y, x...): of the sum of the elements of y by each x.
//   Loss          (output, target) loss = "cross_entropy", ...: the mean loss, and the accuracy of labels.
//   Pick          (x, indices) axis = the last: the element of each row that its index names.
//   StopGradient  (x): x, which no gradient goes through.
// `out_values` has a place for each output.
VXC_EXPORT vxc_result vxb_node(vxb_graph *graph, const char *op, size_t num_inputs, const vxb_value *inputs,
                               size_t num_attributes, const vxb_attribute *attributes, const vxb_place *place,
                               size_t num_outputs, vxb_value *out_values);
// Row-major elements, copied; bools are bytes.
VXC_EXPORT vxc_result vxb_constant(vxb_graph *graph, const vxb_type *type, const void *data, size_t data_size,
                                   const vxb_place *place, vxb_value *out_value);
// A list of i64: sizes as numbers, or by the name of a dimension of an input; -1 for any size.
VXC_EXPORT vxc_result vxb_sizes(vxb_graph *graph, size_t count, const vxb_dim *dims, const vxb_place *place,
                                vxb_value *out_value);
// Sets the value of the variable after the function, if the call succeeds. From now on, the function reads this value.
VXC_EXPORT vxc_result vxb_store(vxb_graph *graph, vxb_value variable, vxb_value value, const vxb_place *place);

// Begins the body of a Loop (`is_loop`) or of a branch of an If. The first value of a loop's body is the number of the
// iteration; the others are the carried ones, with the types of `carried`. A branch has no values of its own.
// `out_values` has a place for each. Bodies see the values around them.
VXC_EXPORT vxc_result vxb_body_begin(vxb_graph *graph, uint8_t is_loop, size_t num_carried, const vxb_value *carried,
                                     const vxb_place *place, vxb_value *out_values);
// Ends a body. The values of a loop's body are the carried ones, then those to stack. `*out_body` is for one attribute
// of one node.
VXC_EXPORT vxc_result vxb_body_end(vxb_graph *graph, size_t num_values, const vxb_value *values, int32_t *out_body);

// The type of a value. The dims live until the next call on the graph.
VXC_EXPORT vxc_result vxb_value_type(vxb_graph *graph, vxb_value value, vxb_type *out_type);

// Makes a module that trains. At most once.
VXC_EXPORT vxc_result vxb_train(vxb_graph *graph, const vxb_training *training);

// Compiles the graph as vxc_compile and vxc_compile_bytes compile a model, any number of times. Options of models of
// files (training, gradients, data_folder) are VXC_USAGE. `onnx_export` is that of a graph that trains. A fault of the
// graph is VXC_UNSUPPORTED, and its message goes to on_message.
VXC_EXPORT vxc_result vxb_compile(vxb_graph *graph, const char *output_path, const vxc_options *options);
VXC_EXPORT vxc_result vxb_compile_bytes(vxb_graph *graph, const vxc_options *options, vxc_module **out_module);

// The version of ONNX's ops of exports, 20 to 28; the default is 20.
VXC_EXPORT vxc_result vxb_export_opset(vxb_graph *graph, int64_t opset);

// Copies the elements of a variable, `size` bytes, to `data`. Returns other than 0 for an unknown variable.
typedef int (*vxb_read_fn)(void *user_data, const char *variable, void *data, size_t size);
// Writes the next bytes of a file. A result other than 0 ends the export.
typedef int (*vxb_write_fn)(void *user_data, const void *data, size_t size);

// Writes a function as an ONNX model, of up to 2 GiB. VXC_UNSUPPORTED, with the reason to `on_message`, which may be
// NULL, if ONNX has no op for a part of it; VXC_FAILED when `read` or `write` has failed. The graph stays as it is.
VXC_EXPORT vxc_result vxb_export(vxb_graph *graph, const char *function, vxb_read_fn read, vxb_write_fn write,
                                 vxc_message_fn on_message, void *user_data);

#if defined(__cplusplus)
}
#endif

#endif
