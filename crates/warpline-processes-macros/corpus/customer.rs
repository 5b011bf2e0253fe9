/// A customer with patience.
#[process]
pub fn customer(env: &mut Env<Bank>, patience: f64) {
    loop {
        let arrived: f64 = env.now();
        if acquire!(TELLER, timeout = patience, priority = 2) {
            let wait = env.now() - arrived;
            env.site.waits.add(wait);
            hold!(env.rng().exponential(env.world.service));
            env.release(TELLER);
            return;
        }
        if !env.rng().chance(env.world.walk) {
            return;
        }
        travel!(env.world.next(env.here()), env.world.way);
    }
}
