//! How fast parcels go between the first two ranks of an MPI job:
//! `mpirun -n 2 target/release/examples/mpi_speed`.

use std::{
    io::{self, Write},
    thread,
    time::Instant,
};

use warpline_net::{Address, MpiTransport, NetError, Parcel, Received, Transport};

/// The size of the body in bytes, and the number of parcels of this size.
const SIZES: [(usize, u32); 3] = [(64, 200_000), (4 << 10, 100_000), (64 << 10, 20_000)];
/// The greatest number of parcels in transit in one direction.
const WINDOW: u32 = 64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let transport = MpiTransport::connect(1)?;
    if transport.ranks() < 2 {
        return Err("this needs two ranks: mpirun -n 2".into());
    }
    let mut out = io::stdout().lock();
    for (bytes, parcels) in SIZES {
        let latency = there_and_back(&transport, bytes, parcels)? / f64::from(2 * parcels);
        let seconds = one_way(&transport, bytes, parcels)?;
        if transport.rank() == 0 {
            let rate = f64::from(parcels) / seconds;
            let (latency, rate, data) = (latency * 1e6, rate / 1e6, rate * bytes as f64 / 1e6);
            writeln!(
                out,
                "{bytes:6} B: one way {latency:6.2} us, {rate:6.3} million parcels/s, \
                 {data:8.1} MB/s"
            )?;
        }
    }
    Ok(())
}

/// The seconds in which `parcels` parcels go to the other rank and back, one at a time.
fn there_and_back(transport: &MpiTransport, bytes: usize, parcels: u32) -> Result<f64, NetError> {
    let start = Instant::now();
    for _ in 0..parcels {
        match transport.rank() {
            0 => {
                send(transport, 1, bytes)?;
                receive(transport)?;
            }
            1 => {
                receive(transport)?;
                send(transport, 0, bytes)?;
            }
            _ => {}
        }
    }
    Ok(start.elapsed().as_secs_f64())
}

/// The seconds in which `parcels` parcels go to the other rank, which acknowledges each window.
fn one_way(transport: &MpiTransport, bytes: usize, parcels: u32) -> Result<f64, NetError> {
    let start = Instant::now();
    for number in 0..parcels + WINDOW {
        match transport.rank() {
            0 => {
                if number >= WINDOW && number % WINDOW == 0 {
                    receive(transport)?;
                }
                if number < parcels {
                    send(transport, 1, bytes)?;
                }
            }
            1 if number < parcels => {
                receive(transport)?;
                if number % WINDOW == 0 {
                    send(transport, 0, 0)?;
                }
            }
            _ => {}
        }
    }
    Ok(start.elapsed().as_secs_f64())
}

fn send(transport: &MpiTransport, rank: usize, bytes: usize) -> Result<(), NetError> {
    let mut parcel = Parcel::new(0, 0, transport.reclaim().unwrap_or_default());
    let body = parcel.body();
    body.resize(body.len() + bytes, 0);
    transport.send(Address { rank, port: 0 }, parcel)
}

fn receive(transport: &MpiTransport) -> Result<Received, NetError> {
    loop {
        match transport.receive(0)? {
            Some(received) => return Ok(received),
            None => thread::yield_now(),
        }
    }
}
