/* An image that the loader must refuse: it calls a function that it does not have, or (EXPORTED_TABLE) it has a table
 * that another image could replace. */
#ifdef EXPORTED_TABLE
static int one(void) { return 1; }
__attribute__((visibility("default"))) int (*table[1])(void) = {one};
__attribute__((visibility("default"))) int use(void) { return table[0](); }
#else
int missing(void);
__attribute__((visibility("default"))) int use(void) { return missing(); }
#endif
