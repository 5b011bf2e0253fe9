//! What processes queue for: resources, stores, containers and conditions; and how a world says
//! which of them a site has.

use std::fmt;

use crate::{
    queue::{Kind, Queue},
    slot::NONE,
};

/// Numbers the facilities of a world, and names them: each becomes a constant.
///
/// ```
/// warpline_processes::facilities! {
///     /// Those who serve.
///     pub TELLER: Resource,
///     /// Parts that wait to be worked on.
///     PARTS: Store,
/// }
/// assert_eq!(TELLER.name(), "teller");
/// ```
///
/// Their names in reports are those of the constants in lower case.
#[macro_export]
macro_rules! facilities {
    ($($(#[$meta:meta])* $visibility:vis $name:ident: $kind:ident),+ $(,)?) => {
        $crate::facilities!(@at 0; $($(#[$meta])* $visibility $name: $kind,)+);
    };
    (@at $number:expr;) => {};
    (@at $number:expr; $(#[$meta:meta])* $visibility:vis $name:ident: $kind:ident,
        $($rest:tt)*) => {
        $(#[$meta])*
        $visibility const $name: $crate::$kind = {
            const BYTES: [u8; stringify!($name).len()] =
                $crate::rt::lower_case(stringify!($name).as_bytes());
            const NAME: &str = match ::core::str::from_utf8(&BYTES) {
                Ok(name) => name,
                Err(_) => stringify!($name),
            };
            $crate::$kind::new($number, &NAME)
        };
        $crate::facilities!(@at $number + 1; $($rest)*);
    };
}

macro_rules! facility {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name {
            number: u16,
            /// One word: a resource is a part of how a wait ended, which is passed on.
            name: &'static &'static str,
        }

        impl $name {
            /// A facility with this number, which no other facility of the world has, and this
            /// name in reports. Best written by [`facilities!`](crate::facilities!).
            #[must_use]
            pub const fn new(number: u16, name: &'static &'static str) -> Self {
                Self { number, name }
            }

            /// Its name in reports.
            #[must_use]
            pub const fn name(self) -> &'static str {
                *self.name
            }

            pub(crate) const fn number(self) -> usize {
                self.number as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.name)
            }
        }
    };
}

facility! {
    /// A number of equal units, which processes acquire and release: tellers, machines, beds.
    Resource
}
facility! {
    /// Items that processes put in and get out, the oldest first.
    Store
}
facility! {
    /// An amount, of which processes take and which they fill: fuel, money, places on a road.
    Container
}
facility! {
    /// What processes wait for, until another one signals it.
    Condition
}

/// The facilities of a site, as its world makes them
/// ([`World::facilities`](crate::World::facilities)).
#[derive(Debug, Default)]
pub struct Facilities {
    pub(crate) sides: Vec<Side>,
    /// What is wrong with them.
    pub(crate) mistake: Option<String>,
}

/// What processes wait in, one queue on each side.
#[derive(Debug)]
pub(crate) struct Side {
    /// As a constant has it.
    named: &'static &'static str,
    pub(crate) name: &'static str,
    pub(crate) queue: Option<Queue>,
    /// Whether processes may also wait to put something in.
    pub(crate) is_bounded: bool,
}

impl Side {
    const fn new(named: &'static &'static str, queue: Option<Queue>) -> Self {
        Self { named, name: *named, queue, is_bounded: false }
    }
}

impl Facilities {
    /// Gives the site a resource with this many units.
    pub fn resource(&mut self, resource: Resource, units: u32) -> &mut Self {
        self.add(resource.number(), resource.name, Queue::new(Kind::Resource, units, 0.0, 0.0))
    }

    /// Gives the site a resource with this many units, of which `acquire!(…, preempt = true)` may
    /// take one from a process with a lower priority.
    pub fn preemptive(&mut self, resource: Resource, units: u32) -> &mut Self {
        self.add(resource.number(), resource.name, Queue::new(Kind::Preemptive, units, 0.0, 0.0))
    }

    /// Gives the site a store for any number of items.
    pub fn store(&mut self, store: Store) -> &mut Self {
        self.add(store.number(), store.name, Queue::new(Kind::Store, u32::MAX, 0.0, 0.0))
    }

    /// Gives the site a store for at most this many items, 1 or more.
    pub fn bounded_store(&mut self, store: Store, capacity: u32) -> &mut Self {
        let queue = Queue::new(Kind::Store, capacity, 0.0, 0.0);
        self.check(capacity > 0, || format!("`{}` has room for nothing", store.name()));
        self.add_bounded(store.number(), store.name, queue)
    }

    /// Gives the site a container that has `amount` at the beginning and can have at most
    /// `capacity`, which may be infinite.
    pub fn container(&mut self, container: Container, amount: f64, capacity: f64) -> &mut Self {
        let name = container.name();
        self.check((0.0..=capacity).contains(&amount) && amount.is_finite(), || {
            format!("`{name}` begins with {amount}, and has room for {capacity}")
        });
        self.add_bounded(
            container.number(),
            container.name,
            Queue::new(Kind::Container, 0, amount, capacity),
        )
    }

    /// Gives the site a condition.
    pub fn condition(&mut self, condition: Condition) -> &mut Self {
        self.add(condition.number(), condition.name, Queue::new(Kind::Condition, 0, 0.0, 0.0))
    }

    fn check(&mut self, ok: bool, mistake: impl FnOnce() -> String) {
        if !ok {
            self.mistake.get_or_insert_with(mistake);
        }
    }

    fn add_bounded(
        &mut self,
        number: usize,
        named: &'static &'static str,
        queue: Queue,
    ) -> &mut Self {
        self.add(number, named, queue);
        self.sides[number].is_bounded = true;
        self
    }

    fn add(&mut self, number: usize, named: &'static &'static str, queue: Queue) -> &mut Self {
        if self.sides.len() <= number {
            self.sides.resize_with(number + 1, || Side::new(&"", None));
        }
        let (before, name) = (self.sides[number].name, *named);
        self.check(self.sides[number].queue.is_none(), || {
            format!("`{before}` and `{name}` have the same number, {number}: use `facilities!`")
        });
        self.sides[number] = Side::new(named, Some(queue));
        self
    }

    /// The resource of a number.
    pub(crate) fn resource_of(&self, number: usize) -> Resource {
        Resource::new(number as u16, self.sides[number].named)
    }

    /// What a site has otherwise than here, if something; `before` is what it had.
    pub(crate) fn difference(&self, before: &Self) -> Option<String> {
        let settings = |side: Option<&Side>| {
            let queue = side.and_then(|side| side.queue.as_ref());
            queue.map(|queue| (queue.kind, queue.capacity, queue.limit.to_bits()))
        };
        let mut numbers = 0..self.sides.len().max(before.sides.len());
        let other = numbers.find(|&number| {
            let (now, then) = (self.sides.get(number), before.sides.get(number));
            settings(now) != settings(then)
                || now.map(|side| side.name) != then.map(|side| side.name)
        })?;
        let name = self.sides.get(other).or_else(|| before.sides.get(other)).map(|side| side.name);
        Some(name.unwrap_or_default().to_owned())
    }

    /// The name of the facility that a queue is of.
    pub(crate) fn name(&self, queue: usize) -> Option<&'static str> {
        let bounded = self.sides.iter().filter(|side| side.is_bounded);
        match self.sides.get(queue) {
            Some(side) => Some(side.name),
            None => bounded.map(|side| side.name).nth(queue - self.sides.len()),
        }
    }

    /// The queues, by the numbers of the facilities; behind them, where processes wait to put
    /// something in. And the number of stores.
    pub(crate) fn into_queues(self) -> (Vec<Queue>, usize) {
        let mut queues: Vec<_> =
            self.sides.iter().map(|side| side.queue.clone().unwrap_or_default()).collect();
        let mut stores = 0;
        for (number, side) in self.sides.iter().enumerate() {
            if queues[number].kind == Kind::Store {
                queues[number].items = stores;
                stores += 1;
            }
            if side.is_bounded {
                queues[number].other_side = queues.len() as u32;
                queues.push(Queue {
                    other_side: number as u32,
                    ..Queue::new(Kind::Entrance, 0, 0.0, 0.0)
                });
            } else {
                queues[number].other_side = NONE;
            }
        }
        (queues, stores as usize)
    }
}
