//! tuning
use warpline::*; use warpline_models::phold::*;
fn main(){
 let kinds:&[PendingKind]=PendingKind::ALL;
 for (n,p,end) in [("W1",PholdParams::default(),3000.0),("W2",PholdParams{lps:1024,population:16384,remote:0.1,lookahead:0.1,..Default::default()},250.0),("W3",PholdParams{lps:65536,population:1048576,remote:0.5,lookahead:0.1,..Default::default()},5.0)]{
  for k in kinds { let mut best:f64=0.; let mut d=String::new(); for _ in 0..5 {
   let r=Simulation::new(Phold::<0>::new(p.clone()).unwrap()).end(end).pending(*k).run().unwrap();
   best=best.max(r.events_per_second()); d=r.digest.to_string(); if n=="W3" {break} }
   println!("{n} {k} {:.1} M/s {d}",best/1e6);} }
}
