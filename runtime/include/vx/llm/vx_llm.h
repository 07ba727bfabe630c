/* Text out of a language model, in C: a module that vx-compile made of a GGUF file or of a folder. The library is
 * libvx_llm, over vx.h. In C++ vx/llm/generator.hpp does the same.
 *
 * A `vx_llm_generator` is a module on a device, with a cache of keys and values for one sequence. A
 * `vx_llm_generation` is an answer of it, in progress or done. Both are reference counted. Status, NULL, strings and
 * the words for threads are those of vx.h. An object must not be used after its last reference has been given back.
 *
 * Threads. A generator and its generations are thread-compatible together: one thread at a time uses them. Functions
 * that say so are thread-safe. Different generators of one module share its weights on a device, and run at the same
 * time.
 *
 * Codes. Beside those of vx.h: VX_INVALID_ARGUMENT for a prompt or an option that does not fit the model,
 * VX_INVALID_MODULE for a module that is no language model, VX_UNSUPPORTED for a chat template that this library does
 * not support. The message has the expected and the given value. */
#ifndef VX_LLM_VX_LLM_H
#define VX_LLM_VX_LLM_H

#include "vx/runtime/vx.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Models ------------------------------------------------------------------------------------------------------- */

typedef struct vx_llm_generator vx_llm_generator;

/* Puts a language model on a device.
 *
 * \param module         Borrowed; the generator keeps it alive.
 * \param options        Of the instance; `symbol_count` and `share` must be 0. NULL for the defaults.
 * \param context        Room for tokens of prompt and answer. 0: 4096, or the model's context if that is less.
 * \param out_generator  On success one reference; on failure NULL.
 * \returns VX_INVALID_MODULE when the module is no language model, VX_INVALID_ARGUMENT for more than the model's
 * context, VX_OUT_OF_MEMORY with the bytes of the weights and of the cache and the largest context that fits, and as
 * vx_instance_create. Thread-safe. Blocks until the weights are in place. */
VX_API VX_MUST_CHECK vx_status vx_llm_generator_create(vx_module *module, const vx_instance_options *options,
                                                       uint64_t context, vx_llm_generator **out_generator);

VX_API void vx_llm_generator_retain(vx_llm_generator *generator);
VX_API void vx_llm_generator_release(vx_llm_generator *generator);

typedef struct vx_llm_model_info {
  size_t struct_size;  /* bytes that this library knows; later fields do not exist */
  const char *family;  /* "llama" */
  uint64_t context;    /* tokens that the cache has room for */
  uint64_t most;       /* tokens of the model's context */
  uint64_t vocabulary; /* tokens are numbers below it */
  size_t end_count;
  const int32_t *ends;       /* tokens that end an answer */
  const char *chat_template; /* Jinja; NULL: the model has none */
  uint64_t width;            /* elements of a token's state */
} vx_llm_model_info;

/* Facts of the model; NULL for NULL. They belong to the generator. Immutable. */
VX_API const vx_llm_model_info *vx_llm_generator_info(const vx_llm_generator *generator);

/* The device report, as vx_instance_report.
 *
 * \param out_report  The caller's string; on failure NULL. Thread-safe. */
VX_API VX_MUST_CHECK vx_status vx_llm_generator_report(const vx_llm_generator *generator, vx_report_format format,
                                                       char **out_report);

/* --- Tokens ------------------------------------------------------------------------------------------------------- */

/* A message of a conversation. UTF-8. */
typedef struct vx_llm_message {
  const char *role; /* "system", "user" or "assistant" */
  const char *content;
} vx_llm_message;

/* The tokens of a text, as a prompt has them.
 *
 * \param text        `size` bytes of UTF-8, which need not end with 0. May be NULL when `size` is 0.
 * \param out_tokens  On success `*out_count` tokens of the caller, given back with vx_llm_tokens_release; on failure
 *                    NULL. NULL, too, for a text without a token.
 * \returns VX_INVALID_ARGUMENT for text that is no UTF-8, or has a part without a token; VX_OUT_OF_MEMORY. Thread-safe.
 */
VX_API VX_MUST_CHECK vx_status vx_llm_encode(const vx_llm_generator *generator, const char *text, size_t size,
                                             int32_t **out_tokens, size_t *out_count);

/* The tokens of a conversation and of the beginning of an answer, by the model's chat template. A special token that a
 * message spells is plain text.
 *
 * \param messages    `count` of them, borrowed. May be NULL when `count` is 0.
 * \param out_tokens  As vx_llm_encode.
 * \returns VX_UNSUPPORTED when the model has no chat template that is supported, VX_INVALID_ARGUMENT for text that is
 * no UTF-8 and for a conversation that the template refuses; VX_OUT_OF_MEMORY. Thread-safe. */
VX_API VX_MUST_CHECK vx_status vx_llm_encode_chat(const vx_llm_generator *generator, size_t count,
                                                  const vx_llm_message *messages, int32_t **out_tokens,
                                                  size_t *out_count);

/* Gives tokens back. NULL does nothing. Thread-safe. */
VX_API void vx_llm_tokens_release(int32_t *tokens);

/* The text of tokens, without special ones. Numbers that no token has are left out.
 *
 * \param tokens    `count` of them, borrowed. May be NULL when `count` is 0.
 * \param out_text  The caller's string; on failure NULL. A token whose text has a byte 0 ends the string for C.
 * \returns VX_OUT_OF_MEMORY. Thread-safe. */
VX_API VX_MUST_CHECK vx_status vx_llm_decode(const vx_llm_generator *generator, size_t count, const int32_t *tokens,
                                             char **out_text);

/* --- Answers ------------------------------------------------------------------------------------------------------ */

typedef struct vx_llm_logit_bias {
  int32_t token;
  double bias; /* added to its logit */
} vx_llm_logit_bias;

/* Begin with VX_LLM_OPTIONS, whose values change nothing: vx_llm_options options = VX_LLM_OPTIONS; */
typedef struct vx_llm_options {
  size_t struct_size;
  double temperature;        /* 0: the most likely token */
  uint64_t top_k;            /* only so many of the most likely tokens; 0: all */
  double top_p;              /* only the most likely tokens with this probability in all; 1: all */
  double min_p;              /* only tokens of at least this part of the largest probability; 0: all */
  double repetition_penalty; /* of tokens in prompt and answer, above 0; 1: none */
  double presence_penalty;   /* subtracted from logits of tokens of the answer */
  double frequency_penalty;  /* subtracted for each time that a token is in the answer */
  uint64_t seed;             /* the same seed gives the same answer */
  uint64_t max_tokens;       /* of the answer; 0: as many as there is room for */
  size_t stop_count;
  const char *const *stop; /* strings that end the answer, which does not have them; borrowed */
  size_t bias_count;
  const vx_llm_logit_bias *biases; /* borrowed */
} vx_llm_options;

/* clang-format off */
#define VX_LLM_OPTIONS {sizeof(vx_llm_options), 1.0, 0, 1.0, 0.0, 1.0, 0.0, 0.0, 0, 0, 0, NULL, 0, NULL}
/* clang-format on */

typedef struct vx_llm_generation vx_llm_generation;

/* Begins an answer. Nothing is computed yet. The next answer that the generator begins ends this one.
 *
 * \param generator       Borrowed; the generation keeps it alive.
 * \param tokens          `count` of them, the prompt; borrowed. What it has in common with the last prompt and its
 *                        answer is not computed again.
 * \param options         NULL for the defaults.
 * \param out_generation  On success one reference; on failure NULL.
 * \returns VX_INVALID_ARGUMENT for no tokens, for a prompt that leaves no room for an answer, with both numbers, for a
 * number that is no token, and for options that do not fit. Thread-compatible. */
VX_API VX_MUST_CHECK vx_status vx_llm_start(vx_llm_generator *generator, size_t count, const int32_t *tokens,
                                            const vx_llm_options *options, vx_llm_generation **out_generation);

VX_API void vx_llm_generation_retain(vx_llm_generation *generation);
VX_API void vx_llm_generation_release(vx_llm_generation *generation);

/* Computes the next token, the prompt before the first one.
 *
 * \param out_piece  The text that the token completes, whole characters of UTF-8 with a 0 at its end; it may be empty.
 *                   NULL after the last piece, and on failure. It belongs to the generation, up to the next call.
 * \param out_size   Its bytes without the 0. May be NULL.
 * \returns VX_INVALID_ARGUMENT when the generator has begun another answer, and as vx_call_run. Thread-compatible.
 * Blocks until the token is computed. */
VX_API VX_MUST_CHECK vx_status vx_llm_next(vx_llm_generation *generation, const char **out_piece, size_t *out_size);

/* Ends an answer before its next token, or the next part of a long prompt. Does not wait. NULL does nothing.
 * Thread-safe. */
VX_API void vx_llm_cancel(vx_llm_generation *generation);

typedef enum vx_llm_finish {
  VX_LLM_RUNNING = 0,   /* the answer is not at its end */
  VX_LLM_STOP = 1,      /* the model has ended it, or a stop string was found */
  VX_LLM_LENGTH = 2,    /* max_tokens, or the room of the cache */
  VX_LLM_CANCELLED = 3, /* vx_llm_cancel, or the function of vx_llm_generate */
  VX_LLM_FINISH_LIMIT = 0x7fffffff
} vx_llm_finish;

typedef struct vx_llm_answer {
  size_t struct_size; /* bytes that this library knows; later fields do not exist */
  vx_llm_finish finish;
  const char *text; /* all pieces, with a 0 at the end */
  size_t text_size; /* bytes without the 0 */
  size_t token_count;
  const int32_t *tokens; /* without one that ends the answer */
  size_t prompt_tokens;
  size_t cached_tokens;  /* of the prompt, which the cache had from before */
  double prompt_seconds; /* the calls for the prompt */
  double answer_seconds; /* the calls for tokens after the first */
} vx_llm_answer;

/* The answer as far as it goes; NULL for NULL. It belongs to the generation, up to the next call of vx_llm_next.
 * Thread-compatible. */
VX_API const vx_llm_answer *vx_llm_generation_answer(vx_llm_generation *generation);

/* Receives a piece of an answer, `size` bytes of UTF-8 that live until it returns. A result other than 0 ends the
 * answer. It must not use the generator. */
typedef int (*vx_llm_text_fn)(void *user, const char *piece, size_t size);

/* The whole answer: vx_llm_start, then vx_llm_next up to the end.
 *
 * \param on_text         Called with each piece that is not empty, on this thread. May be NULL.
 * \param user            Handed to the function.
 * \param out_generation  On success one reference to the answer, which is done; on failure NULL.
 * \returns as vx_llm_start and vx_llm_next. Thread-compatible. Blocks until the answer is done. */
VX_API VX_MUST_CHECK vx_status vx_llm_generate(vx_llm_generator *generator, size_t count, const int32_t *tokens,
                                               const vx_llm_options *options, vx_llm_text_fn on_text, void *user,
                                               vx_llm_generation **out_generation);

/* The natural logarithm of the probability of each token from number `first` on, given all tokens before it. The cache
 * does not change. It takes 4 bytes of memory for each token and each word of the vocabulary.
 *
 * \param tokens      `count` of them, borrowed.
 * \param first       From 1 to `count`.
 * \param out_scores  Room for `count - first` numbers, which are 0 on failure.
 * \returns VX_INVALID_ARGUMENT for more tokens than the context, for a `first` out of its range, and for a number that
 * is no token; and as vx_call_run. Thread-compatible. */
VX_API VX_MUST_CHECK vx_status vx_llm_score(vx_llm_generator *generator, size_t count, const int32_t *tokens,
                                            size_t first, double *out_scores);

/* How the states of a text's tokens become its embedding. */
typedef enum vx_llm_pooling {
  VX_LLM_LAST = 0, /* the state of the last token, which depends on all tokens */
  VX_LLM_MEAN = 1, /* the mean of all states */
  VX_LLM_NONE = 2, /* each state by itself */
  VX_LLM_POOLING_LIMIT = 0x7fffffff
} vx_llm_pooling;

/* The embedding of tokens, by their states from which the head makes logits. With VX_LLM_LAST and VX_LLM_MEAN it has
 * the length 1; with VX_LLM_NONE each token's state has any length. Neither the cache nor an answer changes.
 *
 * \param tokens      `count` of them, borrowed.
 * \param out_vector  Room for `width` numbers of vx_llm_model_info, or for `count * width` with VX_LLM_NONE. They are 0
 *                    on failure.
 * \returns VX_INVALID_ARGUMENT for no tokens, for more than the context, for a number that is no token and for a
 * pooling that is none of these; VX_INVALID_MODULE for a module of an older vx-compile; and as vx_call_run.
 * Thread-compatible. */
VX_API VX_MUST_CHECK vx_status vx_llm_embed(vx_llm_generator *generator, size_t count, const int32_t *tokens,
                                            vx_llm_pooling pooling, float *out_vector);

#ifdef __cplusplus
}
#endif

#endif
