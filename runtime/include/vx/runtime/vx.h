/* The C interface of the runtime: load a module file, make an instance of it on a device, call its functions.
 *
 * Objects. A `vx_module` is immutable and may be shared by any number of instances. A `vx_instance` is a module on one
 * device with its own variables. A `vx_call` runs one function: it owns an arena and the recorded commands, and reuses
 * both. A `vx_value` is a tensor, a sequence or an optional. All are reference counted: a function that fills an `out_`
 * argument with an object gives one reference to the caller, and the caller gives it back with the object's release
 * function. Arguments are borrowed: the callee retains the objects that it needs for longer.
 *
 * NULL. A pointer that may be NULL is documented so. For any other, a function with a status returns
 * VX_INVALID_ARGUMENT and names the argument; one without does nothing and returns 0, NULL or an empty struct.
 * Retaining and releasing NULL do nothing.
 *
 * Status. A function that can fail returns a `vx_status`, a handle: 0 is success. Anything else is owned by the caller,
 * must be checked, and is given back with vx_status_release. On failure every `out_` argument is set to NULL or 0.
 *
 * Threads. Three words are used below. `Thread-safe`: any number of threads at once. `Thread-compatible`: one thread at
 * a time on one object, different objects at once. `Immutable`: nothing changes after creation, so reading needs no
 * care. Retaining and releasing are thread-safe for every object, and an object that is released while a function uses
 * it stays until this returns. A second thread in a function of a call that is in use gets VX_INVALID_ARGUMENT.
 *
 * Released. The library recognises an object after its last reference has been given back: a function with a status
 * returns VX_INVALID_ARGUMENT, one without does as for NULL, and releasing or retaining it again changes nothing and is
 * logged as an error. That holds until a new object reuses its memory, which happens after a few hundred more objects
 * of its kind have been released.
 *
 * Fork. A child process cannot use most objects of its parent: instances, calls, runs, and values with bytes outside of
 * host memory are VX_UNSUPPORTED there, and releasing them does nothing. Modules, and values in host memory, stay
 * usable, and instances can be made of modules; on a GPU only if the parent had not looked for one of its kind before
 * the fork. No other thread may be in a function of this library while the process forks.
 *
 * Strings that come in are UTF-8 and end with 0. Strings that are returned as `const char *` belong to the object they
 * came from. Strings in `char **out_` arguments are the caller's, given back with vx_string_release.
 */
#ifndef VX_RUNTIME_VX_H
#define VX_RUNTIME_VX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define VX_API __attribute__((visibility("default")))
#define VX_MUST_CHECK __attribute__((warn_unused_result))
#else
#define VX_API
#define VX_MUST_CHECK
#endif

/* --- Status ------------------------------------------------------------------------------------------------------- */

typedef struct vx_status_object *vx_status;

typedef enum vx_code {
  VX_OK = 0,
  VX_INVALID_ARGUMENT = 1, /* the caller's argument does not fit: wrong name, rank, size, element type */
  VX_NOT_FOUND = 2,        /* no such file, function, variable */
  VX_INVALID_MODULE = 3,   /* the module file is damaged, truncated or of another version */
  VX_UNSUPPORTED = 4,      /* valid, but this runtime or device cannot do it */
  VX_NO_DEVICE = 5,        /* every device that was asked for was refused; vx_status_report has the reasons */
  VX_OUT_OF_MEMORY = 6,
  VX_FAULT = 7, /* the data of the call is out of range, e.g. an index; the message names the source node */
  VX_IO_ERROR = 8,
  VX_DEVICE_LOST = 9, /* the device failed; make a new instance */
  VX_INTERNAL = 10,   /* a bug in the runtime or in a driver */
  VX_CANCELLED = 11,  /* the run was ended: vx_call_cancel, or its deadline */
  VX_TIMED_OUT = 12   /* the run is not done yet; it goes on */
} vx_code;

/* Kind of failure. VX_OK for 0. Immutable. */
VX_API vx_code vx_status_code(vx_status status);

/* The message, with the contexts it passed through, e.g. "vx_module_load: m.vxm: truncated: ...". One line without a
 * full stop; "ok" for 0. Belongs to `status`. Immutable. */
VX_API const char *vx_status_message(vx_status status);

/* The device report (JSON, see vx_instance_report) when the code is VX_NO_DEVICE, else NULL. Belongs to `status`. */
VX_API const char *vx_status_report(vx_status status);

/* The facts of the message as a JSON object, for programs, or NULL where there are none. Keys, each where it applies:
 * `input`, the name of the input; `dim`, the number of its dimension; `node` and `op`, the source node and its op;
 * `expected` and `got`, numbers, or texts such as types. Belongs to `status`. */
VX_API const char *vx_status_details(vx_status status);

/* A failed status of a library over this one, given back as any other.
 *
 * \param code     One of vx_code but VX_OK.
 * \param message  Of vx_status_message, copied.
 * \param report   Of vx_status_report, copied; NULL: none.
 * \param details  Of vx_status_details, copied; NULL: none.
 * \returns the status; VX_INVALID_ARGUMENT for another code, VX_OUT_OF_MEMORY. Thread-safe. */
VX_API VX_MUST_CHECK vx_status vx_status_create(vx_code code, const char *message, const char *report,
                                                const char *details);

/* Gives a status back. 0 does nothing. */
VX_API void vx_status_release(vx_status status);

/* Gives back a string from a `char **out_` argument. NULL does nothing. */
VX_API void vx_string_release(char *string);

/* The version of the runtime and of the module files it reads, "vx VERSION (module abi MAJOR.MINOR)". Lives forever. */
VX_API const char *vx_version(void);

typedef enum vx_log_level {
  VX_LOG_INFO = 0,    /* which device was chosen, and why another one was not */
  VX_LOG_WARNING = 1, /* a device was chosen that was not the one asked for; memory was short, and memory that was held
                         for later calls was dropped; an image could not be decoded, and is one of 0 x 0 pixels */
  VX_LOG_ERROR = 2,   /* a device was lost */
  VX_LOG_NONE = 3
} vx_log_level;

/* Receives a message, UTF-8 in one line, that lives until the function returns. It is called on any thread that calls
 * the runtime or belongs to it, by one at a time in the whole process. It must not call the runtime. */
typedef void (*vx_log_fn)(void *user, vx_log_level level, const char *message);

/* Sends log messages of `least` and above to `function` from now on, for the whole process. At first nothing is logged.
 * Errors of calls are returned as statuses and are not logged. When this returns, the previous function does not run
 * any more.
 *
 * \param function  NULL: nothing is logged.
 * \param user      Handed to the function.
 * Thread-safe. */
VX_API void vx_set_log(vx_log_fn function, void *user, vx_log_level least);

/* --- Modules ------------------------------------------------------------------------------------------------------ */

typedef struct vx_module vx_module;

/* The numbers are those of the module file and never change. */
typedef enum vx_element_type {
  VX_ELEMENT_NONE = 0,
  VX_BOOL = 1, /* one byte, 0 or 1 */
  VX_I8 = 2,
  VX_I16 = 3,
  VX_I32 = 4,
  VX_I64 = 5,
  VX_U8 = 6,
  VX_U16 = 7,
  VX_U32 = 8,
  VX_U64 = 9,
  VX_F16 = 10,
  VX_BF16 = 11,
  VX_F32 = 12,
  VX_F64 = 13,
  VX_F8E4M3FN = 14,
  VX_F8E4M3FNUZ = 15,
  VX_F8E5M2 = 16,
  VX_F8E5M2FNUZ = 17,
  VX_F8E8M0 = 18,
  VX_I4 = 19, /* the 4- and 2-bit types are packed, low bits first; a tensor's size is rounded up to bytes */
  VX_U4 = 20,
  VX_F4E2M1 = 21,
  VX_I2 = 22,
  VX_U2 = 23,
  VX_STRING = 24,
  VX_ELEMENT_TYPE_LIMIT = 0x7fffffff /* no type: every int is a value of the enum, so a wrong one can be reported */
} vx_element_type;

/* The type's lower-case name, "f32"; "unknown" for a number that is no type. Lives forever. */
VX_API const char *vx_element_type_name(vx_element_type type);

/* Bits per element; 0 for VX_ELEMENT_NONE, VX_STRING and unknown numbers. */
VX_API uint32_t vx_element_type_bits(vx_element_type type);

typedef enum vx_value_kind {
  VX_TENSOR = 0,
  VX_SEQUENCE = 1,
  VX_OPTIONAL = 2,          /* a tensor or nothing */
  VX_OPTIONAL_SEQUENCE = 3, /* a sequence or nothing */
  VX_VALUE_KIND_LIMIT = 0x7fffffff
} vx_value_kind;

/* One dimension of a signature. `size` is the static size, or -1 when `expression` must be evaluated. */
typedef struct vx_dim_info {
  int64_t size;
  const char *expression; /* "batch", "past + 1", "64" */
} vx_dim_info;

/* The values that cause no fault, of an input with elements that index something: [lower, upper), and one value for
 * "none". */
typedef struct vx_value_range {
  int64_t lower;
  const char *upper;   /* an expression as those of dims, "30522"; NULL: not known before the call */
  const int64_t *also; /* e.g. -100 of a label that does not count; NULL: no other value */
} vx_value_range;

typedef struct vx_argument_info {
  const char *name;
  vx_value_kind kind;
  vx_element_type element_type; /* of the tensor, or of the elements of a sequence or optional */
  int ranked;                   /* 0: the elements of the sequence may differ in rank, and `rank` is 0 */
  uint32_t rank;
  const vx_dim_info *dims;
  const vx_value_range *range; /* NULL: any value */
} vx_argument_info;

/* A named dimension: callers bind it by the shapes they pass, to a multiple of `multiple` in [min, max]. */
typedef struct vx_symbol_info {
  const char *name;
  int64_t min;
  int64_t max; /* INT64_MAX: no limit */
  int64_t multiple;
  int data_dependent; /* known only after the call */
  int instance;       /* bound when an instance is made, by vx_instance_options.symbols */
} vx_symbol_info;

typedef struct vx_function_info {
  const char *name;
  size_t symbol_count;
  const vx_symbol_info *symbols;
  size_t input_count;
  const vx_argument_info *inputs;
  size_t output_count;
  const vx_argument_info *outputs;
} vx_function_info;

/* The purpose of a variable. The numbers are those of the module file and never change. */
typedef enum vx_variable_role {
  VX_ROLE_STATE = 0,     /* no other one */
  VX_ROLE_PARAMETER = 1, /* a trained value; instances may share it */
  VX_ROLE_OPTIMIZER = 2, /* e.g. moments */
  VX_ROLE_STATISTIC = 3, /* e.g. running means; instances may share it */
  VX_ROLE_COUNTER = 4,   /* e.g. steps done */
  VX_ROLE_GRADIENT = 5,  /* computed anew by each step */
  VX_ROLE_SHADOW = 6,    /* derived from a parameter, e.g. in another type */
  VX_ROLE_CACHE = 7,     /* e.g. keys and values of past tokens */
  VX_ROLE_LIMIT = 0x7fffffff
} vx_variable_role;

/* The role's lower-case name, "parameter"; "unknown" for a number that is no role. Lives forever. */
VX_API const char *vx_variable_role_name(vx_variable_role role);

/* State of an instance that lives across calls. */
typedef struct vx_variable_info {
  const char *name;
  vx_element_type element_type;
  uint32_t rank;
  const int64_t *dims; /* -1 in the table of a module: depends on a size that is bound when an instance is made */
  uint64_t size;       /* bytes; 0 where a dim is -1 */
  vx_variable_role role;
  const char *source; /* its name in the model that was compiled */
  /* Where its bytes are: variables of one storage may share them, as a pool and its members do. */
  size_t storage;
  int64_t offset; /* bytes; -1 where it depends on a size that is bound when an instance is made */
} vx_variable_info;

/* Maps a module file and checks all of its metadata. The file must not change while the module lives.
 *
 * \param path        Of the .vxm file. A module with weights in other files finds these by plain name in the same
 * folder.
 * \param out_module  On success one reference; on failure NULL.
 * \returns VX_NOT_FOUND or VX_IO_ERROR when a file cannot be opened or mapped, VX_INVALID_MODULE when something in it
 * is wrong: the message names the file, the entry and both values.
 *
 * Thread-safe. Reads the metadata, not the weights. Touches no device. */
VX_API VX_MUST_CHECK vx_status vx_module_load(const char *path, vx_module **out_module);

/* Checks the metadata of a module in memory, e.g. one of vxc_compile_bytes.
 *
 * \param bytes       `size` bytes of a module file, at a multiple of 64. Borrowed: they stay as they are until the last
 *                    reference to the module is released; an instance holds one.
 * \param name        Name of the module in messages, borrowed until the function returns; NULL: "module in memory".
 * \param out_module  On success one reference; on failure NULL.
 * \returns VX_INVALID_ARGUMENT for bytes at another alignment, else as vx_module_load. A module with
 *          weights in other files is VX_INVALID_MODULE: there is no folder to look in.
 *
 * Thread-safe. Reads the metadata, not the weights. Touches no device. */
VX_API VX_MUST_CHECK vx_status vx_module_load_bytes(const void *bytes, size_t size, const char *name,
                                                    vx_module **out_module);

VX_API void vx_module_retain(vx_module *module);
VX_API void vx_module_release(vx_module *module);

/* The functions of the module; `*out_count` of them, which may be 0. Everything belongs to the module. Immutable.
 *
 * \param out_count  May be NULL. */
VX_API const vx_function_info *vx_module_functions(const vx_module *module, size_t *out_count);

/* The role of an input or output when calls are batched. */
typedef enum vx_row_use {
  VX_ROWS_UNKNOWN = 0, /* an output in which any part may depend on all rows */
  VX_ROWS_OWN =
      1, /* an input that is concatenated along dimension 0; an output in which row i depends on row i of these alone */
  VX_ROWS_SHARED = 2, /* an input that must be equal in all calls; an output that depends on such inputs alone */
  VX_ROWS_LIMIT = 0x7fffffff
} vx_row_use;

/* How calls of a function can be batched into one. That is possible for calls with equal shared inputs, and with other
 * inputs that differ at most in dimension 0. These inputs are concatenated along dimension 0 in the order of the calls.
 * Of an output with rows of its own each call gets as many rows as it had, in the same order. Results are those of a
 * call alone up to rounding: a kernel may add in another order for another number of rows. If the batched call fails,
 * it fails for all calls in it. */
typedef struct vx_batch_info {
  size_t struct_size; /* bytes that this runtime knows; later fields do not exist */
  const char *symbol; /* the number of rows */
  int64_t min_rows;
  int64_t max_rows; /* INT64_MAX: no limit */
  int64_t multiple; /* the number of rows must be a multiple of it */
  int is_joinable;  /* 1: no output is VX_ROWS_UNKNOWN */
  size_t input_count;
  const vx_row_use *inputs;
  size_t output_count;
  const vx_row_use *outputs;
  const char *const *reasons; /* for each output VX_ROWS_UNKNOWN the node that mixes rows and how, or ""; else NULL */
} vx_batch_info;

/* How calls of function number `function` of vx_module_functions can be batched. NULL when nothing is known: no input
 * has a symbol for the size of dimension 0, the compiler was an older one, or there is no such function. Belongs to the
 * module. Immutable. */
VX_API const vx_batch_info *vx_module_batch(const vx_module *module, size_t function);

/* 1 where a run of function number `function` of vx_module_functions goes around a loop whose number of turns may
 * depend on what tensors hold: runs with inputs of the same sizes may take different times. 0 otherwise, and where
 * there is no such function. Thread-safe. */
VX_API int vx_module_has_loops(const vx_module *module, size_t function);

/* The variables of the module; `*out_count` of them, which may be 0. Everything belongs to the module. Immutable.
 *
 * \param out_count  May be NULL. */
VX_API const vx_variable_info *vx_module_variables(const vx_module *module, size_t *out_count);

/* The sizes that are bound when an instance is made; `*out_count` of them, which may be 0. Everything belongs to the
 * module. Immutable.
 *
 * \param out_count  May be NULL. */
VX_API const vx_symbol_info *vx_module_symbols(const vx_module *module, size_t *out_count);

/* Bytes that no program reads, for the user of the module: a tokenizer, a template, or the model that an export
 * completes. */
typedef struct vx_asset_info {
  const char *name;
  const char *kind; /* the media type of the bytes; may be "" */
  const void *bytes;
  size_t size;
} vx_asset_info;

/* The assets of the module; `*out_count` of them, which may be 0. Everything belongs to the module. Immutable. Their
 * bytes are as the file has them: vx_module_verify compares its sections with their hashes.
 *
 * \param out_count  May be NULL. */
VX_API const vx_asset_info *vx_module_assets(const vx_module *module, size_t *out_count);

/* Elements that programs read: the weights that no variable holds. */
typedef struct vx_constant_info {
  const char *name; /* its name in the model that was compiled */
  vx_element_type element_type;
  uint32_t rank;
  const int64_t *dims;
  const void *bytes; /* in row-major order */
  size_t size;
} vx_constant_info;

/* The constants of the module; `*out_count` of them, which may be 0. Everything belongs to the module. Immutable. Their
 * bytes are as the file has them, like those of assets.
 *
 * \param out_count  May be NULL. */
VX_API const vx_constant_info *vx_module_constants(const vx_module *module, size_t *out_count);

/* The inputs of a training step beside the data. The numbers are those of the module file and never change. */
typedef enum vx_hyper_kind {
  VX_HYPER_RATE = 0,  /* the learning rate */
  VX_HYPER_SEED = 1,  /* the seed of the step's random numbers, e.g. those of a dropout */
  VX_HYPER_SCALE = 2, /* the factor of gradients while they are computed */
  VX_HYPER_LIMIT = 0x7fffffff
} vx_hyper_kind;

typedef struct vx_hyper_info {
  vx_hyper_kind kind;
  size_t input; /* of `train_step` */
} vx_hyper_info;

/* How a module is trained. A function is one of vx_module_functions, or NULL where the module has none for it. */
typedef struct vx_training_info {
  size_t struct_size;                 /* bytes that this runtime knows; later fields do not exist */
  const vx_function_info *train_step; /* one step: updates variables; gives a loss and metrics */
  const vx_function_info *evaluate;   /* takes the user's inputs of a step, gives the same outputs, changes nothing */
  const vx_function_info *predict;
  const vx_function_info *backward; /* the first half of a step: computes gradients into variables */
  const vx_function_info *step;     /* the second half: updates variables by them */
  size_t input_count;
  const size_t *inputs; /* the inputs of `train_step` that are the user's data, in the order of `evaluate` */
  size_t hyper_count;
  const vx_hyper_info *hypers; /* its other inputs */
  size_t metric_count;
  const size_t *metrics;         /* the outputs of `train_step` that a report shows, in its order */
  const char *optimizer;         /* for summaries, "adamw"; may be "" */
  const char *loss;              /* for summaries, "cross_entropy"; may be "" */
  const vx_asset_info *skeleton; /* one of vx_module_assets, which an export completes; NULL: there is none */
  double rate;                   /* the learning rate if the caller states none; 0: the module states none */
  /* For each metric, which is a mean, the output of `train_step` that it is divided by: a number of elements or a sum
   * of weights, as a scalar of f32. SIZE_MAX: the rows of the batch. NULL: the rows for all metrics. */
  const size_t *counts;
} vx_training_info;

/* How the module is trained; NULL when it does not train. Everything belongs to the module. Immutable. */
VX_API const vx_training_info *vx_module_training(const vx_module *module);

/* All of the metadata, as one JSON document with a `version` field: signature, variables, constants, sections with
 * sizes, functions of the host with the libraries that they need, and per target its variants, kernels (name, key,
 * source nodes, strategy) and entries.
 *
 * \param out_json  The caller's string; on failure NULL.
 * \returns VX_OUT_OF_MEMORY. Thread-safe. The cost grows with the length of the document. */
VX_API VX_MUST_CHECK vx_status vx_module_describe(const vx_module *module, char **out_json);

/* Reads every section and compares its hash with the metadata.
 *
 * \returns VX_INVALID_MODULE naming the first section that differs, with both hashes.
 * Thread-safe. Reads the whole file, so it may block for long. */
VX_API VX_MUST_CHECK vx_status vx_module_verify(const vx_module *module);

/* --- Devices and instances ---------------------------------------------------------------------------------------- */

typedef struct vx_instance vx_instance;

/* Every backend this runtime knows, with its devices or the reason why it has none, as one JSON document:
 *   {"version":1,"backends":[{"name":"vulkan","available":true,"devices":[{"device":"vulkan:0","name":...,"details":...,
 *   "total_memory":8589934592,"software":false,"driver":"radv Mesa 24","largest_allocation":4294967296,
 *   "workgroup_threads":1024,"workgroup_memory":65536,"features":[...]}]},
 *   {"name":"cuda","available":false,"code":"no_library","reason":"'libcuda.so.1' could not be opened: ..."}]}
 * Memory is in bytes; `total_memory` is 0 if the driver does not tell. `driver` has the version of the driver, or is
 * "". The last three numbers are limits, and are missing where there is none. Thread-safe. Opens the vendors'
 * libraries, so the first use may take long. */
VX_API VX_MUST_CHECK vx_status vx_list_devices(char **out_json);

/* A device that is there. The texts end with a zero byte; a longer one is cut off. */
typedef struct vx_device_info {
  char device[32];       /* "cuda:1" */
  char name[256];        /* as the driver has it, "NVIDIA H200" */
  uint64_t total_memory; /* bytes; 0: not known */
  uint8_t software;      /* not 0: a GPU's interface on the CPU */
} vx_device_info;

/* Finds a device.
 *
 * \param device    As for vx_value_to_device. Borrowed.
 * \param out_info  On success the device, which "auto" and a backend's name choose; on failure all bytes are 0.
 * \returns VX_NO_DEVICE for a device that is not there, with the reason; VX_INVALID_ARGUMENT for an unknown name.
 * Thread-safe. Opens the vendor's library, so the first use may take long. */
VX_API VX_MUST_CHECK vx_status vx_device_find(const char *device, vx_device_info *out_info);

/* The memory of a device that is free now, for all processes.
 *
 * \param device     As for vx_device_find. Borrowed.
 * \param out_bytes  Of the host, the memory that programs can take without swapping. On failure 0.
 * \returns VX_UNSUPPORTED for a device that does not tell ("null", and Vulkan without VK_EXT_memory_budget); else as
 * vx_device_find, and VX_DEVICE_LOST. Thread-safe. Opens the device and closes it again, which may take long. */
VX_API VX_MUST_CHECK vx_status vx_device_free_memory(const char *device, uint64_t *out_bytes);

/* A size of vx_module_symbols and its value. */
typedef struct vx_symbol_value {
  const char *name;
  int64_t value;
} vx_symbol_value;

/* Set `struct_size` to sizeof(vx_instance_options) and every other field to 0 for the defaults. */
typedef struct vx_instance_options {
  size_t struct_size;
  /* "auto" or NULL: by the order below. Otherwise one backend, "cpu", "vulkan", "cuda", "rocm", "null", or one device
   * of it, "vulkan:1". "null" does nothing and is never chosen by itself. If a backend is asked for by name and
   * refused, the rest of the order is tried, unless `no_fallback` is set. */
  const char *device;
  /* Backends for "auto", best first, e.g. "vulkan,cpu". NULL: the environment's VX_DEVICE_ORDER, or else
   * "cuda,rocm,vulkan,cpu". */
  const char *device_order;
  /* Not 0: only the device asked for, or with "auto" only the first of the order, is tried. Its refusal is the error.
   */
  int no_fallback;
  /* CPU threads that work on one call, the caller's included. 0: one per core that this process may use. */
  uint32_t threads;
  /* Name of the code variant to use, e.g. "x86-64-v3"; it must exist and its requirements must hold. NULL: the best.
   */
  const char *variant;
  /* The most milliseconds that the runtime waits for work of a GPU. After that the device is lost (VX_DEVICE_LOST, with
   * the kernels that may hang), and memory that its work may still use is not freed. On cuda and rocm all calls of this
   * process on that GPU are lost with it, and new instances cannot use it. 0: no limit but that of the device's own
   * driver. The CPU ignores it. */
  uint32_t wait_limit_ms;
  /* Values of all sizes of vx_module_symbols, each once, in any order; borrowed. NULL when `symbol_count` is 0.
   */
  size_t symbol_count;
  const vx_symbol_value *symbols;
  /* An instance of the same module, borrowed. The new one has its device, and shares its variables of the roles
   * parameter and statistic, and the values that are derived from these alone. Both see changes of shared variables.
   * All other variables are its own. Both have one memory limit, the first one's. The fields above, except `symbols`,
   * and `memory_limit` must be 0 then. NULL: every variable is the new one's own. */
  vx_instance *share;
  /* The seed of the variables that start with random values: each is drawn from the seed and its name, the same values
   * on every device and machine. Instances that must start differently need different seeds. */
  uint64_t seed;
  /* The most bytes of device memory that the instance allocates, together with those that share its variables; 0: no
   * limit but the device's. Counted, until they are freed, are:
   *   - the variables,
   *   - values that are derived from variables, see vx_call_run,
   *   - of each call: its arena, and the copies of its inputs if the device cannot read them in place; if its runs are
   *     submitted, the copies of two runs,
   *   - results, and elements of sequences, until the last value that holds them is released.
   * Not counted are the module's code, its constants and the values derived from constants: all instances of the
   * module on the device share them. Memory of the caller that is read or written in place is not counted either, nor
   * is memory of the driver itself, such as buffers for transfers.
   *
   * If an allocation would pass the limit, memory is dropped in this order: memory that released calls hold for the
   * next call; then values derived from variables that no running call uses, the least recently used first, which are
   * computed again when they are needed. If that is not enough, the call fails with VX_OUT_OF_MEMORY; the message has
   * the bytes asked for, those in use, and the limit. An instance with variables that alone pass the limit is not made.
   * The same memory is dropped, with and without a limit, when the device has no more memory. */
  uint64_t memory_limit;
} vx_instance_options;

/* Chooses a device, loads the module's code and weights on it, and sets the variables to their initial values.
 * Instances of one module on one device share its code and weights if they ask for the same variant, threads and wait
 * limit.
 *
 * \param module        Borrowed; the instance keeps it alive.
 * \param options       NULL for the defaults.
 * \param out_instance  On success one reference; on failure NULL.
 * \returns VX_NO_DEVICE when every device to try was refused (vx_status_report has the reasons), VX_INVALID_ARGUMENT
 *          for an unknown backend, for a size that is missing, unknown, given twice or out of its range, and for a
 *          `share` of another module; VX_UNSUPPORTED for a signature with string tensors, VX_OUT_OF_MEMORY also for
 *          variables that are larger than `memory_limit`, VX_INVALID_MODULE when code or weights are damaged.
 *
 * Thread-safe. Blocks until the weights are in place. */
VX_API VX_MUST_CHECK vx_status vx_instance_create(vx_module *module, const vx_instance_options *options,
                                                  vx_instance **out_instance);

/* Limits the memory that the calls of an instance, and of those that share its variables, use together at one time,
 * beside the variables. It is for servers that run calls of strangers, in which an input may be a size. Counted is the
 * memory that `memory_limit` of vx_instance_options counts, and host memory: of strings of running calls, of the
 * tensors that functions of the host read and make, and of elements of sequences beside their bytes.
 *
 * An allocation that would pass the limit is refused before it is made. First the memory that `memory_limit` would drop
 * is dropped. If that is not enough the call fails with VX_OUT_OF_MEMORY; the message has the bytes asked for, those of
 * all calls, and the limit.
 *
 * \param bytes  Holds for allocations from now on; 0: no limit, the default. Thread-safe. */
VX_API VX_MUST_CHECK vx_status vx_instance_limit_calls(vx_instance *instance, uint64_t bytes);

VX_API void vx_instance_retain(vx_instance *instance);
VX_API void vx_instance_release(vx_instance *instance);

typedef enum vx_report_format { VX_REPORT_TEXT = 0, VX_REPORT_JSON = 1, VX_REPORT_LIMIT = 0x7fffffff } vx_report_format;

/* The device report: the device asked for, the device chosen, and for each refused device a code and a reason.
 *   {"version":1,"wanted":"auto","order":["cuda","rocm","vulkan","cpu"],"no_fallback":false,
 *    "taken":{"backend":"cpu","device":"cpu:0","name":"...","target":"cpu","variant":"x86-64-v3","threads":2},
 *    "refused":[{"device":"cuda","code":"no_library","reason":"'libcuda.so.1' could not be opened: ..."}, ...]}
 * On a device that shares the host's memory, `taken` has "weights":{"in_place":N,"copied":N,"reason":"..."}: bytes of
 * constants that the device reads where the file is mapped, and bytes that were copied, with the first reason for that.
 * `taken` is null in a status report. The codes: no_driver, no_library, driver_failed, no_device, no_such_device,
 * software, no_code, no_variant, device_failed. no_code is the code of a device that exists: this call also looks for
 * devices that the module has no code for.
 *
 * An instance that vx_try_with_fallback has made also has the devices that calls failed on before, in that order:
 *   "failed":[{"device":"cuda:0","code":"device_lost","reason":"..."}]
 * `code` is the name of the vx_code in lower case: device_lost, out_of_memory or unsupported.
 *
 * \param out_report  The caller's string. The text form has one line per fact and ends with a line feed.
 * Thread-safe; the report never changes. */
VX_API VX_MUST_CHECK vx_status vx_instance_report(const vx_instance *instance, vx_report_format format,
                                                  char **out_report);

/* The device memory that a call of a function needs, and the memory that is available, in bytes. */
typedef struct vx_memory_estimate {
  size_t struct_size; /* set by the caller to sizeof(vx_memory_estimate) */
  uint64_t
      constants; /* of the module on the device, with the values derived from them: once for all its instances there */
  uint64_t variables; /* those of the instance, shared ones too, and the values that the function derives from them */
  uint64_t arena;     /* values that live only while the function runs */
  uint64_t inputs;    /* copies of inputs if the device does not read host memory */
  uint64_t results;
  uint64_t total;          /* of all these */
  uint64_t largest;        /* bytes of the largest allocation among them */
  uint64_t memory_limit;   /* of the instance, for all but the constants; 0: none */
  uint64_t device_memory;  /* of the device, others' share included; 0: not known */
  uint64_t device_largest; /* the most bytes of one allocation there */
  int fits;                /* `total` and `largest` are within these three */
  int is_least;            /* sequences, loops or `open_size` may add memory that is known only when the call runs */
  const char *open_size; /* a size that depends on data and has no upper limit in vx_symbol_info: buffers with it count
                            as 0 bytes; NULL: none. Belongs to the module */
} vx_memory_estimate;

/* Estimates the memory of a call before the call. Nothing is allocated. A size that depends on data counts with the
 * most that its range allows. A second call at the same time, or a submitted run, has inputs and results of its own;
 * several calls of one instance have an arena each.
 *
 * \param function      NULL: the first one.
 * \param symbols       Values of all sizes that the function's inputs bind (vx_module_functions lists them), each once,
 *                      in any order; borrowed. NULL when `symbol_count` is 0.
 * \param out_estimate  Filled on success; on failure all but `struct_size` is 0.
 * \returns VX_INVALID_ARGUMENT for a size that is missing, unknown, given twice or out of its range, and for sizes that
 *          break a constraint of the function; VX_NOT_FOUND for an unknown function.
 *
 * Thread-safe. */
VX_API VX_MUST_CHECK vx_status vx_instance_estimate_memory(const vx_instance *instance, const char *function,
                                                           size_t symbol_count, const vx_symbol_value *symbols,
                                                           vx_memory_estimate *out_estimate);

/* Estimates the same without an instance: for one that vx_instance_create would make with these options, on the device
 * that it would choose. The device is opened and closed again; no code and no weights are put on it. A memory limit
 * that the variables alone pass is no error here: `fits` is 0. While weights are loaded, more memory may be needed for
 * a while than this estimate: for the weights that others are derived from.
 *
 * \param module        Borrowed.
 * \param options       NULL for the defaults.
 * \param function      NULL: the first one.
 * \param symbols       As for vx_instance_estimate_memory; those of the instance are in `options`.
 * \param out_estimate  Filled on success; on failure all but `struct_size` is 0.
 * \returns As vx_instance_create and vx_instance_estimate_memory. A device that would fail only when code or weights
 *          are put on it is not refused here.
 *
 * Thread-safe. */
VX_API VX_MUST_CHECK vx_status vx_module_estimate_memory(vx_module *module, const vx_instance_options *options,
                                                         const char *function, size_t symbol_count,
                                                         const vx_symbol_value *symbols,
                                                         vx_memory_estimate *out_estimate);

/* --- Values ------------------------------------------------------------------------------------------------------- */

/* A value is immutable: its type, dims and bytes do not change, so any number of threads and calls may read it at once.
 */
typedef struct vx_value vx_value;

typedef struct vx_value_info {
  vx_value_kind kind;
  vx_element_type element_type;
  uint32_t rank;       /* of a tensor; else 0 */
  const int64_t *dims; /* of a tensor; belongs to the value */
  uint64_t size;       /* bytes of a tensor; of strings, and else, 0 */
  size_t count;        /* elements of a sequence, or of a tensor of strings; 0 or 1 for an optional; else 0 */
} vx_value_info;

/* Makes a tensor from a copy of the caller's bytes, row-major.
 *
 * \param dims       `rank` sizes, each 0 or more. NULL when `rank` is 0.
 * \param data       `size` bytes. May be NULL when `size` is 0.
 * \param size       Must be the size that the type and the dims need. 0 is legal.
 * \returns VX_INVALID_ARGUMENT for a negative dim, an unknown type or a wrong size, with both sizes; VX_UNSUPPORTED for
 *          VX_STRING, which vx_strings_create makes tensors of; VX_OUT_OF_MEMORY.
 * Thread-safe. Copies, and touches no device. */
VX_API VX_MUST_CHECK vx_status vx_tensor_create(vx_element_type type, uint32_t rank, const int64_t *dims,
                                                const void *data, uint64_t size, vx_value **out_value);

/* Makes a tensor that reads the caller's bytes in place: they must stay and not change until `release` is called, which
 * happens when the last user of the value is done, on any thread. A CPU call reads `data` without a copy when it is
 * aligned to 64 bytes.
 *
 * \param release  May be NULL: then the bytes must outlive the value. It is called exactly once when this succeeds, and
 * not when it fails. Errors as vx_tensor_create. Thread-safe. */
VX_API VX_MUST_CHECK vx_status vx_tensor_wrap(vx_element_type type, uint32_t rank, const int64_t *dims,
                                              const void *data, uint64_t size, void (*release)(void *user), void *user,
                                              vx_value **out_value);

/* A tensor of DLPack 1 (dlpack.h), the exchange format of NumPy, PyTorch, JAX and others. */
struct DLManagedTensorVersioned;

/* Makes a tensor that reads another library's in place, as vx_tensor_wrap does. Its bytes must not change while the
 * value is used, and all writes to them must be done: no stream comes with a tensor. For CUDA memory, this function
 * waits for the work that is queued in the default stream. That includes work of other streams that the default stream
 * waits for, as DLPack's Python interface arranges for stream 1. If writes are queued in another stream, run the call
 * that reads the tensor in that stream too (vx_call_set_stream).
 *
 * \param tensor  In memory of the host (kDLCPU, kDLCUDAHost, kDLROCMHost) or of a GPU (kDLCUDA, kDLCUDAManaged,
 * kDLROCM), row-major without gaps, of 4 and 2 bits packed. A call on that GPU reads it there; one on another device,
 * and vx_tensor_data, a copy in the host's memory. When this succeeds the value owns it, and its deleter is called
 * once, when the last user of the value is done, on any thread; when it fails it stays the caller's.
 * \returns VX_UNSUPPORTED for memory of other devices, for other strides, for a type without a vx_element_type of its
 * own or with several lanes, and for another major version than 1, each with the value found. VX_INVALID_ARGUMENT for a
 * size below 0; VX_NO_DEVICE for a GPU that this process does not see; VX_OUT_OF_MEMORY.
 * Thread-safe. Copies nothing. */
VX_API VX_MUST_CHECK vx_status vx_tensor_from_dlpack(struct DLManagedTensorVersioned *tensor, vx_value **out_value);

/* Exports a tensor to another library: its bytes in memory of the host, row-major, flagged as read-only. A tensor on
 * another device is copied to the host first, as by vx_tensor_data.
 *
 * \param value       Borrowed; the exported tensor keeps it alive until its deleter is called, on any thread.
 * \param out_tensor  On success a tensor that the caller owns and ends by its deleter; on failure NULL.
 * \returns VX_INVALID_ARGUMENT for a sequence or optional; VX_UNSUPPORTED for strings, which DLPack does not have;
 * VX_OUT_OF_MEMORY, VX_DEVICE_LOST. Thread-safe. */
VX_API VX_MUST_CHECK vx_status vx_tensor_to_dlpack(vx_value *value, struct DLManagedTensorVersioned **out_tensor);

/* The same without a copy to the host: a tensor on a GPU of cuda or rocm is exported in place, as kDLCUDA or kDLROCM
 * with the number that the vendor's library has for the GPU. Its bytes are complete when this returns, so no wait for a
 * stream is needed. A tensor in memory of the host is exported as by vx_tensor_to_dlpack.
 * \returns as vx_tensor_to_dlpack; VX_UNSUPPORTED also for memory of vulkan, which has no addresses for others.
 * Thread-safe. */
VX_API VX_MUST_CHECK vx_status vx_tensor_to_dlpack_in_place(vx_value *value,
                                                            struct DLManagedTensorVersioned **out_tensor);

/* Makes a tensor of strings from a copy of the caller's.
 *
 * \param dims     `rank` sizes, each 0 or more. NULL when `rank` is 0.
 * \param count    Must be the number of elements that the dims need. 0 is legal.
 * \param strings  `count` texts of UTF-8, row-major. May be NULL when `count` is 0; an element may be NULL when its
 * length is 0.
 * \param lengths  The bytes of each text. Zero bytes inside of a text are legal; no zero byte is needed at its end.
 * \returns VX_INVALID_ARGUMENT for a negative dim, a wrong count, with both, more than 4294967295 bytes in all, or a
 * text that is no UTF-8, with its number; VX_OUT_OF_MEMORY. Thread-safe. Copies, and touches no device. */
VX_API VX_MUST_CHECK vx_status vx_strings_create(uint32_t rank, const int64_t *dims, size_t count,
                                                 const char *const *strings, const size_t *lengths,
                                                 vx_value **out_value);

/* Makes a sequence of `count` tensors of one element type. Their ranks and sizes may differ. `count` 0 is legal.
 *
 * \param elements  Borrowed; the sequence retains each.
 * \returns VX_INVALID_ARGUMENT when an element is no tensor or of another type; VX_OUT_OF_MEMORY.
 * Thread-safe. */
VX_API VX_MUST_CHECK vx_status vx_sequence_create(vx_element_type type, size_t count, vx_value *const *elements,
                                                  vx_value **out_value);

/* Makes an optional that holds `element`, a tensor, or nothing when that is NULL. Errors as vx_sequence_create. */
VX_API VX_MUST_CHECK vx_status vx_optional_create(vx_element_type type, vx_value *element, vx_value **out_value);

/* Makes an optional sequence that holds `sequence`, or nothing when that is NULL: the two differ from an empty
 * sequence.
 *
 * \param type      Of the elements of the sequence.
 * \param sequence  Borrowed; the optional retains it.
 * \returns VX_INVALID_ARGUMENT when it is no sequence or one of another type; VX_OUT_OF_MEMORY. Thread-safe. Copies,
 * and touches no device. */
VX_API VX_MUST_CHECK vx_status vx_optional_sequence_create(vx_element_type type, vx_value *sequence,
                                                           vx_value **out_value);

VX_API void vx_value_retain(vx_value *value);
VX_API void vx_value_release(vx_value *value);

/* Kind, type and dims. Immutable. */
VX_API vx_value_info vx_value_get_info(const vx_value *value);

/* Element `index` of a sequence or optional: one reference for the caller.
 * \returns VX_INVALID_ARGUMENT for a tensor or an index not below the count. Thread-safe. */
VX_API VX_MUST_CHECK vx_status vx_value_element(const vx_value *value, size_t index, vx_value **out_element);

/* The bytes of a tensor in host memory. They belong to the value and live as long as it. A tensor on another device is
 * copied to the host by the first caller, which blocks.
 * \returns VX_INVALID_ARGUMENT for a sequence, an optional or strings; VX_OUT_OF_MEMORY, VX_DEVICE_LOST. Thread-safe.
 */
VX_API VX_MUST_CHECK vx_status vx_tensor_data(const vx_value *value, const void **out_data);

/* Element `index`, row-major, of a tensor of strings.
 *
 * \param out_string  Its bytes, which belong to the value and live as long as it; they do not end with a zero byte.
 * \param out_length  The number of bytes.
 * \returns VX_INVALID_ARGUMENT for another value, or an index that is not below the number of elements. Thread-safe. */
VX_API VX_MUST_CHECK vx_status vx_strings_element(const vx_value *value, size_t index, const char **out_string,
                                                  size_t *out_length);

/* Copies a tensor to the memory of the instance's device, where calls of the instance read it without a transfer. The
 * bytes are there when this returns.
 *
 * \param value      Borrowed: a tensor of numbers or bools. It stays as it is.
 * \param out_value  On success one reference: a new tensor of the same type and dims, or `value` itself if calls of the
 * instance already read it in place. That is a tensor on the same device, as a result of an earlier call is; one
 * without elements; and on the CPU one with bytes that begin at a multiple of 64. On failure NULL.
 * \returns VX_INVALID_ARGUMENT for a sequence, an optional or strings; VX_OUT_OF_MEMORY, also if the instance's memory
 * limit is passed; VX_DEVICE_LOST. Thread-safe. Blocks until the copy is done. */
VX_API VX_MUST_CHECK vx_status vx_instance_upload(vx_instance *instance, vx_value *value, vx_value **out_value);

/* Allocates memory of the host for inputs of the instance's calls: page-locked memory on a GPU, from which the device
 * copies by itself. A tensor that vx_tensor_wrap makes of bytes in it, at any offset, goes to the device without the
 * copy that the runtime makes of other bytes of the host first. Other devices of cuda, or of rocm, read it in the same
 * way. On the CPU, and if the driver has no more such memory, it is ordinary memory, and calls are the same. No memory
 * limit counts it.
 *
 * \param size      Any, 0 included.
 * \param out_data  On success the first of `size` bytes, which is at a multiple of 64, uninitialised; on failure NULL.
 * \returns VX_OUT_OF_MEMORY. Thread-safe. May block, since a driver locks pages for it; freed memory is kept for the
 * next allocation, so that few do. */
VX_API VX_MUST_CHECK vx_status vx_instance_host_alloc(vx_instance *instance, uint64_t size, void **out_data);

/* Frees memory of vx_instance_host_alloc, from any thread, also after the instance. No value reads it any more: a
 * `release` of vx_tensor_wrap may call this. Another pointer is left alone and logged as an error. NULL does nothing.
 * Thread-safe. */
VX_API void vx_host_free(void *data);

/* Copies a tensor to the memory of a device, without an instance. The bytes are there when this returns.
 *
 * \param value      Borrowed: a tensor. It stays as it is.
 * \param device     One device of vx_list_devices, "cuda:1", or a backend for its first one. NULL or "auto": the first
 *                   device of the order of vx_instance_options that there is. Borrowed.
 * \param out_value  On success one reference: a new tensor of the same type and dims, or `value` itself if it is there
 *                   already. A tensor without elements stays where it is, too. On failure NULL.
 *
 * On cuda and rocm, calls of every instance on the device read the tensor in place. On vulkan they copy it, since each
 * instance opens the device by itself; vx_instance_upload places a tensor for one instance. No memory limit counts the
 * memory. The device stays open until the process ends.
 * \returns VX_NO_DEVICE for a device that is not there, with the reason; VX_INVALID_ARGUMENT for an unknown name, for a
 * sequence or an optional, and for strings on a device other than the CPU; VX_UNSUPPORTED for "null", which keeps no
 * values; VX_OUT_OF_MEMORY, VX_DEVICE_LOST. Thread-safe. Blocks until the copy is done. */
VX_API VX_MUST_CHECK vx_status vx_value_to_device(vx_value *value, const char *device, vx_value **out_value);

/* The device whose memory holds a tensor: "cuda:0", and "cpu:0" for memory of the host. The text belongs to the value
 * and lives as long as it. NULL for a sequence, an optional or NULL. Thread-safe. Touches no device. */
VX_API const char *vx_value_device(const vx_value *value);

/* --- Variables ---------------------------------------------------------------------------------------------------- */

/* The variables of the instance, in the order of vx_module_variables, with the dims that they have here; `*out_count`
 * of them, which may be 0. Everything belongs to the instance. Immutable.
 *
 * \param out_count  May be NULL. */
VX_API const vx_variable_info *vx_instance_variables(const vx_instance *instance, size_t *out_count);

/* Copies a variable into a new tensor.
 * \returns VX_NOT_FOUND for an unknown name, with the names there are; VX_OUT_OF_MEMORY, VX_DEVICE_LOST.
 * Thread-safe: waits for running calls that write the variable, of instances that share it too. */
VX_API VX_MUST_CHECK vx_status vx_instance_read_variable(vx_instance *instance, const char *name, vx_value **out_value);

/* Overwrites a variable with a tensor of its type and dims.
 * \returns VX_NOT_FOUND for an unknown name, VX_INVALID_ARGUMENT for another type or shape, with both; VX_DEVICE_LOST.
 * Thread-safe: waits for running calls that use the variable, of instances that share it too. */
VX_API VX_MUST_CHECK vx_status vx_instance_write_variable(vx_instance *instance, const char *name, vx_value *value);

/* Copies `count` variables into new tensors, all as they are between two calls.
 *
 * \param names       `count` names, borrowed. NULL when `count` is 0. A name may be there twice.
 * \param out_values  `count` places. On success each gets one reference; on failure NULL.
 * Errors and threads as vx_instance_read_variable. */
VX_API VX_MUST_CHECK vx_status vx_instance_read_variables(vx_instance *instance, size_t count, const char *const *names,
                                                          vx_value **out_values);

/* Overwrites `count` variables, all or none: every name, type and shape is checked before the first one is written, and
 * no call sees some of them.
 *
 * \param names   `count` names, borrowed, each once. NULL when `count` is 0.
 * \param values  `count` tensors, borrowed. NULL when `count` is 0.
 * \returns also VX_INVALID_ARGUMENT for a name that is there twice. After VX_DEVICE_LOST nothing can be read any more.
 * Errors and threads as vx_instance_write_variable. */
VX_API VX_MUST_CHECK vx_status vx_instance_write_variables(vx_instance *instance, size_t count,
                                                           const char *const *names, vx_value *const *values);

/* Writes the instance's module to a file, in which `count` variables start with the values that they have now, all as
 * they are between two calls. All else comes from the module: programs, code of each target, assets, other first
 * values. Weights in a file beside the module come into the new file. It appears under its name when it is whole; the
 * module's own file may be replaced.
 *
 * \param names  `count` names, borrowed, each once, as of parameters and statistics. NULL when `count` is 0.
 * \returns VX_IO_ERROR where the file cannot be written, VX_UNSUPPORTED for a variable whose size depends on the
 *          instance, VX_INVALID_ARGUMENT for a name that is there twice.
 * Errors and threads as vx_instance_read_variables. */
VX_API VX_MUST_CHECK vx_status vx_instance_save_module(vx_instance *instance, size_t count, const char *const *names,
                                                       const char *path);

/* --- Calls -------------------------------------------------------------------------------------------------------- */

typedef struct vx_call vx_call;

/* Makes a call of one function. It holds its arena and its recorded commands from run to run, so reuse it.
 *
 * \param function  Name of the function; NULL is the module's first one.
 * \param out_call  On success one reference; on failure NULL.
 * \returns VX_NOT_FOUND for an unknown name, with the names there are; VX_OUT_OF_MEMORY, VX_DEVICE_LOST.
 * Thread-safe. */
VX_API VX_MUST_CHECK vx_status vx_call_create(vx_instance *instance, const char *function, vx_call **out_call);

VX_API void vx_call_retain(vx_call *call);
VX_API void vx_call_release(vx_call *call);

/* Runs the function and waits for it.
 *
 * \param inputs        `input_count` values in the signature's order, borrowed. Their types and shapes are checked
 * before any work is queued.
 * \param out_outputs   `output_count` places in the signature's order. On success each gets one reference; on failure
 * NULL.
 * \returns VX_INVALID_ARGUMENT for a wrong count, kind, element type, rank or size: the message names the input, the
 * expected value and the value passed. VX_FAULT when the data is out of range: the message names the source node;
 * variables do not change and the instance stays usable. VX_OUT_OF_MEMORY, VX_DEVICE_LOST.
 *
 * The function may read parameters and statistics that it does not store in a derived form, packed or cast, which the
 * instance holds. The first run makes the derived form, and so does the first run after one of them may have changed.
 * That needs time, and the first time memory. If it fails the run fails with the variable's name, and so does the next.
 * A derived form that was dropped for lack of memory is made again with the same bits: see `memory_limit` of
 * vx_instance_options.
 *
 * Thread-compatible; different calls of one instance run side by side, except that a run that stores a variable never
 * overlaps with runs that use the same variable. */
VX_API VX_MUST_CHECK vx_status vx_call_run(vx_call *call, size_t input_count, vx_value *const *inputs,
                                           size_t output_count, vx_value **out_outputs);

/* The memory of one result: host memory of the caller, or the memory of an input. Both NULL: memory of its own. */
typedef struct vx_result_place {
  void *data;
  uint64_t size;   /* bytes that are there, at least as many as the result needs */
  vx_value *value; /* the input that the function declares as this output's alias; then `data` is NULL */
} vx_result_place;

/* Inputs and outputs of a function that may be the same memory: see vx_call_run_into. */
typedef struct vx_alias_info {
  size_t input;
  size_t output;
} vx_alias_info;

/* The aliases of function number `function` of vx_module_functions; `*out_count` of them, which may be 0. Belongs to
 * the module. Immutable.
 *
 * \param out_count  May be NULL. */
VX_API const vx_alias_info *vx_module_aliases(const vx_module *module, size_t function, size_t *out_count);

/* Runs the function and writes results to memory of the caller. On the CPU, a result with a place at a multiple of 64
 * bytes is computed there; otherwise it is copied there when the call is done.
 *
 * \param places       `output_count` of them, borrowed. A result with a place must be a tensor with a size that follows
 * from those of the inputs. Its value reads the bytes there, which must stay for as long as the value. No place may
 * share bytes with another one, nor with an input in host memory. One exception: an input and an output that the
 * function declares as an alias may begin at the same byte; then the call overwrites the input's value.
 *
 * If a place is a value, the result takes over that input's memory on the device, so a call that replaces a few rows of
 * it costs those rows. This holds if the value is on the instance's device, as a result of an earlier call is, and no
 * other value shares its memory; else the result gets memory of its own. After success the value may only be released:
 * its bytes are those of the result, or those of the time when they were last fetched. No other thread may use it
 * during the call.
 *
 * After a failure an input with an alias is as it was, unless the device is lost; the bytes of other places are
 * undefined.
 *
 * \param out_outputs  As for vx_call_run.
 * \returns also VX_INVALID_ARGUMENT for a place that is too small or shares bytes, with the names and both sizes,
 * before any work is queued. The rest as vx_call_run. Thread-compatible. */
VX_API VX_MUST_CHECK vx_status vx_call_run_into(vx_call *call, size_t input_count, vx_value *const *inputs,
                                                size_t output_count, const vx_result_place *places,
                                                vx_value **out_outputs);

/* A run of a call that goes on while the thread that submitted it does other work. */
typedef struct vx_pending vx_pending;

/* Is called once when a run is done: on the thread of the run, or on that which cancels or releases a run that is held.
 *
 * \param status   0, or the failure, which vx_call_wait returns too. Borrowed until the function returns.
 * \param outputs  `output_count` results as vx_call_wait gives them, borrowed; NULL after a failure. Retain those that
 * are kept.
 *
 * The next run of the call begins, and vx_call_wait returns, after the function has returned. So it must not call
 * functions that take the call or a run of it, nor give back the last reference to one of them. */
typedef void (*vx_done_fn)(void *user, vx_status status, size_t output_count, vx_value *const *outputs);

/* Set `struct_size` to sizeof(vx_submit_options) and every other field to 0 for the defaults. */
typedef struct vx_submit_options {
  size_t struct_size;
  /* Not 0: the inputs are copied to the device, and the run begins with vx_call_start. */
  int hold;
  /* As for vx_call_run_into: one for each output, or none. The array is borrowed until vx_call_submit returns; the
   * memory and values in it are borrowed until the run is done. NULL when `place_count` is 0. */
  size_t place_count;
  const vx_result_place *places;
  /* Milliseconds from the start of the run. A run that is not done by then ends at the next point at which
   * vx_call_cancel could end it. 0: no deadline. */
  uint32_t deadline_ms;
  /* NULL: nothing is called. Not called when vx_call_submit fails. */
  vx_done_fn done;
  void *done_user; /* handed to it */
} vx_submit_options;

/* Checks the inputs, copies them to the device, and starts a run of the function on a thread of the call.
 *
 * The run holds the values of its inputs until it is done. Memory of the caller that they read must not change until
 * then: a GPU has its own copy when this returns, but a CPU reads the bytes in place if it can.
 *
 * Runs that are started on one call are done in that order, in its one arena. Each has its own result and its own
 * failure: one that fails changes no variable, and the next one runs with the variables as they are. A run that stores
 * a variable never overlaps with other runs that use the same variable, of calls of this instance and of all that share
 * its variables. They run in the order in which they were started, and a later function that uses a variable that the
 * run stores waits for it.
 *
 * At most two runs of a call have inputs on the device, so the inputs of the next run are copied while one is going on.
 * A third one waits here until the first is done.
 *
 * \param inputs       `input_count` values, borrowed, as for vx_call_run.
 * \param options      NULL for the defaults.
 * \param out_pending  On success one reference; on failure NULL, and nothing runs.
 * \returns VX_INVALID_ARGUMENT as vx_call_run and vx_call_run_into, and when two runs are held already;
 * VX_OUT_OF_MEMORY for the inputs, or when the system starts no thread; VX_UNSUPPORTED for a call with a stream of the
 * caller; VX_DEVICE_LOST. Errors of the run itself are returned by vx_call_wait.
 *
 * Thread-compatible, together with all functions that take the call. These wait until its started runs are done; those
 * that take the vx_pending do not use it. */
VX_API VX_MUST_CHECK vx_status vx_call_submit(vx_call *call, size_t input_count, vx_value *const *inputs,
                                              const vx_submit_options *options, vx_pending **out_pending);

/* Starts a run that is held.
 * \returns VX_INVALID_ARGUMENT when it has been started before; VX_OUT_OF_MEMORY when the system starts no thread;
 * VX_UNSUPPORTED as vx_call_submit. Thread-compatible as vx_call_submit. Does not block. */
VX_API VX_MUST_CHECK vx_status vx_call_start(vx_pending *pending);

/* Waits until the run is done.
 *
 * \param out_outputs  As for vx_call_run. A second call of this function gives the same values.
 * \returns as vx_call_run; VX_INVALID_ARGUMENT for a run that is held, and for a wrong count.
 * Thread-safe. */
VX_API VX_MUST_CHECK vx_status vx_call_wait(vx_pending *pending, size_t output_count, vx_value **out_outputs);

/* As vx_call_wait, for at most `timeout_ms` milliseconds.
 * \returns also VX_TIMED_OUT if the run is not done by then: it goes on, and may be waited for again. Thread-safe.
 */
VX_API VX_MUST_CHECK vx_status vx_call_wait_for(vx_pending *pending, uint32_t timeout_ms, size_t output_count,
                                                vx_value **out_outputs);

/* Asks a run to end. One that is held, or waits for earlier runs, does not run any more. A run in progress ends at the
 * next possible point: on a CPU before the next kernel, on a GPU before the next part of its program that is submitted
 * to the device. A submitted part always runs to its end, and most networks are one part. A run can end only while no
 * work is submitted that writes a variable or an input. vx_call_wait then returns VX_CANCELLED; variables and inputs
 * are as they were, and the bytes of other result places are undefined. A run that is done, or that cannot end any
 * more, ends as without this function. Does not wait. NULL does nothing. Thread-safe. */
VX_API void vx_call_cancel(vx_pending *pending);

/* The last release of a run that has been started waits until it is done, since it reads its inputs until then. One
 * that is held never runs. An observer, and `release` of vx_tensor_wrap, must not call these functions: they are part
 * of a run. */
VX_API void vx_pending_retain(vx_pending *pending);
VX_API void vx_pending_release(vx_pending *pending);

/* Switches the timing of single dispatches on or off, for the runs after it. It makes them slower. Thread-compatible.
 */
VX_API void vx_call_set_profile(vx_call *call, int on);

/* Times of the last run, as JSON:
 * {"version":1,"function":"main","entry":0,"program":"main","total_ms":1.5,"upload_ms":0,
 * "arena_bytes":4096,"memory_bytes":12288,"dispatches":12,"replays":3,"host_calls":0,"host_bytes":0,"derived":0,"flops":1000,"bytes":4096,
 * "kernels":[{"kernel":"conv_relu","key":"...","sources":["conv1
 * (Conv)"],"count":1,"total_ms":0.2,"flops":1000,"bytes":4096}]}. `memory_bytes` is the memory that `memory_limit` of
 * vx_instance_options counts, at the time of the report. `host_calls` is the number of functions of the host that ran
 * between kernels, such as those of strings, and `host_bytes` the bytes that their tensors moved from the device and to
 * it. `derived` counts the values that the run computed from variables before its program ran, because these had
 * changed: for example, weights were packed again. Its time is part of `total_ms`, and its dispatches are not counted.
 * `kernels` is empty, and the sums of `flops` and `bytes` over all dispatches are missing, unless profiling was on. A
 * kernel's `total_ms` is null when the device cannot time dispatches or the run was observed; its `flops` and `bytes`
 * (of all its dispatches, at the sizes of this run) are null when the module does not state them.
 * \returns VX_INVALID_ARGUMENT when nothing has run yet. Thread-compatible. */
VX_API VX_MUST_CHECK vx_status vx_call_report(const vx_call *call, char **out_json);

/* The last run, which was profiled, as a trace: a text that Perfetto (ui.perfetto.dev) and Chrome show. It has the
 * call, its inputs' way to the device, and each dispatch that was timed, by the name of its kernel, with the nodes of
 * the user's model that it computes. A profiled run does its dispatches in sequence, each as long as it is drawn;
 * between two of one replay no time is drawn.
 * \returns VX_INVALID_ARGUMENT when nothing has run yet, or the last run was not profiled. Thread-compatible. */
VX_API VX_MUST_CHECK vx_status vx_call_trace(const vx_call *call, char **out_json);

/* One dispatch that has just run. All of it belongs to the runtime and lives until the observer returns; an output may
 * be retained for longer. */
typedef struct vx_dispatch_info {
  const char *kernel; /* "conv_relu" */
  size_t node_count;
  const char *const *nodes; /* nodes of the user's model that it computes, "conv1 (Conv)"; may be none */
  size_t output_count;
  vx_value *const *outputs;   /* the tensors that it wrote, in the kernel's order */
  const char *const *layouts; /* of each output: "" is row-major; tensors of different layouts do not compare */
  /* One entry for each output, NULL at first. The observer may set it to a tensor of the output's type and dims, with a
   * reference that the runtime gives back: the tensor is written over the output before the next dispatch runs. */
  vx_value **replacements;
} vx_dispatch_info;

typedef void (*vx_dispatch_observer)(void *user, const vx_dispatch_info *dispatch);

/* Shows every dispatch of the runs after it to `observer`, in the program's order and on the thread of vx_call_run, or
 * of a submitted run, which waits for the device and copies the outputs to the host each time. It is meant for finding
 * errors, not for production. Such a run times no dispatches.
 *
 * A replacement of another type or other dims than the output fails the run (VX_INVALID_ARGUMENT).
 *
 * \param observer  NULL switches it off. It must not use the call.
 * \param user      Handed to the observer.
 * Thread-compatible. */
VX_API void vx_call_set_observer(vx_call *call, vx_dispatch_observer observer, void *user);

/* Queues the work of later runs in a stream of the caller: a `CUstream` of the device's primary context on cuda, a
 * `hipStream_t` of the device on rocm. It starts after the work that the caller has queued there, and work that the
 * caller queues there later starts after it. vx_call_run still waits for its results, and so for the stream.
 *
 * \param stream  The handle, which is a pointer in both. It must live until another one is set or the call is released.
 * NULL: back to the call's own.
 * \returns VX_UNSUPPORTED on a device without such streams (cpu, vulkan, null), VX_INVALID_ARGUMENT for a stream of
 * another device or context, VX_DEVICE_LOST. After a failure the call uses its own stream. Thread-compatible. */
VX_API VX_MUST_CHECK vx_status vx_call_set_stream(vx_call *call, void *stream);

/* Runs `function` (NULL: the first one) once, in a call of the instance's pool. Arguments and errors as vx_call_create
 * and vx_call_run. Thread-safe. */
VX_API VX_MUST_CHECK vx_status vx_instance_call(vx_instance *instance, const char *function, size_t input_count,
                                                vx_value *const *inputs, size_t output_count, vx_value **out_outputs);

/* Runs a function as vx_instance_call does. If that fails with VX_DEVICE_LOST, VX_OUT_OF_MEMORY or VX_UNSUPPORTED,
 * makes an instance with the same options on the next device of the order, and runs the function there, once. The
 * devices that calls failed on before are not tried again. A line tells of it, as a warning to the function of
 * vx_set_log, or on standard error if no function takes warnings: vx: cuda:0 failed (device_lost: the message); falling
 * back to cpu
 *
 * The new instance has the variables' initial values. So there is no second run if a variable has been written since
 * the instance was made, by vx_instance_write_variable or by a run that succeeded; nor for an instance that shares
 * variables, nor for one with `no_fallback`. The function then returns the failure of the first run, and the
 * message ends with "; no fallback: " and the reason. A first run that stores variables and fails has changed none, so
 * it is run again.
 *
 * \param instance     In: the instance to run on, one reference of the caller. Out: the same, or the new instance after
 *                     a fallback, also if the second run fails: the reference to the first one has been given back.
 *                     vx_instance_report of the new one has the failed device with its code and reason. Calls and
 *                     uploaded values of the first instance stay with it.
 * \param function     NULL: the first one.
 * \param inputs       As for vx_call_run. A tensor in memory of a device that is lost cannot be read any more; then the
 *                     second run fails with VX_DEVICE_LOST.
 * \param out_outputs  As for vx_call_run.
 * \returns as vx_instance_call: the failure of the second run if there was one. When there is no other device,
 *          vx_status_report has the reasons.
 *
 * `*instance` is for one thread at a time. Other threads that hold the first instance may use it during the call;
 * values that they write to its variables are not in the new one. May block until the new instance's weights are in
 * place. */
VX_API VX_MUST_CHECK vx_status vx_try_with_fallback(vx_instance **instance, const char *function, size_t input_count,
                                                    vx_value *const *inputs, size_t output_count,
                                                    vx_value **out_outputs);

#ifdef __cplusplus
}
#endif

#endif
