//! The functions of cdb_ordered_kv.h, with cdb_foreign_ for okv_, over the engines of this library.

mod c;
mod engine;
mod failure;
mod fjall;
mod fjall_files;
mod fjall_log;
mod forks;
mod packed;
mod redb;

use std::ffi::{CStr, c_char, c_int};
use std::mem;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use engine::{Bounds, Change, Cursor, Engine, Options, View};
use failure::{Failure, Result, guarded};
use packed::{InTurn, Kept, slice_of};

/// Their names, versions, and how each opens a database.
const ENGINES: [(&str, &CStr, Open); 2] =
    [("fjall", fjall::VERSION, fjall::open), ("redb", redb::VERSION, redb::open)];

type Open = fn(&Options) -> Result<Box<dyn Engine>>;

/// An okv.
pub struct Kv {
    engine: Box<dyn Engine>,
    is_read_only: bool,
    ingests: AtomicU64,
    is_in_doubt: AtomicBool, // a write goes on, or has failed
}

/// An okv_run, which collects.
pub struct Run {
    space: usize,
    pages: Vec<[Kept; 2]>, // keys and values
}

/// An okv_view.
pub struct KvView(Arc<dyn View>);

/// An okv_scan.
pub struct Scan {
    cursor: Box<dyn Cursor>,
    is_given: bool, // the entry that the cursor is at
    is_over: bool,
    failure: Option<Failure>,
}

impl Kv {
    fn check_writable(&self) -> Result<()> {
        if self.is_read_only {
            return Err(Failure::new(c::INVALID, "it was opened read-only"));
        }
        Ok(())
    }

    /// A write that fails, or panics, is the last one.
    fn writing(&self, body: impl FnOnce() -> Result<()>) -> Result<()> {
        self.check_writable()?;
        if self.is_in_doubt.swap(true, Ordering::AcqRel) {
            return Err(Failure::new(c::CLOSED, "a write failed").advising("open it again"));
        }
        body()?;
        self.is_in_doubt.store(false, Ordering::Release);
        Ok(())
    }

    fn commit(&self, ops: &[c::Op], keys: InTurn, values: InTurn, to_power: bool) -> Result<()> {
        let mut changes = ops.iter().zip(keys.zip(values)).map(|(op, (key, value))| Change {
            space: op.space.into(),
            key,
            value: (op.is_delete == 0).then_some(value),
        });
        self.writing(|| self.engine.write(&mut changes, to_power))
    }

    fn ingest(&self, mut runs: Vec<&Run>) -> Result<()> {
        runs.retain(|run| !run.pages.is_empty());
        if runs.is_empty() {
            return self.check_writable();
        }
        runs.sort_by_key(|run| run.space);
        let mut changes = runs.into_iter().flat_map(Run::changes);
        self.writing(|| self.engine.write(&mut changes, true))?;
        self.ingests.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn view(&self, given: Option<&KvView>) -> Result<Arc<dyn View>> {
        given.map_or_else(|| self.engine.view(), |given| Ok(given.0.clone()))
    }
}

impl Run {
    fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        self.pages.iter().flat_map(|[keys, values]| {
            let entries = keys.in_turn().zip(values.in_turn());
            entries.map(|(key, value)| Change { space: self.space, key, value: Some(value) })
        })
    }
}

impl Scan {
    fn fill(&mut self, page: &mut c::Page) -> Result<()> {
        while !self.is_over && !page.is_full() {
            if self.is_given {
                self.is_over = !self.cursor.step()?;
            }
            if self.is_over {
                break;
            }
            let (key, value) = self.cursor.entry();
            self.is_given = unsafe { page.add(key, value) };
            if !self.is_given {
                return Ok(());
            }
        }
        page.is_end = self.is_over.into();
        Ok(())
    }

    /// What was read before a failure is given first.
    fn next(&mut self, page: &mut c::Page) -> Result<()> {
        let n_before = page.n;
        page.begin();
        if self.failure.is_none() {
            self.failure = self.fill(page).err();
        }
        match &self.failure {
            Some(failure) if page.n == n_before => Err(failure.clone()),
            _ => Ok(()),
        }
    }
}

/// Goes through what is sought until the page is full; how far.
fn seek_many(
    view: &dyn View,
    space: usize,
    keys: InTurn,
    suffix_bytes: usize,
    is_before: bool,
    page: &mut c::Page,
    found: *mut u8,
) -> Result<usize> {
    page.begin();
    for (done, key) in keys.enumerate() {
        if page.is_full() {
            return Ok(done);
        }
        let shared = &key[..key.len().saturating_sub(suffix_bytes)];
        let (mut is_there, mut has_room) = (false, true);
        view.nearest(space, key, is_before, &mut |key, value| {
            is_there = key.starts_with(shared);
            has_room = !is_there || unsafe { page.add(key, value) };
        })?;
        if !has_room {
            return Ok(done);
        }
        unsafe { *found.add(done) = is_there.into() };
    }
    Ok(usize::MAX)
}

// SAFETY, for all that follows: who calls does as the header says.

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_version(engine: *const c_char) -> *const c_char {
    named(unsafe { CStr::from_ptr(engine) }).map_or(ptr::null(), |(_, version, _)| version.as_ptr())
}

fn named(engine: &CStr) -> Option<(&str, &CStr, Open)> {
    ENGINES.into_iter().find(|(name, ..)| name.as_bytes() == engine.to_bytes())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_open(
    engine: *const c_char,
    path: *const c_char,
    options: *const c::Options,
    kv: *mut *mut Kv,
    error: *mut c::Error,
) -> c::Status {
    guarded(error, || unsafe {
        let (_, _, open) = named(CStr::from_ptr(engine))
            .ok_or_else(|| Failure::new(c::INVALID, "no engine in Rust has that name"))?;
        let options = Options::new(CStr::from_ptr(path), &*options);
        let opened = Kv {
            engine: open(&options)?,
            is_read_only: options.read_only,
            ingests: AtomicU64::new(0),
            is_in_doubt: AtomicBool::new(false),
        };
        *kv = Box::into_raw(Box::new(opened));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_close(kv: *mut Kv, error: *mut c::Error) -> c::Status {
    guarded(error, || {
        let closed = *unsafe { Box::from_raw(kv) };
        let result = closed.engine.close();
        if closed.is_in_doubt.into_inner() { Ok(()) } else { result }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_get_stats(
    kv: *mut Kv,
    stats: *mut c::Stats,
    error: *mut c::Error,
) -> c::Status {
    guarded(error, || unsafe {
        let now = (*kv).engine.stats()?;
        let ingests = (*kv).ingests.load(Ordering::Relaxed);
        *stats = c::Stats { sequence: now.sequence, ingests, n_spaces: now.n_spaces };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_commit(
    kv: *mut Kv,
    ops: *const c::Op,
    keys: c::Items,
    values: c::Items,
    durability: c_int,
    error: *mut c::Error,
) -> c::Status {
    guarded(error, || unsafe {
        let ops = slice_of(ops, keys.n);
        (*kv).commit(ops, InTurn::new(keys), InTurn::new(values), durability == c::POWER)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_run_begin(
    kv: *mut Kv,
    space: u8,
    run: *mut *mut Run,
    error: *mut c::Error,
) -> c::Status {
    guarded(error, || unsafe {
        (*kv).check_writable()?;
        *run = Box::into_raw(Box::new(Run { space: space.into(), pages: Vec::new() }));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_run_add(
    run: *mut Run,
    keys: c::Items,
    values: c::Items,
    error: *mut c::Error,
) -> c::Status {
    guarded(error, || unsafe {
        if keys.n > 0 {
            (*run).pages.push([keys, values].map(|items| Kept::new(InTurn::new(items))));
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_run_finish(_: *mut Run, _: *mut c::Error) -> c::Status {
    c::OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_run_free(run: *mut Run) {
    unsafe { free(run) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_ingest(
    kv: *mut Kv,
    runs: *const *mut Run,
    n_runs: usize,
    error: *mut c::Error,
) -> c::Status {
    guarded(error, || unsafe {
        (*kv).ingest(slice_of(runs, n_runs).iter().map(|&run| &*run).collect())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_view_begin(
    kv: *mut Kv,
    view: *mut *mut KvView,
    error: *mut c::Error,
) -> c::Status {
    guarded(error, || unsafe {
        *view = Box::into_raw(Box::new(KvView((*kv).engine.view()?)));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_view_free(view: *mut KvView) {
    unsafe { free(view) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_get_many(
    kv: *mut Kv,
    view: *const KvView,
    space: u8,
    keys: c::Items,
    wanted: *mut c::Wanted,
    _reuse: c_int,
    error: *mut c::Error,
) -> c::Status {
    guarded(error, || unsafe {
        let view = (*kv).view(view.as_ref())?;
        for (i, key) in InTurn::new(keys).enumerate() {
            let wanted = &mut *wanted.add(i);
            wanted.length = c::ABSENT;
            view.get(space.into(), key, &mut |value| wanted.copy(value))?;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_seek_many(
    kv: *mut Kv,
    view: *const KvView,
    space: u8,
    keys: c::Items,
    suffix_bytes: u32,
    is_before: i32,
    _reuse: c_int,
    page: *mut c::Page,
    found: *mut u8,
    done: *mut usize,
    error: *mut c::Error,
) -> c::Status {
    guarded(error, || unsafe {
        let view = (*kv).view(view.as_ref())?;
        let (n_keys, keys) = (keys.n, InTurn::new(keys));
        let (suffix_bytes, is_before) = (suffix_bytes as usize, is_before != 0);
        let through =
            seek_many(&*view, space.into(), keys, suffix_bytes, is_before, &mut *page, found)?;
        *done = through.min(n_keys);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_scan_begin(
    kv: *mut Kv,
    view: *const KvView,
    space: u8,
    bounds: *const c::Bounds,
    is_reverse: i32,
    _reuse: c_int,
    scan: *mut *mut Scan,
    error: *mut c::Error,
) -> c::Status {
    guarded(error, || unsafe {
        let given = &*bounds;
        let end = slice_of(given.end, given.end_bytes);
        let first = slice_of(given.first, given.first_bytes);
        let bounds = Bounds { first, end: (!end.is_empty()).then_some(end) };
        let view = (*kv).view(view.as_ref())?;
        let cursor = view.scan(space.into(), bounds, is_reverse != 0)?;
        let begun = Scan { cursor, is_given: true, is_over: false, failure: None };
        *scan = Box::into_raw(Box::new(begun));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_scan_next(
    scan: *mut Scan,
    page: *mut c::Page,
    error: *mut c::Error,
) -> c::Status {
    guarded(error, || unsafe { (*scan).next(&mut *page) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_scan_free(scan: *mut Scan) {
    unsafe { free(scan) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_checkpoint(kv: *mut Kv, error: *mut c::Error) -> c::Status {
    let kv = unsafe { &*kv };
    guarded(error, || kv.writing(|| kv.engine.checkpoint()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_settle(kv: *mut Kv, error: *mut c::Error) -> c::Status {
    let kv = unsafe { &*kv };
    guarded(error, || kv.writing(|| kv.engine.settle()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdb_foreign_verify(kv: *mut Kv, error: *mut c::Error) -> c::Status {
    let kv = unsafe { &*kv };
    guarded(error, || {
        let n_spaces = kv.engine.stats()?.n_spaces as usize;
        engine::verify(&*kv.engine.view()?, n_spaces)
    })
}

/// What panics here has nobody to tell.
unsafe fn free<T>(freed: *mut T) {
    if !freed.is_null() {
        let mut error = unsafe { mem::zeroed() };
        guarded(&mut error, || {
            drop(unsafe { Box::from_raw(freed) });
            Ok(())
        });
    }
}
