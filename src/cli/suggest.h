/* "did you mean --blur?" */
#ifndef CLIMG_CLI_SUGGEST_H
#define CLIMG_CLI_SUGGEST_H

/* What other programs call the same; or, where climg has nothing like it, what to know instead: a sentence. A
 * NULL ends the table. */
struct alias {
    const char *typed, *answer;
};

extern const struct alias aliases[];

struct hint {
    char text[128];
};

/* What helps whoever typed the name of a stage or option that does not exist: the name that is meant (what
 * other programs call it, or the nearest), with `before` put before it; or else where names are listed. */
struct hint suggest(const char *before, const char *unknown);

/* What the table answers; NULL: nothing. */
const char *alias_answer(const char *typed);

#endif
