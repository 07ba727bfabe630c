// vx-bench embed: texts of some lengths in batches of some sizes, tokenised and run.
#ifndef VX_BENCH_EMBED_BENCH_H
#define VX_BENCH_EMBED_BENCH_H

namespace vx::tools {

// The arguments begin with "embed". The exit code: 1 where a result is slower than its baseline.
int benchEmbeddings(const char *name, int argc, char **argv);

} // namespace vx::tools

#endif
