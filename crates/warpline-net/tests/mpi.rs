//! The transport over MPI. When cargo or a user starts this program, it starts itself with `mpirun`
//! (or the program that `$MPIRUN` names) at 1 to 4 ranks. When `mpirun` starts it, it is a
//! rank.

mod mpirun;

use std::{
    env,
    process::{Output, exit},
    thread,
    time::Instant,
};

use warpline_net::{
    Address, HEADER_BYTES, MpiError, MpiTransport, NetError, Parcel, Received, Transport,
    launched_by_mpi,
};

const PORTS: usize = 2;
/// The number of parcels that every port sends to every port.
const PARCELS: u64 = 300;

/// The scenarios by name.
const SCENARIOS: [(&str, fn()); 7] = [
    ("exchange", exchange),
    ("farewell", farewell),
    ("other_port", other_port),
    ("refusals", refusals),
    ("failure", failure),
    ("panic", panic),
    ("abandon", abandon),
];

/// What the scenario `failure` says where it meets the error that it looks for.
const AS_EXPECTED: &str = "the error is the expected one";

/// The status of Open MPI's `mpirun` when it has ended the ranks itself, because time was over.
const AT_TIME_LIMIT: i32 = 110;

/// Open MPI's ranks on one machine read long messages from each other's memory in one step. With
/// this setting the messages come in pieces, and others overtake them, as on a network.
const IN_PIECES: (&str, &str) = ("OMPI_MCA_btl_vader_single_copy_mechanism", "none");

fn main() {
    if launched_by_mpi().is_none() {
        return launch_all();
    }
    let name = env::args().nth(1).unwrap_or_default();
    let scenario = SCENARIOS.iter().find(|scenario| scenario.0 == name).expect("a scenario");
    scenario.1();
}

/// Launches all scenarios, or those that the command line names.
fn launch_all() {
    let wanted: Vec<_> = env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let (mut passed, mut failed) = (0, 0);
    let mut test = |name: &str, ranks: usize, settings: &[(&str, &str)], ends_well: bool| {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            return;
        }
        let start = Instant::now();
        let Output { status, stdout, stderr } = launch(name, ranks, settings);
        let seconds = start.elapsed().as_secs_f64();
        // A rank that ends with an error ends the others, without the help of a time limit.
        let ok = status.success() == ends_well
            && status.code() != Some(AT_TIME_LIMIT)
            && (name != "failure" || String::from_utf8_lossy(&stderr).contains(AS_EXPECTED));
        *(if ok { &mut passed } else { &mut failed }) += 1;
        if !ok {
            eprintln!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        }
        let said = if ok { "ok" } else { "FAILED" };
        let how = if settings.is_empty() { "" } else { ", in pieces" };
        eprintln!("test {name} at {ranks} rank(s){how} ... {said}, {status}, {seconds:.1} s");
    };
    for ranks in 1..=4 {
        for name in ["exchange", "farewell"] {
            test(name, ranks, &[], true);
            test(name, ranks, &[IN_PIECES], true);
        }
    }
    test("other_port", 2, &[], true);
    test("other_port", 2, &[IN_PIECES], true);
    test("refusals", 2, &[], true);
    for name in ["failure", "panic", "abandon"] {
        test(name, 3, &[], false);
    }
    eprintln!("{passed} passed, {failed} failed");
    exit(i32::from(failed > 0));
}

/// Runs a scenario on `ranks` ranks, with these environment variables.
fn launch(name: &str, ranks: usize, settings: &[(&str, &str)]) -> Output {
    let this = env::current_exe().expect("the path of this test");
    let mut command = mpirun::mpirun(ranks, this);
    command.arg(name).envs(settings.iter().copied());
    command.output().expect("mpirun starts")
}

/// The length of a parcel's body. Some are empty, and some have 4 MiB, which no MPI library sends
/// before the receiver is ready.
fn body_len(number: u64) -> usize {
    match number % 100 {
        42 => 4 << 20,
        n if n % 7 == 0 => 0,
        n => 1 << (n % 17) | n as usize,
    }
}

/// The body of a parcel: bytes that differ from those of other parcels.
fn body(from: Address, to: Address, number: u64) -> Vec<u8> {
    let salt = (from.rank << 6 | from.port << 4 | to.rank << 2 | to.port) as u64;
    let start = number.wrapping_mul(0x9e37_79b9).wrapping_add(salt);
    (0..body_len(number) as u64).map(|at| (start.wrapping_add(at * 31) >> 3) as u8).collect()
}

/// NET-A and MPI-B: every port of every rank sends many parcels to every port of every rank, in
/// buffers that are used again. All arrive once, in order, intact.
fn exchange() {
    let transport = MpiTransport::connect(PORTS).unwrap();
    assert_eq!(transport.ports(), PORTS);
    assert_eq!(Some(transport.ranks()), launched_by_mpi());
    thread::scope(|scope| {
        for port in 0..PORTS {
            let transport = &transport;
            scope.spawn(move || exchange_at(transport, port));
        }
    });
}

fn exchange_at(transport: &MpiTransport, port: usize) {
    let ranks = transport.ranks();
    let me = Address { rank: transport.rank(), port };
    let addresses = || (0..ranks * PORTS).map(|at| Address { rank: at / PORTS, port: at % PORTS });
    let mut arrived = vec![0; ranks * PORTS];
    let mut receive = || {
        let Some(received) = transport.receive(port).unwrap() else { return false };
        let opened = Parcel::open(&received.bytes).unwrap();
        let from = Address { rank: received.from, port: opened.port };
        let number = &mut arrived[from.rank * PORTS + from.port];
        assert_eq!(u64::from(opened.kind), *number, "{from:?} to {me:?}");
        assert!(opened.body == body(from, me, *number), "{from:?} to {me:?}: parcel {number}");
        *number += 1;
        true
    };
    let mut left = PARCELS as usize * ranks * PORTS;
    for number in 0..PARCELS {
        for to in addresses() {
            let buffer = transport.reclaim().unwrap_or_default();
            let mut parcel = Parcel::new(number as u16, port, buffer);
            parcel.body().extend_from_slice(&body(me, to, number));
            transport.send(to, parcel).unwrap();
        }
        left -= usize::from(receive());
    }
    while left > 0 {
        match receive() {
            true => left -= 1,
            false => thread::yield_now(),
        }
    }
    assert!(!receive());
}

/// NET-B: ranks send long parcels to each other before any of them receives. All arrive, although
/// the senders end at once, and although rank 0 does not take those that it is sent.
fn farewell() {
    let transport = MpiTransport::connect(PORTS).unwrap();
    let send = |rank| {
        let parcel = Parcel::with_body(0, 0, &vec![1; 4 << 20]);
        transport.send(Address { rank, port: 0 }, parcel).unwrap();
    };
    if transport.rank() == 0 {
        (0..transport.ranks()).for_each(send);
    } else {
        send(0);
        assert_eq!(wait(&transport).unwrap().from, 0);
    }
}

/// NET-C: a rank that receives at one port only still takes in what comes to its other port. The
/// sender cannot finish that transfer without it.
fn other_port() {
    const LEN: usize = 200 << 10;
    let transport = MpiTransport::connect(PORTS).unwrap();
    let to = |port| Address { rank: 0, port };
    if transport.rank() == 1 {
        transport.send(to(1), Parcel::with_body(0, 0, &[1; LEN])).unwrap();
        // Its buffer comes back when the transfer is done.
        while transport.reclaim().is_none() {
            assert!(transport.receive(0).unwrap().is_none());
        }
        transport.send(to(0), Parcel::with_body(0, 0, b"done")).unwrap();
    } else {
        assert_eq!(wait(&transport).unwrap().bytes.len(), HEADER_BYTES + 4);
        assert_eq!(transport.receive(1).unwrap().unwrap().bytes.len(), HEADER_BYTES + LEN);
    }
}

/// MPI-A: one transport per process; and all ranks must have equally many ports. These errors end
/// no rank.
fn refusals() {
    assert!(matches!(MpiTransport::connect(1 << 16), Err(NetError::Failed(_))));
    let rank =
        ["OMPI_COMM_WORLD_RANK", "PMI_RANK"].into_iter().find_map(|name| env::var(name).ok());
    let ports = if rank.as_deref() == Some("1") { 2 } else { 1 };
    match MpiTransport::connect(ports) {
        Err(NetError::Failed(what)) if what.contains("different numbers of ports") => {}
        other => panic!("{other:?}"),
    }
    assert!(matches!(MpiTransport::connect(1), Err(NetError::Mpi(MpiError::Again))));
}

/// MPI-C: after a call of MPI has failed, the rank makes no other call, and no rank waits for the
/// others. The error has MPI's own description.
fn failure() {
    let transport = MpiTransport::connect(1).unwrap();
    if transport.rank() == 1 {
        let nowhere = Address { rank: 1 << 20, port: 0 };
        match transport.send(nowhere, Parcel::with_body(0, 0, b"something")) {
            Err(NetError::Mpi(MpiError::Failed { what, .. })) if what.contains("rank") => {
                eprintln!("{AS_EXPECTED}");
                // MPICH's launcher takes the status of the first that ends.
                exit(1);
            }
            other => panic!("{other:?}"),
        }
    }
    wait(&transport).unwrap();
}

/// One rank panics while the others wait for it.
fn panic() {
    let transport = MpiTransport::connect(1).unwrap();
    assert_ne!(transport.rank(), 1, "this rank panics");
    wait(&transport).unwrap();
}

/// One rank abandons the network while the others wait for it.
fn abandon() {
    let transport = MpiTransport::connect(1).unwrap();
    if transport.rank() == 1 {
        transport.abandon();
    }
    wait(&transport).unwrap();
}

/// Waits for a parcel, or an error.
fn wait(transport: &MpiTransport) -> Result<Received, NetError> {
    loop {
        match transport.receive(0) {
            Ok(None) => thread::yield_now(),
            Ok(Some(received)) => return Ok(received),
            Err(error) => return Err(error),
        }
    }
}
