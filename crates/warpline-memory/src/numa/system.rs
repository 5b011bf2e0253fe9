//! The system calls for NUMA memory. Where there are none, or the process may not use them, every
//! answer is "not known" or "not done", and nothing else changes.

#![expect(unsafe_code, reason = "the system calls for NUMA memory have no safe interface")]

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
    use std::ptr::{self, NonNull};

    use libc::{
        MPOL_BIND, MPOL_DEFAULT, MPOL_LOCAL, MPOL_PREFERRED, c_int, c_long, c_uint, c_ulong,
    };
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};

    use super::MemoryPolicy;

    /// The nodes that a set of the system has room for: the kernel's limit is 1024.
    const NODES_MAX: usize = 1024;
    /// Asks for the nodes of the cpuset (`linux/mempolicy.h`).
    const MPOL_F_MEMS_ALLOWED: c_ulong = 1 << 2;
    /// Moves the pages that are elsewhere (`linux/mempolicy.h`).
    const MPOL_MF_MOVE: c_uint = 1 << 1;
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

    /// Reserves addresses. They take memory where they are written to, which begins as zeroes.
    pub(crate) fn reserve(bytes: usize) -> Option<NonNull<u8>> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the system chooses addresses that are not in use.
        let memory = unsafe { mmap_anonymous(ptr::null_mut(), bytes, access, flags) };
        NonNull::new(memory.ok()?.cast())
    }

    /// Takes pages of this range from a node, and moves those there that are elsewhere. A full node
    /// lends from its neighbors. Returns whether the system does so.
    pub(crate) fn prefer(memory: NonNull<u8>, bytes: usize, node: u32) -> bool {
        let mut nodes: NodeSet = [0; _];
        let Some(word) = nodes.get_mut(node as usize / WORD_BITS) else { return false };
        *word = 1 << (node as usize % WORD_BITS);
        // SAFETY: the call changes where pages are, never what is in them; `nodes` has the bits
        // that are promised.
        let result = unsafe {
            libc::syscall(
                libc::SYS_mbind,
                memory.as_ptr(),
                bytes,
                MPOL_PREFERRED,
                nodes.as_ptr(),
                NODES_MAX as c_ulong,
                MPOL_MF_MOVE,
            )
        };
        result == 0
    }

    /// Takes pages of this range from wherever the process does, as before [`prefer`].
    pub(crate) fn prefer_none(memory: NonNull<u8>, bytes: usize) {
        // SAFETY: as in `prefer`; the default policy has no nodes.
        let _ = unsafe {
            libc::syscall(
                libc::SYS_mbind,
                memory.as_ptr(),
                bytes,
                MPOL_DEFAULT,
                ptr::null::<c_ulong>(),
                0 as c_ulong,
                0 as c_uint,
            )
        };
    }

    /// Leaves small pages as they are: a huge one would belong to several segments.
    pub(crate) fn refuse_huge_pages(memory: NonNull<u8>, bytes: usize) {
        // SAFETY: the advice does not change what the memory contains. Without it everything works.
        let _ = unsafe { madvise(memory.as_ptr().cast(), bytes, Advice::LinuxNoHugepage) };
    }

    /// Gives the memory of a range back to the system. The addresses stay, and read as zeroes;
    /// returns whether they do.
    ///
    /// # Safety
    ///
    /// The range is part of what [`reserve`] returned, and nothing in it is used any more.
    pub(crate) unsafe fn discard(memory: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: the caller promises that nobody misses the contents.
        unsafe { madvise(memory.as_ptr().cast(), bytes, Advice::LinuxDontNeed) }.is_ok()
    }

    /// The bytes of a page.
    pub(crate) fn page_size() -> usize {
        rustix::param::page_size()
    }

    /// The node of each page; negative for a page that has no memory. `None` where the system does
    /// not say.
    pub(crate) fn nodes_of(pages: &[*const u8]) -> Option<Vec<c_int>> {
        let mut nodes = vec![-1; pages.len()];
        // SAFETY: both lists have as many places as the system is told; without a list of targets
        // it moves nothing.
        let result: c_long = unsafe {
            libc::syscall(
                libc::SYS_move_pages,
                0,
                pages.len(),
                pages.as_ptr(),
                ptr::null::<c_int>(),
                nodes.as_mut_ptr(),
                0,
            )
        };
        (result == 0).then_some(nodes)
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod none {
    use std::ptr::NonNull;

    use super::MemoryPolicy;

    pub(crate) const fn allowed_nodes() -> Option<Vec<u32>> {
        None
    }

    pub(crate) const fn memory_policy() -> MemoryPolicy {
        MemoryPolicy::Unknown
    }

    pub(crate) const fn reserve(_: usize) -> Option<NonNull<u8>> {
        None
    }

    pub(crate) const fn prefer(_: NonNull<u8>, _: usize, _: u32) -> bool {
        false
    }

    pub(crate) const fn prefer_none(_: NonNull<u8>, _: usize) {}

    pub(crate) const fn refuse_huge_pages(_: NonNull<u8>, _: usize) {}

    /// # Safety
    ///
    /// None: nothing is done.
    pub(crate) const unsafe fn discard(_: NonNull<u8>, _: usize) -> bool {
        false
    }

    pub(crate) const fn page_size() -> usize {
        4096
    }

    pub(crate) const fn nodes_of(_: &[*const u8]) -> Option<Vec<i32>> {
        None
    }
}
