/* Goes on with a text by a language model, and prints the answer as it comes.
 *
 *   language_model MODULE.vxm PROMPT [DEVICE]
 *
 * MODULE.vxm is made by vx-compile of a GGUF file or of a folder with safetensors. DEVICE is auto, cpu, vulkan, ...;
 * with a name, no other device is used instead. */
#include "vx/llm/vx_llm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints the failure and ends the program, which frees all that it owns. */
static void check(vx_status status) {
  if (!status)
    return;
  fprintf(stderr, "language_model: error: %s\n", vx_status_message(status));
  vx_status_release(status);
  exit(1);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: language_model MODULE.vxm PROMPT [DEVICE]\n");
    return 2;
  }
  const char *device = argc > 3 ? argv[3] : "auto";
  vx_module *module = NULL;
  check(vx_module_load(argv[1], &module));
  vx_instance_options instance;
  memset(&instance, 0, sizeof instance);
  instance.struct_size = sizeof instance;
  instance.device = device;
  instance.no_fallback = strcmp(device, "auto") != 0;
  vx_llm_generator *generator = NULL;
  check(vx_llm_generator_create(module, &instance, 0, &generator));
  vx_module_release(module); /* the generator keeps it */

  int32_t *tokens = NULL;
  size_t count = 0;
  check(vx_llm_encode(generator, argv[2], strlen(argv[2]), &tokens, &count));
  vx_llm_options options = VX_LLM_OPTIONS;
  options.temperature = 0; /* the most likely token */
  options.max_tokens = 40;
  const char *stop[] = {"\n\n"};
  options.stop_count = 1;
  options.stop = stop;
  vx_llm_generation *answer = NULL;
  check(vx_llm_start(generator, count, tokens, &options, &answer));
  vx_llm_tokens_release(tokens);

  const char *piece = NULL;
  size_t size = 0;
  for (check(vx_llm_next(answer, &piece, &size)); piece; check(vx_llm_next(answer, &piece, &size))) {
    fwrite(piece, 1, size, stdout);
    fflush(stdout);
  }
  const vx_llm_answer *made = vx_llm_generation_answer(answer);
  static const char *const ends[] = {"nothing", "stop", "length", "cancelled"};
  printf("\n%zu tokens for %zu, ended by %s\n", made->token_count, made->prompt_tokens, ends[made->finish]);
  vx_llm_generation_release(answer);
  vx_llm_generator_release(generator);
  return 0;
}
