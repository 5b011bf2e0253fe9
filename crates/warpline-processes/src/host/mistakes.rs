//! What processes do wrong, and what is said of it.
//!
//! The environment of a process is not passed to these functions: then it lies in registers.

use std::fmt;

use crate::{
    facility::Resource,
    world::{ContextOf, Core, World},
};

/// A process that holds as many units as it can, and gets one more.
pub(crate) struct HoldsTooMany(pub(crate) u32);

/// Ends the run: what the process of a slot does is wrong.
#[cold]
pub(crate) fn mistake<W: World>(
    world: &W,
    core: &Core<W>,
    slot: u32,
    what: fmt::Arguments<'_>,
    cx: &mut impl ContextOf<W>,
) {
    let name = core.slots.get(slot as usize).map_or("start", |slot| slot.name(world));
    cx.fail(format_args!("`{name}` {what}"));
}

#[cold]
pub(crate) fn absent<W: World>(
    world: &W,
    core: &Core<W>,
    slot: u32,
    (name, what): (&str, &str),
    cx: &mut impl ContextOf<W>,
) {
    let why = format_args!(
        "uses `{name}`, and its site has no {what} of that name (`World::facilities`)"
    );
    mistake(world, core, slot, why, cx);
}

#[cold]
pub(crate) fn releases<W: World>(
    world: &W,
    core: &Core<W>,
    slot: u32,
    resource: Resource,
    cx: &mut impl ContextOf<W>,
) {
    let name = resource.name();
    mistake(world, core, slot, format_args!("releases `{name}`, and has not acquired it"), cx);
}

#[cold]
pub(crate) fn holds_too_many<W: World>(
    world: &W,
    core: &Core<W>,
    HoldsTooMany(slot): HoldsTooMany,
    cx: &mut impl ContextOf<W>,
) {
    mistake(world, core, slot, format_args!("holds 4 units already, and gets one more"), cx);
}
