/*
 * PHOLD (R. M. Fujimoto, 1990), the field's benchmark, in C: each event sends one, to the same LP
 * or to any. It commits what `warpline run phold` does with the same parameters.
 *
 *     cc -O2 phold.c -I ../include -L ../../../target/release -lwarpline_c -o phold
 *     ./phold run phold --lookahead 0.1 --engine timewarp --workers 2
 *     ./phold sweep phold --vary remote=0.1,0.5,0.9
 */
#include <warpline.h>

struct parameters {
    int64_t lps, population;
    double remote, mean, lookahead;
};

struct state {
    int64_t handled, remote;
};

static void send(warpline_context *cx, int64_t to) {
    const struct parameters *parameters = warpline_parameters(cx);
    double delay = parameters->lookahead + warpline_exponential(cx, parameters->mean);
    warpline_send(cx, to, delay, NULL, 0);
}

static int32_t start(void *state, const void *message, warpline_context *cx) {
    const struct parameters *parameters = warpline_parameters(cx);
    int64_t me = warpline_me(cx), lps = warpline_lps(cx);
    int64_t events = parameters->population / lps + (me < parameters->population % lps);
    (void)state, (void)message;
    while (events-- > 0)
        send(cx, me);
    return 0;
}

static int32_t handle(void *of, const void *message, warpline_context *cx) {
    const struct parameters *parameters = warpline_parameters(cx);
    struct state *state = of;
    int64_t to = warpline_me(cx);
    (void)message;
    state->handled += 1;
    if (parameters->remote >= 1.0 || warpline_chance(cx, parameters->remote)) {
        state->remote += 1;
        to = warpline_any_lp(cx);
    }
    send(cx, to);
    return 0;
}

static int32_t reverse(void *of, const void *message, warpline_context *cx) {
    const struct parameters *parameters = warpline_parameters(cx);
    struct state *state = of;
    (void)message;
    state->handled -= 1;
    state->remote -= parameters->remote >= 1.0 || warpline_chance(cx, parameters->remote);
    return 0;
}

static void finish(warpline_end *end) {
    int64_t lp, handled = 0;
    for (lp = 0; lp < warpline_end_lps(end); lp++)
        handled += ((const struct state *)warpline_end_state(end, lp))->handled;
    warpline_end_result(end, "handled", (double)handled, "events", "events of all LPs");
}

static const char *make(const void *given, warpline_model *model) {
    const struct parameters *parameters = given;
    if (parameters->remote < 0.0 || parameters->remote > 1.0)
        return "--remote is a probability";
    model->lps = parameters->lps;
    model->state_size = sizeof(struct state);
    model->start = start;
    model->handle = handle;
    model->reverse = reverse;
    model->finish = finish;
    model->lookahead = parameters->lookahead;
    return NULL;
}

int main(int argc, char **argv) {
    static const struct parameters defaults = {256, 1024, 1.0, 1.0, 0.0};
    static const warpline_flag flags[] = {
        {"lps", WARPLINE_INTEGER, offsetof(struct parameters, lps), "Number of LPs"},
        {"population", WARPLINE_INTEGER, offsetof(struct parameters, population),
         "Events that are pending at any time"},
        {"remote", WARPLINE_NUMBER, offsetof(struct parameters, remote),
         "Probability that an event goes to any LP"},
        {"mean", WARPLINE_NUMBER, offsetof(struct parameters, mean),
         "Mean of the exponential part of delays"},
        {"lookahead", WARPLINE_NUMBER, offsetof(struct parameters, lookahead),
         "The constant part of delays"},
    };
    static const warpline_program program = {
        "phold", "Each event sends one, to the same LP or to any", 1000.0, &defaults,
        sizeof defaults, flags, sizeof flags / sizeof *flags, make,
    };
    return warpline_main(&program, argc, argv);
}
