// A part of MDBX's source, as mdbx.cmake makes it: before page_get_inline, which calls it.
//
// With MDBX_VALIDATION each page is held against what a page can be whenever a cursor comes to it: all
// its keys, and the heads of all large values that it leads to. Here that is once for each page of the
// file: it stays the same until a transaction with another number writes it. What is not of the file is
// a page that this process is changing. The head of a large value is looked at when it is read, by
// node_read_bigdata: else a look-up in one that is cold reads pages that nobody asked for.

static __noinline pgr_t check_page_once(const uint16_t ILL, page_t *page, const MDBX_cursor *const mc,
                                        const txnid_t front) {
  const MDBX_env *const env = mc->txn->env;
  uint64_t *const checked = env->userctx;  // of CDB_MDBX_CHECKED_PAGES, or null; any number of threads
  const uint64_t mark = page->txnid << 12 | page->pgno / CDB_MDBX_CHECKED_PAGES;
  uint64_t *const place = checked == NULL ? NULL : &checked[page->pgno % CDB_MDBX_CHECKED_PAGES];
  const bool is_of_file = (size_t)((char *)page - (char *)env->dxb_mmap.base) < env->dxb_mmap.limit;
  if (is_of_file && (place == NULL || __atomic_load_n(place, __ATOMIC_RELAXED) != mark)) {
    const pgr_t found = check_page_complete(ILL, page, mc, front);
    if (found.err == MDBX_SUCCESS && place != NULL) __atomic_store_n(place, mark, __ATOMIC_RELAXED);
    return found;
  }
  const pgr_t found = {page, check_page_header(ILL, page, mc->txn, front)};
  if (found.err != MDBX_SUCCESS) mc->txn->flags |= MDBX_TXN_ERROR;
  return found;
}

