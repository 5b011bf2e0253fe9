"""The keywords of calls, for type checkers and editors. Written by ``stubs.py``."""

from collections.abc import Sequence
from os import PathLike
from typing import Literal, TypedDict

ModelName = Literal[
    "phold", "hypercube", "pcs", "circuit", "traffic", "network", "queues", "epidemic",
]
"""The models that are there."""
EngineName = Literal[
    "auto", "sequential", "conservative", "timewarp", "speculative", "reverse-check",
    "saving-check", "profile", "intervals",
]
"""The engines."""


class CommonSettings(TypedDict, total=False):
    """Of every run."""

    aggregation: int | str | None
    """Bytes of messages to one worker of another rank that are sent together: auto, off, or a
    number"""
    as_if_many: bool | None
    """A single worker does all that one of many does, records, saved states and GVT, instead of
    working as the sequential engine does"""
    balance: str | None
    """Whether LPs move to other workers where those have less to do, and fewer workers work where
    that is faster (default: on; with Time Warp: off)"""
    batch: int | None
    """Events that a worker handles between two looks at its inbox"""
    checkpoint_interval: int | str | None
    """The interval of copies, by itself: events of a process from one copy of its state to the
    next, or `auto` [default: as --saving says]"""
    costs: bool | None
    """Measure where the time goes, by part of the engine"""
    critical_path: Literal["events", "time"] | bool | None
    """Run on the engine `profile`: sequentially, and tell how fast the model could run on many
    workers; an event costs 1, or the time that its handler takes [default: events]"""
    edge_capacity: int | None
    """With null messages: events that a link holds which are not handled yet"""
    end: float | str | None
    """phold, queues: Virtual time at which the run ends [default: the model's, 1000]; hypercube:
    Virtual time at which the run ends [default: the model's, 10000]; pcs: Virtual time at which the
    run ends [default: the model's, 1440 min]; circuit: Virtual time at which the run ends [default:
    the deck's .tran, or after the last vector]; traffic: Virtual time at which the run ends
    [default: the model's, 86400 s]; network: Virtual time at which the run ends [default:
    1000000000 ps, or when all packets of a file are gone]; epidemic: Virtual time at which the run
    ends [default: the model's, 365 d]"""
    engine: (
        Literal[
            "auto", "sequential", "conservative", "timewarp", "speculative", "reverse-check",
            "saving-check", "profile", "intervals",
        ]
        | None
    )
    """Engine that executes the events"""
    find_warmup: bool | int | None
    """Run on the engine `intervals`: sequentially, and find from the results of N equal intervals
    how long the beginning lasts that is not typical [default: 250]"""
    flow: str | None
    """With --memory, how a worker keeps GVT from thrashing: it waits while less than the fraction
    free1 (0.1) of its buffers is free, until it expects to reclaim more than free2 (0.2); and with
    fewer free ones than few-buffers (0) it asks for GVT: free1=0.3,free2=0.5"""
    gvt_interval: int | None
    """Events that a worker processes before it asks for global virtual time"""
    in_turn: bool | None
    """All workers take turns on one thread: slow, but the run repeats itself, rollbacks and all"""
    jobs: int | None
    """Most replications or sweep points to run at one time [default: as many as there are cores for
    the workers of each]"""
    mail: Literal["worker", "bottom-half"] | None
    """Where events for LPs of other workers wait: worker, in the worker's inbox; bottom-half, with
    the LP, in its memory"""
    memory: int | str | None
    """Most memory that the buffers of pending events may take: 500000, 64MiB, 2GiB [default: no
    limit]"""
    memory_placement: Literal["off", "worker", "lp", "auto"] | Literal[False] | str | None
    """Where the memory of workers is, on a machine with several NUMA nodes: off, wherever the
    system puts it; worker, on the node of each worker's core; lp, the same, and each LP of Time
    Warp has memory of its own, whose pages follow it if there are threads for that, with the
    seconds between two of their looks (lp:daemons=2,period=0.5); auto, worker if there are several
    nodes"""
    message_latency: int | None
    """Time that a message between two LPs takes: in nanoseconds, or in events if one costs 1"""
    oversubscribe: bool | None
    """Run more workers, on all ranks together, than four for each core"""
    pending: Literal["ladder", "heap", "calendar", "skew", "splay"] | None
    """Pending event set"""
    pin: Literal["on", "off"] | bool | None
    """Whether each worker is bound to a core of its own, where there are enough"""
    placement_weights: str | PathLike[str] | None
    """How much processes weigh, for the placements blocks and graph: equal, trial (as many as each
    has events at the beginning), trial:EVENTS, or a file with a number in each line, one line per
    process"""
    pool: Literal["sender", "receiver", "partitioned", "adaptive"] | str | None
    """Where free buffers are kept, and when they return there: sender:quota=N,delta=N (N_buf and Δ
    of GTW) and global-share=F; receiver:local-pool; partitioned:local-share=F or sizes=FILE (a line
    for each sending worker with a number for each receiving one), on-the-fly, gain=F and sharing"""
    ranks: int | None
    """Ranks, as threads of this process; with mpirun, its processes are the ranks"""
    saving: Literal["auto", "copy", "incremental", "reverse"] | str | None
    """How the states of processes are saved; `auto` copies, and changes to sparse copies where
    those are measured to be much cheaper; of copies, every how many events of a process, or `auto`:
    copy:interval=8; `incremental` is another name of `copy`, where tracked fields save what is
    changed"""
    scheduler: str | None
    """With null messages: which of a worker's processes that are ready has the next turn:
    simulation-time, fifo or lifo"""
    seed: int | None
    """Seed of all random streams"""
    synchronization: (
        Literal[
            "auto", "windows", "null-messages", "null-messages-on-demand", "deadlock-recovery",
        ]
        | None
    )
    """How the conservative engine's workers know what they may handle"""
    throttle: Literal["on", "off"] | bool | None
    """Whether workers that roll back much are held back"""
    time_barrier: float | str | None
    """Time barrier at the start: nothing at or after it is handled ahead of global virtual time"""
    warmup: float | str | None
    """Virtual time at which the statistics begin anew: what happens before is left out"""
    width: float | str | None
    """Speculative engine: the width of windows in units of virtual time, auto, or from:WIDTH to let
    it find itself from there"""
    window: float | str | None
    """Handle no event further than this ahead of global virtual time [default: no limit]"""
    workers: int | None
    """Workers (threads) that share the processes [default: the number of cores]"""


class OwnSettings(CommonSettings, total=False):
    """Of a model of one's own."""

    checkpoint: str | PathLike[str] | None
    """File for the state of the run at its end, also where a signal ends it: --resume goes on from
    there. The one before it stays as FILE.previous"""
    checkpoint_every: str | None
    """Write it every so often, too: 10min of wall time (s, min, h), or 100t of virtual time"""
    precision: str | None
    """Replications until the 95 % confidence interval of a result, or of all results, tells its
    value to this part: `5%`, `calls:5%`. At most 1000, or what --replications says"""
    resume: str | PathLike[str] | None
    """Go on from a checkpoint of this model, with these parameters and this seed; engine, workers
    and end may be others"""
    trace: str | PathLike[str] | None
    """File for a trace of what each worker does, for ui.perfetto.dev"""
    trace_memory: int | str | None
    """Most memory for a trace while the run goes on; of long runs it shows parts [default: 4MiB]"""
    verify: bool | None
    """Run again on the sequential engine (from there: with another pending set) and compare what
    was committed"""


class ModelSettings(TypedDict, total=False):
    """Of the models that are there."""

    accident_deviation: float | str | None
    """Standard deviation of that duration"""
    accident_spread: float | None
    """Deviation of the accidents around half of the capacity, as a part of the capacity"""
    accident_time: float | str | None
    """Mean duration of an accident"""
    accidents: float | None
    """Factor of the probability of an accident; 0 for none"""
    arrivals: Literal["constant", "poisson", "on-off"] | None
    """When hosts send"""
    blocks: int | None
    """Number of equal blocks of LPs that --neighborhood counts in (the paper's processors)"""
    call: float | str | None
    """Mean length of a call, in minutes"""
    capacitances: Literal["explicit", "full"] | None
    """Capacitances of the built-in cells: explicit (all to ground) or full (in the transistors)"""
    capacity: float | None
    """Cars that the road holds, in both directions together"""
    cells: str | None
    """Size of the grid of cells"""
    channels: int | None
    """Channels of each cell"""
    chunk: int | None
    """Bytes that a host sends in a step of an all-reduce"""
    contact_seed: int | None
    """Seed of the network of contacts, which is the same in every run"""
    contacts: int | None
    """Contacts of each person"""
    crossings: str | PathLike[str] | None
    """Table of the crossings of the voltage half way between the rails (CSV)"""
    customers: int | None
    """Customers of a closed network, dealt evenly at the start"""
    delay: float | str | None
    """Mean delay of the links, in a generated network"""
    delay_spread: float | None
    """Part of the mean by which delays differ at most, to either side, in a generated network"""
    dimension: int | None
    """Dimension D of the cube: 2^D nodes with D outgoing links each"""
    erlang_stages: int | None
    """Stages of that time: it is Erlang distributed; 1 is exponential"""
    fan_in: int | None
    """Hosts that send to each receiver of an incast"""
    flow_packets: int | None
    """Packets of a flow: all have one destination and one route"""
    generate: str | None
    """Circuit that is generated: chain:N, adder:N, multiplier:N, ring:N or regfile:WORDSxBITS
    [default without a netlist: multiplier:16]"""
    grain: int | None
    """phold: Wall time that each event keeps a core busy; pcs: Wall time that each event keeps a
    core busy; about 30 000 in the GTW paper"""
    grid: Literal["torus", "bounded"] | None
    """What lies beyond the border of the grid"""
    headway: float | str | None
    """Time between two cars that drive off when the road is freed"""
    hot: float | None
    """Probability that a remote event goes to the hot spot: LPs side by side"""
    hot_lps: int | None
    """Number of LPs in the hot spot; 0 for an eighth of all"""
    hot_period: float | None
    """Virtual time in which the hot spot wanders once past all LPs; 0 if it stays at the first"""
    idle: float | str | None
    """Mean idle time of a portable between two calls, in minutes"""
    infected: int | None
    """People who are infected at the start"""
    infectious: float | str | None
    """Mean time for which a person is infectious"""
    interarrival: float | str | None
    """Mean time from one car that joins at a junction to the next, in place of the network's"""
    jam: float | None
    """Probability of a jam where the road is full; it is proportional to the cars on the road"""
    jam_delay: float | None
    """Mean time lost in a jam, as a multiple of the time to drive without"""
    jam_deviation: float | None
    """Standard deviation of that multiple"""
    junction_length: float | None
    """Length of the road through a junction"""
    latency: float | None
    """Switch delay of each hop, in time units, during which the link is not occupied"""
    latent: float | str | None
    """Time from a person's infection until it is infectious"""
    layout: Literal["closed", "chain"] | None
    """How customers go from station to station"""
    leave: float | None
    """Probability that a car leaves at a junction, in place of the network's"""
    link_table: str | PathLike[str] | None
    """Table of all links in each direction, with packets, drops, marks and utilization (.csv)"""
    load: float | None
    """network: Part of the rate of its link with which a host sends, on average; queues: Part of
    the servers of a chain that is busy, on average: it says how often customers join"""
    lookahead: float | str | None
    """phold: Constant part of the delay, declared as the model's lookahead; circuit: Time after
    which other subcircuits hear of a change: auto, or a time"""
    lps: int | None
    """phold: Number of logical processes; traffic: Number of LPs, junctions and portions of routes
    [default: italy 1024, else one per part]"""
    map: str | PathLike[str] | None
    """Map colored by load, with accidents: .svg, .geojson, or .png (needs a build with `plots`)"""
    mark_at: int | None
    """Mark packets that find so many or more waiting for a link (ECN) [default: none]"""
    max_length: float | None
    """Longest message, in time units that it occupies a link; lengths are uniform"""
    mean: float | None
    """Mean of the exponential part of the delay"""
    messages: int | None
    """Number of messages in the network, distributed evenly over the nodes at the start"""
    min_length: float | None
    """Shortest message, in time units that it occupies a link"""
    mobility: Literal["high", "medium", "low"] | None
    """Mean stay as a multiple of --call, as in the GTW paper; in place of --stay"""
    neighborhood: int | None
    """Send remote events to the next K blocks of LPs only; 0 for all LPs"""
    netlist: str | PathLike[str] | None
    """Netlist: a SPICE deck (.cir, .sp, .spice) or ISCAS gates (.bench)"""
    network: str | PathLike[str] | None
    """The motorways: italy, grid:WIDTHxHEIGHT, or a file (csv, json, graphml, net.xml, txt)"""
    packet_table: str | PathLike[str] | None
    """Table of all packets, with the time of their arrival or drop (.csv)"""
    packets: str | PathLike[str] | None
    """File of packets, in place of those that are drawn"""
    payload: int | None
    """Bytes that each event carries: written by its sender, read by its receiver"""
    people: int | None
    """Number of people, distributed evenly over the regions"""
    per_host: int | None
    """Packets that each host sends at most [default: no limit]"""
    period: float | str | None
    """Time from one vector to the next: 10n, 2.5e-8 (s) [default: 10n, with flip-flops 12n]"""
    placement: int | str | PathLike[str] | Sequence[int | str | PathLike[str]] | None
    """Which worker has which processes: model, blocks, round-robin, graph (few links between
    workers), the number of a worker for each process (0,0,1,1), or a file with one in each line"""
    plot: str | PathLike[str] | None
    """Plot of the first nets that are written (.svg or .png); needs a build with `plots`"""
    population: int | None
    """Number of events in the system, distributed evenly over the LPs"""
    portables: int | None
    """Number of portables, distributed evenly over the cells at the start"""
    queue: int | None
    """Packets that wait for a link at most; more are dropped; in a generated network"""
    rate: float | None
    """Rate of the links, in a generated network"""
    raw: str | PathLike[str] | None
    """Binary raw file of waveforms, as ngspice writes it"""
    raw_step: float | str | PathLike[str] | None
    """Time between the points of the raw file, or `samples` for a point at each sample of a net
    [default: the deck's .tran, or 1000 points]"""
    regions: int | None
    """Number of regions"""
    remote: float | None
    """Probability that an event goes to a random LP and not to its sender"""
    save: str | Sequence[str] | None
    """Nets that are written: names with commas between [default: the deck's .save, or all]"""
    segments: str | PathLike[str] | None
    """Table of all LPs, with their travel times, speeds, queues and accidents (.csv)"""
    series: str | PathLike[str] | None
    """Time series of the whole network (.csv)"""
    series_step: float | str | None
    """Time between two points of the series"""
    servers: int | None
    """Servers of each station"""
    service: Literal["link", "node"] | float | None
    """hypercube: What messages queue for: a link each, or all of them for the node, as in the
    buffer paper; queues: Mean time that a server takes for a customer"""
    sizes: int | str | None
    """Bytes of packets without their header of 2, as a list: each is drawn as often"""
    speed: float | None
    """Mean speed, drawn anew for each portion"""
    speed_deviation: float | None
    """Standard deviation of the speed"""
    speed_max: float | None
    """Greatest speed; `inf` for a model without lookahead"""
    speed_min: float | None
    """Least speed"""
    stations: int | None
    """Number of stations"""
    stay: float | str | None
    """Mean stay of a portable in a cell, in minutes; `inf` for portables that never move"""
    stop: float | None
    """Probability that a car decides to stop, each time the queue is scanned"""
    stop_deviation: float | str | None
    """Standard deviation of that duration"""
    stop_time: float | str | None
    """Mean duration of a stop"""
    tolerance: Literal["fast", "default", "fine"] | None
    """How exact the simulation is"""
    topology: float | str | PathLike[str] | None
    """The network: fat-tree:K, leaf-spine:LEAVESxSPINESxHOSTS, dragonfly:ROUTERSxHOSTSxGLOBALS,
    ring:N, grid:WxH, or a file"""
    traffic: Literal["uniform", "permutation", "incast", "all-reduce"] | None
    """To whom hosts send"""
    transit: float | None
    """Time from one station to the next"""
    transmission: float | None
    """Rate at which an infectious person infects a contact"""
    travel: float | None
    """Part of the contacts that are anywhere; the others are in the same region"""
    uneven: float | None
    """How many times more cars join in the half of the LPs with the lower numbers"""
    vcd: str | PathLike[str] | None
    """VCD file of waveforms, as GTKWave reads it"""
    vectors: int | None
    """Random vectors that are applied to the inputs of gates (with flip-flops: clock cycles)
    [default: 10]"""


class ReplicateSettings(OwnSettings, ModelSettings, total=False):
    """Of ``replicate``."""


class RunSettings(ReplicateSettings, total=False):
    """Of ``run``."""

    replications: int | None
    """Independent replications, run in parallel"""


class SweepSettings(CommonSettings, ModelSettings, total=False):
    """Of ``sweep``."""

    replications: int | None
    """Independent replications, run in parallel"""


class LabSettings(TypedDict, total=False):
    """Of ``lab``."""

    claims: str | PathLike[str] | None
    """File for the verdicts of the figures, in the same form; one that is there keeps those of
    other figures"""
    netlist: str | PathLike[str] | None
    """Netlist that takes the place of the runtime paper's C2670 [default: a generated
    multiplier]"""
    oversubscribe: bool | None
    """Measure more workers than four for each core"""
    payload: int | None
    """Bytes that each event of PHOLD carries"""
    quick: bool | None
    """Short runs, two samples, at most two workers: to see that it works, not to learn something"""
    results: str | PathLike[str] | None
    """File for the results of the figure, in the form of those in docs/results"""
    samples: int | None
    """Rounds, each with one sample of every point [default: 9, or 2 with --quick]"""
    seed: int | None
    """Seed of all random streams"""
    workers: int | Sequence[int] | None
    """Numbers of workers, as a list; more than there are cores are marked [default: 1, 2, … up to
    the number of cores]"""
