/* The public header as C11, and the C interface used from C. Argument: a module file of the tests. */
#include "vx/runtime/vx.h"

#include <stdio.h>
#include <string.h>

static int failed(const char *what, vx_status status) {
  fprintf(stderr, "%s: %s\n", what, vx_status_message(status));
  vx_status_release(status);
  return 1;
}

/* 0 when the status fails with this code and message; it is released. */
static int refused(vx_status status, vx_code code, const char *message) {
  if (vx_status_code(status) != code || strcmp(vx_status_message(status), message) != 0)
    return failed(message, status);
  vx_status_release(status);
  return 0;
}

int main(int argc, char **argv) {
  vx_module *module = NULL;
  vx_instance *instance = NULL;
  vx_call *call = NULL, *none = NULL;
  vx_value *x = NULL, *y = NULL, *sequence = NULL, *two[2];
  char message[128];
  vx_status status;
  size_t count = 0;
  char *text = NULL;
  const void *data = NULL;
  static const int32_t numbers[3] = {1, 2, 3};
  static const int64_t dims[1] = {3};
  vx_instance_options options;
  vx_memory_estimate estimate;
  vx_symbol_value size;

  if (argc < 2)
    return 2;
  if (refused(vx_module_load("no/such/file.vxm", &module), VX_NOT_FOUND,
              "vx_module_load: no/such/file.vxm: cannot be opened: No such file or directory") ||
      module)
    return 1;
  if (refused(vx_module_load(argv[1], NULL), VX_INVALID_ARGUMENT,
              "vx_module_load: argument 'out_module' is a null pointer"))
    return 1;

  if ((status = vx_module_load(argv[1], &module)))
    return failed("load", status);
  if (strcmp(vx_module_functions(module, &count)->name, "main") != 0 || count != 1)
    return failed("functions", NULL);
  memset(&options, 0, sizeof(options));
  options.struct_size = sizeof(options);
  options.device = "cpu";
  options.no_fallback = 1;
  options.struct_size = 3;
  snprintf(message, sizeof(message), "vx_instance_create: options have 3 bytes, expected %d to %d", (int)sizeof(size_t),
           (int)sizeof(options));
  if (refused(vx_instance_create(module, &options, &instance), VX_INVALID_ARGUMENT, message))
    return 1;
  options.struct_size = sizeof(options);
  size.name = "n";
  size.value = 3;
  estimate.struct_size = sizeof(estimate);
  if ((status = vx_module_estimate_memory(module, &options, NULL, 1, &size, &estimate)))
    return failed("estimate before there is an instance", status);
  if (estimate.results != 12 || estimate.arena != 12 || !estimate.fits)
    return failed("estimate of 3 elements", NULL);
  if (refused(vx_module_estimate_memory(module, &options, "other", 1, &size, &estimate), VX_NOT_FOUND,
              "vx_module_estimate_memory: function 'other' does not exist, there are: main") ||
      estimate.results != 0)
    return 1;
  if ((status = vx_instance_create(module, &options, &instance)))
    return failed("instance", status);
  if ((status = vx_instance_report(instance, VX_REPORT_TEXT, &text)))
    return failed("report", status);
  if (!strstr(text, "device taken: cpu:0"))
    return failed(text, NULL);
  vx_string_release(text);
  if ((status = vx_instance_estimate_memory(instance, NULL, 1, &size, &estimate)))
    return failed("estimate", status);
  if (estimate.results != 12 || estimate.arena != 12 || !estimate.fits)
    return failed("estimate of 3 elements", NULL);
  estimate.struct_size = 4;
  snprintf(message, sizeof(message), "vx_instance_estimate_memory: estimate has 4 bytes, expected %d",
           (int)sizeof(estimate));
  if (refused(vx_instance_estimate_memory(instance, NULL, 1, &size, &estimate), VX_INVALID_ARGUMENT, message))
    return 1;
  estimate.struct_size = sizeof(estimate);
  if (refused(vx_instance_estimate_memory(instance, "other", 1, &size, &estimate), VX_NOT_FOUND,
              "vx_instance_estimate_memory: function 'other' does not exist, there are: main") ||
      refused(vx_instance_estimate_memory(instance, "main", 1, NULL, &estimate), VX_INVALID_ARGUMENT,
              "vx_instance_estimate_memory: argument 'symbols' is a null pointer") ||
      estimate.results != 0)
    return 1;
  if ((status = vx_tensor_create(VX_I32, 1, dims, numbers, sizeof(numbers), &x)))
    return failed("tensor", status);
  if ((status = vx_call_create(instance, "main", &call)))
    return failed("call", status);
  if ((status = vx_call_run(call, 1, &x, 1, &y)))
    return failed("run", status);
  if ((status = vx_tensor_data(y, &data)))
    return failed("data", status);
  if (vx_value_get_info(y).dims[0] != 3 || ((const int32_t *)data)[2] != 16)
    return failed("result", NULL);
  vx_value_release(y);
  if ((status = vx_instance_call(instance, NULL, 1, &x, 1, &y)))
    return failed("instance call", status);
  vx_value_release(y);
  if ((status = vx_try_with_fallback(&instance, "main", 1, &x, 1, &y)))
    return failed("call with fallback", status);
  vx_value_release(y);
  if (refused(vx_try_with_fallback(&instance, "other", 1, &x, 1, &y), VX_NOT_FOUND,
              "vx_try_with_fallback: function 'other' does not exist, there are: main"))
    return 1;
  if (refused(vx_call_run(call, 1, &x, 2, NULL), VX_INVALID_ARGUMENT,
              "vx_call_run: argument 'out_outputs' is a null pointer") ||
      refused(vx_call_run(call, 1, NULL, 1, &y), VX_INVALID_ARGUMENT,
              "vx_call_run: argument 'inputs' is a null pointer") ||
      refused(vx_call_run(call, 1, &x, 2, two), VX_INVALID_ARGUMENT,
              "vx_call_run: function 'main' gives 1 outputs, got places for 2") ||
      refused(vx_call_set_stream(call, &x), VX_UNSUPPORTED,
              "vx_call_set_stream: device 'cpu:0': it takes no stream of the caller's") ||
      refused(vx_call_set_stream(NULL, NULL), VX_INVALID_ARGUMENT,
              "vx_call_set_stream: argument 'call' is a null pointer") ||
      refused(vx_instance_report(instance, (vx_report_format)7, &text), VX_INVALID_ARGUMENT,
              "vx_instance_report: report format has the unknown number 7") ||
      refused(vx_value_element(x, 0, &y), VX_INVALID_ARGUMENT,
              "vx_value_element: expected a sequence or an optional, got i32[3]") ||
      refused(vx_call_create(instance, "other", &none), VX_NOT_FOUND,
              "vx_call_create: function 'other' does not exist, there are: main") ||
      refused(vx_tensor_create(VX_STRING, 0, NULL, NULL, 0, &y), VX_UNSUPPORTED,
              "vx_tensor_create: a tensor of strings is made of strings, not of bytes") ||
      refused(vx_optional_create((vx_element_type)50, NULL, &y), VX_INVALID_ARGUMENT,
              "vx_optional_create: element type has the unknown number 50") ||
      refused(vx_optional_sequence_create(VX_I32, x, &y), VX_INVALID_ARGUMENT,
              "vx_optional_sequence_create: element 0: expected a sequence of i32, got i32[3]"))
    return 1;
  if ((status = vx_sequence_create(VX_I32, 1, &x, &sequence)))
    return failed("sequence", status);
  if (refused(vx_value_element(sequence, 1, &y), VX_INVALID_ARGUMENT,
              "vx_value_element: element 1 does not exist, there are 1") ||
      refused(vx_tensor_data(sequence, &data), VX_INVALID_ARGUMENT,
              "vx_tensor_data: expected a tensor, got sequence of i32"))
    return 1;
  vx_value_release(sequence);
  if ((status = vx_call_set_stream(call, NULL)))
    return failed("the call's own stream", status);
  vx_call_release(call);
  vx_value_release(x);
  vx_instance_release(instance);
  vx_module_release(module);
  puts("ok");
  return 0;
}
