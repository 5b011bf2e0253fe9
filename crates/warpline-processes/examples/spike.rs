#[path = "hand_written/network.rs"]
mod network;
use warpline::*;
use warpline_processes::Processes;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let t = std::time::Instant::now(); let network = network::Network { stations: 256, customers: 4, service: 1.0, way: 0.5 };
    let n = if a[1] == "p" { Simulation::new(Only::<Sequential,_>::new(Processes::new(network))).seed(7).end(20000.0).run().unwrap().committed_events }
    else { Simulation::new(Only::<Sequential,_>::new(network::ByHand(network))).seed(7).end(20000.0).run().unwrap().committed_events };
    println!("{n} {:?}", t.elapsed());
}
