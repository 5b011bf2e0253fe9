//! What a process does wrong is an error that names the process, the site and the time, and says
//! what to do.

use warpline::{LpId, Only, Sequential, Simulation, TimeWarp};
use warpline_processes::{
    ContextOf, Empty, Env, Facilities, Handle, Processes, World, facilities, process, processes,
};

facilities! { MACHINE: Resource, PARTS: Store, FUEL: Container, NEWS: Condition, SPARE: Resource }

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    ReleasesNothing,
    EndsHolding,
    TravelsHolding,
    HoldsFive,
    NoResource,
    NoStore,
    StoreForContainer,
    FullStore,
    TooMuch,
    NotPreemptive,
    NotHeeded,
    Itself,
    Negative,
    SameNumber,
    Own,
}
use Mistake::*;

struct Shop(Mistake);

#[process]
fn clumsy(env: &mut Env<Shop>) {
    hold!(1.5);
    match env.world.0 {
        ReleasesNothing => env.release(MACHINE),
        EndsHolding => {
            acquire!(MACHINE);
        }
        TravelsHolding => {
            acquire!(MACHINE);
            travel!(LpId::from_index(1), 1.0);
        }
        HoldsFive => loop {
            acquire!(MACHINE);
        },
        NoResource => {
            acquire!(SPARE);
        }
        NoStore => env.put(warpline_processes::Store::new(9, &"shelf"), 3),
        StoreForContainer => {
            get!(warpline_processes::Store::new(2, &"fuel"));
        }
        FullStore => env.put(PARTS, 1),
        TooMuch => {
            take!(FUEL, 11.0);
        }
        NotPreemptive => {
            acquire!(MACHINE);
            acquire!(MACHINE);
            acquire!(MACHINE);
            acquire!(MACHINE, priority = 1);
            env.spawn(eager());
            hold!(1.0);
        }
        NotHeeded => {
            let other: Handle = env.spawn(patient());
            hold!(1.0);
            env.interrupt(other, 1);
        }
        Itself => {
            let me = env.me();
            env.interrupt(me, 1);
        }
        Negative => {
            hold!(-1.0);
        }
        SameNumber => {}
        Own => env.fail(format_args!("has lost its way")),
    }
}

#[process]
fn eager(env: &mut Env<Shop>) {
    acquire!(MACHINE, priority = 5, preempt = true);
}

#[process]
fn patient(env: &mut Env<Shop>) {
    hold!(9.0);
}

processes! { enum Kind for Shop { Clumsy(clumsy), Eager(eager), Patient(patient) } }

impl World for Shop {
    type Process = Kind;
    type Site = Empty;
    type Item = u32;
    type Observed = Empty;

    fn name(&self) -> &str {
        "shop"
    }

    fn sites(&self) -> usize {
        2
    }

    fn site(&self, _: LpId) -> Empty {
        Empty
    }

    fn observed(site: &mut Empty) -> &mut Empty {
        site
    }

    fn facilities(&self, site: LpId, to: &mut Facilities) {
        let units = if self.0 == NotPreemptive { 4 } else { 9 };
        to.resource(MACHINE, units).bounded_store(PARTS, 2).container(FUEL, 5.0, 10.0);
        if self.0 == SameNumber && site.get() == 1 {
            to.condition(warpline_processes::Condition::new(1, &"news"));
        }
        to.condition(NEWS);
    }

    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
        if env.here().get() == 0 {
            env.spawn(clumsy());
        }
    }
}

fn error(mistake: Mistake) -> String {
    let model = Only::<(Sequential, TimeWarp), _>::new(Processes::new(Shop(mistake)));
    let error = Simulation::new(model).end(10.0).run().expect_err("a mistake");
    error.to_string()
}

#[test]
fn mistakes_are_named() {
    for (mistake, what) in [
        (ReleasesNothing, "`clumsy` releases `machine`, and has not acquired it"),
        (EndsHolding, "`clumsy` ends and has not released `machine`"),
        (TravelsHolding, "`clumsy` travels away and has not released `machine`"),
        (HoldsFive, "`clumsy` holds 4 units already, and gets one more"),
        (NoResource, "`clumsy` uses `spare`, and its site has no resource of that name"),
        (NoStore, "`clumsy` uses `shelf`, and its site has no store of that name"),
        (StoreForContainer, "`clumsy` uses `fuel`, and its site has no store of that name"),
        (FullStore, "`clumsy` puts an item into `parts`, which may be full: write `put!(PARTS"),
        (TooMuch, "`clumsy` takes or fills 11 of `fuel`, which has room for 10"),
        (NotPreemptive, "`eager` takes `machine` from another process, and it is not preemptive"),
        (NotHeeded, "`patient` is interrupted, and does not look at how its wait ends"),
        (Itself, "`clumsy` interrupts itself, and does not wait"),
        (Negative, "delay"),
        (SameNumber, "`parts` and `news` have the same number, 1"),
        (Own, "`clumsy` has lost its way"),
    ] {
        let error = error(mistake);
        assert!(error.contains(what), "{mistake:?}: {error}");
        let place = if mistake == SameNumber { "LP 1" } else { "LP 0" };
        assert!(error.contains(place), "{mistake:?}: {error}");
    }
    let own = error(Own);
    assert!(own.contains("virtual time 1.5") && own.contains("seed"), "{own}");
}

/// An engine that undoes events tells the same.
#[test]
fn time_warp_tells_the_same() {
    for mistake in [EndsHolding, NotHeeded, Own] {
        let model = Only::<(Sequential, TimeWarp), _>::new(Processes::new(Shop(mistake)));
        let time_warp = TimeWarp { workers: 2, pin: false, ..TimeWarp::default() };
        let found = Simulation::new(model).engine(time_warp).end(10.0).run();
        let found = found.expect_err("a mistake").to_string();
        let sequential = error(mistake);
        let what = sequential.split('`').nth(1).expect("the process is named");
        assert!(found.contains(what) && found.contains("LP 0"), "{found}");
    }
}
