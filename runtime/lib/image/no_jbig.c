/* Stands in the wheels for libjbig, which Debian's libtiff links: JBIG-KIT is under the GPL, and the wheels are not. A
 * TIFF that is compressed by JBIG is refused. The functions are those that libtiff calls; it reads no field of their
 * structs. */
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

enum { Refused = 1 };

EXPORT void jbg_dec_init(void *state);
EXPORT int jbg_dec_in(void *state, unsigned char *data, size_t size, size_t *used);
EXPORT unsigned char *jbg_dec_getimage(const void *state, int plane);
EXPORT unsigned long jbg_dec_getsize(const void *state);
EXPORT void jbg_dec_free(void *state);
EXPORT void jbg_enc_init(void *state, unsigned long width, unsigned long height, int planes, unsigned char **data,
                         void (*write)(unsigned char *, size_t, void *), void *file);
EXPORT void jbg_enc_out(void *state);
EXPORT void jbg_enc_free(void *state);
EXPORT int jbg_newlen(unsigned char *data, size_t size);
EXPORT const char *jbg_strerror(int code);

void jbg_dec_init(void *state) { (void)state; }
int jbg_dec_in(void *state, unsigned char *data, size_t size, size_t *used) {
  (void)state, (void)data, (void)size, (void)used;
  return Refused;
}
unsigned char *jbg_dec_getimage(const void *state, int plane) {
  (void)state, (void)plane;
  return NULL;
}
unsigned long jbg_dec_getsize(const void *state) {
  (void)state;
  return 0;
}
void jbg_dec_free(void *state) { (void)state; }
void jbg_enc_init(void *state, unsigned long width, unsigned long height, int planes, unsigned char **data,
                  void (*write)(unsigned char *, size_t, void *), void *file) {
  (void)state, (void)width, (void)height, (void)planes, (void)data, (void)write, (void)file;
}
void jbg_enc_out(void *state) { (void)state; }
void jbg_enc_free(void *state) { (void)state; }
int jbg_newlen(unsigned char *data, size_t size) {
  (void)data, (void)size;
  return 0;
}
const char *jbg_strerror(int code) {
  (void)code;
  return "this package of vx has no JBIG decoder";
}
