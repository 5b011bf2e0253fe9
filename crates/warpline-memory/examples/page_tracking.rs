//! What it costs to save a large state before every event: by pages that the kernel says were
//! written, by a log of the words that are written, and by a copy of the whole.
//!
//! This is the measurement behind a decision (docs/decisions/time-warp.md, "No state saving by
//! pages"). Pages are tracked by asynchronous write protection and `PAGEMAP_SCAN` (Linux 6.7 or
//! later), which take a fault for each page and a call for each event. A shadow copy has the pages
//! as they were.

#![cfg_attr(
    all(target_os = "linux", target_arch = "x86_64"),
    expect(unsafe_code, reason = "the kernel's interface has no safe one")
)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod linux {
    use std::{
        fs::File,
        hint::black_box,
        io::{Error, Result, Write, stdout},
        os::fd::{AsRawFd, FromRawFd, OwnedFd},
        ptr,
        time::Instant,
    };

    const PAGE: usize = 4096;
    /// Words of a page.
    const WORDS: usize = PAGE / 8;
    const EVENTS: usize = 400;

    // From `linux/userfaultfd.h` and `linux/fs.h`.
    const UFFD_API: u64 = 0xaa;
    const WP_UNPOPULATED_AND_ASYNC: u64 = 1 << 13 | 1 << 15;
    const UFFDIO_API: u64 = 0xc018_aa3f;
    const UFFDIO_REGISTER: u64 = 0xc020_aa00;
    const UFFDIO_WRITEPROTECT: u64 = 0xc018_aa06;
    const REGISTER_MODE_WP: u64 = 1 << 1;
    const WRITEPROTECT_MODE_WP: u64 = 1;
    const PAGEMAP_SCAN: u64 = 0xc060_6610;
    const PAGE_IS_WRITTEN: u64 = 1 << 1;
    /// Protects what it finds again, and fails where there is no asynchronous protection.
    const SCAN_FLAGS: u64 = 1 | 1 << 1;

    fn call<T>(file: &impl AsRawFd, request: u64, argument: &mut T) -> Result<usize> {
        // SAFETY: each request is given the structure that it is for, which it may write to; the
        // addresses in it are those of a mapping, or of a list with the length that it says.
        let done = unsafe { libc::ioctl(file.as_raw_fd(), request, ptr::from_mut(argument)) };
        usize::try_from(done).map_err(|_| Error::last_os_error())
    }

    /// A state of words in pages of its own, whose writes are tracked.
    struct State {
        words: &'static mut [u64],
        tracker: OwnedFd,
        pagemap: File,
        /// Pages that were written, as pairs of addresses and a word that is not read.
        found: Vec<[u64; 3]>,
    }

    impl State {
        fn new(bytes: usize) -> Result<Self> {
            let (access, flags) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: the system chooses addresses that are not in use.
            let memory = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
            if memory == libc::MAP_FAILED {
                return Err(Error::last_os_error());
            }
            // SAFETY: the advice does not change what the memory contains.
            unsafe { libc::madvise(memory, bytes, libc::MADV_NOHUGEPAGE) };
            // SAFETY: the mapping is ours, zeroed, aligned, and is never given back.
            let words = unsafe { std::slice::from_raw_parts_mut(memory.cast(), bytes / 8) };
            words.fill(1);
            let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | 1;
            // SAFETY: the call reads no address.
            let tracker = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) } as i32;
            if tracker < 0 {
                return Err(Error::last_os_error());
            }
            // SAFETY: it was opened above, and has no other owner.
            let tracker = unsafe { OwnedFd::from_raw_fd(tracker) };
            call(&tracker, UFFDIO_API, &mut [UFFD_API, WP_UNPOPULATED_AND_ASYNC, 0])?;
            let (start, len) = (memory as u64, bytes as u64);
            call(&tracker, UFFDIO_REGISTER, &mut [start, len, REGISTER_MODE_WP, 0])?;
            call(&tracker, UFFDIO_WRITEPROTECT, &mut [start, len, WRITEPROTECT_MODE_WP])?;
            let found = vec![[0; 3]; bytes / PAGE];
            Ok(Self { words, tracker, pagemap: File::open("/proc/self/pagemap")?, found })
        }

        /// The ranges of words that were written since the last call, which are protected again.
        fn written(&mut self) -> Result<Vec<std::ops::Range<usize>>> {
            let _ = &self.tracker;
            let start = self.words.as_ptr() as u64;
            let end = start + 8 * self.words.len() as u64;
            let (list, len) = (self.found.as_mut_ptr() as u64, self.found.len() as u64);
            let (size, any) = (12 * 8, PAGE_IS_WRITTEN);
            let mut scan =
                [size, SCAN_FLAGS, start, end, 0, list, len, 0, 0, PAGE_IS_WRITTEN, 0, any];
            let count = call(&self.pagemap, PAGEMAP_SCAN, &mut scan)?;
            let word = |address: u64| ((address - start) / 8) as usize;
            Ok(self.found[..count].iter().map(|found| word(found[0])..word(found[1])).collect())
        }
    }

    /// Numbers that look random.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, count: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) as usize % count
        }
    }

    /// Microseconds that an event takes.
    fn time(mut event: impl FnMut() -> Result<()>) -> Result<f64> {
        let start = Instant::now();
        for _ in 0..EVENTS {
            event()?;
        }
        Ok(1e6 * start.elapsed().as_secs_f64() / EVENTS as f64)
    }

    /// What an event does: writes words in a few pages.
    fn write(
        state: &mut [u64],
        dice: &mut Dice,
        pages: usize,
        words: usize,
        log: &mut Vec<(usize, u64)>,
    ) {
        for _ in 0..pages {
            let page = dice.below(state.len() / WORDS) * WORDS;
            for word in 0..words {
                let place = page + 7 * word % WORDS;
                if log.capacity() > 0 {
                    log.push((place, state[place]));
                }
                state[place] += word as u64;
            }
        }
    }

    pub(super) fn measure() -> Result<()> {
        writeln!(stdout(), "us per event: nothing saved, a log of words, pages, a copy")?;
        for bytes in [1 << 20, 16 << 20] {
            for pages in [1, 8, 64] {
                for words in [1, 8, 64, WORDS] {
                    let mut state = State::new(bytes)?;
                    let mut plain = vec![1_u64; bytes / 8];
                    let mut shadow = plain.clone();
                    let (mut dice, mut none) = (Dice(1), Vec::new());
                    let mut log = Vec::with_capacity(pages * words);
                    let bare = time(|| {
                        write(&mut plain, &mut dice, pages, words, &mut none);
                        Ok(())
                    })?;
                    let logged = time(|| {
                        log.clear();
                        write(&mut plain, &mut dice, pages, words, &mut log);
                        Ok(())
                    })?;
                    let mut saved = Vec::with_capacity(bytes / 8);
                    let tracked = time(|| {
                        write(state.words, &mut dice, pages, words, &mut none);
                        saved.clear();
                        for range in state.written()? {
                            saved.extend_from_slice(&shadow[range.clone()]);
                            shadow[range.clone()].copy_from_slice(&state.words[range]);
                        }
                        Ok(())
                    })?;
                    let copied = time(|| {
                        write(&mut plain, &mut dice, pages, words, &mut none);
                        shadow.copy_from_slice(&plain);
                        black_box(&shadow);
                        Ok(())
                    })?;
                    writeln!(
                        stdout(),
                        "{:2} MiB, {pages:2} pages, {words:3} words in each: \
                         {bare:8.2} {logged:8.2} {tracked:8.2} {copied:8.2}",
                        bytes >> 20
                    )?;
                }
            }
        }
        Ok(())
    }
}

fn main() -> std::io::Result<()> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return linux::measure();
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    {
        use std::io::Write;
        writeln!(std::io::stdout(), "this is for Linux on x86-64")
    }
}
