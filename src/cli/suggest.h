/* "did you mean --blur?" */
#ifndef CLIMG_CLI_SUGGEST_H
#define CLIMG_CLI_SUGGEST_H

/* The name nearest to one that does not exist, of the stages and global options, or of the stages alone;
 * NULL: none is near. */
const char *suggest_option(const char *unknown);
const char *suggest_stage(const char *unknown);

#endif
