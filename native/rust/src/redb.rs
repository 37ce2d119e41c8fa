//! redb: a space is a table of one B-tree file, and a commit two synced steps: its pages, and which
//! of two roots counts.
//!
//! Readers in other processes are redb's: each locks a byte for the commit that it reads, whose
//! pages the writer keeps.

use std::ffi::CStr;
use std::fs::{self, OpenOptions};
use std::io;
use std::ops::Bound;
use std::sync::{Arc, OnceLock, RwLock};

use redb::backends::FileBackend;
use redb::{
    BackendError, Builder, CommitError, ConcurrencyMode, Database, DatabaseError, Error,
    OwnedAccessGuard, OwnedRange, ReadOnlyDatabase, ReadOnlyTable, ReadTransaction,
    ReadableDatabase, ReadableTable, ReadableTableMetadata, StorageBackend, StorageError,
    TableDefinition, TableError, TableHandle, TransactionError, WriteTransaction,
};

use crate::c;
use crate::engine::{Bounds, Change, Cursor, Engine, Options, Stats, View, sync_directory};
use crate::failure::{Failure, Result};
use crate::forks::{NotForChildren, open_for_us};

pub const VERSION: &CStr = c"redb 4.6.0";
const FILE: &str = "data.redb";
const UNFINISHED_FILE: &str = "unfinished.redb";
const WRITES: TableDefinition<(), u64> = TableDefinition::new("number of writes");

type Bytes = &'static [u8];
type Table = ReadOnlyTable<Bytes, Bytes>;

struct Redb {
    not_for_children: NotForChildren,
    opened: Opened,
    names: Arc<[String]>, // of the spaces that there are
    newest: RwLock<Option<Arc<RedbView>>>,
}

enum Opened {
    ToRead(ReadOnlyDatabase),
    ToWrite(Database),
}

struct RedbView {
    transaction: ReadTransaction,
    names: Arc<[String]>,
    tables: Vec<OnceLock<Table>>,
}

struct RedbCursor {
    entries: OwnedRange<Bytes, Bytes>,
    is_reverse: bool,
    entry: Option<(OwnedAccessGuard<Bytes>, OwnedAccessGuard<Bytes>)>,
}

pub fn open(options: &Options) -> Result<Box<dyn Engine>> {
    let path = options.path.join(FILE);
    match fs::metadata(&path) {
        // redb would begin a new database in it.
        Ok(found) if found.len() == 0 => return Err(in_file(Failure::corrupt("it is cut"))),
        Ok(_) => {}
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        Err(_) if options.create && !options.read_only => create(options)?,
        Err(_) => return Err(Failure::new(c::NOT_FOUND, format!("it has no file {FILE}"))),
    }
    let (file, not_for_children) =
        open_for_us(&path, OpenOptions::new().read(true).write(!options.read_only))?;
    let (builder, file) = (builder(options), FileBackend::new(file)?);
    let opened = match options.read_only {
        true => Opened::ToRead(builder.open_read_only_with_backend(LeftByAnyone(file))?),
        false => Opened::ToWrite(builder.create_with_backend(file)?),
    };
    if !options.read_only {
        sync_directory(&options.path)?;
    }
    let names = Arc::new([]);
    let mut redb = Redb { not_for_children, opened, names, newest: RwLock::new(None) };
    redb.names = redb.find_spaces(options)?.into();
    Ok(Box::new(redb))
}

fn builder(options: &Options) -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(options.cache_bytes.try_into().unwrap_or(usize::MAX));
    builder.set_concurrency_mode(ConcurrencyMode::SingleWriter);
    builder
}

/// In one step: what a crash leaves of it is not there.
fn create(options: &Options) -> Result<()> {
    let unfinished = options.path.join(UNFINISHED_FILE);
    let (file, _not_for_children) =
        open_for_us(&unfinished, OpenOptions::new().read(true).write(true).create(true))?;
    file.set_len(0)?;
    let made = builder(options).create_with_backend(FileBackend::new(file)?)?;
    make_spaces(&made, &options.names())?;
    made.close()?;
    fs::rename(unfinished, options.path.join(FILE))?;
    Ok(())
}

fn make_spaces(database: &Database, names: &[String]) -> Result<()> {
    let making = begin(database)?;
    for name in names {
        making.open_table(table_named(name))?;
    }
    Ok(making.commit()?)
}

/// The next opening needs to go through no page, after whatever crash.
fn begin(database: &Database) -> Result<WriteTransaction> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    Ok(transaction)
}

fn table_named(name: &str) -> TableDefinition<'_, Bytes, Bytes> {
    TableDefinition::new(name)
}

impl Redb {
    /// The names of those that there are. A writer makes late ones.
    fn find_spaces(&self, options: &Options) -> Result<Vec<String>> {
        let there: Vec<String> =
            self.begin_read()?.list_tables()?.map(|table| table.name().into()).collect();
        let mut names = options.names();
        if let Some(first) = names.iter().position(|name| !there.contains(name)) {
            options.check_late(first).map_err(in_file)?;
            match &self.opened {
                Opened::ToRead(_) => names.truncate(first),
                Opened::ToWrite(database) => make_spaces(database, &names[first..])?,
            }
        }
        Ok(names)
    }

    fn begin_read(&self) -> Result<ReadTransaction> {
        Ok(match &self.opened {
            Opened::ToRead(database) => database.begin_read()?,
            Opened::ToWrite(database) => database.begin_read()?,
        })
    }

    /// What was committed last; of a reader, what it has seen first.
    fn newest(&self) -> Result<Arc<RedbView>> {
        if let Some(view) = &*self.newest.read().unwrap() {
            return Ok(view.clone());
        }
        let mut newest = self.newest.write().unwrap();
        if newest.is_none() {
            let tables = self.names.iter().map(|_| OnceLock::new()).collect();
            let transaction = self.begin_read()?;
            let names = self.names.clone();
            *newest = Some(Arc::new(RedbView { transaction, names, tables }));
        }
        Ok(newest.clone().unwrap())
    }

    fn database(&self) -> Result<&Database> {
        match &self.opened {
            Opened::ToRead(_) => Err(Failure::new(c::INVALID, "it was opened read-only")),
            Opened::ToWrite(database) => Ok(database),
        }
    }
}

impl Engine for Redb {
    fn stats(&self) -> Result<Stats> {
        let writes = match self.newest()?.transaction.open_table(WRITES) {
            Ok(writes) => writes.get(())?.map_or(0, |n| n.value()),
            Err(TableError::TableDoesNotExist(_)) => 0,
            Err(error) => return Err(error.into()),
        };
        Ok(Stats { sequence: writes, n_spaces: self.names.len() as u64 })
    }

    fn write<'a>(
        &self,
        changes: &mut dyn Iterator<Item = Change<'a>>,
        _survives_power_loss: bool,
    ) -> Result<()> {
        let transaction = begin(self.database()?)?;
        let mut changes = changes.peekable();
        while let Some(space) = changes.peek().map(|change| change.space) {
            let mut table = transaction.open_table(table_named(&self.names[space]))?;
            while let Some(change) = changes.next_if(|change| change.space == space) {
                match change.value {
                    Some(value) => table.insert(change.key, value)?,
                    None => table.remove(change.key)?,
                };
            }
        }
        {
            let mut writes = transaction.open_table(WRITES)?;
            let n = writes.get(())?.map_or(0, |n| n.value());
            writes.insert((), n + 1)?;
        }
        transaction.commit()?;
        *self.newest.write().unwrap() = None;
        Ok(())
    }

    fn view(&self) -> Result<Arc<dyn View>> {
        Ok(self.newest()?)
    }

    /// Each commit is durable, and leaves nothing to be done.
    fn checkpoint(&self) -> Result<()> {
        Ok(())
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        drop((self.newest, self.not_for_children));
        match self.opened {
            Opened::ToRead(database) => Ok(database.close()?),
            Opened::ToWrite(database) => Ok(database.close()?),
        }
    }
}

impl RedbView {
    fn table(&self, space: usize) -> Result<&Table> {
        let place = &self.tables[space];
        if place.get().is_none() {
            let opened = self.transaction.open_table(table_named(&self.names[space]))?;
            let _ = place.set(opened); // or another thread was faster
        }
        Ok(place.get().unwrap())
    }
}

impl View for RedbView {
    fn get(&self, space: usize, key: &[u8], show: &mut dyn FnMut(&[u8])) -> Result<()> {
        if let Some(value) = self.table(space)?.get(key)? {
            show(value.value());
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
        let table = self.table(space)?;
        let found = match is_before {
            true => table.upper_bound(Bound::Included(key))?.prev()?,
            false => table.lower_bound(Bound::Included(key))?.next()?,
        };
        if let Some((key, value)) = found {
            show(key.value(), value.value());
        }
        Ok(())
    }

    fn count(&self, space: usize) -> Result<Option<u64>> {
        Ok(Some(self.table(space)?.len()?))
    }

    fn scan(&self, space: usize, bounds: Bounds, is_reverse: bool) -> Result<Box<dyn Cursor>> {
        let end = bounds.end.map_or(Bound::Unbounded, Bound::Excluded);
        let range = (Bound::Included(bounds.first), end);
        let entries = self.table(space)?.range_owned::<&[u8]>(range)?;
        Ok(Box::new(RedbCursor { entries, is_reverse, entry: None }))
    }
}

impl Cursor for RedbCursor {
    fn step(&mut self) -> Result<bool> {
        let next = if self.is_reverse { self.entries.next_back() } else { self.entries.next() };
        self.entry = next.transpose()?;
        Ok(self.entry.is_some())
    }

    fn entry(&self) -> (&[u8], &[u8]) {
        let (key, value) = self.entry.as_ref().expect("a step");
        (key.value(), value.value())
    }
}

/// A file for who only reads it. That a killed writer has left it is no matter: which root counts is
/// always right, for it is written behind its pages.
#[derive(Debug)]
struct LeftByAnyone(FileBackend);

macro_rules! by_file {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, $($argument: $type),*) -> $result {
            self.0.$name($($argument),*)
        })*
    };
}

impl StorageBackend for LeftByAnyone {
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        const FLAGS: u64 = 9; // in redb's docs/design.md the "god byte"
        const NOT_CLOSED: u8 = 2;
        const ROOT_NOT_SYNCED: u8 = 8;
        self.0.read(offset, out)?;
        if let Some(flags) = FLAGS.checked_sub(offset).and_then(|at| out.get_mut(at as usize)) {
            *flags &= !(NOT_CLOSED | ROOT_NOT_SYNCED);
        }
        Ok(())
    }

    by_file! {
        len() -> io::Result<u64>;
        set_len(n_bytes: u64) -> io::Result<()>;
        sync_data() -> io::Result<()>;
        write(offset: u64, data: &[u8]) -> io::Result<()>;
        close() -> io::Result<()>;
        try_lock_shared_range(from: Bound<u64>, to: Bound<u64>) -> Locked<bool>;
        lock_shared_range(from: Bound<u64>, to: Bound<u64>) -> Locked<()>;
        unlock_range(from: Bound<u64>, to: Bound<u64>) -> Locked<()>;
        query_lock_range(from: Bound<u64>, to: Bound<u64>) -> Locked<bool>;
    }
}

type Locked<T> = std::result::Result<T, BackendError>;

fn in_file(failure: Failure) -> Failure {
    failure.in_file(FILE)
}

fn failure(error: Error) -> Failure {
    in_file(match error {
        Error::Io(error) => Failure::of_io(&error),
        Error::DatabaseAlreadyOpen => {
            Failure::new(c::LOCKED, "somebody has it open for writing").advising("close it there")
        }
        Error::PreviousIo | Error::DatabaseClosed | Error::LockPoisoned(_) => {
            Failure::new(c::CLOSED, "a call failed before").advising("open it again")
        }
        Error::UpgradeRequired(_) => Failure::new(c::FOREIGN, error.to_string()),
        Error::ValueTooLarge(_) => Failure::new(c::INVALID, error.to_string()),
        Error::Corrupted(what) => Failure::corrupt(what),
        other => Failure::corrupt(other.to_string()),
    })
}

macro_rules! failures {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                failure(error.into())
            }
        })*
    };
}

failures!(StorageError, TableError, TransactionError, CommitError, DatabaseError);
