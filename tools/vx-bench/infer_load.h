// vx-bench infer --url: functions of tensors of a server under load, by KServe's second protocol.
#ifndef VX_BENCH_INFER_LOAD_H
#define VX_BENCH_INFER_LOAD_H

namespace vx::tools {

// The arguments begin with "infer". The exit code: 1 where a request has failed or a gate does not hold.
int benchInference(const char *name, int argc, char **argv);

} // namespace vx::tools

#endif
