//! fjall: a space is a keyspace, an LSM tree; a commit a batch in the journal that all share.
//!
//! fjall can't open a database without changing it. A reader opens a mirror of it: a directory of
//! its own, with copies of journals and manifests, and links to the tables as they are now.

use std::ffi::CStr;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use fjall::config::FilterPolicy;
use fjall::{
    Database, Error, Iter, Keyspace, KeyspaceCreateOptions, LsmError, PersistMode, Readable,
    Snapshot, UserKey, UserValue,
};

use crate::c;
use crate::engine::{Bounds, Change, Cursor, Engine, Options, Space, Stats, View, sync_directory};
use crate::failure::{Failure, Result};
use crate::fjall_files::{Mirror, cut_torn_end, sync_all};
use crate::fjall_log::{cause, keep_causes};
use crate::forks::{NotForChildren, take_from_children};

pub const VERSION: &CStr = c"fjall 3.1.13";
const DIRECTORY: &str = "data";
const UNFINISHED: &str = "unfinished";
const OWN: &str = "cdb"; // a keyspace of our own, with the keys
const WRITES: &str = "writes"; // how many there were
const SPACES: &str = "spaces"; // how many were made whole
const THREADS: usize = 2;

struct Fjall {
    lock: Option<NotForChildren>,
    database: Database,
    own: Keyspace,
    spaces: Arc<[Keyspace]>,
    writes: AtomicU64,
    mirror: Option<Mirror>, // of one that is opened read-only
}

struct FjallView {
    snapshot: Snapshot,
    spaces: Arc<[Keyspace]>,
}

struct FjallCursor {
    entries: Iter,
    is_reverse: bool,
    entry: (UserKey, UserValue),
}

pub fn open(options: &Options) -> Result<Box<dyn Engine>> {
    keep_causes();
    let path = options.path.join(DIRECTORY);
    if !path.try_exists()? {
        if !options.create || options.read_only {
            return Err(Failure::new(c::NOT_FOUND, format!("it has no directory {DIRECTORY}")));
        }
        create(options)?;
    }
    let mirror = options.read_only.then(|| Mirror::new(&path)).transpose()?;
    let database = recover(mirror.as_ref().map_or(&path, |mirror| &mirror.path), options)?;
    let lock = match options.read_only {
        true => None,
        false => Some(take_from_children(&path.join("lock"))?),
    };
    if !options.read_only {
        sync_directory(&options.path)?;
    }
    let own = existing(&database, OWN)?;
    let spaces = find_spaces(&database, &own, options)?.into();
    let writes = number(&own, WRITES)?.into();
    Ok(Box::new(Fjall { lock, database, own, spaces, writes, mirror }))
}

/// In one step: what a crash leaves of it is not there.
fn create(options: &Options) -> Result<()> {
    let unfinished = options.path.join(UNFINISHED);
    if unfinished.try_exists()? {
        fs::remove_dir_all(&unfinished)?;
    }
    let database = Database::builder(&unfinished).worker_threads(1).open()?;
    let own = database.keyspace(OWN, KeyspaceCreateOptions::default)?;
    make_spaces(&database, &own, options)?;
    drop((own, database));
    sync_all(&unfinished)?;
    Ok(fs::rename(unfinished, options.path.join(DIRECTORY))?)
}

fn recover(path: &Path, options: &Options) -> Result<Database> {
    // fjall would begin a new database in it.
    if !path.join("version").try_exists()? {
        return Err(in_place(Failure::corrupt("it has no version")));
    }
    let open = || {
        Database::builder(path)
            .cache_size(options.cache_bytes)
            .worker_threads_unchecked(if options.read_only { 0 } else { THREADS })
            .open()
    };
    match open() {
        Err(Error::JournalRecovery(_)) if cut_torn_end(path, options.mostly_power)? => Ok(open()?),
        opened => Ok(opened?),
    }
}

fn existing(database: &Database, name: &str) -> Result<Keyspace> {
    match database.keyspace_exists(name) {
        true => Ok(database.keyspace(name, KeyspaceCreateOptions::default)?),
        false => Err(in_place(Failure::corrupt(format!("it has no {name}")))),
    }
}

/// Those that there are. A writer makes late ones.
fn find_spaces(database: &Database, own: &Keyspace, options: &Options) -> Result<Vec<Keyspace>> {
    let n_all = options.spaces.len();
    let n_there = n_all.min(number(own, SPACES)? as usize);
    if n_there < n_all {
        options.check_late(n_there).map_err(in_place)?;
        if !options.read_only {
            return make_spaces(database, own, options);
        }
    }
    options.spaces[..n_there].iter().map(|space| existing(database, &space.name)).collect()
}

/// They count once the number of them is durable.
fn make_spaces(database: &Database, own: &Keyspace, options: &Options) -> Result<Vec<Keyspace>> {
    let spaces = &options.spaces;
    let made = spaces
        .iter()
        .map(|space| database.keyspace(&space.name, || keyspace_options(space, options.memtable_bytes)))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    sync_directory(own.path().parent().unwrap_or(own.path()))?;
    let mut batch = database.batch().durability(Some(PersistMode::SyncAll));
    batch.insert(own, SPACES, (spaces.len() as u64).to_le_bytes());
    batch.commit()?;
    Ok(made)
}

/// Filters are for names that are looked up as a whole.
fn keyspace_options(space: &Space, memtable_bytes: u64) -> KeyspaceCreateOptions {
    let options = KeyspaceCreateOptions::default().max_memtable_size(memtable_bytes);
    match space.is_random && !space.has_prefixes {
        true => options,
        false => options.filter_policy(FilterPolicy::disabled()),
    }
}

fn number(own: &Keyspace, key: &str) -> Result<u64> {
    let Some(value) = own.get(key)? else { return Ok(0) };
    let bytes = (*value).try_into().map_err(|_| Failure::corrupt("a number has another length"))?;
    Ok(u64::from_le_bytes(bytes))
}

impl Fjall {
    /// Moves what is in memory to tables.
    fn flush(&self) -> Result<()> {
        for keyspace in self.spaces.iter().chain([&self.own]) {
            keyspace.rotate_memtable()?;
        }
        for keyspace in self.spaces.iter().chain([&self.own]) {
            while keyspace.sealed_memtable_count() > 0 {
                thread::sleep(Duration::from_millis(1));
                self.database.persist(PersistMode::Buffer)?; // fails when flushing has failed
            }
        }
        Ok(())
    }
}

impl Engine for Fjall {
    fn stats(&self) -> Result<Stats> {
        let sequence = self.writes.load(Ordering::Acquire);
        Ok(Stats { sequence, n_spaces: self.spaces.len() as u64 })
    }

    fn write<'a>(
        &self,
        changes: &mut dyn Iterator<Item = Change<'a>>,
        survives_power_loss: bool,
    ) -> Result<()> {
        let durability = match survives_power_loss {
            true => PersistMode::SyncAll,
            false => PersistMode::Buffer,
        };
        let mut batch = self.database.batch().durability(Some(durability));
        for Change { space, key, value } in changes {
            match value {
                Some(value) => batch.insert(&self.spaces[space], key, value),
                None => batch.remove(&self.spaces[space], key),
            }
        }
        let writes = self.writes.load(Ordering::Acquire) + 1;
        batch.insert(&self.own, WRITES, writes.to_le_bytes());
        batch.commit()?;
        self.writes.store(writes, Ordering::Release);
        Ok(())
    }

    fn view(&self) -> Result<Arc<dyn View>> {
        let snapshot = self.database.snapshot();
        Ok(Arc::new(FjallView { snapshot, spaces: self.spaces.clone() }))
    }

    fn checkpoint(&self) -> Result<()> {
        self.flush()?;
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }

    fn settle(&self) -> Result<()> {
        self.checkpoint()?;
        for keyspace in self.spaces.iter() {
            keyspace.major_compact()?;
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        drop(self.lock);
        match self.mirror {
            Some(_) => Ok(()),
            None => Ok(self.database.persist(PersistMode::SyncAll)?),
        }
    }
}

impl View for FjallView {
    fn get(&self, space: usize, key: &[u8], show: &mut dyn FnMut(&[u8])) -> Result<()> {
        if let Some(value) = self.snapshot.get(&self.spaces[space], key)? {
            show(&value);
        }
        Ok(())
    }

    fn nearest(
        &self,
        space: usize,
        key: &[u8],
        is_before: bool,
        show: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let found = match is_before {
            true => self.snapshot.range(&self.spaces[space], ..=key).next_back(),
            false => self.snapshot.range(&self.spaces[space], key..).next(),
        };
        if let Some(found) = found {
            let (key, value) = found.into_inner()?;
            show(&key, &value);
        }
        Ok(())
    }

    fn scan(&self, space: usize, bounds: Bounds, is_reverse: bool) -> Result<Box<dyn Cursor>> {
        let keyspace = &self.spaces[space];
        let entries = match bounds.end {
            Some(end) => self.snapshot.range(keyspace, bounds.first..end.max(bounds.first)),
            None => self.snapshot.range(keyspace, bounds.first..),
        };
        let entry = (UserKey::empty(), UserValue::empty());
        Ok(Box::new(FjallCursor { entries, is_reverse, entry }))
    }

    fn count(&self, _: usize) -> Result<Option<u64>> {
        Ok(None)
    }
}

impl Cursor for FjallCursor {
    fn step(&mut self) -> Result<bool> {
        let next = if self.is_reverse { self.entries.next_back() } else { self.entries.next() };
        let Some(next) = next else { return Ok(false) };
        self.entry = next.into_inner()?;
        Ok(true)
    }

    fn entry(&self) -> (&[u8], &[u8]) {
        (&self.entry.0, &self.entry.1)
    }
}

fn in_place(failure: Failure) -> Failure {
    failure.in_file(DIRECTORY)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        in_place(match &error {
            Error::Io(error) | Error::Storage(LsmError::Io(error)) => match error.kind() {
                // The directory is there, and so is what names the file.
                ErrorKind::NotFound => Failure::corrupt("a file that it names is missing"),
                _ => Failure::of_io(error),
            },
            Error::Locked => Failure::new(c::LOCKED, "somebody has it open for writing")
                .advising("close it there"),
            Error::Poisoned => cause(),
            damage => Failure::corrupt(damage.to_string()),
        })
    }
}
