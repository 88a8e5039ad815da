/* "did you mean --blur?" */
#ifndef CLIMG_CLI_SUGGEST_H
#define CLIMG_CLI_SUGGEST_H

/* The stage or global option that is meant by a name that does not exist: what other programs call it, or the
 * nearest name; NULL: none is near. */
const char *suggest_option(const char *unknown);

#endif
