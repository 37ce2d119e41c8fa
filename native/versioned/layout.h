// What the bench asks of a layout: how values of any size, many versions of each, stand in two
// spaces of an engine. Keys are those of the coin set's layouts (layouts/); values are the bytes
// that somebody wrote, and so no mask says of the newest one what it was before.
#pragma once

#include "layouts/options.h"

#include "ordered_kv/ordered_kv.h"
#include "common/bytes.h"

#include <memory>
#include <vector>

namespace cdb::versioned {

using coin_set::Batch;
using coin_set::Source;
using coin_set::Span;

enum Space : uint8_t { kMarks, kFirst, kSecond };

// Of one version, by name.
struct Row {
  const uint8_t *name;
  Span value;
};
using Rows = std::vector<Row>;

// Values that were asked for: without bytes where there is none. They lie in what keeps them.
struct Answer {
  std::vector<Span> values;
  coin_set::Nearest sought;
  Bytes looked_up, looked_up_later;
};

// One row after the other, each good until the next one.
class RowScan {
 public:
  virtual ~RowScan() = default;
  virtual bool next() = 0;
  virtual const uint8_t *name() const = 0;
  // 0 where the layout doesn't say.
  virtual uint32_t version() const = 0;
  virtual Span value() const = 0;
};

// Versions are from 1 on.
class Layout {
 public:
  virtual ~Layout() = default;

  virtual okv_space first_space() const = 0;
  virtual okv_space second_space() const { return {"unused", OKV_ASCENDING, 0, 0}; }

  // Puts a version, in the order of spaces and keys.
  virtual void put(uint32_t version, const Rows &rows, Batch *to) const = 0;

  // The values of these names, which ascend, as of a version. is_newest: nothing was written later.
  virtual void get(const Source &source, const std::vector<const uint8_t *> &names, uint32_t as_of,
                   bool is_newest, Answer *answer) const = 0;

  // Each name's value as of a version.
  virtual std::unique_ptr<RowScan> state(const Source &source, uint32_t as_of,
                                         bool is_newest) const = 0;

  // All versions of all names, in the layout's own order.
  virtual std::unique_ptr<RowScan> all(const Source &source) const = 0;
};

// value_bytes: of each value. With reads=published it reads as it was published: wrongly.
std::unique_ptr<Layout> layout_of(const layouts::Options &options, size_t value_bytes);

}  // namespace cdb::versioned
