// One call of a client, between gRPC and the server.
#ifndef VX_GRPC_CALL_H
#define VX_GRPC_CALL_H

#include "messages.h"
#include "vx/abi/grpc.h"

#include <grpcpp/generic/async_generic_service.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>

namespace vx::grpc_wire {

using Clock = std::chrono::steady_clock;

inline std::string_view viewOf(vx_grpc_text text) { return {text.data, static_cast<size_t>(text.size)}; }
inline vx_grpc_text textOf(std::string_view text) { return {text.data(), text.size()}; }

class Call;

// The calls of a server that wait for their client, and what they may take.
class CallTable {
public:
  CallTable(const vx_grpc_host &host, std::chrono::milliseconds patience) : host(host), patience(patience) {}
  void add(Call &call);
  void remove(Call &call);
  // Ends calls whose client is slower than it may be.
  void endLate();

  const vx_grpc_host host;
  const std::chrono::milliseconds patience; // for a message, and for an answer

private:
  std::mutex lock;
  std::set<Call *> calls;
};

// It lives as long as gRPC or the server has it. gRPC expects one Finish of each call: the first of an answer, a
// cancellation and a refusal does it.
class Call final : public grpc::ServerGenericBidiReactor {
public:
  Call(std::shared_ptr<CallTable> table, grpc::GenericCallbackServerContext &context);

  // Gives the call to the server, and reads its message.
  void begin();
  void answer(const vx_grpc_answer &answer);
  void hold() { ++holders; }
  void release();
  // Where the client has not sent its message, or not read its answer, in time.
  void endIfLate(Clock::time_point now);

  void OnReadDone(bool hasMessage) override;
  void OnCancel() override;
  void OnDone() override;

private:
  ~Call() override = default;
  void readMessage();
  void refuse(std::string_view code, const std::string &message);
  void finish(const grpc::Status &status);
  void addTrailers(const vx_grpc_answer &answer);
  void wait() { due = (Clock::now() + table->patience).time_since_epoch().count(); }

  const std::shared_ptr<CallTable> table;
  grpc::GenericCallbackServerContext &context;
  const Rpc *const rpc;
  std::atomic<int> holders = 1; // gRPC
  std::atomic<void *> request = nullptr;
  std::atomic<bool> isOver = false; // Finish has been called, or is being called
  std::atomic<bool> isRead = false;
  std::atomic<Clock::rep> due = 0; // when its client is too slow; 0: it is not the client that is waited for
  std::atomic<bool> wantsContents = false;
  // gRPC may end a call within Finish and TryCancel, on the same thread.
  std::recursive_mutex contextLock;
  bool isDone = false; // under the lock
  grpc::ByteBuffer message, reply;
};

} // namespace vx::grpc_wire

#endif
