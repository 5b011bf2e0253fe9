#[path = "hand_written/bank.rs"]
mod bank;
#[path = "hand_written/network.rs"]
mod network;
use warpline::*;
use warpline_processes::Processes;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let network = network::Network { stations: 256, customers: 4, service: 1.0, way: 0.5 };
    let e = if a[2] == "s" {
        Engine::from(Sequential::default())
    } else if a[2] == "t" {
        TimeWarp::default().into()
    } else {
        Speculative::default().into()
    };
    let n = if a[1] == "p" {
        Simulation::new(Processes::new(network))
            .engine(e)
            .seed(7)
            .end(500.0)
            .run()
            .unwrap()
            .committed_events
    } else {
        Simulation::new(network::ByHand(network))
            .engine(e)
            .seed(7)
            .end(500.0)
            .run()
            .unwrap()
            .committed_events
    };
    println!("{n}");
}
