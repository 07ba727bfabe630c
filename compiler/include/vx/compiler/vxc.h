// The compiler as a C library: a model in, a module out, as files or in memory. No LLVM type appears here.
#ifndef VX_COMPILER_VXC_H
#define VX_COMPILER_VXC_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define VXC_EXPORT __attribute__((visibility("default")))

// How a call ended. The numbers are the exit codes of vx-compile.
typedef enum vxc_result {
  VXC_DONE = 0,
  VXC_FAILED = 1,      // failed while working: disk full, out of memory
  VXC_USAGE = 2,       // an option is wrong
  VXC_UNSUPPORTED = 3, // the model or file is wrong or not supported
  VXC_CANCELLED = 5,   // `is_cancelled` said so; no exit code of vx-compile
} vxc_result;

typedef enum vxc_severity { VXC_ERROR, VXC_WARNING, VXC_NOTE, VXC_PROGRESS } vxc_severity;

// Receives messages, one at a time, from the thread that called vxc_compile or, for VXC_PROGRESS, from any thread.
// `message` is UTF-8 without a final newline and lives until the function returns.
typedef void (*vxc_message_fn)(void *user_data, vxc_severity severity, const char *message);

// Receives text output (IR of a phase, a report). `text` is not zero-terminated.
typedef void (*vxc_text_fn)(void *user_data, const char *text, size_t size);

// Checks a complete module file that does not have its name yet. Returns NULL if a runtime would load it, else the
// reason, a text that lives until the next call. The compiler links no runtime: a caller that has one passes it here
// (vx_module_load).
typedef const char *(*vxc_verify_fn)(void *user_data, const char *path);

// Called when a module is complete, before its files have their names. NULL gives it its name; a text discards it and
// is reported as an error. The text lives until the next call of the function or the end of vxc_compile.
typedef const char *(*vxc_confirm_fn)(void *user_data);

// Called before each version of the model and before each kernel. A result other than 0 ends the compilation with
// VXC_CANCELLED, and no file is left. On any thread, one call at a time; calls of on_message may run at the same time.
typedef int (*vxc_cancelled_fn)(void *user_data);

// Where the bytes of constants are.
typedef enum vxc_weights {
  VXC_WEIGHTS_INSIDE = 0,   // in the module
  VXC_WEIGHTS_EXTERNAL = 1, // in OUT.weights beside OUT.vxm
  // In the model's own files, GGUF or safetensors, which lie beside OUT.vxm and must not change. Constants that no file
  // has in the form that programs read are in the module. Other models are VXC_USAGE.
  VXC_WEIGHTS_REFERENCE = 2,
} vxc_weights;

typedef struct vxc_options {
  size_t struct_size;          // sizeof(vxc_options); later fields are zero
  const char *targets;         // comma-separated: "cpu,vulkan"; required
  const char *const *variants; // "cpu=avx512,x86-64-v3", best first; a target without one has its default
  size_t num_variants;
  const char *const *dims; // "batch=1", "batch=1,32", "sequence=1..512", "sequence=1..512:64"; num_dims of them
  size_t num_dims;
  const char *stop_after;    // a phase's name, or NULL for all phases
  const char *report;        // NULL, "text" or "json"
  const char *cache_folder;  // NULL: no cache
  uint32_t threads;          // 0: one for each processor
  uint8_t check_only;        // find all unsupported ops, of gradients too, make no code; `report` "json" lists them
  uint8_t strict_math;       // preserve every rounding step of the model
  uint8_t weights;           // vxc_weights
  vxc_message_fn on_message; // may be NULL
  vxc_text_fn on_text;       // may be NULL
  void *user_data;
  const char *precision;         // of contractions and convolutions: NULL (f32), "f32", "tf32", "f16" or "bf16"
  vxc_verify_fn verify;          // may be NULL; a module that it refuses is VXC_UNSUPPORTED and never gets its name
  vxc_confirm_fn confirm;        // called after `verify` and after the report went to on_text; may be NULL
  vxc_cancelled_fn is_cancelled; // may be NULL
  const char *data_folder;       // the folder of a model's external data, for vxc_compile_bytes; NULL: it has none
  // "OUTPUT:NAME,NAME": adds a function "gradient", with the model's inputs and a result "grad/NAME" for each name, the
  // gradient of the sum of the output's elements with respect to that input, initializer or variable. NULL: none.
  const char *gradient;
  // The initializers that are trained: "auto", or patterns of names between commas ('*', '?', '[a-z]'), or both. Then
  // `loss` and `optimizer` are required, and the module has "train_step", "evaluate" and "predict" over the same
  // variables (docs/training.md). A note states for each initializer whether it is trained. NULL: the module does not
  // train.
  const char *train;
  const char *freeze; // patterns of initializers that are not trained; NULL: none
  const char *loss;   // "NAME", "NAME:OUTPUT", "NAME:OUTPUT,key=value,..."
  // "NAME", "NAME:key=value,..."; then for groups of parameters ";PATTERN:lr=0.1x,weight_decay=0" each.
  const char *optimizer;
  double clip_norm;  // the greatest norm of all gradients; 0: any
  double clip_value; // the greatest absolute value of a gradient; 0: any
  // "train": in "train_step" batch norms are of the batch, and their mean and variance are variables, which it updates.
  // "frozen": these are constants. NULL: as the file states for each ('training_mode'), else frozen.
  const char *batch_norm;
  const char *dropout;    // NULL or "train": Dropout nodes drop in "train_step"; "frozen": nowhere
  uint8_t keep_gradients; // the module has the two halves of "train_step" too, "backward" and "update"
  // The number of classes of a new head: the weight and bias of the loss's output start with random values. 0: the head
  // of the model.
  int64_t classes;
  // Whether a module that trains stores the ONNX model, for an export with the trained weights: "inside", the weights
  // of the export are in its file; "external", in a file beside it; "none". NULL: inside up to 1.8 GB.
  const char *onnx_export;
  const char
      *init; // NULL or "file": trained weights start with the model's values; "random": with values as in new layers
  // The most bytes of the arena of the functions that train, on each target. It decides which values of the forward
  // part they store. VXC_USAGE, with the least number, if nothing fits. Sizes are planned as the largest of `dims`,
  // else `planned_batch` for the rows of a batch, else the end of a symbol's range, else 8. 0: any number.
  int64_t memory;
  int64_t planned_batch; // 0: not known
  // If an ONNX file states shapes of its outputs and values that its nodes contradict, that is an error instead of a
  // warning. Nodes out of the order of their values are an error instead of being sorted with a note.
  uint8_t strict;
} vxc_options;

// Compiles the model at `model_path` (ONNX, or vx text in a .mlir file) to the module file `output_path`.
//
// A NULL pointer that must not be NULL is VXC_USAGE, with a message that names it.
//
// \param model_path   Borrowed; UTF-8.
// \param output_path  Borrowed. Not written with `stop_after` or `check_only`; may be NULL then. With `stop_after` it
//                     names the caller's file for the text ("-": none), for the check below.
// \param options      Borrowed until the function returns.
// \returns VXC_DONE, VXC_CANCELLED, or another result after at least one VXC_ERROR message. A failure leaves no file
// and no part of one: files that had these names before have them again. VXC_USAGE when an output is a file of the
// model, under any name, or no regular file; nothing is written then.
//
// Thread-safe: calls may run side by side. Blocks until done.
VXC_EXPORT vxc_result vxc_compile(const char *model_path, const char *output_path, const vxc_options *options);

// A module in memory: the bytes of a module file. Immutable; thread-safe.
typedef struct vxc_module vxc_module;

// Compiles a model in memory to a module in memory. No file is read or written, with three exceptions. External data of
// an ONNX model are in `data_folder`. The cache is in `cache_folder`, if that is not NULL. The linker of CPU and ROCm
// code needs files in a folder of their own in TMPDIR, or /dev/shm or /tmp, until it is done.
//
// \param model       `model_size` bytes of ONNX, or of vx text when `name` ends in ".mlir". Borrowed until the function
//                    returns.
// \param name        The name of the model in messages, UTF-8, borrowed; without its extension it is the name of the
//                    module. NULL: "model".
// \param options     As for vxc_compile, borrowed. `weights` other than VXC_WEIGHTS_INSIDE is VXC_USAGE; `verify` is
// not called: a runtime
//                    that loads the module reports the same errors (vx_module_load_bytes).
// \param out_module  On VXC_DONE the module, to be released; NULL on failure and with `stop_after` and `check_only`.
// \returns As vxc_compile. A NULL pointer that must not be NULL is VXC_USAGE, with a message that names it.
//
// Thread-safe: calls may run side by side. Blocks until done.
VXC_EXPORT vxc_result vxc_compile_bytes(const void *model, size_t model_size, const char *name,
                                        const vxc_options *options, vxc_module **out_module);

// The bytes, which begin at a multiple of 4096 and live until the module is released. NULL for NULL.
VXC_EXPORT const void *vxc_module_data(const vxc_module *module);
// The number of bytes. 0 for NULL.
VXC_EXPORT size_t vxc_module_size(const vxc_module *module);
// NULL does nothing.
VXC_EXPORT void vxc_module_release(vxc_module *module);

// Receives the reason why the process is about to end: no memory or no thread is available (`is_out_of_memory` is 1),
// or an internal error. `reason` is the message of a library, or NULL. On any thread; it must not allocate.
typedef void (*vxc_ending_fn)(int is_out_of_memory, const char *reason);

// For programs that only compile, such as vx-compile: a failure without a way back calls `say`, removes the files that
// are being written, and ends the process with exit code 1 instead of a signal. It holds for the whole process from now
// on, including its handlers of std::set_new_handler and std::set_terminate; call it before threads start. `say` NULL
// does nothing.
VXC_EXPORT void vxc_end_on_failure(vxc_ending_fn say);

// Versions as text, e.g. "vx 0.2.0, LLVM 22.1.8, module ABI 0.1". Immutable, never NULL.
VXC_EXPORT const char *vxc_version(void);

// The names of the targets that this compiler was built with, comma-separated. Immutable, never NULL.
VXC_EXPORT const char *vxc_targets(void);

#if defined(__cplusplus)
}
#endif

#endif
