//! What fjall leaves to do for its files.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process;

use xxhash_rust::xxh3::Xxh3;

use crate::c;
use crate::engine::sync_directory;
use crate::failure::{Failure, Result};

/// Syncs all files below a directory, and it.
pub fn sync_all(directory: &Path) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        match path.is_dir() {
            true => sync_all(&path)?,
            false => File::open(path)?.sync_all()?,
        }
    }
    sync_directory(directory)
}

/// A directory for one who reads, with the database of one moment.
pub struct Mirror {
    pub path: PathBuf,
    tables: Vec<File>, // which last as long as they are open, whoever removes them
}

impl Mirror {
    pub fn new(of: &Path) -> Result<Mirror> {
        let before = moment(of)?;
        let path = temporary_directory()?;
        let mut mirror = Mirror { path: path.clone(), tables: Vec::new() };
        let filled = mirror.fill(of, &path);
        if moment(of)? != before {
            let changed = Failure::new(c::LOCKED, "a writer changed it just now");
            return Err(changed.advising("open it again"));
        }
        filled.map(|()| mirror)
    }

    fn fill(&mut self, of: &Path, path: &Path) -> Result<()> {
        for entry in fs::read_dir(of)? {
            let entry = entry?;
            let (from, to) = (entry.path(), path.join(entry.file_name()));
            if from.is_dir() {
                fs::create_dir(&to)?;
                self.fill(&from, &to)?;
            } else if of.ends_with("tables") {
                let table = File::open(&from)?;
                symlink(format!("/proc/self/fd/{}", table.as_raw_fd()), to)?;
                self.tables.push(table);
            } else if journal_number(&from).is_some() {
                copy_to_first_hole(&from, &to)?;
            } else {
                // Not its rights: it may be one that nobody may write.
                io::copy(&mut File::open(&from)?, &mut File::create(to)?)?;
            }
        }
        Ok(())
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path); // or it is left for who cleans up there
    }
}

/// A new one, with a name that nobody can foresee.
fn temporary_directory() -> Result<PathBuf> {
    let parent = std::env::temp_dir();
    let template = parent.join(format!("cdb-reads-{}-XXXXXX", process::id()));
    let mut name = template.into_os_string().into_vec();
    name.push(0);
    // SAFETY: it ends with a 0, and is changed in place.
    if unsafe { libc::mkdtemp(name.as_mut_ptr().cast()) }.is_null() {
        let mut failure = Failure::of_io(&io::Error::last_os_error());
        failure.what =
            format!("no directory for a reader in {}: {}", parent.display(), failure.what);
        return Err(failure.advising("name one by TMPDIR that can be written to"));
    }
    name.pop();
    Ok(OsString::from_vec(name).into())
}

/// What changes whenever anything but the end of the newest journal does.
fn moment(of: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(of)? {
        found.push((entry?.path(), Vec::new()));
    }
    for entry in fs::read_dir(of.join("keyspaces"))? {
        let current = entry?.path().join("current");
        let contents = fs::read(&current).unwrap_or_default();
        found.push((current, contents));
    }
    found.sort();
    Ok(found)
}

fn journal_number(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_suffix(".jnl")?.parse().ok()
}

/// Behind what is written to a journal there is room that nobody has written to.
fn copy_to_first_hole(from: &Path, to: &Path) -> io::Result<()> {
    let mut file = File::open(from)?;
    // SAFETY: a call with no memory.
    let hole = unsafe { libc::lseek(file.as_raw_fd(), 0, libc::SEEK_HOLE) };
    file.seek(SeekFrom::Start(0))?;
    let n_bytes = u64::try_from(hole).unwrap_or(u64::MAX); // an empty file has none
    io::copy(&mut file.take(n_bytes), &mut File::create(to)?)?;
    Ok(())
}

/// Whether the newest journal ended with a batch that a power cut has left in parts, which is now
/// gone. fjall itself knows those that end too early, and refuses others.
/// must_be_last: so that what was synced before it is kept.
pub fn cut_torn_end(directory: &Path, must_be_last: bool) -> Result<bool> {
    let paths = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let paths = paths.collect::<io::Result<Vec<_>>>()?;
    let Some(path) = paths.into_iter().max_by_key(|path| journal_number(path)) else {
        return Ok(false);
    };
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut journal = BufReader::new(&file);
    let mut end = 0;
    loop {
        match read_batch(&mut journal) {
            Ok(true) => end = journal.stream_position()?,
            Ok(false) if !must_be_last || is_over(&mut journal)? => break,
            _ => return Ok(false),
        }
    }
    file.set_len(end)?;
    file.sync_all()?;
    Ok(true)
}

/// Whether a batch's checksum is right; or an error, where there is no batch.
fn read_batch(journal: &mut impl Read) -> io::Result<bool> {
    const START: u8 = 1;
    const ITEM: u8 = 2;
    const END: u8 = 3;
    let mut checksum = Xxh3::new();
    let start: [u8; 13] = read(journal)?; // tag, items, sequence number
    check(start[0] == START)?;
    for _ in 0..u32::from_le_bytes(start[1..5].try_into().unwrap()) {
        // tag, kind, compression, keyspace, bytes of the key, of the value, of it compressed
        let item: [u8; 21] = read(journal)?;
        check(item[0] == ITEM)?;
        let key_bytes = u16::from_le_bytes(item[11..13].try_into().unwrap());
        let value_bytes = u32::from_le_bytes(item[17..21].try_into().unwrap());
        let mut entry = Vec::new();
        let n_bytes = u64::from(key_bytes) + u64::from(value_bytes);
        check(journal.take(n_bytes).read_to_end(&mut entry)? as u64 == n_bytes)?;
        checksum.update(&item);
        checksum.update(&entry);
    }
    let end: [u8; 13] = read(journal)?; // tag, checksum, magic
    check(end[0] == END && end[9..] == *b"FJL\x03")?;
    Ok(end[1..9] == checksum.digest().to_le_bytes())
}

fn read<const N: usize>(journal: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    journal.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn check(is_right: bool) -> io::Result<()> {
    if is_right { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

fn is_over(journal: &mut impl Read) -> io::Result<bool> {
    let mut rest = Vec::new();
    journal.take(4096).read_to_end(&mut rest)?;
    Ok(rest.iter().all(|&byte| byte == 0))
}
