/*
 * The C interface of Warpline, a parallel discrete-event simulation engine.
 *
 * A model is a few functions over a state of your own. Every engine runs it, on any number of
 * threads, and commits the same events in the same order:
 *
 *     static const warpline_model model = {
 *         .name = "ring", .lps = 100, .state_size = sizeof(struct station),
 *         .message_size = sizeof(struct token), .start = start, .handle = handle,
 *     };
 *     warpline_result *result = warpline_run(&model, "end = 1000\nengine = 'timewarp'");
 *     if (warpline_error(result) != NULL)
 *         fprintf(stderr, "%s\n", warpline_error(result));
 *     warpline_free(result);
 *
 * docs/c.md has a whole model, and the rules that handlers keep. In short:
 *
 * - A handler changes its state, and calls the functions of this file with its context. It keeps
 *   nothing elsewhere: optimistic engines undo events, and handlers run in several threads.
 * - State and message are plain bytes, without pointers to what changes. Each byte of a message
 *   counts: where a struct has padding, clear it before you fill it (memset, or a named field).
 * - States and messages begin at multiples of 8 bytes.
 *
 * Compilers: C99 or later, or C++; 64-bit machines.
 */
#ifndef WARPLINE_H
#define WARPLINE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of what is declared here. A library of another version refuses to run the model. */
#define WARPLINE_INTERFACE 2

/* ---- What a handler sees of the engine ------------------------------------------------------- */

/* Its fields are for the functions below, and those of what is the same in all calls of a model. */
typedef struct warpline_context warpline_context;
struct warpline_constants {
    int64_t lp_count;
    const void *parameters;
    double (*edge)(warpline_context *cx, uint64_t layer, double x);
    uint64_t (*draw)(warpline_context *cx, uint64_t law, double a, double b, double c, double d);
    const double *abscissas;
    void (*grow)(warpline_context *cx);
    uint64_t stride;
};
struct warpline_context {
    uint64_t *stream;
    double now;
    int64_t me;
    const struct warpline_constants *constants;
    uint64_t *out;
    uint64_t len;
    uint64_t capacity;
    uint64_t note;
    uint64_t oversize;
};

/* The virtual time of the event. */
static inline double warpline_now(const warpline_context *cx) { return cx->now; }

/* The LP that handles the event: 0 to warpline_lps - 1. */
static inline int64_t warpline_me(const warpline_context *cx) { return cx->me; }

/* The number of LPs. */
static inline int64_t warpline_lps(const warpline_context *cx) { return cx->constants->lp_count; }

/* The parameters of the model: a copy of what warpline_model::parameters points to. */
static inline const void *warpline_parameters(const warpline_context *cx) {
    return cx->constants->parameters;
}

/*
 * Sends an event to an LP, `delay` after now. The message has at most warpline_model::message_size
 * bytes; the rest is 0. Of a message without contents, `message` is NULL and `size` 0.
 */
static inline void warpline_send(warpline_context *cx, int64_t to, double delay,
                                 const void *message, size_t size) {
    uint64_t *event;
    size_t room = 8 * ((size_t)cx->constants->stride - 2);
    if (size > room) {
        cx->oversize = size;
        return;
    }
    if (cx->len == cx->capacity)
        cx->constants->grow(cx);
    event = cx->out + cx->len * cx->constants->stride;
    event[0] = (uint64_t)to;
    memcpy(event + 1, &delay, sizeof delay);
    if (size < room)
        memset((char *)(event + 2) + size, 0, room - size);
    if (size > 0)
        memcpy(event + 2, message, size);
    cx->len += 1;
}

/* Leaves a word for the reverse handler of this event. */
static inline void warpline_leave(warpline_context *cx, uint64_t note) { cx->note = note; }

/* In a reverse handler: the word that the handler of the event has left, or 0. */
static inline uint64_t warpline_left(const warpline_context *cx) { return cx->note; }

/* ---- Random numbers, from the LP's own stream: an event that is undone gives them back -------- */

/* The high half of a product of 128 bits. */
static inline uint64_t warpline_high_half(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__) && !defined(WARPLINE_WITHOUT_INT128)
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)(((wide)a * b) >> 64);
#else
    uint64_t low = (a & 0xffffffff) * (b & 0xffffffff);
    uint64_t one = (a >> 32) * (b & 0xffffffff) + (low >> 32);
    uint64_t other = (a & 0xffffffff) * (b >> 32) + (one & 0xffffffff);
    return (a >> 32) * (b >> 32) + (one >> 32) + (other >> 32);
#endif
}

/* 64 random bits: PCG, XSL-RR with 128 bits of state (M. E. O'Neill, 2014). */
static inline uint64_t warpline_bits(warpline_context *cx) {
    const uint64_t multiplier_low = 0x4385df649fccf645, multiplier_high = 0x2360ed051fc65da4;
    uint64_t low = cx->stream[0] * multiplier_low;
    uint64_t high = warpline_high_half(cx->stream[0], multiplier_low) +
                    cx->stream[0] * multiplier_high + cx->stream[1] * multiplier_low;
    uint64_t word = high ^ low;
    unsigned turn = (unsigned)(high >> 58);
    cx->stream[0] = low;
    cx->stream[1] = high;
    return word >> turn | word << (-turn & 63);
}

/* The number in 0 <= x < 1 that 64 random bits are, a multiple of 2^-53. */
static inline double warpline_to_unit(uint64_t bits) {
    return (double)(bits >> 11) * (1.0 / 9007199254740992.0);
}

/* Uniform in 0 <= x < 1. */
static inline double warpline_uniform(warpline_context *cx) {
    return warpline_to_unit(warpline_bits(cx));
}

/* Uniform in low <= x < high. */
static inline double warpline_uniform_in(warpline_context *cx, double low, double high) {
    return low + (high - low) * warpline_uniform(cx);
}

/* Uniform among the integers 0 <= n < bound; 0 for a bound of 0. */
static inline uint64_t warpline_below(warpline_context *cx, uint64_t bound) {
    return warpline_high_half(warpline_bits(cx), bound);
}

/* Any LP, each with the same probability. */
static inline int64_t warpline_any_lp(warpline_context *cx) {
    return (int64_t)warpline_below(cx, (uint64_t)cx->constants->lp_count);
}

/* True with probability p. */
static inline int warpline_chance(warpline_context *cx, double p) {
    return warpline_uniform(cx) < p;
}

/* Exponential, with this mean. */
static inline double warpline_exponential(warpline_context *cx, double mean) {
    uint64_t bits = warpline_bits(cx), layer = bits & 0xff;
    double x = warpline_to_unit(bits) * cx->constants->abscissas[layer];
    return mean * (x < cx->constants->abscissas[layer + 1] ? x : cx->constants->edge(cx, layer, x));
}

static inline double warpline_draw(warpline_context *cx, uint64_t law, double a, double b, double c,
                                   double d) {
    uint64_t bits = cx->constants->draw(cx, law, a, b, c, d);
    double drawn;
    memcpy(&drawn, &bits, sizeof drawn);
    return drawn;
}

static inline double warpline_normal(warpline_context *cx, double mean, double sd) {
    return warpline_draw(cx, 0, mean, sd, 0, 0);
}
/* The logarithm has mean `mu` and standard deviation `sigma`. */
static inline double warpline_lognormal(warpline_context *cx, double mu, double sigma) {
    return warpline_draw(cx, 1, mu, sigma, 0, 0);
}
/* Lognormal, with this mean and standard deviation. */
static inline double warpline_lognormal_with_mean(warpline_context *cx, double mean, double sd) {
    return warpline_draw(cx, 2, mean, sd, 0, 0);
}
static inline double warpline_truncated_normal(warpline_context *cx, double mean, double sd,
                                               double low, double high) {
    return warpline_draw(cx, 3, mean, sd, low, high);
}
static inline double warpline_gamma(warpline_context *cx, double shape, double scale) {
    return warpline_draw(cx, 4, shape, scale, 0, 0);
}
static inline double warpline_erlang(warpline_context *cx, uint32_t stages, double mean) {
    return warpline_draw(cx, 5, stages, mean, 0, 0);
}
static inline double warpline_weibull(warpline_context *cx, double shape, double scale) {
    return warpline_draw(cx, 6, shape, scale, 0, 0);
}
static inline double warpline_triangular(warpline_context *cx, double low, double mode,
                                         double high) {
    return warpline_draw(cx, 7, low, mode, high, 0);
}
static inline double warpline_beta(warpline_context *cx, double a, double b) {
    return warpline_draw(cx, 8, a, b, 0, 0);
}
static inline int64_t warpline_poisson(warpline_context *cx, double mean) {
    return (int64_t)cx->constants->draw(cx, 9, mean, 0, 0, 0);
}
static inline int64_t warpline_binomial(warpline_context *cx, int64_t n, double p) {
    return (int64_t)cx->constants->draw(cx, 10, (double)n, p, 0, 0);
}
/* The failures before the first success. */
static inline int64_t warpline_geometric(warpline_context *cx, double p) {
    return (int64_t)cx->constants->draw(cx, 11, p, 0, 0, 0);
}

/* ---- Statistics: fields of a state, rolled back with it, and reported by their names ---------- */

/* How often something happened. Statistics are all 0 at the beginning. */
typedef struct warpline_counter {
    double count, since;
} warpline_counter;

/* Mean, deviation and range of what was observed. */
typedef struct warpline_tally {
    double count, mean, squares, least, greatest;
} warpline_tally;

/* A value over time: its mean by time, and its range. */
typedef struct warpline_level {
    double value, changed, area, least, greatest, since;
} warpline_level;

static inline void warpline_count(warpline_counter *counter, int64_t more) {
    counter->count += (double)more;
}

static inline void warpline_observe(warpline_tally *tally, double number) {
    double before = number - tally->mean;
    tally->count += 1.0;
    tally->mean += before / tally->count;
    tally->squares += before * (number - tally->mean);
    if (tally->count == 1.0 || number < tally->least)
        tally->least = number;
    if (tally->count == 1.0 || number > tally->greatest)
        tally->greatest = number;
}

static inline void warpline_set_level(warpline_level *level, double value,
                                      const warpline_context *cx) {
    level->area += level->value * (cx->now - level->changed);
    level->value = value;
    level->changed = cx->now;
    if (value < level->least)
        level->least = value;
    if (value > level->greatest)
        level->greatest = value;
}

static inline void warpline_add_to_level(warpline_level *level, double by,
                                         const warpline_context *cx) {
    warpline_set_level(level, level->value + by, cx);
}

typedef enum warpline_statistic_kind {
    WARPLINE_COUNTER = 1,
    WARPLINE_TALLY = 2,
    WARPLINE_LEVEL = 3
} warpline_statistic_kind;

/* A statistic in the states of all LPs; reports merge them. */
typedef struct warpline_statistic {
    const char *name;
    warpline_statistic_kind kind;
    size_t offset;       /* in the state: offsetof, a multiple of 8 */
    const char *unit;    /* of what it observes; may be NULL */
    const char *meaning; /* in a few words; may be NULL */
} warpline_statistic;

/* ---- A model --------------------------------------------------------------------------------- */

/*
 * Handles an event: changes the state, sends events. It returns 0, or another number if it failed:
 * then the run ends with an error that names the LP and the virtual time, once the event can no
 * longer be undone.
 */
typedef int32_t (*warpline_handler)(void *state, const void *message, warpline_context *cx);

/* An LP that another one sends to, with a lower bound of the delays. */
typedef struct warpline_link {
    int64_t from, to;
    double lookahead;
} warpline_link;

/* The end of a run, for its results. */
typedef struct warpline_end warpline_end;

/*
 * A model. What is left out is 0 or NULL; only `name`, `lps`, `start` and `handle` are needed. The
 * functions and what `parameters` points to stay as they are during a run.
 */
typedef struct warpline_model {
    const char *name;
    int64_t lps;         /* the number of LPs */
    size_t state_size;   /* of an LP's state, in bytes */
    size_t message_size; /* of the largest message, in bytes */

    /* Makes the state of an LP, which is all 0 before. */
    void (*init)(void *state, int64_t lp, const void *parameters);
    /* Sends the first events of an LP; its message is NULL. */
    warpline_handler start;
    /* Handles an event. */
    warpline_handler handle;
    /*
     * Undoes an event, for `saving = 'reverse'`: it restores the state to what it was before. The
     * stream is that of before the event, and what it sends has no effect.
     */
    warpline_handler reverse;
    /* Computes results of the run, beside the statistics: warpline_end_result for each. */
    void (*finish)(warpline_end *end);

    /* What all handlers read. */
    const void *parameters;
    size_t parameters_size;

    /* A lower bound of the delays of events to other LPs; 0 if none is known. */
    double lookahead;
    /* Where LPs send to, if that is few others. */
    const warpline_link *links;
    size_t link_count;
    const warpline_statistic *statistics;
    size_t statistic_count;
} warpline_model;

/* The virtual time at which the run ended. */
double warpline_end_time(const warpline_end *end);
/* The number of LPs. */
int64_t warpline_end_lps(const warpline_end *end);
/* The state of an LP at the end; NULL if there is no such LP. */
const void *warpline_end_state(const warpline_end *end, int64_t lp);
/* The parameters of the model. */
const void *warpline_end_parameters(const warpline_end *end);
/* Reports a result. A run always reports the same ones, in the same order. `unit` and `meaning` may
 * be NULL. */
void warpline_end_result(warpline_end *end, const char *name, double value, const char *unit,
                         const char *meaning);

/* ---- A run ----------------------------------------------------------------------------------- */

/* What a run leaves behind. */
typedef struct warpline_result warpline_result;

/*
 * Runs a model. The settings are lines of `key = value`, as in a configuration file (docs/c.md has
 * the most used ones): "end = 100\nengine = 'timewarp'\nworkers = 4". The result is never NULL, and
 * is given back by warpline_free.
 */
static inline warpline_result *warpline_run(const warpline_model *model, const char *settings);

/* What went wrong, in words, or NULL if nothing did. */
const char *warpline_error(const warpline_result *result);
/* What kind of error: "configuration", "run", "model", "memory", "rank", "network" or "difference";
 * NULL without one. */
const char *warpline_error_kind(const warpline_result *result);
/* The report, as JSON; "null" after an error. */
const char *warpline_report(const warpline_result *result);
/* A number in the report, by a JSON pointer (RFC 6901): "/committed_events"; NaN if there is none. */
double warpline_number(const warpline_result *result, const char *pointer);
/* A text in the report, by a JSON pointer: "/digest"; NULL if there is none. */
const char *warpline_text(const warpline_result *result, const char *pointer);
/* The state of an LP at the end; NULL if there is none. */
const void *warpline_state(const warpline_result *result, int64_t lp);
/* Gives a result back, with all texts and states that it has lent. NULL is allowed. */
void warpline_free(warpline_result *result);

/* ---- A program: a model with flags, and the whole command ------------------------------------- */

typedef enum warpline_flag_kind {
    WARPLINE_INTEGER = 1, /* int64_t */
    WARPLINE_NUMBER = 2   /* double */
} warpline_flag_kind;

/* A parameter: a flag, a key of configuration files and of reports. */
typedef struct warpline_flag {
    const char *name; /* in lower case, with hyphens */
    warpline_flag_kind kind;
    size_t offset;    /* in the parameters: offsetof */
    const char *help; /* what it is, in one line */
} warpline_flag;

/* A model whose parameters are flags. */
typedef struct warpline_program {
    const char *name;
    const char *about; /* what the model is, in one line */
    double end;        /* the virtual time at which a run ends, unless --end gives another one */
    const void *defaults; /* the parameters without a flag */
    size_t parameters_size;
    const warpline_flag *flags;
    size_t flag_count;
    /*
     * Makes the model for these parameters: fills in `model`, which is all 0 but for its name and
     * its parameters. Returns NULL, or what is wrong with them.
     */
    const char *(*make)(const void *parameters, warpline_model *model);
} warpline_program;

/*
 * The whole command for a model: `run`, `sweep`, `info`, `--verify`, replications, configuration
 * files and help. Returns the exit status.
 */
static inline int warpline_main(const warpline_program *program, int argc, char **argv);

/* ---- What the functions above call, with the version that the caller was compiled for --------- */

warpline_result *warpline_run_interface(uint32_t interface, const warpline_model *model,
                                        const char *settings);
int warpline_main_interface(uint32_t interface, const warpline_program *program, int argc,
                            char **argv);

static inline warpline_result *warpline_run(const warpline_model *model, const char *settings) {
    return warpline_run_interface(WARPLINE_INTERFACE, model, settings);
}

static inline int warpline_main(const warpline_program *program, int argc, char **argv) {
    return warpline_main_interface(WARPLINE_INTERFACE, program, argc, argv);
}

#ifdef __cplusplus
}
#endif

#endif
