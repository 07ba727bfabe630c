/* Reads handwritten digits with a trained network, in batches that share one memory.
 *
 *   digits MODULE.vxm FOLDER [DEVICE]
 *
 * FOLDER holds images.f32 (450 images of 8x8 floats from 0 to 1) and labels.u8 (450 bytes). DEVICE is auto, cpu,
 * vulkan, ...; with a name, no other device is used instead. */
#include "vx/runtime/vx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 450, PIXELS = 64, CLASSES = 10, BATCH = 50, ALIGNMENT = 64 };

/* Prints the failure and ends the program, which frees all that it owns. */
static void check(vx_status status) {
  if (!status)
    return;
  fprintf(stderr, "digits: error: %s\n", vx_status_message(status));
  vx_status_release(status);
  exit(1);
}

static void readFile(const char *folder, const char *name, void *bytes, size_t size) {
  char path[4096];
  int length = snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = length < (int)sizeof path ? fopen(path, "rb") : NULL;
  if (!file) {
    fprintf(stderr, "digits: error: cannot open %s\n", path);
    exit(1);
  }
  size_t got = fread(bytes, 1, size, file);
  fclose(file);
  if (got != size) {
    fprintf(stderr, "digits: error: %s has %zu bytes, expected %zu\n", path, got, size);
    exit(1);
  }
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: digits MODULE.vxm FOLDER [DEVICE]\n");
    return 2;
  }
  const char *device = argc > 3 ? argv[3] : "auto";
  static float images[COUNT * PIXELS];
  static unsigned char labels[COUNT];
  readFile(argv[2], "images.f32", images, sizeof images);
  readFile(argv[2], "labels.u8", labels, sizeof labels);

  vx_module *module = NULL;
  check(vx_module_load(argv[1], &module));
  vx_instance_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.device = device;
  options.no_fallback = strcmp(device, "auto") != 0;
  vx_instance *instance = NULL;
  check(vx_instance_create(module, &options, &instance));
  char *report = NULL;
  check(vx_instance_report(instance, VX_REPORT_TEXT, &report));
  printf("%s", report);
  vx_string_release(report);

  vx_call *call = NULL;
  check(vx_call_create(instance, vx_module_functions(module, NULL)[0].name, &call));

  /* With this alignment a CPU reads the images and writes the scores in place. */
  float *pixels = aligned_alloc(ALIGNMENT, BATCH * PIXELS * sizeof(float));
  float *scores = aligned_alloc(ALIGNMENT, (BATCH * CLASSES * sizeof(float) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  if (!pixels || !scores) {
    fprintf(stderr, "digits: error: no memory for a batch of %d images\n", BATCH);
    return 1;
  }
  const vx_result_place place = {scores, BATCH * CLASSES * sizeof(float), NULL};
  const int64_t dims[] = {BATCH, 1, 8, 8};
  int right = 0;
  for (int first = 0; first < COUNT; first += BATCH) {
    memcpy(pixels, images + first * PIXELS, BATCH * PIXELS * sizeof(float));
    vx_value *input = NULL, *output = NULL;
    check(vx_tensor_wrap(VX_F32, 4, dims, pixels, BATCH * PIXELS * sizeof(float), NULL, NULL, &input));
    check(vx_call_run_into(call, 1, &input, 1, &place, &output));
    for (int i = 0; i < BATCH; ++i) {
      int best = 0;
      for (int digit = 1; digit < CLASSES; ++digit)
        if (scores[i * CLASSES + digit] > scores[i * CLASSES + best])
          best = digit;
      right += best == labels[first + i];
    }
    vx_value_release(output);
    vx_value_release(input);
  }
  printf("%d of %d right\n", right, COUNT);

  free(scores);
  free(pixels);
  vx_call_release(call);
  vx_instance_release(instance);
  vx_module_release(module);
  return 0;
}
