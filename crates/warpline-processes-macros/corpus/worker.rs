#[process]
fn worker(env: &mut Env<Shop>, urgent: bool) {
    let mut done: u32 = 0;
    while hold!(1.0) {
        let Some(part) = get!(PARTS, timeout = 5.0) else {
            passivate!();
            continue;
        };
        for _ in 0u32..part {
            let took: f64 = call!(work(urgent, 0.8));
            env.site.tally.add(took);
        }
        match call!(choice(done)) {
            0 => wait!(NEWS),
            1 if urgent => {
                fill!(FUEL, 1.0);
            }
            2 => hold!(5.0),
            _ => done += u32::from(take!(FUEL, 2.0)),
        }
        while let Some(1) | Some(2) = get!(PARTS) {
            done += 1;
        }
        let Some(more) = call!(choice(done)) else { continue };
        note(env, more);
    }
}
