/*
 * What tests/c.rs asks of the library, one question per call: `./library QUESTION`. It prints
 * lines that the test reads.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <warpline.h>

/* ---- layout: where the fields of a context are ----------------------------------------------- */

#define FIELD(name) printf("%s %zu\n", #name, offsetof(struct warpline_context, name))
#define CONSTANT(name) printf("%s %zu\n", #name, offsetof(struct warpline_constants, name))

static void layout(void) {
    FIELD(stream), FIELD(now), FIELD(me), FIELD(constants);
    FIELD(out), FIELD(len), FIELD(capacity), FIELD(note), FIELD(oversize);
    CONSTANT(lp_count), CONSTANT(parameters), CONSTANT(edge), CONSTANT(draw), CONSTANT(abscissas);
    CONSTANT(grow), CONSTANT(stride);
}

/* ---- draws: the bits of every draw, in the order of the header -------------------------------- */

#define DRAWS 20

struct drawn {
    union {
        double number;
        uint64_t bits;
    } draws[DRAWS];
};

static int32_t draw(void *of, const void *message, warpline_context *cx) {
    struct drawn *drawn = of;
    int i = 0;
    (void)message;
    drawn->draws[i++].bits = warpline_bits(cx);
    drawn->draws[i++].number = warpline_uniform(cx);
    drawn->draws[i++].number = warpline_uniform_in(cx, -2.0, 5.0);
    drawn->draws[i++].bits = warpline_below(cx, 1000000007);
    drawn->draws[i++].bits = (uint64_t)warpline_any_lp(cx);
    drawn->draws[i++].bits = (uint64_t)warpline_chance(cx, 0.5);
    drawn->draws[i++].number = warpline_exponential(cx, 2.5);
    drawn->draws[i++].number = warpline_normal(cx, 1.0, 2.0);
    drawn->draws[i++].number = warpline_lognormal(cx, 0.5, 0.25);
    drawn->draws[i++].number = warpline_lognormal_with_mean(cx, 3.0, 0.5);
    drawn->draws[i++].number = warpline_truncated_normal(cx, 0.0, 1.0, -0.5, 2.0);
    drawn->draws[i++].number = warpline_gamma(cx, 2.0, 0.5);
    drawn->draws[i++].number = warpline_erlang(cx, 3, 1.5);
    drawn->draws[i++].number = warpline_weibull(cx, 1.5, 2.0);
    drawn->draws[i++].number = warpline_triangular(cx, 0.0, 1.0, 4.0);
    drawn->draws[i++].number = warpline_beta(cx, 2.0, 3.0);
    drawn->draws[i++].bits = (uint64_t)warpline_poisson(cx, 4.0);
    drawn->draws[i++].bits = (uint64_t)warpline_binomial(cx, 30, 0.25);
    drawn->draws[i++].bits = (uint64_t)warpline_geometric(cx, 0.125);
    drawn->draws[i++].bits = warpline_bits(cx);
    return i == DRAWS ? 0 : 1;
}

static int32_t nothing(void *state, const void *message, warpline_context *cx) {
    (void)state, (void)message, (void)cx;
    return 0;
}

/* Prints what went wrong, and ends the program, if something did. */
static warpline_result *sound(warpline_result *result) {
    if (warpline_error(result) != NULL) {
        printf("%s: %s\n", warpline_error_kind(result), warpline_error(result));
        warpline_free(result);
        exit(0);
    }
    return result;
}

static void draws(void) {
    static const warpline_model model = {
        .name = "draws", .lps = 300, .state_size = sizeof(struct drawn), .start = draw,
        .handle = nothing,
    };
    warpline_result *result = sound(warpline_run(&model, "end = 1\nseed = 7"));
    int64_t lp, i;
    for (lp = 0; lp < 300; lp++)
        for (i = 0; i < DRAWS; i++)
            printf("%" PRIx64 "\n", ((const struct drawn *)warpline_state(result, lp))->draws[i].bits);
    warpline_free(result);
}

/* ---- bank: a queue in a state, statistics, messages of an odd size, links, notes --------------- */

#define PLACES 6

struct customer {
    int32_t number;
    int16_t visits;
    int8_t leaves;
};

struct counter {
    int64_t waiting, first, parameter;
    int32_t queue[PLACES];
    double came[PLACES];
    warpline_counter served, lost;
    warpline_tally wait;
    warpline_level length;
};

static void open_counter(void *of, int64_t lp, const void *parameters) {
    struct counter *counter = of;
    counter->parameter = ((const int64_t *)parameters)[1] + lp;
}

static void come(warpline_context *cx, int64_t to, double delay, int32_t number, int16_t visits) {
    struct customer customer = {0};
    customer.number = number;
    customer.visits = visits;
    warpline_send(cx, to, delay, &customer, sizeof customer);
}

static int32_t open_bank(void *of, const void *message, warpline_context *cx) {
    const int64_t *customers = warpline_parameters(cx);
    int32_t number;
    (void)of;
    for (number = 0; number < *customers; number++)
        come(cx, warpline_me(cx), 0.1 + warpline_exponential(cx, 1.0), number, 0);
    return message == NULL ? 0 : 1;
}

static void serve(warpline_context *cx) {
    struct customer leaves = {0};
    leaves.leaves = 1;
    /* Not the whole of it: the library makes the rest 0. */
    warpline_send(cx, warpline_me(cx), 0.1 + warpline_erlang(cx, 2, 0.5), &leaves,
                  offsetof(struct customer, leaves) + 1);
}

static int32_t visit(void *of, const void *message, warpline_context *cx) {
    struct counter *counter = of;
    struct customer customer;
    memcpy(&customer, message, sizeof customer);
    if (counter->parameter != 40 + warpline_me(cx))
        return 3;
    if (customer.leaves) {
        int32_t number = counter->queue[counter->first];
        warpline_observe(&counter->wait, warpline_now(cx) - counter->came[counter->first]);
        warpline_count(&counter->served, 1);
        counter->first = (counter->first + 1) % PLACES;
        counter->waiting -= 1;
        warpline_add_to_level(&counter->length, -1.0, cx);
        come(cx, (warpline_me(cx) + 1) % warpline_lps(cx), 0.25, number, 1);
        if (counter->waiting > 0)
            serve(cx);
    } else if (counter->waiting == PLACES) {
        warpline_count(&counter->lost, 1);
        come(cx, warpline_me(cx), 5.0, customer.number, customer.visits);
    } else {
        int64_t place = (counter->first + counter->waiting) % PLACES;
        counter->queue[place] = customer.number;
        counter->came[place] = warpline_now(cx);
        counter->waiting += 1;
        warpline_add_to_level(&counter->length, 1.0, cx);
        if (counter->waiting == 1)
            serve(cx);
    }
    return 0;
}

static void close_bank(warpline_end *end) {
    double waiting = 0;
    int64_t lp;
    for (lp = 0; lp < warpline_end_lps(end); lp++)
        waiting += (double)((const struct counter *)warpline_end_state(end, lp))->waiting;
    warpline_end_result(end, "still_waiting", waiting, "customers", NULL);
    warpline_end_result(end, "customers", ((const int64_t *)warpline_end_parameters(end))[0], NULL,
                        "customers of a counter at the beginning");
    warpline_end_result(end, "closed_at", warpline_end_time(end), "", "the end of the run");
}

static const int64_t bank_parameters[] = {9, 40};
static const warpline_statistic bank_statistics[] = {
    {"served", WARPLINE_COUNTER, offsetof(struct counter, served), "customers", "who were served"},
    {"lost", WARPLINE_COUNTER, offsetof(struct counter, lost), "customers", NULL},
    {"wait", WARPLINE_TALLY, offsetof(struct counter, wait), "minutes", "with the service"},
    {"length", WARPLINE_LEVEL, offsetof(struct counter, length), NULL, NULL},
};
#define BANK 32
static warpline_link bank_links[BANK];

static warpline_model bank_model(void) {
    warpline_model model = {
        .name = "bank", .lps = BANK, .state_size = sizeof(struct counter),
        .message_size = 3 * sizeof(struct customer), .init = open_counter, .start = open_bank,
        .handle = visit, .finish = close_bank, .parameters = bank_parameters,
        .parameters_size = sizeof bank_parameters, .links = bank_links, .link_count = BANK,
        .statistics = bank_statistics, .statistic_count = 4,
    };
    int64_t lp;
    for (lp = 0; lp < BANK; lp++) {
        warpline_link link = {lp, (lp + 1) % BANK, 0.25};
        bank_links[lp] = link;
    }
    return model;
}

static void bank(const char *settings) {
    warpline_model model = bank_model();
    warpline_result *result = sound(warpline_run(&model, settings));
    int64_t lp, waiting = 0;
    for (lp = 0; lp < BANK; lp++)
        waiting += ((const struct counter *)warpline_state(result, lp))->waiting;
    printf("%s %.0f %" PRId64 "\n", warpline_text(result, "/digest"),
           warpline_number(result, "/committed_events"), waiting);
    printf("%s\n", warpline_report(result));
    printf("%d\n", warpline_text(result, "/nowhere") == NULL && warpline_state(result, BANK) == NULL
                       && warpline_state(result, -1) == NULL);
    warpline_free(result);
}

/* ---- mistakes ---------------------------------------------------------------------------------- */

static int32_t fail(void *state, const void *message, warpline_context *cx) {
    return warpline_now(cx) > 5.0 ? 42 : visit(state, message, cx);
}

static int32_t send_too_much(void *state, const void *message, warpline_context *cx) {
    const char large[100] = {0};
    (void)state, (void)message;
    warpline_send(cx, 0, 1.0, large, sizeof large);
    return 0;
}

static int32_t send_to_nobody(void *state, const void *message, warpline_context *cx) {
    (void)state, (void)message;
    warpline_send(cx, -4, 1.0, NULL, 0);
    return 0;
}

static int32_t send_into_the_past(void *state, const void *message, warpline_context *cx) {
    (void)state, (void)message;
    warpline_send(cx, 0, -1.0, NULL, 0);
    return 0;
}

static void mistake(const char *which) {
    warpline_model model = bank_model();
    const char *settings = "end = 20\nengine = 'timewarp'\nworkers = 2";
    static const warpline_statistic odd[] = {{"odd", WARPLINE_TALLY, 4, NULL, NULL}};
    static const warpline_statistic outside[] = {{"far", WARPLINE_TALLY, 4096, NULL, NULL}};
    static const warpline_link far[] = {{0, BANK, 1.0}};
    uint32_t interface = WARPLINE_INTERFACE;
    if (strcmp(which, "fails") == 0)
        model.handle = fail;
    else if (strcmp(which, "large") == 0)
        model.handle = send_too_much;
    else if (strcmp(which, "nobody") == 0)
        model.handle = send_to_nobody;
    else if (strcmp(which, "past") == 0)
        model.handle = send_into_the_past;
    else if (strcmp(which, "name") == 0)
        model.name = NULL;
    else if (strcmp(which, "utf8") == 0)
        model.name = "b\xff" "nk";
    else if (strcmp(which, "lps") == 0)
        model.lps = 0;
    else if (strcmp(which, "start") == 0)
        model.start = NULL;
    else if (strcmp(which, "handle") == 0)
        model.handle = NULL;
    else if (strcmp(which, "lookahead") == 0)
        model.lookahead = -1.0;
    else if (strcmp(which, "parameters") == 0)
        model.parameters = NULL;
    else if (strcmp(which, "links") == 0)
        model.links = far, model.link_count = 1;
    else if (strcmp(which, "odd") == 0)
        model.statistics = odd, model.statistic_count = 1;
    else if (strcmp(which, "outside") == 0)
        model.statistics = outside, model.statistic_count = 1;
    else if (strcmp(which, "settings") == 0)
        settings = "end = = 3";
    else if (strcmp(which, "key") == 0)
        settings = "end = 3\nworkerz = 2";
    else if (strcmp(which, "version") == 0)
        interface = WARPLINE_INTERFACE + 1;
    sound(warpline_run_interface(interface, strcmp(which, "model") == 0 ? NULL : &model, settings));
    printf("no error\n");
}

int main(int argc, char **argv) {
    warpline_free(NULL);
    if (argc == 2 && strcmp(argv[1], "layout") == 0)
        layout();
    else if (argc == 2 && strcmp(argv[1], "draws") == 0)
        draws();
    else if (argc == 3 && strcmp(argv[1], "bank") == 0)
        bank(argv[2]);
    else if (argc == 3 && strcmp(argv[1], "mistake") == 0)
        mistake(argv[2]);
    else
        return 2;
    return 0;
}
