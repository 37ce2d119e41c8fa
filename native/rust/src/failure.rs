//! What goes wrong: a cdb_error's fields inside, and the cdb_error itself at the C face.

use std::cell::RefCell;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use crate::c;

/// The fields of a cdb_error.
#[derive(Clone, Debug)]
pub struct Failure {
    pub status: c::Status,
    pub errno: i32,
    pub file: String,
    pub what: String,
    pub advice: String,
}

pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub fn new(status: c::Status, what: impl Into<String>) -> Self {
        let (file, advice) = (String::new(), String::new());
        Failure { status, errno: 0, file, what: what.into(), advice }
    }

    pub fn corrupt(what: impl Into<String>) -> Self {
        Failure::new(c::CORRUPT, what)
    }

    /// file: relative to the database's directory.
    pub fn in_file(mut self, file: &str) -> Self {
        self.file = file.into();
        self
    }

    pub fn advising(mut self, advice: &str) -> Self {
        self.advice = advice.into();
        self
    }

    /// Of the system; or of who reads, where a file has other contents than it can have.
    pub fn of_io(error: &io::Error) -> Self {
        let Some(errno) = error.raw_os_error().or_else(|| errno_in(&error.to_string())) else {
            return match error.kind() {
                io::ErrorKind::UnexpectedEof => Failure::corrupt("it ends too early"),
                io::ErrorKind::InvalidData => Failure::corrupt(error.to_string()),
                _ => Failure::new(c::IO, error.to_string()),
            };
        };
        let is_full = errno == libc::ENOSPC || errno == libc::EDQUOT;
        let mut failure = match is_full {
            true => Failure::new(c::NO_SPACE, format!("the disk is full ({error})")),
            false => Failure::new(c::IO, error.to_string()),
        };
        failure.errno = errno;
        failure
    }

    fn tell(&self, error: &mut c::Error) -> c::Status {
        error.status = self.status;
        error.system_errno = self.errno;
        error.offset = -1;
        copy_text(&self.file, &mut error.file);
        copy_text(&self.what, &mut error.what);
        copy_text(&self.advice, &mut error.advice);
        self.status
    }
}

/// A library that names the file, too, or tells its log, keeps the number in its text alone.
pub fn errno_in(text: &str) -> Option<i32> {
    [("(os error ", ')'), ("Os { code: ", ',')]
        .into_iter()
        .find_map(|(before, behind)| text.rsplit_once(before)?.1.split_once(behind)?.0.parse().ok())
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::of_io(&error)
    }
}

/// A text that is too long lacks its middle.
fn copy_text(text: &str, to: &mut [u8]) {
    const LEFT_OUT: &str = " ... ";
    let half = (to.len() - 1 - LEFT_OUT.len()) / 2;
    let bytes = text.as_bytes();
    let parts = match bytes.len() < to.len() {
        true => vec![bytes],
        false => vec![&bytes[..half], LEFT_OUT.as_bytes(), &bytes[bytes.len() - half..]],
    };
    let all = parts.concat();
    to[..all.len()].copy_from_slice(&all);
    to[all.len()] = 0;
}

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Calls a body, and tells how it fails. A panic ends here: what damage has made of a file is one to
/// libraries that read it.
pub fn guarded(error: *mut c::Error, body: impl FnOnce() -> Result<()>) -> c::Status {
    keep_panics_to_ourselves();
    let failed = match panic::catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return c::OK,
        Ok(Err(failure)) => failure,
        Err(_) => {
            let what = LAST_PANIC.with_borrow(|text| format!("it makes no sense ({text})"));
            Failure::corrupt(what)
        }
    };
    // SAFETY: the caller's, whoever calls by the header.
    failed.tell(unsafe { &mut *error })
}

/// They are told as errors, and not to the process's stderr. The hook is this library's own.
fn keep_panics_to_ourselves() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        panic::set_hook(Box::new(|info| {
            let text = info.payload_as_str().unwrap_or("a panic");
            let place = info.location().map_or(String::new(), |at| {
                let file = at.file().rsplit('/').next().unwrap_or_default();
                format!(" at {file}:{}", at.line())
            });
            LAST_PANIC.set(format!("{text}{place}"));
        }));
    });
}
