//! The packed entries of cdb_ordered_kv.h, as slices.

use std::slice;

use crate::c;

/// Items, one after the other.
pub struct InTurn<'a> {
    bytes: &'a [u8],
    ends: slice::Iter<'a, u64>,
    begin: usize,
}

impl<'a> InTurn<'a> {
    /// # Safety
    /// The items are as the header says, and live while these are gone through.
    pub unsafe fn new(items: c::Items) -> Self {
        let ends: &[u64] = unsafe { slice_of(items.ends, items.n) };
        let n_bytes = ends.last().map_or(0, |&end| end as usize);
        let bytes = unsafe { slice_of(items.bytes, n_bytes) };
        InTurn::of(bytes, ends)
    }

    fn of(bytes: &'a [u8], ends: &'a [u64]) -> Self {
        InTurn { bytes, ends: ends.iter(), begin: 0 }
    }
}

/// Items that are kept.
pub struct Kept {
    bytes: Vec<u8>,
    ends: Vec<u64>,
}

impl Kept {
    pub fn new(items: InTurn) -> Self {
        Kept { bytes: items.bytes.to_vec(), ends: items.ends.as_slice().to_vec() }
    }

    pub fn in_turn(&self) -> InTurn<'_> {
        InTurn::of(&self.bytes, &self.ends)
    }
}

impl<'a> Iterator for InTurn<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let end = *self.ends.next()? as usize;
        let begin = std::mem::replace(&mut self.begin, end);
        Some(&self.bytes[begin..end])
    }
}

/// C may give a null pointer for nothing.
///
/// # Safety
/// n of them are there, or n is 0.
pub unsafe fn slice_of<'a, T>(first: *const T, n: usize) -> &'a [T] {
    if n == 0 { &[] } else { unsafe { slice::from_raw_parts(first, n) } }
}

impl c::Wanted {
    /// # Safety
    /// There is room as the header says.
    pub unsafe fn copy(&mut self, value: &[u8]) {
        self.length = value.len() as u32;
        let from = value.get(self.from as usize..).unwrap_or_default();
        let n = from.len().min(self.most as usize);
        unsafe { copy_to(&from[..n], self.to) };
    }
}

impl c::Page {
    /// Whether there was room for the entry.
    ///
    /// # Safety
    /// The page is as the header says, and has fewer entries than the most.
    pub unsafe fn add(&mut self, key: &[u8], value: &[u8]) -> bool {
        let end = |ends: *mut u64| match self.n {
            0 => 0,
            n => unsafe { *ends.add(n - 1) as usize },
        };
        let (keys_end, values_end) = (end(self.key_ends), end(self.value_ends));
        let (key_end, value_end) = (keys_end + key.len(), values_end + value.len());
        if key_end > self.keys_capacity || value_end > self.values_capacity {
            (self.keys_needed, self.values_needed) = (key_end, value_end);
            return false;
        }
        unsafe {
            copy_to(key, self.keys.add(keys_end));
            copy_to(value, self.values.add(values_end));
            *self.key_ends.add(self.n) = key_end as u64;
            *self.value_ends.add(self.n) = value_end as u64;
        }
        self.n += 1;
        true
    }

    pub fn begin(&mut self) {
        self.is_end = 0;
        (self.keys_needed, self.values_needed) = (0, 0);
    }

    pub fn is_full(&self) -> bool {
        self.n >= self.most
    }
}

unsafe fn copy_to(from: &[u8], to: *mut u8) {
    if !from.is_empty() {
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    }
}
