#[process]
fn work(env: &mut Env<Shop>, urgent: bool, mean: f64) -> f64 {
    let begun: f64 = env.now();
    acquire!(MACHINE, priority = i32::from(urgent), preempt = true);
    hold!(env.rng().exponential(mean));
    env.release(MACHINE);
    env.now() - begun
}
