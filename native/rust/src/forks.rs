//! Files that a child made by fork() does not keep: else their locks would outlive its parent.

use std::cell::UnsafeCell;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// That a descriptor is not for children, until this is dropped: before the file is closed.
#[derive(Debug)]
pub struct NotForChildren(RawFd);

pub fn open_for_us(path: &Path, options: &OpenOptions) -> io::Result<(File, NotForChildren)> {
    OURS.changing(|descriptors| {
        let file = options.open(path)?;
        let descriptor = file.as_raw_fd();
        descriptors.push(descriptor);
        Ok((file, NotForChildren(descriptor)))
    })
}

/// The same for a file that is open already.
pub fn take_from_children(path: &Path) -> io::Result<NotForChildren> {
    let path = fs::canonicalize(path)?;
    for entry in fs::read_dir("/proc/self/fd")? {
        let entry = entry?;
        if fs::read_link(entry.path()).is_ok_and(|file| file == path)
            && let Some(Ok(descriptor)) = entry.file_name().to_str().map(str::parse)
        {
            OURS.changing(|descriptors| descriptors.push(descriptor));
            return Ok(NotForChildren(descriptor));
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

impl Drop for NotForChildren {
    fn drop(&mut self) {
        OURS.changing(|descriptors| descriptors.retain(|&each| each != self.0));
    }
}

/// A lock that a thread takes before a fork, and gives back in both processes.
struct Descriptors {
    is_taken: AtomicBool,
    all: UnsafeCell<Vec<RawFd>>,
}

// SAFETY: `all` is used only between take() and give_back().
unsafe impl Sync for Descriptors {}

static OURS: Descriptors =
    Descriptors { is_taken: AtomicBool::new(false), all: UnsafeCell::new(Vec::new()) };

impl Descriptors {
    fn take(&self) {
        while self.is_taken.swap(true, Ordering::Acquire) {
            thread::yield_now();
        }
    }

    fn give_back(&self) {
        self.is_taken.store(false, Ordering::Release);
    }

    fn changing<T>(&self, change: impl FnOnce(&mut Vec<RawFd>) -> T) -> T {
        static ONCE: Once = Once::new();
        // SAFETY: the handlers are functions that stay.
        ONCE.call_once(|| unsafe {
            libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child));
        });
        self.take();
        // SAFETY: it is taken.
        let result = change(unsafe { &mut *self.all.get() });
        self.give_back();
        result
    }
}

extern "C" fn before_fork() {
    OURS.take();
}

extern "C" fn in_parent() {
    OURS.give_back();
}

/// The descriptors stay taken, by what nothing can be written to: a child that uses what its parent
/// has opened gets errors, and no other file.
extern "C" fn in_child() {
    // SAFETY: it was taken before the fork; and these calls may be made here.
    unsafe {
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        for &descriptor in &*OURS.all.get() {
            match nothing {
                -1 => libc::close(descriptor),
                _ => libc::dup3(nothing, descriptor, libc::O_CLOEXEC),
            };
        }
        (*OURS.all.get()).clear();
        libc::close(nothing);
    }
    OURS.give_back();
}
