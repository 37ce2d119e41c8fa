// What SHA-256 asks of the rest of AWS-LC's libcrypto, so that its sources alone are enough.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
void OPENSSL_cpuid_setup(void);

// libcrypto's own start: without it the processor's SHA instructions are not found.
__attribute__((constructor)) static void find_instructions(void) { OPENSSL_cpuid_setup(); }
#endif

// Of FIPS builds.
void FIPS_service_indicator_lock_state(void) {}
void FIPS_service_indicator_unlock_state(void) {}
void FIPS_service_indicator_update_state(void) {}

// Erases secrets; there are none in names of coins.
void OPENSSL_cleanse(void *bytes, size_t n) { memset(bytes, 0, n); }
