//! Why a thread of fjall's own has ended: callers are told that one has, and the log alone why.

use std::io;
use std::sync::{Mutex, Once, PoisonError};
use std::thread;

use log::{LevelFilter, Log, Metadata, Record};

use crate::c;
use crate::failure::{Failure, errno_in};

struct OfThreads;

/// What was told last, of whichever database: the log does not say which.
static LAST: Mutex<String> = Mutex::new(String::new());

impl Log for OfThreads {
    fn enabled(&self, _: &Metadata) -> bool {
        thread::current().name() == Some("fjall:worker")
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) = record.args().to_string();
        }
    }

    fn flush(&self) {}
}

/// The log is this library's own.
pub fn keep_causes() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if log::set_logger(&OfThreads).is_ok() {
            log::set_max_level(LevelFilter::Error);
        }
    });
}

/// Of a thread that has ended.
pub fn cause() -> Failure {
    let text = LAST.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match errno_in(&text) {
        Some(errno) => Failure::of_io(&io::Error::from_raw_os_error(errno)),
        None => Failure::new(c::CLOSED, format!("a thread of its own failed ({text})"))
            .advising("open it again"),
    }
}
