// What the machine can do at best: bandwidth, latency of random access, float32 operations; and a
// fixed piece of work that resembles training, which times are compared with.
//
// usage: machine bandwidth|latency|peak|rows BYTES THREADS
// Prints one number: GB/s, ns, Gflop/s, or ns per row.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t line = 64;
volatile float sink;             // keeps results alive
volatile float nearly = 0.999f;  // unknown to the compiler

#if defined(__AVX512F__)
constexpr int width = 16;
#elif defined(__AVX__)
constexpr int width = 8;
#else
constexpr int width = 4;
#endif
typedef float Vector __attribute__((vector_size(width * sizeof(float))));
constexpr int chains = 8;  // independent ones, as many as hide the latency of an instruction

float sum_of(const Vector (&x)[chains]) {
  Vector sum{};
  for (const Vector& one : x) sum += one;
  float total = 0;
  for (int j = 0; j < width; ++j) total += sum[j];
  return total;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Memory in huge pages where the system has them, as the large arrays of training.
float* allocate(size_t bytes) {
  const size_t page = size_t{2} << 20;
  const size_t rounded = (bytes + page - 1) / page * page;
  void* memory = std::aligned_alloc(page, rounded);
  if (!memory) std::exit(1);
  madvise(memory, rounded, MADV_HUGEPAGE);
  std::memset(memory, 1, rounded);
  return static_cast<float*>(memory);
}

// Runs work(thread) on all threads at once; seconds of the slowest.
template <class Work>
double on_threads(int n, Work&& work) {
  std::vector<std::thread> threads;
  const auto begin = Clock::now();
  for (int k = 1; k < n; ++k) threads.emplace_back([&work, k] { work(k); });
  work(0);
  for (auto& thread : threads) thread.join();
  return seconds_since(begin);
}

// GB/s of reading BYTES on each thread, again and again.
double bandwidth(size_t bytes, int n) {
  std::vector<float*> data;
  for (int k = 0; k < n; ++k) data.push_back(allocate(bytes));
  const size_t size = bytes / sizeof(Vector);
  const size_t rounds = std::max<size_t>(1, (size_t{1} << 31) / bytes);
  const auto read = [&](int k) {
    Vector sums[chains] = {};
    for (size_t r = 0; r < rounds; ++r) {
      const auto* x = reinterpret_cast<const Vector*>(data[k]);
      for (size_t i = 0; i + chains <= size; i += chains)
        for (int j = 0; j < chains; ++j) sums[j] += x[i + j];
      asm volatile("" ::: "memory");
    }
    sink = sum_of(sums);
  };
  double best = 1e9;
  for (int repeat = 0; repeat < 3; ++repeat) best = std::min(best, on_threads(n, read));
  return double(bytes) * rounds * n / best / 1e9;
}

// ns of one access of a chain through BYTES in random order: each address depends on the last.
double latency(size_t bytes, int) {
  const size_t n = bytes / line;
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  char* memory = reinterpret_cast<char*>(allocate(bytes));
  for (size_t i = 0; i < n; ++i)
    *reinterpret_cast<uint32_t*>(memory + order[i] * line) = order[(i + 1) % n];
  const size_t steps = 4'000'000;
  double best = 1e9;
  for (int repeat = 0; repeat < 3; ++repeat) {
    uint32_t at = order[0];
    const auto begin = Clock::now();
    for (size_t i = 0; i < steps; ++i)
      at = *reinterpret_cast<volatile uint32_t*>(memory + at * line);
    best = std::min(best, seconds_since(begin));
    sink = float(at);
  }
  return best / steps * 1e9;
}

// Gflop/s of multiply-adds in registers.
double peak(size_t, int n) {
  constexpr size_t rounds = 60'000'000;
  const auto work = [&](int) {
    const Vector factor = Vector{} + nearly, addend = Vector{} + (1 - nearly);
    Vector x[chains];
    for (int j = 0; j < chains; ++j) x[j] = Vector{} + float(j);
    for (size_t r = 0; r < rounds; ++r)
      for (auto& one : x) one = one * factor + addend;
    sink = sum_of(x);
  };
  double best = 1e9;
  for (int repeat = 0; repeat < 3; ++repeat) best = std::min(best, on_threads(n, work));
  return 2.0 * width * chains * rounds * n / best / 1e9;
}

// ns per row: rows of 24 floats at random places of BYTES are read, summed, and updated by the sum,
// in groups of 19, the next group being prefetched. A chunking model is trained in this way.
double rows(size_t bytes, int n) {
  constexpr int labels = 24, group = 19;
  constexpr size_t groups = 200'000;
  std::vector<float*> data;
  for (int k = 0; k < n; ++k) data.push_back(allocate(bytes));
  const size_t count = bytes / sizeof(float) / labels;
  const auto work = [&](int k) {
    std::minstd_rand random(k + 1);
    float* weights[2][group];
    const auto choose = [&](float** chosen) {
      for (int j = 0; j < group; ++j) {
        // The square makes some rows frequent, as words are.
        const double u = double(random()) / double(random.max());
        chosen[j] = data[k] + size_t(u * u * double(count - 1)) * labels;
        for (int i = 0; i < labels; i += 16) __builtin_prefetch(chosen[j] + i, 1);
      }
    };
    choose(weights[0]);
    for (size_t r = 0; r < groups; ++r) {
      choose(weights[(r + 1) % 2]);
      float sums[labels] = {};
      for (float* row : weights[r % 2])
        for (int i = 0; i < labels; ++i) sums[i] += row[i];
      for (float* row : weights[r % 2])
        for (int i = 0; i < labels; ++i) row[i] += 1e-6f * (1.0f - sums[i]);
    }
  };
  double best = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) best = std::min(best, on_threads(n, work));
  return best / (double(groups) * group) * 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const size_t bytes = std::strtoull(argv[2], nullptr, 10);
  const int threads = std::atoi(argv[3]);
  const std::string_view what = argv[1];
  const auto measure = what == "bandwidth" ? bandwidth
                       : what == "latency" ? latency
                       : what == "peak"    ? peak
                                           : rows;
  std::printf("%.6g\n", measure(bytes, threads));
}
