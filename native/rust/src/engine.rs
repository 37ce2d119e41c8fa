//! What an engine in Rust defines: the rest of cdb_ordered_kv.h is in lib.rs.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::c;
use crate::failure::{Failure, Result};
use crate::packed::slice_of;

/// See okv_options.
pub struct Options {
    pub path: PathBuf,
    pub create: bool,
    pub read_only: bool,
    pub mostly_power: bool,
    pub cache_bytes: u64,
    pub memtable_bytes: u64,
    pub spaces: Vec<Space>,
    pub n_late_spaces: usize,
}

/// See okv_space.
pub struct Space {
    pub name: String,
    pub is_random: bool,
    pub has_prefixes: bool,
}

/// An entry that is set; or erased, without a value.
pub struct Change<'a> {
    pub space: usize,
    pub key: &'a [u8],
    pub value: Option<&'a [u8]>,
}

pub struct Stats {
    pub sequence: u64,
    pub n_spaces: u64,
}

/// An open database. Functions of the same name in cdb_ordered_kv.h say what each does.
pub trait Engine: Send + Sync {
    fn stats(&self) -> Result<Stats>;
    /// One atomic step; changes come by space, and those of a space ascend.
    fn write<'a>(
        &self,
        changes: &mut dyn Iterator<Item = Change<'a>>,
        survives_power_loss: bool,
    ) -> Result<()>;
    /// This moment's entries.
    fn view(&self) -> Result<Arc<dyn View>>;
    fn checkpoint(&self) -> Result<()>;
    fn settle(&self) -> Result<()>;
    fn close(self: Box<Self>) -> Result<()>;
}

pub trait View: Send + Sync {
    /// Shows the value of a key, where there is one.
    fn get(&self, space: usize, key: &[u8], show: &mut dyn FnMut(&[u8])) -> Result<()>;
    /// Shows the first entry at or behind a key, or the last one at or before it, where there is one.
    fn nearest(
        &self,
        space: usize,
        key: &[u8],
        is_before: bool,
        show: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()>;
    fn scan(&self, space: usize, bounds: Bounds, is_reverse: bool) -> Result<Box<dyn Cursor>>;
    /// How many entries a space has by the engine's own count, if it keeps one.
    fn count(&self, space: usize) -> Result<Option<u64>>;
}

/// See okv_bounds.
pub struct Bounds<'a> {
    pub first: &'a [u8],
    pub end: Option<&'a [u8]>,
}

/// Keeps its view's moment by itself.
pub trait Cursor: Send {
    /// Goes to the next entry, at first to the first; whether there is one.
    fn step(&mut self) -> Result<bool>;
    /// The entry that it is at: its key and value.
    fn entry(&self) -> (&[u8], &[u8]);
}

impl Options {
    /// # Safety
    /// Both are as the header says.
    pub unsafe fn new(path: &CStr, given: &c::Options) -> Self {
        let spaces = unsafe { slice_of(given.spaces, given.n_spaces) };
        let space = |space: &c::Space| Space {
            name: unsafe { CStr::from_ptr(space.name) }.to_string_lossy().into_owned(),
            is_random: space.order != c::ASCENDING,
            has_prefixes: space.prefix_bytes > 0 || space.suffix_bytes > 0,
        };
        Options {
            path: OsStr::from_bytes(path.to_bytes()).into(),
            create: given.create != 0,
            read_only: given.read_only != 0,
            mostly_power: given.mostly == c::POWER,
            cache_bytes: given.cache_bytes,
            memtable_bytes: given.memtable_bytes,
            spaces: spaces.iter().map(space).collect(),
            n_late_spaces: given.n_late_spaces,
        }
    }

    pub fn names(&self) -> Vec<String> {
        self.spaces.iter().map(|space| space.name.clone()).collect()
    }

    /// Fails unless a space may be missing.
    pub fn check_late(&self, space: usize) -> Result<()> {
        match space >= self.spaces.len() - self.n_late_spaces {
            true => Ok(()),
            false => Err(Failure::corrupt(format!("it has no {}", self.spaces[space].name))),
        }
    }
}

/// Reads everything: where an engine checks what it reads, that is its verification, and else what
/// can be seen of keys.
pub fn verify(view: &dyn View, n_spaces: usize) -> Result<()> {
    for space in 0..n_spaces {
        let mut entries = view.scan(space, Bounds { first: &[], end: None }, false)?;
        let (mut n, mut before) = (0, Vec::new());
        while entries.step()? {
            let (key, _) = entries.entry();
            if n > 0 && *key <= *before {
                return Err(Failure::corrupt("its keys are in disorder"));
            }
            key.clone_into(&mut before);
            n += 1;
        }
        if view.count(space)?.is_some_and(|said| said != n) {
            return Err(Failure::corrupt("it has not as many entries as it says"));
        }
    }
    Ok(())
}

/// So that names in it survive power loss.
pub fn sync_directory(path: &Path) -> Result<()> {
    Ok(File::open(path)?.sync_all()?)
}
