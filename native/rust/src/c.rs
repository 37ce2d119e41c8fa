//! What crosses the C face: the declarations of cdb_ordered_kv.h and common/cdb_error.h.

use std::ffi::{c_char, c_int};

pub type Status = c_int;

pub const OK: Status = 0;
pub const NOT_FOUND: Status = 1;
pub const FOREIGN: Status = 2;
pub const LOCKED: Status = 3;
pub const CORRUPT: Status = 4;
pub const NO_SPACE: Status = 5;
pub const IO: Status = 6;
pub const CLOSED: Status = 9;
pub const INVALID: Status = 12;

#[repr(C)]
pub struct Error {
    pub status: Status,
    pub system_errno: i32,
    pub offset: i64,
    pub file: [u8; 512],
    pub what: [u8; 1024],
    pub advice: [u8; 256],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Items {
    pub n: usize,
    pub bytes: *const u8,
    pub ends: *const u64,
}

pub const ASCENDING: c_int = 0; // okv_order

#[repr(C)]
pub struct Space {
    pub name: *const c_char,
    pub order: c_int,
    pub prefix_bytes: u32,
    pub suffix_bytes: u32,
}

pub const POWER: c_int = 1; // okv_durability

#[repr(C)]
pub struct Options {
    pub create: i32,
    pub read_only: i32,
    pub mostly: c_int,
    pub cache_bytes: u64,
    pub memtable_bytes: u64,
    pub memory_bytes: u64,
    pub n_spaces: usize,
    pub spaces: *const Space,
    pub n_late_spaces: usize,
    pub tuning: *const c_char,
}

#[repr(C)]
pub struct Op {
    pub space: u8,
    pub is_delete: u8,
}

pub const ABSENT: u32 = u32::MAX;

#[repr(C)]
pub struct Wanted {
    pub from: u32,
    pub most: u32,
    pub to: *mut u8,
    pub length: u32,
}

#[repr(C)]
pub struct Bounds {
    pub first: *const u8,
    pub first_bytes: usize,
    pub end: *const u8,
    pub end_bytes: usize,
}

#[repr(C)]
pub struct Page {
    pub keys: *mut u8,
    pub keys_capacity: usize,
    pub key_ends: *mut u64,
    pub values: *mut u8,
    pub values_capacity: usize,
    pub value_ends: *mut u64,
    pub most: usize,
    pub n: usize,
    pub is_end: i32,
    pub keys_needed: usize,
    pub values_needed: usize,
}

#[repr(C)]
pub struct Stats {
    pub sequence: u64,
    pub ingests: u64,
    pub n_spaces: u64,
}
