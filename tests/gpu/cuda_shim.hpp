// CUDA's words for the CPU: the threads of a block are fibers that take turns at barriers and warp operations, blocks
// run one after the other. For tests of kernels where there is no GPU. What a GPU does not promise is not kept here
// either: blocks and threads come in another order at each launch, warps run ahead of one another or do not, and shared
// memory begins as rubbish.
#pragma once
#if !(defined(__linux__) && (defined(__aarch64__) || defined(__x86_64__)))
#include <ucontext.h>
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#if defined(COMMITTEE_SPOIL_SHARED)
#define __shared__ static __attribute__((section("committee_shared")))
// Where the linker puts all of it.
extern "C" unsigned char __start_committee_shared[] __attribute__((visibility("hidden")));
extern "C" unsigned char __stop_committee_shared[] __attribute__((visibility("hidden")));
// So that there is one also in a program that has none.
static unsigned char shared_anchor __attribute__((section("committee_shared"), used));
#else
#define __shared__ static
#endif
#define __launch_bounds__(...)
#define COMMITTEE_SHARED(type, name) type* const name = reinterpret_cast<type*>(cuda_shim::dynamic_shared)

namespace cuda_shim {

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};
inline constexpr unsigned kWarp = 32, kMostThreads = 1024;
inline constexpr std::size_t kStack = 64 << 10;
// Stacks begin that many bytes further on from one to the next: a multiple of large powers of two between them would
// put what all of them use into the same few lines of the caches.
inline constexpr std::size_t kSkew = 1088;
alignas(128) inline unsigned char dynamic_shared[256 << 10];

#if defined(__linux__) && (defined(__aarch64__) || defined(__x86_64__))
// Puts aside the registers that a call preserves and takes those of another fiber. Functions of the C library take
// several times as long as what kernels do between two barriers.
struct Context {
  void* stack_pointer = nullptr;
};
extern "C" __attribute__((visibility("hidden"))) void committee_swap_stacks(void** left, void* entered);
#if defined(__aarch64__)
asm(R"(
.text
.align 4
.hidden committee_swap_stacks
.global committee_swap_stacks
.type committee_swap_stacks, %function
committee_swap_stacks:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size committee_swap_stacks, .-committee_swap_stacks
)");
inline constexpr std::size_t kFrame = 160, kReturn = 88;  // bytes put aside, and where among them to go on
#else
asm(R"(
.text
.hidden committee_swap_stacks
.global committee_swap_stacks
.type committee_swap_stacks, @function
committee_swap_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size committee_swap_stacks, .-committee_swap_stacks
)");
// Before the first instruction of a function the stack is 8 bytes past a multiple of 16.
inline constexpr std::size_t kFrame = 64, kReturn = 48;
#endif
inline void swap_contexts(Context& left, const Context& entered) {
  committee_swap_stacks(&left.stack_pointer, entered.stack_pointer);
}
inline void prepare_context(Context& context, std::span<char> stack, void (*function)()) {
  const auto end = reinterpret_cast<std::uintptr_t>(stack.data() + stack.size()) / 16 * 16;
  char* const frame = reinterpret_cast<char*>(end) - kFrame;
  std::memset(frame, 0, kFrame);
  std::memcpy(frame + kReturn, &function, sizeof function);
  context.stack_pointer = frame;
}
#else
using Context = ucontext_t;
inline void swap_contexts(Context& left, Context& entered) {
  swapcontext(&left, &entered);
}
inline void prepare_context(Context& context, std::span<char> stack, void (*function)()) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack.data();
  context.uc_stack.ss_size = stack.size();
  context.uc_link = nullptr;
  makecontext(&context, function, 0);
}
#endif

struct Fiber {
  Context context;
  bool started = false, done = true;
  const unsigned* waits_for = nullptr;  // a barrier's number, while it is `waited`
  unsigned waited = 0;
  std::vector<char> stack;
};
struct Barrier {
  unsigned n_arrived = 0, number = 0;
};
struct Warp {
  Barrier barrier;
  unsigned parity[kWarp] = {};
  std::uint64_t values[2][kWarp] = {};
};

inline Fiber fibers[kMostThreads];
inline Warp warps[kMostThreads / kWarp];
inline Barrier block_barrier;
inline unsigned n_threads = 0, n_running = 0, current = 0;
inline unsigned turns[kMostThreads], place = 0;  // the order of the threads of a block, and which of them runs
inline bool runs_ahead = false;  // whether a warp runs to where it must wait for others, or all take turns
inline std::uint64_t n_shuffled = 0;  // blocks and launches that were given an order
inline Context scheduler;
inline std::function<void()> body;

// Go on with the next thread of the block that can run, or where all have ended with the scheduler.
inline void switch_away();
inline void run_fiber() {
  for (;;) {
    body();
    fibers[current].done = true;
    --n_running;
    switch_away();
  }
}
inline void wait_at(Barrier& barrier, unsigned n_expected) {
  if (++barrier.n_arrived == n_expected) {
    barrier.n_arrived = 0;
    ++barrier.number;
    if (runs_ahead) place = (place + n_threads - std::min(n_expected, n_threads - 1)) % n_threads;  // they are next
    return;
  }
  Fiber& own = fibers[current];
  own.waits_for = &barrier.number;
  own.waited = barrier.number;
  switch_away();
}
// An order of 0 .. n - 1: from a place on, upwards or downwards.
struct Order {
  unsigned n, first;
  bool down;
  static Order next(unsigned n) {
    const std::uint64_t x = ++n_shuffled * 0x9E3779B97F4A7C15u;
    return {n, static_cast<unsigned>((x >> 32) % n), (x >> 31) % 2 != 0};
  }
  unsigned operator[](unsigned i) const { return (first + (down ? n - i : i)) % n; }
};
// Memory that is not cleared on a GPU.
inline void spoil_shared() {
  std::memset(dynamic_shared, 0xA5, sizeof dynamic_shared);
#if defined(COMMITTEE_SPOIL_SHARED)
  std::memset(__start_committee_shared, 0xA5, __stop_committee_shared - __start_committee_shared);
#endif
}
void run_block(unsigned size);
void launch(Dim grid, Dim block, const std::function<void()>& kernel);

}  // namespace cuda_shim

inline cuda_shim::Dim threadIdx, blockIdx, blockDim, gridDim;

namespace cuda_shim {

inline void enter(Context& left, unsigned t) {
  Fiber& fiber = fibers[t];
  current = t;
  threadIdx.x = t;
  fiber.waits_for = nullptr;
  if (!fiber.started) {
    fiber.started = true;
    fiber.stack.resize(kStack);
    prepare_context(fiber.context, std::span(fiber.stack).first(kStack - t * kSkew % (kStack / 4)), run_fiber);
  }
  swap_contexts(left, fiber.context);
}

inline void switch_away() {
  Context& own = fibers[current].context;
  if (n_running == 0) return swap_contexts(own, scheduler);
  for (unsigned i = 0; i < n_threads; ++i) {
    if (++place == n_threads) place = 0;
    const Fiber& fiber = fibers[turns[place]];
    if (!fiber.done && (!fiber.waits_for || *fiber.waits_for != fiber.waited)) return enter(own, turns[place]);
  }
  std::fprintf(stderr, "cuda_shim: threads wait for one another in block %u\n", blockIdx.x);
  std::abort();
}

inline void run_block(unsigned size) {
  n_threads = n_running = size;
  block_barrier = {};
  for (unsigned t = 0; t < size; ++t) fibers[t].done = false, fibers[t].waits_for = nullptr;
  for (unsigned w = 0; w < (size + kWarp - 1) / kWarp; ++w) warps[w] = {};
  const Order order = Order::next(size);
  for (unsigned i = 0; i < size; ++i) turns[i] = order[i];
  place = 0;
  // In three of four blocks: the stacks of a warp lie in the nearest cache, those of a block do not.
  runs_ahead = order.first % 4 != 0;
  enter(scheduler, turns[0]);
}

inline void launch(Dim grid, Dim block, const std::function<void()>& kernel) {
  if (block.x == 0 || block.x > kMostThreads || block.x % kWarp != 0) std::abort();
  gridDim = grid;
  blockDim = block;
  body = kernel;
  const Order order = Order::next(grid.x);
  for (unsigned i = 0; i < grid.x; ++i) {
    blockIdx.x = order[i];
    spoil_shared();
    run_block(block.x);
  }
}

// Every lane's value, after all lanes of the warp have come here.
template <class T>
inline T exchange(T value, unsigned lane_wanted) {
  static_assert(sizeof(T) <= 8);
  Warp& warp = warps[current / kWarp];
  const unsigned lane = current % kWarp, parity = warp.parity[lane]++ % 2;
  std::memcpy(&warp.values[parity][lane], &value, sizeof value);
  wait_at(warp.barrier, kWarp);
  T found;
  std::memcpy(&found, &warp.values[parity][lane_wanted], sizeof found);
  return found;
}

}  // namespace cuda_shim

// All threads of a block arrive here, as the kernels are written; one that has ended would hang the others.
inline void __syncthreads() {
  cuda_shim::wait_at(cuda_shim::block_barrier, cuda_shim::n_threads);
}
inline void __syncwarp(unsigned = ~0u) {
  cuda_shim::wait_at(cuda_shim::warps[cuda_shim::current / cuda_shim::kWarp].barrier, cuda_shim::kWarp);
}
template <class T>
inline T __shfl_up_sync(unsigned, T value, unsigned delta) {
  const unsigned lane = cuda_shim::current % cuda_shim::kWarp;
  return cuda_shim::exchange(value, lane >= delta ? lane - delta : lane);
}
template <class T>
inline T __shfl_sync(unsigned, T value, unsigned lane) {
  return cuda_shim::exchange(value, lane);
}
template <class T>
inline T __shfl_xor_sync(unsigned, T value, unsigned mask) {
  return cuda_shim::exchange(value, (cuda_shim::current % cuda_shim::kWarp) ^ mask);
}
inline unsigned __ballot_sync(unsigned, bool predicate) {
  cuda_shim::Warp& warp = cuda_shim::warps[cuda_shim::current / cuda_shim::kWarp];
  const unsigned lane = cuda_shim::current % cuda_shim::kWarp, parity = warp.parity[lane]++ % 2;
  warp.values[parity][lane] = predicate;
  cuda_shim::wait_at(warp.barrier, cuda_shim::kWarp);
  unsigned mask = 0;
  for (unsigned k = 0; k < cuda_shim::kWarp; ++k) mask |= static_cast<unsigned>(warp.values[parity][k]) << k;
  return mask;
}
inline void __threadfence() {}
inline int __popc(unsigned x) {
  return std::popcount(x);
}
template <class T>
inline T atomicAdd(T* at, std::type_identity_t<T> value) {
  return std::exchange(*at, *at + value);
}
template <class T>
inline T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return std::exchange(*at, *at == expected ? value : *at);
}
template <class T>
inline T atomicMax(T* at, std::type_identity_t<T> value) {
  return std::exchange(*at, *at > value ? *at : value);
}
template <class T>
inline T atomicOr(T* at, std::type_identity_t<T> value) {
  return std::exchange(*at, *at | value);
}
