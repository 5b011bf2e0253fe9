//! The system calls for NUMA memory. Where there are none, or the process may not use them, every
//! answer is "not known" or "not done", and nothing else changes.

#![cfg_attr(
    all(target_os = "linux", not(miri)),
    expect(unsafe_code, reason = "the system calls for NUMA memory have no safe interface")
)]

/// Where the memory of a process comes from, if nobody binds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// From the node of the core that touches a page first.
    #[default]
    Local,
    /// As somebody has told the system: `numactl`, or a program that started this one.
    Chosen,
    /// Not known: the system does not say.
    Unknown,
}

/// The cores that the calling thread may use, in ascending order.
#[cfg(target_os = "linux")]
pub(crate) fn allowed_cores() -> Vec<usize> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let allowed = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect()
}

/// Cores have no numbers on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) const fn allowed_cores() -> Vec<usize> {
    Vec::new()
}

#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use linux::*;
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) use none::*;

#[cfg(all(target_os = "linux", not(miri)))]
mod linux {
    use std::ptr;

    use libc::{MPOL_BIND, MPOL_DEFAULT, MPOL_LOCAL, c_int, c_ulong};

    use super::MemoryPolicy;

    /// The nodes that a set of the system has room for: the kernel's limit is 1024.
    const NODES_MAX: usize = 1024;
    /// Asks for the nodes of the cpuset (`linux/mempolicy.h`).
    const MPOL_F_MEMS_ALLOWED: c_ulong = 1 << 2;
    const WORD_BITS: usize = c_ulong::BITS as usize;

    /// A set of nodes, as the system reads it.
    type NodeSet = [c_ulong; NODES_MAX / WORD_BITS];

    /// The policy of the calling thread, or the nodes that `flags` ask for.
    fn get_mempolicy(flags: c_ulong) -> Option<(c_int, NodeSet)> {
        let (mut mode, mut nodes): (c_int, NodeSet) = (MPOL_DEFAULT, [0; _]);
        // SAFETY: `mode` and `nodes` may be written, and `nodes` has the bits that are promised;
        // the system reads no address, because the flags do not ask for the policy of one.
        let result = unsafe {
            libc::syscall(
                libc::SYS_get_mempolicy,
                &raw mut mode,
                nodes.as_mut_ptr(),
                NODES_MAX,
                ptr::null::<u8>(),
                flags,
            )
        };
        (result == 0).then_some((mode, nodes))
    }

    fn members(nodes: &NodeSet) -> Vec<u32> {
        let has = |&node: &u32| nodes[node as usize / WORD_BITS] >> (node as usize % WORD_BITS) & 1;
        (0..NODES_MAX as u32).filter(|node| has(node) == 1).collect()
    }

    /// The nodes whose memory the process may use: those of its cpuset, and of a policy that binds.
    pub(crate) fn allowed_nodes() -> Option<Vec<u32>> {
        let (_, allowed) = get_mempolicy(MPOL_F_MEMS_ALLOWED)?;
        let mut nodes = members(&allowed);
        if let Some((MPOL_BIND, bound)) = get_mempolicy(0) {
            let bound = members(&bound);
            nodes.retain(|node| bound.contains(node));
        }
        Some(nodes)
    }

    /// The policy of the calling thread.
    pub(crate) fn memory_policy() -> MemoryPolicy {
        match get_mempolicy(0) {
            Some((MPOL_DEFAULT | MPOL_LOCAL, _)) => MemoryPolicy::Local,
            Some(_) => MemoryPolicy::Chosen,
            None => MemoryPolicy::Unknown,
        }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod none {
    use super::MemoryPolicy;

    pub(crate) const fn allowed_nodes() -> Option<Vec<u32>> {
        None
    }

    pub(crate) const fn memory_policy() -> MemoryPolicy {
        MemoryPolicy::Unknown
    }
}
