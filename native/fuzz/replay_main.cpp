// Runs a fuzz target over files, in builds without a fuzzer: TARGET FILE…
//
// Names each file on standard output before it is tried, so that the last one named is at fault.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "%s can't be read\n", argv[i]);
      return EXIT_FAILURE;
    }
    const std::vector<char> data{std::istreambuf_iterator<char>(file),
                                 std::istreambuf_iterator<char>()};
    std::puts(argv[i]);
    std::fflush(stdout);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(data.data()), data.size());
  }
  return EXIT_SUCCESS;
}
